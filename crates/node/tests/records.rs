//! Tests that the compiler of the kernel programs lays out the records as Rust does, according to the type information
//! in the object.
#![cfg(feature = "ebpf")]

use fairlane_node::records::{PortState, UserState, layouts};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::{HasSize, ObjectBuilder};

#[test]
fn sizes_and_offsets_of_the_objects_are_those_of_the_records() {
    let objects = [concat!(env!("OUT_DIR"), "/node.bpf.o"), concat!(env!("OUT_DIR"), "/redirect.bpf.o")];
    let types = objects.map(|object| Btf::from_path(object).unwrap());
    for layout in layouts() {
        let found: Option<Struct<'_>> = types.iter().find_map(|btf| btf.type_by_name(layout.name));
        let found = found.unwrap_or_else(|| panic!("struct {}", layout.name));
        assert_eq!(found.size(), layout.size, "struct {}", layout.name);
        let members: Vec<_> = found
            .iter()
            .map(|member| {
                let MemberAttr::Normal { offset } = member.attr else { panic!("{:?} is a bit field", member.name) };
                (member.name.unwrap().to_str().unwrap(), offset as usize / 8)
            })
            .collect();
        let fields: Vec<_> = layout.fields.iter().map(|field| (field.name, field.offset)).collect();
        assert_eq!(members, fields, "struct {}", layout.name);
    }
}

#[test]
fn the_page_says_what_state_takes() {
    let page = include_str!("../../../docs/node.md").split_whitespace().collect::<Vec<_>>().join(" ");
    let mut object = ObjectBuilder::default();
    let object = object.open_file(concat!(env!("OUT_DIR"), "/node.bpf.o")).unwrap();
    let bytes = |name: &str| {
        let map = object.maps().find(|map| map.name() == name).unwrap_or_else(|| panic!("there is no map {name}"));
        map.value_size() * map.max_entries()
    };
    let (user, port) = (size_of::<UserState>(), size_of::<PortState>());
    let said = format!(
        "A configured user has two meters of {user} bytes, and an address has one meter and a hash table entry. A port \
         needs {port} bytes, and each processor's cache of recent addresses {} KiB.",
        bytes("recents") / 1024
    );
    assert!(page.contains(&said), "docs/node.md must say: {said}");
}

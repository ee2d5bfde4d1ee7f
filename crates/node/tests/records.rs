//! The compiler of the kernel programs lays the records out as Rust does: by the types that it writes into the object.
#![cfg(feature = "ebpf")]

use fairlane_node::records::layouts;
use libbpf_rs::HasSize;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct};

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

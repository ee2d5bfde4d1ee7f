//! The node's own qdisc (`planes/bpf/qdisc.bpf.c`): its registration with the kernel, and the root qdiscs of ports.
//!
//! The kernel knows a qdisc by its kind, one name for all network namespaces. A node registers its programs under a
//! kind that depends on the programs and the folder of pins. A repeated attach therefore keeps them and the packets in
//! them; other programs become another kind, which replaces the root qdiscs and drops the packets in them.

use super::hook::{self, LINK};
use super::links::{RootQdisc, remove_root_qdisc, replace_root_qdisc, root_qdiscs};
use super::programs::{Aligned, Programs};
use super::{KernelError, messages};
use crate::config::NodeConfig;
use crate::records::PortRecord;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Func;
use libbpf_rs::{MapCore, MapType, Object, ObjectBuilder};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher;
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

/// Empty if clang was too old, see build.rs.
static QDISC: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/qdisc.bpf.o")));

/// Prefix of the kinds of nodes.
const KIND: &str = "fair";

/// Bytes of `Qdisc_ops.id`, the first field of the structure in the object.
const ID_BYTES: usize = 16;

/// The registered programs of a process that pins nothing, for tests. The kind disappears with the value, unless an
/// interface uses it.
#[derive(Debug)]
pub struct OwnQdisc {
    _link: libbpf_rs::Link,
    kind: String,
}

impl OwnQdisc {
    /// Registers the qdisc with the maps of `programs`.
    ///
    /// # Errors
    /// See [`missing`].
    pub fn register(programs: &Programs) -> Result<Self, KernelError> {
        let kind = new_kind();
        let link = register(&mut load(programs, &kind)?, &kind)?;
        Ok(Self { _link: link, kind })
    }

    /// Makes the qdisc the root qdisc of the interface with `index`, a port of the node.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn enter(&self, index: u32) -> Result<(), KernelError> {
        replace(index, &self.kind)
    }

    /// Removes the root qdisc of an interface.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn leave(&self, index: u32) -> Result<(), KernelError> {
        remove_root_qdisc(index).map_err(KernelError::system(format!("interface {index}: removing the root qdisc")))
    }
}

/// Reason why this build or this kernel has no own qdisc, in one line; `None` if it has.
#[must_use]
pub fn missing() -> Option<String> {
    if QDISC.0.is_empty() {
        return Some(
            "this program was built without it, since clang before 16 cannot compile it; build again with \
             CLANG=clang-19"
                .into(),
        );
    }
    messages::keep();
    let has = Btf::from_vmlinux().map(|btf| btf.type_by_name::<Func<'_>>("bpf_qdisc_watchdog_schedule").is_some());
    messages::take();
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let release = release.trim();
    match has {
        Ok(true) => None,
        Ok(false) => {
            Some(format!("Linux {release} has no BPF qdiscs, which need Linux 6.16 or later with CONFIG_NET_SCH_BPF=y"))
        }
        Err(error) => Some(format!("Linux {release} has no types (CONFIG_DEBUG_INFO_BTF=y): {error}")),
    }
}

/// Reason why the kernel does not take the qdisc with the maps of `programs`; `None` if it does.
pub(super) fn problem(programs: &Programs) -> Option<String> {
    load(programs, KIND).err().map(|error| error.to_string())
}

fn load(programs: &Programs, kind: &str) -> Result<Object, KernelError> {
    if let Some(reason) = missing() {
        return Err(KernelError::NoOwnQdisc(reason));
    }
    messages::keep();
    let doing = "loading the BPF qdisc";
    let mut builder = ObjectBuilder::default();
    let mut open = builder.open_memory(&QDISC.0).map_err(KernelError::refused(doing))?;
    for mut map in open.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        if map.map_type() == MapType::StructOps {
            let value = map.initial_value_mut().expect("the object has a value");
            value[..ID_BYTES].fill(0);
            value[..kind.len()].copy_from_slice(kind.as_bytes());
        } else if let Some(shared) = programs.shared(&name) {
            map.reuse_fd(shared.as_fd()).map_err(KernelError::refused(doing))?;
        } else {
            programs.set_mode(&mut map);
        }
    }
    open.load().map_err(KernelError::refused(doing))
}

fn register(object: &mut Object, kind: &str) -> Result<libbpf_rs::Link, KernelError> {
    let mut map = object.maps_mut().find(|map| map.map_type() == MapType::StructOps).expect("the object has one");
    map.attach_struct_ops().map_err(KernelError::refused(format!("registering the qdisc {kind}")))
}

/// Kind of the node whose pins are in `folder`.
fn kind_of(folder: &Path) -> io::Result<String> {
    let metadata = fs::metadata(folder)?;
    let mut hash = DefaultHasher::new();
    hash.write(&QDISC.0);
    hash.write_u64(metadata.dev());
    hash.write_u64(metadata.ino());
    Ok(format!("{KIND}{:08x}", hash.finish() as u32))
}

/// Kinds with a pin in `folder`.
fn kinds(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.file_name());
    let names = names.filter_map(|name| Some(name.to_str()?.strip_prefix(LINK)?.to_owned()));
    names.filter(|kind| kind.starts_with(KIND)).collect()
}

/// Prepares the own qdisc for the ports that have one: checks that their root qdiscs may be replaced, and registers the
/// programs. Returns the kind, or `None` if no port has an own qdisc.
pub(super) fn prepare(
    programs: &Programs,
    config: &NodeConfig,
    interfaces: &[u32],
    folder: &Path,
) -> Result<Option<String>, KernelError> {
    let ports = || config.ports.iter().zip(interfaces).filter(|(port, _)| port.has_own_qdisc());
    if ports().next().is_none() {
        return Ok(None);
    }
    let roots = roots()?;
    for (port, index) in ports() {
        let foreign = roots.iter().find(|root| root.index == *index).and_then(|root| foreign(root, folder));
        if let Some(problem) = foreign {
            return Err(KernelError::Framing { interface: port.interface.clone(), problem });
        }
    }
    let kind = kind_of(folder).map_err(KernelError::system(format!("reading {}", folder.display())))?;
    let pin = folder.join(format!("{LINK}{kind}"));
    if !pin.exists() {
        let mut link = register(&mut load(programs, &kind)?, &kind)?;
        link.pin(&pin).map_err(KernelError::refused("pinning the BPF qdisc"))?;
    }
    Ok(Some(kind))
}

/// Problem of a port whose root qdisc another program has set, which a detach could not restore.
pub(super) fn foreign(root: &RootQdisc, folder: &Path) -> Option<String> {
    let is_foreign = root.is_configured && !kinds(folder).contains(&root.kind);
    is_foreign.then(|| {
        format!(
            "has the root qdisc {}, which backlog \"bpf\" would replace; remove it with tc qdisc del first",
            root.kind
        )
    })
}

/// Makes the qdisc `kind` the root of the ports that have it, and removes it from other interfaces. Then removes
/// earlier kinds of the node.
pub(super) fn enter(records: &[PortRecord], kind: Option<&str>, folder: &Path) -> Result<(), KernelError> {
    let ours = kinds(folder);
    if ours.is_empty() {
        return Ok(());
    }
    let roots = roots()?;
    for record in records.iter().filter(|record| record.own_qdisc != 0) {
        let is_there = |root: &RootQdisc| root.index == record.ifindex && Some(root.kind.as_str()) == kind;
        if let Some(kind) = kind.filter(|_| !roots.iter().any(is_there)) {
            replace(record.ifindex, kind)?;
        }
    }
    let wanted = |root: &&RootQdisc| records.iter().any(|record| record.own_qdisc != 0 && record.ifindex == root.index);
    leave(roots.iter().filter(|root| !wanted(root)), &ours)?;
    ours.iter()
        .filter(|ours| Some(ours.as_str()) != kind)
        .try_for_each(|kind| hook::remove(&folder.join(format!("{LINK}{kind}"))))
}

/// A name that no other registration has: process identifiers have at most 22 bits (PID_MAX_LIMIT).
fn new_kind() -> String {
    static REGISTERED: AtomicU32 = AtomicU32::new(0);
    let number = REGISTERED.fetch_add(1, Ordering::Relaxed) % 1024;
    format!("{KIND}{:08x}", (std::process::id() << 10) | number)
}

/// Removes the qdiscs of the node from all interfaces. The kernel replaces them by its default.
pub(super) fn leave_all(folder: &Path) -> Result<(), KernelError> {
    let ours = kinds(folder);
    if !ours.is_empty() {
        leave(roots()?.iter(), &ours)?;
    }
    Ok(())
}

fn leave<'a>(roots: impl Iterator<Item = &'a RootQdisc>, kinds: &[String]) -> Result<(), KernelError> {
    roots.filter(|root| kinds.contains(&root.kind)).try_for_each(|root| match remove_root_qdisc(root.index) {
        // The interface is gone, or its qdisc.
        Err(error) if matches!(error.raw_os_error(), Some(libc::ENODEV | libc::ENOENT)) => Ok(()),
        result => result.map_err(KernelError::system(format!("interface {}: removing its root qdisc", root.index))),
    })
}

fn replace(index: u32, kind: &str) -> Result<(), KernelError> {
    replace_root_qdisc(index, kind)
        .map_err(KernelError::system(format!("interface {index}: making {kind} its root qdisc")))
}

fn roots() -> Result<Vec<RootQdisc>, KernelError> {
    root_qdiscs().map_err(KernelError::system("asking for qdiscs"))
}

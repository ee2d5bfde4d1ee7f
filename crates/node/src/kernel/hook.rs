//! Programs at the hooks of a port: TCX if the kernel has it, otherwise clsact filters. Ports that receive labels in
//! shims also have an XDP program, which runs before the program at the hook.
//!
//! The pin in the node's folder keeps a TCX link alive; the qdisc keeps a clsact filter alive. Links and filters are
//! replaced atomically, so no packet passes unprocessed. Programs of other tools at the same port stay attached. Each
//! TCX link is separate, and our filters have their own priority and handle. clsact is removed only if fairlane-node
//! created it and it has no other filters.

use super::tcx::{self, Side};
use super::{KernelError, clsact};
use crate::records::PortRecord;
use libbpf_rs::query::ProgInfoIter;
use libbpf_rs::{Link, TC_EGRESS, TC_INGRESS, TcHook, TcHookBuilder};
use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};

/// Priority and handle of our filters.
const FILTER: u32 = 0xfa;

/// Prefix of the pins of links.
pub(super) const LINK: &str = "link-";

/// Attaches a program to one side of a port by a BPF link, replacing an earlier program.
pub(super) fn link(folder: &Path, program: BorrowedFd<'_>, index: u32, side: Side) -> Result<(), KernelError> {
    let path = pin_of(folder, index, side);
    let whose = if side == Side::Unwrap { "XDP of " } else { "" };
    let failed = |doing: &str| KernelError::system(format!("{doing} a program to {whose}interface {index}"));
    if path.exists() {
        let link = tcx::open(&path).map_err(failed("joining"))?;
        match tcx::replace(link.as_fd(), program) {
            Ok(()) => return Ok(()),
            // The interface was deleted, and a new one has its index.
            Err(error) if is_gone(&error) => unlink(folder, index, side)?,
            Err(error) => return Err(failed("joining")(error)),
        }
    }
    let link = tcx::link(program, index, side).map_err(failed("joining"))?;
    tcx::pin(link.as_fd(), &path).map_err(failed("pinning"))
}

/// Detaches our program from one side of a port, if there is one.
pub(super) fn unlink(folder: &Path, index: u32, side: Side) -> Result<(), KernelError> {
    remove(&pin_of(folder, index, side))
}

pub(super) fn unlink_all(folder: &Path) -> Result<(), KernelError> {
    links(folder)
        .map_err(KernelError::system(format!("reading {}", folder.display())))?
        .try_for_each(|pin| remove(&pin))
}

pub(super) fn has_links(folder: &Path) -> bool {
    links(folder).is_ok_and(|mut pins| pins.next().is_some())
}

fn links(folder: &Path) -> io::Result<impl Iterator<Item = PathBuf>> {
    let entries = fs::read_dir(folder)?.flatten();
    Ok(entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(LINK)).map(|entry| entry.path()))
}

/// Removes a pin. A missing pin is no error.
pub(super) fn remove(path: &Path) -> Result<(), KernelError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(KernelError::system(format!("removing {}", path.display()))(error))
        }
        _ => Ok(()),
    }
}

fn pin_of(folder: &Path, index: u32, side: Side) -> PathBuf {
    folder.join(format!("{LINK}{index}-{}", side.name()))
}

pub(super) fn has_link(folder: &Path, index: u32, side: Side) -> bool {
    pin_of(folder, index, side).exists()
}

/// Returns true if another node's programs, with other pins, are also at a port. Returns false without CAP_SYS_ADMIN,
/// which is needed to read program names.
pub(super) fn has_another_node(folder: &Path, index: u32) -> bool {
    let others: HashSet<u32> =
        [Side::Ingress, Side::Egress].iter().flat_map(|side| others_at(folder, index, *side)).collect();
    !others.is_empty()
        && ProgInfoIter::default()
            .any(|program| others.contains(&program.id) && program.name.to_string_lossy().starts_with("fairlane_"))
}

/// Returns the programs at one side of a port that are not ours.
fn others_at(folder: &Path, index: u32, side: Side) -> Vec<u32> {
    let ours = Link::open(pin_of(folder, index, side)).and_then(|link| link.info()).ok().map(|info| info.id);
    super::messages::take();
    let all = tcx::programs_at(index, side).unwrap_or_default();
    all.into_iter().filter(|(_, link)| Some(*link) != ours).map(|(program, _)| program).collect()
}

/// Returns true for `ENOLINK`: the link's interface was deleted.
fn is_gone(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::NOLINK.raw_os_error())
}

/// Attaches a program to one side of a port as a clsact filter, replacing an earlier program.
pub(super) fn filter(program: BorrowedFd<'_>, index: u32, side: Side) -> Result<(), KernelError> {
    let attached = clsact_filter(program, index, side).attach();
    attached.map(drop).map_err(KernelError::refused(format!("attaching a program to interface {index}")))
}

/// Removes our filter from one side of a port, if there is one. `program` may be any program, since only priority and
/// handle identify the filter.
pub(super) fn unfilter(program: BorrowedFd<'_>, index: u32, side: Side) {
    // A missing filter or interface is no error.
    let _ = clsact_filter(program, index, side).detach();
    super::messages::take();
}

/// Removes our filters from a port, and clsact if fairlane-node created it and no other program uses it.
pub(super) fn leave_clsact(program: BorrowedFd<'_>, record: &PortRecord) {
    for side in [Side::Ingress, Side::Egress] {
        unfilter(program, record.ifindex, side);
    }
    // If the filters cannot be counted, keep the qdisc, which is harmless. Removing it may not be.
    if record.made_clsact != 0 && clsact::has_filters(record.ifindex).is_ok_and(|has| !has) {
        clsact::destroy(record.ifindex);
    }
    super::messages::take();
}

fn clsact_filter(program: BorrowedFd<'_>, index: u32, side: Side) -> TcHook {
    let mut builder = TcHookBuilder::new(program);
    builder.ifindex(index.cast_signed()).replace(true).handle(FILTER).priority(FILTER);
    builder.hook(if side == Side::Ingress { TC_INGRESS } else { TC_EGRESS })
}

//! The kernel data plane: programs, their maps, and their attachment to ports.
//!
//! State lives in the kernel: maps and links are pinned below `node.pin_path`. The tool may end, be killed, or be
//! replaced by a new version. The next `attach` finds the pinned state.

mod attach;
mod batches;
mod check;
mod clsact;
mod far_end;
mod flood;
mod hook;
mod links;
mod lock;
mod marks;
mod messages;
mod pin_watch;
mod programs;
mod qdisc;
mod redirect;
mod snapshot;
mod tcx;
mod users;

pub use attach::{Attached, Leaving, Ports, attach, configure, detach, is_attached, ports_of};
pub use check::{Finding, State, check, warnings};
pub use far_end::{Labels, Neighbour, SILENT};
pub use flood::Flood;
pub use links::{Link, LinkEvent, LinkEvents, RootQdisc, links, root_qdiscs};
pub use pin_watch::PinWatch;
pub use programs::{Mode, Outcome, Programs, Unwrapped, empty_ns, empty_unwrap_ns};
pub use qdisc::{OwnQdisc, missing as own_qdisc_missing};
pub use redirect::Redirect;
pub use snapshot::{PortView, Snapshot, UserView};
pub use users::UserTable;

use std::io;
use std::path::PathBuf;

/// Errors of the kernel data plane.
#[derive(Debug, thiserror::Error)]
pub enum KernelError {
    /// The kernel refused.
    #[error("{doing}: {source}{log}")]
    Refused {
        /// Attempted action.
        doing: String,
        /// Reason of the refusal.
        source: libbpf_rs::Error,
        /// Messages of libbpf and the verifier, one per line.
        log: String,
    },
    /// A map holds records of another version of the programs.
    #[error("map {0}: its records are those of another version; detach with that version first")]
    OtherVersion(String),
    /// Two interface indices use the same slot of the map of ports.
    #[error("ports: the indices of \"{0}\" and \"{1}\" differ by a multiple of {2}; make one of them anew")]
    SamePlace(String, String, u32),
    /// The packets of this kind of interface cannot be parsed.
    #[error("ports: the interface \"{interface}\" {problem}")]
    Framing {
        /// Name of the interface.
        interface: String,
        /// Problem with it.
        problem: String,
    },
    /// Neither this build nor this kernel has the node's own qdisc.
    #[error("ports: backlog = \"bpf\": {0}")]
    NoOwnQdisc(String),
    /// The maps have too few slots for the configured users.
    #[error("users_table.configured: {0} places are taken, more need a detach first")]
    NoPlace(u32),
    /// The folder for pins cannot be used.
    #[error("node.pin_path: {path}: {problem}")]
    PinPath {
        /// Path of the folder.
        path: PathBuf,
        /// Problem with it.
        problem: String,
    },
    /// Labels still arrive, and no program would strip them.
    #[error(
        "ports: labels still come in at \"{0}\", and packets with labels are lost where nobody takes them off; detach \
         the node at the far end first, or end this one all the same with detach --now"
    )]
    LabelsComeIn(String),
    /// A change that requires a detach first.
    #[error("{key}: changed from {from} to {to}, which needs a detach first")]
    NeedsDetach {
        /// Key.
        key: &'static str,
        /// Value in the kernel.
        from: String,
        /// Value in the configuration.
        to: String,
    },
    /// A system call failed.
    #[error("{doing}: {source}")]
    System {
        /// Attempted action.
        doing: String,
        /// Reason of the failure.
        source: io::Error,
    },
}

impl KernelError {
    /// Underlying system error number, if there is one.
    #[must_use]
    pub fn raw_os_error(&self) -> Option<i32> {
        match self {
            Self::System { source, .. } => source.raw_os_error(),
            Self::Refused { source, .. } if source.kind() == libbpf_rs::ErrorKind::PermissionDenied => {
                Some(rustix::io::Errno::PERM.raw_os_error())
            }
            _ => None,
        }
    }

    fn refused(doing: impl Into<String>) -> impl FnOnce(libbpf_rs::Error) -> Self {
        let doing = doing.into();
        move |source| Self::Refused { doing, source, log: messages::take() }
    }

    fn system(doing: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let doing = doing.into();
        move |source| Self::System { doing, source }
    }
}

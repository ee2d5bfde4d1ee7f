//! Attaches the program of `planes/bpf/redirect.bpf.c` to an interface. Until this value is dropped, the program passes
//! arriving frames to an `AF_XDP` socket.

use super::programs::{Aligned, ZERO, read_percpu};
use super::tcx::{self, Side};
use super::{KernelError, messages};
use crate::records::RedirectStats;
use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use zerocopy::IntoBytes;

static OBJECT: &Aligned<[u8]> = &Aligned(*include_bytes!(concat!(env!("OUT_DIR"), "/redirect.bpf.o")));

/// The attached program. Only the link keeps it loaded, so the kernel also removes it if the process is killed.
#[derive(Debug)]
pub struct Redirect {
    object: Object,
    _link: OwnedFd,
}

impl Redirect {
    /// Makes the driver pass frames from queue 0 of the interface with `index` to `socket`, if they have at most
    /// `longest_frame` bytes. `is_veth` must be true for veth interfaces.
    ///
    /// # Errors
    /// The kernel or the driver rejects the program, or another XDP program is attached.
    pub fn attach(index: u32, is_veth: bool, longest_frame: u32, socket: BorrowedFd<'_>) -> Result<Self, KernelError> {
        messages::keep();
        let doing = "loading the program that hands frames over";
        let mut open = ObjectBuilder::default().open_memory(&OBJECT.0).map_err(KernelError::refused(doing))?;
        let name = if is_veth { "fairlane_redirect_veth" } else { "fairlane_redirect" };
        for mut program in open.progs_mut() {
            let is_wanted = program.name() == name;
            program.set_autoload(is_wanted);
        }
        for mut map in open.maps_mut() {
            if map.name().to_string_lossy().ends_with(".rodata")
                && let Some(constants) = map.initial_value_mut()
            {
                constants.copy_from_slice(longest_frame.as_bytes());
            }
        }
        let object = open.load().map_err(KernelError::refused(doing))?;
        let socket = socket.as_raw_fd().cast_unsigned();
        let sockets = object.maps().find(|map| map.name() == "sockets").expect("the object has the map");
        let entered = sockets.update(ZERO.as_bytes(), socket.as_bytes(), MapFlags::ANY);
        entered.map_err(KernelError::refused("entering a socket"))?;
        let link = {
            let program = object.progs().find(|program| program.name() == name).expect("the object has the program");
            tcx::link(program.as_fd(), index, Side::Redirect)
        };
        let link = link.map_err(KernelError::system("attaching the program that hands frames over"))?;
        Ok(Self { object, _link: link })
    }

    /// Returns the counters of frames dropped since the program was attached.
    ///
    /// # Errors
    /// A system call fails.
    pub fn stats(&self) -> Result<RedirectStats, KernelError> {
        let refused = self.object.maps().find(|map| map.name() == "refused").expect("the object has the map");
        let records: Vec<RedirectStats> = read_percpu(&refused, "refused")?;
        Ok(records.iter().fold(RedirectStats::default(), |sum, one| RedirectStats {
            oversized: sum.oversized + one.oversized,
            without_checksum: sum.without_checksum + one.without_checksum,
        }))
    }
}

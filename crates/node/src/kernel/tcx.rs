//! The TCX hooks of a port, which need no qdisc (Linux 6.6), and the XDP hook before them. A link (`bpf_link`) keeps a
//! program attached to a hook; a pin keeps the link open.
//!
//! Calls libbpf directly, because the wrapper does not support these hooks.
#![allow(unsafe_code)]

use libbpf_sys::{
    BPF_TCX_EGRESS, BPF_TCX_INGRESS, BPF_XDP, XDP_FLAGS_DRV_MODE, XDP_FLAGS_SKB_MODE, bpf_attach_type, bpf_link_create,
    bpf_link_create_opts, bpf_link_update, bpf_obj_get, bpf_obj_pin, bpf_prog_query, bpf_prog_query_opts,
};
use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;

/// Hooks to which programs are attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Arriving packets.
    Ingress,
    /// Departing packets.
    Egress,
    /// Arriving packets at XDP.
    Unwrap,
    /// Arriving packets at XDP in the driver.
    Redirect,
}

impl Side {
    fn kind(self) -> bpf_attach_type {
        match self {
            Self::Ingress => BPF_TCX_INGRESS,
            Self::Egress => BPF_TCX_EGRESS,
            Self::Unwrap | Self::Redirect => BPF_XDP,
        }
    }

    fn flags(self) -> u32 {
        match self {
            Self::Ingress | Self::Egress => 0,
            // Generic XDP works at every interface. Unlike native XDP, it does not restart the driver or change the
            // offloads of a neighbour. The link stores the mode, which also applies to the removal.
            Self::Unwrap => XDP_FLAGS_SKB_MODE,
            Self::Redirect => XDP_FLAGS_DRV_MODE,
        }
    }

    /// Suffix of the pins of links.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Ingress => "ingress",
            Self::Egress => "egress",
            Self::Unwrap => "unwrap",
            Self::Redirect => "redirect",
        }
    }
}

/// Index of the loopback interface, which every network namespace has.
const LOOPBACK: i32 = 1;

/// Returns true if the kernel has these hooks, i.e. supports the query for attached programs.
pub(super) fn is_there() -> bool {
    let (mut flags, mut count) = (0, 0);
    // SAFETY: the list is null with capacity zero; both numbers outlive the call.
    unsafe { bpf_prog_query(LOOPBACK, BPF_TCX_INGRESS, 0, &mut flags, ptr::null_mut(), &mut count) == 0 }
}

/// Maximum number of programs at a hook (`BPF_MPROG_MAX` of the kernel), for the size of the lists.
const MOST_PROGRAMS: usize = 64;

/// Returns the ids of the programs at a TCX hook and of their links.
pub(super) fn programs_at(index: u32, side: Side) -> io::Result<Vec<(u32, u32)>> {
    let (mut programs, mut links) = ([0u32; MOST_PROGRAMS], [0u32; MOST_PROGRAMS]);
    let mut options = bpf_prog_query_opts {
        sz: size_of::<bpf_prog_query_opts>() as _,
        prog_ids: programs.as_mut_ptr(),
        link_ids: links.as_mut_ptr(),
        ..Default::default()
    };
    options.__bindgen_anon_1.count = MOST_PROGRAMS as u32;
    // SAFETY: the options are complete; both lists have the stated capacity and outlive the call.
    result(unsafe { bpf_prog_query_opts(index.cast_signed(), side.kind(), &mut options) })?;
    // SAFETY: both fields of the union have the same type.
    let count = unsafe { options.__bindgen_anon_1.count } as usize;
    Ok(programs.into_iter().zip(links).take(count).collect())
}

/// Attaches a program to a hook and returns the link. The program stays attached until the last descriptor of the link
/// is closed and the link's pin is removed.
pub(super) fn link(program: BorrowedFd<'_>, index: u32, side: Side) -> io::Result<OwnedFd> {
    let size = size_of::<bpf_link_create_opts>() as _;
    let options = bpf_link_create_opts { sz: size, flags: side.flags(), ..Default::default() };
    // SAFETY: descriptor and index are numbers; the options are complete and outlive the call.
    owned(unsafe { bpf_link_create(program.as_raw_fd(), index.cast_signed(), side.kind(), &options) })
}

/// Replaces the program of a link atomically.
pub(super) fn replace(link: BorrowedFd<'_>, program: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: the descriptors are valid; null means no options.
    result(unsafe { bpf_link_update(link.as_raw_fd(), program.as_raw_fd(), ptr::null()) }).map(drop)
}

pub(super) fn pin(link: BorrowedFd<'_>, path: &Path) -> io::Result<()> {
    let path = c_path(path)?;
    // SAFETY: the string is zero-terminated and outlives the call.
    result(unsafe { bpf_obj_pin(link.as_raw_fd(), path.as_ptr()) }).map(drop)
}

pub(super) fn open(path: &Path) -> io::Result<OwnedFd> {
    let path = c_path(path)?;
    // SAFETY: as above.
    owned(unsafe { bpf_obj_get(path.as_ptr()) })
}

fn c_path(path: &Path) -> io::Result<CString> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Converts the status of libbpf, which returns negative error numbers.
fn result(status: i32) -> io::Result<i32> {
    if status < 0 { Err(io::Error::from_raw_os_error(-status)) } else { Ok(status) }
}

fn owned(status: i32) -> io::Result<OwnedFd> {
    // SAFETY: the descriptor is new and has no other owner.
    result(status).map(|fd| unsafe { OwnedFd::from_raw_fd(fd) })
}

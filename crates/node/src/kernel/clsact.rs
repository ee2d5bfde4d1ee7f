//! The clsact qdisc of a port: made where there is none, and remembered, so that it can be taken away again.
//!
//! A call of libbpf itself: the wrapper hides whether the qdisc was there already.
#![allow(unsafe_code)]

use libbpf_sys::{BPF_TC_EGRESS, BPF_TC_INGRESS, bpf_tc_hook, bpf_tc_hook_create, bpf_tc_hook_destroy};
use std::io;

/// Makes clsact on the interface with `index`. Returns whether it was not there before.
pub(super) fn create(index: u32) -> io::Result<bool> {
    // SAFETY: the structure is complete and lives through the call, which only reads it.
    let status = unsafe { bpf_tc_hook_create(&mut hook(index)) };
    match io::Error::from_raw_os_error(-status) {
        _ if status == 0 => Ok(true),
        error if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        error => Err(error),
    }
}

/// Takes clsact from the interface with `index`, with all filters. Already gone is no error.
pub(super) fn destroy(index: u32) {
    // SAFETY: as above. The only errors are that qdisc or interface are gone, or that the process may not, which the
    // removal of pins tells.
    unsafe { bpf_tc_hook_destroy(&mut hook(index)) };
}

fn hook(index: u32) -> bpf_tc_hook {
    bpf_tc_hook {
        sz: size_of::<bpf_tc_hook>() as _,
        ifindex: index.cast_signed(),
        attach_point: BPF_TC_INGRESS | BPF_TC_EGRESS,
        ..Default::default()
    }
}

//! Creates the clsact qdisc of a port if it is missing. The node records that it created the qdisc, to remove it later.
//!
//! Calls libbpf directly, because its Rust wrapper does not report whether the qdisc already existed.
#![allow(unsafe_code)]

use libbpf_sys::{BPF_TC_EGRESS, BPF_TC_INGRESS, bpf_tc_hook, bpf_tc_hook_create, bpf_tc_hook_destroy};
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketType, recv, send, socket};
use std::io;

/// Creates clsact on the interface with `index`. Returns true if it did not exist before.
pub(super) fn create(index: u32) -> io::Result<bool> {
    // SAFETY: the structure is complete and outlives the call, which only reads it.
    let status = unsafe { bpf_tc_hook_create(&mut hook(index)) };
    match io::Error::from_raw_os_error(-status) {
        _ if status == 0 => Ok(true),
        error if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        error => Err(error),
    }
}

/// Removes clsact and all its filters from the interface with `index`. A missing clsact is no error.
pub(super) fn destroy(index: u32) {
    // SAFETY: the structure is complete and outlives the call. The result is ignored: the only errors are a missing
    // qdisc or interface, and missing permission, which the removal of pins also reports.
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

// Constants from linux/rtnetlink.h, linux/netlink.h and linux/pkt_sched.h.
const RTM_NEWTFILTER: u16 = 44;
const RTM_GETTFILTER: u16 = 46;
const NLM_F_REQUEST_DUMP: u16 = 0x301;
const NLMSG_ERROR: u16 = 2;
const NLMSG_DONE: u16 = 3;
const PARENTS: [u32; 2] = [0xffff_fff2, 0xffff_fff3];

/// Returns true if clsact of the interface with `index` has any filter.
pub(super) fn has_filters(index: u32) -> io::Result<bool> {
    for parent in PARENTS {
        if has_filters_at(index, parent)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn has_filters_at(index: u32, parent: u32) -> io::Result<bool> {
    let socket = socket(AddressFamily::NETLINK, SocketType::RAW, None)?; // NETLINK_ROUTE is 0
    // struct nlmsghdr: length, type, flags, sequence, port; struct tcmsg: family, index, handle, parent, info.
    let mut request = Vec::new();
    request.extend(36u32.to_ne_bytes());
    request.extend(RTM_GETTFILTER.to_ne_bytes());
    request.extend(NLM_F_REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 12]);
    for word in [index, 0, parent, 0] {
        request.extend(word.to_ne_bytes());
    }
    send(&socket, &request, SendFlags::empty())?;
    let mut answer = [0u8; 32_768];
    let mut is_found = false;
    loop {
        let (length, _) = recv(&socket, &mut answer[..], RecvFlags::empty())?;
        let mut rest = &answer[..length];
        while let [a, b, c, d, e, f, ..] = *rest {
            match u16::from_ne_bytes([e, f]) {
                NLMSG_DONE => return Ok(is_found),
                NLMSG_ERROR => return Err(io::Error::other("the kernel does not list filters")),
                kind => is_found |= kind == RTM_NEWTFILTER,
            }
            let bytes = (u32::from_ne_bytes([a, b, c, d]) as usize).next_multiple_of(4);
            rest = rest.get(bytes.max(16)..).unwrap_or_default();
        }
    }
}

//! Frames of an interface through `AF_PACKET`.
//!
//! Frames are received through a ring shared with the kernel (`PACKET_RX_RING`, TPACKET_V2, packet(7)), with their
//! arrival times. They are sent by `sendmmsg`, bypassing the interface's queue (`PACKET_QDISC_BYPASS`). Blocks of
//! TPACKET_V3 would delay frames until a block is full or a timer of whole milliseconds expires.

use super::{BATCH, be_promiscuous, get, index_of, open_socket, set, set_send_buffer, wrapped};
use fairlane_schemes::base::units::Time;
use std::ffi::c_int;
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Bytes of a ring slot in addition to the frame: header and address (52 bytes), and alignment.
const SLOT_EXTRA: usize = 96;
const BLOCK_BYTES: usize = 1 << 18;

/// A received frame in the ring.
#[derive(Debug)]
pub struct Received<'a> {
    /// Start of the frame, without the outer VLAN tag.
    pub bytes: &'a [u8],
    /// Outer VLAN tag, which follows the two addresses on the wire.
    pub tag: Option<[u8; 4]>,
    /// Length on the wire, without the outer tag; greater than the length of `bytes` if the frame was truncated.
    pub length: usize,
    /// Arrival time, on the clock [`super::realtime`].
    pub at: Time,
    /// True if the sender's kernel left the checksum for a network card to compute.
    pub lacks_checksum: bool,
}

/// A network interface that receives all arriving frames, and sends frames.
#[derive(Debug)]
pub struct Interface {
    socket: OwnedFd,
    index: u32,
    ring: *mut u8,
    ring_bytes: usize,
    slot_bytes: usize,
    slots: usize,
    next: usize,
}

// SAFETY: the ring belongs to this value alone and is not tied to a thread.
unsafe impl Send for Interface {}

impl Interface {
    /// Opens interface `name` for frames of up to `frame_bytes`. The kernel buffers at least `slots` frames.
    ///
    /// # Errors
    /// The interface does not exist, `CAP_NET_RAW` is missing, or the kernel rejects the ring.
    pub fn open(name: &str, frame_bytes: usize, slots: u32) -> Result<Self> {
        let index = index_of(name)?;
        let socket = open_socket(libc::AF_PACKET, libc::SOCK_RAW)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        set_send_buffer(&socket)?;
        let slot_bytes = (frame_bytes + SLOT_EXTRA).next_power_of_two();
        let block_bytes = BLOCK_BYTES.max(slot_bytes);
        let blocks = (slots as usize * slot_bytes).div_ceil(block_bytes);
        let slots = blocks * block_bytes / slot_bytes;
        let request = libc::tpacket_req {
            tp_block_size: block_bytes as u32,
            tp_block_nr: blocks as u32,
            tp_frame_size: slot_bytes as u32,
            tp_frame_nr: slots as u32,
        };
        set(&socket, libc::SOL_PACKET, libc::PACKET_RX_RING, &request)?;
        let ring_bytes = blocks * block_bytes;
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: creates a new mapping of the ring's size; the result is checked below.
        let ring = unsafe { libc::mmap(ptr::null_mut(), ring_bytes, access, shared, socket.as_raw_fd(), 0) };
        if ring == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let interface = Self { socket, index, ring: ring.cast(), ring_bytes, slot_bytes, slots, next: 0 };
        interface.bind()?;
        Ok(interface)
    }

    /// Binds the socket. From then on the socket receives all frames of the interface, for any destination.
    fn bind(&self) -> Result<()> {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut address: libc::sockaddr_ll = unsafe { zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = self.index as c_int;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address outlives the call and has the given length.
        if unsafe { libc::bind(self.socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) } < 0 {
            return Err(Error::last_os_error());
        }
        be_promiscuous(&self.socket, self.index)
    }

    /// Passes up to `most` arrived frames to `take`. Returns the number of frames.
    #[inline]
    pub fn receive(&mut self, most: usize, mut take: impl FnMut(Received<'_>)) -> usize {
        for count in 0..most {
            // SAFETY: `next` is below `slots`, so the slot is within the mapping, which lives as long as `self`.
            let slot = unsafe { self.ring.add(self.next * self.slot_bytes) };
            // SAFETY: a slot starts with its header, whose first word is the status, aligned to 16 bytes.
            let status = unsafe { AtomicU32::from_ptr(slot.cast()) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return count;
            }
            // SAFETY: the kernel has released the slot and does not access it until the status is reset.
            let header = unsafe { &*slot.cast::<libc::tpacket2_hdr>() };
            let kept = (header.tp_snaplen as usize).min(self.slot_bytes.saturating_sub(usize::from(header.tp_mac)));
            // SAFETY: the frame starts at offset `tp_mac` of the slot; its length is limited to the slot above.
            let bytes = unsafe { std::slice::from_raw_parts(slot.add(usize::from(header.tp_mac)), kept) };
            take(Received {
                bytes,
                tag: tag_of(header),
                length: header.tp_len as usize,
                at: wrapped(u64::from(header.tp_sec), u64::from(header.tp_nsec)),
                lacks_checksum: header.tp_status & libc::TP_STATUS_CSUMNOTREADY != 0,
            });
            status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
            fence(Ordering::SeqCst);
            self.next = if self.next + 1 == self.slots { 0 } else { self.next + 1 };
        }
        most
    }

    /// Sends up to [`BATCH`] frames in order. Returns the number that the kernel accepted.
    ///
    /// # Errors
    /// The kernel accepted no frame.
    #[inline]
    pub fn send(&self, frames: &[&[u8]]) -> Result<usize> {
        // SAFETY: all zeros is a valid value of these plain structures; only the first `count` of them are used.
        let (mut vectors, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let count = frames.len().min(BATCH);
        for ((frame, vector), message) in frames.iter().zip(&mut vectors).zip(&mut messages) {
            *vector = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        let (socket, flags) = (self.socket.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: the first `count` messages point to vectors, which point to frames. All of them outlive the call.
        let sent = unsafe { libc::sendmmsg(socket, messages.as_mut_ptr(), count as u32, flags) };
        if sent < 0 { Err(Error::last_os_error()) } else { Ok(sent as usize) }
    }

    /// Index of the interface.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// Returns and clears the pending error of the socket, such as `ENETDOWN`. While an error is pending, every wait
    /// returns immediately.
    #[must_use]
    pub fn take_error(&self) -> Option<Error> {
        let mut error: c_int = 0;
        let asked = get(&self.socket, libc::SOL_SOCKET, libc::SO_ERROR, &mut error);
        (asked.is_ok() && error != 0).then(|| Error::from_raw_os_error(error))
    }

    /// Number of frames that the kernel dropped since the last call because the ring was full.
    pub fn drops(&self) -> u64 {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut stats: libc::tpacket_stats = unsafe { zeroed() };
        match get(&self.socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, &mut stats) {
            Ok(()) => u64::from(stats.tp_drops),
            Err(_) => 0,
        }
    }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        // SAFETY: `open` created this mapping, which is no longer borrowed.
        unsafe { libc::munmap(self.ring.cast(), self.ring_bytes) };
    }
}

fn tag_of(header: &libc::tpacket2_hdr) -> Option<[u8; 4]> {
    let has = |flag: u32| header.tp_status & flag != 0;
    has(libc::TP_STATUS_VLAN_VALID).then(|| {
        let ethertype = if has(libc::TP_STATUS_VLAN_TPID_VALID) { header.tp_vlan_tpid } else { 0x8100 };
        let ([a, b], [c, d]) = (ethertype.to_be_bytes(), header.tp_vlan_tci.to_be_bytes());
        [a, b, c, d]
    })
}

//! What forwarder and senders ask of Linux: frames of an interface (`AF_PACKET`), clocks, waiting, priority, signals.
//!
//! Frames come through a ring shared with the kernel (`PACKET_RX_RING`, TPACKET_V2, packet(7)) that also gives the time of
//! arrival; they leave by `sendmmsg`, past the queue of the interface (`PACKET_QDISC_BYPASS`). Blocks of TPACKET_V3 would
//! hold frames back until a block is full or a timer of whole milliseconds ends.
//!
//! The one file with `unsafe` but for the kernel data plane.
#![allow(unsafe_code)]

use fairlane_schemes::base::units::Time;
use std::ffi::{CString, c_int, c_void};
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering, fence};

/// Frames in one call to the kernel.
pub const BATCH: usize = 64;
/// Room in a slot of the ring in front of the frame: the header and an address, 52 bytes, aligned; and behind it.
const SLOT_EXTRA: usize = 96;
const BLOCK_BYTES: usize = 1 << 18;
/// Room for frames that are on their way out.
const SEND_BUFFER: c_int = 8 << 20;

/// A frame as the kernel has it.
#[derive(Debug)]
pub struct Received<'a> {
    /// Its beginning, without the outer VLAN tag.
    pub bytes: &'a [u8],
    /// The outer VLAN tag, which stands after both addresses.
    pub tag: Option<[u8; 4]>,
    /// Its length on the wire, without the outer tag; more than `bytes` if it was cut.
    pub length: usize,
    /// When it arrived, as [`realtime`] tells it.
    pub at: Time,
    /// Whether its checksum was left to a network card.
    pub lacks_checksum: bool,
}

/// A network interface: every frame that comes in, and sending.
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

// SAFETY: the ring is owned by the interface alone, whichever thread that is in.
unsafe impl Send for Interface {}

impl Interface {
    /// Opens interface `name` for frames of up to `frame_bytes`; the kernel holds at least `slots` until they are read.
    ///
    /// # Errors
    /// There is no such interface, `CAP_NET_RAW` is missing, or the kernel refuses the ring.
    pub fn open(name: &str, frame_bytes: usize, slots: u32) -> Result<Self> {
        let index = index_of(name)?;
        // SAFETY: no pointers; the result is checked before it is owned.
        let socket = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
        if socket < 0 {
            return Err(Error::last_os_error());
        }
        // SAFETY: a descriptor that was just opened and that nothing else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(socket) };
        set(&socket, libc::SOL_PACKET, libc::PACKET_VERSION, &(libc::tpacket_versions::TPACKET_V2 as c_int))?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, &1)?;
        set(&socket, libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, &1)?;
        // Beyond net.core.wmem_max with CAP_NET_ADMIN only; less room is no error.
        if set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER).is_err() {
            set(&socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER)?;
        }
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
        // SAFETY: a new mapping of the ring's size, checked below.
        let ring = unsafe { libc::mmap(ptr::null_mut(), ring_bytes, access, shared, socket.as_raw_fd(), 0) };
        if ring == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let interface = Self { socket, index, ring: ring.cast(), ring_bytes, slot_bytes, slots, next: 0 };
        interface.bind()?;
        Ok(interface)
    }

    /// From here on frames of the interface arrive, whoever they are for.
    fn bind(&self) -> Result<()> {
        // SAFETY: all zeros is a valid value of these plain structures.
        let (mut address, mut promiscuous): (libc::sockaddr_ll, libc::packet_mreq) = unsafe { (zeroed(), zeroed()) };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = self.index as c_int;
        let length = size_of::<libc::sockaddr_ll>() as libc::socklen_t;
        // SAFETY: the address lives through the call and has the length that is given.
        if unsafe { libc::bind(self.socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) } < 0 {
            return Err(Error::last_os_error());
        }
        promiscuous.mr_ifindex = self.index as c_int;
        promiscuous.mr_type = libc::PACKET_MR_PROMISC as u16;
        set(&self.socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
    }

    /// Hands up to `most` frames that have arrived to `take`.
    #[inline]
    pub fn receive(&mut self, most: usize, mut take: impl FnMut(Received<'_>)) -> usize {
        for count in 0..most {
            // SAFETY: `next` is below `slots`, so that the slot is within the mapping, which lives as long as `self`.
            let slot = unsafe { self.ring.add(self.next * self.slot_bytes) };
            // SAFETY: a slot starts with its header, of which the status is the first word, aligned to 16 bytes.
            let status = unsafe { AtomicU32::from_ptr(slot.cast()) };
            if status.load(Ordering::Acquire) & libc::TP_STATUS_USER == 0 {
                return count;
            }
            // SAFETY: the kernel has handed the slot over and leaves it alone until the status is given back.
            let header = unsafe { &*slot.cast::<libc::tpacket2_hdr>() };
            let kept = (header.tp_snaplen as usize).min(self.slot_bytes.saturating_sub(usize::from(header.tp_mac)));
            // SAFETY: the frame starts `tp_mac` into the slot; its length is cut to the slot above.
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

    /// Sends up to [`BATCH`] frames in order; returns how many the kernel took.
    ///
    /// # Errors
    /// The kernel took none.
    #[inline]
    pub fn send(&self, frames: &[&[u8]]) -> Result<usize> {
        // SAFETY: all zeros is a valid value of these plain structures; only the first ones are used.
        let (mut vectors, mut messages): ([libc::iovec; BATCH], [libc::mmsghdr; BATCH]) =
            unsafe { (zeroed(), zeroed()) };
        let count = frames.len().min(BATCH);
        for ((frame, vector), message) in frames.iter().zip(&mut vectors).zip(&mut messages) {
            *vector = libc::iovec { iov_base: frame.as_ptr().cast_mut().cast(), iov_len: frame.len() };
            message.msg_hdr.msg_iov = vector;
            message.msg_hdr.msg_iovlen = 1;
        }
        let (socket, flags) = (self.socket.as_raw_fd(), libc::MSG_DONTWAIT);
        // SAFETY: the first `count` messages point to vectors, and these to frames, that outlive the call, which reads them.
        let sent = unsafe { libc::sendmmsg(socket, messages.as_mut_ptr(), count as u32, flags) };
        if sent < 0 { Err(Error::last_os_error()) } else { Ok(sent as usize) }
    }

    /// Index of the interface.
    #[must_use]
    pub fn index(&self) -> u32 {
        self.index
    }

    /// The error that the socket holds, such as `ENETDOWN` of an interface that went down; taken, or else every wait ends at once.
    #[must_use]
    pub fn take_error(&self) -> Option<Error> {
        let mut error: c_int = 0;
        let mut length = size_of::<c_int>() as libc::socklen_t;
        let (socket, out) = (self.socket.as_raw_fd(), ptr::from_mut(&mut error).cast());
        // SAFETY: the kernel writes at most `length` bytes into the number.
        let result = unsafe { libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_ERROR, out, &raw mut length) };
        (result == 0 && error != 0).then(|| Error::from_raw_os_error(error))
    }

    /// Frames that the kernel dropped since the last call because the ring was full.
    pub fn drops(&self) -> u64 {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut stats: libc::tpacket_stats = unsafe { zeroed() };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        let (socket, out) = (self.socket.as_raw_fd(), ptr::from_mut(&mut stats).cast());
        // SAFETY: the kernel writes at most `length` bytes into the structure.
        let result =
            unsafe { libc::getsockopt(socket, libc::SOL_PACKET, libc::PACKET_STATISTICS, out, &raw mut length) };
        if result < 0 { 0 } else { u64::from(stats.tp_drops) }
    }
}

impl Drop for Interface {
    fn drop(&mut self) {
        // SAFETY: the mapping that `open` made, which nothing borrows any more.
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

fn index_of(name: &str) -> Result<u32> {
    let name = CString::new(name).map_err(|_| Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: a text that ends with zero and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Error::last_os_error()),
        index => Ok(index),
    }
}

/// Index of the interface `name` if there is one and it is up.
#[must_use]
pub fn index_if_up(name: &str) -> Option<u32> {
    let index = index_of(name).ok()?;
    let mut request = request_about(name);
    ask_about_interface(libc::SIOCGIFFLAGS, &mut request).ok()?;
    // SAFETY: the kernel has written the flags.
    let flags = c_int::from(unsafe { request.ifr_ifru.ifru_flags });
    (flags & libc::IFF_UP != 0).then_some(index)
}

/// Offloads that make one packet of several and their `ETHTOOL_G...` of linux/ethtool.h.
const AGGREGATING: [(&str, u32); 3] = [("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];
/// `SIOCETHTOOL` of linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Which of `tso`, `gso`, `gro` are on at the interface `name`; none if it cannot be asked.
#[must_use]
pub fn aggregating_offloads(name: &str) -> Vec<&'static str> {
    let is_on = |command: u32| {
        // struct ethtool_value of linux/ethtool.h: the command, and the answer.
        let mut value = [command, 0u32];
        let mut request = request_about(name);
        request.ifr_ifru.ifru_data = ptr::from_mut(&mut value).cast();
        ask_about_interface(SIOCETHTOOL, &mut request).is_ok() && value[1] != 0
    };
    AGGREGATING.iter().filter(|(_, command)| is_on(*command)).map(|(name, _)| *name).collect()
}

/// A request that ends its name with zero, whatever the name.
fn request_about(name: &str) -> libc::ifreq {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request
}

fn ask_about_interface(what: libc::Ioctl, request: &mut libc::ifreq) -> Result<()> {
    // SAFETY: no pointers; the result is checked before it is owned.
    let socket = unsafe { libc::socket(libc::AF_INET, libc::SOCK_DGRAM | libc::SOCK_CLOEXEC, 0) };
    if socket < 0 {
        return Err(Error::last_os_error());
    }
    // SAFETY: a descriptor that was just opened and that nothing else owns.
    let socket = unsafe { OwnedFd::from_raw_fd(socket) };
    // SAFETY: the request, and what it points to, live through the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), what, ptr::from_mut(request)) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> Result<()> {
    let (value, length) = (ptr::from_ref(value).cast::<c_void>(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the value outlives the call and has the length that is given.
    if unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, length) } < 0 {
        return Err(Error::last_os_error());
    }
    Ok(())
}

/// Waits until a frame arrives at one of the interfaces, a signal comes, or `timeout` is over. Says whether one of the
/// sockets has an error.
pub fn wait(interfaces: &[Interface], timeout: Time, descriptors: &mut Vec<libc::pollfd>) -> bool {
    descriptors.clear();
    descriptors.extend(interfaces.iter().map(|interface| libc::pollfd {
        fd: interface.socket.as_raw_fd(),
        events: libc::POLLIN,
        revents: 0,
    }));
    let limit = timespec(timeout);
    // SAFETY: descriptors and limit outlive the call. An interrupt ends the wait, which is all that is asked of it.
    unsafe { libc::ppoll(descriptors.as_mut_ptr(), descriptors.len() as libc::nfds_t, &raw const limit, ptr::null()) };
    descriptors.iter().any(|descriptor| descriptor.revents & (libc::POLLERR | libc::POLLHUP) != 0)
}

/// Sleeps until `at` of the monotonic clock; a signal ends it early.
pub fn sleep_until(at: Time) {
    let until = timespec(at);
    // SAFETY: the time outlives the call; no rest is asked for.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, ptr::null_mut()) };
}

fn timespec(time: Time) -> libc::timespec {
    let nanos = time.0 / 1000;
    libc::timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

/// The clock that never steps, the same in all network namespaces.
#[must_use]
#[inline]
pub fn monotonic() -> Time {
    clock(libc::CLOCK_MONOTONIC)
}

/// The clock of the kernel's time stamps, which may step. In the year 2026 it is beyond the range of [`Time`]: only
/// differences mean something, modulo 2^64 ps.
#[must_use]
#[inline]
pub fn realtime() -> Time {
    clock(libc::CLOCK_REALTIME)
}

#[inline]
fn clock(id: libc::clockid_t) -> Time {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes into the structure; both clocks exist on every Linux.
    unsafe { libc::clock_gettime(id, &raw mut now) };
    wrapped(now.tv_sec as u64, now.tv_nsec as u64)
}

/// Picoseconds modulo 2^64.
#[inline]
fn wrapped(secs: u64, nanos: u64) -> Time {
    Time(secs.wrapping_mul(Time::PER_SECOND).wrapping_add(nanos * 1000))
}

/// Asks for SCHED_FIFO at `priority`, and for timers without slack in any case; says whether it got the former.
#[must_use]
pub fn make_realtime(priority: u32) -> bool {
    // SAFETY: takes numbers only.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
    let parameters = libc::sched_param { sched_priority: priority as c_int };
    // SAFETY: the parameters outlive the call; 0 is the calling thread.
    priority > 0 && unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } == 0
}

static REPORT: AtomicBool = AtomicBool::new(false);
static STOP: AtomicBool = AtomicBool::new(false);

/// What a signal asked for since the last look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// SIGUSR1: a report, and to count anew.
    Report,
    /// SIGINT or SIGTERM: a report, and to end.
    Stop,
}

/// From now on signals are noted for [`asked`] instead of ending the process.
pub fn note_signals() {
    extern "C" fn note(signal: c_int) {
        let flag = if signal == libc::SIGUSR1 { &REPORT } else { &STOP };
        flag.store(true, Ordering::Relaxed);
    }
    let handler: extern "C" fn(c_int) = note;
    for signal in [libc::SIGUSR1, libc::SIGINT, libc::SIGTERM] {
        // SAFETY: all zeros is a valid value of this plain structure; the handler only stores to an atomic.
        unsafe {
            let mut action: libc::sigaction = zeroed();
            action.sa_sigaction = handler as *const () as usize;
            libc::sigaction(signal, &raw const action, ptr::null_mut());
        }
    }
}

/// What a signal has asked for, an end first.
#[must_use]
#[inline]
pub fn asked() -> Option<Asked> {
    if STOP.load(Ordering::Relaxed) {
        return Some(Asked::Stop);
    }
    REPORT.swap(false, Ordering::Relaxed).then_some(Asked::Report)
}

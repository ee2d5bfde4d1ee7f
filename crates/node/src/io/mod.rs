//! Operating-system functions for the forwarder and the senders: frames of an interface ([`packet_socket`],
//! `xdp_socket`), clocks, waiting, priority, signals.
//!
//! This is the only module with `unsafe` code besides the kernel data plane.
#![allow(unsafe_code)]

mod memory;
mod packet_socket;
#[cfg(feature = "ebpf")]
mod xdp_socket;

pub use memory::Memory;
pub use packet_socket::{Interface, Received};
#[cfg(feature = "ebpf")]
pub use xdp_socket::{Chunk, HEADROOM, Promiscuous, Rings, XdpSocket};

use fairlane_schemes::base::units::Time;
use std::ffi::{CString, c_int, c_void};
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Maximum number of frames per system call.
pub const BATCH: usize = 64;
const SEND_BUFFER: c_int = 8 << 20;

/// Index of the interface `name`.
///
/// # Errors
/// The interface does not exist.
pub fn index_of(name: &str) -> Result<u32> {
    let name = CString::new(name).map_err(|_| Error::from_raw_os_error(libc::ENODEV))?;
    // SAFETY: the string is zero-terminated and outlives the call.
    match unsafe { libc::if_nametoindex(name.as_ptr()) } {
        0 => Err(Error::last_os_error()),
        index => Ok(index),
    }
}

/// Index of the interface `name` if it exists and is up.
#[must_use]
pub fn index_if_up(name: &str) -> Option<u32> {
    let index = index_of(name).ok()?;
    let mut request = request_about(name);
    ask_about_interface(libc::SIOCGIFFLAGS, &mut request).ok()?;
    // SAFETY: the kernel has written the flags.
    let flags = c_int::from(unsafe { request.ifr_ifru.ifru_flags });
    (flags & libc::IFF_UP != 0).then_some(index)
}

/// Offloads that aggregate packets, with their `ETHTOOL_G...` commands of linux/ethtool.h.
const AGGREGATING: [(&str, u32); 3] = [("tso", 0x1e), ("gso", 0x23), ("gro", 0x2b)];
/// `SIOCETHTOOL` of linux/sockios.h.
const SIOCETHTOOL: libc::Ioctl = 0x8946;

/// Returns the enabled offloads among `tso`, `gso` and `gro` of the interface `name`; none if they cannot be queried.
#[must_use]
pub fn aggregating_offloads(name: &str) -> Vec<&'static str> {
    // struct ethtool_value of linux/ethtool.h: the command and its result.
    let is_on = |command: u32| ask_ethtool::<2>(name, command)[1] != 0;
    AGGREGATING.iter().filter(|(_, command)| is_on(*command)).map(|(name, _)| *name).collect()
}

/// Features of an interface that change frames before XDP.
#[cfg(feature = "ebpf")]
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offloads {
    /// Name of the driver; empty if there is none.
    pub driver: String,
    /// Receive queues in use.
    pub receive_queues: u32,
    /// `rxvlan`: true if the card removes tags.
    pub takes_tags_off: bool,
}

#[cfg(feature = "ebpf")]
impl Offloads {
    /// Queries the interface `name`. If the query fails, assumes one queue and no removed tags.
    #[must_use]
    pub fn of(name: &str) -> Self {
        // linux/ethtool.h. ETHTOOL_GDRVINFO, struct ethtool_drvinfo: the driver's name follows the command.
        // ETHTOOL_GCHANNELS, struct ethtool_channels: word 5 has the receive queues, word 8 the combined ones.
        // ETHTOOL_GFLAGS, struct ethtool_value: ETH_FLAG_RXVLAN.
        let info: [u32; 49] = ask_ethtool(name, 0x03);
        let driver: Vec<u8> =
            info[1..9].iter().flat_map(|word| word.to_ne_bytes()).take_while(|byte| *byte != 0).collect();
        let channels: [u32; 9] = ask_ethtool(name, 0x3c);
        let flags: [u32; 2] = ask_ethtool(name, 0x25);
        Self {
            driver: String::from_utf8_lossy(&driver).into_owned(),
            receive_queues: (channels[5] + channels[8]).max(1),
            takes_tags_off: flags[1] & 1 << 8 != 0,
        }
    }
}

/// Returns the result of a `SIOCETHTOOL` command. If it fails, all words after the command are zero.
fn ask_ethtool<const N: usize>(name: &str, command: u32) -> [u32; N] {
    let mut words = [0; N];
    words[0] = command;
    let mut request = request_about(name);
    request.ifr_ifru.ifru_data = ptr::from_mut(&mut words).cast();
    match ask_about_interface(SIOCETHTOOL, &mut request) {
        Ok(()) => words,
        Err(_) => [0; N],
    }
}

/// Creates a request with a zero-terminated interface name.
fn request_about(name: &str) -> libc::ifreq {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut request: libc::ifreq = unsafe { zeroed() };
    for (to, from) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *to = from.cast_signed();
    }
    request
}

fn ask_about_interface(what: libc::Ioctl, request: &mut libc::ifreq) -> Result<()> {
    let socket = open_socket(libc::AF_INET, libc::SOCK_DGRAM)?;
    // SAFETY: the request and the data to which it points outlive the call.
    match unsafe { libc::ioctl(socket.as_raw_fd(), what, ptr::from_mut(request)) } {
        0 => Ok(()),
        _ => Err(Error::last_os_error()),
    }
}

fn set<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &T) -> Result<()> {
    let (value, length) = (ptr::from_ref(value).cast::<c_void>(), size_of::<T>() as libc::socklen_t);
    // SAFETY: the value outlives the call and has the given length.
    if unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, length) } < 0 {
        return Err(Error::last_os_error());
    }
    Ok(())
}

/// Sets the send buffer. A smaller buffer than requested is no error.
fn set_send_buffer(socket: &OwnedFd) -> Result<()> {
    // Exceeding net.core.wmem_max requires CAP_NET_ADMIN.
    set(socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BUFFER)
        .or_else(|_| set(socket, libc::SOL_SOCKET, libc::SO_SNDBUF, &SEND_BUFFER))
}

/// Reads an option of a socket; `T` must have the kernel's layout.
fn get<T>(socket: &OwnedFd, level: c_int, option: c_int, value: &mut T) -> Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes into the value.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), level, option, ptr::from_mut(value).cast(), &raw mut length) };
    if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
}

/// Makes the interface with `index` receive all arriving frames, for any destination, while the socket is open.
fn be_promiscuous(socket: &OwnedFd, index: u32) -> Result<()> {
    // SAFETY: all zeros is a valid value of this plain structure.
    let mut promiscuous: libc::packet_mreq = unsafe { zeroed() };
    promiscuous.mr_ifindex = index.cast_signed();
    promiscuous.mr_type = libc::PACKET_MR_PROMISC as u16;
    set(socket, libc::SOL_PACKET, libc::PACKET_ADD_MEMBERSHIP, &promiscuous)
}

fn open_socket(family: c_int, kind: c_int) -> Result<OwnedFd> {
    // SAFETY: the call takes no pointers. The result is checked before it gets an owner.
    let socket = unsafe { libc::socket(family, kind | libc::SOCK_CLOEXEC, 0) };
    // SAFETY: the descriptor was just opened and has no other owner.
    if socket < 0 { Err(Error::last_os_error()) } else { Ok(unsafe { OwnedFd::from_raw_fd(socket) }) }
}

/// Waits for a frame at one of the sockets, a signal, or the end of `timeout`. Returns true if a socket has an error.
pub fn wait<'a>(
    sockets: impl Iterator<Item = BorrowedFd<'a>>,
    timeout: Time,
    descriptors: &mut Vec<libc::pollfd>,
) -> bool {
    descriptors.clear();
    descriptors.extend(sockets.map(|socket| libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLIN, revents: 0 }));
    let limit = timespec(timeout);
    // SAFETY: descriptors and limit outlive the call. An interrupt ends the wait, as intended.
    unsafe { libc::ppoll(descriptors.as_mut_ptr(), descriptors.len() as libc::nfds_t, &raw const limit, ptr::null()) };
    descriptors.iter().any(|descriptor| descriptor.revents & (libc::POLLERR | libc::POLLHUP) != 0)
}

/// Sleeps until `at` of the monotonic clock. A signal ends the sleep early.
pub fn sleep_until(at: Time) {
    let until = timespec(at);
    // SAFETY: the time outlives the call; the remaining time is not requested.
    unsafe { libc::clock_nanosleep(libc::CLOCK_MONOTONIC, libc::TIMER_ABSTIME, &raw const until, ptr::null_mut()) };
}

fn timespec(time: Time) -> libc::timespec {
    let nanos = time.0 / 1000;
    libc::timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as i64 }
}

/// The monotonic clock, the same in all network namespaces.
#[must_use]
#[inline]
pub fn monotonic() -> Time {
    clock(libc::CLOCK_MONOTONIC)
}

/// The clock of the kernel's timestamps. It may be set, so it can jump. The current time exceeds the range of [`Time`],
/// so only differences are meaningful, modulo 2^64 ps.
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

/// Returns a time in picoseconds modulo 2^64.
#[inline]
fn wrapped(secs: u64, nanos: u64) -> Time {
    Time(secs.wrapping_mul(Time::PER_SECOND).wrapping_add(nanos * 1000))
}

/// Requests SCHED_FIFO at `priority`, and timers without slack. Returns true if SCHED_FIFO was granted.
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

/// Request by a signal since the last call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// SIGUSR1: report and reset the counters.
    Report,
    /// SIGINT or SIGTERM: report and end.
    Stop,
}

/// Records signals for [`asked`] from now on, instead of ending the process.
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

/// Makes SIGHUP readable on the returned descriptor from now on, instead of ending the process. For single-threaded
/// processes.
///
/// # Errors
/// A system call fails.
pub fn hangups() -> Result<OwnedFd> {
    // SAFETY: all zeros is a valid value of this plain structure, which outlives the calls; the result is checked
    // before it is owned.
    unsafe {
        let mut signals: libc::sigset_t = zeroed();
        libc::sigaddset(&raw mut signals, libc::SIGHUP);
        let blocked = libc::sigprocmask(libc::SIG_BLOCK, &raw const signals, ptr::null_mut());
        let descriptor = libc::signalfd(-1, &raw const signals, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK);
        if blocked < 0 || descriptor < 0 {
            return Err(Error::last_os_error());
        }
        Ok(OwnedFd::from_raw_fd(descriptor))
    }
}

/// Returns the pending request, if any. A request to end takes precedence.
#[must_use]
#[inline]
pub fn asked() -> Option<Asked> {
    if STOP.load(Ordering::Relaxed) {
        return Some(Asked::Stop);
    }
    REPORT.swap(false, Ordering::Relaxed).then_some(Asked::Report)
}

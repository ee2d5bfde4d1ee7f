//! Frames of one receive queue of an interface by `AF_XDP` (Documentation/networking/af_xdp.rst of Linux).
//!
//! Four rings are shared with the kernel, each with one producer and one consumer: *fill* gives it chunks of memory for
//! frames that come, *receive* gives them back with a frame, *transmit* gives it frames to send, *completion* gives
//! back the chunks of those. All sockets of a forwarder have the same memory, registered with each of them, so that a
//! frame that comes in at one leaves by another where it lies.
//!
//! The rings are our own: of the crates for it one has no frames shared by several interfaces and hides whether the
//! kernel wants to be woken, one has a licence that ours does not go with, one builds a C library of its own.

use super::{Memory, be_promiscuous, get, open_socket, set, set_send_buffer};
use std::ffi::c_int;
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Where a frame begins in its chunk: the kernel leaves 256 bytes in front (`XDP_PACKET_HEADROOM`), we ask for 8 more,
/// so that what the program puts in front of a frame shares a line of the cache with its headers.
pub const HEADROOM: usize = 256 + OWN_HEADROOM as usize;
const OWN_HEADROOM: u32 = 8;
/// `XDP_MAX_TX_SKB_BUDGET` of linux/if_xdp.h: frames that a call to send takes, 32 at first (Linux 6.17).
const MOST_PER_CALL: c_int = 9;

/// Sizes of the rings, each a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Rings {
    /// Fill and receive.
    pub receive: u32,
    /// Transmit and completion.
    pub send: u32,
}

/// A frame in the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Where it begins.
    pub at: usize,
    /// Its length.
    pub bytes: u32,
}

/// A socket at one queue of one interface.
#[derive(Debug)]
pub struct XdpSocket {
    fill: Ring<u64>,
    completion: Ring<u64>,
    receive: Ring<libc::xdp_desc>,
    send: Ring<libc::xdp_desc>,
    socket: OwnedFd,
    is_zero_copy: bool,
}

impl XdpSocket {
    /// Opens queue 0 of the interface with `index` for frames in chunks of `chunk_bytes` of `memory`: without copies
    /// where the driver can, or else the kernel copies.
    ///
    /// # Errors
    /// The kernel, the interface or missing capabilities do not allow it, or its queue has a socket already.
    pub fn open(index: u32, memory: &Memory, chunk_bytes: u32, rings: Rings) -> Result<Self> {
        let socket = open_socket(libc::AF_XDP, libc::SOCK_RAW)?;
        set_send_buffer(&socket)?;
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut region: libc::xdp_umem_reg = unsafe { zeroed() };
        region.addr = memory.address();
        region.len = memory.bytes() as u64;
        region.chunk_size = chunk_bytes;
        region.headroom = OWN_HEADROOM;
        set(&socket, libc::SOL_XDP, libc::XDP_UMEM_REG, &region)?;
        for (option, count) in [
            (libc::XDP_UMEM_FILL_RING, rings.receive),
            (libc::XDP_UMEM_COMPLETION_RING, rings.send),
            (libc::XDP_RX_RING, rings.receive),
            (libc::XDP_TX_RING, rings.send),
        ] {
            set(&socket, libc::SOL_XDP, option, &count)?;
        }
        // An older kernel takes 32 frames a call.
        let _ = set(&socket, libc::SOL_XDP, MOST_PER_CALL, &rings.send);
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut offsets: libc::xdp_mmap_offsets = unsafe { zeroed() };
        get(&socket, libc::SOL_XDP, libc::XDP_MMAP_OFFSETS, &mut offsets)?;
        let page_of = |offset: u64| offset as libc::off_t;
        let mut this = Self {
            fill: Ring::map(&socket, page_of(libc::XDP_UMEM_PGOFF_FILL_RING), &offsets.fr, rings.receive)?,
            completion: Ring::map(&socket, page_of(libc::XDP_UMEM_PGOFF_COMPLETION_RING), &offsets.cr, rings.send)?,
            receive: Ring::map(&socket, libc::XDP_PGOFF_RX_RING, &offsets.rx, rings.receive)?,
            send: Ring::map(&socket, libc::XDP_PGOFF_TX_RING, &offsets.tx, rings.send)?,
            socket,
            is_zero_copy: false,
        };
        this.bind(index)?;
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut options: libc::xdp_options = unsafe { zeroed() };
        get(&this.socket, libc::SOL_XDP, libc::XDP_OPTIONS, &mut options)?;
        this.is_zero_copy = options.flags & libc::XDP_OPTIONS_ZEROCOPY != 0;
        Ok(this)
    }

    fn bind(&self, index: u32) -> Result<()> {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut address: libc::sockaddr_xdp = unsafe { zeroed() };
        address.sxdp_family = libc::AF_XDP as u16;
        address.sxdp_flags = libc::XDP_USE_NEED_WAKEUP;
        address.sxdp_ifindex = index;
        let length = size_of::<libc::sockaddr_xdp>() as libc::socklen_t;
        // SAFETY: the address lives through the call and has the length that is given.
        if unsafe { libc::bind(self.socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) } < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// Whether the driver writes into the memory itself.
    #[must_use]
    pub fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }

    /// How many more chunks the kernel takes for frames that come.
    #[inline]
    pub fn room_to_fill(&mut self) -> u32 {
        self.fill.room()
    }

    /// Gives the kernel chunks for frames that come, as many as there is room for at most; they begin at `starts`.
    #[inline]
    pub fn fill(&mut self, starts: impl Iterator<Item = usize>) {
        for start in starts {
            self.fill.put(start as u64);
        }
        self.fill.publish();
        if self.is_zero_copy && self.fill.wants_wake_up() {
            // SAFETY: no buffer is passed.
            unsafe { libc::recv(self.socket.as_raw_fd(), ptr::null_mut(), 0, libc::MSG_DONTWAIT) };
        }
    }

    /// The next frame that came, if there is one; [`XdpSocket::received`] gives the ring's places back.
    #[inline]
    pub fn next_received(&mut self) -> Option<Chunk> {
        self.receive.take().map(|frame| Chunk { at: frame.addr as usize, bytes: frame.len })
    }

    /// The frames that [`XdpSocket::next_received`] gave are noted.
    #[inline]
    pub fn received(&mut self) {
        self.receive.give_back();
    }

    /// The next chunk whose frame was sent, if there is one; [`XdpSocket::all_sent`] gives the ring's places back.
    #[inline]
    pub fn next_sent(&mut self) -> Option<usize> {
        self.completion.take().map(|at| at as usize)
    }

    /// The chunks that [`XdpSocket::next_sent`] gave are noted.
    #[inline]
    pub fn all_sent(&mut self) {
        self.completion.give_back();
    }

    /// How many more frames it takes to send.
    #[inline]
    pub fn room_to_send(&mut self) -> u32 {
        self.send.room()
    }

    /// Puts a frame behind those that are to be sent; there must be room. [`XdpSocket::flush`] sends them.
    #[inline]
    pub fn push(&mut self, frame: Chunk) {
        self.send.put(libc::xdp_desc { addr: frame.at as u64, len: frame.bytes, options: 0 });
    }

    /// Frames that the kernel has not taken yet.
    #[inline]
    pub fn unsent(&self) -> u32 {
        self.send.ahead()
    }

    /// Has the kernel send what is there.
    ///
    /// # Errors
    /// It does not: it has no room at the moment (`EAGAIN`, `EBUSY`, `ENOBUFS`), or the interface is down or gone.
    #[inline]
    pub fn flush(&mut self) -> Result<()> {
        self.send.publish();
        if self.is_zero_copy && !self.send.wants_wake_up() {
            return Ok(());
        }
        // SAFETY: no buffer is passed.
        let result =
            unsafe { libc::sendto(self.socket.as_raw_fd(), ptr::null(), 0, libc::MSG_DONTWAIT, ptr::null(), 0) };
        if result < 0 { Err(Error::last_os_error()) } else { Ok(()) }
    }

    /// Frames that the kernel dropped since the socket was opened: the ring was full, or it had no chunk.
    #[must_use]
    pub fn drops(&self) -> u64 {
        // SAFETY: all zeros is a valid value of this plain structure.
        let mut stats: libc::xdp_statistics = unsafe { zeroed() };
        match get(&self.socket, libc::SOL_XDP, libc::XDP_STATISTICS, &mut stats) {
            Ok(()) => stats.rx_dropped + stats.rx_ring_full,
            Err(_) => 0,
        }
    }
}

impl AsFd for XdpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// As long as it lives, everything that comes to an interface is taken in, whoever it is for.
#[derive(Debug)]
pub struct Promiscuous(#[expect(dead_code, reason = "open is all that it is")] OwnedFd);

impl Promiscuous {
    /// From now on.
    ///
    /// # Errors
    /// There is no such interface, or `CAP_NET_RAW` is missing.
    pub fn new(index: u32) -> Result<Self> {
        // Bound to no protocol: it gets no frame.
        let socket = open_socket(libc::AF_PACKET, libc::SOCK_RAW)?;
        be_promiscuous(&socket, index)?;
        Ok(Self(socket))
    }
}

/// Our end of a ring; whether we put or take is up to the user.
#[derive(Debug)]
struct Ring<T> {
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    mask: u32,
    /// Where we are: the next entry to put or to take. Counts wrap.
    own: u32,
    /// Where the kernel was when we last looked.
    other: u32,
}

// SAFETY: the mapping belongs to the ring alone, whichever thread that is in.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    fn map(socket: &OwnedFd, page: libc::off_t, offsets: &libc::xdp_ring_offset, count: u32) -> Result<Self> {
        let mapping_bytes = offsets.desc as usize + count as usize * size_of::<T>();
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: a new mapping of the ring's size, checked below.
        let start = unsafe { libc::mmap(ptr::null_mut(), mapping_bytes, access, shared, socket.as_raw_fd(), page) };
        if start == libc::MAP_FAILED {
            return Err(Error::last_os_error());
        }
        let mapping = NonNull::new(start.cast::<u8>()).ok_or_else(Error::last_os_error)?;
        // SAFETY: the kernel's offsets are within the mapping.
        let at = |offset: u64| unsafe { mapping.add(offset as usize) };
        Ok(Self {
            mapping,
            mapping_bytes,
            producer: at(offsets.producer).cast(),
            consumer: at(offsets.consumer).cast(),
            flags: at(offsets.flags).cast(),
            entries: at(offsets.desc).cast(),
            mask: count - 1,
            own: 0,
            other: 0,
        })
    }

    fn producer(&self) -> &AtomicU32 {
        // SAFETY: within the mapping and aligned by the kernel; lives as long as `self`; both sides use it atomically.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    /// Places for entries that we may put.
    #[inline]
    fn room(&mut self) -> u32 {
        self.other = self.consumer().load(Ordering::Acquire);
        self.mask + 1 - self.own.wrapping_sub(self.other)
    }

    /// Entries that we put and the kernel has not taken.
    #[inline]
    fn ahead(&self) -> u32 {
        self.own.wrapping_sub(self.consumer().load(Ordering::Acquire))
    }

    /// Puts an entry where there is room.
    #[inline]
    fn put(&mut self, entry: T) {
        debug_assert!(self.own.wrapping_sub(self.other) <= self.mask);
        // SAFETY: the mask keeps it within the ring; the kernel does not read it before it is published.
        unsafe { self.entries.add((self.own & self.mask) as usize).write(entry) };
        self.own = self.own.wrapping_add(1);
    }

    /// Shows the kernel what we put.
    #[inline]
    fn publish(&self) {
        self.producer().store(self.own, Ordering::Release);
    }

    /// The next entry that the kernel put.
    #[inline]
    fn take(&mut self) -> Option<T> {
        if self.own == self.other {
            self.other = self.producer().load(Ordering::Acquire);
            if self.own == self.other {
                return None;
            }
        }
        // SAFETY: the mask keeps it within the ring; the kernel has written it and leaves it alone until it is given
        // back.
        let entry = unsafe { self.entries.add((self.own & self.mask) as usize).read() };
        self.own = self.own.wrapping_add(1);
        Some(entry)
    }

    /// Shows the kernel what we took.
    #[inline]
    fn give_back(&self) {
        self.consumer().store(self.own, Ordering::Release);
    }

    /// `XDP_RING_NEED_WAKEUP`: nobody looks at the ring until there is a system call.
    #[inline]
    fn wants_wake_up(&self) -> bool {
        // What we published must be seen before we look: the kernel asks first and looks then.
        fence(Ordering::SeqCst);
        // SAFETY: as above.
        unsafe { self.flags.as_ref() }.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: the mapping that `map` made, which nothing borrows any more.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
    }
}

//! Frames of one receive queue of an interface through `AF_XDP` (Documentation/networking/af_xdp.rst of Linux).
//!
//! Four rings are shared with the kernel, each with one producer and one consumer. *Fill* passes chunks of memory for
//! arriving frames to the kernel, *receive* returns them with a frame. *Transmit* passes frames to send, *completion*
//! returns their chunks. All sockets of a forwarder register the same memory, so one socket can send a frame that
//! another received, without a copy.
//!
//! The rings are implemented here, since no existing crate fits. One crate cannot share frames between interfaces and
//! hides the wake-up flag, another has an incompatible licence, and a third builds its own C library.

use super::{Memory, be_promiscuous, get, open_socket, set, set_send_buffer};
use std::ffi::c_int;
use std::io::{Error, Result};
use std::mem::{size_of, zeroed};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering, fence};

/// Offset of a frame in its chunk. The kernel reserves 256 bytes (`XDP_PACKET_HEADROOM`); 8 more bytes put the
/// program's metadata into the same cache line as the headers.
pub const HEADROOM: usize = 256 + OWN_HEADROOM as usize;
const OWN_HEADROOM: u32 = 8;
/// `XDP_MAX_TX_SKB_BUDGET` of linux/if_xdp.h: option for the number of frames sent per call, fixed at 32 before Linux
/// 6.17.
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
    /// Offset of the frame.
    pub at: usize,
    /// Length of the frame.
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
    /// Opens queue 0 of the interface with `index`, for frames in chunks of `chunk_bytes` of `memory`. Uses zero-copy
    /// mode if the driver supports it, otherwise copies.
    ///
    /// # Errors
    /// The kernel, the interface or missing capabilities prevent it, or the queue already has a socket.
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
        // An older kernel rejects the option and sends 32 frames per call.
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
        // SAFETY: the address outlives the call and has the given length.
        if unsafe { libc::bind(self.socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) } < 0 {
            return Err(Error::last_os_error());
        }
        Ok(())
    }

    /// True if the driver is in zero-copy mode.
    #[must_use]
    pub fn is_zero_copy(&self) -> bool {
        self.is_zero_copy
    }

    /// Number of free entries in the fill ring.
    #[inline]
    pub fn room_to_fill(&mut self) -> u32 {
        self.fill.room()
    }

    /// Adds chunks at offsets `starts` to the fill ring, as many as fit.
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

    /// Returns the next received frame, if any. [`XdpSocket::received`] releases the ring's entries.
    #[inline]
    pub fn next_received(&mut self) -> Option<Chunk> {
        self.receive.take().map(|frame| Chunk { at: frame.addr as usize, bytes: frame.len })
    }

    /// Releases the entries of frames returned by [`XdpSocket::next_received`].
    #[inline]
    pub fn received(&mut self) {
        self.receive.give_back();
    }

    /// Returns the next chunk whose frame was sent, if any. [`XdpSocket::all_sent`] releases the ring's entries.
    #[inline]
    pub fn next_sent(&mut self) -> Option<usize> {
        self.completion.take().map(|at| at as usize)
    }

    /// Releases the entries of chunks returned by [`XdpSocket::next_sent`].
    #[inline]
    pub fn all_sent(&mut self) {
        self.completion.give_back();
    }

    /// Number of free entries in the transmit ring.
    #[inline]
    pub fn room_to_send(&mut self) -> u32 {
        self.send.room()
    }

    /// Adds a frame to the transmit ring, which must have room. [`XdpSocket::flush`] sends the frames.
    #[inline]
    pub fn push(&mut self, frame: Chunk) {
        self.send.put(libc::xdp_desc { addr: frame.at as u64, len: frame.bytes, options: 0 });
    }

    /// Number of frames in the transmit ring that the kernel has not taken yet.
    #[inline]
    pub fn unsent(&self) -> u32 {
        self.send.ahead()
    }

    /// Makes the kernel send the frames of the transmit ring.
    ///
    /// # Errors
    /// The kernel's buffers are full (`EAGAIN`, `EBUSY`, `ENOBUFS`), or the interface is down or missing.
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

    /// Number of frames dropped by the kernel since the socket was opened, because the receive ring was full or the
    /// fill ring empty.
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

/// Keeps an interface in promiscuous mode until this value is dropped.
#[derive(Debug)]
pub struct Promiscuous(#[expect(dead_code, reason = "open is all that it is")] OwnedFd);

impl Promiscuous {
    /// Enables promiscuous mode.
    ///
    /// # Errors
    /// The interface does not exist, or `CAP_NET_RAW` is missing.
    pub fn new(index: u32) -> Result<Self> {
        // The socket is bound to no protocol, so it receives no frames.
        let socket = open_socket(libc::AF_PACKET, libc::SOCK_RAW)?;
        be_promiscuous(&socket, index)?;
        Ok(Self(socket))
    }
}

/// User-space end of a ring, as producer or consumer.
#[derive(Debug)]
struct Ring<T> {
    mapping: NonNull<u8>,
    mapping_bytes: usize,
    producer: NonNull<AtomicU32>,
    consumer: NonNull<AtomicU32>,
    flags: NonNull<AtomicU32>,
    entries: NonNull<T>,
    mask: u32,
    /// Index of our next entry. Indices wrap.
    own: u32,
    /// The kernel's index when it was last read.
    other: u32,
}

// SAFETY: the ring is the only owner of the mapping, which any thread may access.
unsafe impl<T: Send> Send for Ring<T> {}

impl<T: Copy> Ring<T> {
    fn map(socket: &OwnedFd, page: libc::off_t, offsets: &libc::xdp_ring_offset, count: u32) -> Result<Self> {
        let mapping_bytes = offsets.desc as usize + count as usize * size_of::<T>();
        let (access, shared) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_SHARED | libc::MAP_POPULATE);
        // SAFETY: creates a new mapping of the ring's size; the result is checked below.
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
        // SAFETY: the index is within the mapping, which lives as long as `self`, and the kernel aligns it. Both sides
        // access it atomically.
        unsafe { self.producer.as_ref() }
    }

    fn consumer(&self) -> &AtomicU32 {
        // SAFETY: as above.
        unsafe { self.consumer.as_ref() }
    }

    #[inline]
    fn room(&mut self) -> u32 {
        self.other = self.consumer().load(Ordering::Acquire);
        self.mask + 1 - self.own.wrapping_sub(self.other)
    }

    /// Number of produced entries that the kernel has not consumed.
    #[inline]
    fn ahead(&self) -> u32 {
        self.own.wrapping_sub(self.consumer().load(Ordering::Acquire))
    }

    /// Writes an entry. The ring must not be full.
    #[inline]
    fn put(&mut self, entry: T) {
        debug_assert!(self.own.wrapping_sub(self.other) <= self.mask);
        // SAFETY: the mask keeps the index within the ring. The kernel does not read the entry before it is published.
        unsafe { self.entries.add((self.own & self.mask) as usize).write(entry) };
        self.own = self.own.wrapping_add(1);
    }

    #[inline]
    fn publish(&self) {
        self.producer().store(self.own, Ordering::Release);
    }

    /// Returns the next entry produced by the kernel.
    #[inline]
    fn take(&mut self) -> Option<T> {
        if self.own == self.other {
            self.other = self.producer().load(Ordering::Acquire);
            if self.own == self.other {
                return None;
            }
        }
        // SAFETY: the mask keeps the index within the ring. The kernel has written the entry and does not access it
        // until it is released.
        let entry = unsafe { self.entries.add((self.own & self.mask) as usize).read() };
        self.own = self.own.wrapping_add(1);
        Some(entry)
    }

    #[inline]
    fn give_back(&self) {
        self.consumer().store(self.own, Ordering::Release);
    }

    /// Returns true if the kernel does not poll the ring and needs a system call (`XDP_RING_NEED_WAKEUP`).
    #[inline]
    fn wants_wake_up(&self) -> bool {
        // The entries must be visible before the flag is read. The kernel sets the flag first and then reads the ring,
        // so at least one side notices the other.
        fence(Ordering::SeqCst);
        // SAFETY: as above.
        unsafe { self.flags.as_ref() }.load(Ordering::Relaxed) & libc::XDP_RING_NEED_WAKEUP != 0
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        // SAFETY: `map` created this mapping, which is no longer borrowed.
        unsafe { libc::munmap(self.mapping.as_ptr().cast(), self.mapping_bytes) };
    }
}

//! Ports that use `AF_XDP`. The forwarder does not copy frames: a frame stays in the chunk in which it arrived until it
//! has been sent. An XDP program passes every arriving frame to the port's socket, with the arrival time before the
//! frame. The kernel's stack does not receive the frame.
//!
//! A single-threaded forwarder reads one receive queue per interface, so interfaces with several queues are rejected.
//! Some offloads make frames at XDP differ from frames on the wire. If such an offload can be detected, the port is
//! rejected at the start. Otherwise the program reverses the effect, or drops and counts the frames:
//! - *VLAN offload*: tags removed by a card are missing at XDP, so `rxvlan` must be off. At veth the tags are restored.
//! - *Checksum offload*: veth flags each frame with a partial checksum. Such frames are dropped and counted, as with
//!   `AF_PACKET`.
//! - *Segmentation and receive offload*: while the program is attached, the kernel disables TSO and GSO at the other
//!   end of a veth. Cards with LRO (large receive offload) reject the program. GRO comes after XDP.
//! - *Frames longer than `frame_size`* are dropped and counted; the kernel rejects an MTU of several pages.

use super::config::ForwardConfig;
use super::core::Core;
use super::frame_pool::{FrameId, FramePool, Layout};
use super::ports::{Clock, OpenError, Ports, is_outage};
use crate::io::{self, BATCH, Chunk, HEADROOM, Offloads, Promiscuous, Rings, XdpSocket};
use crate::kernel::{KernelError, Redirect};
use fairlane_schemes::base::units::Time;
use std::io::Error;
use std::os::fd::AsFd;

/// Maximum number of frames of a port in the kernel's transmit ring.
const SEND_RING: u32 = 2048;
/// Time after which frames that the kernel has not accepted are offered again.
const RETRY: Time = Time::from_micros(100);
/// Bytes of a frame to prefetch: all headers including the transport ports.
const PREFETCHED: usize = 56;
/// Bytes of the arrival time before a frame.
const STAMP: usize = 8;

/// A port that is up.
#[derive(Debug)]
struct Open {
    socket: XdpSocket,
    redirect: Redirect,
    _promiscuous: Promiscuous,
    /// Chunks that belong to the kernel.
    lent: Vec<bool>,
    /// Counters at the last report.
    drops: u64,
    oversized: u64,
    without_checksum: u64,
}

#[derive(Debug)]
struct Port {
    index: u32,
    open: Option<Open>,
}

/// State shared by the sockets of all ports.
#[derive(Clone, Copy, Debug)]
struct Shape {
    chunk_bytes: u32,
    longest_frame: u32,
    rings: Rings,
}

/// A socket and a program for each port.
#[derive(Debug)]
pub struct XdpPorts {
    ports: Vec<Port>,
    shape: Shape,
    descriptors: Vec<libc::pollfd>,
}

impl Shape {
    fn of(config: &ForwardConfig) -> Self {
        let longest_frame = config.forward.frame_size.0 as u32;
        let chunk_bytes = (longest_frame + HEADROOM as u32).next_power_of_two().max(2048);
        let receive = config.forward.ring.next_power_of_two();
        Self { chunk_bytes, longest_frame, rings: Rings { receive, send: SEND_RING } }
    }

    fn layout(self, config: &ForwardConfig) -> Layout {
        // The send ring counts twice: for pending frames, and for sent frames whose chunks the kernel has not returned.
        let rings = self.rings.receive + self.rings.send * 2;
        Layout {
            frames: config.forward.frames,
            for_kernel: rings * config.ports.len() as u32,
            chunk_bytes: self.chunk_bytes as usize,
            headroom: HEADROOM,
        }
    }
}

impl Open {
    fn new(name: &str, index: u32, shape: Shape, pool: &mut FramePool) -> Result<Self, OpenError> {
        let offloads = Offloads::of(name);
        check(&offloads).map_err(|problem| OpenError::new(name, problem))?;
        let refused = |error: Error| OpenError::new(name, refusal(&error));
        let promiscuous = Promiscuous::new(index).map_err(|error| OpenError::of(name, &error))?;
        let socket = XdpSocket::open(index, pool.memory(), shape.chunk_bytes, shape.rings).map_err(refused)?;
        let redirect = Redirect::attach(index, offloads.driver == VETH, shape.longest_frame, socket.as_fd());
        let redirect = redirect.map_err(|error| OpenError::new(name, refusal_of_program(&error)))?;
        let lent = vec![false; pool.chunks()];
        let mut open =
            Self { socket, redirect, _promiscuous: promiscuous, lent, drops: 0, oversized: 0, without_checksum: 0 };
        open.fill(pool, shape.rings.receive);
        Ok(open)
    }

    /// Frees the chunks of sent frames.
    #[inline]
    fn reap(&mut self, pool: &mut FramePool) {
        while let Some(at) = self.socket.next_sent() {
            let chunk = pool.chunk_at(at);
            self.lent[chunk.number()] = false;
            pool.take_back(chunk);
        }
        self.socket.all_sent();
    }

    /// Gives the kernel at most `count` chunks, as many as it has returned, so that its fill ring stays full.
    #[inline]
    fn fill(&mut self, pool: &mut FramePool, count: u32) {
        let room = self.socket.room_to_fill().min(count);
        let lent = &mut self.lent;
        self.socket.fill((0..room).map_while(|_| {
            let chunk = pool.lend()?;
            lent[chunk.number()] = true;
            Some(pool.start_of(chunk))
        }));
    }

    /// Makes the kernel send. Frames that it does not accept stay in the ring and are offered again.
    #[inline]
    fn flush(&mut self, pool: &mut FramePool) -> Result<(), Error> {
        loop {
            let before = self.socket.unsent();
            if before == 0 {
                return Ok(());
            }
            match self.socket.flush() {
                Ok(()) => return Ok(()),
                Err(error) if is_outage(&error) => return Err(error),
                // Possible reasons: the kernel accepts a limited number of frames per call, it has dropped a frame, or
                // its buffers are full. Freeing the chunks of sent frames may help.
                Err(_) if self.socket.unsent() < before => self.reap(pool),
                Err(_) => return Ok(()),
            }
        }
    }
}

const VETH: &str = "veth";

/// Checks an interface for problems that can be detected before the interface is opened.
fn check(offloads: &Offloads) -> Result<(), String> {
    if offloads.receive_queues > 1 {
        let queues = offloads.receive_queues;
        return Err(format!(
            "has {queues} receive queues, and the forwarder reads one; `ethtool -L` sets them (combined 1, or rx 1), \
             or set forward.io to \"af-packet\""
        ));
    }
    if offloads.takes_tags_off && offloads.driver != VETH {
        return Err(
            "takes VLAN tags off frames, which are gone at XDP; switch it off with `ethtool -K ... rxvlan off`".into(),
        );
    }
    Ok(())
}

fn refusal(error: &Error) -> String {
    let instead = "set forward.io to \"af-packet\"";
    match error.raw_os_error() {
        Some(libc::ENODEV) => "no such network interface".into(),
        Some(libc::EPERM | libc::EACCES) => not_permitted(),
        Some(libc::EAFNOSUPPORT) => format!("the kernel has no AF_XDP (CONFIG_XDP_SOCKETS); {instead}"),
        Some(libc::EBUSY) => "another program has an AF_XDP socket at its queue".into(),
        Some(libc::ENOBUFS) => {
            "more memory than the limit allows (RLIMIT_MEMLOCK); raise it, or lower forward.frames".into()
        }
        _ => format!("{error}, at the opening of an AF_XDP socket; {instead}"),
    }
}

fn refusal_of_program(error: &KernelError) -> String {
    let instead = "set forward.io to \"af-packet\"";
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => not_permitted(),
        Some(libc::EOPNOTSUPP) => format!("its driver has no XDP; {instead}"),
        Some(libc::EBUSY | libc::EEXIST) => {
            "somebody else has a program at XDP there; `ip link set dev ... xdp off` takes it away".into()
        }
        Some(libc::ERANGE) => "its MTU, or that of the other end of a veth, is too large for XDP".into(),
        Some(_) => format!("{error}; {instead}"),
        None => format!("{error}\nIt needs Linux 6.3 for veth, 5.10 for others; {instead}"),
    }
}

fn not_permitted() -> String {
    "not permitted, AF_XDP needs root, or CAP_NET_RAW, CAP_NET_ADMIN, CAP_BPF and CAP_PERFMON".into()
}

impl Ports for XdpPorts {
    const IS_SILENT: bool = true;

    fn open(config: &ForwardConfig) -> Result<(Self, Core), OpenError> {
        let shape = Shape::of(config);
        let mut core = Core::with_layout(config, shape.layout(config));
        let mut ports = Vec::new();
        for port in &config.ports {
            let name = &port.interface;
            let index = io::index_of(name).map_err(|error| OpenError::of(name, &error))?;
            ports.push(Port { index, open: Some(Open::new(name, index, shape, core.pool())?) });
        }
        Ok((Self { ports, shape, descriptors: Vec::new() }, core))
    }

    #[inline]
    fn receive(&mut self, port: usize, core: &mut Core, clock: Clock, now: Time) {
        let Some(open) = &mut self.ports[port].open else { return };
        let now_ns = clock.monotonic(now).0 / 1000;
        let mut frames = [Chunk { at: 0, bytes: 0 }; BATCH];
        let mut count = 0;
        while count < BATCH
            && let Some(frame) = open.socket.next_received()
        {
            // The bytes were written by another processor.
            core.pool().memory().prefetch(frame.at - STAMP..frame.at + PREFETCHED);
            frames[count] = frame;
            count += 1;
        }
        for Chunk { at, bytes } in &frames[..count] {
            let pool = core.pool();
            let chunk = pool.chunk_at(*at);
            open.lent[chunk.number()] = false;
            // The XDP program wrote the arrival time before the frame. Clear it, so that the next frame in this chunk
            // does not seem as old as this one.
            let stamp: &mut [u8; STAMP] = pool.in_front_of(*at);
            let came_ns = match u64::from_ne_bytes(std::mem::take(stamp)) {
                0 => now_ns,
                ns => ns,
            };
            if pool.take_over(chunk, *at, *bytes) {
                let age = now_ns.wrapping_sub(came_ns).wrapping_mul(1000);
                core.arrive_in_place(port, chunk, Clock::arrival(now, age));
            } else {
                core.received(port).no_frame += 1;
            }
        }
        if count > 0 {
            open.socket.received();
            open.fill(core.pool(), count as u32);
        }
    }

    #[inline]
    fn send(&mut self, port: usize, core: &mut Core, frames: &[FrameId]) -> (usize, Option<Error>) {
        let pool = core.pool();
        let Some(open) = &mut self.ports[port].open else {
            frames.iter().for_each(|id| pool.release(*id));
            return (0, None);
        };
        open.reap(pool);
        let (taken, left) = frames.split_at(frames.len().min(open.socket.room_to_send() as usize));
        for id in taken {
            let (at, bytes) = pool.place(*id);
            open.socket.push(Chunk { at, bytes });
            open.lent[id.number()] = true;
            pool.hand_over(*id);
        }
        left.iter().for_each(|id| pool.release(*id));
        match open.flush(pool) {
            Ok(()) => (taken.len(), None),
            Err(error) => (taken.len().saturating_sub(open.socket.unsent() as usize), Some(error)),
        }
    }

    fn wait(&mut self, timeout: Time) -> bool {
        let sockets = || self.ports.iter().filter_map(|port| port.open.as_ref());
        // Pending frames stay in the ring, and a wait offers them to the kernel again.
        let timeout = if sockets().any(|open| open.socket.unsent() > 0) { timeout.min(RETRY) } else { timeout };
        io::wait(sockets().map(|open| open.socket.as_fd()), timeout, &mut self.descriptors)
    }

    fn take_error(&self, _: usize) -> Option<Error> {
        None
    }

    fn index(&self, port: usize) -> u32 {
        self.ports[port].index
    }

    /// Closes the socket and takes back all chunks that the kernel holds. Frames that it has not sent are lost.
    fn close(&mut self, port: usize, core: &mut Core) {
        self.count_drops(port, core);
        let Some(open) = self.ports[port].open.take() else { return };
        let Open { socket, redirect, lent, .. } = open;
        drop(redirect);
        drop(socket);
        core.pool().take_all_back(&lent);
    }

    fn reopen(&mut self, port: usize, name: &str, index: u32, core: &mut Core) -> Result<(), OpenError> {
        let open = Open::new(name, index, self.shape, core.pool())?;
        self.ports[port] = Port { index, open: Some(open) };
        Ok(())
    }

    fn count_drops(&mut self, port: usize, core: &mut Core) {
        let Some(open) = &mut self.ports[port].open else { return };
        let received = core.received(port);
        let drops = open.socket.drops();
        received.kernel_drops += drops.saturating_sub(open.drops);
        open.drops = drops;
        // Reading a map of this process cannot fail.
        if let Ok(stats) = open.redirect.stats() {
            received.oversized += stats.oversized - open.oversized;
            received.without_checksum += stats.without_checksum - open.without_checksum;
            (open.oversized, open.without_checksum) = (stats.oversized, stats.without_checksum);
        }
    }

    fn describe(&self, port: usize) -> &'static str {
        match &self.ports[port].open {
            Some(open) if open.socket.is_zero_copy() => "af-xdp, zero-copy",
            Some(_) => "af-xdp, copy",
            None => "af-xdp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interface(driver: &str, receive_queues: u32, takes_tags_off: bool) -> Offloads {
        Offloads { driver: driver.into(), receive_queues, takes_tags_off }
    }

    #[test]
    fn interfaces_that_hide_frames_or_tags_are_refused_with_the_way_out() {
        assert_eq!(check(&interface("veth", 1, true)), Ok(()));
        assert_eq!(check(&interface("ice", 1, false)), Ok(()));
        assert!(check(&interface("ice", 1, true)).unwrap_err().contains("ethtool -K ... rxvlan off"));
        assert!(check(&interface("ice", 8, false)).unwrap_err().starts_with("has 8 receive queues"));
    }

    #[test]
    fn refusals_say_what_to_do() {
        let of = |number| refusal(&Error::from_raw_os_error(number));
        assert!(of(libc::EAFNOSUPPORT).ends_with("set forward.io to \"af-packet\""));
        assert!(of(libc::EPERM).contains("CAP_BPF"));
        assert!(of(libc::ENOBUFS).contains("RLIMIT_MEMLOCK"));
        let program = |number| {
            let source = Error::from_raw_os_error(number);
            refusal_of_program(&KernelError::System { doing: "attaching".into(), source })
        };
        assert_eq!(program(libc::EOPNOTSUPP), "its driver has no XDP; set forward.io to \"af-packet\"");
        assert!(program(libc::EBUSY).contains("xdp off"));
        assert!(program(libc::ERANGE).contains("MTU"));
    }
}

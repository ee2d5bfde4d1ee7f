//! Ports that use `AF_PACKET`. Frames are copied from the kernel's rings, and back to the kernel when they are sent.

use super::config::ForwardConfig;
use super::core::Core;
use super::frame_pool::FrameId;
use super::ports::{Clock, OpenError, Ports};
use crate::io::{self, BATCH, Interface, Received};
use fairlane_schemes::base::units::Time;
use std::io::Error;
use std::os::fd::AsFd;

/// Length of the two Ethernet addresses of a frame.
const ADDRESSES: usize = 12;

/// An interface for each port.
#[derive(Debug)]
pub struct PacketPorts {
    interfaces: Vec<Interface>,
    frame_bytes: usize,
    ring: u32,
    descriptors: Vec<libc::pollfd>,
}

impl PacketPorts {
    fn interface(name: &str, frame_bytes: usize, ring: u32) -> Result<Interface, OpenError> {
        Interface::open(name, frame_bytes, ring).map_err(|error| OpenError::of(name, &error))
    }
}

impl Ports for PacketPorts {
    const IS_SILENT: bool = false;

    fn open(config: &ForwardConfig) -> Result<(Self, Core), OpenError> {
        let (frame_bytes, ring) = (config.forward.frame_size.0 as usize, config.forward.ring);
        let interfaces = config.ports.iter().map(|port| Self::interface(&port.interface, frame_bytes, ring));
        let interfaces = interfaces.collect::<Result<_, _>>()?;
        Ok((Self { interfaces, frame_bytes, ring, descriptors: Vec::new() }, Core::new(config)))
    }

    #[inline]
    fn receive(&mut self, port: usize, core: &mut Core, _: Clock, now: Time) {
        let (realtime, frame_bytes) = (io::realtime(), self.frame_bytes);
        self.interfaces[port].receive(BATCH, |frame| {
            let age = realtime.0.wrapping_sub(frame.at.0);
            arrive(core, port, &frame, Clock::arrival(now, age), frame_bytes);
        });
    }

    #[inline]
    fn send(&mut self, port: usize, core: &mut Core, ids: &[FrameId]) -> (usize, Option<Error>) {
        let mut frames: [&[u8]; BATCH] = [&[]; BATCH];
        for (frame, id) in frames.iter_mut().zip(ids) {
            *frame = core.frame(*id);
        }
        let (mut sent, mut failed) = (0, None);
        while sent < ids.len() {
            match self.interfaces[port].send(&frames[sent..ids.len()]) {
                Ok(taken) => sent += taken.max(1),
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        for id in ids {
            core.release(*id);
        }
        (sent, failed)
    }

    fn wait(&mut self, timeout: Time) -> bool {
        io::wait(self.interfaces.iter().map(AsFd::as_fd), timeout, &mut self.descriptors)
    }

    fn take_error(&self, port: usize) -> Option<Error> {
        self.interfaces[port].take_error()
    }

    fn index(&self, port: usize) -> u32 {
        self.interfaces[port].index()
    }

    /// Does nothing: the socket works again when the interface is up.
    fn close(&mut self, _: usize, _: &mut Core) {}

    /// Replaces the socket if the interface was recreated.
    fn reopen(&mut self, port: usize, name: &str, index: u32, _: &mut Core) -> Result<(), OpenError> {
        if index != self.interfaces[port].index() {
            self.interfaces[port] = Self::interface(name, self.frame_bytes, self.ring)?;
        }
        Ok(())
    }

    fn count_drops(&mut self, port: usize, core: &mut Core) {
        core.received(port).kernel_drops += self.interfaces[port].drops();
    }

    fn describe(&self, _: usize) -> &'static str {
        "af-packet"
    }
}

/// Passes a frame to the core unless it cannot be forwarded.
#[inline]
fn arrive(core: &mut Core, port: usize, frame: &Received<'_>, at: Time, frame_bytes: usize) {
    let tag_bytes = frame.tag.map_or(0, |tag| tag.len());
    if frame.length > frame.bytes.len() || frame.length + tag_bytes > frame_bytes {
        core.received(port).oversized += 1;
        return;
    }
    if frame.lacks_checksum {
        core.received(port).without_checksum += 1;
        return;
    }
    match (frame.tag, frame.bytes.split_at_checked(ADDRESSES)) {
        (Some(tag), Some((addresses, rest))) => {
            let mut head = [0; ADDRESSES + 4];
            head[..ADDRESSES].copy_from_slice(addresses);
            head[ADDRESSES..].copy_from_slice(&tag);
            core.arrive(port, &head, rest, at);
        }
        _ => core.arrive(port, frame.bytes, &[], at),
    }
}

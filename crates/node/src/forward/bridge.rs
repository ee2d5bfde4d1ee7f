//! Forwards frames at layer 2: to the port's peer, or to the port at which the destination was last seen.

use std::collections::HashMap;

/// Maximum number of learned addresses. Frames to further addresses are flooded.
const MOST_ADDRESSES: usize = 4096;

/// Destination of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// This port.
    Port(usize),
    /// All ports of the bridge except the one at which the frame arrived.
    All,
    /// No port, because the destination is on the link at which the frame arrived.
    None,
}

/// Forwards by Ethernet addresses.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// Port to which all frames of a port go.
    peers: Vec<Option<usize>>,
    seen: HashMap<u64, usize>,
}

impl Bridge {
    /// Creates a bridge. Each port with a peer is one end of a wire. All other ports form one bridge; a bridge of two
    /// ports is also a wire.
    #[must_use]
    pub fn new(mut peers: Vec<Option<usize>>) -> Self {
        let bridged: Vec<usize> = (0..peers.len()).filter(|&port| peers[port].is_none()).collect();
        if let [a, b] = bridged[..] {
            (peers[a], peers[b]) = (Some(b), Some(a));
        }
        Self { peers, seen: HashMap::new() }
    }

    /// Returns true if the port belongs to the bridge, false if it is one end of a wire.
    #[must_use]
    pub fn is_bridged(&self, port: usize) -> bool {
        self.peers[port].is_none()
    }

    /// Returns the destination of a frame that arrived at `port`.
    #[inline]
    pub fn target(&mut self, frame: &[u8], port: usize) -> Target {
        if let Some(peer) = self.peers[port] {
            return Target::Port(peer);
        }
        let (Some(to), Some(from)) = (address(frame, 0), address(frame, 6)) else { return Target::None };
        if !is_group(from) && (self.seen.len() < MOST_ADDRESSES || self.seen.contains_key(&from)) {
            self.seen.insert(from, port);
        }
        if is_group(to) {
            return Target::All;
        }
        match self.seen.get(&to) {
            Some(&there) if there == port => Target::None,
            Some(&there) => Target::Port(there),
            None => Target::All,
        }
    }
}

#[inline]
fn address(frame: &[u8], at: usize) -> Option<u64> {
    Some(frame.get(at..at + 6)?.iter().fold(0, |address, &byte| address << 8 | u64::from(byte)))
}

/// Returns true for multicast and broadcast addresses, in which the lowest bit of the first byte is set.
fn is_group(address: u64) -> bool {
    address >> 40 & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame(to: u8, from: u8) -> [u8; 14] {
        let mut frame = [0; 14];
        (frame[5], frame[11]) = (to, from);
        frame
    }

    #[test]
    fn two_ports_are_a_wire_whatever_the_addresses() {
        let mut bridge = Bridge::new(vec![None, None]);
        assert_eq!(bridge.target(&frame(1, 1), 0), Target::Port(1));
        assert_eq!(bridge.target(&[], 1), Target::Port(0));
    }

    #[test]
    fn a_bridge_learns_where_hosts_are() {
        let mut bridge = Bridge::new(vec![None, None, None, Some(4), Some(3)]);
        assert_eq!(bridge.target(&frame(2, 1), 0), Target::All);
        assert_eq!(bridge.target(&frame(1, 2), 1), Target::Port(0));
        assert_eq!(bridge.target(&frame(2, 1), 0), Target::Port(1));
        assert_eq!(bridge.target(&frame(1, 3), 0), Target::None);
        // Host 1 moves.
        assert_eq!(bridge.target(&frame(2, 1), 2), Target::Port(1));
        assert_eq!(bridge.target(&frame(1, 2), 1), Target::Port(2));
        let mut broadcast = frame(0, 1);
        broadcast[..6].fill(0xff);
        assert_eq!(bridge.target(&broadcast, 2), Target::All);
        assert_eq!(bridge.target(&frame(2, 1), 3), Target::Port(4));
        assert_eq!(bridge.target(&frame(2, 1)[..7], 0), Target::None);
    }

    #[test]
    fn a_host_that_makes_up_addresses_fills_the_table_and_no_more() {
        let mut bridge = Bridge::new(vec![None, None, None]);
        for number in 0..10_000u32 {
            let mut frame = frame(9, 0);
            frame[8..12].copy_from_slice(&number.to_be_bytes());
            bridge.target(&frame, 0);
        }
        assert_eq!(bridge.seen.len(), MOST_ADDRESSES);
    }
}

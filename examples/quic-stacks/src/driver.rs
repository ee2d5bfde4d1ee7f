//! Drives the controller of a QUIC stack by the calls that Fairlane makes to a congestion control from outside.
//!
//! Fairlane tells of each packet that leaves, arrives or is lost; a stack wants one report for an ACK, with what it
//! delivers and what it shows to be lost, in an order of its own. The driver keeps what is outstanding, as the stack's
//! connection would, and gathers these reports.

use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_sim::traffic::tcp::control::{Event, Moment, Output, Sample};
use fairlane_sim::traffic::tcp::external::{Delivered, ExternalControl, Sent};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Bytes of a datagram beyond the payload of the profile `quic`: short header, authentication tag and STREAM frame.
/// Stacks count them, Fairlane does not.
const HEADERS: u32 = 35;

/// Length of the datagram of a full packet, for a payload of `mss` bytes.
#[must_use]
pub fn datagram_bytes(mss: u32) -> u16 {
    u16::try_from(mss + HEADERS).unwrap_or(u16::MAX)
}

/// A packet that the network has, with what the stack wants to remember of it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<I> {
    /// When it was sent.
    pub sent: Time,
    /// Length of the datagram.
    pub bytes: u32,
    /// The sender had too few data to fill the window.
    pub app_limited: bool,
    /// The stack's own.
    pub info: I,
}

/// What an ACK tells, or the timer for late packets. Packets are in the order of their numbers.
#[derive(Debug)]
pub struct News<'a, I> {
    /// Now.
    pub now: Time,
    /// Delivered for the first time.
    pub acked: &'a [(u64, Packet<I>)],
    /// Taken for lost.
    pub lost: &'a [(u64, Packet<I>)],
    /// All packets of a time longer than three probe timeouts were lost (RFC 9002 7.6).
    pub persistent_congestion: bool,
    /// A round-trip time.
    pub rtt: Option<Time>,
    /// Packets that were marked (CE).
    pub marked: u64,
    /// In flight after what was acknowledged, before what was lost, in bytes of datagrams.
    pub in_flight: u64,
}

/// What a stack lets its connection send, in bytes of datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Most that may be in flight.
    pub window: u64,
    /// Bytes per second, if the stack's controller says; otherwise by the window, as in RFC 9002 7.7.
    pub pacing: Option<u64>,
    /// Most that leaves at once.
    pub burst: u64,
}

/// A congestion controller as the connection of its stack calls it.
pub trait Stack: Debug + Send {
    /// What it wants to remember of a packet.
    type Info: Copy + Debug + Send;
    /// The handshake gave a round-trip time.
    fn on_handshake(&mut self, rtt: Time, now: Time);
    /// A packet leaves.
    fn on_sent(&mut self, number: u64, bytes: u32, app_limited: bool, now: Time) -> Self::Info;
    /// A packet of `bytes` will never be heard of: it was sent again without having been taken for lost.
    fn on_forgotten(&mut self, bytes: u32);
    /// An ACK, or the timer for late packets.
    fn on_news(&mut self, news: &News<'_, Self::Info>);
    /// What may be sent.
    fn allowance(&self) -> Allowance;
}

/// A stack's controller as a control of Fairlane.
#[derive(Debug)]
pub struct Driver<S: Stack> {
    stack: S,
    mss: u32,
    outstanding: BTreeMap<u64, Packet<S::Info>>,
    in_flight: u64,
    acked: Vec<(u64, Packet<S::Info>)>,
    lost: Vec<(u64, Packet<S::Info>)>,
    persistent_congestion: bool,
}

impl<S: Stack> Driver<S> {
    /// A connection with payloads of `mss` bytes, before its handshake.
    pub fn new(stack: S, mss: u32) -> Self {
        Self {
            stack,
            mss,
            outstanding: BTreeMap::new(),
            in_flight: 0,
            acked: Vec::new(),
            lost: Vec::new(),
            persistent_congestion: false,
        }
    }

    /// Tells the stack what was gathered.
    fn report(&mut self, rtt: Option<Time>, marked: u64, now: Time) {
        if self.acked.is_empty() && self.lost.is_empty() && marked == 0 {
            return;
        }
        self.acked.sort_unstable_by_key(|&(number, _)| number);
        self.lost.sort_unstable_by_key(|&(number, _)| number);
        let lost: u64 = self.lost.iter().map(|(_, packet)| u64::from(packet.bytes)).sum();
        self.stack.on_news(&News {
            now,
            acked: &self.acked,
            lost: &self.lost,
            persistent_congestion: self.persistent_congestion,
            rtt,
            marked,
            in_flight: self.in_flight + lost,
        });
        self.acked.clear();
        self.lost.clear();
        self.persistent_congestion = false;
    }

    /// Removes a packet from those outstanding.
    fn take(&mut self, number: u32) -> Option<(u64, Packet<S::Info>)> {
        let packet = self.outstanding.remove(&u64::from(number))?;
        self.in_flight -= u64::from(packet.bytes);
        Some((number.into(), packet))
    }

    /// Sets what the stack allows; Fairlane counts payload.
    fn obey(&self, output: &mut Output) {
        let Allowance { window, pacing, burst } = self.stack.allowance();
        let payload = |bytes: u64| {
            let scaled = u128::from(bytes) * u128::from(self.mss) / u128::from(self.mss + HEADERS);
            u32::try_from(scaled).unwrap_or(u32::MAX).max(1)
        };
        output.cwnd = payload(window);
        output.quantum = payload(burst);
        output.pacing = pacing.map(|rate| BitRate(u64::from(payload(rate)) * 8));
    }
}

impl<S: Stack> ExternalControl for Driver<S> {
    fn on_sent(&mut self, output: &mut Output, sent: &Sent) -> Result<(), String> {
        self.report(None, 0, sent.now);
        if sent.again && self.outstanding.len() as u64 + 1 > u64::from(sent.in_flight / self.mss) {
            // A probe sends the oldest packet in flight again.
            if let Some((_, packet)) = self.outstanding.pop_first() {
                self.in_flight -= u64::from(packet.bytes);
                self.stack.on_forgotten(packet.bytes);
            }
        }
        let (number, bytes) = (u64::from(sent.number), sent.bytes + HEADERS);
        let info = self.stack.on_sent(number, bytes, sent.app_limited, sent.now);
        let packet = Packet { sent: sent.now, bytes, app_limited: sent.app_limited, info };
        if let Some(former) = self.outstanding.insert(number, packet) {
            self.in_flight -= u64::from(former.bytes);
        }
        self.in_flight += u64::from(bytes);
        self.obey(output);
        Ok(())
    }

    fn on_delivered(&mut self, _: &mut Output, delivered: &Delivered) -> Result<(), String> {
        if self.acked.is_empty() {
            self.report(None, 0, delivered.now);
        }
        // What was taken for lost and arrives late is news to no stack.
        if let Some(packet) = self.take(delivered.number) {
            self.acked.push(packet);
        }
        Ok(())
    }

    fn on_sample(&mut self, output: &mut Output, sample: &Sample) -> Result<(), String> {
        self.report(sample.rtt, u64::from(sample.marked.div_ceil(self.mss)), sample.now);
        self.obey(output);
        Ok(())
    }

    fn on_event(&mut self, output: &mut Output, event: &Event, at: &Moment) -> Result<(), String> {
        match event {
            Event::Open => self.stack.on_handshake(at.srtt, at.now),
            Event::SegmentLost { number, .. } => {
                if let Some(packet) = self.take(*number) {
                    self.lost.push(packet);
                }
            }
            // The losses that an ACK shows wait for its sample; those of a timer for nothing.
            Event::Loss if self.acked.is_empty() => self.report(None, 0, at.now),
            Event::Timeout => self.persistent_congestion = !self.lost.is_empty(),
            _ => {}
        }
        self.obey(output);
        Ok(())
    }
}

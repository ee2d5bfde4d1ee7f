//! Adapts the controller of a QUIC stack to Fairlane's interface for external congestion controls.
//!
//! Fairlane reports each packet that is sent, delivered or lost. A stack's controller expects one report per ACK, with
//! all delivered and lost packets, in the order of that stack. The driver keeps the outstanding packets, as the stack's
//! connection would, and collects these reports.

use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_sim::traffic::tcp::control::{Event, Moment, Output, Sample};
use fairlane_sim::traffic::tcp::external::{Delivered, ExternalControl, Sent};
use std::collections::BTreeMap;
use std::fmt::Debug;

/// Bytes of a datagram besides the payload of the profile `quic`: short header, authentication tag and STREAM frame.
/// Windows of stacks include these bytes; windows of Fairlane do not.
const HEADERS: u32 = 35;

/// Returns the length of the datagram of a full packet with `mss` bytes of payload.
#[must_use]
pub fn datagram_bytes(mss: u32) -> u16 {
    u16::try_from(mss + HEADERS).unwrap_or(u16::MAX)
}

/// An outstanding packet, with the stack's data about it.
#[derive(Clone, Copy, Debug)]
pub struct Packet<I> {
    /// Time of sending.
    pub sent: Time,
    /// Length of the datagram.
    pub bytes: u32,
    /// True if the application had too few data to fill the window.
    pub app_limited: bool,
    /// Data of the stack.
    pub info: I,
}

/// Report of an ACK or of the loss timer. Packets are in the order of their numbers.
#[derive(Debug)]
pub struct News<'a, I> {
    /// Current time.
    pub now: Time,
    /// Newly acknowledged packets.
    pub acked: &'a [(u64, Packet<I>)],
    /// Packets that are now considered lost.
    pub lost: &'a [(u64, Packet<I>)],
    /// True if all packets of a period longer than three probe timeouts were lost (RFC 9002 7.6).
    pub persistent_congestion: bool,
    /// RTT sample.
    pub rtt: Option<Time>,
    /// Number of marked packets (CE).
    pub marked: u64,
    /// Bytes of datagrams in flight, without acknowledged packets but with the lost ones.
    pub in_flight: u64,
}

/// Limits of sending, in bytes of datagrams.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// Congestion window.
    pub window: u64,
    /// Pacing rate of the controller in bytes per second; without it the window determines it (RFC 9002 7.7).
    pub pacing: Option<u64>,
    /// Maximum burst.
    pub burst: u64,
}

/// A congestion controller with the calls of its stack's connection.
pub trait Stack: Debug + Send {
    /// Data that the controller keeps about a packet.
    type Info: Copy + Debug + Send;
    /// Called with the RTT sample of the handshake.
    fn on_handshake(&mut self, rtt: Time, now: Time);
    /// Called when a packet is sent.
    fn on_sent(&mut self, number: u64, bytes: u32, app_limited: bool, now: Time) -> Self::Info;
    /// Called when a packet of `bytes` is forgotten: a probe has sent its data again before it was considered lost.
    fn on_forgotten(&mut self, bytes: u32);
    /// Called at an ACK, and when the loss timer fires.
    fn on_news(&mut self, news: &News<'_, Self::Info>);
    /// Returns the current limits of sending.
    fn allowance(&self) -> Allowance;
}

/// A control of Fairlane that calls a stack's controller.
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
    /// Creates the control of a connection with payloads of `mss` bytes, before its handshake.
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

    /// Passes the collected packets to the stack.
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

    /// Removes and returns an outstanding packet.
    fn take(&mut self, number: u32) -> Option<(u64, Packet<S::Info>)> {
        let packet = self.outstanding.remove(&u64::from(number))?;
        self.in_flight -= u64::from(packet.bytes);
        Some((number.into(), packet))
    }

    /// Sets the stack's limits, converted to payload, which is what Fairlane counts.
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
        // Stacks ignore packets that arrive after they were considered lost.
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
            // Losses detected by an ACK are reported with its sample, losses detected by a timer at once.
            Event::Loss if self.acked.is_empty() => self.report(None, 0, at.now),
            Event::Timeout => self.persistent_congestion = !self.lost.is_empty(),
            _ => {}
        }
        self.obey(output);
        Ok(())
    }
}

//! A sender and a receiver connected by a path of fixed delay. Each test selects losses, delays and marks.

use std::collections::BTreeMap;

use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::contract::packet::Ecn;

use crate::traffic::tcp::tracked::TrackedSender;
use crate::traffic::tcp::{Ack, Receiver, Segment, TcpParams, TcpProfile};

/// Payload of a full segment in the tests, a round number.
pub(super) const MSS: u32 = 1000;
pub(super) const MS: fn(u64) -> Time = Time::from_millis;

/// Returns Linux parameters with segments of [`MSS`]. The clock is exact, SACKs are not delayed, and new data do not
/// wait for a larger burst, so that times can be computed by hand.
pub(super) fn linux() -> TcpParams {
    let profile = TcpParams::profile(TcpProfile::Linux);
    TcpParams { segment_payload: MSS, clock_tick: Time::ZERO, sack_delay: Time::ZERO, tso_defer: false, ..profile }
}

/// Like [`linux`], but with Reno, an ACK for each segment and no HyStart, so that windows can be computed by hand.
pub(super) fn plain() -> TcpParams {
    use crate::traffic::tcp::{CongestionControl, HyStartKind};
    TcpParams { delayed_ack: 1, congestion_control: CongestionControl::Reno, hystart: HyStartKind::Off, ..linux() }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lot {
    Arrives,
    Late(Time),
    /// The segment arrives at this time or later, as after a stall of the path. The order of segments does not change.
    NotBefore(Time),
    Lost,
    Marked,
}

#[derive(Clone, Copy, Debug)]
enum Packet {
    Segment(Segment),
    Ack(Ack),
}

/// A path with a delay of 50 ms by default. `lot((segment, n))` decides what happens to the transmission of a segment
/// after `n` earlier transmissions.
pub(super) struct Path<F> {
    pub(super) params: TcpParams,
    pub(super) sender: TrackedSender,
    pub(super) receiver: Receiver,
    pub(super) now: Time,
    /// Delay of the path in each direction.
    pub(super) one_way: Time,
    /// Transmissions of data: time, segment, and number of earlier transmissions of the segment.
    pub(super) sent: Vec<(Time, u32, u32)>,
    /// Segments that request an immediate ACK.
    pub(super) prompt: Vec<u32>,
    /// Codepoints of all sent packets, including the handshake.
    pub(super) codepoints: Vec<Ecn>,
    pub(super) acks: u64,
    lot: F,
    times: Vec<u32>,
    travelling: BTreeMap<(Time, u64), Packet>,
    emitted: u64,
}

impl<F: FnMut(u32, u32) -> Lot> Path<F> {
    pub(super) fn new(params: TcpParams, segments: Option<u32>, lot: F) -> Self {
        let bytes = segments.map(|segments| Bytes(u64::from(segments) * u64::from(params.segment_payload)));
        let mut sender = TrackedSender::new(&params, bytes, 1);
        sender.start();
        let mut path = Self {
            receiver: Receiver::new(&params),
            params,
            sender,
            now: Time::ZERO,
            one_way: MS(50),
            sent: Vec::new(),
            prompt: Vec::new(),
            codepoints: Vec::new(),
            acks: 0,
            lot,
            times: Vec::new(),
            travelling: BTreeMap::new(),
            emitted: 0,
        };
        path.transmit();
        path
    }

    pub(super) fn run_until(&mut self, end: Time) {
        while self.next_event() <= end {
            self.step();
        }
        self.now = end;
    }

    /// Runs until the transfer is done. Fails if this takes a simulated day.
    pub(super) fn run_to_completion(&mut self) {
        while !self.sender.is_done() {
            self.step();
            assert!(self.now < Time::from_secs(86_400), "stuck: {:?}", self.sender);
        }
    }

    /// Retransmitted segments in order, with the time in milliseconds.
    pub(super) fn resent(&self) -> Vec<(u64, u32)> {
        self.sent.iter().filter(|sent| sent.2 > 0).map(|&(at, seq, _)| (at.0 / MS(1).0, seq)).collect()
    }

    fn next_event(&self) -> Time {
        let packet = self.travelling.keys().next().map_or(Time::NEVER, |key| key.0);
        packet.min(self.sender.timer()).min(self.receiver.timer())
    }

    /// Handles the next event. At equal times, packets come before timers.
    pub(super) fn step(&mut self) {
        self.now = self.next_event();
        assert!(self.now < Time::NEVER, "nothing will ever happen: {:?}", self.sender);
        let due = self.travelling.first_entry().filter(|entry| entry.key().0 == self.now);
        match due.map(|entry| entry.remove()) {
            Some(Packet::Segment(segment)) => {
                if let Some(ack) = self.receiver.on_segment(&self.params, segment, self.now) {
                    self.emit(Packet::Ack(ack), self.one_way);
                }
            }
            Some(Packet::Ack(ack)) => {
                self.acks += 1;
                self.sender.on_ack(&self.params, &ack, self.now);
                self.check();
                self.transmit();
            }
            None => {
                if self.receiver.timer() <= self.now
                    && let Some(ack) = self.receiver.on_timer(&self.params, self.now)
                {
                    self.emit(Packet::Ack(ack), self.one_way);
                }
                self.sender.on_timer(&self.params, self.now);
                self.check();
                self.transmit();
            }
        }
    }

    fn check(&self) {
        self.sender.records.check();
        let cwnd = self.sender.cwnd();
        assert!(cwnd >= u64::from(MSS) && cwnd <= u64::from(u32::MAX), "{cwnd}");
        if let Some(rate) = self.sender.pacing_rate(&self.params) {
            assert!(rate.0 > 0 && rate.0 < 1 << 50, "{rate:?}");
        }
    }

    fn transmit(&mut self) {
        while let Some(segment) = self.sender.poll_transmit(&self.params, self.now) {
            let mut segment = segment;
            let mut lot = Lot::Arrives;
            self.codepoints.push(segment.ecn);
            self.prompt.extend(segment.push.then_some(segment.seq));
            if segment.payload > 0 {
                let index = segment.seq as usize;
                self.times.resize(self.times.len().max(index + 1), 0);
                let time = self.times[index];
                self.times[index] += 1;
                self.sent.push((self.now, segment.seq, time));
                lot = (self.lot)(segment.seq, time);
            }
            let delay = match lot {
                Lot::Lost => continue,
                Lot::Arrives => self.one_way,
                Lot::Late(delay) => self.one_way + delay,
                Lot::NotBefore(time) => time.saturating_sub(self.now).max(self.one_way),
                Lot::Marked => {
                    segment.ecn = if segment.ecn == Ecn::NotEct { Ecn::NotEct } else { Ecn::Ce };
                    self.one_way
                }
            };
            self.emit(Packet::Segment(segment), delay);
        }
    }

    fn emit(&mut self, packet: Packet, delay: Time) {
        self.travelling.insert((self.now + delay, self.emitted), packet);
        self.emitted += 1;
    }
}

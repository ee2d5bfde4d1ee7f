//! What tests of congestion controls share: a flow whose ACKs are made by hand, and operations drawn at random.

use super::control::{Cause, Connection, Control, Event, Flight, FlightSize, Moment, Output, Progress, Sample};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use std::collections::VecDeque;

pub const MSS: u32 = 1000;
pub const RTT: Time = Time::from_millis(100);
pub const OF: Connection =
    Connection { mss: MSS, socket_buffer: 1 << 40, byte_counting: true, flight_size: FlightSize::Outstanding };

/// Segments in flight that are told apart.
const MOST_SENT: usize = 1000;

/// As many as the acceptance of a controller asks for; a tenth where they take ten times as long.
const OPERATIONS: u32 = if cfg!(debug_assertions) { 100_000 } else { 1_000_000 };

/// A flow whose ACKs are made by hand; its window is in use. It starts with ten segments, in slow start.
pub struct Flow<C: Control> {
    pub params: C::Params,
    pub control: C,
    pub output: Output,
    pub now: Time,
    pub delivered: u64,
    /// P.delivered of what is in flight.
    sent: VecDeque<u64>,
}

impl<C: Control> Flow<C> {
    pub fn new(params: C::Params) -> Self {
        let output = Output { cwnd: 10 * MSS, ssthresh: u32::MAX, pacing: None, quantum: 0 };
        let control = C::new(OF, &params, 7);
        let mut flow = Self { params, control, output, now: Time::from_secs(1), delivered: 0, sent: VecDeque::new() };
        flow.event(Event::Open);
        flow
    }

    pub fn event(&mut self, event: Event) {
        let at = Moment {
            now: self.now,
            srtt: RTT,
            min_rtt: RTT,
            in_flight: self.output.cwnd,
            delivered: self.delivered,
            total_lost: 0,
            app_limited: false,
            phase: Phase::Open,
        };
        self.control.on_event(OF, &self.params, &mut self.output, event, &at);
    }

    /// What congestion leaves of the window.
    pub fn reduce(&mut self, cause: Cause) -> u64 {
        let bytes = u64::from(self.output.cwnd);
        let flight = Flight { cwnd: self.output.cwnd, outstanding: bytes, pipe: bytes, cause };
        self.control.reduce(OF, &self.params, flight)
    }

    /// Growth in congestion avoidance.
    pub fn avoid(&mut self, cwnd: &mut u32, segments: u32) {
        self.control.avoid(OF, &self.params, cwnd, Progress { segments, now: self.now, srtt: RTT });
    }

    /// Sends what the window allows.
    fn send(&mut self) {
        let window = (self.output.cwnd / MSS) as usize;
        if self.sent.len() < window.min(MOST_SENT) {
            self.sent.resize(window.min(MOST_SENT), self.delivered);
        }
    }

    /// The ACK of the earliest segment in flight; `tell` changes what it says.
    pub fn ack(&mut self, tell: impl FnOnce(&mut Sample)) {
        self.send();
        let prior_delivered = self.sent.pop_front().unwrap_or_default();
        self.delivered += u64::from(MSS);
        let window = self.output.cwnd;
        let mut sample = Sample {
            now: self.now,
            rtt: Some(RTT),
            srtt: RTT,
            min_rtt: RTT,
            acked: MSS,
            in_order: MSS,
            lost: 0,
            marked: 0,
            ece: false,
            in_flight: window.saturating_sub(MSS),
            prior_in_flight: window,
            delivered: self.delivered,
            total_lost: 0,
            delivered_ce: 0,
            prior_delivered,
            tx_in_flight: window,
            lost_since_sent: 0,
            interval: RTT,
            delivery_rate: Some(BitRate(u64::from(window) * 80)),
            app_limited: false,
            cwnd_limited: true,
            phase: Phase::Open,
        };
        tell(&mut sample);
        self.control.on_sample(OF, &self.params, &mut self.output, &sample);
        self.send();
    }

    /// The ACKs of a window of segments, spread over an RTT, the `.0`-th of which `tell` changes.
    pub fn round(&mut self, mut tell: impl FnMut(u32, &mut Sample)) {
        let segments = self.output.cwnd / MSS;
        self.sent.truncate(segments as usize);
        for index in 0..segments {
            self.now += Time(RTT.0 / u64::from(segments));
            self.ack(|sample| tell(index, sample));
        }
    }
}

/// Any whole number below `bound`, small ones as likely as large ones.
pub fn any(random: &mut Rng, bound: u64) -> u64 {
    let bits = random.bits() % 64;
    (random.bits() >> bits) % bound
}

/// Any event, with any numbers.
pub fn any_event(random: &mut Rng) -> Event {
    match random.bits() % 7 {
        0 => Event::Loss,
        1 => Event::Timeout,
        2 => Event::RecoveryEnds,
        3 => Event::Undo { cwnd: any(random, 1 << 32) as u32, ssthresh: any(random, 1 << 32) as u32 },
        4 => Event::IdleRestart { idle: Time(any(random, 1 << 45)) },
        5 => Event::Mark,
        _ => Event::SegmentLost {
            bytes: MSS,
            tx_in_flight: any(random, 1 << 32) as u32,
            lost_since_sent: any(random, 1 << 40),
            prior_delivered: any(random, 1 << 40),
            app_limited: random.bits() & 1 == 0,
        },
    }
}

/// Acts as a sender would, with any ACK, event and growth: the window stays at a segment or more, the pacing rate above
/// nothing and below what the largest window and the least RTT give, and `holds` holds.
pub fn never_leaves_its_bounds<C: Control>(holds: impl Fn(&C) -> bool) {
    let mut random = Rng::stream(3, 0, "operations", 0);
    let phases = [Phase::Open, Phase::Disorder, Phase::Recovery, Phase::Loss];
    let mut flow = Flow::<C>::new(C::Params::default());
    // The least RTT drawn.
    let least_rtt = Time::from_micros(1);
    // Twice the largest window in it, in bits per second.
    let most_rate = 2.0 * f64::from(u32::MAX) * 8.0 / least_rtt.as_secs_f64();
    for operation in 0..OPERATIONS {
        if operation % 10_000 == 0 {
            flow = Flow::new(C::Params::default());
        }
        flow.now += Time(any(&mut random, 1 << 41));
        match random.bits() % 8 {
            0 => {
                let event = any_event(&mut random);
                flow.event(event);
            }
            1 => {
                let causes = [Cause::Loss, Cause::Mark, Cause::Timeout];
                let left = flow.reduce(causes[(random.bits() % 3) as usize]);
                flow.output.ssthresh = u32::try_from(left).unwrap_or(u32::MAX).max(2 * MSS);
                flow.output.cwnd = flow.output.cwnd.min(flow.output.ssthresh);
            }
            2 => {
                let mut cwnd = flow.output.cwnd;
                flow.avoid(&mut cwnd, 1 + any(&mut random, 1000) as u32);
                assert!(cwnd >= flow.output.cwnd, "operation {operation}: {cwnd}");
                flow.output.cwnd = cwnd;
            }
            _ => {
                let rtt = Time(least_rtt.0 + any(&mut random, 1 << 43));
                let acked = MSS * any(&mut random, 1 << 10) as u32;
                let marked = any(&mut random, u64::from(acked) + 1) as u32;
                let phase = phases[(random.bits() % 4) as usize];
                let in_flight = any(&mut random, 1 << 32) as u32;
                let prior = any(&mut random, flow.delivered + 1);
                let flags = random.bits();
                flow.delivered += u64::from(acked);
                let delivered = flow.delivered;
                flow.ack(|sample| {
                    sample.rtt = (flags & 1 == 0).then_some(rtt);
                    (sample.srtt, sample.min_rtt) = (rtt, least_rtt);
                    (sample.acked, sample.marked, sample.phase) = (acked, marked, phase);
                    (sample.in_flight, sample.prior_in_flight) = (in_flight, in_flight);
                    (sample.delivered, sample.prior_delivered) = (delivered, prior);
                    (sample.cwnd_limited, sample.ece) = (flags & 2 == 0, flags & 12 == 0);
                });
            }
        }
        assert!(flow.output.cwnd >= MSS, "operation {operation}: {:?}", flow.output);
        if let Some(BitRate(rate)) = flow.output.pacing {
            assert!(rate > 0 && rate as f64 <= most_rate, "operation {operation}: {rate}");
        }
        assert!(holds(&flow.control), "operation {operation}: {:?}", flow.control);
    }
}

//! Common parts of tests of congestion controls: a flow with constructed ACKs, and random operations.

pub mod path;

use super::control::{
    Authority, Cause, Connection, Control, Event, Flight, FlightSize, Moment, Output, Progress, Sample, Window,
};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::{BitRate, Time};
use std::collections::VecDeque;

pub const MSS: u32 = 1000;
pub const RTT: Time = Time::from_millis(100);
pub const OF: Connection = Connection {
    mss: MSS,
    socket_buffer: 1 << 40,
    byte_counting: true,
    flight_size: FlightSize::Outstanding,
    whole_windows: false,
    clock_tick: Time::ZERO,
};

const MOST_SENT: usize = 1000;

/// Minimum RTT that a random ACK has. The next constant is the maximum delivery rate in bit/s.
const LEAST_RTT: Time = Time::from_micros(1);
pub const MOST_RATE: u64 = 100_000_000_000;

/// Number of random operations. The next constant is the number after which a new connection starts.
const OPERATIONS: u32 = 1_000_000;
const OPERATIONS_OF_A_FLOW: u32 = 10_000;

/// A flow with constructed ACKs whose window is fully used. It starts with ten segments, in slow start.
pub struct Flow<C: Control> {
    pub of: Connection,
    pub params: C::Params,
    pub control: C,
    pub output: Output,
    pub now: Time,
    pub delivered: u64,
    lost: u64,
    /// Segments counted in congestion avoidance.
    counted: u32,
    /// P.delivered of each segment in flight.
    sent: VecDeque<u64>,
}

impl<C: Control> Flow<C> {
    pub fn new(params: C::Params) -> Self {
        let output = Output { cwnd: 10 * MSS, ssthresh: u32::MAX, pacing: None, quantum: 0 };
        let control = C::new(OF, &params, 7);
        let now = Time::from_secs(1);
        let (delivered, lost, counted, sent) = (0, 0, 0, VecDeque::new());
        let mut flow = Self { of: OF, params, control, output, now, delivered, lost, counted, sent };
        flow.event(Event::Open);
        flow
    }

    pub fn event(&mut self, event: Event) {
        self.event_in(Phase::Open, event);
    }

    pub fn event_in(&mut self, phase: Phase, event: Event) {
        let at = Moment { phase, ..self.moment() };
        self.control.on_event(self.of, &self.params, &mut self.output, event, &at);
    }

    /// The connection with a full window in flight.
    fn moment(&self) -> Moment {
        Moment {
            reducing: false,
            now: self.now,
            srtt: RTT,
            min_rtt: RTT,
            in_flight: self.output.cwnd,
            delivered: self.delivered,
            total_lost: self.lost,
            app_limited: false,
            phase: Phase::Open,
        }
    }

    pub fn reduce(&mut self, cause: Cause) -> u64 {
        let bytes = u64::from(self.output.cwnd);
        let flight = Flight { cwnd: self.output.cwnd, outstanding: bytes, pipe: bytes, cause };
        self.counted = 0;
        self.control.reduce(self.of, &self.params, flight)
    }

    pub fn avoid(&mut self, cwnd: &mut u32, segments: u32) {
        let progress = Progress { segments, now: self.now, srtt: RTT, min_rtt: RTT };
        self.control.avoid(self.of, &self.params, Window { cwnd, counted: &mut self.counted }, progress);
    }

    fn send(&mut self) {
        let window = (self.output.cwnd / MSS) as usize;
        if self.sent.len() < window.min(MOST_SENT) {
            self.sent.resize(window.min(MOST_SENT), self.delivered);
        }
    }

    /// Passes the ACK of the earliest segment in flight, after `tell` has modified the ACK.
    pub fn ack(&mut self, tell: impl FnOnce(&mut Sample)) {
        self.send();
        let prior_delivered = self.sent.pop_front().unwrap_or_default();
        self.delivered += u64::from(MSS);
        let mut sample = self.sample(prior_delivered);
        tell(&mut sample);
        self.control.on_sample(self.of, &self.params, &mut self.output, &sample);
        self.send();
    }

    /// Returns an ACK of a segment while the window is fully used.
    fn sample(&self, prior_delivered: u64) -> Sample {
        let window = self.output.cwnd;
        Sample {
            until_release: Time::ZERO,
            now: self.now,
            rtt: Some(RTT),
            rtt_in_milliseconds: false,
            since_echo: RTT,
            srtt: RTT,
            min_rtt: RTT,
            acked: MSS,
            in_order: MSS,
            lost: 0,
            marked: 0,
            ece: false,
            duplicate: false,
            in_flight: window.saturating_sub(MSS),
            prior_in_flight: window,
            prior_outstanding: window,
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
            reducing: false,
        }
    }

    /// Passes the ACKs of a window of segments, evenly spread over an RTT. `tell` gets the index of each ACK and can
    /// modify the ACK.
    pub fn round(&mut self, mut tell: impl FnMut(u32, &mut Sample)) {
        let segments = self.output.cwnd / MSS;
        self.sent.truncate(segments as usize);
        for index in 0..segments {
            self.now += Time(RTT.0 / u64::from(segments));
            self.ack(|sample| tell(index, sample));
        }
    }
}

/// Draws an integer below `bound`. The number of bits is also random, so small numbers are as likely as large ones.
pub fn any(random: &mut Rng, bound: u64) -> u64 {
    let bits = random.bits() % 64;
    (random.bits() >> bits) % bound
}

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
            sent: Time::ZERO,
            number: 1,
            tx_in_flight: any(random, 1 << 32) as u32,
            lost_since_sent: any(random, 1 << 40),
            prior_delivered: any(random, 1 << 40),
            app_limited: random.bits() & 1 == 0,
        },
    }
}

/// Drives a control with random ACKs, events and growth. Checks after each operation that the window is at least one
/// segment, that the pacing rate is at most that of the largest window at the minimum RTT, and that `holds` accepts the
/// state and the ACK, if there was one.
pub fn never_leaves_its_bounds<C: Control>(params: &C::Params, holds: impl Fn(&Flow<C>, Option<&Sample>) -> bool)
where
    C::Params: Clone,
{
    let mut random = Rng::stream(3, 0, "operations", 0);
    let mut flow = Flow::<C>::new(params.clone());
    // Pacing rate of twice the largest window per minimum RTT, in bit/s.
    let most_rate = 2.0 * f64::from(u32::MAX) * 8.0 / LEAST_RTT.as_secs_f64();
    for operation in 0..OPERATIONS {
        if operation % OPERATIONS_OF_A_FLOW == 0 {
            flow = Flow::new(params.clone());
        }
        flow.now += Time(any(&mut random, 1 << 41));
        let sample = flow.act(&mut random);
        assert!(flow.output.cwnd >= MSS, "operation {operation}: {:?}", flow.output);
        if let Some(BitRate(rate)) = flow.output.pacing {
            assert!(rate > 0 && rate as f64 <= most_rate, "operation {operation}: {rate}");
        }
        assert!(holds(&flow, sample.as_ref()), "operation {operation}: {:?} {:?}", flow.control, flow.output);
    }
}

impl<C: Control> Flow<C> {
    /// Executes a random operation that the control's authority permits. Returns the ACK if the operation is one.
    fn act(&mut self, random: &mut Rng) -> Option<Sample> {
        match random.bits() % 8 {
            0 => {
                let event = any_event(random);
                let in_flight = any(random, 1 << 32) as u32;
                let at = Moment { in_flight, app_limited: random.bits() & 1 == 0, ..self.moment() };
                self.control.on_event(self.of, &self.params, &mut self.output, event, &at);
                None
            }
            1 if C::AUTHORITY != Authority::Full => {
                let causes = [Cause::Loss, Cause::Mark, Cause::Timeout];
                let left = self.reduce(causes[(random.bits() % 3) as usize]);
                self.output.ssthresh = u32::try_from(left).unwrap_or(u32::MAX).max(2 * MSS);
                self.output.cwnd = self.output.cwnd.min(self.output.ssthresh);
                None
            }
            2 if C::AUTHORITY == Authority::Avoidance => {
                let mut cwnd = self.output.cwnd;
                self.avoid(&mut cwnd, 1 + any(random, 1000) as u32);
                assert!(cwnd >= self.output.cwnd, "{cwnd} after {:?}", self.output);
                self.output.cwnd = cwnd;
                None
            }
            _ => {
                let sample = self.any_sample(random);
                self.control.on_sample(self.of, &self.params, &mut self.output, &sample);
                Some(sample)
            }
        }
    }

    fn any_sample(&mut self, random: &mut Rng) -> Sample {
        let phases = [Phase::Open, Phase::Disorder, Phase::Recovery, Phase::Loss];
        let rtt = Time(LEAST_RTT.0 + any(random, 1 << 43));
        let (acked, lost) = (any(random, 1 << 28) as u32, any(random, 1 << 20) as u32);
        let in_flight = any(random, 1 << 32) as u32;
        let prior_delivered = self.delivered - any(random, self.delivered + 1);
        let flags = random.bits();
        self.delivered += u64::from(acked);
        self.lost += u64::from(lost);
        Sample {
            until_release: Time::ZERO,
            rtt: (flags & 1 == 0).then_some(rtt),
            since_echo: rtt,
            srtt: rtt,
            min_rtt: LEAST_RTT,
            acked,
            in_order: acked,
            lost,
            marked: any(random, u64::from(acked) + 1) as u32,
            ece: flags & 12 == 0,
            duplicate: flags & 3 == 0,
            in_flight,
            prior_in_flight: in_flight,
            prior_outstanding: in_flight,
            total_lost: self.lost,
            prior_delivered,
            tx_in_flight: in_flight,
            lost_since_sent: u64::from(lost),
            delivery_rate: (flags & 112 != 0).then(|| BitRate(1 + any(random, MOST_RATE))),
            app_limited: flags & 128 == 0,
            cwnd_limited: flags & 2 == 0,
            phase: phases[(random.bits() % 4) as usize],
            reducing: false,
            ..self.sample(self.delivered)
        }
    }
}

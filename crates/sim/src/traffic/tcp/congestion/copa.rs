//! Copa: aims at a rate that is inversely proportional to the queuing delay, and can compete with buffer-filling flows.
//!
//! Source: V. Arun, H. Balakrishnan, "Copa: Practical Delay-Based Congestion Control for the Internet", NSDI 2018.
//! Details that the paper does not specify follow its authors' code (venkatarun95/genericCC, `markoviancc.cc`).
//!
//! Windows are in segments:
//!
//! | section | rule | code |
//! |---|---|---|
//! | 2.1 | `d_q = RTTstanding - RTTmin`: the minimum RTT of half an SRTT, minus that of ten seconds | `Delays` |
//! | 2.1 | target window: `RTTstanding / (delta d_q)` | `Copa::target` |
//! | 2.1 | an ACK moves the window towards the target by `v / (delta cwnd)` | `Copa::move_window` |
//! | 2.1 | v doubles with each round trip in one direction, from the third on; otherwise it is 1 | `Copa::update_velocity` |
//! | 2.1 | pacing rate: `2 cwnd / RTTstanding` | `Copa::write` |
//! | 2.1 | slow start: the window doubles until it exceeds the target | `Copa::move_window`, `Copa::bound_by_delivery` |
//! | 2.2 | `copa_competitive_mode`: on if the queue was not nearly empty for five RTTs; nearly empty means below a tenth of its maximum in four RTTs | `Copa::update_mode` |
//! | 2.2 | competitive mode: 1 / delta grows by 1 per round trip, and a loss halves it | `Copa::update_mode`, `Control::on_event` |
//!
//! Known weakness: in default mode, Copa gets only a small share next to buffer-filling flows. On a link of 10 Mbit/s
//! with an RTT of 40 ms and a buffer of 264 packets, Copa gets 0.4 Mbit/s next to a CUBIC flow with 9.6 Mbit/s, and 0.7
//! Mbit/s next to a Reno flow with 9.3 Mbit/s. In competitive mode it gets 1.8 Mbit/s next to CUBIC and 5.2 Mbit/s next
//! to Reno.
//!
//! Cost: four windowed minima or maxima and three divisions per ACK; 400 bytes of state.
//!
//! Deviations:
//! 1. Each windowed minimum or maximum keeps three candidates, as in Linux; the paper does not specify the method.
//! 2. v is at most `delta cwnd`, as in the authors' code, so that the window at most doubles in a round trip.
//! 3. v becomes 1 as soon as an ACK moves the window against the direction of the last round trip, as in Meta's mvfst.
//!    Otherwise a velocity reached while the window grew would empty the pipe. In the paper v changes only once per
//!    round trip.
//! 4. The window is at least two segments, as in the authors' code.
//! 5. As in the paper, the default mode does not respond to losses, except for deviation 9. After a timeout the window
//!    is the data in flight plus one segment, and slow start begins again; the paper does not mention timeouts.
//! 6. The five RTTs of competitive mode begin at the end of slow start, since the queue of slow start must drain first.
//! 7. Competitive mode is off by default, because its detector fires without a competitor; Meta's mvfst does not have
//!    the mode. The queue of a single flow oscillates between 0 and 2.5 / delta = 5 segments with a mean period of five
//!    round trips (section 3). The detector waits for a queue of less than half a segment within five round trips. But
//!    a segment finds a queue of whole segments plus an offset, which depends on the fractional part of the
//!    bandwidth-delay product in segments. At 10 Mbit/s and 40 ms this product is 33.3 segments, and the queue is 0.7,
//!    1.7, ... segments. Also, a period is often longer than its mean. Once a flow is in competitive mode, 1 / delta
//!    grows faster than the oscillation, and the queue is never empty again. We tried 120 combinations of a rate from 1
//!    to 100 Mbit/s and an RTT from 10 to 200 ms. With the mode, one flow kept more than 10 segments in the queue in 43
//!    combinations, two flows more than 20 segments in 83, and four flows more than 40 segments in 100. Without the
//!    mode, these numbers are 0, 4 and 0. The authors' code has the same detector, but its v does not change with the
//!    direction, and doubles from the second round trip on. This empties the queue more often but not always, and left
//!    57 % of a link of 20 Mbit/s unused here.
//! 8. RTTs come from the records of segments. Linux gets the RTT of an ACK of retransmitted segments from timestamps in
//!    whole milliseconds. If such an RTT is too short by a fraction of a millisecond, RTTmin becomes a value that never
//!    occurs again. Then d_q is this fraction even at an empty queue, and the target is a few hundred segments at any
//!    rate. An ACK without an RTT moves the window according to the previous delays.
//! 9. If the round trip before a recovery delivered less than nine tenths of the window, the window becomes the
//!    delivered amount, and slow start ends. The paper does not specify this. If the buffer is a fraction of a
//!    bandwidth-delay product, the window in slow start far exceeds this product plus the buffer before the target
//!    falls below the window. From then on each ACK releases a new segment and a retransmission. The resulting bursts
//!    have twice the rate of the link, so half of each burst is lost. Between bursts the queue is empty and the target
//!    infinite, so the window hardly shrinks. The threshold of nine tenths is our choice. The authors' code reduces the
//!    window by 30 % if more than 30 % of the packets are lost within two round trips, which does not remove such
//!    bursts.
//! 10. The bursts remain if the send buffer is smaller than the bandwidth-delay product, or if the link's buffer is a
//!     few hundredths of this product. They result from pacing at twice the rate of the link into an empty pipe.
//!
//! Not implemented: the reduction by 30 % in the authors' code, see deviation 9.

use super::control::{Authority, Connection, Control, Event, Moment, Output, Sample};
use super::model::rounds::Rounds;
use super::model::windowed_max::WindowedMax;
use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::params;

/// Number of round trips in the same direction from which the velocity doubles (section 2.1).
const STEADY_ROUNDS: u32 = 3;
/// Minimum window in segments (deviation 4).
const LEAST_WINDOW: f64 = 2.0;
/// A buffer-filling flow is assumed if the queue was never nearly empty for this number of RTTs. The next constant is
/// the number of RTTs over which the maximum of the queueing delay is measured (section 2.2).
const ROUNDS_OF_MODE: u64 = 5;
const ROUNDS_OF_MOST: u64 = 4;
/// The queue is nearly empty if the queueing delay is below this fraction of its maximum (section 2.2).
const NEARLY_EMPTY: f64 = 0.1;
/// Losses are ignored if a round trip delivers at least this fraction of a window (deviation 9).
const LEAST_DELIVERED: f64 = 0.9;

params! {
    /// Parameters of Copa.
    pub struct CopaParams {
        /// Weight of delay against rate in Copa's default mode: each flow keeps about 1 / delta segments in the queue.
        copa_delta: f64 = 0.5, in 0.001..=10.0, symbol "delta", source "Copa 2.1, 2.2";
        /// Lets Copa compete with buffer-filling flows, which it often detects although there are none.
        copa_competitive_mode: bool = false,
            source "off in mvfst, Copa.cpp; on in Copa 2.2 and in genericCC, markoviancc.cc AUTO_MODE";
        /// Time over which Copa takes the minimum RTT.
        copa_min_rtt_window: Time = "10 s", in "1 ms"..="1 h", symbol "RTTmin", source "Copa 2.1";
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Up,
    Down,
}

/// Minima and the maximum of the RTT over windows of different lengths. Minima are stored as maxima of negated values.
#[derive(Clone, Debug)]
struct Delays {
    /// RTTmin.
    least: WindowedMax,
    /// RTTstanding.
    standing: WindowedMax,
    /// RTTmax.
    most: WindowedMax,
}

impl Delays {
    fn new() -> Self {
        let lowest = WindowedMax::new(f64::NEG_INFINITY);
        Self { least: lowest, standing: lowest, most: WindowedMax::new(0.0) }
    }

    fn observe(&mut self, params: &CopaParams, sample: &Sample, rtt: Time) {
        let (now, seconds) = (sample.now.0, rtt.as_secs_f64());
        self.least.update(params.copa_min_rtt_window.0, now, -seconds);
        self.standing.update(sample.srtt.0 / 2, now, -seconds);
        self.most.update(sample.srtt.0.saturating_mul(ROUNDS_OF_MOST), now, seconds);
    }

    fn standing(&self) -> f64 {
        -self.standing.get()
    }

    /// d_q, in seconds.
    fn queuing(&self) -> f64 {
        (self.standing() + self.least.get()).max(0.0)
    }

    fn is_nearly_empty(&self) -> bool {
        self.queuing() < NEARLY_EMPTY * (self.most.get() + self.least.get())
    }
}

/// State of Copa.
#[derive(Clone, Debug)]
pub struct Copa {
    delays: Delays,
    rounds: Rounds,
    /// Window in segments.
    window: f64,
    slow_start: bool,
    delta: f64,
    velocity: f64,
    /// Direction of the window in the last round trip. The next fields are the number of round trips in this direction,
    /// and the window at the start of the round trip.
    direction: Direction,
    steady: u32,
    window_of_round: f64,
    /// Time at which the queue was last nearly empty.
    last_empty: Time,
    competes: bool,
    /// True if there was a loss in this round trip.
    lost: bool,
    /// True if recovery has started since the last ACK.
    recovery_begins: bool,
}

impl Control for Copa {
    type Params = CopaParams;
    const AUTHORITY: Authority = Authority::Full;
    const NEEDS_SAMPLES: bool = true;

    fn new(_: Connection, params: &CopaParams, _: u64) -> Self {
        Self {
            delays: Delays::new(),
            rounds: Rounds::default(),
            window: 0.0,
            slow_start: true,
            delta: params.copa_delta,
            velocity: 1.0,
            direction: Direction::Up,
            steady: 0,
            window_of_round: 0.0,
            last_empty: Time::ZERO,
            competes: false,
            lost: false,
            recovery_begins: false,
        }
    }

    fn on_sample(&mut self, of: Connection, params: &CopaParams, output: &mut Output, sample: &Sample) {
        if sample.acked == 0 {
            return;
        }
        // Deviation 8.
        if let Some(rtt) = sample.rtt.filter(|_| !sample.rtt_in_milliseconds) {
            self.delays.observe(params, sample, rtt);
        }
        if !self.delays.standing().is_finite() {
            return;
        }
        self.bound_by_delivery(of, sample);
        self.rounds.update(sample.prior_delivered, sample.delivered);
        self.update_mode(params, sample);
        if self.rounds.started {
            self.update_velocity();
            self.lost = false;
        }
        self.move_window(of, sample);
        self.write(of, output);
    }

    fn on_event(&mut self, of: Connection, params: &CopaParams, output: &mut Output, event: Event, at: &Moment) {
        match event {
            Event::Open => {
                self.window = f64::from(output.cwnd) / f64::from(of.mss);
                self.window_of_round = self.window;
                self.last_empty = at.now;
            }
            Event::Loss => {
                (self.lost, self.recovery_begins) = (true, true);
                if self.competes {
                    self.delta = (2.0 * self.delta).min(params.copa_delta);
                }
            }
            Event::Timeout => {
                self.window = (f64::from(at.in_flight) / f64::from(of.mss) + 1.0).max(LEAST_WINDOW);
                (self.slow_start, self.velocity, self.steady) = (true, 1.0, 0);
                self.recovery_begins = false;
                self.delta = params.copa_delta;
                self.write(of, output);
            }
            _ => {}
        }
    }
}

impl Copa {
    /// Target window (section 2.1): RTTstanding / (delta d_q), in segments; infinite while the queue is empty.
    fn target(&self) -> f64 {
        let queuing = self.delays.queuing();
        if queuing > 0.0 { self.delays.standing() / (self.delta * queuing) } else { f64::INFINITY }
    }

    /// Applies deviation 9 at the first ACK of a recovery.
    fn bound_by_delivery(&mut self, of: Connection, sample: &Sample) {
        if !std::mem::take(&mut self.recovery_begins) || sample.app_limited {
            return;
        }
        let delivered = sample.delivered.saturating_sub(sample.prior_delivered) as f64 / f64::from(of.mss);
        if delivered < LEAST_DELIVERED * self.window {
            (self.slow_start, self.window) = (false, delivered.max(LEAST_WINDOW));
            self.window_of_round = self.window;
        }
    }

    /// Detects competing flows (section 2.2).
    fn update_mode(&mut self, params: &CopaParams, sample: &Sample) {
        if self.slow_start || self.delays.is_nearly_empty() || self.delays.queuing() == 0.0 {
            self.last_empty = sample.now;
        }
        let silence = sample.now.saturating_sub(self.last_empty);
        let competes = params.copa_competitive_mode && silence.0 > ROUNDS_OF_MODE.saturating_mul(sample.srtt.0);
        if !competes {
            self.delta = params.copa_delta;
        } else if self.competes && self.rounds.started && !self.lost {
            self.delta = 1.0 / (1.0 / self.delta + 1.0);
        }
        self.competes = competes;
    }

    /// Updates the velocity once per round trip (section 2.1).
    fn update_velocity(&mut self) {
        let direction = if self.window > self.window_of_round { Direction::Up } else { Direction::Down };
        self.window_of_round = self.window;
        if self.slow_start || direction != self.direction {
            (self.direction, self.steady, self.velocity) = (direction, 1, 1.0);
            return;
        }
        self.steady += 1;
        if self.steady >= STEADY_ROUNDS {
            self.velocity *= 2.0;
        }
    }

    /// Moves the window at an ACK (section 2.1).
    fn move_window(&mut self, of: Connection, sample: &Sample) {
        let acked = f64::from(sample.acked) / f64::from(of.mss);
        let below = self.window <= self.target();
        if self.slow_start && below {
            if sample.cwnd_limited {
                self.window += acked;
            }
        } else {
            self.slow_start = false;
            let direction = if below { Direction::Up } else { Direction::Down };
            if direction != self.direction {
                // The velocity is valid only in its direction.
                (self.direction, self.steady, self.velocity) = (direction, 0, 1.0);
            }
            self.velocity = self.velocity.min(self.delta * self.window).max(1.0);
            let step = self.velocity * acked / (self.delta * self.window);
            if !below {
                self.window -= step;
            } else if sample.cwnd_limited {
                self.window += step;
            }
        }
        let most = f64::from(u32::MAX) / f64::from(of.mss);
        self.window = self.window.clamp(LEAST_WINDOW, most);
    }

    fn write(&self, of: Connection, output: &mut Output) {
        let bytes = self.window * f64::from(of.mss);
        output.cwnd = bytes as u32;
        // Sends segment by segment, because bursts would look like a queue that is never empty.
        output.quantum = of.mss;
        let standing = self.delays.standing();
        if standing.is_finite() && standing > 0.0 {
            output.pacing = Some(BitRate(((16.0 * bytes / standing) as u64).max(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Flow, MSS, RTT, never_leaves_its_bounds};
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// A flow that has left slow start with `window` segments, and for which RTTmin is 100 ms.
    fn flow(window: u32) -> Flow<Copa> {
        let mut flow = Flow::<Copa>::new(CopaParams::default());
        flow.ack(|_| ());
        flow.control.slow_start = false;
        set(&mut flow, window);
        flow
    }

    fn set(flow: &mut Flow<Copa>, window: u32) {
        (flow.control.window, flow.output.cwnd) = (f64::from(window), window * MSS);
    }

    fn competitor(window: u32) -> Flow<Copa> {
        let mut flow = flow(window);
        flow.params.copa_competitive_mode = true;
        flow
    }

    /// Passes an ACK with this queueing delay, late enough that RTTstanding depends only on this ACK.
    fn late_ack(flow: &mut Flow<Copa>, queuing: Time) {
        flow.now += RTT;
        flow.ack(|sample| sample.rtt = Some(RTT + queuing));
    }

    #[test]
    fn section_2_1_the_target_is_the_inverse_of_delta_and_the_queuing_delay() {
        let mut flow = flow(50);
        late_ack(&mut flow, MS(10));
        // The target is RTTstanding / (delta d_q) = 110 ms / (0.5 * 10 ms) = 22 segments.
        assert!((flow.control.target() - 22.0).abs() < 1e-9, "{}", flow.control.target());
    }

    #[test]
    fn section_2_1_an_ack_moves_the_window_by_v_over_delta_cwnd() {
        for (window, change) in [(20, 0.1), (40, -0.05)] {
            let mut flow = flow(window);
            late_ack(&mut flow, MS(10));
            // With v = 1, a window of 20 segments grows by 1 / (0.5 * 20) towards the target of 22 segments, and a
            // window of 40 shrinks by 1 / (0.5 * 40).
            assert!((flow.control.window - f64::from(window) - change).abs() < 1e-9, "{}", flow.control.window);
        }
    }

    #[test]
    fn section_2_1_the_velocity_doubles_from_the_third_round_trip_in_one_direction_on() {
        let mut flow = flow(20);
        let mut velocities = Vec::new();
        for _ in 0..6 {
            // The window grows while the queue stays empty.
            flow.control.window += 1.0;
            flow.control.update_velocity();
            velocities.push(flow.control.velocity);
        }
        assert_eq!(velocities, [1.0, 1.0, 2.0, 4.0, 8.0, 16.0], "{:?}", flow.control);
        flow.control.window -= 1.0;
        flow.control.update_velocity();
        assert_eq!(flow.control.velocity, 1.0);
    }

    #[test]
    fn the_window_at_most_doubles_in_a_round_trip() {
        let mut flow = flow(20);
        flow.control.velocity = 1e9;
        flow.round(|_, sample| sample.rtt = Some(RTT));
        // At the start of the round, v is at most delta cwnd = 10, so each of 20 ACKs adds at most one segment.
        assert!(flow.control.window > 21.0 && flow.control.window <= 40.0, "{}", flow.control.window);
    }

    #[test]
    fn section_2_1_segments_leave_at_twice_the_window_in_an_rtt() {
        let mut flow = flow(20);
        late_ack(&mut flow, Time::ZERO);
        // The pacing rate is 2 cwnd / RTTstanding: 2 * 20.1 segments of 8000 bits per 100 ms = 3.216 Mbit/s.
        assert_eq!(flow.output.pacing, Some(BitRate(3_216_000)));
    }

    #[test]
    fn section_2_1_slow_start_doubles_the_window_until_it_exceeds_the_target() {
        let mut flow = Flow::<Copa>::new(CopaParams::default());
        flow.round(|_, _| ());
        assert_eq!(flow.output.cwnd, 20 * MSS);
        // At a queueing delay of 10 ms the target is 22 segments.
        flow.round(|_, sample| sample.rtt = Some(RTT + MS(10)));
        flow.round(|_, sample| sample.rtt = Some(RTT + MS(10)));
        assert!(!flow.control.slow_start);
        assert!((20 * MSS..45 * MSS).contains(&flow.output.cwnd), "{}", flow.output.cwnd);
    }

    #[test]
    fn section_2_2_a_queue_that_is_never_nearly_empty_in_five_rtts_makes_it_compete() {
        let mut flow = competitor(20);
        // The queueing delay is between 80 and 100 ms, so never below a tenth of its maximum.
        for round in 0..10 {
            late_ack(&mut flow, MS(if round % 2 == 0 { 80 } else { 100 }));
            assert_eq!(flow.control.competes, round >= 5, "round {round}");
        }
        // An empty queue ends competitive mode.
        late_ack(&mut flow, Time::ZERO);
        assert!(!flow.control.competes);
        assert_eq!(flow.control.delta, 0.5);
    }

    #[test]
    fn section_2_2_in_competitive_mode_one_over_delta_grows_by_one_a_round_trip_and_a_loss_halves_it() {
        let mut flow = competitor(20);
        flow.control.competes = true;
        flow.control.last_empty = Time::ZERO;
        flow.control.delays.observe(&CopaParams::default(), &sample_of(&flow), RTT + MS(100));
        let mut inverses = Vec::new();
        for _ in 0..3 {
            flow.now += RTT;
            let delivered = flow.delivered + u64::from(MSS);
            flow.ack(|sample| (sample.rtt, sample.prior_delivered) = (Some(RTT + MS(100)), delivered));
            inverses.push((1.0 / flow.control.delta).round() as u32);
        }
        assert_eq!(inverses, [3, 4, 5]);
        flow.event(Event::Loss);
        assert!((1.0 / flow.control.delta - 2.5).abs() < 1e-9);
        flow.event(Event::Loss);
        // 1 / delta never falls below its value in the default mode, 1 / 0.5.
        assert!((1.0 / flow.control.delta - 2.0).abs() < 1e-9);
    }

    fn sample_of(flow: &Flow<Copa>) -> Sample {
        let mut copy = None;
        let mut other = Flow::<Copa>::new(CopaParams::default());
        other.now = flow.now;
        other.ack(|sample| copy = Some(*sample));
        copy.unwrap()
    }

    #[test]
    fn in_the_default_mode_a_loss_changes_nothing() {
        let mut flow = flow(20);
        // The round trip delivered the window minus one segment.
        assert!(after_loss(&mut flow, 19) > 20.0);
        assert_eq!(flow.control.delta, 0.5);
    }

    #[test]
    fn a_loss_in_slow_start_leaves_of_the_window_what_a_round_trip_delivered() {
        let mut flow = Flow::<Copa>::new(CopaParams::default());
        flow.round(|_, _| ());
        let window = after_loss(&mut flow, 15);
        assert!(!flow.control.slow_start);
        // With v = 1, the window grows by 1 / (0.5 * 15) from 15 segments, because the queue is empty.
        assert!((window - 15.0 - 2.0 / 15.0).abs() < 1e-9, "{window}");
    }

    #[test]
    fn a_recovery_bounds_the_window_if_a_tenth_of_it_was_not_delivered() {
        // The threshold is nine tenths: 18 of 20 segments.
        for (delivered, left) in [(17, 17.0), (18, 20.0)] {
            let window = after_loss(&mut flow(20), delivered);
            assert!((window - left - 2.0 / left).abs() < 1e-9, "{window}");
        }
    }

    /// Window after the first ACK of a recovery, if `delivered` segments were delivered since the ACKed segment was
    /// sent.
    fn after_loss(flow: &mut Flow<Copa>, delivered: u64) -> f64 {
        flow.event(Event::Loss);
        flow.ack(|sample| {
            sample.delivered += 100 * u64::from(MSS);
            sample.prior_delivered = sample.delivered - delivered * u64::from(MSS);
        });
        flow.control.window
    }

    #[test]
    fn an_rtt_in_milliseconds_moves_no_delay_and_its_ack_moves_the_window() {
        let mut flow = flow(20);
        late_ack(&mut flow, MS(10));
        let (least, standing, window) =
            (flow.control.delays.least.get(), flow.control.delays.standing(), flow.control.window);
        flow.ack(|sample| (sample.rtt, sample.rtt_in_milliseconds) = (Some(MS(99)), true));
        assert_eq!((flow.control.delays.least.get(), flow.control.delays.standing()), (least, standing));
        // The window grows by 1 / (0.5 * 20) towards the target of 22 segments.
        assert!((flow.control.window - window - 2.0 / window).abs() < 1e-9, "{}", flow.control.window);
        let window = flow.control.window;
        flow.ack(|sample| sample.rtt = None);
        assert!(flow.control.window > window);
    }

    #[test]
    fn after_a_timeout_slow_start_begins_anew() {
        let mut flow = flow(20);
        flow.event(Event::Timeout);
        assert!(flow.control.slow_start);
    }

    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        never_leaves_its_bounds::<Copa>(
            &CopaParams { copa_competitive_mode: true, ..Default::default() },
            |flow, _| flow.control.delta > 0.0 && flow.control.delta <= 10.0,
        );
    }
}

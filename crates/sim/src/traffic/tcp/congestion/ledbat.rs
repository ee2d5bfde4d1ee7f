//! LEDBAT: a background transfer that adds a limited delay to its path and yields to other flows.
//!
//! Source: RFC 6817.
//!
//! | section | rule | code |
//! |---|---|---|
//! | 2.4.2 | `queuing_delay = FILTER(current delays) - MIN(base delays)` | `QueuingDelay` |
//! | 2.4.2 | `off_target = (TARGET - queuing_delay) / TARGET` | `Ledbat::approach` |
//! | 2.4.2 | `cwnd += GAIN off_target bytes_newly_acked MSS / cwnd` | `Ledbat::approach` |
//! | 2.4.2 | `MIN_CWND MSS <= cwnd <= flightsize + ALLOWED_INCREASE MSS` | `Ledbat::approach` |
//! | 2.4.2 | a loss halves the window, depending on `flight_size` | [`Reno::reduce`] |
//!
//! Known weakness: if the buffer is full before the delay reaches TARGET, losses occur first. LEDBAT responds to losses
//! like Reno and does not yield. For example, on a link of 10 Mbit/s with an RTT of 40 ms and a buffer of 24 packets
//! (29 ms), LEDBAT gets 4.7 Mbit/s and a CUBIC flow 5.3 Mbit/s, over 100 s with the profile `linux`. With a buffer of
//! 264 packets (317 ms), LEDBAT gets 0.5 Mbit/s and CUBIC 9.5 Mbit/s.
//!
//! Cost: per ACK, the smallest of ten delays, the smallest of four, and a division; 560 bytes of state.
//!
//! Deviations:
//! 1. RFC 6817 2.2: the delay is the round-trip time of the newest segment that an ACK delivers. It is not the one-way
//!    delay, because ACKs carry no receiver time. So the delay includes queues on the reverse path and the wait of a
//!    delayed ACK. With `ledbat_delay = "stamps"` every ACK gives a delay, even during recovery.
//! 2. RFC 6817 2.5: the initial window is the connection's `initial_window` (10 with the profile `linux`), not 2.
//! 3. RFC 6817 2.4.2: in recovery the sender sets the window, by proportional rate reduction if enabled. After a
//!    timeout the window is one segment, and the next ACK raises it to `ledbat_min_window`.
//! 4. RFC 6817 does not specify the start. With `ledbat_slow_start` a flow uses the slow start of Reno (and its
//!    `byte_counting`) until the window exceeds the threshold, as in ns-3. Slow start is repeated after each timeout.
//! 5. RFC 6817 2.4.2: newly acknowledged and outstanding data follow from the cumulative acknowledgement number only.
//!    SACK blocks do not change the window.
//!
//! Not implemented: delay noise filters other than the minimum; a higher gain for decrease (RFC 6817 2.5).

use super::control::{Authority, Connection, Control, Event, Flight, Moment, Output, Sample};
use super::model::queuing_delay::QueuingDelay;
use super::reno::{Reno, RenoParams};
use crate::traffic::tcp::phase::Phase;
use fairlane_schemes::base::units::Time;
use fairlane_schemes::{choices, params};

choices! {
    /// Delay that LEDBAT measures.
    pub enum LedbatDelay {
        /// RTT measured by the sender, of segments sent once.
        Rtt = "rtt",
        /// Difference of an ACK's timestamps, in whole milliseconds. Every ACK gives a sample, even of retransmissions.
        Stamps = "stamps",
    }
}

params! {
    /// Parameters of LEDBAT.
    pub struct LedbatParams {
        //= RFC 6817 2.5-1: TARGET is 100 ms or less.
        /// Target: maximum queueing delay that LEDBAT adds to its path.
        ledbat_target: Time = "100 ms", in "1 ms"..="100 ms", symbol "TARGET", source "RFC 6817 2.5";
        //= RFC 6817 2.5-2: GAIN is 1 or less.
        /// Gain of LEDBAT; with 1 it grows as fast as Reno while the queue is empty.
        ledbat_gain: f64 = 1.0, in 0.001..=1.0, symbol "GAIN", source "RFC 6817 2.5";
        //= RFC 6817 2.5-3: ALLOWED_INCREASE is above 0, and 1 by default.
        /// Number of segments by which LEDBAT's window may exceed the segments in flight.
        ledbat_allowed_increase: u32 = 1, in 1..=100, symbol "ALLOWED_INCREASE", source "RFC 6817 2.5";
        //= RFC 6817 2.5-4: MIN_CWND is 2.
        /// Minimum window of LEDBAT in segments.
        ledbat_min_window: u32 = 2, in 1..=10, symbol "MIN_CWND", source "RFC 6817 2.5";
        //= RFC 6817 2.5-5: BASE_HISTORY is 10.
        /// Minutes over which LEDBAT takes the minimum delay as its base delay.
        ledbat_base_history: u32 = 10, in 2..=20, symbol "BASE_HISTORY", source "RFC 6817 2.5";
        //= RFC 6817 2.5-7: The filter has four samples of a round trip, if there are so many.
        /// Maximum number of delays of the last round trip whose minimum LEDBAT uses.
        ledbat_current_filter: u32 = 4, in 1..=16, symbol "CURRENT_FILTER", source "RFC 6817 2.5";
        /// Lets LEDBAT start with slow start, until the first loss.
        ledbat_slow_start: bool = false, source "RFC 6817 leaves it open; true in ns-3, tcp-ledbat.cc SSParam";
        /// Excludes delays older than a round trip from LEDBAT's filter.
        ledbat_fresh_delays: bool = true, source "RFC 6817 2.5; false in ns-3, tcp-ledbat.cc AddDelay";
        /// Delay that LEDBAT measures: the RTT of segments sent once, or for each ACK the difference of its timestamps
        /// in whole milliseconds.
        ledbat_delay: LedbatDelay = "rtt",
            source "stamps: RFC 6817 2.2, RFC 7323; ns-3 tcp-ledbat.cc PktsAcked, TcpOptionTS::NowToTsValue";
    }
}

/// State of LEDBAT.
#[derive(Clone, Debug)]
pub struct Ledbat {
    delay: QueuingDelay,
    /// Fraction of a byte by which the computed window exceeds the window in whole bytes.
    fraction: f64,
    slow_start: bool,
}

impl Control for Ledbat {
    type Params = LedbatParams;
    const READS: &'static [&'static str] = &["byte_counting", "flight_size"];
    const AUTHORITY: Authority = Authority::Growth;
    const NEEDS_SAMPLES: bool = true;

    fn new(_: Connection, params: &LedbatParams, _: u64) -> Self {
        Self { delay: QueuingDelay::new(), fraction: 0.0, slow_start: params.ledbat_slow_start }
    }

    fn reduce(&mut self, of: Connection, _: &LedbatParams, flight: Flight) -> u64 {
        //= RFC 6817 2.4.2-6: A loss halves the window, once a round trip at most.
        Reno.reduce(of, &RenoParams {}, flight)
    }

    fn on_sample(&mut self, of: Connection, params: &LedbatParams, output: &mut Output, sample: &Sample) {
        //= RFC 6817 2.2-1, deviation: The delay is that of one way, by the receiver's clock.
        let delay = match params.ledbat_delay {
            LedbatDelay::Rtt => sample.rtt,
            LedbatDelay::Stamps => Some(sample.since_echo),
        };
        if let Some(delay) = delay {
            self.delay.observe(sample.now, delay);
        }
        if sample.phase == Phase::Recovery || sample.in_order == 0 || sample.ece || sample.duplicate {
            return;
        }
        if self.slow_start && output.cwnd <= output.ssthresh {
            // A window that is not fully used does not grow.
            let growth = if sample.cwnd_limited { of.counted(sample.in_order) } else { 0 };
            output.cwnd = output.cwnd.saturating_add(growth);
            return;
        }
        self.slow_start = false;
        self.approach(of, params, output, sample);
    }

    fn on_event(&mut self, _: Connection, params: &LedbatParams, _: &mut Output, event: Event, _: &Moment) {
        match event {
            Event::Timeout => self.slow_start = params.ledbat_slow_start,
            Event::Loss | Event::Mark => {}
            _ => return,
        }
        self.fraction = 0.0;
    }
}

impl Ledbat {
    /// Moves the window at an ACK (section 2.4.2).
    fn approach(&mut self, of: Connection, params: &LedbatParams, output: &mut Output, sample: &Sample) {
        let (minutes, samples) = (params.ledbat_base_history, params.ledbat_current_filter);
        let age = if params.ledbat_fresh_delays { sample.srtt } else { Time::NEVER };
        let Some(queuing) = self.delay.get(minutes, samples, sample.now, age) else { return };
        let target = params.ledbat_target.as_secs_f64();
        let (mss, cwnd) = (f64::from(of.mss), f64::from(output.cwnd.max(1)));
        let off_target = (target - queuing.as_secs_f64()) / target;
        //= RFC 6817 2.4.2-3: An ACK adds GAIN * off_target * bytes_newly_acked * MSS / cwnd.
        let step = params.ledbat_gain * off_target * f64::from(sample.in_order) * mss / cwnd;
        //= RFC 6817 2.4.2-4: cwnd is at most flightsize + ALLOWED_INCREASE * MSS.
        // Lost or SACKed segments are still outstanding.
        let most = f64::from(sample.prior_outstanding) + f64::from(params.ledbat_allowed_increase) * mss;
        //= RFC 6817 2.4.2-5: cwnd is at least MIN_CWND * MSS.
        let least = f64::from(params.ledbat_min_window) * mss;
        let next = (cwnd + self.fraction + step).min(most).max(least).min(f64::from(u32::MAX));
        output.cwnd = next as u32;
        self.fraction = next - f64::from(output.cwnd);
    }
}

#[cfg(test)]
mod tests {
    use super::super::control::Cause;
    use super::super::testing::{Flow, MSS, RTT, never_leaves_its_bounds};
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    /// A flow of 20 segments with a known base delay, the RTT of 100 ms.
    fn flow(params: LedbatParams) -> Flow<Ledbat> {
        let mut flow = Flow::<Ledbat>::new(params);
        flow.control.delay.observe(Time::ZERO, RTT);
        flow.output.cwnd = 20 * MSS;
        flow
    }

    /// Change of the window in bytes over a round trip of ACKs with this queuing delay.
    fn change(flow: &mut Flow<Ledbat>, queuing: Time) -> i64 {
        let before = i64::from(flow.output.cwnd);
        flow.round(|_, sample| sample.rtt = Some(RTT + queuing));
        i64::from(flow.output.cwnd) - before
    }

    /// Returns parameters without the filter, so that each delay sample takes effect by itself.
    fn unfiltered() -> LedbatParams {
        LedbatParams { ledbat_current_filter: 1, ..Default::default() }
    }

    #[test]
    fn section_2_4_2_the_window_grows_by_a_segment_per_round_trip_while_the_queue_is_empty() {
        // 20 ACKs add MSS^2 / cwnd each. The sum is slightly less than a segment, because the window grows meanwhile.
        let change = change(&mut flow(unfiltered()), Time::ZERO);
        assert!((960..=1000).contains(&change), "{change}");
    }

    #[test]
    fn section_2_4_2_growth_is_in_proportion_to_the_distance_from_the_target() {
        // off_target is 0.5, 0, -0.5 and -1, so the window changes by as many segments per round trip.
        for (queuing, expected) in [(50, 500), (100, 0), (150, -500), (200, -1000)] {
            let change = change(&mut flow(unfiltered()), MS(queuing));
            assert!((change - expected).abs() <= 60, "{change} at {queuing} ms");
        }
    }

    #[test]
    fn section_2_5_the_gain_scales_growth() {
        let change = change(&mut flow(LedbatParams { ledbat_gain: 0.25, ..unfiltered() }), Time::ZERO);
        assert!((235..=250).contains(&change), "{change}");
    }

    #[test]
    fn section_2_4_2_the_window_exceeds_what_is_in_flight_by_a_segment_at_most() {
        let mut flow = flow(unfiltered());
        flow.ack(|sample| sample.prior_outstanding = 5 * MSS);
        assert_eq!(flow.output.cwnd, 6 * MSS);
    }

    #[test]
    fn section_2_4_2_the_window_is_two_segments_at_least() {
        let mut flow = flow(unfiltered());
        flow.round(|_, sample| sample.rtt = Some(Time::from_secs(10)));
        assert_eq!(flow.output.cwnd, 2 * MSS);
    }

    #[test]
    fn time_stamps_are_a_delay_even_if_nothing_else_is() {
        let windows = [LedbatDelay::Rtt, LedbatDelay::Stamps].map(|ledbat_delay| {
            let mut flow = flow(LedbatParams { ledbat_delay, ..unfiltered() });
            flow.ack(|sample| (sample.rtt, sample.since_echo) = (None, RTT + MS(200)));
            flow.output.cwnd
        });
        // With the last RTT as delay, the queue is empty: off_target is 1, and the window grows by MSS^2 / cwnd. With
        // the timestamps, off_target is -1, and the window shrinks.
        assert_eq!(windows, [20 * MSS + 50, 20 * MSS - 50]);
    }

    #[test]
    fn delays_older_than_a_round_trip_count_if_asked_for() {
        let windows = [true, false].map(|ledbat_fresh_delays| {
            let mut flow = flow(LedbatParams { ledbat_fresh_delays, ..Default::default() });
            flow.ack(|sample| {
                sample.now = Time::from_secs(9);
                sample.rtt = Some(RTT + MS(200));
            });
            flow.output.cwnd
        });
        // With stale delays, the filter still contains the sample of time 0, which is also the base delay. Without them
        // it contains only the last delay.
        assert_eq!(windows, [20 * MSS - 50, 20 * MSS + 50]);
    }

    #[test]
    fn section_2_5_the_least_of_four_delays_counts() {
        let mut flow = flow(LedbatParams::default());
        // Every fourth ACK has an RTT without queueing. The filter takes the minimum of four delays, so the window
        // grows as if the queue were always empty.
        let before = flow.output.cwnd;
        flow.round(|index, sample| sample.rtt = Some(RTT + if index % 4 == 0 { Time::ZERO } else { MS(300) }));
        assert!(flow.output.cwnd - before >= 950, "{}", flow.output.cwnd - before);
    }

    #[test]
    fn section_2_4_2_a_loss_halves_the_window() {
        assert_eq!(flow(unfiltered()).reduce(Cause::Loss), u64::from(10 * MSS));
    }

    #[test]
    fn in_recovery_the_window_is_the_senders() {
        let mut flow = flow(unfiltered());
        flow.round(|_, sample| sample.phase = Phase::Recovery);
        assert_eq!(flow.output.cwnd, 20 * MSS);
    }

    #[test]
    fn slow_start_doubles_the_window_until_the_first_loss_and_after_a_timeout() {
        let mut flow = flow(LedbatParams { ledbat_slow_start: true, ..unfiltered() });
        flow.round(|_, sample| sample.rtt = Some(RTT));
        assert_eq!(flow.output.cwnd, 40 * MSS);
        flow.event(Event::Loss);
        (flow.output.cwnd, flow.output.ssthresh) = (20 * MSS, 20 * MSS);
        // If they are equal, one more ACK.
        flow.ack(|sample| sample.rtt = Some(RTT));
        assert_eq!(flow.output.cwnd, 21 * MSS);
        flow.ack(|sample| sample.rtt = Some(RTT));
        assert!(flow.output.cwnd < 22 * MSS);
        flow.event(Event::Timeout);
        flow.output.cwnd = MSS;
        flow.ack(|sample| sample.phase = Phase::Loss);
        assert_eq!(flow.output.cwnd, 2 * MSS);
    }

    #[test]
    fn slow_start_leaves_a_window_that_is_not_in_use() {
        let mut flow = flow(LedbatParams { ledbat_slow_start: true, ..unfiltered() });
        flow.round(|_, sample| sample.cwnd_limited = false);
        assert_eq!(flow.output.cwnd, 20 * MSS);
    }

    #[test]
    fn slow_start_adds_what_an_ack_covers_or_a_segment() {
        for (byte_counting, growth) in [(true, 2 * MSS), (false, MSS)] {
            let mut flow = flow(LedbatParams { ledbat_slow_start: true, ..unfiltered() });
            flow.of.byte_counting = byte_counting;
            flow.ack(|sample| sample.in_order = 2 * MSS);
            assert_eq!(flow.output.cwnd, 20 * MSS + growth);
        }
    }

    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        never_leaves_its_bounds::<Ledbat>(&LedbatParams::default(), |_, _| true);
    }
}

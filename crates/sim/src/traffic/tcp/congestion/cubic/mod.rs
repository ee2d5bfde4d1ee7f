//! CUBIC: the window is a cubic function of the time since the last congestion.
//!
//! Source: RFC 9438.
//!
//! Windows are in segments, times in seconds:
//!
//! ```text
//! W_cubic(t) = C (t - K)^3 + W_max                                   eq. (1)
//! K = ((W_max - cwnd_epoch) / C)^(1/3)                               eq. (2)
//! alpha = 3 (1 - beta) / (1 + beta)                                  section 4.3
//! W_est += alpha * segments_acked / cwnd                             eq. (4)
//! ```
//!
//! An epoch starts when the window first grows in congestion avoidance after congestion. t is the time since then,
//! cwnd_epoch the window at the start.
//!
//! Deviations 1, 2 and 5 are those of Linux (`net/ipv4/tcp_cubic.c` bictcp_update, `tcp_cong.c` tcp_cong_avoid_ai) and
//! of ns-3 (`tcp-cubic.cc`), which follows Linux.
//!
//! With `clock_tick` the code follows Linux, in `cubic/ticked.rs`: it computes the growth in whole segments, at most
//! once per tick, or once per 1/32 s while the window is constant.
//!
//! Cost: a cube root per epoch, a cube and three divisions per ACK. State: 112 bytes.
//!
//! Deviations:
//! 1. The window grows by one segment for every N acknowledged segments. N is `cwnd / (target - cwnd)`, rounded down,
//!    and at least 2. In sections 4.4 and 4.5 it grows by `(target - cwnd) / cwnd` for each ACK. So here the window
//!    follows eq. (1) under delayed ACKs too. W_max and the distance of the target from W_max are rounded down.
//! 2. In the Reno-friendly region the window is not W_est. It follows W_est as a target, in whole segments, and never
//!    shrinks. alpha does not change above cwnd_prior, where section 4.3 makes it 1.
//! 3. After congestion marks too, the window is at least two segments (section 4.6 permits one).
//! 4. A window that the socket buffer limits does not grow.
//! 5. Before the first congestion, and before the first congestion after a timeout, the window grows by at least a
//!    twentieth per round trip.
//! 6. Without `clock_tick` the target is computed at each ACK from the smoothed RTT, as in ns-3. With `clock_tick` the
//!    cube root is exact; that of Linux has an error of 0.1 %. delay_min is the minimum RTT of the connection; Linux
//!    resets it at a timeout.
//!
//! Not implemented: spurious congestion (section 4.9) restores only window and slow-start threshold, as in Linux.

mod rules;
mod ticked;

use super::control::{Connection, Control, Event, Flight, Moment, Output, Progress, Sample, Window};
use fairlane_schemes::base::units::Time;
pub use rules::{CubicClock, CubicParams};
use rules::{FIRST_GROWTH, LEAST_PER_SEGMENT, alpha, segments_for_one};
use ticked::Ticked;

/// State of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// Start of this epoch; [`Time::NEVER`] between congestion and the next growth.
    epoch: Time,
    /// W_max; 0 before the first congestion and after a timeout.
    w_max: f64,
    /// The larger of W_max and the window at the start of this epoch.
    plateau: f64,
    k: f64,
    w_est: f64,
    /// Time of the last ACK, or of the end of the last idle period, for `cubic_clock = "in_use"`.
    clock_read: Time,
    /// State used with `clock_tick`, instead of all other fields except `clock_read`.
    ticked: Ticked,
}

impl Control for Cubic {
    type Params = CubicParams;

    fn new(_: Connection, _: &CubicParams, _: u64) -> Self {
        Self {
            epoch: Time::NEVER,
            w_max: 0.0,
            plateau: 0.0,
            k: 0.0,
            w_est: 0.0,
            clock_read: Time::ZERO,
            ticked: Ticked::default(),
        }
    }

    /// Grows the window (sections 4.2 to 4.5).
    fn avoid(&mut self, of: Connection, params: &CubicParams, window: Window<'_>, progress: Progress) {
        //= RFC 9438 5.8-1: A window that is not in use does not grow.
        //= RFC 9438 4.6-4: If cwnd stands for the flight, it does not grow beyond what is in flight.
        if u64::from(*window.cwnd) > of.socket_buffer {
            return; // deviation 4
        }
        let cwnd = (*window.cwnd / of.mss).max(1);
        let per_segment = if of.clock_tick > Time::ZERO {
            self.ticked.update(of, params, cwnd, progress)
        } else {
            self.update(params, f64::from(cwnd), progress) as u32
        };
        window.count(per_segment, progress.segments, of.mss);
    }

    /// Window after congestion (sections 4.6 and 4.7).
    fn reduce(&mut self, of: Connection, params: &CubicParams, flight: Flight) -> u64 {
        if of.clock_tick > Time::ZERO {
            let window = (flight.used() / u64::from(of.mss)) as u32;
            self.end_epoch();
            return u64::from(self.ticked.reduce(params, window)) * u64::from(of.mss);
        }
        let used = flight.used() as f64;
        let window = (used / f64::from(of.mss)).floor();
        //= RFC 9438 4.7-1: A flow whose window is below its W_max lowers W_max more.
        let shrinks = params.fast_convergence && window < self.w_max;
        self.w_max = if shrinks { (window * (1.0 + params.cubic_beta) / 2.0).floor() } else { window };
        self.end_epoch();
        //= RFC 9438 4.6-3: ssthresh is beta_cubic of the flight, two segments at least.
        (used * params.cubic_beta).round() as u64
    }

    #[inline]
    fn on_sample(&mut self, of: Connection, params: &CubicParams, _: &mut Output, sample: &Sample) {
        if params.cubic_clock == CubicClock::InUse {
            let before = std::mem::replace(&mut self.clock_read, sample.now);
            if !sample.cwnd_limited {
                self.skip(of, before, sample.now);
            }
        }
    }

    fn on_event(&mut self, of: Connection, params: &CubicParams, _: &mut Output, event: Event, at: &Moment) {
        let Event::IdleRestart { idle } = event else { return };
        match params.cubic_clock {
            CubicClock::InUse => {
                let before = std::mem::replace(&mut self.clock_read, at.now);
                self.skip(of, before, at.now);
            }
            // cubictcp_cwnd_event, CA_EVENT_TX_START.
            CubicClock::Sending => self.skip(of, at.now.saturating_sub(idle), at.now),
            CubicClock::Always => {}
        }
    }

    /// Handles a timeout: the next epoch starts with K = 0, like the first epoch of a connection (section 4.8).
    fn timed_out(&mut self) {
        self.w_max = 0.0;
        self.ticked = Ticked::default();
        self.end_epoch();
    }
}

impl Cubic {
    /// Returns the number of segments that must be acknowledged for one segment of growth.
    fn update(&mut self, params: &CubicParams, cwnd: f64, progress: Progress) -> f64 {
        if self.epoch == Time::NEVER {
            self.begin_epoch(params, cwnd, progress.now);
        }
        //= RFC 9438 4.3-1: W_est starts at cwnd_epoch and grows by alpha per window acknowledged.
        self.w_est += alpha(params) * f64::from(progress.segments) / cwnd; // eq. (4)

        //= RFC 9438 4.2-1: W_cubic(t) = C (t - K)^3 + W_max.
        //= RFC 9438 4.2-3: The target is W_cubic an RTT ahead, from cwnd to 1.5 cwnd.
        let ahead = (progress.now - self.epoch + progress.srtt).as_secs_f64() - self.k;
        // Eq. (1); deviation 1: the distance from W_max, above or below it, is rounded down to whole segments.
        let target = self.plateau + (params.cubic_c * ahead * ahead * ahead).trunc();
        let mut per_segment = segments_for_one(cwnd, target);
        if self.w_max == 0.0 {
            per_segment = per_segment.min(FIRST_GROWTH); // deviation 5
        }
        if params.tcp_friendliness {
            //= RFC 9438 4.3-2, deviation: Where W_cubic is below W_est, cwnd is W_est.
            per_segment = per_segment.min(segments_for_one(cwnd, self.w_est.floor()));
        }
        //= RFC 9438 4.4-1, deviation: Below W_max an ACK adds (target - cwnd) / cwnd.
        //= RFC 9438 4.5-1, deviation: Above W_max an ACK adds (target - cwnd) / cwnd.
        per_segment.max(LEAST_PER_SEGMENT)
    }

    fn begin_epoch(&mut self, params: &CubicParams, window: f64, now: Time) {
        self.epoch = now;
        //= RFC 9438 4.8-3: After a timeout W_est is the window as congestion avoidance begins.
        self.w_est = window;
        // Sections 4.8 and 4.10: K = 0 and W_max = cwnd_epoch unless W_max is above the window.
        //= RFC 9438 4.8-2: After a timeout K is 0, and W_max the window as congestion avoidance begins.
        self.plateau = self.w_max.max(window);
        //= RFC 9438 4.2-2: K = cbrt((W_max - cwnd_epoch) / C).
        self.k = libm::cbrt((self.plateau - window) / params.cubic_c); // eq. (2)
    }

    /// Excludes the time from `start` to `now` from the epoch.
    fn skip(&mut self, of: Connection, start: Time, now: Time) {
        if self.epoch < Time::NEVER {
            self.epoch = now.min(self.epoch.saturating_add(now.saturating_sub(start)));
        }
        self.ticked.skip(of, start, now);
    }

    fn end_epoch(&mut self) {
        self.epoch = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tcp::congestion::control::Cause;
    use crate::traffic::tcp::congestion::dispatch::Congestion;
    use crate::traffic::tcp::congestion::testing::{Flow, OF, never_leaves_its_bounds};
    use crate::traffic::tcp::congestion::{CongestionParams, State};
    use crate::traffic::tcp::{TcpParams, TcpProfile};

    const MSS: u32 = 1000;
    const RTT: Time = Time::from_millis(100);

    fn params() -> TcpParams {
        let base = TcpParams::profile(TcpProfile::Linux);
        let socket_buffer = fairlane_schemes::base::units::Bytes(4_000_000_000);
        TcpParams { segment_payload: MSS, socket_buffer, whole_windows: false, clock_tick: Time::ZERO, ..base }
    }

    /// Like [`params`], but with these parameters of CUBIC.
    fn with(cubic: CubicParams) -> TcpParams {
        TcpParams { congestion: CongestionParams { cubic, ..Default::default() }, ..params() }
    }

    fn state(congestion: &Congestion) -> &Cubic {
        let Some(State::Cubic(cubic)) = congestion.0.as_deref() else { panic!("it is CUBIC") };
        cubic
    }

    fn flight(segments: u32) -> Flight {
        let bytes = segments * MSS;
        Flight { cwnd: bytes, outstanding: u64::from(bytes), pipe: u64::from(bytes), cause: Cause::Loss }
    }

    /// CUBIC, and the number of segments acknowledged since the window last grew.
    struct Counting(Congestion, u32);

    /// Returns CUBIC after congestion at `w_max` segments, and its window in bytes.
    fn reduced(params: &TcpParams, w_max: u32) -> (Counting, u32) {
        let mut congestion = Congestion::new(params, 0);
        let cwnd = congestion.reduce(params, flight(w_max));
        (Counting(congestion, 0), cwnd)
    }

    fn acknowledge(congestion: &mut Counting, params: &TcpParams, cwnd: &mut u32, segments: u32, now: Time) {
        let progress = Progress { segments, now, srtt: RTT, min_rtt: RTT };
        congestion.0.grow(params, Window { cwnd, counted: &mut congestion.1 }, 0, progress);
    }

    /// Acknowledges all segments of `seconds` seconds from `start` on, evenly over each RTT.
    fn run(congestion: &mut Counting, params: &TcpParams, cwnd: &mut u32, start: Time, seconds: f64) {
        let end = start + Time::from_secs_f64(seconds);
        let mut now = start;
        while now <= end {
            acknowledge(congestion, params, cwnd, 1, now);
            now += Time(RTT.0 * u64::from(MSS) / u64::from(*cwnd));
        }
    }

    fn window(cwnd: u32) -> f64 {
        f64::from(cwnd) / f64::from(MSS)
    }

    #[test]
    fn congestion_leaves_seven_tenths_of_the_window() {
        let (mut congestion, cwnd) = reduced(&params(), 100);
        assert_eq!(cwnd, 70_000);
        // The window is never below two segments.
        assert_eq!(congestion.0.reduce(&params(), flight(2)), 2 * MSS);
    }

    #[test]
    fn the_window_follows_the_cubic_function_of_time() {
        let params = params();
        let (mut congestion, mut cwnd) = reduced(&params, 1000);
        // Eq. (2): K = (300 / 0.4)^(1/3) = 9.086 s. Reno would need 300 segments / 0.53 per RTT = 57 s, so there is no
        // Reno-friendly region.
        let k = (300.0f64 / 0.4).cbrt();
        let epoch = Time::from_secs(5);
        // Windows at the end of each interval, 0.4 * (t - 9.086)^3 + 1000, computed by hand.
        for (from, to, w) in [(0, 3, 909.8), (3, 6, 988.2), (6, 9, 1000.0), (9, 12, 1009.9), (12, 15, 1082.8)] {
            run(&mut congestion, &params, &mut cwnd, epoch + Time::from_secs(from), 3.0);
            let t = f64::from(to);
            let closed_form = 0.4 * (t - k).powi(3) + 1000.0;
            assert!((closed_form - w).abs() < 0.1, "{closed_form} at {t} s is not the value by hand, {w}");
            // The target is W_cubic one RTT ahead, and the window reaches its target within an RTT. So the error is at
            // most the growth in an RTT.
            let slope = 3.0 * 0.4 * (t - k).powi(2) * RTT.as_secs_f64();
            assert!((window(cwnd) - closed_form).abs() < slope + 1.0, "{} is not {closed_form} at {t} s", window(cwnd));
        }
    }

    #[test]
    fn delayed_acks_do_not_slow_the_cubic_function_down() {
        let params = params();
        let (mut congestion, mut cwnd) = reduced(&params, 1000);
        let mut now = Time::ZERO;
        while now < Time::from_secs(6) {
            acknowledge(&mut congestion, &params, &mut cwnd, 2, now);
            now += Time(2 * RTT.0 * u64::from(MSS) / u64::from(cwnd));
        }
        // By eq. (1) the window is 988.2 segments at 6 s, and grows by 1.1 segments per RTT.
        assert!((window(cwnd) - 988.2).abs() < 2.2, "{}", window(cwnd));
    }

    #[test]
    fn a_short_round_trip_puts_the_window_into_the_reno_friendly_region() {
        let params = params();
        let (mut congestion, mut cwnd) = reduced(&params, 20);
        // K = (6 / 0.4)^(1/3) = 2.466 s. W_est starts at 14 segments and grows by 3 * 0.3 / 1.7 = 0.529 segments per
        // RTT of 100 ms. After 1 s it is 19.3, and W_cubic is 20 - 0.4 * 1.466^3 = 18.74. The window follows W_est in
        // whole segments, one round trip later.
        run(&mut congestion, &params, &mut cwnd, Time::ZERO, 1.0);
        assert!((18.0..=19.3).contains(&window(cwnd)), "{}", window(cwnd));
        // After 1.633 s, W_est is 14 + 16.33 * 0.529 = 22.6 and W_cubic is 20 - 0.4 * 0.836^3 = 19.8. In section 4.3,
        // alpha becomes 1 once W_est is 20, the window before the loss, and W_est would be 25 (deviation 2).
        run(&mut congestion, &params, &mut cwnd, Time::from_secs(1), 0.633);
        assert!((21.0..=22.6).contains(&window(cwnd)), "{}", window(cwnd));
    }

    #[test]
    fn without_friendliness_a_short_round_trip_follows_the_cubic_curve_alone() {
        let params = with(CubicParams { tcp_friendliness: false, ..Default::default() });
        let (mut congestion, mut cwnd) = reduced(&params, 20);
        // After 1.633 s, W_cubic is 20 - 0.4 * 0.836^3 = 19.8. The distance from W_max = 20 is rounded down to 0. With
        // the Reno-friendly region, W_est would be 22.6.
        run(&mut congestion, &params, &mut cwnd, Time::ZERO, 1.633);
        assert_eq!(window(cwnd), 20.0);
    }

    #[test]
    fn the_target_is_a_whole_number_of_segments_below_w_max_as_in_linux_and_ns3() {
        let params = with(CubicParams { tcp_friendliness: false, ..Default::default() });
        let (mut congestion, mut cwnd) = reduced(&params, 1000);
        // K = 9.086 s. At the start, 0.1 s ahead, the distance from W_max is 0.4 * (0.1 - 9.086)^3 = -290.2, rounded to
        // -290. The target is 710, so 700 / 10 = 70 acknowledged segments add one segment. With -291 it would be 700 /
        // 9 = 77.
        (0..69).for_each(|_| acknowledge(&mut congestion, &params, &mut cwnd, 1, Time::ZERO));
        assert_eq!(cwnd, 700 * MSS);
        acknowledge(&mut congestion, &params, &mut cwnd, 1, Time::ZERO);
        assert_eq!(cwnd, 701 * MSS);
    }

    #[test]
    fn fast_convergence_lowers_w_max_below_the_window_lost() {
        for (fast_convergence, plateau) in [(true, 80.0 * 0.85), (false, 80.0)] {
            let params = with(CubicParams { fast_convergence, ..Default::default() });
            let (mut congestion, _) = reduced(&params, 100);
            congestion.0.reduce(&params, flight(80));
            assert!((state(&congestion.0).w_max - plateau).abs() < 1e-9, "{}", state(&congestion.0).w_max);
        }
    }

    #[test]
    fn after_a_timeout_the_epoch_starts_at_its_own_plateau() {
        let params = params();
        let (mut congestion, _) = reduced(&params, 100);
        congestion.0.timed_out();
        let mut cwnd = 50 * MSS;
        acknowledge(&mut congestion, &params, &mut cwnd, 1, Time::ZERO);
        assert_eq!((state(&congestion.0).k, state(&congestion.0).plateau), (0.0, 50.0));
    }

    #[test]
    fn the_window_grows_by_a_segment_for_two_at_most() {
        let params = params();
        let (mut congestion, mut cwnd) = reduced(&params, 10);
        let mut grow = |cwnd: &mut u32, now| {
            acknowledge(&mut congestion, &params, cwnd, 1, now);
        };
        grow(&mut cwnd, Time::ZERO);
        // After an hour eq. (1) gives billions of segments, so the target is its maximum, 1.5 cwnd. The first ACK only
        // completes a segment of the earlier, slower growth.
        grow(&mut cwnd, Time::from_secs(3600));
        let before = cwnd;
        (0..10).for_each(|_| grow(&mut cwnd, Time::from_secs(3600)));
        assert_eq!(cwnd - before, 5 * MSS);
    }

    #[test]
    fn before_the_first_congestion_the_window_grows_by_a_twentieth_a_round_trip() {
        let params = params();
        let mut congestion = Counting(Congestion::new(&params, 0), 0);
        let mut cwnd = 100 * MSS;
        let mut grow = |cwnd: &mut u32, segments| {
            acknowledge(&mut congestion, &params, cwnd, segments, Time::ZERO);
        };
        // At the start of the epoch W_cubic is 100 + 0.4 * 0.1^3, so eq. (1) requires no growth. The minimum growth
        // adds 100 / 20 = 5 segments per round trip.
        (0..50).for_each(|_| grow(&mut cwnd, 2));
        assert_eq!(cwnd, 105 * MSS);
        congestion.0.reduce(&params, flight(105));
        (congestion.1, cwnd) = (0, 105 * MSS);
        let mut grow = |cwnd: &mut u32, segments| {
            acknowledge(&mut congestion, &params, cwnd, segments, Time::ZERO);
        };
        (0..50).for_each(|_| grow(&mut cwnd, 2));
        // W_est is 0.53 segments above the window, less than a whole segment.
        assert_eq!(cwnd, 105 * MSS);
    }

    /// Returns the target window in segments, 20 s after the start of an epoch that follows congestion at 100 segments.
    /// In the last 10 s no segment is sent (`is_idle`), or no ACK finds the window full.
    fn target_after_a_pause(cubic_clock: CubicClock, of: Connection, is_idle: bool) -> f64 {
        let mut flow = Flow::<Cubic>::new(CubicParams { cubic_clock, ..Default::default() });
        flow.of = of;
        flow.output.cwnd = 100 * MSS;
        let mut window = u32::try_from(flow.reduce(Cause::Loss)).unwrap();
        flow.now = Time::from_secs(10);
        flow.ack(|_| ());
        flow.avoid(&mut window, 1);
        for second in 11..=30 {
            flow.now = Time::from_secs(second);
            if second <= 20 || !is_idle {
                flow.ack(|sample| sample.cwnd_limited = second <= 20);
            }
        }
        if is_idle {
            flow.event(Event::IdleRestart { idle: Time::from_secs(10) });
        }
        let epoch = match flow.control.ticked.epoch() {
            Some(tick) => Time(tick * of.clock_tick.0),
            None => flow.control.epoch,
        };
        let t = (flow.now - epoch).as_secs_f64();
        let k = (30.0f64 / 0.4).cbrt();
        100.0 + 0.4 * (t - k).powi(3)
    }

    #[test]
    fn rfc_9438_4_2_time_without_use_of_the_window_does_not_count() {
        // K = (30 / 0.4)^(1/3) = 4.217 s. After 10 s W_cubic is 100 + 0.4 * 5.783^3 = 177.4, after 20 s 100 + 0.4 *
        // 15.783^3 = 1672.7.
        let of_ticks = Connection { whole_windows: true, clock_tick: Time::from_millis(4), ..OF };
        for of in [OF, of_ticks] {
            let target = |clock, is_idle| target_after_a_pause(clock, of, is_idle).round();
            let clocks = [CubicClock::InUse, CubicClock::Sending, CubicClock::Always];
            assert_eq!(clocks.map(|clock| target(clock, true)), [177.0, 177.0, 1673.0], "idle");
            assert_eq!(clocks.map(|clock| target(clock, false)), [177.0, 1673.0, 1673.0], "limited by the application");
        }
    }

    #[test]
    fn an_idle_period_moves_no_epoch_into_the_future() {
        // The epoch started with the ACK of the last segment, which is later than the transmission of this segment. So
        // less time must be skipped than has passed since the transmission.
        let mut flow = Flow::<Cubic>::new(CubicParams { cubic_clock: CubicClock::Sending, ..Default::default() });
        let mut window = 10 * MSS;
        flow.avoid(&mut window, 1);
        flow.now += Time::from_secs(1);
        flow.event(Event::IdleRestart { idle: Time::from_millis(1100) });
        assert_eq!(flow.control.epoch, flow.now);
    }

    #[test]
    fn a_window_beyond_the_socket_buffer_does_not_grow() {
        let params = TcpParams { socket_buffer: fairlane_schemes::base::units::Bytes(69_999), ..params() };
        let (mut congestion, mut cwnd) = reduced(&params, 100);
        acknowledge(&mut congestion, &params, &mut cwnd, 1, Time::ZERO);
        assert_eq!(cwnd, 70_000);
    }
    #[test]
    fn window_and_rate_stay_positive_and_bounded_whatever_happens() {
        let sound = |value: f64| value.is_finite() && value >= 0.0;
        never_leaves_its_bounds::<Cubic>(&CubicParams::default(), |flow, _| {
            sound(flow.control.w_max) && sound(flow.control.w_est)
        });
    }
}

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
//! t counts from the start of the epoch, which is the first growth in congestion avoidance after congestion; cwnd_epoch
//! is the window then.
//!
//! Cost: a cube root per epoch, two cubes and two divisions per ACK; 56 bytes.
//!
//! Deviations:
//! 1. The increment (target - cwnd) / cwnd counts for each segment acknowledged, not for each ACK (section 4.4), as in
//!    Linux and ns-3: otherwise the window would follow eq. (1) at half speed under delayed ACKs.
//! 2. In the Reno-friendly region the window never shrinks: W_est below cwnd leaves cwnd as it is.
//! 3. After congestion marks, too, the window is two segments at least (section 4.6 allows one).
//! 4. A window that the socket buffer limits does not grow. The epoch goes on meanwhile (section 5.8 would stop it).
//!
//! Not implemented: what section 4.9 restores after spurious congestion beyond window and threshold, as in Linux.

use super::control::{Connection, Control, Flight, Progress};
use fairlane_schemes::base::units::Time;
use fairlane_schemes::params;

params! {
    /// Parameters of CUBIC.
    pub struct CubicParams {
        /// Scaling of CUBIC's growth in segments per second cubed.
        cubic_c: f64 = 0.4, in 0.001..=100.0, symbol "C", source "RFC 9438 4.1";
        //= RFC 9438 4.6-2: beta_cubic is 0.7.
        /// Share of the window that CUBIC keeps after congestion.
        cubic_beta: f64 = 0.7, in 0.1..=0.99, symbol "beta_cubic", source "RFC 9438 4.6";
        //= RFC 9438 4.7-2: Fast convergence is off where a flow is alone.
        /// Whether a CUBIC flow that has lost ground gives way to newer ones.
        fast_convergence: bool = true, source "RFC 9438 4.7";
        /// Whether CUBIC grows at least as Reno would (its Reno-friendly region). ns-3 before 3.41 does not.
        tcp_friendliness: bool = true, source "RFC 9438 4.3";
    }
}

/// State of CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    /// When this congestion avoidance began; [`Time::NEVER`] between congestion and the next growth.
    epoch: Time,
    /// W_max; 0 before the first congestion and after a timeout.
    w_max: f64,
    /// K.
    k: f64,
    /// W_est.
    w_est: f64,
    /// cwnd_prior: the window that the last congestion found.
    prior: f64,
    /// What cwnd, in whole bytes, lacks to the window computed, in bytes.
    fraction: f64,
}

impl Control for Cubic {
    type Params = CubicParams;

    fn new(_: Connection, _: &CubicParams, _: u64) -> Self {
        Self { epoch: Time::NEVER, w_max: 0.0, k: 0.0, w_est: 0.0, prior: 0.0, fraction: 0.0 }
    }

    /// Sections 4.2 to 4.5.
    fn avoid(&mut self, of: Connection, params: &CubicParams, cwnd: &mut u32, progress: Progress) {
        //= RFC 9438 5.8-1: A window that is not in use does not grow.
        //= RFC 9438 4.6-4: If cwnd stands for the flight, it does not grow beyond what is in flight.
        //= RFC 9438 4.2-4, deviation: Time without updates, for want of data, does not count.
        if u64::from(*cwnd) > of.socket_buffer {
            return; // Deviation 4.
        }
        let mss = f64::from(of.mss);
        let window = f64::from(*cwnd) / mss;
        if self.epoch == Time::NEVER {
            self.begin_epoch(params, window, progress.now);
        }
        let segments = f64::from(progress.segments);
        let t = (progress.now - self.epoch).as_secs_f64();
        //= RFC 9438 4.3-3: Once W_est reaches cwnd_prior, alpha is 1.
        let (beta, w_max) = (params.cubic_beta, self.w_max);
        let alpha = if self.w_est >= self.prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
        //= RFC 9438 4.3-1: W_est starts at cwnd_epoch and grows by alpha per window acknowledged.
        self.w_est += alpha * segments / window; // eq. (4)

        //= RFC 9438 4.2-1: W_cubic(t) = C (t - K)^3 + W_max.
        let w_cubic = |t: f64| params.cubic_c * (t - self.k) * (t - self.k) * (t - self.k) + w_max; // eq. (1)
        let next = if params.tcp_friendliness && w_cubic(t) < self.w_est {
            //= RFC 9438 4.3-2: Where W_cubic is below W_est, cwnd is W_est.
            self.w_est.max(window) // Section 4.3.
        } else {
            // Sections 4.4 and 4.5. The target is at most 1.5 cwnd (section 4.2): half a segment per segment.
            //= RFC 9438 4.2-3: The target is W_cubic an RTT ahead, from cwnd to 1.5 cwnd.
            let target = w_cubic(t + progress.srtt.as_secs_f64()).clamp(window, 1.5 * window);
            //= RFC 9438 4.4-1, deviation: Below W_max an ACK adds (target - cwnd) / cwnd.
            //= RFC 9438 4.5-1, deviation: Above W_max an ACK adds (target - cwnd) / cwnd.
            window + segments * (target - window) / window
        };
        let bytes = (next * mss + self.fraction).min(f64::from(u32::MAX));
        *cwnd = bytes as u32;
        self.fraction = bytes - f64::from(*cwnd);
    }

    /// Sections 4.6 and 4.7.
    fn reduce(&mut self, of: Connection, params: &CubicParams, flight: Flight) -> u64 {
        let used = flight.used() as f64;
        let window = used / f64::from(of.mss);
        //= RFC 9438 4.7-1: A flow whose window is below its W_max lowers W_max more.
        let shrinks = params.fast_convergence && window < self.w_max;
        self.w_max = if shrinks { window * (1.0 + params.cubic_beta) / 2.0 } else { window };
        //= RFC 9438 4.6-5: cwnd_prior is the window before the reduction.
        self.prior = window;
        self.end_epoch();
        //= RFC 9438 4.6-3: ssthresh is beta_cubic of the flight, two segments at least.
        (used * params.cubic_beta).round() as u64
    }

    /// Section 4.8: after a timeout the next epoch begins at its own W_max, as the first one of a connection.
    fn timed_out(&mut self) {
        self.w_max = 0.0;
        self.end_epoch();
    }
}

impl Cubic {
    fn begin_epoch(&mut self, params: &CubicParams, window: f64, now: Time) {
        self.epoch = now;
        //= RFC 9438 4.8-3: After a timeout W_est is the window as congestion avoidance begins.
        self.w_est = window;
        // Sections 4.8 and 4.10: K = 0 and W_max = cwnd_epoch if there is no W_max above the window.
        //= RFC 9438 4.8-2: After a timeout K is 0, and W_max the window as congestion avoidance begins.
        self.w_max = self.w_max.max(window);
        //= RFC 9438 4.2-2: K = cbrt((W_max - cwnd_epoch) / C).
        self.k = libm::cbrt((self.w_max - window) / params.cubic_c); // eq. (2)
    }

    fn end_epoch(&mut self) {
        (self.epoch, self.fraction) = (Time::NEVER, 0.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tcp::congestion::control::Cause;
    use crate::traffic::tcp::congestion::dispatch::Congestion;
    use crate::traffic::tcp::congestion::{CongestionParams, State};
    use crate::traffic::tcp::{TcpParams, TcpProfile};

    const MSS: u32 = 1000;
    const RTT: Time = Time::from_millis(100);

    fn params() -> TcpParams {
        let base = TcpParams::profile(TcpProfile::Linux);
        TcpParams { segment_payload: MSS, socket_buffer: fairlane_schemes::base::units::Bytes(4_000_000_000), ..base }
    }

    /// The same with other parameters of CUBIC.
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

    /// CUBIC after congestion at `w_max` segments, and its window in bytes.
    fn reduced(params: &TcpParams, w_max: u32) -> (Congestion, u32) {
        let mut congestion = Congestion::new(params, 0);
        let cwnd = congestion.reduce(params, flight(w_max));
        (congestion, cwnd)
    }

    /// Acknowledges every segment of `seconds` seconds, one by one over each RTT, from `start` on.
    fn run(congestion: &mut Congestion, params: &TcpParams, cwnd: &mut u32, start: Time, seconds: f64) {
        let end = start + Time::from_secs_f64(seconds);
        let mut now = start;
        while now <= end {
            congestion.grow(params, cwnd, 0, Progress { segments: 1, now, srtt: RTT });
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
        // Never below two segments.
        assert_eq!(congestion.reduce(&params(), flight(2)), 2 * MSS);
    }

    #[test]
    fn the_window_follows_the_cubic_function_of_time() {
        let params = params();
        let (mut congestion, mut cwnd) = reduced(&params, 1000);
        // Eq. (2): K = (300 / 0.4)^(1/3) = 9.086 s. Reno would need 300 segments / 0.53 per RTT = 57 s: no friendly region.
        let k = (300.0f64 / 0.4).cbrt();
        let epoch = Time::from_secs(5);
        // 0.4 (t - 9.086)^3 + 1000 by hand.
        for (from, to, w) in [(0, 3, 909.8), (3, 6, 988.2), (6, 9, 1000.0), (9, 12, 1009.9), (12, 15, 1082.8)] {
            run(&mut congestion, &params, &mut cwnd, epoch + Time::from_secs(from), 3.0);
            let t = f64::from(to);
            let closed_form = 0.4 * (t - k).powi(3) + 1000.0;
            assert!((closed_form - w).abs() < 0.1, "{closed_form} at {t} s is not the value by hand, {w}");
            // The window aims one RTT ahead and is one RTT late in getting there: within the growth of an RTT.
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
            congestion.grow(&params, &mut cwnd, 0, Progress { segments: 2, now, srtt: RTT });
            now += Time(2 * RTT.0 * u64::from(MSS) / u64::from(cwnd));
        }
        // As above at 6 s: 988.2, slope 1.1 per RTT.
        assert!((window(cwnd) - 988.2).abs() < 2.2, "{}", window(cwnd));
    }

    #[test]
    fn a_short_round_trip_puts_the_window_into_the_reno_friendly_region() {
        let params = params();
        let (mut congestion, mut cwnd) = reduced(&params, 20);
        // K = (6 / 0.4)^(1/3) = 2.466 s. W_est grows by 3 * 0.3 / 1.7 = 0.529 segments per RTT of 100 ms from 14:
        // 19.3 after 1 s, W_cubic = 20 - 0.4 * 1.466^3 = 18.74.
        run(&mut congestion, &params, &mut cwnd, Time::ZERO, 1.0);
        assert!((window(cwnd) - 19.29).abs() < 0.15, "{}", window(cwnd));
        // It reaches cwnd_prior = 20 after 6 / 0.529 = 11.3 RTT; then it grows by one segment per RTT: at 1.63 s 25, while
        // W_cubic is 20 - 0.4 * 0.836^3 = 19.8.
        run(&mut congestion, &params, &mut cwnd, Time::from_secs(1), 0.633);
        assert!((window(cwnd) - 25.0).abs() < 0.3, "{}", window(cwnd));
    }

    #[test]
    fn without_friendliness_a_short_round_trip_follows_the_cubic_curve_alone() {
        let params = with(CubicParams { tcp_friendliness: false, ..Default::default() });
        let (mut congestion, mut cwnd) = reduced(&params, 20);
        // As above: 20 - 0.4 * 1.466^3 = 18.74 after 1 s, where W_est is 19.3.
        run(&mut congestion, &params, &mut cwnd, Time::ZERO, 1.0);
        assert!((window(cwnd) - 18.74).abs() < 0.15, "{}", window(cwnd));
    }

    #[test]
    fn fast_convergence_lowers_w_max_below_the_window_lost() {
        for (fast_convergence, plateau) in [(true, 80.0 * 0.85), (false, 80.0)] {
            let params = with(CubicParams { fast_convergence, ..Default::default() });
            let (mut congestion, _) = reduced(&params, 100);
            congestion.reduce(&params, flight(80));
            assert!((state(&congestion).w_max - plateau).abs() < 1e-9, "{}", state(&congestion).w_max);
        }
    }

    #[test]
    fn after_a_timeout_the_epoch_starts_at_its_own_plateau() {
        let params = params();
        let (mut congestion, _) = reduced(&params, 100);
        congestion.timed_out();
        let mut cwnd = 50 * MSS;
        congestion.grow(&params, &mut cwnd, 0, Progress { segments: 1, now: Time::ZERO, srtt: RTT });
        assert_eq!((state(&congestion).k, state(&congestion).w_max), (0.0, 50.0));
    }

    #[test]
    fn the_window_grows_by_half_a_segment_per_segment_at_most() {
        let params = params();
        let (mut congestion, mut cwnd) = reduced(&params, 10);
        congestion.grow(&params, &mut cwnd, 0, Progress { segments: 1, now: Time::ZERO, srtt: RTT });
        // After an hour eq. (1) asks for billions of segments: target = 1.5 cwnd.
        let before = cwnd;
        congestion.grow(&params, &mut cwnd, 0, Progress { segments: 1, now: Time::from_secs(3600), srtt: RTT });
        assert!((500..=501).contains(&(cwnd - before)), "{}", cwnd - before);
    }

    #[test]
    fn a_window_beyond_the_socket_buffer_does_not_grow() {
        let params = TcpParams { socket_buffer: fairlane_schemes::base::units::Bytes(69_999), ..params() };
        let (mut congestion, mut cwnd) = reduced(&params, 100);
        congestion.grow(&params, &mut cwnd, 0, Progress { segments: 1, now: Time::ZERO, srtt: RTT });
        assert_eq!(cwnd, 70_000);
    }
}

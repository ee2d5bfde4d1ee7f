//! CUBIC in whole segments and ticks of the clock, as Linux computes it (`net/ipv4/tcp_cubic.c` bictcp_update).
//!
//! The window grows by one segment per N acknowledged segments. N is computed at most once per tick, and at most once
//! per 1/32 s while the window does not change.

use super::super::control::{Connection, Progress};
use super::rules::{CubicParams, FIRST_GROWTH, LEAST_PER_SEGMENT, NO_GROWTH, alpha};
use fairlane_schemes::base::units::Time;

/// Time for which the computed growth is used while the window does not change.
const LASTING: Time = Time(Time::PER_SECOND / 32);
/// Denominator of beta and C in Linux, and units of CUBIC's time per second (BICTCP_BETA_SCALE, 2^BICTCP_HZ).
const UNIT: u32 = 1024;

/// State of CUBIC. Windows and counts are in segments, times in ticks.
#[derive(Clone, Debug, Default)]
pub(super) struct Ticked {
    /// Start of this epoch; `None` between congestion and the next growth (epoch_start).
    epoch: Option<u64>,
    /// Window before the last congestion; 0 before the first and after a timeout (last_max_cwnd).
    w_max: u32,
    /// W_max of this epoch, in segments (bic_origin_point). The next field is K in units of 1/1024 s (bic_K).
    plateau: u32,
    k: u64,
    /// Acknowledged segments not yet counted in `w_est` (ack_cnt).
    acked: u32,
    /// Window that Reno would have (tcp_cwnd).
    w_est: u32,
    /// Window at the last computation (last_cwnd). The next field is the time of this computation (last_time).
    last_window: u32,
    last_time: u64,
    /// Segments to acknowledge for one segment of growth (cnt).
    per_segment: u32,
}

impl Ticked {
    /// Implements bictcp_update. Returns the number of segments to acknowledge for one segment of growth.
    pub(super) fn update(&mut self, of: Connection, params: &CubicParams, window: u32, progress: Progress) -> u32 {
        let ticks = |time: Time| time.0 / of.clock_tick.0;
        let now = ticks(progress.now);
        self.acked += progress.segments;
        if self.last_window == window && now - self.last_time <= ticks(LASTING) {
            return self.per_segment;
        }
        if self.epoch.is_none() || now != self.last_time {
            (self.last_window, self.last_time) = (window, now);
            let epoch = self.epoch.unwrap_or_else(|| self.begin_epoch(params, window, now, progress.segments));
            let ahead = now - epoch + progress.min_rtt.0.div_ceil(of.clock_tick.0);
            let target = self.target(params, ahead * of.clock_tick.0 / (Time::PER_SECOND / u64::from(UNIT)));
            self.per_segment =
                if target > window { window / (target - window) } else { window.saturating_mul(NO_GROWTH as u32) };
            if self.w_max == 0 {
                // Before the first congestion, the window grows by at least a twentieth per round trip.
                self.per_segment = self.per_segment.min(FIRST_GROWTH as u32);
            }
        }
        if params.tcp_friendliness {
            self.follow_reno(params, window);
        }
        self.per_segment = self.per_segment.max(LEAST_PER_SEGMENT as u32);
        self.per_segment
    }

    /// Excludes the time from `start` to `now` from the epoch (cubictcp_cwnd_event).
    pub(super) fn skip(&mut self, of: Connection, start: Time, now: Time) {
        let (Some(epoch), true) = (&mut self.epoch, of.clock_tick > Time::ZERO) else { return };
        let [start, now] = [start, now].map(|time| time.0 / of.clock_tick.0);
        *epoch = now.min(*epoch + now.saturating_sub(start));
    }

    #[cfg(test)]
    pub(super) fn epoch(&self) -> Option<u64> {
        self.epoch
    }

    fn begin_epoch(&mut self, params: &CubicParams, window: u32, now: u64, segments: u32) -> u64 {
        self.epoch = Some(now);
        self.acked = segments;
        self.w_est = window;
        self.plateau = self.w_max.max(window);
        let distance = f64::from(self.plateau - window) * f64::from(UNIT) / f64::from(scale(params));
        self.k = (libm::cbrt(distance) * f64::from(UNIT)) as u64; // eq. (2)
        now
    }

    /// Target at time `t`, in units of 1/1024 s: eq. (1). The distance from the plateau is rounded down.
    fn target(&self, params: &CubicParams, t: u64) -> u32 {
        let offset = u128::from(t.abs_diff(self.k));
        let distance = (u128::from(scale(params)) * offset * offset * offset) >> (4 * UNIT.ilog2());
        let distance = u32::try_from(distance).unwrap_or(u32::MAX);
        if t < self.k { self.plateau.saturating_sub(distance) } else { self.plateau.saturating_add(distance) }
    }

    /// Follows Reno if that is faster (section 4.3).
    fn follow_reno(&mut self, params: &CubicParams, window: u32) {
        // Linux computes in eighths of a segment (beta_scale).
        let eighths = (8.0 / alpha(params)).floor() as u32;
        let due = (window * eighths) >> 3;
        while self.acked > due {
            self.acked -= due;
            self.w_est += 1;
        }
        if self.w_est > window {
            self.per_segment = self.per_segment.min(window / (self.w_est - window));
        }
    }

    /// Implements cubictcp_recalc_ssthresh: returns `window` after its reduction.
    pub(super) fn reduce(&mut self, params: &CubicParams, window: u32) -> u32 {
        self.epoch = None;
        let beta = (params.cubic_beta * f64::from(UNIT)).round() as u32;
        let shrinks = params.fast_convergence && window < self.w_max;
        self.w_max = if shrinks { window * (UNIT + beta) / (2 * UNIT) } else { window };
        window * beta / UNIT
    }
}

/// C in units of 1/1024 (cube_rtt_scale).
fn scale(params: &CubicParams) -> u32 {
    (params.cubic_c * f64::from(UNIT)).round().max(1.0) as u32
}

#[cfg(test)]
mod tests {
    use super::super::super::testing::{OF, RTT};
    use super::*;

    const MS: fn(u64) -> Time = Time::from_millis;

    fn of() -> Connection {
        Connection { whole_windows: true, clock_tick: MS(4), ..OF }
    }

    /// Creates CUBIC's state after congestion at `w_max` segments. The returned function passes an ACK of one segment;
    /// its arguments are the window in segments and the time in ms. It returns the number of segments to acknowledge
    /// for one segment of growth.
    fn reduced(w_max: u32) -> impl FnMut(u32, u64) -> u32 {
        let mut ticked = Ticked::default();
        ticked.reduce(&CubicParams::default(), w_max);
        move |window, ms| {
            let progress = Progress { segments: 1, now: MS(ms), srtt: RTT, min_rtt: RTT };
            ticked.update(of(), &CubicParams::default(), window, progress)
        }
    }

    #[test]
    fn windows_are_rounded_down() {
        let mut ticked = Ticked::default();
        // The window becomes 30 * 717 / 1024 = 21.006, rounded down. At the next congestion the window, 25, is below
        // W_max, 30, so W_max becomes 25 * 1741 / 2048 = 21.25, rounded down.
        assert_eq!((ticked.reduce(&CubicParams::default(), 30), ticked.w_max), (21, 30));
        assert_eq!((ticked.reduce(&CubicParams::default(), 25), ticked.w_max), (17, 21));
    }

    #[test]
    fn while_the_window_stays_nothing_is_computed_for_a_thirty_second_of_a_second() {
        let mut at = reduced(1000);
        // K = (300 / 0.4)^(1/3) = 9.09 s. At the start, the target 0.1 s ahead is 1000 + 0.4 * (0.1 - 9.09)^3 = 710
        // segments, so 700 / 10 = 70 acknowledged segments add one.
        assert_eq!(at(700, 0), 70);
        // Seven ticks of 4 ms are within 1/32 s; the eighth is not. Then the target is computed again, for 0.132 s:
        // 1000 - 287 = 713 segments.
        assert_eq!(at(700, 28), 70);
        assert_eq!(at(700, 32), 53);
        // The window has changed, so the target is computed again, for 0.14 s: 1000 - 286 = 714 segments. 701 / (714 -
        // 701) = 53.
        assert_eq!(at(701, 40), 53);
    }

    #[test]
    fn a_small_window_follows_reno_in_eighths() {
        let mut at = reduced(2);
        // K is 0. For the first tenth of a second, W_cubic is only a few thousandths of a segment above the window of
        // two segments, so the window does not grow.
        assert_eq!(at(2, 0), 200);
        // The window of Reno grows by one segment per 15/8 acknowledged windows of two segments. It has grown at the
        // fourth acknowledged segment, but N is computed again only after 1/32 s.
        assert_eq!([at(2, 4), at(2, 8), at(2, 12)], [200; 3]);
        assert_eq!(at(2, 32), 2);
    }
}

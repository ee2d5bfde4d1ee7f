//! Data that the application writes: all data at once or, during a period, data at a limited rate.

use fairlane_schemes::base::units::{BitRate, Time};

use crate::traffic::tcp::TcpParams;

/// Data of a sender, in segments.
#[derive(Clone, Debug)]
pub(super) struct Supply {
    /// Segments written so far.
    written: u32,
    /// Start of the rate-limited period for this sender, and number of segments sent before it; `None` outside the
    /// period.
    limited: Option<(Time, u32)>,
}

impl Supply {
    pub(super) fn new() -> Self {
        Self { written: u32::MAX, limited: None }
    }

    /// Segments written so far; [`u32::MAX`] without a limit.
    #[inline]
    pub(super) fn written(&self) -> u32 {
        self.written
    }

    /// Returns true if the application writes without a limit.
    #[inline]
    pub(super) fn is_unlimited(&self) -> bool {
        self.written == u32::MAX
    }

    /// Updates the number of segments written by `now`. At the start of the period it is `sent`, the number of sent
    /// segments.
    #[inline]
    pub(super) fn update(&mut self, params: &TcpParams, sent: u32, now: Time) {
        let Some(rate) = params.app_rate else { return };
        if now < params.app_limited_from || now >= end(params) {
            (self.written, self.limited) = (u32::MAX, None);
            return;
        }
        let (start, before) = *self.limited.get_or_insert((now, sent));
        let bits_ps = u128::from((now - start).0) * u128::from(rate.0);
        let segment = u128::from(params.segment_payload) * 8 * u128::from(Time::PER_SECOND);
        self.written = before.saturating_add(u32::try_from(bits_ps / segment).unwrap_or(u32::MAX));
    }

    /// Time at which more data will have been written.
    pub(super) fn next(&self, params: &TcpParams) -> Time {
        let (Some(rate), Some((start, before))) = (params.app_rate, self.limited) else { return Time::NEVER };
        let bytes = u64::from(self.written - before + 1) * u64::from(params.segment_payload);
        // Adds one picosecond, because the time is rounded.
        let next = if rate == BitRate(0) { Time::NEVER } else { start.saturating_add(rate.time_of(bytes)) };
        next.saturating_add(Time(1)).min(end(params))
    }
}

fn end(params: &TcpParams) -> Time {
    params.app_limited_until.unwrap_or(Time::NEVER)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::tcp::TcpProfile;

    /// The application writes a 1000-byte segment per millisecond (8 Mbit/s) from 10 ms until 20 ms.
    fn params() -> TcpParams {
        TcpParams {
            segment_payload: 1000,
            app_rate: Some(BitRate(8_000_000)),
            app_limited_from: Time::from_millis(10),
            app_limited_until: Some(Time::from_millis(20)),
            ..TcpParams::profile(TcpProfile::Linux)
        }
    }

    #[test]
    fn without_a_rate_all_is_written() {
        let mut supply = Supply::new();
        let params = TcpParams { app_rate: None, ..params() };
        supply.update(&params, 0, Time::from_millis(15));
        assert_eq!((supply.written(), supply.next(&params)), (u32::MAX, Time::NEVER));
    }

    #[test]
    fn within_the_span_segments_are_written_at_the_rate_and_outside_all_are() {
        let (params, mut supply) = (params(), Supply::new());
        let mut at = |ms| {
            supply.update(&params, 7, Time::from_millis(ms));
            (supply.written(), supply.next(&params))
        };
        assert_eq!(at(9).0, u32::MAX);
        assert_eq!(at(10), (7, Time(11_000_000_001)));
        assert_eq!(at(13), (10, Time(14_000_000_001)));
        assert_eq!(at(19), (16, Time::from_millis(20)), "the span ends");
        assert_eq!(at(20).0, u32::MAX);
    }

    #[test]
    fn at_the_time_that_is_told_there_is_another_segment() {
        // At 3 Mbit/s a segment takes 8/3 ms, which is not a whole number of picoseconds.
        let (params, mut supply) = (TcpParams { app_rate: Some(BitRate(3_000_000)), ..params() }, Supply::new());
        supply.update(&params, 0, Time::from_millis(10));
        for segments in 1..=3 {
            let next = supply.next(&params);
            supply.update(&params, 0, next);
            assert_eq!(supply.written(), segments);
        }
    }

    #[test]
    fn a_pause_lasts_until_the_end_of_the_span() {
        let (params, mut supply) = (TcpParams { app_rate: Some(BitRate(0)), ..params() }, Supply::new());
        supply.update(&params, 5, Time::from_millis(12));
        assert_eq!((supply.written(), supply.next(&params)), (5, Time::from_millis(20)));
    }
}

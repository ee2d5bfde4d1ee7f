//! Retransmission timeout: RFC 6298 with the arithmetic of ns-3.26 (`rtt-estimator.cc`).

use fairlane_schemes::base::units::Time;

use super::TcpParams;

/// Smoothed RTT, its variation, and the current timeout.
#[derive(Clone, Debug)]
pub(super) struct Rto {
    /// SRTT; zero only before the first sample.
    srtt: Time,
    rttvar: Time,
    /// Current timeout, including any backoff.
    current: Time,
}

impl Rto {
    pub(super) fn new(params: &TcpParams) -> Self {
        let mut rto = Self { srtt: Time::ZERO, rttvar: Time::ZERO, current: Time::ZERO };
        rto.refresh(params);
        rto
    }

    #[inline]
    pub(super) fn current(&self) -> Time {
        self.current
    }

    pub(super) fn srtt(&self) -> Time {
        self.srtt
    }

    /// Processes an RTT sample and returns its rounded value. Returns `None` for zero, which means no sample, as in
    /// ns-3.
    pub(super) fn sample(&mut self, params: &TcpParams, rtt: Time) -> Option<Time> {
        if rtt == Time::ZERO {
            return None;
        }
        let rtt = in_ticks(rtt, params.rtt_tick);
        if self.srtt == Time::ZERO {
            //= RFC 6298 2.2-1: The first sample R sets SRTT = R and RTTVAR = R/2.
            self.srtt = rtt;
            self.rttvar = Time(rtt.0 / 2);
        } else {
            //= RFC 6298 2.3-1: A later one moves RTTVAR towards |SRTT - R|, then SRTT towards R.
            //= RFC 6298 2.3-2: The gains are 1/8 for SRTT and 1/4 for RTTVAR.
            //= RFC 7323 4.2-1, deviation: However many samples a window gives, the estimator remembers as long.
            // RFC 6298 2.3: |SRTT - R| uses the SRTT before its update; alpha = 1/8, beta = 1/4, rounded down.
            let deviation = self.srtt.0.abs_diff(rtt.0);
            self.srtt = Time((7 * self.srtt.0 + rtt.0) / 8);
            self.rttvar = Time((3 * self.rttvar.0 + deviation) / 4);
        }
        self.refresh(params);
        Some(rtt)
    }

    /// Recomputes the timeout from the estimate, which ends the backoff.
    pub(super) fn refresh(&mut self, params: &TcpParams) {
        let estimate = if self.srtt == Time::ZERO {
            //= RFC 6298 2.1-1: Before the first sample the timeout is 1 s.
            //= RFC 6298 2.1-2: It may be longer.
            params.initial_rto
        } else {
            //= RFC 6298 2.3-3: The timeout is SRTT + max(G, 4 RTTVAR).
            //= RFC 6298 4-1: A variation of zero counts as G.
            self.srtt + params.rto_granularity.max(Time(4 * self.rttvar.0))
        };
        // RFC 6298 2.4. ns-3.26 has no upper bound here.
        //= RFC 6298 2.4-1, by min_rto: The timeout is 1 s at least.
        self.current = estimate.max(params.min_rto);
    }

    /// Doubles the timeout (RFC 6298, rule 5.5), up to the maximum `max_rto` (rule 2.5).
    pub(super) fn back_off(&mut self, params: &TcpParams) {
        //= RFC 6298 5.5-1: A timeout doubles RTO.
        //= RFC 6298 2.5-1: The timeout is bounded, by 60 s or more.
        self.current = Time(self.current.0.saturating_mul(2)).min(params.max_rto);
    }
}

/// Rounds `rtt` to whole ticks, at least one, as in ns-2 `tcp.cc` rtt_update.
#[inline]
fn in_ticks(rtt: Time, tick: Time) -> Time {
    if tick == Time::ZERO { rtt } else { Time(((rtt.0 + tick.0 / 2) / tick.0).max(1) * tick.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn params(min_rto: Time) -> TcpParams {
        TcpParams { min_rto, ..TcpParams::default() }
    }

    #[test]
    fn follows_rfc_6298_by_hand() {
        let params = params(Time::from_millis(200));
        let mut rto = Rto::new(&params);
        assert_eq!(rto.current(), Time::from_millis(1001));
        // In ms: R = 100, SRTT = 100, RTTVAR = 50, RTO = 100 + 4 * 50.
        rto.sample(&params, Time::from_millis(100));
        assert_eq!((rto.srtt, rto.rttvar), (Time::from_millis(100), Time::from_millis(50)));
        assert_eq!(rto.current(), Time::from_millis(300));
        // In ms: R = 140, RTTVAR = 3/4 * 50 + 1/4 * 40 = 47.5, SRTT = 7/8 * 100 + 1/8 * 140 = 105, RTO = 105 + 190.
        rto.sample(&params, Time::from_millis(140));
        assert_eq!((rto.srtt, rto.rttvar), (Time::from_millis(105), Time::from_micros(47_500)));
        assert_eq!(rto.current(), Time::from_millis(295));
        // In ms: R = 65, RTTVAR = 3/4 * 47.5 + 1/4 * 40 = 45.625, SRTT = 7/8 * 105 + 1/8 * 65 = 100, RTO = 100 + 182.5.
        rto.sample(&params, Time::from_millis(65));
        assert_eq!((rto.srtt, rto.rttvar), (Time::from_millis(100), Time::from_micros(45_625)));
        assert_eq!(rto.current(), Time::from_micros(282_500));
    }

    #[test]
    fn ticks_round_samples_and_leave_none_at_zero() {
        let params = TcpParams { rtt_tick: Time::from_millis(10), ..params(Time::from_millis(200)) };
        for (rtt_us, ticks) in [(1, 1), (4999, 1), (14_999, 1), (15_000, 2), (104_000, 10), (105_000, 11)] {
            let mut rto = Rto::new(&params);
            rto.sample(&params, Time::from_micros(rtt_us));
            assert_eq!(rto.srtt(), Time::from_millis(10 * ticks), "{rtt_us}");
        }
    }

    #[test]
    fn is_never_below_its_minimum() {
        let params = params(Time::from_secs(1));
        let mut rto = Rto::new(&params);
        rto.sample(&params, Time::from_millis(100));
        assert_eq!(rto.current(), Time::from_secs(1));
    }

    #[test]
    fn keeps_the_clock_granularity_above_a_steady_rtt() {
        let params = params(Time::from_millis(1));
        let mut rto = Rto::new(&params);
        // Each sample shrinks RTTVAR to 3/4 of its value. 50 ms * 0.75^100 is far below the granularity of 1 ms.
        for _ in 0..100 {
            rto.sample(&params, Time::from_millis(100));
        }
        assert_eq!(rto.current(), Time::from_millis(101));
    }

    #[test]
    fn doubles_up_to_its_maximum_and_forgets_on_refresh() {
        let params = params(Time::from_secs(1));
        let mut rto = Rto::new(&params);
        rto.sample(&params, Time::from_millis(100));
        let seconds = [2, 4, 8, 16, 32, 60, 60];
        for expected in seconds {
            rto.back_off(&params);
            assert_eq!(rto.current(), Time::from_secs(expected));
        }
        rto.refresh(&params);
        assert_eq!(rto.current(), Time::from_secs(1));
    }

    #[test]
    fn takes_a_zero_for_no_sample() {
        let params = params(Time::from_secs(1));
        let mut rto = Rto::new(&params);
        rto.sample(&params, Time::ZERO);
        assert_eq!(rto.srtt(), Time::ZERO);
        assert_eq!(rto.current(), Time::from_millis(1001));
    }
}

//! The exponential rate estimator of CSFQ, also used by other markers. Weights depend on time, not on the number of
//! packets.
//!
//! Source: the estimator of the ns-2 code of CSFQ, as in its independent reimplementations.
//!
//! A packet of L bits adds L to `acc`. If the time T since the last update is 0, the rate r does not change. Otherwise,
//! with the time constant K:
//!
//! ```text
//! r = (1 - e^(-T/K)) * acc/T + e^(-T/K) * r,  acc = 0
//! ```
//!
//! For equal packets at equal gaps the estimate is exact, for any K.
//!
//! Cost: one exponential and one division per distinct arrival time; 8 + 16 N bytes for N rates of one port.
//!
//! Choices: 1. Rates are initially 0; the reimplementations differ in the initial rate. 2. As in the reimplementations,
//! simultaneous packets are summed and take effect at the next packet. So the first packet gets a rate of 0.

use crate::base::units::Time;

/// The time constant K of an estimator.
#[derive(Clone, Copy, Debug)]
pub struct Averaging {
    per_second: f64,
}

impl Averaging {
    /// Creates an estimator with the time constant `constant`, which must be positive.
    #[must_use]
    pub fn new(constant: Time) -> Self {
        Self { per_second: 1.0 / constant.as_secs_f64() }
    }
}

/// N rates in bit/s that are measured at the same times.
#[derive(Clone, Debug)]
pub struct RateEstimates<const N: usize> {
    rates: [f64; N],
    /// Bits since the last update.
    pending: [f64; N],
    last: Time,
}

impl<const N: usize> RateEstimates<N> {
    /// Starts a measurement at `start`.
    #[must_use]
    pub fn new(start: Time) -> Self {
        Self { rates: [0.0; N], pending: [0.0; N], last: start }
    }

    /// Counts `bits` at `now`. Returns true if time has passed since the last update; otherwise the rates do not
    /// change.
    #[inline]
    pub fn update(&mut self, averaging: Averaging, bits: [f64; N], now: Time) -> bool {
        for (pending, bits) in self.pending.iter_mut().zip(bits) {
            *pending += bits;
        }
        let elapsed_s = now.saturating_sub(self.last).as_secs_f64();
        if elapsed_s == 0.0 {
            return false;
        }
        let weight = -libm::expm1(-elapsed_s * averaging.per_second);
        for (rate, pending) in self.rates.iter_mut().zip(&mut self.pending) {
            *rate += weight * (*pending / elapsed_s - *rate);
            *pending = 0.0;
        }
        self.last = now;
        true
    }

    /// The rates in bit/s after the last update.
    #[must_use]
    #[inline]
    pub fn rates(&self) -> [f64; N] {
        self.rates
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: Time = Time::from_millis(100);

    #[test]
    fn a_regular_train_shows_its_rate_and_a_step_is_followed_to_63_percent_within_one_constant() {
        let mut estimate = RateEstimates::<1>::new(Time::ZERO);
        let mut now = Time::ZERO;
        // 12 000 bit every 10 ms are 1.2 Mbit/s. The estimate grows from 0 by 1 - exp(-n*T/K); ten packets take one K.
        for _ in 0..10 {
            now += Time::from_millis(10);
            assert!(estimate.update(Averaging::new(K), [12_000.0], now));
        }
        assert!((estimate.rates()[0] - 1.2e6 * (1.0 - (-1f64).exp())).abs() < 1e-3);
        for _ in 0..400 {
            now += Time::from_millis(10);
            estimate.update(Averaging::new(K), [12_000.0], now);
        }
        assert!((estimate.rates()[0] - 1.2e6).abs() < 1e-3);
    }

    #[test]
    fn packets_of_one_instant_count_together_at_the_next() {
        let mut burst = RateEstimates::<2>::new(Time::ZERO);
        let averaging = Averaging::new(K);
        assert!(!burst.update(averaging, [12_000.0, 0.0], Time::ZERO));
        assert!(!burst.update(averaging, [12_000.0, 12_000.0], Time::ZERO));
        assert_eq!(burst.rates(), [0.0, 0.0]);
        assert!(burst.update(averaging, [12_000.0, 0.0], Time::from_millis(100)));
        // For the two rates, 36 000 and 12 000 bit have arrived in the time T = K since the first update. So acc/T has
        // the weight 1 - 1/e.
        let weight = 1.0 - (-1f64).exp();
        assert!((burst.rates()[0] - weight * 360e3).abs() < 1e-6 && (burst.rates()[1] - weight * 120e3).abs() < 1e-6);
    }

    #[test]
    fn what_ceased_decays_to_nothing_and_stays_finite() {
        let mut estimate = RateEstimates::<1>::new(Time::ZERO);
        let averaging = Averaging::new(K);
        estimate.update(averaging, [f64::from(u32::MAX) * 8.0], Time(1));
        assert!(estimate.rates()[0].is_finite());
        estimate.update(averaging, [0.0], Time::from_secs(200));
        assert_eq!(estimate.rates(), [0.0]);
    }

    #[test]
    fn an_estimate_of_a_flow_takes_24_bytes() {
        assert_eq!(size_of::<RateEstimates<1>>(), 24);
    }
}

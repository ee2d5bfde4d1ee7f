//! Moving averages with one memory: UTEMA of values, TDRM-UTEMA of rates.
//!
//! Source: Menth and Hauser, "On moving averages, histograms and time-dependent rates for online measurement", ICPE
//! 2017; abc2018 eq. (1)-(4) and (6)-(9). A value with age `d` has weight `exp(-d/M)`. Unlike a plain exponential
//! average, the average is unbiased from its first value on.
//!
//! | quantity | formula |
//! |---|---|
//! | decay | `g = exp(-(t - t_last)/M)` |
//! | UTEMA | `S = g*S + x`, `N = g*N + 1`, mean `S/N` |
//! | TDRM-UTEMA | `S = g*S + L`, `T = M*(1 - exp(-(t - t0)/M))`, rate `S/T` |
//!
//! M is the memory, S the weighted sum of values x or amounts L, N the weighted number of values, t_last the time of
//! the last update, and t0 the start of the measurement.
//!
//! Cost: one exponential and one division per update. State: 24 bytes per rate, without the memory M, and 48 bytes per
//! mean, including M.
//!
//! `T/M = D` is updated as `D + (1 - D)(1 - g)`, which is the same because `1 - exp(-(a + b)) = 1 - exp(-a)exp(-b)`: S
//! and T then share one exponential. The rounding error of D is at most `2^-53 / (1 - g)`, below 1e-9 for a packet
//! every microsecond and a memory of 3 s.
//!
//! Deviation: 1. At `t = t0` the papers' `T` is zero and the rate is undefined. We return `L/M`, the rate if the first
//! packet comes long after `t0`.

use crate::base::elementary::fade;
use crate::base::units::Time;

/// The memory M of averages.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Inverse of the memory, 1/M, in 1/ps.
    per_picosecond: f64,
}

impl Memory {
    /// Creates a memory of this length, which must be positive.
    #[must_use]
    pub fn new(length: Time) -> Self {
        Self { per_picosecond: 1.0 / length.0 as f64 }
    }

    /// Inverse of the memory, 1/M, in 1/s.
    #[must_use]
    #[inline]
    pub fn per_second(self) -> f64 {
        self.per_picosecond * Time::PER_SECOND as f64
    }

    /// Returns `1 - g`, the fraction of a sum that decays from `earlier` to `now`; 0 if `earlier` is later.
    #[inline]
    fn forgotten(self, earlier: Time, now: Time) -> f64 {
        // An `i64` is converted to `f64` in one instruction. Its limit of 2^63 ps, 106 days, does not matter.
        let elapsed = now.saturating_sub(earlier).0.min(i64::MAX as u64) as i64;
        fade(elapsed as f64 * self.per_picosecond)
    }
}

/// State of one TDRM-UTEMA rate measurement. Many of them share one memory M.
#[derive(Clone, Debug)]
pub struct RateState {
    /// S, the weighted sum.
    weighted_sum: f64,
    /// T/M = 1 - exp(-(t_last - t0)/M).
    measured: f64,
    last: Time,
}

impl RateState {
    /// Starts a measurement at `start` (t0).
    #[must_use]
    pub fn new(start: Time) -> Self {
        Self { weighted_sum: 0.0, measured: 0.0, last: start }
    }

    /// Continues a measurement from its [`RateState::parts`], for hosts that store state in registers.
    #[must_use]
    pub fn resume(weighted_sum: f64, measured: f64, last: Time) -> Self {
        Self { weighted_sum, measured, last }
    }

    /// The complete state: S in the unit of the amounts, T/M, and the time of the last update.
    #[must_use]
    pub fn parts(&self) -> (f64, f64, Time) {
        (self.weighted_sum, self.measured, self.last)
    }

    /// Counts `amount` at `now`. Returns the rate including this amount, times the memory: `R*M`.
    #[inline]
    pub fn update(&mut self, memory: Memory, amount: f64, now: Time) -> f64 {
        self.advance(memory, now);
        self.weighted_sum += amount;
        self.last = now; // eq. (4)
        self.per_memory() // eq. (3)
    }

    /// Applies the decay of eq. (1), and eq. (2) divided by M.
    #[inline]
    fn advance(&mut self, memory: Memory, now: Time) {
        let forgotten = memory.forgotten(self.last, now);
        self.weighted_sum -= forgotten * self.weighted_sum;
        self.measured += (1.0 - self.measured) * forgotten;
    }

    #[inline]
    fn per_memory(&self) -> f64 {
        // Deviation 1: T is 0 at t0.
        self.weighted_sum / if self.measured == 0.0 { 1.0 } else { self.measured }
    }
}

/// Time-dependent rate of amounts (bits, bytes): a [`RateState`] with its memory.
#[derive(Clone, Debug)]
pub struct RateMeter {
    memory: Memory,
    state: RateState,
}

impl RateMeter {
    /// Starts a measurement at `start` (t0) with the given memory (M), which must be positive.
    #[must_use]
    pub fn new(memory: Time, start: Time) -> Self {
        Self { memory: Memory::new(memory), state: RateState::new(start) }
    }

    /// Counts `amount` at `now`. Returns the rate per second, including this amount.
    #[inline]
    pub fn update(&mut self, amount: f64, now: Time) -> f64 {
        self.state.update(self.memory, amount, now) * self.memory.per_second()
    }

    /// Returns the rate at `now`, if no amount has arrived since the last update.
    #[must_use]
    pub fn rate(&self, now: Time) -> f64 {
        let mut state = self.state.clone();
        state.advance(self.memory, now);
        state.per_memory() * self.memory.per_second()
    }

    /// The weighted sum S, in the unit of the amounts.
    #[must_use]
    pub fn weighted_sum(&self) -> f64 {
        self.state.weighted_sum
    }
}

/// Mean of values in which recent values have more weight: UTEMA.
#[derive(Clone, Debug)]
pub struct WeightedMean {
    weighted_sum: f64,
    weighted_count: f64,
    mean: f64,
    last: Time,
    memory: Memory,
}

impl WeightedMean {
    /// Creates a mean without values; `memory` must be positive.
    #[must_use]
    pub fn new(memory: Time) -> Self {
        Self { weighted_sum: 0.0, weighted_count: 0.0, mean: 0.0, last: Time::ZERO, memory: Memory::new(memory) }
    }

    /// Continues a mean from its [`WeightedMean::parts`], for hosts that store state in registers.
    #[must_use]
    pub fn resume(memory: Time, weighted_sum: f64, weighted_count: f64, last: Time) -> Self {
        let mean = if weighted_count > 0.0 { weighted_sum / weighted_count } else { 0.0 };
        Self { weighted_sum, weighted_count, mean, last, memory: Memory::new(memory) }
    }

    /// The complete state: S, N and the time of the last update.
    #[must_use]
    pub fn parts(&self) -> (f64, f64, Time) {
        (self.weighted_sum, self.weighted_count, self.last)
    }

    /// Counts `value` at `now`.
    #[inline]
    pub fn update(&mut self, value: f64, now: Time) {
        self.update_weighing(value, 1.0, now);
    }

    /// Counts `value` at `now` with a `weight`, which must be positive.
    #[inline]
    pub fn update_weighing(&mut self, value: f64, weight: f64, now: Time) {
        let decay = 1.0 - self.memory.forgotten(self.last, now);
        self.weighted_sum = decay * self.weighted_sum + weight * value; // eq. (6)
        self.weighted_count = decay * self.weighted_count + weight; // eq. (7)
        self.mean = self.weighted_sum / self.weighted_count; // eq. (8)
        self.last = now; // eq. (9)
    }

    /// Returns the mean, or 0 before the first value. The mean does not change between updates, since sum and count
    /// decay equally.
    #[must_use]
    #[inline]
    pub fn mean(&self) -> f64 {
        self.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Bits of a full packet.
    const L: f64 = 12_000.0;

    fn close(measured: f64, expected: f64, tolerance: f64) {
        assert!((measured - expected).abs() <= tolerance, "{measured} is not {expected}");
    }

    #[test]
    fn equations_1_to_4_by_hand() {
        // M is 2 s and t0 = 0. Packets arrive at t = 1 s and 3 s.
        let mut meter = RateMeter::new(Time::from_secs(2), Time::ZERO);
        // After the first update, S = L and T = 2(1 - e^-0.5).
        close(meter.update(L, Time::from_secs(1)), L / (2.0 * (1.0 - (-0.5f64).exp())), 1e-9);
        // After the second update, S = L e^-1 + L and T = 2(1 - e^-1.5).
        let sum = L * (-1.0f64).exp() + L;
        close(meter.update(L, Time::from_secs(3)), sum / (2.0 * (1.0 - (-1.5f64).exp())), 1e-9);
        close(meter.weighted_sum(), sum, 1e-9);
    }

    #[test]
    fn first_packet_at_the_start_shows_the_long_run_value() {
        let mut meter = RateMeter::new(Time::from_secs(3), Time::ZERO);
        close(meter.update(L, Time::ZERO), 4_000.0, 1e-9);
        let mut late = RateMeter::new(Time::from_secs(3), Time::ZERO);
        close(late.update(L, Time::from_secs(1000)), 4_000.0, 1e-9);
        // A user sends its first packet at t = 3 s: 12000/(3(1-1/e)) = 6.33 kbit/s.
        let mut soon = RateMeter::new(Time::from_secs(3), Time::ZERO);
        close(soon.update(L, Time::from_secs(3)), 6_327.9, 0.1);
    }

    #[test]
    fn measured_time_carried_on_is_that_of_equation_2() {
        // 400 000 updates, 10 us apart, take 1.33 times the memory. With 1 - g = 3.3e-6, the error is at most
        // 2^-53/3.3e-6 = 3.4e-11.
        let memory = Memory::new(Time::from_secs(3));
        let mut state = RateState::new(Time::ZERO);
        for i in 1..=400_000u64 {
            state.update(memory, L, Time::from_micros(10 * i));
            let exact = -libm::expm1(-1e-5 * i as f64 / 3.0);
            close(state.measured, exact, 3.4e-11);
        }
    }

    #[test]
    fn constant_rate_settles_at_the_closed_form() {
        // Geometric series: S -> L/(1 - exp(-gap/M)), so R = L/(M(1 - exp(-L/(R M)))) = 10.002 Mbit/s.
        let (memory, gap) = (3.0, Time::from_micros(1200));
        let mut meter = RateMeter::new(Time::from_secs(3), Time::ZERO);
        let (mut now, mut rate) = (Time::ZERO, 0.0);
        for _ in 0..100_000 {
            now += gap;
            rate = meter.update(L, now);
        }
        close(rate, L / (memory * (1.0 - (-0.0012f64 / memory).exp())), 1.0);
        close(rate, 10.002e6, 0.5e3);
        // abc2018 IV-G1: a user at 5 Mbit/s has a weighted sum of R*M = 1.875 MB.
        let mut half = RateMeter::new(Time::from_secs(3), Time::ZERO);
        for i in 1..=50_000u64 {
            half.update(L, Time::from_micros(2400 * i));
        }
        close(half.weighted_sum() / 8e6, 1.875, 0.001);
    }

    #[test]
    fn a_step_of_the_rate_is_followed_to_63_percent_within_one_memory() {
        // Long after t0 the rate is R0 + (R1 - R0)(1 - exp(-t/M)). At t = M this is 1 - 1/e = 63.2 % of the step.
        let memory = Time::from_secs(3);
        let mut meter = RateMeter::new(memory, Time::ZERO);
        let (mut now, mut rate) = (Time::ZERO, 0.0);
        while now < Time::from_secs(300) {
            now += Time::from_micros(12_000);
            meter.update(L, now);
        }
        let stepped = now;
        while now < stepped + memory {
            now += Time::from_micros(1_200);
            rate = meter.update(L, now);
        }
        close((rate - 1e6) / 9e6, 1.0 - (-1.0f64).exp(), 0.002);
    }

    #[test]
    fn rate_decays_while_nothing_arrives() {
        let mut meter = RateMeter::new(Time::from_secs(1), Time::ZERO);
        let rate = meter.update(L, Time::from_secs(100));
        close(meter.rate(Time::from_secs(101)), rate * (-1.0f64).exp(), 1e-6);
    }

    #[test]
    fn equations_6_to_9_by_hand() {
        let mut mean = WeightedMean::new(Time::from_millis(500));
        assert_eq!(mean.mean(), 0.0);
        mean.update(4.0, Time::from_secs(1));
        close(mean.mean(), 4.0, 0.0);
        // With g = exp(-2), S is 4g + 10 and N is g + 1.
        let g = (-2.0f64).exp();
        mean.update(10.0, Time::from_secs(2));
        close(mean.mean(), (4.0 * g + 10.0) / (g + 1.0), 1e-12);
    }

    #[test]
    fn what_goes_on_from_its_parts_does_not_notice() {
        let memory = Time::from_millis(300);
        let (mut rate, mut mean) = (RateState::new(Time::ZERO), WeightedMean::new(memory));
        let (mut kept_rate, mut kept_mean) = (rate.clone(), mean.clone());
        for step in 1..1000u64 {
            let (now, value) = (Time::from_micros(700 * step), (step % 7) as f64);
            let (sum, measured, last) = kept_rate.parts();
            kept_rate = RateState::resume(sum, measured, last);
            assert_eq!(kept_rate.update(Memory::new(memory), value, now), rate.update(Memory::new(memory), value, now));
            let (sum, count, last) = kept_mean.parts();
            kept_mean = WeightedMean::resume(memory, sum, count, last);
            assert_eq!(kept_mean.mean(), mean.mean());
            mean.update(value, now);
            kept_mean.update(value, now);
        }
    }

    #[test]
    fn mean_follows_a_step_to_63_percent_within_one_memory() {
        let mut mean = WeightedMean::new(Time::from_millis(300));
        let mut now = Time::ZERO;
        for step in 0..10_000 {
            now += Time::from_micros(1200);
            mean.update(if step < 9_750 { 5.0 } else { 7.0 }, now); // the last 250 values span 0.3 s
        }
        close((mean.mean() - 5.0) / 2.0, 1.0 - (-1.0f64).exp(), 0.002);
    }
}

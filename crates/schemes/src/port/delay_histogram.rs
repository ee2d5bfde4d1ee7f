//! A histogram of delays with bounded memory: 16 linear steps in every power of two.

use crate::base::units::Time;

/// Steps in each octave; a quantile is off by at most half a step, 3.2 %.
const STEPS: u32 = 16;

/// Counts of spans of time, with sum and maximum.
#[derive(Clone, Debug)]
pub struct DelayHistogram {
    counts: Vec<u64>,
    count: u64,
    sum_ps: u128,
    max: Time,
}

impl Default for DelayHistogram {
    fn default() -> Self {
        Self { counts: vec![0; (64 * STEPS) as usize], count: 0, sum_ps: 0, max: Time::ZERO }
    }
}

impl DelayHistogram {
    /// Counts one span.
    #[inline]
    pub fn record(&mut self, span: Time) {
        self.counts[bin(span.0)] += 1;
        self.count += 1;
        self.sum_ps += u128::from(span.0);
        self.max = self.max.max(span);
    }

    /// How many spans were counted.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.count
    }

    /// Mean in seconds, exact; 0 if nothing was counted.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_ps as f64 / self.count as f64 / Time::PER_SECOND as f64 }
    }

    /// The longest span.
    #[must_use]
    pub fn max(&self) -> Time {
        self.max
    }

    /// The span that the fraction `q` of all does not exceed, in seconds: the middle of its step.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn quantile_s(&self, q: f64) -> f64 {
        let rank = (q * self.count as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bin, &count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return middle_ps(bin).min(self.max.0 as f64) / Time::PER_SECOND as f64;
            }
        }
        0.0
    }
}

/// Values below 16 have a bin each; above, the four bits after the leading one choose the step.
#[inline]
fn bin(value: u64) -> usize {
    if value < u64::from(STEPS) {
        return value as usize;
    }
    let octave = 63 - value.leading_zeros();
    let step = (value >> (octave - 4)) as u32 & (STEPS - 1);
    ((octave - 3) * STEPS + step) as usize
}

fn middle_ps(bin: usize) -> f64 {
    let bin = bin as u32;
    if bin < STEPS {
        return f64::from(bin);
    }
    let (octave, step) = (bin / STEPS + 3, bin % STEPS);
    (f64::from(STEPS + step) + 0.5) * 2f64.powi(octave as i32 - 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_lies_within_half_a_step_of_the_middle_of_its_bin() {
        for value in (0..64).flat_map(|shift| [(1u64 << shift) - 1, 1 << shift, (1 << shift) + 1, 3 << shift >> 1]) {
            let middle = middle_ps(bin(value));
            assert!((middle - value as f64).abs() <= 1.0f64.max(value as f64 / 31.0), "{value} {middle}");
        }
    }

    #[test]
    fn bins_ascend_with_the_value() {
        let values = (1..60).flat_map(|shift| (0..16).map(move |i| (1u64 << shift) + (i << shift >> 4)));
        let bins: Vec<_> = values.map(bin).collect();
        assert!(bins.is_sorted());
        assert!(bin(u64::MAX) < 64 * STEPS as usize);
    }

    #[test]
    fn mean_is_exact_and_quantiles_are_close() {
        let mut histogram = DelayHistogram::default();
        for ms in 1..=1000 {
            histogram.record(Time::from_millis(ms));
        }
        assert!((histogram.mean_s() - 0.5005).abs() < 1e-12);
        assert!((histogram.quantile_s(0.5) / 0.5 - 1.0).abs() < 0.033);
        assert!((histogram.quantile_s(0.99) / 0.99 - 1.0).abs() < 0.033);
        assert_eq!(histogram.max(), Time::from_secs(1));
    }
}

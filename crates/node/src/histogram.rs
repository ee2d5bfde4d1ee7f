//! Times in buckets of 1/16 of a power of two: percentiles within 6.25 %, any number of values in 5 kB.

use fairlane_schemes::base::units::Time;
use serde_json::{Value as Json, json};

const STEPS: u64 = 16;
const BUCKETS: usize = 640;

/// Distribution of times.
#[derive(Clone, Debug)]
pub struct Histogram {
    /// By nanoseconds.
    buckets: Box<[u64; BUCKETS]>,
    count: u64,
    sum_s: f64,
    max: Time,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { buckets: Box::new([0; BUCKETS]), count: 0, sum_s: 0.0, max: Time::ZERO }
    }
}

impl Histogram {
    /// Counts a value.
    #[inline]
    pub fn add(&mut self, value: Time) {
        self.buckets[bucket(value.0 / 1000)] += 1;
        self.count += 1;
        self.sum_s += value.as_secs_f64();
        self.max = self.max.max(value);
    }

    /// Mean in seconds, 0 without values.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum_s / self.count as f64 }
    }

    /// The upper end of the bucket below whose end are `share` of the values.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Time {
        let wanted = share * self.count as f64;
        let mut below = 0;
        for (i, count) in self.buckets.iter().enumerate() {
            below += count;
            if below > 0 && below as f64 >= wanted {
                return Time::from_nanos(upper(i)).min(self.max);
            }
        }
        self.max
    }

    /// Number of values, mean, percentiles and maximum in seconds.
    #[must_use]
    pub fn report(&self) -> Json {
        json!({
            "packets": self.count,
            "mean_s": self.mean_s(),
            "p50_s": self.quantile(0.5).as_secs_f64(),
            "p95_s": self.quantile(0.95).as_secs_f64(),
            "p99_s": self.quantile(0.99).as_secs_f64(),
            "max_s": self.max.as_secs_f64(),
        })
    }
}

/// Values below 32 have a bucket each; the others share 16 between two powers of two.
#[inline]
fn bucket(nanos: u64) -> usize {
    if nanos < 2 * STEPS {
        return nanos as usize;
    }
    let shift = u64::from(nanos.ilog2()) - 4;
    ((shift * STEPS + (nanos >> shift)) as usize).min(BUCKETS - 1)
}

/// The largest value of a bucket.
fn upper(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < 2 * STEPS {
        return bucket;
    }
    let shift = bucket / STEPS - 1;
    ((bucket - shift * STEPS + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_contiguous_and_a_sixteenth_wide() {
        for i in 0..BUCKETS - 1 {
            assert_eq!((bucket(upper(i)), bucket(upper(i) + 1)), (i, i + 1));
        }
        for nanos in [100, 12_345, 1_000_000, 987_654_321] {
            let end = upper(bucket(nanos));
            assert!(end >= nanos && (end - nanos) as f64 <= nanos as f64 / 16.0, "{nanos} {end}");
        }
    }

    #[test]
    fn quantiles_of_a_uniform_ramp_are_where_they_belong() {
        let mut histogram = Histogram::default();
        (1..=1000).for_each(|i| histogram.add(Time::from_micros(i)));
        assert!((histogram.mean_s() - 500.5e-6).abs() < 1e-9);
        for (share, micros) in [(0.5, 500.0), (0.95, 950.0), (1.0, 1000.0)] {
            let found = histogram.quantile(share).as_secs_f64() * 1e6;
            assert!((micros..=micros * 1.0625).contains(&found), "{share} {found}");
        }
        assert_eq!(Histogram::default().quantile(0.5), Time::ZERO);
    }
}

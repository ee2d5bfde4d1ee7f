//! A histogram of delays with bounded memory: 16 linear steps per power of two.

use crate::base::units::Time;
use prefetch_index::prefetch_index;

/// Steps per octave. The error of a quantile is at most half a step, 3.2 %.
const STEPS: usize = 1 << STEPS_LOG2;
const STEPS_LOG2: u32 = 4;

/// Counts of times, with sum, minimum and maximum. The histogram stores the octaves between the shortest and the
/// longest time so far, 128 bytes each, at most 8 kB.
#[derive(Clone, Debug)]
pub struct DelayHistogram {
    /// Counts of the bins, starting with `first`.
    counts: Vec<u64>,
    first: usize,
    /// Sum in picoseconds: low and high half. A `u128` would need an alignment of 16 bytes.
    sum_ps: [u64; 2],
    /// The shortest time; [`Time::NEVER`] before the first.
    min: Time,
    /// Difference between the longest and the shortest time, in picoseconds.
    range_ps: u64,
}

impl Default for DelayHistogram {
    fn default() -> Self {
        Self { counts: Vec::new(), first: 0, sum_ps: [0, 0], min: Time::NEVER, range_ps: 0 }
    }
}

impl DelayHistogram {
    /// Counts a time.
    #[inline]
    pub fn record(&mut self, span: Time) {
        match self.counts.get_mut(bin(span.0).wrapping_sub(self.first)) {
            Some(count) => *count += 1,
            None => self.add_beyond(span),
        }
        let (low, carries) = self.sum_ps[0].overflowing_add(span.0);
        self.sum_ps = [low, self.sum_ps[1] + u64::from(carries)];
        // One comparison tests both ends, since values below the minimum wrap around.
        if span.0.wrapping_sub(self.min.0) > self.range_ps {
            self.widen(span, span);
        }
    }

    /// Prefetches the bin of this value.
    #[inline]
    pub fn fetch(&self, span: Time) {
        prefetch_index(&self.counts, bin(span.0).wrapping_sub(self.first));
    }

    /// Extends the range to include `min` and `max`. This is rare, so a branch is cheaper than storing the range for
    /// every counted time.
    #[cold]
    #[inline(never)]
    fn widen(&mut self, min: Time, max: Time) {
        let max = self.max().max(max);
        self.min = self.min.min(min);
        self.range_ps = max.0 - self.min.0;
    }

    /// Counts a time in an octave for which no memory is allocated yet.
    #[cold]
    #[inline(never)]
    fn add_beyond(&mut self, span: Time) {
        let bin = bin(span.0);
        let octave = bin / STEPS * STEPS;
        let seen = if self.counts.is_empty() { octave..octave } else { self.first..self.first + self.counts.len() };
        let first = seen.start.min(octave);
        let mut counts = vec![0; seen.end.max(octave + STEPS) - first];
        counts[seen.start - first..seen.end - first].copy_from_slice(&self.counts);
        counts[bin - first] += 1;
        (self.counts, self.first) = (counts, first);
    }

    /// Adds the counts of another histogram.
    pub fn add(&mut self, other: &Self) {
        if other.counts.is_empty() {
            return;
        }
        let end = |of: &Self| of.first + of.counts.len();
        let first = if self.counts.is_empty() { other.first } else { self.first.min(other.first) };
        let mut counts = vec![0; end(self).max(end(other)) - first];
        for part in [&*self, other] {
            let begin = part.first.saturating_sub(first);
            counts[begin..].iter_mut().zip(&part.counts).for_each(|(sum, count)| *sum += count);
        }
        (self.counts, self.first) = (counts, first);
        let (low, carries) = self.sum_ps[0].overflowing_add(other.sum_ps[0]);
        self.sum_ps = [low, self.sum_ps[1] + other.sum_ps[1] + u64::from(carries)];
        self.widen(other.min, other.max());
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Mean in seconds, exact; 0 without values.
    #[must_use]
    pub fn mean_s(&self) -> f64 {
        let count = self.count();
        let sum_ps = u128::from(self.sum_ps[1]) << 64 | u128::from(self.sum_ps[0]);
        if count == 0 { 0.0 } else { sum_ps as f64 / count as f64 / Time::PER_SECOND as f64 }
    }

    /// The shortest time; zero without values.
    #[must_use]
    pub fn min(&self) -> Time {
        if self.min == Time::NEVER { Time::ZERO } else { self.min }
    }

    /// Upper end in seconds and count of each step, from the step of the shortest time to the step of the longest. The
    /// last step ends at the longest time.
    pub fn steps(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        let used = self.counts.iter().position(|&count| count > 0);
        let last = self.counts.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
        (used.unwrap_or(last)..last).map(move |at| {
            let end_ps = if at + 1 == last { self.max().0 as f64 } else { begin_ps(self.first + at + 1) };
            (end_ps / Time::PER_SECOND as f64, self.counts[at])
        })
    }

    /// The longest time; zero without values.
    #[must_use]
    pub fn max(&self) -> Time {
        if self.min == Time::NEVER { Time::ZERO } else { Time(self.min.0 + self.range_ps) }
    }

    /// The `q` quantile in seconds: the middle of its step, limited to the range from the shortest to the longest time;
    /// 0 without values.
    #[must_use]
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn quantile_s(&self, q: f64) -> f64 {
        let rank = (q * self.count() as f64).ceil().max(1.0) as u64;
        let mut seen = 0;
        for (bin, &count) in (self.first..).zip(&self.counts) {
            seen += count;
            if seen >= rank {
                return middle_ps(bin).clamp(self.min.0 as f64, self.max().0 as f64) / Time::PER_SECOND as f64;
            }
        }
        0.0
    }
}

/// Each value below 16 has its own bin. For larger values, the four bits after the leading one select the step.
#[inline]
fn bin(value: u64) -> usize {
    let octave = (value | STEPS as u64).ilog2() - STEPS_LOG2;
    ((octave as usize) << STEPS_LOG2) + (value >> octave) as usize
}

/// Minimum of a bin.
fn begin_ps(bin: usize) -> f64 {
    if bin < STEPS {
        return bin as f64;
    }
    let (octave, step) = (bin / STEPS - 1, bin % STEPS);
    (STEPS + step) as f64 * 2f64.powi(octave as i32)
}

fn middle_ps(bin: usize) -> f64 {
    if bin < STEPS { bin as f64 } else { f64::midpoint(begin_ps(bin), begin_ps(bin + 1)) }
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
    fn quantiles_lie_between_the_shortest_and_the_longest_span_in_order() {
        // Three cases: constant times of 6.42 ms (the middle of that bin is 6.31 ms), times within one bin, and times
        // over many bins.
        for spread_us in [0, 1, 100, 50_000] {
            let mut histogram = DelayHistogram::default();
            let spans = (0..1000).map(|i| Time::from_micros(6_420 + i * spread_us / 999));
            spans.clone().for_each(|span| histogram.record(span));
            let found = [0.001, 0.5, 0.95, 0.99, 1.0].map(|q| histogram.quantile_s(q));
            assert!(found.is_sorted(), "{found:?}");
            let (min, max) = (spans.clone().min().unwrap(), spans.max().unwrap());
            assert!(found.iter().all(|span| (min.as_secs_f64()..=max.as_secs_f64()).contains(span)), "{found:?}");
        }
    }

    #[test]
    fn steps_hold_every_span_once_and_end_with_the_longest() {
        let spans = [40u64, 41, 47, 100, 1000];
        let mut histogram = DelayHistogram::default();
        spans.iter().for_each(|&span| histogram.record(Time(span)));
        let steps: Vec<_> = histogram.steps().map(|(end, count)| ((end * 1e12).round(), count)).collect();
        let upto = |end: f64| steps.iter().filter(|step| step.0 <= end).map(|step| step.1).sum::<u64>();
        // From 32 ps on a step has 2 ps, from 64 ps on it has 4 ps. The times 40 and 41 ps share the first step.
        assert_eq!(steps[..4], [(42.0, 2), (44.0, 0), (46.0, 0), (48.0, 1)]);
        assert_eq!((upto(100.0), upto(104.0), steps.last()), (3, 4, Some(&(1000.0, 1))));
        assert_eq!(DelayHistogram::default().steps().count(), 0);
    }

    #[test]
    fn bins_ascend_with_the_value() {
        let values = (1..60).flat_map(|shift| (0..16).map(move |i| (1u64 << shift) + (i << shift >> 4)));
        let bins: Vec<_> = values.map(bin).collect();
        assert!(bins.is_sorted());
        assert!(bin(u64::MAX) < 64 * STEPS);
    }

    #[test]
    fn a_sum_is_what_one_would_have_counted() {
        let of = |spans: &[u64]| {
            let mut histogram = DelayHistogram::default();
            spans.iter().for_each(|&span| histogram.record(Time(span)));
            histogram
        };
        let [low, high, none] = [&[3u64, 40, 41][..], &[1 << 40, u64::MAX, u64::MAX], &[]];
        for (a, b) in [(low, high), (high, low), (none, high), (low, none), (low, low)] {
            let (mut sum, whole) = (of(a), of(&[a, b].concat()));
            sum.add(&of(b));
            assert_eq!((sum.count(), sum.max(), sum.sum_ps), (whole.count(), whole.max(), whole.sum_ps));
            assert!([0.1, 0.5, 0.9].iter().all(|&q| sum.quantile_s(q) == whole.quantile_s(q)), "{a:?} {b:?}");
        }
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

    #[test]
    fn the_order_of_spans_does_not_matter_and_room_is_made_for_their_octaves_alone() {
        // The times are 3 ps, 1 us = 2^19.9 ps (three times) and 2 s = 2^40.9 ps.
        let spans = [Time(3), Time::from_micros(1), Time::from_secs(2), Time::from_micros(1), Time::from_micros(1)];
        let quantiles = |spans: &mut dyn Iterator<Item = &Time>| {
            let mut histogram = DelayHistogram::default();
            spans.for_each(|&span| histogram.record(span));
            (histogram.count(), [0.2, 0.21, 0.8, 1.0].map(|q| histogram.quantile_s(q)))
        };
        let (count, found) = quantiles(&mut spans.iter());
        assert_eq!((count, found), quantiles(&mut spans.iter().rev()));
        assert_eq!((count, found[0]), (5, 3e-12));
        for (quantile, expected) in found[1..].iter().zip([1e-6, 1e-6, 2.0]) {
            assert!((quantile / expected - 1.0).abs() < 0.033, "{quantile}");
        }
        // Delays within one octave need only its 16 counts.
        let mut histogram = DelayHistogram::default();
        (70..130).for_each(|us| histogram.record(Time::from_micros(us)));
        assert_eq!(histogram.counts.len(), STEPS);
        assert_eq!(DelayHistogram::default().quantile_s(0.5), 0.0);
    }
}

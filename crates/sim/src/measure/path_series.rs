//! Time series of paths: means and shares in equal bins, by group.

use fairlane_schemes::base::units::Time;

/// Sums per bin of length `interval`, from time 0 on. All memory is allocated at the start.
#[derive(Clone, Debug)]
pub struct PathSeries {
    interval: Time,
    groups: Vec<Vec<Bin>>,
}

/// Counts of a group's packets during a bin.
#[derive(Clone, Copy, Debug, Default)]
pub struct Bin {
    delay_s: f64,
    delivered: u64,
    marked: u64,
    dropped: u64,
    rtt_s: f64,
    rtts: u64,
    /// Segments whose data had already arrived.
    pub repeated: u64,
}

impl Bin {
    /// Mean delay of delivered packets from host to receiver; `None` without packets.
    #[must_use]
    pub fn one_way_delay_s(&self) -> Option<f64> {
        ratio(self.delay_s, self.delivered)
    }

    /// Mean of the round-trip times that senders sampled; `None` without samples.
    #[must_use]
    pub fn rtt_s(&self) -> Option<f64> {
        ratio(self.rtt_s, self.rtts)
    }

    /// Dropped packets as a fraction of dropped and delivered packets; `None` without packets.
    #[must_use]
    pub fn lost_share(&self) -> Option<f64> {
        ratio(self.dropped as f64, self.dropped + self.delivered)
    }

    /// Fraction of delivered packets with a congestion mark; `None` without packets.
    #[must_use]
    pub fn marked_share(&self) -> Option<f64> {
        ratio(self.marked as f64, self.delivered)
    }
}

/// Returns `sum / count`, or `None` if `count` is 0.
#[must_use]
pub(super) fn ratio(sum: f64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum / count as f64)
}

impl PathSeries {
    /// Creates `bins` bins for each of `groups` groups.
    #[must_use]
    pub fn new(interval: Time, bins: usize, groups: usize) -> Self {
        Self { interval, groups: vec![vec![Bin::default(); bins]; groups] }
    }

    /// Records that a packet of `group` reached the end of its route at `now`, after `delay`.
    pub fn delivered(&mut self, group: usize, delay: Time, marked: bool, now: Time) {
        let bin = self.bin(group, now);
        bin.delay_s += delay.as_secs_f64();
        bin.delivered += 1;
        bin.marked += u64::from(marked);
    }

    /// Records that a sender of `group` sampled the round-trip time `rtt` at `now`.
    pub fn sampled(&mut self, group: usize, rtt: Time, now: Time) {
        let bin = self.bin(group, now);
        bin.rtt_s += rtt.as_secs_f64();
        bin.rtts += 1;
    }

    /// Records that a packet of `group` was dropped at `now`.
    pub fn dropped(&mut self, group: usize, now: Time) {
        self.bin(group, now).dropped += 1;
    }

    /// Records that a segment of `group` arrived at `now` whose data had already arrived.
    pub fn repeated(&mut self, group: usize, now: Time) {
        self.bin(group, now).repeated += 1;
    }

    /// Adds the counts of another part of the network. Each group has arrivals in only one of the two parts, so the
    /// floating-point sums are exactly those of a run in one part.
    pub fn add(&mut self, other: &Self) {
        for (own, other) in self.groups.iter_mut().flatten().zip(other.groups.iter().flatten()) {
            own.delay_s += other.delay_s;
            own.delivered += other.delivered;
            own.marked += other.marked;
            own.dropped += other.dropped;
            own.rtt_s += other.rtt_s;
            own.rtts += other.rtts;
            own.repeated += other.repeated;
        }
    }

    /// Bins of a group.
    #[must_use]
    pub fn group(&self, group: usize) -> &[Bin] {
        &self.groups[group]
    }

    fn bin(&mut self, group: usize, now: Time) -> &mut Bin {
        let bins = &mut self.groups[group];
        let last = bins.len() - 1;
        &mut bins[((now.0 / self.interval.0) as usize).min(last)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_means_and_shares_of_what_happened_in_them() {
        let mut series = PathSeries::new(Time::from_secs(1), 2, 2);
        let at = Time::from_millis;
        series.delivered(1, at(10), true, at(100));
        series.delivered(1, at(30), false, at(999));
        series.dropped(1, at(500));
        series.sampled(1, at(40), at(1000));
        series.dropped(1, at(5000)); // a drop at the very end is in the last bin
        let [first, last] = series.group(1) else { panic!("two bins") };
        assert_eq!((first.one_way_delay_s(), first.rtt_s()), (Some(0.02), None));
        assert_eq!((first.lost_share(), first.marked_share()), (Some(1.0 / 3.0), Some(0.5)));
        assert_eq!((last.one_way_delay_s(), last.rtt_s()), (None, Some(0.04)));
        assert_eq!((last.lost_share(), last.marked_share()), (Some(1.0), None));
        assert!(series.group(0).iter().all(|bin| bin.lost_share().is_none()));
    }
}

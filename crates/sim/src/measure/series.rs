//! Time series over equal bins: throughput, metered rate, queue length, drop threshold.

use fairlane_schemes::base::units::Time;
use fairlane_schemes::measure::utema::RateMeter;

/// Sums per bin of length `interval`, from time 0 on. All memory is allocated at the start.
#[derive(Clone, Debug)]
pub struct Series {
    interval: Time,
    bins: usize,
    groups: Vec<GroupSeries>,
    queue_area: Vec<f64>,
    queue_since: Time,
    queue_packets: u32,
    threshold_sum: Vec<f64>,
    threshold_count: Vec<u32>,
}

#[derive(Clone, Debug)]
struct GroupSeries {
    bits: Vec<f64>,
    meter: RateMeter,
    /// Metered rate at the end of each closed bin.
    rates: Vec<f64>,
}

impl GroupSeries {
    /// Samples the metered rate at the end of every bin before `bin`.
    fn sample_until(&mut self, bin: usize, interval: Time) {
        while self.rates.len() < bin {
            let end = Time(interval.0 * (self.rates.len() as u64 + 1));
            self.rates.push(self.meter.rate(end));
        }
    }
}

/// Result of [`Series::finish`] for one group: throughput per bin, and metered rate at the end of each bin, in bit/s.
pub type GroupRates = (Vec<f64>, Vec<f64>);

impl Series {
    /// Creates `bins` bins for each of `groups` groups. `memory` is the time constant of the rate meters.
    #[must_use]
    pub fn new(interval: Time, bins: usize, groups: usize, memory: Time) -> Self {
        let group = GroupSeries {
            bits: vec![0.0; bins],
            meter: RateMeter::new(memory, Time::ZERO),
            rates: Vec::with_capacity(bins),
        };
        Self {
            interval,
            bins,
            groups: vec![group; groups],
            queue_area: vec![0.0; bins],
            queue_since: Time::ZERO,
            queue_packets: 0,
            threshold_sum: vec![0.0; bins],
            threshold_count: vec![0; bins],
        }
    }

    fn bin(&self, now: Time) -> usize {
        ((now.0 / self.interval.0) as usize).min(self.bins - 1)
    }

    /// Records that a packet of `group` left at `now`.
    pub fn departed(&mut self, group: usize, wire_bytes: u32, now: Time) {
        let bin = self.bin(now);
        let bits = f64::from(wire_bytes) * 8.0;
        let series = &mut self.groups[group];
        series.sample_until(bin, self.interval);
        series.bits[bin] += bits;
        series.meter.update(bits, now);
    }

    /// Records that `packets` packets wait from `now` on.
    pub fn queue_changed(&mut self, now: Time, packets: u32) {
        let mut since = self.queue_since;
        while since < now {
            let bin = self.bin(since);
            let until = if bin + 1 == self.bins { now } else { now.min(Time(self.interval.0 * (bin as u64 + 1))) };
            self.queue_area[bin] += f64::from(self.queue_packets) * (until - since).as_secs_f64();
            since = until;
        }
        self.queue_since = now;
        self.queue_packets = packets;
    }

    /// Records the drop threshold of an arriving packet.
    pub fn threshold_met(&mut self, now: Time, threshold: f64) {
        let bin = self.bin(now);
        self.threshold_sum[bin] += threshold;
        self.threshold_count[bin] += 1;
    }

    /// Closes all bins at `end`.
    pub fn finish(&mut self, end: Time) {
        self.queue_changed(end, self.queue_packets);
        for group in &mut self.groups {
            group.sample_until(self.bins, self.interval);
        }
    }

    /// Rates of each group.
    #[must_use]
    pub fn group_rates(&self) -> Vec<GroupRates> {
        let seconds = self.interval.as_secs_f64();
        let per_bin = |group: &GroupSeries| group.bits.iter().map(|bits| bits / seconds).collect();
        self.groups.iter().map(|group| (per_bin(group), group.rates.clone())).collect()
    }

    /// Mean number of packets waiting in each bin.
    #[must_use]
    pub fn queue_packets(&self) -> Vec<f64> {
        self.queue_area.iter().map(|area| area / self.interval.as_secs_f64()).collect()
    }

    /// Mean drop threshold of the arrivals in each bin; `None` where no packet arrived.
    #[must_use]
    pub fn drop_thresholds(&self) -> Vec<Option<f64>> {
        let mean = |(sum, &count): (&f64, &u32)| (count > 0).then(|| sum / f64::from(count));
        self.threshold_sum.iter().zip(&self.threshold_count).map(mean).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_hold_what_happened_in_them() {
        let mut series = Series::new(Time::from_secs(1), 3, 1, Time::from_millis(500));
        series.queue_changed(Time::from_millis(500), 4); // 4 packets over half of bin 0, bin 1, half of bin 2
        series.departed(0, 1000, Time::from_millis(1200));
        series.threshold_met(Time::from_millis(1300), 10.0);
        series.threshold_met(Time::from_millis(1400), 20.0);
        series.queue_changed(Time::from_millis(2500), 0);
        series.finish(Time::from_secs(3));
        assert_eq!(series.queue_packets(), [2.0, 4.0, 2.0]);
        assert_eq!(series.group_rates()[0].0, [0.0, 8000.0, 0.0]);
        assert_eq!(series.drop_thresholds(), [None, Some(15.0), None]);
        // 8000 bits arrive at 1.2 s, and the time constant of the meter is 0.5 s. At 2 s the rate is 8000 * exp(-1.6) /
        // (0.5 * (1 - exp(-4))) = 3290 bit/s.
        let rates = &series.group_rates()[0].1;
        assert_eq!(rates[0], 0.0);
        assert!((rates[1] - 8000.0 * (-1.6f64).exp() / (0.5 * (1.0 - (-4f64).exp()))).abs() < 1e-6);
    }
}

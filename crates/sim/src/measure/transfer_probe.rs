//! Number, sizes and times of a group's finite transfers. Memory does not grow with the number of transfers.

use super::slowdown::{Ideal, Slowdowns};
use fairlane_schemes::base::units::{Bytes, Time};
use fairlane_schemes::port::DelayHistogram;

/// Completed transfers of one class.
#[derive(Clone, Copy, Debug, Default)]
pub struct TransferClass {
    /// Number of transfers.
    pub completed: u64,
    /// Sum of the transfers' times, in picoseconds.
    sum_ps: u128,
}

impl TransferClass {
    /// Mean time in seconds; `None` without transfers.
    #[must_use]
    pub fn mean_s(&self) -> Option<f64> {
        (self.completed > 0).then(|| self.sum_ps as f64 / self.completed as f64 / Time::PER_SECOND as f64)
    }

    fn record(&mut self, time: Time) {
        self.completed += 1;
        self.sum_ps += u128::from(time.0);
    }
}

/// Transfers that started during the measurement.
#[derive(Clone, Debug)]
pub struct TransferProbe {
    measured_from: Time,
    /// Lower bounds of the classes by time, except the first, which is zero.
    time_begins: Vec<Time>,
    /// Lower bounds of the classes by size, except the first, which is zero.
    size_begins: Vec<Bytes>,
    /// Transfers that started.
    pub started: u64,
    /// Transfers refused because too many were open.
    pub refused: u64,
    /// Payload of the started transfers.
    pub started_bytes: u64,
    /// Payload of the completed transfers.
    pub completed_bytes: u64,
    /// Times of the completed transfers.
    pub times: DelayHistogram,
    /// Completed transfers by time.
    pub by_time: Vec<TransferClass>,
    /// Completed transfers by payload.
    pub by_size: Vec<TransferClass>,
    ideal: Ideal,
    /// Slowdowns of the completed transfers.
    pub slowdowns: Slowdowns,
    /// Slowdowns by payload.
    pub slowdowns_by_size: Vec<Slowdowns>,
}

impl TransferProbe {
    /// Creates a probe of transfers that start from `measured_from` on. The first class, by time and by size, starts at
    /// zero, and the next ones at the given values.
    #[must_use]
    pub fn new(measured_from: Time, time_begins: &[Time], size_begins: &[Bytes], ideal: Ideal) -> Self {
        Self {
            measured_from,
            time_begins: time_begins.to_vec(),
            size_begins: size_begins.to_vec(),
            started: 0,
            refused: 0,
            started_bytes: 0,
            completed_bytes: 0,
            times: DelayHistogram::default(),
            by_time: vec![TransferClass::default(); time_begins.len() + 1],
            by_size: vec![TransferClass::default(); size_begins.len() + 1],
            ideal,
            slowdowns: Slowdowns::default(),
            slowdowns_by_size: vec![Slowdowns::default(); size_begins.len() + 1],
        }
    }

    /// Adds the counts of the same probe in another partition of the network, simulated by another thread.
    pub fn add(&mut self, other: &Self) {
        self.started += other.started;
        self.refused += other.refused;
        self.started_bytes += other.started_bytes;
        self.completed_bytes += other.completed_bytes;
        self.times.add(&other.times);
        let classes = self.by_time.iter_mut().chain(&mut self.by_size);
        for (own, other) in classes.zip(other.by_time.iter().chain(&other.by_size)) {
            own.completed += other.completed;
            own.sum_ps += other.sum_ps;
        }
        self.slowdowns.add(&other.slowdowns);
        self.slowdowns_by_size.iter_mut().zip(&other.slowdowns_by_size).for_each(|(own, other)| own.add(other));
    }

    /// Records a transfer that starts at `now`.
    pub fn start(&mut self, now: Time, bytes: u64) {
        if now >= self.measured_from {
            self.started += 1;
            self.started_bytes += bytes;
        }
    }

    /// Records a transfer that is refused at `now` because too many are open.
    pub fn refuse(&mut self, now: Time) {
        self.refused += u64::from(now >= self.measured_from);
    }

    /// Records a transfer that started at `start` and whose last byte was received at `now`. It has `bytes` of payload,
    /// and `wire_bytes` with headers. `user` is the user's number, and the delay of the user's path minus the minimum
    /// of the group.
    pub fn complete(&mut self, user: (u32, Time), (start, now): (Time, Time), bytes: u64, wire_bytes: u64) {
        if start < self.measured_from {
            return;
        }
        let time = now - start;
        self.completed_bytes += bytes;
        self.times.record(time);
        self.by_time[self.time_begins.partition_point(|&begin| begin <= time)].record(time);
        let class = self.size_begins.partition_point(|&begin| begin.0 <= bytes);
        self.by_size[class].record(time);
        let slowdown = self.ideal.slowdown(user, wire_bytes, time);
        self.slowdowns.record(slowdown);
        self.slowdowns_by_size[class].record(slowdown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairlane_schemes::base::units::BitRate;

    #[test]
    fn transfers_fall_into_the_class_that_begins_at_or_below_them() {
        let begins = [Time::from_millis(50), Time::from_millis(500)];
        // In an empty network a transfer takes 30 ms plus 1 us per byte.
        let ideal = Ideal { first_user: 0, one_way: vec![Time::from_millis(10)], rate: BitRate(8_000_000) };
        let mut probe = TransferProbe::new(Time::from_secs(10), &begins, &[Bytes(1000)], ideal);
        let at = |ms| Time::from_secs(10) + Time::from_millis(ms);
        probe.start(Time::from_secs(9), 500); // before the measurement
        probe.complete((0, Time::ZERO), (Time::from_secs(9), at(1)), 500, 500);
        for (ms, bytes) in [(40, 999), (50, 1000), (499, 5000), (500, 1), (2000, 1001)] {
            probe.start(at(0), bytes);
            probe.complete((0, Time::ZERO), (at(0), at(ms)), bytes, bytes);
        }
        probe.start(at(0), 7); // does not end
        probe.refuse(at(0));
        assert_eq!((probe.started, probe.refused, probe.times.count()), (6, 1, 5));
        assert_eq!((probe.started_bytes, probe.completed_bytes), (8008, 8001));
        let counts = |classes: &[TransferClass]| classes.iter().map(|class| class.completed).collect::<Vec<_>>();
        assert_eq!(counts(&probe.by_time), [1, 2, 2]);
        assert_eq!(counts(&probe.by_size), [2, 3]);
        // The mean times are (50 + 499)/2 ms and (40 + 500)/2 ms.
        assert_eq!(probe.by_time[1].mean_s(), Some(0.2745));
        assert_eq!(probe.by_size[0].mean_s(), Some(0.27));
        assert_eq!(TransferClass::default().mean_s(), None);
        // By eq. (2) of `slowdown.rs`, the slowdowns of the first class are 40/30.999 and 500/30.001, those of the
        // second 50/31, 499/35 and 2000/31.001.
        let means: Vec<f64> = probe.slowdowns_by_size.iter().map(Slowdowns::mean).collect();
        assert!((means[0] - f64::midpoint(40.0 / 30.999, 500.0 / 30.001)).abs() < 1e-9, "{means:?}");
        assert!((means[1] - (50.0 / 31.0 + 499.0 / 35.0 + 2000.0 / 31.001) / 3.0).abs() < 1e-9, "{means:?}");
        assert_eq!(probe.slowdowns.count(), 5);
    }
}

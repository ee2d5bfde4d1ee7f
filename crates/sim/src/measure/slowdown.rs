//! Slowdown of a transfer: its time divided by its time in an empty network.
//!
//! Source: Alizadeh et al., pFabric, SIGCOMM 2013, 5.1 (normalised flow completion time); Li et al., HPCC, SIGCOMM
//! 2019, 5.1 (slowdown: the actual time divided by the time of the flow when it is alone).
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `ideal = RTT + D + S / C` | [`Ideal::time`] |
//! | (2) | `slowdown = time / ideal` | [`Ideal::slowdown`] |
//!
//! RTT is the round-trip time, and D the delay from sender to receiver, both without queueing and transmission times. S
//! is the size of all segments with headers. C is the initial rate of the slowest link of the path, including the
//! access link.
//!
//! Cost: one division per transfer, and at most 8 kB of memory for each group and class.
//!
//! Deviations:
//! 1. HPCC adds one round trip to `S / C`, because its transfers end with the last ACK. Here a transfer lasts from the
//!    opening of its connection until its last byte is received. This adds a round trip for the handshake and a one-way
//!    delay for the data.
//! 2. pFabric simulates the ideal time, including the growth of the window. Here the ideal window is unlimited, so time
//!    lost in slow start counts as slowdown. The slowdown is at least 1 if no link becomes faster.

use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::port::DelayHistogram;

/// Times of a group's transfers in an empty network.
#[derive(Clone, Debug)]
pub struct Ideal {
    /// The first user of the group.
    pub first_user: u32,
    /// Minimum delay from each user's sender to its receiver; one value if all delays are equal.
    pub one_way: Vec<Time>,
    /// Rate of the slowest link.
    pub rate: BitRate,
}

impl Ideal {
    /// Ideal time of a user's transfer of `wire_bytes`: rule 1. The delay of the user's path exceeds its minimum in
    /// `one_way` by `longer`.
    #[must_use]
    pub fn time(&self, (user, longer): (u32, Time), wire_bytes: u64) -> Time {
        let index = ((user - self.first_user) as usize).min(self.one_way.len() - 1);
        Time(3 * (self.one_way[index] + longer).0) + self.rate.time_of(wire_bytes)
    }

    /// Slowdown of a user's transfer of `wire_bytes` that took `time`: rule 2.
    #[must_use]
    pub fn slowdown(&self, user: (u32, Time), wire_bytes: u64, time: Time) -> f64 {
        time.0 as f64 / self.time(user, wire_bytes).0 as f64
    }
}

/// Slowdowns of many transfers, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct Slowdowns {
    /// Slowdowns, stored as seconds in a histogram of delays. Its bin widths are relative, so the unit does not matter.
    ratios: DelayHistogram,
}

impl Slowdowns {
    /// Records a slowdown.
    pub fn record(&mut self, slowdown: f64) {
        self.ratios.record(Time::from_secs_f64(slowdown));
    }

    /// Adds the slowdowns of another collection.
    pub fn add(&mut self, other: &Self) {
        self.ratios.add(&other.ratios);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ratios.count()
    }

    /// Mean, exact; 0 without values.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.ratios.mean_s()
    }

    /// The quantile `q`, within 3.2 %.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        self.ratios.quantile_s(q)
    }

    /// Maximum.
    #[must_use]
    pub fn max(&self) -> f64 {
        self.ratios.max().as_secs_f64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ideal_is_the_handshake_the_way_and_the_transmission() {
        // The users' one-way delays are 10 ms and 40 ms. At 10 Mbit/s, 12 500 B take 10 ms. The ideal times are 3 * 10
        // + 10 = 40 ms and 3 * 40 + 10 = 130 ms.
        let one_way = vec![Time::from_millis(10), Time::from_millis(40)];
        let ideal = Ideal { first_user: 7, one_way, rate: BitRate(10_000_000) };
        assert_eq!(ideal.time((7, Time::ZERO), 12_500), Time::from_millis(40));
        assert_eq!(ideal.time((8, Time::ZERO), 12_500), Time::from_millis(130));
        assert_eq!(ideal.slowdown((8, Time::ZERO), 12_500, Time::from_millis(260)), 2.0);
        // A one-way delay of 15 ms instead of 10 ms gives 3 * 15 + 10 = 55 ms.
        assert_eq!(ideal.time((7, Time::from_millis(5)), 12_500), Time::from_millis(55));
        let alike = Ideal { one_way: vec![Time::from_millis(10)], ..ideal };
        assert_eq!(alike.time((11, Time::ZERO), 12_500), Time::from_millis(40));
    }

    #[test]
    fn quantiles_of_slowdowns_are_within_half_a_step() {
        let mut slowdowns = Slowdowns::default();
        (1..=100).for_each(|ratio| slowdowns.record(f64::from(ratio)));
        assert_eq!((slowdowns.count(), slowdowns.mean(), slowdowns.max()), (100, 50.5, 100.0));
        for (q, ratio) in [(0.5, 50.0), (0.95, 95.0), (0.99, 99.0)] {
            assert!((slowdowns.quantile(q) / ratio - 1.0).abs() < 0.033, "{q}");
        }
    }
}

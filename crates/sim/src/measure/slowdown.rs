//! Slowdown of transfers: the time that each took over its time alone in the network.
//!
//! Source: Alizadeh et al., pFabric, SIGCOMM 2013, 5.1 (normalised flow completion time); Li et al., HPCC, SIGCOMM
//! 2019, 5.1 (slowdown: the actual time over that of the flow when nothing else is sent).
//!
//! | number | rule | code |
//! |---|---|---|
//! | (1) | `ideal = RTT + D + S / C` | [`Ideal::time`] |
//! | (2) | `slowdown = time / ideal` | [`Ideal::slowdown`] |
//!
//! RTT is the round trip and D the way from sender to receiver without queues and transmission times; S is payload and
//! headers of all segments; C is the rate at the start of the slowest link of the way, access link included.
//!
//! Cost: a division per transfer; 8 kB at most for each group and class.
//!
//! Deviations:
//! 1. HPCC adds one round trip to `S / C`, whose last half is the ACK. Here a transfer lasts from the opening of its
//!    connection until its last byte is received, so that the handshake is a round trip and the data come one way.
//! 2. pFabric simulates the time alone, with its window. Here the window opens at once: what slow start costs counts as
//!    slowdown, which so is 1 at the least if no link becomes faster.

use fairlane_schemes::base::units::{BitRate, Time};
use fairlane_schemes::port::DelayHistogram;

/// Times of a group's transfers in an empty network.
#[derive(Clone, Debug)]
pub struct Ideal {
    /// The first user of the group.
    pub first_user: u32,
    /// Minimum delay from each user's sender to its receiver; one value if it is the same for all.
    pub one_way: Vec<Time>,
    /// Rate of the slowest link.
    pub rate: BitRate,
}

impl Ideal {
    /// The time alone of `wire_bytes` of a user whose way is `longer` than those of its group are at least. Rule 1.
    #[must_use]
    pub fn time(&self, (user, longer): (u32, Time), wire_bytes: u64) -> Time {
        let index = ((user - self.first_user) as usize).min(self.one_way.len() - 1);
        Time(3 * (self.one_way[index] + longer).0) + self.rate.time_of(wire_bytes)
    }

    /// The slowdown of a transfer of `wire_bytes` of such a user that took `time`. Rule 2.
    #[must_use]
    pub fn slowdown(&self, user: (u32, Time), wire_bytes: u64, time: Time) -> f64 {
        time.0 as f64 / self.time(user, wire_bytes).0 as f64
    }
}

/// The slowdowns of many transfers, in bounded memory.
#[derive(Clone, Debug, Default)]
pub struct Slowdowns {
    /// Each as a time of that many seconds: the steps of the histogram are relative, so that the unit does not matter.
    ratios: DelayHistogram,
}

impl Slowdowns {
    /// Counts one.
    pub fn record(&mut self, slowdown: f64) {
        self.ratios.record(Time::from_secs_f64(slowdown));
    }

    /// Adds those that another has counted.
    pub fn add(&mut self, other: &Self) {
        self.ratios.add(&other.ratios);
    }

    /// Number of values.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.ratios.count()
    }

    /// Mean, exact; 0 if nothing was counted.
    #[must_use]
    pub fn mean(&self) -> f64 {
        self.ratios.mean_s()
    }

    /// The quantile `q`, within 3.2 %.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        self.ratios.quantile_s(q)
    }

    /// The largest.
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
        // 10 ms and 40 ms one way; 12 500 B at 10 Mbit/s take 10 ms: 3 * 10 + 10 = 40 ms, 3 * 40 + 10 = 130 ms.
        let one_way = vec![Time::from_millis(10), Time::from_millis(40)];
        let ideal = Ideal { first_user: 7, one_way, rate: BitRate(10_000_000) };
        assert_eq!(ideal.time((7, Time::ZERO), 12_500), Time::from_millis(40));
        assert_eq!(ideal.time((8, Time::ZERO), 12_500), Time::from_millis(130));
        assert_eq!(ideal.slowdown((8, Time::ZERO), 12_500, Time::from_millis(260)), 2.0);
        // A path of 15 ms instead of 10: 3 * 15 + 10.
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

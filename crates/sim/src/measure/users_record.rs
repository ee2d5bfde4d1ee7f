//! Summaries of many users: percentiles and the worst users, instead of a row for each.

use crate::metrics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Number of worst-off users listed.
const WORST: usize = 20;

metrics! {
    /// Distributions over users.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct UsersRecord {
        /// Throughput in bits on the wire per second.
        throughput_bps: Percentiles, part "throughput_";
        /// Throughput relative to the user's max-min share; null if no user has a max-min share.
        share: Option<Percentiles>, part "share_";
        /// Users with the smallest share, the worst first.
        worst: Vec<WorstUser>, part "worst_" of "user";
    }
}

metrics! {
    /// A distribution over users; percentiles use the nearest rank.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct Percentiles {
        /// Mean.
        mean: f64, unit "", heading "mean";
        /// Minimum.
        min: f64, unit "", heading "min";
        /// 1st percentile.
        p1: f64, unit "", heading "p1";
        /// 5th percentile.
        p5: f64, unit "", heading "p5";
        /// 25th percentile.
        p25: f64, unit "", heading "p25";
        /// Median.
        p50: f64, unit "", heading "p50";
        /// 75th percentile.
        p75: f64, unit "", heading "p75";
        /// 95th percentile.
        p95: f64, unit "", heading "p95";
        /// 99th percentile.
        p99: f64, unit "", heading "p99";
        /// Maximum.
        max: f64, unit "", heading "max";
    }
}

metrics! {
    /// A user with a small share.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct WorstUser {
        /// User, counted within its group.
        user: u32, unit "", heading "user";
        /// Node of an access network to which the user is attached.
        node: Option<String>;
        /// Throughput in bits on the wire per second.
        throughput_bps: f64, unit "bit/s" as "Mbit/s", heading "throughput";
        /// Max-min share of the user.
        max_min_share_bps: f64, unit "bit/s" as "Mbit/s", heading "max-min";
        /// Throughput relative to that share.
        share: f64, unit "1", heading "share";
    }
}

impl Percentiles {
    /// Distribution of `values`, or `None` without values.
    #[must_use]
    pub fn of(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() {
            return None;
        }
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.sort_by(f64::total_cmp);
        let rank = |q: f64| values[((q * values.len() as f64).ceil() as usize).clamp(1, values.len()) - 1];
        Some(Self {
            mean,
            min: rank(0.0),
            p1: rank(0.01),
            p5: rank(0.05),
            p25: rank(0.25),
            p50: rank(0.5),
            p75: rank(0.75),
            p95: rank(0.95),
            p99: rank(0.99),
            max: rank(1.0),
        })
    }
}

impl UsersRecord {
    /// Returns the distributions over `users`. Each user is given by its throughput, max-min share (both in bit/s) and
    /// node.
    #[must_use]
    pub fn of(users: &[(f64, f64, Option<&str>)]) -> Self {
        let mut with_share: Vec<(f64, usize)> = (0..users.len())
            .filter(|&user| users[user].1 > 0.0)
            .map(|user| (users[user].0 / users[user].1, user))
            .collect();
        let share = Percentiles::of(with_share.iter().map(|&(share, _)| share).collect());
        with_share.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        let worst = |&(share, user): &(f64, usize)| WorstUser {
            user: user as u32,
            node: users[user].2.map(str::to_string),
            throughput_bps: users[user].0,
            max_min_share_bps: users[user].1,
            share,
        };
        Self {
            throughput_bps: Percentiles::of(users.iter().map(|user| user.0).collect()).unwrap_or_default(),
            share,
            worst: with_share.iter().take(WORST).map(worst).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_those_of_the_nearest_rank() {
        let percentiles = Percentiles::of((1..=200).map(f64::from).collect()).unwrap();
        let found =
            [percentiles.min, percentiles.p1, percentiles.p5, percentiles.p50, percentiles.p99, percentiles.max];
        assert_eq!(found, [1.0, 2.0, 10.0, 100.0, 198.0, 200.0]);
        assert_eq!(percentiles.mean, 100.5);
        assert_eq!(Percentiles::of(Vec::new()), None);
    }

    #[test]
    fn the_worst_come_first_and_who_asks_for_nothing_has_no_share() {
        let users = [(5.0, 10.0, None), (1.0, 0.0, None), (3.0, 10.0, Some("ap1")), (10.0, 10.0, None)];
        let record = UsersRecord::of(&users);
        let worst: Vec<_> = record.worst.iter().map(|worst| (worst.user, worst.share)).collect();
        assert_eq!(worst, [(2, 0.3), (0, 0.5), (3, 1.0)]);
        assert_eq!(record.worst[0].node.as_deref(), Some("ap1"));
    }
}

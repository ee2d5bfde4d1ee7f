//! Random ranks and the resulting order of packets: the microbenchmark that compares SP-PIFO, AIFO and PACKS with a
//! sorted queue.
//!
//! Cost: a draw and a search of 128 steps per arrival, 128 additions per departure. State: 3 kB.

use crate::contract::prelude::*;

choices! {
    /// Source of a packet's rank.
    pub enum RankSource {
        /// Start tag of fair queueing, by which users or flows share fairly.
        StartTag = "start_tag",
        /// Uniform from 0 to 99: tests the scheme, but does not share the link fairly.
        Uniform = "uniform",
        /// Exponential with mean 25.
        Exponential = "exponential",
        /// 100 minus an exponential with mean 25.
        InverseExponential = "inverse_exponential",
        /// Poisson with mean 50.
        Poisson = "poisson",
        /// Most often close to 0 or 100.
        Convex = "convex",
    }
}

/// Upper bound of ranks, which excludes less than one in 10^12 of each distribution.
const RANKS: usize = 128;
/// Upper bound of ranks of the uniform, exponential and convex distributions.
const BOUND: usize = 100;
/// A rank counts as dropped if this fraction of its packets is dropped.
const DROPPED_PART: f64 = 0.01;

/// A distribution of ranks, and counts of waiting, dropped and served packets per rank.
#[derive(Clone, Debug)]
pub struct DrawnRanks {
    /// Cumulative probability of each rank.
    cumulative: [f64; RANKS],
    /// Waiting packets per rank.
    waiting: [u32; RANKS],
    offered: [u64; RANKS],
    dropped: [u64; RANKS],
    /// Number of inversions: waiting packets of a lower rank when a packet is served.
    inversions: [u64; RANKS],
    served: u64,
}

impl DrawnRanks {
    /// State of an idle port.
    #[must_use]
    pub fn new(source: RankSource) -> Self {
        let weights: [f64; RANKS] = std::array::from_fn(|rank| weight(source, rank));
        let total: f64 = weights.iter().sum();
        let mut sum = 0.0;
        let cumulative = weights.map(|weight| {
            sum += weight;
            sum / total
        });
        Self {
            cumulative,
            waiting: [0; RANKS],
            offered: [0; RANKS],
            dropped: [0; RANKS],
            inversions: [0; RANKS],
            served: 0,
        }
    }

    /// Draws the rank of an arriving packet.
    pub fn draw(&mut self, rng: &mut Rng) -> f64 {
        let cell = rng.open01();
        let rank = self.cumulative.partition_point(|&sum| sum < cell).min(RANKS - 1);
        self.offered[rank] += 1;
        rank as f64
    }

    /// Records that a packet of `rank` was queued.
    #[inline]
    pub fn accepted(&mut self, rank: f64) {
        self.waiting[rank as usize] += 1;
    }

    /// Records that an arriving packet of `rank` was dropped.
    #[inline]
    pub fn dropped(&mut self, rank: f64) {
        self.dropped[rank as usize] += 1;
    }

    /// Records that a packet of `rank` leaves.
    pub fn served(&mut self, rank: f64) {
        let rank = rank as usize;
        self.waiting[rank] -= 1;
        self.served += 1;
        self.inversions[rank] += self.waiting[..rank].iter().map(|&waiting| u64::from(waiting)).sum::<u64>();
    }

    /// Reports the readings: inversions per served packet and drops per offered packet, their distribution over the
    /// ranks, and the lowest dropped rank.
    pub fn report(&self, report: Report<'_>) {
        let part =
            |counts: &[u64], of: &[u64]| counts.iter().sum::<u64>() as f64 / of.iter().sum::<u64>().max(1) as f64;
        let all = &self.inversions;
        report("inversions_per_packet", all.iter().sum::<u64>() as f64 / self.served.max(1) as f64);
        report("inversions_below_rank_20", part(&all[..20], all));
        report("inversions_from_rank_80", part(&all[80..], all));
        report("dropped_part", part(&self.dropped, &self.offered));
        report("drops_below_rank_50", part(&self.dropped[..50], &self.dropped));
        let is_dropped = |&rank: &usize| self.dropped[rank] as f64 > DROPPED_PART * self.offered[rank] as f64;
        if let Some(rank) = (0..RANKS).find(is_dropped) {
            report("lowest_dropped_rank", rank as f64);
        }
    }
}

/// Unnormalised weight of `rank`, as in the simulations of SP-PIFO (`LstfTcpSocket.java`).
fn weight(source: RankSource, rank: usize) -> f64 {
    let below_bound = |weight: f64| if rank < BOUND { weight } else { 0.0 };
    match source {
        RankSource::StartTag => 0.0,
        RankSource::Uniform => below_bound(1.0),
        RankSource::Exponential => below_bound(exponential(rank)),
        RankSource::InverseExponential if (1..=BOUND).contains(&rank) => exponential(BOUND - rank),
        RankSource::InverseExponential => 0.0,
        RankSource::Poisson => poisson(50.0, rank),
        RankSource::Convex => below_bound((0..3).map(|turn| poisson(100.0, rank + turn * BOUND)).sum()),
    }
}

/// An exponential variable of mean 25, rounded down.
fn exponential(value: usize) -> f64 {
    libm::exp(-(value as f64) / 25.0)
}

fn poisson(mean: f64, value: usize) -> f64 {
    libm::exp(-mean) * (1..=value).map(|factor| mean / factor as f64).product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::readings;

    fn drawn(source: RankSource) -> Vec<f64> {
        let (mut ranks, mut rng) = (DrawnRanks::new(source), Rng::stream(1, 0, "test", 0));
        (0..100_000).map(|_| ranks.draw(&mut rng)).collect()
    }

    #[test]
    fn the_distributions_have_the_moments_of_their_definitions() {
        // Expected means: 49.5 for the uniform distribution on 0 ..= 99, and 50 for the Poisson distribution. An
        // exponential variable of mean 25, rounded down and truncated at 100, has the mean 1/(e^0.04 - 1) - 100/(e^4 -
        // 1) = 22.64; mirrored at 100, it has 77.36. Convex is a Poisson variable of mean 100, modulo 100. The variable
        // is 100 or more with probability 0.5133, so the mean is 100 - 51.33 = 48.67. Standard errors of the means of
        // 100 000 draws are at most 0.15.
        let expected = [
            (RankSource::Uniform, 49.5),
            (RankSource::Poisson, 50.0),
            (RankSource::Exponential, 22.64),
            (RankSource::InverseExponential, 77.36),
            (RankSource::Convex, 48.67),
        ];
        for (source, mean) in expected {
            let ranks = drawn(source);
            let measured = ranks.iter().sum::<f64>() / ranks.len() as f64;
            assert!((measured - mean).abs() < 0.6, "{source:?} {measured}");
        }
    }

    #[test]
    fn inversions_are_lower_ranks_left_behind() {
        let mut ranks = DrawnRanks::new(RankSource::Uniform);
        [90.0, 10.0, 10.0, 50.0].into_iter().for_each(|rank| ranks.accepted(rank));
        // When rank 90 is served, three lower ranks wait; for 50 there are two, for 10 none.
        [90.0, 50.0, 10.0, 10.0].into_iter().for_each(|rank| ranks.served(rank));
        let readings = readings(|report| ranks.report(report));
        assert_eq!(readings[0], ("inversions_per_packet", 5.0 / 4.0));
        assert_eq!(readings[2], ("inversions_from_rank_80", 3.0 / 5.0));
    }
}

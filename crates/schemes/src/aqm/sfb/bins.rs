//! The bins of SFB: rules (1), (2) and (5).

use super::params::{DecrementAt, SfbParams};
use crate::contract::prelude::*;
use crate::flows::hash::{bucket, hash};

/// A bin: number of waiting packets and BLUE's probability.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Bin {
    packets: u32,
    pub(super) probability: f32,
    last_change: Option<Time>,
}

/// L levels of N bins, each level with a hash function.
#[derive(Clone, Debug)]
pub(super) struct Bins {
    pub(super) bins: Box<[Bin]>,
    per_level: u32,
    full_at: u32,
    pub(super) seeds: Box<[u64]>,
    /// Time from which stored packets are counted; [`Time::NEVER`] if they are not counted.
    pub(super) counts_since: Time,
}

/// Result of the test of a flow's bins.
#[derive(Clone, Copy, Debug)]
pub(super) struct Judgement {
    pub(super) probability: f64,
    pub(super) fewest_packets: u32,
}

impl Bins {
    pub(super) fn new(params: &SfbParams, full_at: u32) -> Self {
        Self {
            full_at,
            bins: vec![Bin::default(); (params.levels * params.bins) as usize].into(),
            per_level: params.bins,
            seeds: vec![0; params.levels as usize].into(),
            counts_since: Time::NEVER,
        }
    }

    /// Empties the bins and draws new hash functions.
    pub(super) fn restart(&mut self, rng: &mut Rng) {
        self.bins.fill(Bin::default());
        self.seeds.fill_with(|| rng.bits());
        self.counts_since = Time::NEVER;
    }

    /// Calls `each` for the bins of flow `key`.
    #[inline]
    fn for_each(&mut self, key: u32, mut each: impl FnMut(&mut Bin)) {
        let levels = self.bins.chunks_exact_mut(self.per_level as usize);
        for (level, &seed) in levels.zip(&self.seeds) {
            each(&mut level[bucket(hash(key, seed), self.per_level)]);
        }
    }

    /// Applies rule (1) to the bins of flow `key`, and returns the result of rule (2).
    pub(super) fn judge(&mut self, key: u32, now: Time, params: &SfbParams, hold: &mut Hold) -> Judgement {
        let full_at = self.full_at;
        let mut judgement = Judgement { probability: 1.0, fewest_packets: u32::MAX };
        self.for_each(key, |bin| {
            if bin.packets >= full_at {
                bin.change(params.increment, now, hold);
            } else if bin.packets == 0 && params.decrement_at == DecrementAt::Arrival {
                bin.change(-params.decrement, now, hold);
            }
            judgement.probability = judgement.probability.min(f64::from(bin.probability));
            judgement.fewest_packets = judgement.fewest_packets.min(bin.packets);
        });
        judgement
    }

    /// Raises all probabilities of a non-responsive flow.
    pub(super) fn accuse(&mut self, key: u32, now: Time, params: &SfbParams, hold: &mut Hold) {
        self.for_each(key, |bin| bin.change(params.increment, now, hold));
    }

    /// Counts a stored packet: rule (5).
    pub(super) fn count(&mut self, key: u32) {
        self.for_each(key, |bin| bin.packets += 1);
    }

    /// Removes a leaving packet, stored at `enqueued_at`, from the counts: rule (5).
    pub(super) fn release(&mut self, (key, enqueued_at): (u32, Time), now: Time, params: &SfbParams, hold: &mut Hold) {
        if enqueued_at < self.counts_since {
            return;
        }
        self.for_each(key, |bin| {
            bin.packets -= 1;
            if bin.packets == 0 && params.decrement_at == DecrementAt::Drain {
                bin.change(-params.decrement, now, hold);
            }
        });
    }
}

impl Bin {
    #[allow(clippy::cast_possible_truncation)]
    fn change(&mut self, amount: f64, now: Time, hold: &mut Hold) {
        if self.last_change.is_none_or(|last| hold.is_over(now.saturating_sub(last))) {
            self.probability = (f64::from(self.probability) + amount).clamp(0.0, 1.0) as f32;
            self.last_change = Some(now);
        }
    }
}

/// Freeze time of a bin after a change. It is drawn again for each change.
#[derive(Clone, Debug)]
pub(super) struct Hold {
    shortest: Time,
    longest: Time,
    rng: Rng,
}

impl Hold {
    pub(super) fn new(params: &SfbParams, seed: u64) -> Self {
        Self { shortest: params.freeze, longest: params.freeze_most, rng: Rng::stream(seed, 0, "hold", 0) }
    }

    /// Returns true if a bin may change once `elapsed` has passed since its last change.
    fn is_over(&mut self, elapsed: Time) -> bool {
        if elapsed < self.shortest || elapsed >= self.longest {
            return elapsed >= self.shortest;
        }
        elapsed >= self.shortest + Time::from_secs_f64(self.rng.open01() * (self.longest - self.shortest).as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A set of bins with hash functions.
    fn bins(params: &SfbParams) -> Bins {
        let mut bins = Bins::new(params, params.bin_size.unwrap_or(20));
        bins.restart(&mut Rng::stream(1, 0, "test", 0));
        bins.counts_since = Time::ZERO;
        bins
    }

    #[test]
    fn rule_1_moves_each_bin_once_per_freeze() {
        let params = SfbParams {
            bin_size: Some(2),
            freeze: Time::from_millis(100),
            freeze_most: Time::from_millis(100),
            decrement_at: DecrementAt::Arrival,
            increment: 0.25,
            decrement: 0.125,
            ..Default::default()
        };
        let (mut bins, mut hold) = (bins(&params), Hold::new(&params, 0));
        let hold = &mut hold;
        let at = Time::from_millis;
        let judge = |bins: &mut Bins, ms| bins.judge(7, at(ms), &params, &mut Hold::new(&params, 0)).probability;
        assert_eq!(judge(&mut bins, 0), 0.0); // empty bin: lowered to 0, frozen until 100 ms
        (0..2).for_each(|_| bins.count(7));
        assert_eq!([1, 99, 100, 150, 200].map(|ms| judge(&mut bins, ms)), [0.0, 0.0, 0.25, 0.25, 0.5]);
        bins.release((7, at(0)), at(200), &params, hold);
        assert_eq!(judge(&mut bins, 400), 0.5); // one packet: neither empty nor full
        bins.release((7, at(0)), at(400), &params, hold);
        assert_eq!(judge(&mut bins, 401), 0.375);
        // With `Drain` the bin changes when its last packet leaves.
        let drain = SfbParams { decrement_at: DecrementAt::Drain, ..params.clone() };
        assert_eq!(bins.judge(7, at(600), &drain, hold).probability, 0.375);
        bins.count(7);
        bins.release((7, at(600)), at(601), &drain, hold);
        assert_eq!(bins.judge(7, at(601), &drain, hold).probability, 0.25);
    }

    #[test]
    fn the_time_between_two_changes_is_drawn_whenever_a_bin_may_change() {
        let mut hold = Hold::new(&SfbParams::default(), 1);
        let mut over = |ms| (0..10_000).filter(|_| hold.is_over(Time::from_millis(ms))).count();
        // The freeze time is uniform from 10 to 50 ms. So it is never over before 10 ms and always over after 50 ms.
        // After 20 ms it is over in a quarter of the 10 000 cases, with a standard deviation of 43; the test allows
        // five times that.
        assert_eq!([9, 50].map(&mut over), [0, 10_000]);
        assert!(over(20).abs_diff(2500) < 217);
        // A fixed time: lower and upper bound are equal.
        let fixed = Time::from_millis(100);
        let mut hold = Hold::new(&SfbParams { freeze: fixed, freeze_most: fixed, ..Default::default() }, 1);
        assert_eq!([99, 100].map(|ms| hold.is_over(Time::from_millis(ms))), [false, true]);
    }

    #[test]
    fn rule_2_a_flow_that_shares_one_bin_with_a_bad_one_is_spared_by_the_other() {
        let params = SfbParams { bin_size: Some(1), increment: 1.0, ..Default::default() };
        let mut bins = bins(&params);
        let judge =
            |bins: &mut Bins, flow| bins.judge(flow, Time::ZERO, &params, &mut Hold::new(&params, 0)).probability;
        bins.count(0);
        assert_eq!(judge(&mut bins, 0), 1.0);
        // With two levels of 23 bins, one of the 23*23 pairs matches in both levels. Of 5290 flows, 10 are expected to
        // match. The standard deviation is 3.2; the test allows five times that.
        let hit = (1..=5290).filter(|&flow| judge(&mut bins.clone(), flow) == 1.0).count();
        assert!(hit > 0 && hit < 26, "{hit}");
    }
}

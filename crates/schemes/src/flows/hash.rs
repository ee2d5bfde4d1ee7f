//! Maps flow keys to hashes, and hashes to buckets.

use crate::base::rng::mix;

/// A uniform 32-bit hash of a flow key. Each `seed` of 64 random bits gives a different hash.
#[must_use]
#[inline]
pub fn hash(key: u32, seed: u64) -> u32 {
    (mix(u64::from(key) ^ seed) >> 32) as u32
}

/// Returns the bucket of `hash` among `buckets`, without a division (Lemire 2016).
#[must_use]
#[inline]
pub fn bucket(hash: u32, buckets: u32) -> usize {
    ((u64::from(hash) * u64::from(buckets)) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    #[test]
    fn buckets_are_filled_evenly_and_differently_for_each_seed() {
        let fill = |seed| {
            let mut counts = [0u32; 16];
            (0..16_000).for_each(|key| counts[bucket(hash(key, seed), 16)] += 1);
            counts
        };
        // A bucket gets 1000 of the 16 000 draws on average, with a standard deviation of 30.6. The test allows five
        // times that.
        assert!(fill(1).iter().all(|&count| count.abs_diff(1000) < 153), "{:?}", fill(1));
        let mut rng = Rng::stream(1, 0, "test", 0);
        assert_ne!(fill(rng.bits()), fill(rng.bits()));
    }
}

//! Estimates the number of active flows with few bits: the direct bitmap, for one interval or for consecutive
//! intervals.
//!
//! Source: Estan, Varghese and Fisk, "Counting the Number of Active Flows on a High Speed Link", ACM SIGCOMM CCR 32(3),
//! 2002. Section 3 of the AFC paper (afc) uses the direct bitmap, see [`crate::aqm::afc`].
//!
//! Every packet sets bit `h(flow) mod b` of `b` bits. With `z` zero bits and `rho = n/b`:
//!
//! | quantity | formula |
//! |---|---|
//! | estimate | `n = b * ln(b/z)`; `b * ln b` when no bit is zero |
//! | relative standard error | `sqrt(e^rho - rho - 1) / (rho * sqrt(b))` |
//!
//! Cost: a packet takes one hash and sets one bit, an estimate takes one logarithm. Each interval clears `b/64` words.
//! The bitmap has `b/8` bytes.
//!
//! Deviations: 1. Every interval has a new hash seed, so that two flows do not share a bit permanently.
//! 2. afc gives neither `b` nor the interval; both are parameters of the schemes that count flows.
//! 3. Until the end of the first interval, the estimate is the number of flows so far.

use crate::base::rng::Rng;
use crate::base::units::Time;
use crate::flows::hash::{bucket, hash};

/// A direct bitmap.
#[derive(Clone, Debug)]
pub struct DirectBitmap {
    words: Box<[u64]>,
    bits: u32,
    zeros: u32,
    seed: u64,
}

impl DirectBitmap {
    /// Creates a bitmap of `bits` zeros (b), at least 1. The hash uses `seed`.
    #[must_use]
    pub fn new(bits: u32, seed: u64) -> Self {
        Self { words: vec![0; bits.div_ceil(64) as usize].into(), bits, zeros: bits, seed }
    }

    /// Records a packet of flow `key`.
    #[inline]
    pub fn insert(&mut self, key: u32) {
        let bit = bucket(hash(key, self.seed), self.bits);
        let (word, mask) = (&mut self.words[bit / 64], 1 << (bit % 64));
        self.zeros -= u32::from(*word & mask == 0);
        *word |= mask;
    }

    /// Estimated number of flows since the bitmap was cleared.
    #[must_use]
    pub fn estimate(&self) -> f64 {
        let bits = f64::from(self.bits);
        bits * libm::log(bits / f64::from(self.zeros.max(1)))
    }

    /// Clears the bitmap and sets a new hash seed.
    pub fn clear(&mut self, seed: u64) {
        self.words.fill(0);
        self.zeros = self.bits;
        self.seed = seed;
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.words)
    }
}

/// Counts the flows of consecutive measurement intervals.
#[derive(Clone, Debug)]
pub struct FlowCounter {
    bitmap: DirectBitmap,
    min_interval: Time,
    min_packets: u32,
    started: Option<Time>,
    packets: u32,
    flows: Option<f64>,
}

impl FlowCounter {
    /// Creates a counter whose intervals last at least `min_interval` and at least `min_packets` packets.
    #[must_use]
    pub fn new(bits: u32, min_interval: Time, min_packets: u32) -> Self {
        Self { bitmap: DirectBitmap::new(bits, 0), min_interval, min_packets, started: None, packets: 0, flows: None }
    }

    /// Counts a packet of flow `key` that arrived at `now`. Returns true if an interval ended just before it.
    #[inline]
    pub fn count(&mut self, key: u32, now: Time, rng: &mut Rng) -> bool {
        let ended = match self.started {
            None => {
                self.restart(now, rng);
                false
            }
            Some(start) if self.packets >= self.min_packets && now.saturating_sub(start) >= self.min_interval => {
                self.flows = Some(self.bitmap.estimate());
                self.restart(now, rng);
                true
            }
            Some(_) => false,
        };
        self.bitmap.insert(key);
        self.packets += 1;
        ended
    }

    fn restart(&mut self, now: Time, rng: &mut Rng) {
        self.bitmap.clear(rng.bits());
        self.started = Some(now);
        self.packets = 0;
    }

    /// Number of active flows (`N_act`) in the last complete interval, at least 1. In the first interval, the number so
    /// far.
    #[must_use]
    #[inline]
    pub fn flows(&self) -> f64 {
        self.flows.unwrap_or_else(|| self.bitmap.estimate()).max(1.0)
    }

    /// Bytes on the heap.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bitmap.bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative standard error of the estimate of `flows` with `bits`.
    fn standard_error(flows: f64, bits: u32) -> f64 {
        let rho = flows / f64::from(bits);
        // Computes e^rho - 1 - rho without cancellation for small rho.
        (libm::expm1(rho) - rho).max(0.0).sqrt() / (rho * f64::from(bits).sqrt())
    }

    fn estimate(flows: u32, bits: u32, seed: u64) -> f64 {
        let mut bitmap = DirectBitmap::new(bits, seed);
        // Every flow sends several packets, of which only the first may count.
        (0..3 * flows).for_each(|packet| bitmap.insert(packet % flows));
        bitmap.estimate()
    }

    #[test]
    fn the_published_errors_of_105_flows() {
        // With 256 bits, rho = 105/256 = 0.410, and the standard error is sqrt(e^0.410 - 1.410) / (0.410 * 16) = 4.74
        // %. With 1024 bits, rho = 0.1025, and the standard error is 2.25 %.
        assert!((standard_error(105.0, 256) - 0.0474).abs() < 0.0001);
        assert!((standard_error(105.0, 1024) - 0.0225).abs() < 0.0001);
        // For small rho, e^rho - rho - 1 approaches rho^2/2, so the error approaches 1/sqrt(2b) for any small number of
        // flows.
        assert!((standard_error(1e-3, 1024) * 2048f64.sqrt() - 1.0).abs() < 1e-3);
    }

    #[test]
    fn estimates_scatter_as_the_error_formula_says() {
        for (flows, bits) in [(105, 256), (105, 1024), (500, 256), (20, 1024)] {
            let runs = 4000;
            let errors: Vec<f64> = (0..runs)
                .map(|seed| estimate(flows, bits, crate::base::rng::mix(seed)) / f64::from(flows) - 1.0)
                .collect();
            let mean = errors.iter().sum::<f64>() / runs as f64;
            let deviation = (errors.iter().map(|e| e * e).sum::<f64>() / runs as f64).sqrt();
            let expected = standard_error(f64::from(flows), bits);
            // The tolerances are five standard errors. The standard error of the mean is sigma/sqrt(4000); the mean
            // also has the bias of the paper, (e^rho - rho - 1)/(2n). The standard error of the deviation is
            // 1/sqrt(8000) = 1.1 %, doubled because the formula is only a first-order approximation.
            let bias = f64::from(flows) / f64::from(bits) * expected * expected / 2.0;
            assert!((mean - bias).abs() < 5.0 * expected / (runs as f64).sqrt(), "{flows} {bits}: mean {mean}");
            assert!((deviation / expected - 1.0).abs() < 0.08, "{flows} {bits}: {deviation} is not {expected}");
        }
    }

    #[test]
    fn a_full_bitmap_says_b_ln_b() {
        let mut bitmap = DirectBitmap::new(4, 7);
        assert_eq!(bitmap.estimate(), 0.0);
        (0..1000).for_each(|key| bitmap.insert(key));
        assert_eq!(bitmap.zeros, 0);
        assert!((bitmap.estimate() - 4.0 * 4f64.ln()).abs() < 1e-12);
        bitmap.clear(8);
        assert_eq!((bitmap.estimate(), bitmap.bytes()), (0.0, 8));
    }

    #[test]
    fn one_bit_is_enough_to_say_that_there_are_flows() {
        let mut bitmap = DirectBitmap::new(1, 0);
        bitmap.insert(5);
        assert_eq!(bitmap.estimate(), 0.0); // 1 * ln 1
        assert_eq!(bitmap.zeros, 0);
    }

    #[test]
    fn an_interval_lasts_its_time_and_its_packets() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut counter = FlowCounter::new(1024, Time::from_secs(1), 3);
        assert_eq!(counter.flows(), 1.0); // guard: nobody yet
        // An interval ends once it has lasted at least 1 s and has at least 3 packets.
        let arrivals = [(0, 5_000), (1, 5_100), (2, 5_200), (3, 5_300), (4, 6_000), (5, 6_900), (6, 7_500)];
        let ends: Vec<bool> =
            arrivals.iter().map(|&(key, at)| counter.count(key, Time::from_millis(at), &mut rng)).collect();
        assert_eq!(ends, [false, false, false, false, true, false, false]);
        // The estimate for four flows is 1024 ln(1024/1020) = 4.008 if no two share a bit.
        assert!((counter.flows() - 4.0).abs() < 0.01, "{}", counter.flows());
        assert!(counter.count(7, Time::from_millis(8_000), &mut rng));
        assert!((counter.flows() - 3.0).abs() < 0.01, "{}", counter.flows());
    }

    #[test]
    fn the_first_interval_counts_as_it_goes() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut counter = FlowCounter::new(1024, Time::from_secs(1), 1);
        (0..50).for_each(|key| assert!(!counter.count(key, Time::ZERO, &mut rng)));
        // The standard error is 2.1 % (1/sqrt(2b)); the test allows five times that.
        assert!((counter.flows() / 50.0 - 1.0).abs() < 0.11, "{}", counter.flows());
    }
}

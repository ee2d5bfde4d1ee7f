//! Random numbers: one generator, a named stream per component, and our own samplers.
//!
//! The generator is xoshiro256++ (Blackman and Vigna 2018). A stream is seeded from (seed, replication, name, index),
//! so the draws of one component do not affect those of another. The samplers use only IEEE arithmetic and `libm`'s
//! portable logarithm: the same seed gives the same bits on every machine.

use rand_core::{Rng as _, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// One stream of random numbers.
#[derive(Clone, Debug)]
pub struct Rng(Xoshiro256PlusPlus);

impl Rng {
    /// Returns the stream of (seed, replication, name, index). Each combination has a separate stream.
    #[must_use]
    pub fn stream(seed: u64, replication: u64, name: &str, index: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(Self::seed_of_stream(seed, replication, name, index)))
    }

    /// Seed of the generator of [`Rng::stream`], for hosts that run the same generator.
    #[must_use]
    pub fn seed_of_stream(seed: u64, replication: u64, name: &str, index: u64) -> u64 {
        let mut hash = mix(mix(seed) ^ replication);
        for byte in name.bytes() {
            hash = mix(hash ^ u64::from(byte));
        }
        mix(hash ^ index)
    }

    /// The next 64 random bits.
    #[inline]
    pub fn bits(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// Draws uniformly from the open interval (0, 1): the midpoints of 2^52 equal cells.
    #[inline]
    pub fn open01(&mut self) -> f64 {
        ((self.bits() >> 12) as f64 + 0.5) * (1.0 / (1u64 << 52) as f64)
    }

    /// Exponential with the given mean.
    #[inline]
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * libm::log(self.open01())
    }

    /// Draws from a normal distribution with mean 0 and variance 1 (Box and Muller 1958). Uses two uniform draws.
    #[inline]
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * libm::log(self.open01())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * self.open01())
    }

    /// Draws from a Pareto distribution (type I) with the given mean; all values are above the scale `mean * (shape -
    /// 1) / shape`. `shape` must be above 1.
    #[inline]
    pub fn pareto(&mut self, mean: f64, shape: f64) -> f64 {
        mean * (shape - 1.0) / shape * libm::pow(self.open01(), -1.0 / shape)
    }

    /// Draws from a Lomax distribution (Pareto type II, from zero on) with the given mean. The scale is `mean * (shape
    /// - 1)`; `shape` must be above 1.
    #[inline]
    pub fn lomax(&mut self, mean: f64, shape: f64) -> f64 {
        mean * (shape - 1.0) * (libm::pow(self.open01(), -1.0 / shape) - 1.0)
    }
}

/// Finaliser of SplitMix64 (Steele, Lea and Flood 2014): every input bit affects every output bit.
pub(crate) fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn open01_never_reaches_its_ends() {
        // Tests the extreme draws: all bits zero, all bits one.
        let cell = 1.0 / (1u64 << 52) as f64;
        assert!(0.5 * cell > 0.0);
        assert!((((1u64 << 52) - 1) as f64 + 0.5) * cell < 1.0);
    }

    #[test]
    fn exponential_has_its_mean_and_variance() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| rng.exponential(2.0)).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(n);
        // The standard error of the mean is 2/sqrt(n) = 0.0045, of the variance about 4*sqrt(8/n) = 0.025. The test
        // allows five of each.
        assert!((mean - 2.0).abs() < 0.023, "{mean}");
        assert!((variance - 4.0).abs() < 0.13, "{variance}");
    }

    #[test]
    fn normal_draws_have_the_moments_and_tail_of_a_normal_distribution() {
        let mut rng = Rng::stream(1, 0, "test", 0);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| rng.normal()).collect();
        let moment = |power| draws.iter().map(|x| x.powi(power)).sum::<f64>() / f64::from(n);
        // The first four moments are 0, 1, 0 and 3. The standard error of moment k is sqrt(v/n), where v = 1, 2, 15 and
        // 96 is the variance of X^k. The test allows five of each.
        let error = |variance: f64| 5.0 * (variance / f64::from(n)).sqrt();
        assert!(moment(1).abs() < error(1.0), "{}", moment(1));
        assert!((moment(2) - 1.0).abs() < error(2.0), "{}", moment(2));
        assert!(moment(3).abs() < error(15.0), "{}", moment(3));
        assert!((moment(4) - 3.0).abs() < error(96.0), "{}", moment(4));
        // P(|X| > 1.96) = 0.05.
        let tail = draws.iter().filter(|x| x.abs() > 1.959_964).count() as f64 / f64::from(n);
        assert!((tail - 0.05).abs() < error(0.05), "{tail}");
    }

    #[test]
    fn pareto_and_lomax_have_their_tails_and_moments() {
        // Type I: P(X > x) = (scale/x)^shape and E[ln(X/scale)] = 1/shape with variance 1/shape^2. Lomax: P(X > x) = (1
        // + x/scale)^-shape. The test allows five standard errors of n draws.
        let (mean, shape, n) = (30.0, 1.3, 200_000);
        let scale = mean * (shape - 1.0) / shape;
        let mut rng = Rng::stream(1, 0, "test", 0);
        let draws: Vec<f64> = (0..n).map(|_| rng.pareto(mean, shape)).collect();
        assert!(draws.iter().all(|&x| x >= scale));
        let root_n = f64::from(n).sqrt();
        let logs = draws.iter().map(|x| (x / scale).ln()).sum::<f64>() / f64::from(n);
        assert!((logs - 1.0 / shape).abs() < 5.0 / shape / root_n, "{logs}");
        let share_above = |draws: &[f64], x: f64| draws.iter().filter(|&&draw| draw > x).count() as f64 / f64::from(n);
        for x in [10.0, 100.0, 1000.0] {
            let tail = (scale / x).powf(shape);
            assert!((share_above(&draws, x) - tail).abs() < 5.0 * tail.sqrt() / root_n, "{x}");
        }
        let scale = mean * (shape - 1.0);
        let draws: Vec<f64> = (0..n).map(|_| rng.lomax(mean, shape)).collect();
        assert!(draws.iter().all(|&x| x >= 0.0));
        for x in [1.0, 10.0, 100.0, 1000.0] {
            let tail = (1.0 + x / scale).powf(-shape);
            assert!((share_above(&draws, x) - tail).abs() < 5.0 * tail.sqrt() / root_n, "{x}");
        }
    }

    #[test]
    fn a_light_tail_shows_its_mean() {
        // Shape 5, mean 1: the variance is 1/(shape (shape - 2)) = 1/15 (type I) and shape/(shape - 2) = 5/3 (Lomax).
        let n = 200_000;
        let mut rng = Rng::stream(1, 0, "test", 0);
        let pareto = (0..n).map(|_| rng.pareto(1.0, 5.0)).sum::<f64>() / f64::from(n);
        assert!((pareto - 1.0).abs() < 5.0 * (1.0 / 15.0 / f64::from(n)).sqrt(), "{pareto}");
        let lomax = (0..n).map(|_| rng.lomax(1.0, 5.0)).sum::<f64>() / f64::from(n);
        assert!((lomax - 1.0).abs() < 5.0 * (5.0 / 3.0 / f64::from(n)).sqrt(), "{lomax}");
    }

    #[test]
    fn draws_are_pinned_to_the_last_bit() {
        // These values were recorded, not derived. No machine, compiler or version may change them.
        let mut rng = Rng::stream(1, 0, "test", 0);
        let draws = [rng.exponential(1.0), rng.pareto(30.0, 1.3), rng.lomax(15.0, 1.2), rng.open01()];
        assert_eq!(draws.map(f64::to_bits), PINNED);
    }

    const PINNED: [u64; 4] =
        [0x3ff1_0253_e0bb_8d94, 0x401d_92a2_5c83_3f3d, 0x3ff9_4b12_4bcf_4596, 0x3fe8_6980_14d5_59f1];

    #[test]
    fn streams_differ_by_every_part_of_their_name() {
        let first = |seed, replication, name, index| Rng::stream(seed, replication, name, index).bits();
        let base = first(1, 2, "source", 3);
        assert_eq!(base, first(1, 2, "source", 3));
        for other in
            [first(2, 2, "source", 3), first(1, 3, "source", 3), first(1, 2, "sourcf", 3), first(1, 2, "source", 4)]
        {
            assert_ne!(base, other);
        }
    }
}

//! Estimators of the size of a population from captures of single animals: the capture-recapture models M0 and Mh.
//!
//! Sources: Burnham and Overton, "Robust estimation of population size when capture probabilities vary among animals",
//! Ecology 60(5), 1979, for the jackknife of model Mh and the choice of its order.
//!
//! On each of `t` occasions one flow is captured: `S` distinct flows, of which `f_j` were captured `j` times.
//!
//! | name | estimate |
//! |---|---|
//! | M0 | N of `S = N (1 - (1 - 1/N)^t)`; at most `t^2/2`, the cap for `S = t` |
//! | Mh, order k | `N_k = (1/k!) sum_i=0..k (-1)^i C(k,i) (t-i)^k S_(t-i)`, `S_(t-i) = S - sum_j f_j [i]_j/[t]_j` |
//! | Mh, tested | the first k with `|T_k| < 1.96`, `T_k = (N_(k+1) - N_k) / sqrt(V_k)`, else 5 |
//!
//! `V_k = S/(S-1) (sum_j b_j^2 f_j - (N_(k+1) - N_k)^2/S)`, where `b_j` is the difference of the coefficients of `f_j`.
//! `[x]_j` is the falling factorial.
//!
//! Guards: with k occasions or fewer, order k estimates S. No estimate is below S.

use crate::choices;

choices! {
    /// Method to estimate the number of flows from the captures.
    pub enum Estimator {
        /// Assumes that every flow is captured with the same probability.
        M0 = "m0",
        /// Jackknife of order 1.
        Jackknife1 = "jackknife_1",
        /// Jackknife of order 2.
        Jackknife2 = "jackknife_2",
        /// Jackknife of order 3.
        Jackknife3 = "jackknife_3",
        /// Jackknife of order 4.
        Jackknife4 = "jackknife_4",
        /// Jackknife of order 5.
        Jackknife5 = "jackknife_5",
        /// Jackknife whose order is chosen by Burnham and Overton's test.
        Tested = "jackknife_tested",
    }
}

/// Highest order of the jackknife. Flows captured more than 5 times need no separate count.
pub(super) const MAX_ORDER: usize = 5;

/// Captures on some occasions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Captures {
    /// t: number of occasions; on each, one packet is captured.
    pub occasions: u32,
    /// S: number of distinct flows that were captured.
    pub distinct: u32,
    /// f_1 to f_5: number of flows captured exactly 1 to 5 times.
    pub frequencies: [u32; MAX_ORDER],
}

/// An estimator with precomputed values for one number of occasions.
#[derive(Clone, Debug)]
pub(super) struct Population {
    estimator: Estimator,
    occasions: u32,
    /// Estimates of M0, indexed by S.
    equal: Vec<f64>,
    /// Coefficients of f_j in N_k - S, by order.
    jackknife: [[f64; MAX_ORDER]; MAX_ORDER],
}

impl Population {
    pub(super) fn new(estimator: Estimator) -> Self {
        Self { estimator, occasions: 0, equal: Vec::new(), jackknife: Default::default() }
    }

    /// Returns N^, the estimated number of flows, at least S.
    pub(super) fn estimate(&mut self, captures: &Captures) -> f64 {
        if captures.occasions != self.occasions {
            self.prepare(captures.occasions);
        }
        let estimate = match self.estimator {
            Estimator::M0 => self.equal[captures.distinct as usize],
            Estimator::Jackknife1 => self.order(1, captures),
            Estimator::Jackknife2 => self.order(2, captures),
            Estimator::Jackknife3 => self.order(3, captures),
            Estimator::Jackknife4 => self.order(4, captures),
            Estimator::Jackknife5 => self.order(5, captures),
            Estimator::Tested => self.order(self.tested_order(captures), captures),
        };
        estimate.max(f64::from(captures.distinct))
    }

    /// Bytes on the heap.
    pub(super) fn bytes(&self) -> usize {
        size_of_val(&*self.equal)
    }

    fn prepare(&mut self, occasions: u32) {
        self.occasions = occasions;
        if self.estimator == Estimator::M0 {
            self.equal.clear();
            self.equal.extend((0..=occasions).map(|distinct| equal_catchability(distinct, occasions)));
        }
        for k in 1..=MAX_ORDER {
            self.jackknife[k - 1] = coefficients(k, occasions);
        }
    }

    /// Returns N_k.
    fn order(&self, k: usize, captures: &Captures) -> f64 {
        f64::from(captures.distinct) + weighted_sum(&self.jackknife[k - 1], captures)
    }

    fn tested_order(&self, captures: &Captures) -> usize {
        let distinct = f64::from(captures.distinct);
        if captures.distinct < 2 {
            return 1;
        }
        let settled = |k: &usize| {
            let (here, next) = (&self.jackknife[k - 1], &self.jackknife[*k]);
            let b: [f64; MAX_ORDER] = std::array::from_fn(|j| next[j] - here[j]);
            let step = weighted_sum(&b, captures);
            let squares = weighted_sum(&b.map(|b| b * b), captures);
            let variance = distinct / (distinct - 1.0) * (squares - step * step / distinct);
            // Computes |T_k| < 1.96 without the division. A step of 0 is not significant, regardless of its variance.
            step == 0.0 || step * step < 1.96 * 1.96 * variance
        };
        (1..MAX_ORDER).find(settled).unwrap_or(MAX_ORDER)
    }
}

fn weighted_sum(weights: &[f64; MAX_ORDER], captures: &Captures) -> f64 {
    weights.iter().zip(captures.frequencies).map(|(weight, f)| weight * f64::from(f)).sum()
}

/// Computes M0 by bisection: solves `S = N (1 - (1 - 1/N)^t)` for N.
fn equal_catchability(distinct: u32, occasions: u32) -> f64 {
    let (s, t) = (f64::from(distinct), f64::from(occasions));
    let cap = (t * t / 2.0).max(s);
    if distinct <= 1 {
        return s;
    }
    let expected = |n: f64| -n * libm::expm1(t * libm::log1p(-1.0 / n));
    if expected(cap) <= s {
        return cap;
    }
    // expected() grows from 1 at N = 1 towards t.
    let (mut low, mut high) = (s, cap);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if expected(middle) < s { low = middle } else { high = middle }
    }
    high
}

/// Coefficients of f_1 to f_5 in N_k - S for `occasions` (t), in closed form; 0 if order k is not defined.
fn coefficients(k: usize, occasions: u32) -> [f64; MAX_ORDER] {
    if occasions as usize <= k {
        return [0.0; MAX_ORDER];
    }
    let t = f64::from(occasions);
    let power = |x: f64, n: usize| (0..n).fold(1.0, |product, _| product * x);
    let numerators = match k {
        1 => [t - 1.0, 0.0, 0.0, 0.0, 0.0],
        2 => [2.0 * t - 3.0, -power(t - 2.0, 2), 0.0, 0.0, 0.0],
        3 => [3.0 * t - 6.0, -(3.0 * t * t - 15.0 * t + 19.0), power(t - 3.0, 3), 0.0, 0.0],
        4 => [
            4.0 * t - 10.0,
            -(6.0 * t * t - 36.0 * t + 55.0),
            4.0 * power(t, 3) - 42.0 * t * t + 148.0 * t - 175.0,
            -power(t - 4.0, 4),
            0.0,
        ],
        5 => [
            5.0 * t - 15.0,
            -(10.0 * t * t - 70.0 * t + 125.0),
            10.0 * power(t, 3) - 120.0 * t * t + 485.0 * t - 660.0,
            -(power(t - 4.0, 5) - power(t - 5.0, 5)),
            power(t - 5.0, 5),
        ],
        _ => unreachable!("orders are 1 to 5"),
    };
    let mut falling = 1.0; // [t]_j
    std::array::from_fn(|j| {
        falling *= t - j as f64;
        if numerators[j] == 0.0 { 0.0 } else { numerators[j] / falling }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::rng::Rng;

    fn greatest_common_divisor(a: i128, b: i128) -> i128 {
        if b == 0 { a.abs() } else { greatest_common_divisor(b, a % b) }
    }

    /// Exact fractions.
    #[derive(Clone, Copy)]
    struct Ratio(i128, i128);

    impl Ratio {
        fn new(a: i128, b: i128) -> Self {
            let divisor = greatest_common_divisor(a, b).max(1);
            Self(a / divisor, b / divisor)
        }
        fn plus(self, other: Self) -> Self {
            Self::new(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
        }
        fn as_f64(self) -> f64 {
            self.0 as f64 / self.1 as f64
        }
    }

    fn falling(x: i128, n: usize) -> i128 {
        (0..n as i128).map(|i| x - i).product()
    }

    /// Computes the coefficient of f_j in N_k - S exactly, by the sum over omitted occasions.
    fn literal(k: usize, t: i128, j: usize) -> f64 {
        let factorial: i128 = (1..=k as i128).product();
        let mut sum = Ratio(0, 1);
        for i in 0..=k as i128 {
            let binomial = falling(k as i128, i as usize) / (1..=i).product::<i128>();
            let sign = if i % 2 == 0 { -1 } else { 1 }; // (-1)^i, and the minus in S_(t-i)
            let factor = sign * binomial * (t - i).pow(k as u32) * falling(i, j);
            sum = sum.plus(Ratio::new(factor, factorial * falling(t, j)));
        }
        sum.as_f64()
    }

    #[test]
    fn the_sum_written_out_is_the_sum() {
        for t in (6..=60).chain([200, 1000, 10_000]) {
            for k in 1..=MAX_ORDER {
                let explicit = coefficients(k, t);
                for j in 1..=MAX_ORDER {
                    let expected = literal(k, i128::from(t), j);
                    assert!(
                        (explicit[j - 1] - expected).abs() <= 1e-12 * expected.abs().max(1.0),
                        "t {t} k {k} j {j}: {} is not {expected}",
                        explicit[j - 1]
                    );
                }
            }
        }
    }

    /// Computes the frequencies of a history, a list of the flows captured on each occasion.
    fn captures(history: &[u32]) -> Captures {
        let mut result = Captures { occasions: history.len() as u32, ..Default::default() };
        let mut flows = history.to_vec();
        flows.sort_unstable();
        for group in flows.chunk_by(|a, b| a == b) {
            result.distinct += 1;
            if group.len() <= MAX_ORDER {
                result.frequencies[group.len() - 1] += 1;
            }
        }
        result
    }

    #[test]
    fn the_jackknife_is_what_leaving_occasions_out_gives() {
        // By definition S_(t-i) is the mean number of distinct flows over all ways to omit i occasions.
        let history = [1, 2, 1, 3, 4, 1, 5, 2, 6];
        let t = history.len();
        let mut left_out = [(0.0, 0.0); 4];
        for subset in 0u32..1 << t {
            let i = subset.count_ones() as usize;
            if i < 4 {
                let rest: Vec<u32> = (0..t).filter(|at| subset >> at & 1 == 0).map(|at| history[at]).collect();
                left_out[i].0 += f64::from(captures(&rest).distinct);
                left_out[i].1 += 1.0;
            }
        }
        let s = |i: usize| left_out[i].0 / left_out[i].1;
        let t = t as f64;
        let orders = [
            t * s(0) - (t - 1.0) * s(1),
            (t * t * s(0) - 2.0 * (t - 1.0).powi(2) * s(1) + (t - 2.0).powi(2) * s(2)) / 2.0,
            (t.powi(3) * s(0) - 3.0 * (t - 1.0).powi(3) * s(1) + 3.0 * (t - 2.0).powi(3) * s(2)
                - (t - 3.0).powi(3) * s(3))
                / 6.0,
        ];
        for (estimator, expected) in
            [Estimator::Jackknife1, Estimator::Jackknife2, Estimator::Jackknife3].into_iter().zip(orders)
        {
            let estimate = Population::new(estimator).estimate(&captures(&history));
            assert!((estimate - expected).abs() < 1e-9, "{estimator:?}: {estimate} is not {expected}");
        }
    }

    #[test]
    fn m0_inverts_the_expected_number_of_distinct_flows() {
        let mut m0 = Population::new(Estimator::M0);
        for (distinct, occasions) in [(2u32, 50u32), (13, 50), (39, 50), (40, 50), (49, 50), (3, 4)] {
            let n = m0.estimate(&Captures { occasions, distinct, ..Default::default() });
            let back = n * (1.0 - (1.0 - 1.0 / n).powf(f64::from(occasions)));
            assert!((back - f64::from(distinct)).abs() < 1e-9, "{distinct} of {occasions}: {n} gives {back}");
        }
        // In 50 occasions, 101 * (1 - (100/101)^50) = 39.6 of 101 flows are captured on average. So 101 is between the
        // estimates for 39 and for 40 captured flows.
        let mut of = |distinct| m0.estimate(&Captures { occasions: 50, distinct, ..Default::default() });
        assert!(of(39) < 101.0 && 101.0 < of(40));
        assert_eq!((of(50), of(1), of(0)), (1250.0, 1.0, 0.0)); // t^2/2; one flow; none
    }

    #[test]
    fn equal_flows_are_counted_right_on_average() {
        // With 30 flows and 200 occasions, each flow is captured 6.7 times on average. So M0 is nearly exact and the
        // jackknife adds little.
        let mut rng = Rng::stream(1, 0, "test", 0);
        let mut mean = |estimator| {
            let mut population = Population::new(estimator);
            let runs = 400;
            let total: f64 = (0..runs)
                .map(|_| {
                    let history: Vec<u32> = (0..200).map(|_| (rng.open01() * 30.0) as u32).collect();
                    population.estimate(&captures(&history))
                })
                .sum();
            total / f64::from(runs)
        };
        // E[S] = 30 (1 - (29/30)^200) = 29.97.
        assert!((mean(Estimator::M0) - 30.0).abs() < 0.2);
        assert!((mean(Estimator::Jackknife1) - 30.0).abs() < 0.6);
        assert!((mean(Estimator::Tested) - 30.0).abs() < 0.6);
    }

    #[test]
    fn the_test_stops_at_the_first_order_that_adds_nothing() {
        let tested = |frequencies: [u32; 5], distinct| {
            let captures = Captures { occasions: 50, distinct, frequencies };
            let mut population = Population::new(Estimator::Tested);
            population.estimate(&captures);
            population.tested_order(&captures)
        };
        // No flow is captured exactly once, so N_1 = S. The step to order 2 is small compared with its standard
        // deviation.
        assert_eq!(tested([0, 0, 0, 0, 9], 9), 1);
        // One flow: S/(S-1) is not defined.
        assert_eq!(tested([1, 0, 0, 0, 0], 1), 1);
        // All flows are captured once. N_2 exceeds N_1 by 0.96 f_1 = 38, with variance 40/39 * (0.9216 * 40 - 0.9216 *
        // 40) = 0. This step is significant, and so are all further steps.
        assert_eq!(tested([40, 0, 0, 0, 0], 40), 5);
        // 20 flows are captured once and 10 twice. The step is 0.96 * 20 - 0.94 * 10 = 9.8, b_1^2 * f_1 + b_2^2 * f_2
        // is 27.3, and the variance V is 30/29 * (27.3 - 3.2) = 24.9. So T_1 is 1.97, above 1.96, and the test goes on
        // to order 2.
        assert_eq!(tested([20, 10, 0, 0, 0], 30), 2);
    }

    #[test]
    fn too_few_occasions_estimate_what_was_seen() {
        let captures = Captures { occasions: 4, distinct: 4, frequencies: [4, 0, 0, 0, 0] };
        assert_eq!(Population::new(Estimator::Jackknife4).estimate(&captures), 4.0);
        assert_eq!(Population::new(Estimator::Jackknife5).estimate(&captures), 4.0);
        assert!(Population::new(Estimator::Jackknife3).estimate(&captures) > 4.0);
    }

    #[test]
    fn no_estimate_is_below_what_was_seen() {
        // Many flows are captured twice. The coefficient (2 t - 3) applies to 0 flows, and -(t - 2)^2/(t (t - 1)) to 20
        // flows, so the sum is negative.
        let captures = Captures { occasions: 50, distinct: 20, frequencies: [0, 20, 0, 0, 0] };
        assert_eq!(Population::new(Estimator::Jackknife2).estimate(&captures), 20.0);
    }
}

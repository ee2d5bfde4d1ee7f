//! Random choice of packets, with netem's correlation.

use crate::scenario::ChanceParams;
use fairlane_schemes::base::rng::Rng;
use fairlane_schemes::base::units::Time;

/// Returns true if a packet that enters at `now` is drawn (rule 10). `last` is the last random number that decided.
pub(super) fn happens(params: &ChanceParams, last: &mut Option<f64>, now: Time, rng: &mut Rng) -> bool {
    if !params.span.has(now) {
        return false;
    }
    let (drawn, weight) = (rng.open01(), params.correlation.0);
    let number = last.map_or(drawn, |last| (1.0 - weight) * drawn + weight * last);
    *last = Some(number);
    number < params.probability.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::impairment::testing::{PACKETS, chance};

    #[test]
    fn correlated_numbers_have_the_correlation_and_variance_of_netem() {
        // x = (1 - r) u + r x' has the mean 1/2, the correlation r of neighbours, and the variance of u, 1/12, times
        // (1 - r)/(1 + r). Numbers that are k packets apart have a correlation of r^k, so the variance of the mean is
        // multiplied by (1 + r)/(1 - r). The tolerances are five standard errors, for the variance and correlation with
        // the same factor.
        let (r, n) = (0.6, f64::from(PACKETS));
        let (mut rng, mut last) = (Rng::stream(1, 0, "test", 0), None);
        let params = chance(0.5, r);
        let happened: Vec<(bool, f64)> = (0..PACKETS)
            .map(|_| (happens(&params, &mut last, Time::ZERO, &mut rng), last.expect("drawn") - 0.5))
            .collect();
        assert!(happened.iter().all(|&(happened, number)| happened == (number < 0.0)));
        let numbers: Vec<f64> = happened.into_iter().map(|(_, number)| number).collect();
        let mean = numbers.iter().sum::<f64>() / n;
        let variance = numbers.iter().map(|x| x * x).sum::<f64>() / n;
        let covariance = numbers.windows(2).map(|pair| pair[0] * pair[1]).sum::<f64>() / n;
        let (expected, factor) = (1.0 / 12.0 * (1.0 - r) / (1.0 + r), ((1.0 + r) / (1.0 - r)).sqrt());
        let error = 5.0 / n.sqrt() * factor;
        assert!(mean.abs() < error * expected.sqrt(), "{mean}");
        assert!((variance / expected - 1.0).abs() < 2.0f64.sqrt() * error, "{variance} {expected}");
        assert!((covariance / variance - r).abs() < error, "{}", covariance / variance);
    }
}

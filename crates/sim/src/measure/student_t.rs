//! Student's t distribution, for confidence intervals.

use statrs::distribution::{ContinuousCDF, StudentsT};

/// Two-sided quantile of Student's t distribution: `confidence` is in (0, 1), and there is at least one degree of
/// freedom.
#[must_use]
pub fn student_t(confidence: f64, degrees: u32) -> f64 {
    let distribution = StudentsT::new(0.0, 1.0, f64::from(degrees)).expect("positive degrees of freedom");
    distribution.inverse_cdf(0.5 + confidence / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_those_of_the_t_table() {
        // Any t table has t(0.975; 3) = 3.182 and t(0.95; 3) = 2.353.
        assert!((student_t(0.95, 3) - 3.182).abs() < 0.001);
        assert!((student_t(0.9, 3) - 2.353).abs() < 0.001);
    }
}

//! Distributions of packet times, as records.

use crate::metrics;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

metrics! {
    /// Distribution of individually measured times.
    #[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct TimesRecord {
        /// Number of samples.
        samples: u64, unit "", heading "samples";
        /// Mean, exact.
        mean_s: f64, unit "s" as "ms", better "low", heading "mean", shown "columns summary paths lab overview";
        /// Median, within 3.2 %.
        p50_s: f64, unit "s" as "ms", better "low", heading "p50", shown "columns summary paths";
        /// 95th percentile, within 3.2 %.
        p95_s: f64, unit "s" as "ms", better "low", heading "p95", shown "columns summary paths";
        /// 99th percentile, within 3.2 %.
        p99_s: f64, unit "s" as "ms", better "low", heading "p99", shown "columns summary paths lab overview";
        /// Maximum, exact.
        max_s: f64, unit "s" as "ms", better "low", heading "longest", shown "columns summary";
    }
}

metrics! {
    /// Distribution of times as a histogram. The width of a step is at most 6.3 % of its time.
    #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
    pub struct DistributionRecord {
        /// Minimum, where the first step starts.
        min_s: f64, unit "s" as "ms", better "low", heading "shortest";
        /// End of each step. A step excludes its end, except the last step, which ends at the longest time.
        end_s: Vec<f64>, unit "s" as "ms", heading "end of the step", of "step";
        /// Fraction of the samples in each step.
        share: Vec<f64>, unit "1", heading "part of the samples", of "step";
    }
}

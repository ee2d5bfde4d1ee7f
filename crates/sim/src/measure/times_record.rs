//! Times of many packets, in a record.

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

//! Times of many packets, in a record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Times that were measured one by one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct TimesRecord {
    /// How many.
    pub samples: u64,
    /// Mean, exact.
    pub mean_s: f64,
    /// Median, within 3.2 %.
    pub p50_s: f64,
    /// 95th percentile, within 3.2 %.
    pub p95_s: f64,
    /// 99th percentile, within 3.2 %.
    pub p99_s: f64,
    /// Maximum, exact.
    pub max_s: f64,
}

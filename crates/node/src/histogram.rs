//! Distributions of times for reports.

use fairlane_schemes::port::DelayHistogram;
use serde::{Serialize, Serializer};
use serde_json::{Value as Json, json};

/// Returns a JSON report: number of values, and mean, percentiles and maximum in seconds.
#[must_use]
pub fn report(histogram: &DelayHistogram) -> Json {
    json!({
        "packets": histogram.count(),
        "mean_s": histogram.mean_s(),
        "p50_s": histogram.quantile_s(0.5),
        "p95_s": histogram.quantile_s(0.95),
        "p99_s": histogram.quantile_s(0.99),
        "max_s": histogram.max().as_secs_f64(),
    })
}

/// Serialises a histogram as [`report`].
pub(crate) fn serialize<S: Serializer>(histogram: &DelayHistogram, serializer: S) -> Result<S::Ok, S::Error> {
    report(histogram).serialize(serializer)
}

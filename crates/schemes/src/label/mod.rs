//! Label-based schemes besides ABC: the edge writes a label, every port decides by it.
//!
//! - [`csfq`]: rates, and drops in proportion to what exceeds the fair one
//! - [`rate`]: the rate estimator that markers and ports share

pub mod csfq;
pub mod rate;

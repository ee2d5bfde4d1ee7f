//! CSFQ in integers: rates and the fair rate are logarithms, so no division is needed.
//!
//! Source: as in [`crate::label::csfq`], which is the reference of the tests. Implements its default variant
//! ("amended"), which allows a limited number of cuts each time congestion begins.
//!
//! The label is log2 of a user's rate divided by its reference rate, in the format of the activity
//! ([`super::Activity`]): reference rates act as weights. The drop probability of eq. (3) is
//!
//! ```text
//! 1 - alpha/label = 1 - 2^-(log2(label) - log2(alpha))
//! ```
//!
//! and is compared with 32 random bits, which are an input. Eq. (5), `alpha * C/F`, is a sum of logarithms; the cut by
//! 1 % in eq. (7) adds a constant.
//!
//! Cost: 24 bytes per user; per packet two divisions fewer than the reference, about 40 multiplications of 64 bits at a
//! port, 30 at the edge. State of a port: 72 bytes.
//!
//! Deviations: 1. Packets of one tick (2^-20 to 2^-19 time constants), not of one instant, are summed and take effect
//! at the next tick. 2. If time runs backwards, the elapsed time is 0. 3. Sums saturate at 2^48 bytes. 4. A label is
//! never below 2^-32 reference rates.
//!
//! Not implemented: the variants "1998" and "ton_fig4", cuts allowed per window, the bound "floor".

mod fair_rate;
mod rate;

pub use fair_rate::{FixedCsfq, FixedCsfqParams, QueueState};
pub use rate::{FixedRates, RateConstants};

pub(super) use fair_rate::{CUTS, LOG2_CUT_Q31};

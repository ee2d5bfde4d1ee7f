//! Integer arithmetic for the data planes: the label, meter, averager and threshold of ABC without floating point.
//!
//! Source: abc2018 eq. (1) to (10), as in [`crate::label::abc`] and [`crate::measure::utema`]. All tests of this module
//! compare with these two. eBPF and P4 programs perform exactly these operations, with tables and constants that this
//! module writes.
//!
//! A packet needs only additions, shifts, comparisons and multiplications of 64-bit integers. The averager divides S by
//! N, but has an alternative without division. The comment of each product explains why it fits into 64 bits. Constants
//! that depend on parameters are computed when a host is configured.
//!
//! | quantity | format | range | resolution |
//! |---|---|---|---|
//! | [`Activity`], the label; A_avg | signed Q16, 22 bits | -32 to 32 - 2^-16 | 1.5e-5 |
//! | internal logarithm | signed Q31 | -64 to 64 | 4.7e-10 |
//! | decay factor | Q32, and Q40 for the loss within a cell | 0 to 1 | 9.1e-13 |
//! | exponent of a decay | Q56 | below 256 | 1.4e-17 |
//! | time | whole nanoseconds; ticks of 2^-20 to 2^-19 memories | 584 years | see [`Decay`] |
//! | accounting factor | Q20 | 0.001 to 1000 | 9.5e-7 |
//! | S of the meter, bytes | Q16 | 2^48 (625 Gbit/s over 1 h), saturating | 1.5e-5 |
//! | S of the averager, activity + 32 | Q22 | 2^35 packets | 2.4e-7 |
//! | N of the averager, packets | Q28 | 2^35 packets | 3.7e-9 |
//! | queue and thresholds | whole bytes or 1/16 packets | 2^40 | comparisons are exact |
//!
//! | function | bound of the error | largest measured, 10^7 arguments or 3000 packet sequences |
//! |---|---|---|
//! | [`log2_q31`] | 3.3e-9 | 2.1e-9 |
//! | [`log2_q16`] | 7.633e-6 | 7.631e-6 |
//! | [`exp2_neg_q32`] | 3.8e-9, relative | 3.74e-9 |
//! | [`Decay::factor`] | 1.92e-6, relative | 1.908e-6 |
//! | [`Activity::from_f64`] | 7.63e-6 | by definition |
//! | [`FixedMeter::label`] | 2.6e-5 (a*L >= 40 bytes) | 1.8e-5 |
//! | [`FixedAverager::average`] | 1.32e-4 over the whole range, 1.7e-5 over 4 units | 3.0e-5, 9.1e-6 |
//! | [`FixedAverager::average_without_division`] | 1.33e-4, 1.8e-5 | 3.0e-5, 9.1e-6 |
//! | [`FixedThreshold::drop_threshold`] | less than a unit; the comparison with the queue is exact | exact |
//!
//! State: a meter has 24 bytes per user, an averager 24 bytes per port. Configuration: 32 bytes for all meters with the
//! same memory and reference rate, 16 for an averager, 24 for thresholds. All share the tables of 1028 and 2048 bytes.
//!
//! Deviations: see the heads of the meter's and the averager's modules.
//!
//! CSFQ, the second scheme, is in the module [`csfq`].
//!
//! Not implemented: the fair meter (abc2018 III-E), thresholds in units of time.

mod activity;
mod averager;
pub mod c_header;
pub mod csfq;
mod decay;
mod exp2;
mod log2;
mod meter;
pub mod p4;
pub mod tables;
mod threshold;

pub use activity::Activity;
pub use averager::{FixedAverager, PACKET_WEIGHT};
pub use decay::Decay;
pub use exp2::{EXPONENT_BITS, exp2_neg_q32, mul_q32, scale_down};
pub use log2::{LOG2_OF_ZERO_Q31, log2_q16, log2_q31};
pub use meter::{Accounting, FixedMeter, FixedMeterParams};
pub use threshold::{FixedThreshold, PACKET};

/// A parameter is out of range for the integer arithmetic.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} must be from {min} to {max}")]
pub struct OutOfRange {
    /// Name of the parameter.
    pub name: &'static str,
    /// Minimum.
    pub min: String,
    /// Maximum.
    pub max: String,
}

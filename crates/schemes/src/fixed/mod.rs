//! Integer arithmetic for the data planes: the label, and the meter, averager and threshold of ABC without floats.
//!
//! Source: abc2018 eq. (1) to (10), as in [`crate::abc`] and [`crate::utema`], which are the reference of every test
//! here. eBPF and P4 programs do exactly these operations, on tables and constants written from this module.
//!
//! Per packet there are only additions, shifts, comparisons and multiplications of 64-bit integers. The one division,
//! S/N of the averager, has a form without. Each product says why it fits into 64 bits. Constants that depend on
//! parameters are computed when a host is configured.
//!
//! | quantity | format | range | resolution |
//! |---|---|---|---|
//! | [`Activity`], the label; A_avg | signed Q10, 16 bits | -32 to 32 - 2^-10 | 9.8e-4 |
//! | logarithm inside | signed Q31 | -64 to 64 | 4.7e-10 |
//! | decay factor | Q32 | 0 to 1 | 2.3e-10 |
//! | exponent of a decay | Q56 | below 256 | 1.4e-17 |
//! | time | whole nanoseconds; ticks of 2^-15 to 2^-14 memories | 584 years | see [`Decay`] |
//! | accounting factor | Q20 | 0.001 to 1000 | 9.5e-7 |
//! | S of the meter, bytes | Q12 | 2^52 (10 Tbit/s over 1 h), saturating | 2.4e-4 |
//! | S of the averager, activity + 32 | Q18 | 2^39 packets | 3.8e-6 |
//! | N of the averager, packets | Q24 | 2^39 packets | 6.0e-8 |
//! | queue and thresholds | whole bytes or 1/16 packets | 2^40 | exact decisions |
//!
//! | function | bound of the error | largest seen, 10^7 arguments or 10^4 trains |
//! |---|---|---|
//! | [`log2_q31`] | 2.753e-6 | 2.742e-6 |
//! | [`log2_q10`] | 4.911e-4 | 4.910e-4 |
//! | [`exp2_neg_q32`] | 3.8e-9, relative | 3.74e-9 |
//! | [`Decay::factor`] | 1.92e-6, relative | 1.908e-6 |
//! | [`Activity::from_f64`] | 4.883e-4 | by definition |
//! | [`FixedMeter::mark`] | 6.9e-4 (a*L >= 40 bytes) | 6.14e-4 |
//! | [`FixedAverager::average`] | 1.48e-3 over the whole range, 5.6e-4 over 4 units | 1.36e-3, 5.4e-4 |
//! | [`FixedAverager::average_without_division`] | 1.61e-3, 6.9e-4 | 1.36e-3, 6.0e-4 |
//! | [`FixedThreshold::drop_threshold`] | less than a unit; decisions exact | exact |
//!
//! State: meter 24 bytes per user, averager 24 bytes per port. Configuration: 32 bytes for meters of one memory and
//! reference rate, 16 for an averager, 24 for thresholds. Tables: 1028 and 2048 bytes, shared by all.
//!
//! Deviations: those of the meter and the averager, at the head of their modules.
//!
//! Not implemented: fair meter (III-E), thresholds in time.

mod activity;
mod averager;
pub mod c_header;
mod decay;
mod exp2;
mod log2;
mod meter;
pub mod tables;
mod threshold;

pub use activity::Activity;
pub use averager::FixedAverager;
pub use decay::Decay;
pub use exp2::{EXPONENT_BITS, exp2_neg_q32, mul_q32, scale_down};
pub use log2::{LOG2_OF_ZERO_Q31, log2_q10, log2_q31};
pub use meter::{Accounting, FixedMeter, FixedMeterParams};
pub use threshold::{FixedThreshold, PACKET};

/// A parameter that the integer arithmetic cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name} must be from {min} to {max}")]
pub struct OutOfRange {
    /// The parameter.
    pub name: &'static str,
    /// Its lowest value.
    pub min: String,
    /// Its highest value.
    pub max: String,
}

//! Parameters of CUBIC, and the rules shared by its code for an exact clock and for ticks (`cubic/ticked.rs`).
//!
//! Deviations:
//! 1. alpha, the growth of W_est per acknowledged window, never rises to 1 (RFC 9438 4.3; deviation 2 in
//!    `cubic/mod.rs`).

use fairlane_schemes::{choices, params};

choices! {
    /// Time counted by CUBIC's function, t in eq. (1).
    pub enum CubicClock {
        /// Time during which the window limits sending.
        InUse = "in_use",
        /// All time except idle periods. An idle period lasts from the last segment before a pause to the first one
        /// after it.
        Sending = "sending",
        /// All time.
        Always = "always",
    }
}

params! {
    /// Parameters of CUBIC.
    pub struct CubicParams {
        /// Scaling factor of CUBIC's growth, in segments per second cubed.
        cubic_c: f64 = 0.4, in 0.001..=100.0, symbol "C", source "RFC 9438 4.1";
        //= RFC 9438 4.6-2: beta_cubic is 0.7.
        /// Share of the window that CUBIC keeps after congestion.
        cubic_beta: f64 = 0.7, in 0.1..=0.99, symbol "beta_cubic", source "RFC 9438 4.6";
        //= RFC 9438 4.7-2: Fast convergence is off where a flow is alone.
        /// Fast convergence: a CUBIC flow whose window was reduced below its previous maximum gives way to newer flows.
        fast_convergence: bool = true, source "RFC 9438 4.7";
        /// Lets CUBIC grow at least as fast as Reno (its Reno-friendly region). ns-3 before 3.41 does not.
        tcp_friendliness: bool = true, source "RFC 9438 4.3";
        //= RFC 9438 4.2-4, by cubic_clock: Time without updates, for want of data, does not count.
        /// Time included in CUBIC's t: `in_use` while the window limits sending, `sending` all time except idle
        /// periods, `always` all time.
        cubic_clock: CubicClock = "in_use", symbol "t",
            source "RFC 9438 4.2; sending: tcp_cubic.c cubictcp_cwnd_event; always: ns-3 tcp-cubic.cc Update";
    }
}

/// Number of acknowledged windows per segment of growth, if the target does not exceed the window.
pub(super) const NO_GROWTH: f64 = 100.0;
/// Maximum number of segments to acknowledge for one segment of growth before the first congestion.
pub(super) const FIRST_GROWTH: f64 = 20.0;
/// Minimum number of segments to acknowledge for one segment of growth: the target is at most 1.5 cwnd (section 4.2).
pub(super) const LEAST_PER_SEGMENT: f64 = 2.0;

/// Growth of W_est per acknowledged window (section 4.3).
pub(super) fn alpha(params: &CubicParams) -> f64 {
    //= RFC 9438 4.3-3, deviation: Once W_est reaches cwnd_prior, alpha is 1.
    3.0 * (1.0 - params.cubic_beta) / (1.0 + params.cubic_beta)
}

/// Number of acknowledged segments after which the window grows by one segment towards `target`.
pub(super) fn segments_for_one(window: f64, target: f64) -> f64 {
    if target > window { (window / (target - window)).floor() } else { NO_GROWTH * window }
}

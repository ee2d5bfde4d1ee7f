//! The rate limit of flows that do not react: rule (3).

use super::params::SfbParams;
use crate::base::units::Time;

/// Token bucket in bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBucket {
    bits: f64,
    last: Time,
}

impl TokenBucket {
    pub(super) fn full(params: &SfbParams, now: Time) -> Self {
        Self { bits: params.penalty_burst.0 as f64 * 8.0, last: now }
    }

    /// Returns true if a packet may pass now.
    pub(super) fn has_room(&mut self, wire_bytes: u32, now: Time, params: &SfbParams) -> bool {
        let earned = now.saturating_sub(self.last).as_secs_f64() * params.penalty_rate.as_f64();
        self.bits = f64::min(self.bits + earned, params.penalty_burst.0 as f64 * 8.0);
        self.last = now;
        self.bits >= f64::from(wire_bytes) * 8.0
    }

    /// A packet that had room was stored.
    pub(super) fn spend(&mut self, wire_bytes: u32) {
        self.bits -= f64::from(wire_bytes) * 8.0;
    }
}

//! The rate limit of non-responsive flows: rule (3).

use super::params::SfbParams;
use crate::base::units::Time;

/// Length of a packet in the kernel's rate limit.
const FULL_PACKET_BITS: f64 = 12_000.0;
/// Ticks of Linux per second.
const HZ: f64 = 250.0;

/// Rounds an amount in bits to whole packets of 1500 bytes, at least one, as in `tc`.
fn whole(bits: f64) -> f64 {
    f64::max(1.0, libm::round(bits / FULL_PACKET_BITS)) * FULL_PACKET_BITS
}

/// Token bucket in bits.
#[derive(Clone, Copy, Debug)]
pub(super) struct TokenBucket {
    bits: f64,
    last: Time,
}

impl TokenBucket {
    pub(super) fn full(params: &SfbParams, now: Time) -> Self {
        let bits = params.penalty_burst.0 as f64 * 8.0;
        Self { bits: if params.is_linux() { whole(bits) } else { bits }, last: now }
    }

    /// Returns true if a packet may pass now.
    pub(super) fn has_room(&mut self, wire_bytes: u32, now: Time, params: &SfbParams) -> bool {
        let earned = now.saturating_sub(self.last).as_secs_f64() * params.penalty_rate.as_f64();
        self.bits = f64::min(self.bits + earned, params.penalty_burst.0 as f64 * 8.0);
        self.last = now;
        self.bits >= f64::from(wire_bytes) * 8.0
    }

    /// Takes a token by rule (L4). Returns false if there is none.
    pub(super) fn take_token(&mut self, now: Time, params: &SfbParams) -> bool {
        if self.bits < FULL_PACKET_BITS {
            let tick = |time: Time| (time.as_secs_f64() * HZ).floor();
            let age = f64::min(tick(now) - tick(self.last), 10.0 * HZ);
            let earned = (age * whole(params.penalty_rate.as_f64()) / FULL_PACKET_BITS / HZ).floor();
            self.bits = f64::min(earned * FULL_PACKET_BITS, whole(params.penalty_burst.0 as f64 * 8.0));
            self.last = now;
        }
        let has_token = self.bits >= FULL_PACKET_BITS;
        if has_token {
            self.bits -= FULL_PACKET_BITS;
        }
        has_token
    }

    /// Removes the tokens for a packet that was stored.
    pub(super) fn spend(&mut self, wire_bytes: u32) {
        self.bits -= f64::from(wire_bytes) * 8.0;
    }
}

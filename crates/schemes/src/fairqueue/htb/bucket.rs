//! The two token buckets of a class of HTB.

use super::params::HtbParams;
use crate::base::units::{BitRate, Bytes, Time};
use crate::contract::class_tree::Class;

/// Mode of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    CannotSend,
    MayBorrow,
    CanSend,
}

/// Longest time for which tokens accumulate: `mbuffer` of sch_htb.c, 60 s.
const LONGEST_PS: i64 = 60 * Time::PER_SECOND as i64;

/// Tokens for one rate, in picoseconds of sending at this rate.
#[derive(Clone, Copy, Debug)]
struct Tokens {
    ps_per_byte: f64,
    left: i64,
    most: i64,
}

impl Tokens {
    fn new(rate: BitRate, burst: Bytes) -> Self {
        let ps_per_byte = 8.0 * Time::PER_SECOND as f64 / rate.as_f64();
        let most = ((burst.0 as f64 * ps_per_byte) as i64).min(LONGEST_PS);
        Self { ps_per_byte, left: most, most }
    }

    /// Applies rule (6) and subtracts the cost of `wire_bytes`: `htb_accnt_tokens`, `htb_accnt_ctokens`.
    fn spend(&mut self, wire_bytes: u32, grown: i64) {
        let cost = (f64::from(wire_bytes) * self.ps_per_byte) as i64;
        self.left = self.left.saturating_add(grown).min(self.most).saturating_sub(cost).max(1 - LONGEST_PS);
    }

    /// Time until the tokens are zero again.
    fn lack(&self, grown: i64) -> u64 {
        (-self.left.saturating_add(grown)).max(0).cast_unsigned()
    }

    fn is_full(&self, grown: i64) -> bool {
        self.left.saturating_add(grown) >= self.most
    }
}

/// Tokens for the rate and the ceiling, and the time of their last update.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: Tokens,
    ceil: Option<Tokens>,
    counted_at: Time,
}

impl Bucket {
    /// Creates a bucket that is full at `now`.
    pub(super) fn new(class: &Class, params: &HtbParams, now: Time) -> Self {
        let ceil = class.ceil.map(|ceil| Tokens::new(ceil, params.cburst));
        Self { rate: Tokens::new(class.rate, params.burst), ceil, counted_at: now }
    }

    fn grown_at(&self, now: Time) -> i64 {
        now.saturating_sub(self.counted_at).0.min(LONGEST_PS as u64).cast_signed()
    }

    /// Applies rule (1). Returns the mode and the time at which it may change: `htb_class_mode` without hysteresis.
    pub(super) fn mode_at(&self, now: Time) -> (Mode, Time) {
        let grown = self.grown_at(now);
        let again = |lack: u64| now.saturating_add(Time(lack));
        match self.ceil.as_ref().map_or(0, |ceil| ceil.lack(grown)) {
            0 => match self.rate.lack(grown) {
                0 => (Mode::CanSend, Time::NEVER),
                lack => (Mode::MayBorrow, again(lack)),
            },
            lack => (Mode::CannotSend, again(lack)),
        }
    }

    /// Applies rule (5) after the class has sent `wire_bytes`, either within its own rate or with a borrowed rate up to
    /// its ceiling.
    pub(super) fn spend(&mut self, wire_bytes: u32, from_own_rate: bool, now: Time) {
        let grown = self.grown_at(now);
        if from_own_rate {
            self.rate.spend(wire_bytes, grown);
        } else {
            // As in `htb_charge_class`, tokens grow without a bound until the class next sends from its own rate.
            self.rate.left = self.rate.left.saturating_add(grown);
        }
        if let Some(ceil) = &mut self.ceil {
            ceil.spend(wire_bytes, grown);
        }
        self.counted_at = now;
    }

    /// Returns true if the bucket is full at `now`, like a new one.
    pub(super) fn is_full_at(&self, now: Time) -> bool {
        let grown = self.grown_at(now);
        self.rate.is_full(grown) && self.ceil.as_ref().is_none_or(|ceil| ceil.is_full(grown))
    }
}

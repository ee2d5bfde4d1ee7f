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

/// Longest time that tokens are counted over: `mbuffer` of sch_htb.c, 60 s.
const LONGEST_PS: i64 = 60 * Time::PER_SECOND as i64;

/// Tokens for one rate, in picoseconds of sending at it.
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

    /// Rule (6), less what `wire_bytes` cost: `htb_accnt_tokens`, `htb_accnt_ctokens`.
    fn spend(&mut self, wire_bytes: u32, grown: i64) {
        let cost = (f64::from(wire_bytes) * self.ps_per_byte) as i64;
        self.left = self.left.saturating_add(grown).min(self.most).saturating_sub(cost).max(1 - LONGEST_PS);
    }

    /// Time until they are back at zero.
    fn lack(&self, grown: i64) -> u64 {
        (-self.left.saturating_add(grown)).max(0).cast_unsigned()
    }

    fn is_full(&self, grown: i64) -> bool {
        self.left.saturating_add(grown) >= self.most
    }
}

/// Tokens for rate and ceiling, and when they were counted.
#[derive(Clone, Debug)]
pub(super) struct Bucket {
    rate: Tokens,
    ceil: Option<Tokens>,
    counted_at: Time,
}

impl Bucket {
    /// Full at `now`.
    pub(super) fn new(class: &Class, params: &HtbParams, now: Time) -> Self {
        let ceil = class.ceil.map(|ceil| Tokens::new(ceil, params.cburst));
        Self { rate: Tokens::new(class.rate, params.burst), ceil, counted_at: now }
    }

    fn grown_at(&self, now: Time) -> i64 {
        now.saturating_sub(self.counted_at).0.min(LONGEST_PS as u64).cast_signed()
    }

    /// Rule (1), and when it may be another: `htb_class_mode` without hysteresis.
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

    /// Rule (5): `wire_bytes` are sent, from its own rate too or only below its ceiling.
    pub(super) fn spend(&mut self, wire_bytes: u32, from_own_rate: bool, now: Time) {
        let grown = self.grown_at(now);
        if from_own_rate {
            self.rate.spend(wire_bytes, grown);
        } else {
            // Without a bound until its own rate pays again: so `htb_charge_class`.
            self.rate.left = self.rate.left.saturating_add(grown);
        }
        if let Some(ceil) = &mut self.ceil {
            ceil.spend(wire_bytes, grown);
        }
        self.counted_at = now;
    }

    /// Returns true if it equals a new one.
    pub(super) fn is_full_at(&self, now: Time) -> bool {
        let grown = self.grown_at(now);
        self.rate.is_full(grown) && self.ceil.as_ref().is_none_or(|ceil| ceil.is_full(grown))
    }
}

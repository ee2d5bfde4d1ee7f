//! State and parameters of the integer arithmetic, as in `planes/bpf/fixed.h`.

use super::declare::records;
use fairlane_schemes::fixed::csfq::{FixedCsfq, FixedCsfqParams};
use fairlane_schemes::fixed::{Decay, LOG2_OF_ZERO_Q31};

records! {
    /// Layouts of all records.
    fn layouts;

    /// Decay of one memory.
    struct DecayRecord = fair_decay {
        /// log2(e) * tick / memory, Q56.
        step: u64,
        /// log2 of the tick in ns.
        shift: u32,
        /// Zero.
        reserved: u32,
    }

    /// Meter of one user.
    struct MeterRecord = fair_meter {
        /// S in bytes, Q16.
        sum: u64,
        /// Time since the start of the measurement.
        last_tick: u64,
    }

    /// Averager of one port.
    struct AveragerRecord = fair_averager {
        /// S, biased activities, Q22.
        sum: u64,
        /// N, Q28.
        count: u64,
        /// Time since the start of the measurement.
        last_tick: u64,
    }

    /// Parameters of a CSFQ port.
    struct CsfqParamsRecord = fair_csfq_params {
        /// Decay of K_alpha.
        decay: DecayRecord,
        /// log2 of a tick divided by K_alpha, Q31.
        log2_tick: i64,
        /// The window K_c.
        window_ns: u64,
        /// log2 of C divided by the reference rate of weight 1, Q31.
        log2_capacity: i64,
        /// log2 of a sum whose rate is C, Q31.
        log2_full: i64,
    }

    /// State of a CSFQ port: logarithms in Q31, FAIR_LOG2_OF_ZERO_Q31 if there is no rate.
    struct CsfqRecord = fair_csfq {
        /// Fair rate.
        log2_alpha: i64,
        /// Largest label in the current uncongested window.
        largest_label: i64,
        /// Start of the window.
        window_start_ns: u64,
        /// Sums that represent the rates A and F: rate * K_alpha in bytes, Q16.
        sums: [u64; 2],
        /// Bytes of the current tick, Q16.
        pending: [u64; 2],
        /// Time since the start of the measurement.
        last_tick: u64,
        /// True if A exceeds C.
        is_congested: u32,
        /// Number of times that the fair rate may still be reduced in the current window.
        cuts_left: u32,
    }
}

impl DecayRecord {
    pub(super) fn new(decay: Decay) -> Self {
        Self { step: decay.step_q56(), shift: decay.shift(), reserved: 0 }
    }
}

impl CsfqParamsRecord {
    pub(super) fn new(params: &FixedCsfqParams) -> Self {
        let rates = params.rates();
        Self {
            decay: DecayRecord::new(rates.decay()),
            log2_tick: rates.log2_tick_q31(),
            window_ns: params.window_ns(),
            log2_capacity: params.log2_capacity_q31(),
            log2_full: params.log2_full_q31(),
        }
    }
}

impl CsfqRecord {
    /// Returns the initial state: congested, no cut used, and neither a fair rate nor a label known.
    pub(super) fn initial() -> Self {
        let (log2_alpha, largest_label) = (LOG2_OF_ZERO_Q31, LOG2_OF_ZERO_Q31);
        Self { log2_alpha, largest_label, is_congested: 1, cuts_left: FixedCsfq::CUTS, ..Self::default() }
    }
}

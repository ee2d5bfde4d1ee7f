/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The exponential rate estimator, eq. (1). For L bytes, T after the packet before, and x = T/K:
 *
 *   r = (1 - exp(-x)) * L/T + exp(-x) * r         (1)
 *
 * Kept is S = r * K, so that no number is divided:
 *
 *   S = S * exp(-x) + L * h(x),   h(x) = (1 - exp(-x))/x = 2^-(log2(x) - log2(1 - exp(-x)))
 *   log2(r) = log2(S) - log2(K)
 *
 * Packets of one tick are summed and take effect at the next. Errors: fairlane_schemes::fixed::csfq, module rate.
 */
#ifndef FAIRLANE_CSFQ_RATE_P4
#define FAIRLANE_CSFQ_RATE_P4

struct rate_t {
    bit<64> sum;     /* S in bytes, Q(METER_SUM_BITS), saturating */
    bit<64> pending; /* bytes of the tick, likewise */
}

/* Bytes in the format of a rate_t. */
bit<64> fresh_bytes(in bit<32> bytes) {
    return (bit<64>)bytes << METER_SUM_BITS;
}

/* What a gap of so many ticks, one at least, leaves of S: exp(-x); and the part of fresh bytes that counts: h(x). */
control Gap(in bit<64> ticks, in domain_t constants, out power_t left, out power_t part) {
    Exp2() decay;
    Exp2() weight;
    Log2() logarithm_of_ticks;
    Log2() logarithm_of_gone;
    bit<64> gone = 0;
    bit<64> log2_ticks = 0;
    bit<64> log2_gone = 0;
    bit<64> halvings = 0;

    /* 1 - exp(-x), Q62. */
    action set_gone() {
        gone = (1 << 62) - scale_down(1 << 62, left);
    }

    action set_halvings() {
        halvings = log2_ticks + constants.log2_tick - (log2_gone - (62 << 31));
    }

    apply {
        decay.apply(exponent_of_ticks(ticks, constants.decay_step), left);
        set_gone();
        logarithm_of_ticks.apply(ticks, log2_ticks);
        logarithm_of_gone.apply(gone, log2_gone);
        set_halvings();
        if (is_negative(halvings) == 1) {
            halvings = 0;
        }
        weight.apply(halvings << (EXPONENT_BITS - 31), part);
    }
}

/* Eq. (1) for one rate. */
control Update(inout rate_t rate, in power_t left, in power_t part) {
    action update() {
        rate.sum = scale_down(rate.sum, left) |+| scale_down(rate.pending, part);
        rate.pending = 0;
    }

    apply { update(); }
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The integer arithmetic of fairlane_schemes::fixed, operation by operation: what it computes, its error bounds and why
 * 64 bits suffice stand there. Logarithms are signed Q31 in two's complement; nothing else is signed.
 */
#ifndef FAIRLANE_ARITHMETIC_P4
#define FAIRLANE_ARITHMETIC_P4

/* A power 2^-y: an entry of the table, what is lost of it within the cell, whole halvings. All zero: nothing left. */
struct power_t {
    bit<64> entry; /* Q32, from 2^32 (one) down to above 2^31 */
    bit<64> loss;  /* Q40 */
    bit<8>  halvings;
}

/* The sign of a number in two's complement. */
bit<1> is_negative(in bit<64> x) {
    return x[63:63];
}

/* value * factor / 2^32, rounded; factor <= 2^32. */
bit<64> mul_q32(in bit<64> value, in bit<64> factor) {
    return (value >> 32) * factor + (((value & 0xffffffff) * factor + (1 << 31)) >> 32);
}

/* value * factor / 2^40, rounded; factor < 2^32. */
bit<64> mul_q40(in bit<64> value, in bit<64> factor) {
    return ((value >> 32) * factor + (((value & 0xffffffff) * factor) >> 32) + (1 << 7)) >> 8;
}

/* value * 2^-y, rounded. */
bit<64> scale_down(in bit<64> value, in power_t power) {
    bit<64> in_cell = mul_q32(value, power.entry);
    bit<64> scaled = in_cell - mul_q40(in_cell, power.loss);
    bit<64> half = (scaled >> (power.halvings |-| 1)) & 1;
    return (scaled >> power.halvings) + (power.halvings == 0 ? 0 : half);
}

/* What is left after some ticks, as an exponent of 1/2, Q56; 64 or more: nothing. */
bit<64> exponent_of_ticks(in bit<64> ticks, in bit<64> decay_step) {
    return ticks >= FORGOTTEN ? NOTHING_LEFT : ticks * decay_step;
}

/* Whether a < b, in two's complement; they differ by less than 2^63. */
bool is_below(in bit<64> a, in bit<64> b) {
    return is_negative(a - b) == 1;
}

/* The label nearest to a logarithm in Q31, biased by 32; out of range, the lowest or the highest. */
activity_t label_of(in bit<64> logarithm) {
    bit<64> biased = logarithm + (1 << (30 - ACTIVITY_FRACTION_BITS)) + (32 << 31);
    bit<64> units = biased >> (31 - ACTIVITY_FRACTION_BITS);
    bit<64> limited = units > ACTIVITY_MOST ? ACTIVITY_MOST : units;
    return (activity_t)(is_negative(biased) == 1 ? 0 : limited);
}

/* log2(x) in Q31: the whole part by the longest prefix of zeros, the rest from a table, by a parabola. */
control Log2(in bit<64> x, out bit<64> logarithm) {
    bit<64> mantissa = 0;
    bit<64> whole = 0;
    bit<64> fraction = 0;

    action set_exponent(bit<8> leading_zeros, bit<64> exponent) {
        mantissa = x << leading_zeros;
        whole = exponent;
    }

    table exponents {
        key = { x: lpm; }
        actions = { set_exponent; NoAction; }
        default_action = NoAction();
#include "generated/log2_exponents.p4"
    }

    /* LOG2[i] + r * d + r * (1 - r) * bow, d = LOG2[i+1] - LOG2[i], bow = d^2/2 * ln 2. */
    action set_chord(bit<64> low, bit<64> rise, bit<64> bow) {
        bit<64> rest = (bit<64>)mantissa[54:23];
        bit<64> between = (rest * ((1 << 32) - rest)) >> 32;
        fraction = low + ((rise * rest + bow * between) >> 32);
    }

    table chords {
        key = { mantissa[62:55]: exact; }
        actions = { set_chord; }
        default_action = set_chord(0, 0, 0);
#include "generated/log2_chords.p4"
    }

    apply {
        if (exponents.apply().hit) {
            chords.apply();
            logarithm = whole + fraction;
        } else {
            logarithm = LOG2_OF_ZERO;
        }
    }
}

/* 2^-y, y in Q56: EXP2[i] * (1 - z + z^2/2) for the fraction of y. */
control Exp2(in bit<64> y, out power_t power) {
    action set_power(bit<64> entry) {
        bit<64> z = (((y >> 16) & 0xffffffff) * LN2) >> 32;
        power.entry = entry;
        power.loss = z - ((z * z) >> 41);
    }

    table powers {
        key = { y[55:48]: exact; }
        actions = { set_power; }
        default_action = set_power(0);
#include "generated/exp2_powers.p4"
    }

    apply {
        power.halvings = y[63:56];
        if (power.halvings >= 64) {
            power = { 0, 0, 0 };
        } else {
            powers.apply();
        }
    }
}

#endif

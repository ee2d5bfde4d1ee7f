/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The activity averager of a port: UTEMA over accepted packets, abc2018 eq. (6) to (9). With M = M_AA:
 *
 *   g = exp(-(t - t_last)/M),  S = g*S + A,  N = g*N + 1,  A_avg = S/N
 *
 * S sums biased activities. There is no division: S/N = 2^(log2(S) - log2(N)).
 * Errors: fairlane_schemes::fixed::FixedAverager::average_without_division.
 */
#ifndef FAIRLANE_ABC_AVERAGER_P4
#define FAIRLANE_ABC_AVERAGER_P4

struct averager_t {
    bit<64> sum;       /* S, Q(ACTIVITY_FRACTION_BITS + SUM_EXTRA_BITS) */
    bit<64> count;     /* N, Q(COUNT_BITS) */
    bit<64> last_tick; /* t_last */
}

/* A_avg, biased; 0 before the first accepted packet (abc2018 IV-G5). */
control Average(in averager_t averager, out activity_t average) {
    Log2() logarithm_of_sum;
    Log2() logarithm_of_count;
    Exp2() ratio;
    bit<64> log2_sum = 0;
    bit<64> log2_count = 0;
    power_t power = { 0, 0, 0 };

    action set_average() {
        bit<64> rounded = (scale_down(1 << 32, power) + (1 << (31 - ACTIVITY_BITS))) >> (32 - ACTIVITY_BITS);
        average = (activity_t)(rounded > ACTIVITY_MOST ? ACTIVITY_MOST : rounded);
    }

    apply {
        if (averager.count == 0) {
            average = ACTIVITY_ZERO;
        } else {
            logarithm_of_sum.apply(averager.sum, log2_sum);
            logarithm_of_count.apply(averager.count, log2_count);
            bit<64> halvings = log2_count - log2_sum;
            if (is_negative(halvings) == 1) {
                halvings = 0;
            }
            ratio.apply(halvings << (EXPONENT_BITS - 31), power); /* eq. (8) */
            set_average();
        }
    }
}

/* Counts an accepted packet. */
control Accept(inout averager_t averager, in bit<64> decay_step, in bit<8> decay_shift, in bit<64> now_ns,
               in activity_t activity) {
    Exp2() decay;
    bit<64> tick = 0;
    bit<64> exponent = 0;
    power_t power = { 0, 0, 0 };

    /* Time that runs backwards counts as no time. */
    action set_exponent() {
        tick = now_ns >> decay_shift;
        exponent = exponent_of_ticks(tick |-| averager.last_tick, decay_step);
    }

    action count_packet() {
        averager.sum = scale_down(averager.sum, power) + ((bit<64>)activity << SUM_EXTRA_BITS); /* eq. (6) */
        averager.count = scale_down(averager.count, power) + (1 << COUNT_BITS);                 /* eq. (7) */
        averager.last_tick = tick > averager.last_tick ? tick : averager.last_tick;             /* eq. (9) */
    }

    action halve() {
        averager.sum = averager.sum >> 1;
        averager.count = averager.count >> 1;
    }

    apply {
        set_exponent();
        decay.apply(exponent, power);
        count_packet();
        if (averager.count[63:63] == 1) {
            halve();
        }
    }
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The activity meter of a user: TDRM-UTEMA, abc2018 eq. (1) to (5). With M = M_AM, L the length in bytes, a the
 * accounting factor of the class, t0 the start of the measurement:
 *
 *   S = S * exp(-(t - t_last)/M) + a*L            (1), (4)
 *   T = M * (1 - exp(-(t - t0)/M))                (2)
 *   A = log2(S) - log2(T) - log2(R_r)             (3), (5)
 *
 * Errors: fairlane_schemes::fixed::FixedMeter.
 */
#ifndef FAIRLANE_METER_P4
#define FAIRLANE_METER_P4

control Meter(inout metadata_t meta) {
    Exp2() decay_of_sum;
    Exp2() decay_since_start;
    Log2() logarithm_of_sum;
    Log2() logarithm_of_time;

    /* S in bytes, Q12, and t_last as the number of its tick since t0. */
    @name(".meter_sum") register<bit<64>>(USERS) meter_sum;
    @name(".meter_tick") register<bit<64>>(USERS) meter_tick;

    bit<64> age_ns = 0;
    bit<64> fine_ticks = 0;
    bit<64> tick = 0;
    bit<64> last_tick = 0;
    bit<64> sum = 0;
    bit<64> exponent = 0;
    bit<64> argument = 0;
    bit<64> log2_sum = 0;
    bit<64> log2_time = 0;
    power_t power = { 0, 0 };

    action set_class() {
        bit<1> is_ef = meta.dscp == DSCP_EF ? 1w1 : 0;
        bit<1> is_rule_ef = meta.user.class_rule == ClassRule.EXPEDITED ? 1w1 : 0;
        meta.label.is_expedited = (meta.user.class_rule == ClassRule.DSCP) ? is_ef : is_rule_ef;
    }

    /* Time that runs backwards counts as no time. */
    action read_state() {
        age_ns = meta.now_ns |-| ((bit<64>)meta.domain.start_us * 1000);
        fine_ticks = age_ns >> meta.domain.decay_shift;
        tick = fine_ticks >> FINE_BITS;
        meter_sum.read(sum, meta.user.index);
        meter_tick.read(last_tick, meta.user.index);
        exponent = ticks_exponent(tick |-| last_tick, meta.domain.decay_step);
    }

    /* Eq. (1), (4); S saturates. */
    action count_bytes() {
        bit<64> factor = (bit<64>)(meta.label.is_expedited == 1 ? meta.domain.factor_ef : meta.domain.factor_be);
        bit<64> weighed = ((bit<64>)meta.ip_bytes * factor + (1 << (19 - METER_SUM_BITS))) >> (20 - METER_SUM_BITS);
        sum = scale_down(sum, power) |+| weighed;
        meter_sum.write(meta.user.index, sum);
        meter_tick.write(meta.user.index, tick > last_tick ? tick : last_tick);
    }

    /* 1 - exp(-x), x = (t - t0)/M. */
    action set_grown() {
        argument = (1 << 32) - scale_down(1 << 32, power);
    }

    /* Eq. (3), (5), rounded to the unit of the label and biased by 32; out of range, the lowest or the highest. */
    action set_label() {
        bit<64> biased = log2_sum - log2_time + meta.user.offset + (1 << (30 - ACTIVITY_FRACTION_BITS)) + (32 << 31);
        bit<64> units = biased >> (31 - ACTIVITY_FRACTION_BITS);
        bit<64> limited = units > ACTIVITY_MOST ? ACTIVITY_MOST : units;
        meta.label.activity = (activity_t)(is_negative(biased) == 1 ? 0 : limited);
        meta.label.is_valid = 1;
    }

    apply {
        set_class();
        read_state();
        decay_of_sum.apply(exponent, power);
        count_bytes();
        logarithm_of_sum.apply(sum, log2_sum);

        /* Eq. (2): log2(M) once T has grown, and by convention at t0; log2(age) - x/2 * log2(e) while it is young. */
        if (age_ns == 0 || fine_ticks >= FORGOTTEN) {
            log2_time = meta.domain.log2_memory;
        } else {
            exponent = fine_ticks * meta.domain.decay_step;
            if (fine_ticks < YOUNG_FINE_TICKS) {
                argument = age_ns;
            } else {
                decay_since_start.apply(exponent, power);
                set_grown();
            }
            logarithm_of_time.apply(argument, log2_time);
            if (fine_ticks < YOUNG_FINE_TICKS) {
                log2_time = log2_time - (exponent >> 26);
            } else {
                log2_time = log2_time + meta.domain.log2_memory - (32 << 31);
            }
        }
        set_label();
    }
}

#endif

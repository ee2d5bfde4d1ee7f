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
#ifndef FAIRLANE_ABC_METER_P4
#define FAIRLANE_ABC_METER_P4

control Meter(inout metadata_t meta) {
    Exp2() decay_of_sum;
    Exp2() decay_since_start;
    Log2() logarithm_of_sum;
    Log2() logarithm_of_time;

    /* S in bytes, Q(METER_SUM_BITS), and t_last as the number of its tick since t0. */
    @name(".meter_sum") register<bit<64>>(USERS) meter_sum;
    @name(".meter_tick") register<bit<64>>(USERS) meter_tick;

    bit<64> age_ns = 0;
    bit<64> tick = 0;
    bit<64> last_tick = 0;
    bit<64> sum = 0;
    bit<64> exponent = 0;
    bit<64> argument = 0;
    bit<64> log2_sum = 0;
    bit<64> log2_time = 0;
    power_t power = { 0, 0, 0 };

    /* Time that runs backwards counts as no time. */
    action read_state() {
        age_ns = meta.now_ns |-| ((bit<64>)meta.domain.start_us * 1000);
        tick = age_ns >> meta.domain.decay_shift;
        meter_sum.read(sum, meta.user.index);
        meter_tick.read(last_tick, meta.user.index);
        exponent = exponent_of_ticks(tick |-| last_tick, meta.domain.decay_step);
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

    /* log2(T) = log2(t - t0) - y/2 + y^2/24 * ln 2, y = x * log2(e). */
    action correct_young() {
        bit<64> y = exponent >> 24;
        bit<64> bow = (((y * y) >> 32) * LN2_24TH) >> 33;
        log2_time = log2_time - (y >> 2) + bow;
    }

    action correct_grown() {
        log2_time = log2_time + meta.domain.log2_memory - (32 << 31);
    }

    /* Eq. (3), (5). */
    action set_label() {
        meta.label.activity = label_of(log2_sum - log2_time + meta.user.offset);
        meta.label.is_valid = 1;
    }

    apply {
        read_state();
        decay_of_sum.apply(exponent, power);
        count_bytes();
        logarithm_of_sum.apply(sum, log2_sum);

        /* Eq. (2): log2(M) once T has grown, and by convention at t0. */
        if (age_ns == 0 || tick >= FORGOTTEN) {
            log2_time = meta.domain.log2_memory;
        } else {
            exponent = tick * meta.domain.decay_step;
            if (tick < YOUNG_TICKS) {
                argument = age_ns;
            } else {
                decay_since_start.apply(exponent, power);
                set_grown();
            }
            logarithm_of_time.apply(argument, log2_time);
            if (tick < YOUNG_TICKS) {
                correct_young();
            } else {
                correct_grown();
            }
        }
        set_label();
    }
}

#endif

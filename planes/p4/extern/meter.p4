/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The activity meter of a user by an extern: abc2018 eq. (1) to (5), p4abc 5.2. */
#ifndef FAIRLANE_EXTERN_METER_P4
#define FAIRLANE_EXTERN_METER_P4

/* The parameters of abc.p4's tables, which the extern turns back to real numbers; state; the activity. */
extern void fairlane_abc_meter(in bit<64> decay_step, in bit<8> decay_shift, in bit<64> offset, in bit<32> factor_be,
                               in bit<32> factor_ef, in bit<48> start_us, in bit<64> now_ns, in bit<32> bytes,
                               in bit<1> is_expedited, inout bit<64> sum, inout bit<64> measured,
                               inout bit<64> last_ns, out bit<64> activity);

control Meter(inout metadata_t meta) {
    /* S in bits, T/M, both doubles; t_last in ns. */
    @name(".meter_sum") register<bit<64>>(USERS) meter_sum;
    @name(".meter_measured") register<bit<64>>(USERS) meter_measured;
    @name(".meter_tick") register<bit<64>>(USERS) meter_tick;

    bit<64> sum = 0;
    bit<64> measured = 0;
    bit<64> last_ns = 0;
    bit<64> activity = 0;

    action count_packet() {
        meter_sum.read(sum, meta.user.index);
        meter_measured.read(measured, meta.user.index);
        meter_tick.read(last_ns, meta.user.index);
        fairlane_abc_meter(meta.domain.decay_step, meta.domain.decay_shift, meta.user.offset, meta.domain.factor_be,
                           meta.domain.factor_ef, meta.domain.start_us, meta.now_ns, meta.ip_bytes,
                           meta.label.is_expedited, sum, measured, last_ns, activity);
        meter_sum.write(meta.user.index, sum);
        meter_measured.write(meta.user.index, measured);
        meter_tick.write(meta.user.index, last_ns);
        meta.label.activity = activity;
        meta.label.is_valid = 1;
    }

    apply {
        count_packet();
    }
}

#endif

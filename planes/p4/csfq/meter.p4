/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The rate meter of a user: the label is the rate over the reference rate w, as a logarithm.
 *
 *   label = r/w           (2)
 */
#ifndef FAIRLANE_CSFQ_METER_P4
#define FAIRLANE_CSFQ_METER_P4

control Meter(inout metadata_t meta) {
    Gap() gap;
    Update() update;
    Log2() logarithm;

    @name(".meter_sum") register<bit<64>>(USERS) meter_sum;
    @name(".meter_pending") register<bit<64>>(USERS) meter_pending;
    @name(".meter_tick") register<bit<64>>(USERS) meter_tick;

    rate_t rate = { 0, 0 };
    bit<64> tick = 0;
    bit<64> last_tick = 0;
    bit<64> log2_sum = 0;
    power_t left = { 0, 0, 0 };
    power_t part = { 0, 0, 0 };

    action read_state() {
        meter_sum.read(rate.sum, meta.user.index);
        meter_pending.read(rate.pending, meta.user.index);
        meter_tick.read(last_tick, meta.user.index);
    }

    action count_bytes() {
        tick = meta.now_ns >> meta.domain.decay_shift;
        rate.pending = rate.pending |+| fresh_bytes(meta.ip_bytes);
    }

    action write_state() {
        meter_sum.write(meta.user.index, rate.sum);
        meter_pending.write(meta.user.index, rate.pending);
        meter_tick.write(meta.user.index, last_tick);
    }

    action set_label() {
        meta.label.activity = label_of(log2_sum + meta.user.offset); /* eq. (2) */
        meta.label.is_valid = 1;
    }

    apply {
        read_state();
        count_bytes();
        /* Time that runs backwards counts as no time. */
        if (tick > last_tick) {
            gap.apply(tick - last_tick, meta.domain, left, part);
            update.apply(rate, left, part);
            last_tick = tick;
        }
        write_state();
        logarithm.apply(rate.sum, log2_sum);
        set_label();
    }
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * A port of CSFQ:
 *
 *   drop with probability max(0, 1 - alpha/label)       (3)
 *   relabel what passes with min(label, alpha)          (4)
 *
 * Both sides are logarithms: 1 - alpha/label = 1 - 2^-(log2(label) - log2(alpha)), which is compared with 32 random
 * bits. Below Q_min nobody is dropped early. A packet without a label counts in the rates, is never dropped early, and
 * says nothing about the largest label, as on the Linux node. Decisions: fairlane_schemes::fixed::csfq::FixedCsfq.
 */
#ifndef FAIRLANE_CSFQ_AQM_P4
#define FAIRLANE_CSFQ_AQM_P4

control Aqm(inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    ReadQueue() read_queue;
    JoinQueue() join_queue;
    Exp2() ratio;
    Gap() gap;
    Update() update_arrival;
    Update() update_accepted;
    Observe() observe;
    Cut() cut;

    /* Registers begin with 0: log2 of alpha and of the largest label are kept above that of zero. */
    @name(".csfq_alpha") register<bit<64>>(PORTS) csfq_alpha;
    @name(".csfq_largest_label") register<bit<64>>(PORTS) csfq_largest_label;
    @name(".csfq_window_start") register<bit<64>>(PORTS) csfq_window_start;
    @name(".csfq_uncongested") register<bit<1>>(PORTS) csfq_uncongested;
    @name(".csfq_cuts") register<bit<8>>(PORTS) csfq_cuts;
    /* The estimators of A and F, which are updated together. */
    @name(".csfq_arrival_sum") register<bit<64>>(PORTS) csfq_arrival_sum;
    @name(".csfq_arrival_pending") register<bit<64>>(PORTS) csfq_arrival_pending;
    @name(".csfq_accepted_sum") register<bit<64>>(PORTS) csfq_accepted_sum;
    @name(".csfq_accepted_pending") register<bit<64>>(PORTS) csfq_accepted_pending;
    @name(".csfq_tick") register<bit<64>>(PORTS) csfq_tick;

    bit<32> port = (bit<32>)standard_metadata.egress_spec;
    fair_rate_t fair = { 0, 0, 0, 0, 0 };
    rate_t arrival = { 0, 0 };
    rate_t accepted = { 0, 0 };
    bit<64> tick = 0;
    bit<64> last_tick = 0;
    power_t left = { 0, 0, 0 };
    power_t part = { 0, 0, 0 };
    power_t passes = { 0, 0, 0 };
    bit<64> log2_label = 0;
    bit<64> halvings = 0;
    bit<64> fresh = 0;
    bit<32> random_bits = 0;
    bit<1> is_short = 0;

    action read_fair_rate() {
        csfq_alpha.read(fair.log2_alpha, port);
        csfq_largest_label.read(fair.largest_label, port);
        csfq_window_start.read(fair.window_start_ns, port);
        csfq_uncongested.read(fair.is_uncongested, port);
        csfq_cuts.read(fair.cuts, port);
        fair.log2_alpha = fair.log2_alpha + LOG2_OF_ZERO;
        fair.largest_label = fair.largest_label + LOG2_OF_ZERO;
    }

    action write_fair_rate() {
        csfq_alpha.write(port, fair.log2_alpha - LOG2_OF_ZERO);
        csfq_largest_label.write(port, fair.largest_label - LOG2_OF_ZERO);
        csfq_window_start.write(port, fair.window_start_ns);
        csfq_uncongested.write(port, fair.is_uncongested);
        csfq_cuts.write(port, fair.cuts);
    }

    action read_rates() {
        csfq_arrival_sum.read(arrival.sum, port);
        csfq_arrival_pending.read(arrival.pending, port);
        csfq_accepted_sum.read(accepted.sum, port);
        csfq_accepted_pending.read(accepted.pending, port);
        csfq_tick.read(last_tick, port);
    }

    action write_rates() {
        csfq_arrival_sum.write(port, arrival.sum);
        csfq_arrival_pending.write(port, arrival.pending);
        csfq_accepted_sum.write(port, accepted.sum);
        csfq_accepted_pending.write(port, accepted.pending);
        csfq_tick.write(port, last_tick);
    }

    action read_packet() {
        bit<64> biased = (bit<64>)meta.label.activity << (31 - ACTIVITY_FRACTION_BITS);
        log2_label = meta.label.is_valid == 1 ? biased - (32 << 31) : LOG2_OF_ZERO;
        halvings = log2_label - fair.log2_alpha;
        tick = meta.now_ns >> meta.aqm.rates.decay_shift;
        fresh = fresh_bytes(meta.ip_bytes + ETHERNET_BYTES);
        is_short = meta.queue.length < meta.aqm.q_threshold ? 1w1 : 0;
    }

    action draw() {
#ifdef FAIRLANE_PROBE
        random_bits = meta.probed.random;
#else
        random(random_bits, 32w0, 32w0xffffffff);
#endif
    }

    /* Eq. (3). */
    action decide() {
        bit<64> dropped_part = (1 << 32) - scale_down(1 << 32, passes);
        bool is_dropped = (bit<64>)random_bits < dropped_part && meta.queue.length >= meta.aqm.q_min;
        meta.verdict = is_dropped ? Verdict.DROPPED : meta.verdict;
    }

    /* Eq. (4). */
    action relabel() {
        activity_t alpha = label_of(fair.log2_alpha);
        meta.label.activity = alpha < meta.label.activity ? alpha : meta.label.activity;
    }

    action count_arrival() {
        arrival.pending = arrival.pending |+| fresh;
    }

    action count_accepted() {
        accepted.pending = accepted.pending |+| fresh;
    }

    apply {
        read_queue.apply(meta, port);
        read_fair_rate();
        read_rates();
        read_packet();
        if (meta.label.is_valid == 1 && fair.log2_alpha != LOG2_OF_ZERO && is_below(fair.log2_alpha, log2_label)) {
            if (halvings >= (64 << 31)) {
                halvings = (64 << 31) - 1;
            }
            ratio.apply(halvings << (EXPONENT_BITS - 31), passes);
            draw();
            decide();
            relabel();
        }
        count_arrival();
        if (meta.verdict == Verdict.ACCEPTED) {
            count_accepted();
        }
        /* Time that runs backwards counts as no time. */
        if (tick > last_tick) {
            gap.apply(tick - last_tick, meta.aqm.rates, left, part);
            update_arrival.apply(arrival, left, part);
            update_accepted.apply(accepted, left, part);
            last_tick = tick;
            observe.apply(fair, meta.aqm, arrival, accepted, log2_label, is_short, meta.now_ns);
        }
        if (meta.verdict == Verdict.ACCEPTED) {
            if (meta.queue.length |+| meta.queue.share > meta.queue.limit) {
                meta.verdict = Verdict.OVERLIMIT;
                cut.apply(fair);
            } else {
                join_queue.apply(meta, port, standard_metadata.priority);
            }
        }
        write_fair_rate();
        write_rates();
#ifdef FAIRLANE_PROBE
        /* Behind the packet: S of A, and log2(alpha). */
        meta.probed.average = arrival.sum;
        meta.probed.threshold = fair.log2_alpha;
#endif
    }
}

#endif

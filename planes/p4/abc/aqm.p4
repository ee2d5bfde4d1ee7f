/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The activity AQM of a port, abc2018 III-C2:
 *
 *   T_drop = max(Q_min, Q_base - gamma * (A - A_avg))    (10)
 *
 * A packet that finds a queue not smaller than T_drop is dropped, then one that does not fit into the limit. Accepted
 * packets move A_avg. A packet without a label is judged as one of average activity and does not move the average, as on
 * the Linux node. Decisions: fairlane_schemes::fixed::FixedThreshold.
 */
#ifndef FAIRLANE_ABC_AQM_P4
#define FAIRLANE_ABC_AQM_P4

control Aqm(inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    ReadQueue() read_queue;
    JoinQueue() join_queue;
    Average() mean;
    Accept() move;

    @name(".averager_sum") register<bit<64>>(PORTS) averager_sum;
    @name(".averager_count") register<bit<64>>(PORTS) averager_count;
    @name(".averager_tick") register<bit<64>>(PORTS) averager_tick;

    averager_t averager = { 0, 0, 0 };
    bit<32> port = (bit<32>)standard_metadata.egress_spec;
    activity_t average = 0;
    activity_t activity = 0;
    bit<64> threshold = 0;

    action read_averager() {
        averager_sum.read(averager.sum, port);
        averager_count.read(averager.count, port);
        averager_tick.read(averager.last_tick, port);
    }

    action write_averager() {
        averager_sum.write(port, averager.sum);
        averager_count.write(port, averager.count);
        averager_tick.write(port, averager.last_tick);
    }

    /* Eq. (10), rounded up to a whole unit of the queue: gamma * (A - A_avg) is rounded down. */
    action set_threshold_of_more_active() {
        bit<64> product = meta.aqm.gamma * (bit<64>)(activity - average);
        bit<64> lowered = meta.aqm.q_base |-| (product >> ACTIVITY_FRACTION_BITS);
        threshold = lowered > meta.aqm.q_min ? lowered : meta.aqm.q_min;
    }

    action set_threshold_of_less_active() {
        bit<64> product = meta.aqm.gamma * (bit<64>)(average - activity);
        bit<64> raised = meta.aqm.q_base + ((product + ((1 << ACTIVITY_FRACTION_BITS) - 1)) >> ACTIVITY_FRACTION_BITS);
        threshold = raised > meta.aqm.q_min ? raised : meta.aqm.q_min;
    }

    apply {
        read_queue.apply(meta, port);
        read_averager();
        mean.apply(averager, average);
        activity = meta.label.is_valid == 1 ? meta.label.activity : average;
        if (activity >= average) {
            set_threshold_of_more_active();
        } else {
            set_threshold_of_less_active();
        }
#ifdef FAIRLANE_PROBE
        meta.probed.average = (bit<64>)average;
        meta.probed.threshold = threshold;
#endif
        if (meta.queue.length >= threshold) {
            meta.verdict = Verdict.DROPPED;
        } else if (meta.queue.length |+| meta.queue.share > meta.queue.limit) {
            meta.verdict = Verdict.OVERLIMIT;
        } else {
            if (meta.label.is_valid == 1) {
                move.apply(averager, meta.aqm.decay_step, meta.aqm.decay_shift, meta.now_ns, meta.label.activity);
                write_averager();
            }
            join_queue.apply(meta, port, standard_metadata.priority);
        }
    }
}

#endif

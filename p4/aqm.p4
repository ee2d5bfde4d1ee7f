/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The activity AQM of a port, abc2018 III-C2:
 *
 *   T_drop = max(Q_min, Q_base - gamma * (A - A_avg))    (10)
 *
 * A packet that finds a queue not smaller than T_drop is dropped, then one that does not fit into the limit. Accepted packets move
 * A_avg. A packet without a label is judged as one of average activity and does not move the average, as on the Linux
 * node. Decisions: fairlane_schemes::fixed::FixedThreshold.
 */
#ifndef FAIRLANE_AQM_P4
#define FAIRLANE_AQM_P4

control Aqm(inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Average() mean;
    Accept() move;

    @name(".averager_sum") register<bit<64>>(PORTS) averager_sum;
    @name(".averager_count") register<bit<64>>(PORTS) averager_count;
    @name(".averager_tick") register<bit<64>>(PORTS) averager_tick;
    /* Virtual queues: when they will be empty, ns. */
    @name(".virtual_free_at") register<bit<64>>(PORTS) virtual_free_at;

    averager_t averager = { 0, 0, 0 };
    bit<32> port = (bit<32>)standard_metadata.egress_spec;
    activity_t average = 0;
    activity_t activity = 0;
    bit<64> threshold = 0;
    bit<64> queue = 0;
    bit<64> share = 0; /* what the packet adds to the queue */

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

    /* What waits in both queues of the port, in 1/16 packets; and the place of this packet in its own. */
    action read_queues() {
        bit<32> accepted_be;
        bit<32> accepted_ef;
        bit<32> departed_be;
        bit<32> departed_ef;
        bit<1> is_ef = meta.aqm.ef_priority == 0 ? 0 : meta.label.is_expedited;
        queue_accepted.read(accepted_be, 2 * port);
        queue_accepted.read(accepted_ef, 2 * port + 1);
        queue_departed.read(departed_be, 2 * port);
        queue_departed.read(departed_ef, 2 * port + 1);
        share = PACKET;
        queue = (bit<64>)((accepted_be - departed_be) + (accepted_ef - departed_ef)) * PACKET;
        meta.queue_index = 2 * port + (bit<32>)is_ef;
        meta.queue_place = (is_ef == 1 ? accepted_ef : accepted_be) + 1;
    }

    action join_queue() {
        queue_accepted.write(meta.queue_index, meta.queue_place);
        meta.is_counted = 1;
    }

    action read_virtual_queue() {
        bit<64> free_at_ns;
        virtual_free_at.read(free_at_ns, port);
        bit<64> bytes = (bit<64>)(meta.ip_bytes + ETHERNET_BYTES);
        share = (bytes * meta.aqm.ns_per_byte) >> 20;
        queue = free_at_ns |-| meta.now_ns;
    }

    action join_virtual_queue() {
        virtual_free_at.write(port, meta.now_ns + queue + share);
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

    action set_priority() {
        standard_metadata.priority = meta.label.is_expedited == 1 ? meta.aqm.ef_priority : 0;
    }

    apply {
        if (meta.aqm.is_virtual == 1) {
            read_virtual_queue();
        } else {
            read_queues();
#ifdef FAIRLANE_PROBE
            queue = meta.queue;
#endif
        }
        read_averager();
        mean.apply(averager, average);
        activity = meta.label.is_valid == 1 ? meta.label.activity : average;
        if (activity >= average) {
            set_threshold_of_more_active();
        } else {
            set_threshold_of_less_active();
        }
#ifdef FAIRLANE_PROBE
        meta.average = average;
        meta.threshold = threshold;
        meta.is_judged = 1;
#endif
        if (queue >= threshold) {
            meta.verdict = Verdict.DROPPED;
        } else if (queue |+| share > meta.aqm.limit) {
            meta.verdict = Verdict.OVERLIMIT;
        } else {
            if (meta.label.is_valid == 1) {
                move.apply(averager, meta.aqm.decay_step, meta.aqm.decay_shift, meta.now_ns, meta.label.activity);
                write_averager();
            }
            if (meta.aqm.is_virtual == 1) {
                join_virtual_queue();
            } else {
                join_queue();
            }
            set_priority();
        }
    }
}

#endif

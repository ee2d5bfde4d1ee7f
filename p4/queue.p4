/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The queue that the ingress sees.
 *
 * A switch of the v1model knows its queues in the egress only, and a decision there would come too late: packets would
 * have waited already. So the ingress counts what it accepted, the egress says which of them have left:
 *
 *   queue = accepted - departed
 *
 * Each register has one writer: no update is lost, however ingress and egress interleave. An accepted packet takes its
 * number along; when it leaves, all up to it have left, because each queue is first in, first out. Packets that the
 * switch itself lost at a full queue leave with the next one behind them, and all at once with one that leaves the
 * queue empty (deq_qdepth = 0). The queue is exact while it is not empty.
 */
#ifndef FAIRLANE_QUEUE_P4
#define FAIRLANE_QUEUE_P4

/* Two queues for each port: expedited packets may have one of their own. Packets, modulo 2^32. */
@name(".queue_accepted") register<bit<32>>(2 * PORTS) queue_accepted;
@name(".queue_departed") register<bit<32>>(2 * PORTS) queue_departed;

/* In the egress: the packet has left its queue. */
control Departure(inout metadata_t meta, in standard_metadata_t standard_metadata) {
    action depart() {
        bit<32> accepted;
        queue_accepted.read(accepted, meta.queue_index);
        queue_departed.write(meta.queue_index, standard_metadata.deq_qdepth == 0 ? accepted : meta.queue_place);
    }

    apply {
        if (meta.is_counted == 1) {
            depart();
        }
    }
}

#endif

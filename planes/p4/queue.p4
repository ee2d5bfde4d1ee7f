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

/* Virtual queues: when they will be empty, ns. */
@name(".virtual_free_at") register<bit<64>>(PORTS) virtual_free_at;

/* In the ingress: what waits at the port, and what the packet adds. */
control ReadQueue(inout metadata_t meta, in bit<32> port) {
    /* Both queues of the port, in 1/16 packets; and the place of this packet in its own. */
    action read_queues() {
        bit<32> accepted_be;
        bit<32> accepted_ef;
        bit<32> departed_be;
        bit<32> departed_ef;
        bit<1> is_ef = meta.queue.ef_priority == 0 ? 0 : meta.label.is_expedited;
        queue_accepted.read(accepted_be, 2 * port);
        queue_accepted.read(accepted_ef, 2 * port + 1);
        queue_departed.read(departed_be, 2 * port);
        queue_departed.read(departed_ef, 2 * port + 1);
        meta.queue.share = PACKET;
        meta.queue.length = (bit<64>)((accepted_be - departed_be) + (accepted_ef - departed_ef)) * PACKET;
        meta.queue.index = 2 * port + (bit<32>)is_ef;
        meta.queue.place = (is_ef == 1 ? accepted_ef : accepted_be) + 1;
    }

    action read_virtual_queue() {
        bit<64> free_at_ns;
        virtual_free_at.read(free_at_ns, port);
        bit<64> bytes = (bit<64>)(meta.ip_bytes + ETHERNET_BYTES);
        meta.queue.share = (bytes * meta.queue.ns_per_byte) >> 20;
        meta.queue.length = free_at_ns |-| meta.now_ns;
    }

    apply {
        if (meta.queue.is_virtual == 1) {
            read_virtual_queue();
        } else {
            read_queues();
#ifdef FAIRLANE_PROBE
            meta.queue.length = meta.probed.queue;
#endif
        }
    }
}

/* In the ingress: the packet is accepted. */
control JoinQueue(inout metadata_t meta, in bit<32> port, out bit<3> priority) {
    action join_queue() {
        queue_accepted.write(meta.queue.index, meta.queue.place);
        meta.queue.is_counted = 1;
    }

    action join_virtual_queue() {
        virtual_free_at.write(port, meta.now_ns + meta.queue.length + meta.queue.share);
    }

    action set_priority() {
        priority = meta.label.is_expedited == 1 ? meta.queue.ef_priority : 0;
    }

    apply {
        if (meta.queue.is_virtual == 1) {
            join_virtual_queue();
        } else {
            join_queue();
        }
        set_priority();
    }
}

/* In the egress: the packet has left its queue. Copies of a flooded one leave other ports, which are not counted. */
control Departure(inout metadata_t meta, in standard_metadata_t standard_metadata) {
    action depart() {
        bit<32> accepted;
        queue_accepted.read(accepted, meta.queue.index);
        queue_departed.write(meta.queue.index, standard_metadata.deq_qdepth == 0 ? accepted : meta.queue.place);
    }

    apply {
        if (meta.queue.is_counted == 1 && (bit<32>)standard_metadata.egress_port == meta.queue.index >> 1) {
            depart();
        }
    }
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The queue that the ingress sees, as p4abc 5.1 and 5.3 keep it: the length at the last departure, and arrivals since.
 */
#ifndef FAIRLANE_EXTERN_QUEUE_P4
#define FAIRLANE_EXTERN_QUEUE_P4

#ifndef QUEUE_COPY
#define QUEUE_COPY deq_qdepth
#endif

/* Packets. */
@name(".queue_length") register<bit<32>>(PORTS) queue_length;

control Departure(inout metadata_t meta, in standard_metadata_t standard_metadata) {
    apply {
        queue_length.write((bit<32>)standard_metadata.egress_port, (bit<32>)standard_metadata.QUEUE_COPY);
    }
}

#endif

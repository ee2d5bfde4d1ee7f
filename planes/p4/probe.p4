/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * What tests see and set: with -DFAIRLANE_PROBE each packet has a header in front of Ethernet, which carries the clock,
 * the port of ingress, the queue and a random number in, and label, average, threshold and verdict out. Dropped packets
 * come back too. Without it nothing of this is in the program.
 */
#ifndef FAIRLANE_PROBE_P4
#define FAIRLANE_PROBE_P4

#ifdef FAIRLANE_PROBE

const bit<32> PROBE_BYTES = 51;

/* The clock and the port of a packet are those of its probe. */
control ProbeBegin(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.now_ns = hdr.probe.now_ns;
        meta.probed.queue = hdr.probe.queue;
        meta.probed.random = hdr.probe.random;
        standard_metadata.ingress_port = (bit<9>)hdr.probe.ingress_port;
    }
}

/* What became of the packet. What would be dropped or flooded leaves by port 0. */
control ProbeEnd(inout headers_t hdr, in metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        hdr.probe.verdict = (bit<8>)(bit<3>)meta.verdict;
        hdr.probe.flags = 4w0 ++ (bit<1>)(standard_metadata.mcast_grp != 0 ? 1w1 : 0) ++ meta.is_managed ++
                          meta.label.is_expedited ++ meta.label.is_valid;
        hdr.probe.activity = (bit<32>)meta.label.activity;
        hdr.probe.average = meta.probed.average;
        hdr.probe.threshold = meta.probed.threshold;
        hdr.probe.egress_port = (bit<16>)standard_metadata.egress_spec;
        hdr.probe.priority = (bit<8>)standard_metadata.priority;
        if (meta.verdict != Verdict.ACCEPTED || standard_metadata.mcast_grp != 0) {
            standard_metadata.egress_spec = 0;
            standard_metadata.mcast_grp = 0;
        }
    }
}

#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Interface for tests. With -DFAIRLANE_PROBE each packet has a header in front of Ethernet. It brings the clock, the
 * ingress port, the queue and a random number in, and takes label, average, threshold and verdict out. Dropped packets
 * are returned too. Without the macro, the program contains none of this.
 */
#ifndef FAIRLANE_PROBE_P4
#define FAIRLANE_PROBE_P4

#ifdef FAIRLANE_PROBE

const bit<32> PROBE_BYTES = 51;

/* Takes the clock and the port of a packet from its probe. */
control ProbeBegin(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    apply {
        meta.now_ns = hdr.probe.now_ns;
        meta.probed.queue = hdr.probe.queue;
        meta.probed.random = hdr.probe.random;
        standard_metadata.ingress_port = (bit<9>)hdr.probe.ingress_port;
    }
}

/* Outcome for the packet. A packet that would be dropped or flooded leaves by port 0. */
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Parser and deparser; removal and reading of labels; source of a packet. Packets have the same users, bytes and
 * verdicts as on the Linux node (bpf/source.h): up to two labels are removed, and up to two more tags skipped.
 *
 * A truncated header ends the parser: it stays invalid and its bytes stay payload.
 */
#ifndef FAIRLANE_PARSER_P4
#define FAIRLANE_PARSER_P4

parser PacketParser(packet_in packet, out headers_t hdr, inout metadata_t meta,
                    inout standard_metadata_t standard_metadata) {
    state start {
#ifdef FAIRLANE_PROBE
        packet.extract(hdr.probe);
#endif
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ethertype) {
            ETHERTYPE_8021AD: label;
            ETHERTYPE_8021Q: vlan;
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state label {
        packet.extract(hdr.label);
        transition select(hdr.label.ethertype) {
            ETHERTYPE_8021AD: inner_label;
            ETHERTYPE_8021Q: vlan;
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state inner_label {
        packet.extract(hdr.inner_label);
        transition select(hdr.inner_label.ethertype) {
            ETHERTYPE_8021AD: vlan;
            ETHERTYPE_8021Q: vlan;
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state vlan {
        packet.extract(hdr.vlan);
        transition select(hdr.vlan.ethertype) {
            ETHERTYPE_8021AD: inner_vlan;
            ETHERTYPE_8021Q: inner_vlan;
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state inner_vlan {
        packet.extract(hdr.inner_vlan);
        transition select(hdr.inner_vlan.ethertype) {
            ETHERTYPE_IPV4: ipv4;
            ETHERTYPE_IPV6: ipv6;
            default: accept;
        }
    }

    state ipv4 {
        packet.extract(hdr.ipv4);
        transition accept;
    }

    state ipv6 {
        packet.extract(hdr.ipv6);
        transition accept;
    }
}

/* Moves the label of a neighbour into the metadata, and removes labels of other senders. Refuses malformed labels. */
control Strip(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action refuse() { meta.verdict = Verdict.REFUSED; }

    action believe() {
        bit<15> upper = hdr.label.pcp ++ hdr.label.vid;
        meta.label.is_valid = 1;
        meta.label.is_expedited = hdr.label.dei;
        /* The middle of the activities that share these bits. */
        meta.label.activity = ((activity_t)upper << (ACTIVITY_BITS - 15)) + ((1 << (ACTIVITY_BITS - 15)) >> 1);
    }

    action take_off() {
        hdr.ethernet.ethertype = hdr.label.ethertype;
        hdr.label.setInvalid();
    }

    apply {
        /* Lengths start after Ethernet and all tags; removed tags do not count either. */
        meta.ip_bytes = standard_metadata.packet_length - ETHERNET_BYTES;
#ifdef FAIRLANE_PROBE
        meta.ip_bytes = meta.ip_bytes - PROBE_BYTES;
#endif
        if (hdr.label.isValid()) { meta.ip_bytes = meta.ip_bytes - TAG_BYTES; }
        if (hdr.inner_label.isValid()) { meta.ip_bytes = meta.ip_bytes - TAG_BYTES; }
        if (hdr.vlan.isValid()) { meta.ip_bytes = meta.ip_bytes - TAG_BYTES; }
        if (hdr.inner_vlan.isValid()) { meta.ip_bytes = meta.ip_bytes - TAG_BYTES; }

        if (!hdr.ethernet.isValid()) {
            refuse();
        } else if (hdr.ethernet.ethertype == ETHERTYPE_8021AD) {
            if (!hdr.label.isValid()) {
                refuse();
            } else if (meta.role == Role.TRUSTED) {
                believe();
                take_off();
            } else {
                meta.is_stripped = 1;
                take_off();
                if (hdr.inner_label.isValid()) {
                    hdr.ethernet.ethertype = hdr.inner_label.ethertype;
                    hdr.inner_label.setInvalid();
                }
                /* More labels than can be removed, or a truncated one. */
                if (hdr.ethernet.ethertype == ETHERTYPE_8021AD) {
                    refuse();
                }
            }
        }
    }
}

/* Addresses of a packet. Truncated, malformed and non-IP packets have none; this is no error. */
control Source(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if (hdr.ipv4.isValid()) {
            if (hdr.ipv4.version == 4 && hdr.ipv4.header_words >= 5) {
                meta.is_ip = 1;
                meta.dscp = hdr.ipv4.dscp;
                meta.source = 80w0 ++ 16w0xffff ++ hdr.ipv4.source;
                meta.destination = 80w0 ++ 16w0xffff ++ hdr.ipv4.destination;
            }
        } else if (hdr.ipv6.isValid() && hdr.ipv6.version == 6) {
            meta.is_ip = 1;
            meta.dscp = hdr.ipv6.dscp;
            meta.source = hdr.ipv6.source;
            meta.destination = hdr.ipv6.destination;
        }
    }
}

control PacketDeparser(packet_out packet, in headers_t hdr) {
    apply {
#ifdef FAIRLANE_PROBE
        packet.emit(hdr.probe);
#endif
        packet.emit(hdr.ethernet);
        packet.emit(hdr.label);
        packet.emit(hdr.inner_label);
        packet.emit(hdr.vlan);
        packet.emit(hdr.inner_vlan);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ipv6);
    }
}

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * From bytes to headers and back; labels off and in; who sent a packet. The same packets have the same users, bytes
 * and fate as on the Linux node (bpf/source.h): two labels are taken off, two more tags are looked through.
 *
 * What is truncated ends the parser: the header that is not whole stays invalid and its bytes stay payload.
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

/* Moves the label of a neighbour into the metadata; takes off what others send. Malformed labels are refused. */
control Strip(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    action refuse() { meta.verdict = Verdict.REFUSED; }

    action believe() {
        bit<15> upper = hdr.label.pcp ++ hdr.label.vid;
        meta.label.is_valid = 1;
        meta.label.is_expedited = hdr.label.dei;
        /* The middle of the activities that have these bits in common. */
        meta.label.activity = ((activity_t)upper << (ACTIVITY_BITS - 15)) + ((1 << (ACTIVITY_BITS - 15)) >> 1);
    }

    action take_off() {
        hdr.ethernet.ethertype = hdr.label.ethertype;
        hdr.label.setInvalid();
    }

    apply {
        /* Lengths from behind Ethernet and all tags; those that are taken off are none of the packet's. */
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
                /* More tags than are taken off, or half of one. */
                if (hdr.ethernet.ethertype == ETHERTYPE_8021AD) {
                    refuse();
                }
            }
        }
    }
}

/* Addresses of a packet. What is truncated, malformed or not IP has none, which is no mistake. */
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

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The switch around a scheme: tables that a control plane fills, and the way of a packet through them. The scheme
 * gives two controls with a table of parameters each: DomainTable and Meter, at the edge, AqmTable and Aqm, in front of
 * the queue.
 *
 *   ingress  probe -> ports -> label -> [domain, users -> Meter] -> routes, stations -> [aqm -> Aqm]
 *   egress   departure -> links -> label
 */
#ifndef FAIRLANE_SWITCH_P4
#define FAIRLANE_SWITCH_P4

control SwitchIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    DomainTable() domain;
    Meter() meter_of_user;
    AqmTable() aqm;
    Aqm() aqm_of_port;
    Strip() strip;
    Source() source;
#ifdef FAIRLANE_PROBE
    ProbeBegin() probe_begin;
    ProbeEnd() probe_end;
#endif

    /* Per port of ingress: labels that hosts forged and that were taken off; packets with malformed tags. */
    @name(".stripped") counter(PORTS, CounterType.packets) stripped;
    @name(".refused") counter(PORTS, CounterType.packets) refused;
    @name(".unroutable") counter(PORTS, CounterType.packets) unroutable;
    /* Per port of egress: what the AQM did. */
    @name(".accepted_by_aqm") counter(PORTS, CounterType.packets_and_bytes) accepted_by_aqm;
    @name(".dropped_by_aqm") counter(PORTS, CounterType.packets_and_bytes) dropped_by_aqm;
    @name(".dropped_by_limit") counter(PORTS, CounterType.packets_and_bytes) dropped_by_limit;
    /* Per user: what was metered, and what the AQMs of this switch dropped of it. */
    @name(".metered_of_user") counter(USERS, CounterType.packets_and_bytes) metered_of_user;
    @name(".dropped_of_user") counter(USERS, CounterType.packets_and_bytes) dropped_of_user;

    /* ---- roles ---- */

    @name(".plain") action plain() { meta.role = Role.PLAIN; }
    @name(".untrusted") action untrusted() { meta.role = Role.UNTRUSTED; }
    @name(".trusted") action trusted() { meta.role = Role.TRUSTED; }

    /* Edge: untrusted ports. Core: trusted ports. A switch may have both. */
    @name(".ports")
    table ports {
        key = { standard_metadata.ingress_port: exact; }
        actions = { plain; untrusted; trusted; }
        default_action = plain();
        size = PORTS;
    }

    /* ---- users ---- */

    @name(".set_user")
    action set_user(bit<64> offset, bit<2> class_rule, bit<32> index) {
        meta.user = { offset, (ClassRule)class_rule, index };
    }

    /* Each address has a meter of its own, one of `size` from `base` on; addresses of one hash share it. */
    @name(".set_user_of_address")
    action set_user_of_address(bit<64> offset, bit<2> class_rule, bit<32> base, bit<32> size) {
        meta.user = { offset, (ClassRule)class_rule, 0 };
        hash(meta.user.index, HashAlgorithm.crc32, base, { meta.source }, size);
    }

    @name(".users")
    table users {
        key = { meta.source: lpm; }
        actions = { set_user; set_user_of_address; NoAction; }
        default_action = NoAction();
        size = USERS;
    }

    /* Who has no prefix of its own, and packets other than IP. One entry, the default action. */
    @name(".default_user")
    table default_user {
        actions = { set_user; set_user_of_address; }
    }

    action set_class() {
        bit<1> is_ef = meta.dscp == DSCP_EF ? 1w1 : 0;
        bit<1> is_rule_ef = meta.user.class_rule == ClassRule.EXPEDITED ? 1w1 : 0;
        meta.label.is_expedited = (meta.user.class_rule == ClassRule.DSCP) ? is_ef : is_rule_ef;
    }

    /* ---- forwarding ---- */

    @name(".drop") action drop() { meta.verdict = Verdict.NO_ROUTE; }

    /* Bridges. */
    @name(".send") action send(bit<9> port) { standard_metadata.egress_spec = port; }

    /*
     * To a multicast group. The ingress decides once for all copies: by the AQM of one port of the group, 511 if none has one.
     * Further ports of the group must have none.
     */
    @name(".flood")
    action flood(bit<16> group, bit<9> managed_port) {
        standard_metadata.mcast_grp = group;
        standard_metadata.egress_spec = managed_port;
    }

    /* Routes. */
    @name(".route")
    action route(bit<9> port, bit<48> source_mac, bit<48> destination_mac) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.source = source_mac;
        hdr.ethernet.destination = destination_mac;
        meta.is_routed = 1;
    }

    /* By destination address; IPv4 addresses are ::ffff:0:0/96. */
    @name(".routes")
    table routes {
        key = { meta.destination: lpm; }
        actions = { route; send; drop; NoAction; }
        default_action = NoAction();
        size = 1024;
    }

    /* What has no route: by destination MAC. */
    @name(".stations")
    table stations {
        key = { hdr.ethernet.destination: exact; }
        actions = { send; flood; drop; }
        default_action = drop();
        size = 1024;
    }

    /* A hop: RFC 1812 5.3.1; the checksum as in RFC 1141. */
    action count_hop() {
        if (hdr.ipv4.isValid()) {
            meta.verdict = hdr.ipv4.ttl <= 1 ? Verdict.NO_ROUTE : meta.verdict;
            hdr.ipv4.ttl = hdr.ipv4.ttl - 1;
            bit<32> sum = (bit<32>)hdr.ipv4.checksum + 0x100;
            hdr.ipv4.checksum = (bit<16>)(sum + (sum >> 16));
        } else {
            meta.verdict = hdr.ipv6.hop_limit <= 1 ? Verdict.NO_ROUTE : meta.verdict;
            hdr.ipv6.hop_limit = hdr.ipv6.hop_limit - 1;
        }
    }

    apply {
        meta.now_ns = (bit<64>)standard_metadata.ingress_global_timestamp * 1000;
#ifdef FAIRLANE_PROBE
        probe_begin.apply(hdr, meta, standard_metadata);
#endif
        ports.apply();
        strip.apply(hdr, meta, standard_metadata);
        if (meta.verdict == Verdict.REFUSED) {
            refused.count((bit<32>)standard_metadata.ingress_port);
        } else {
            if (meta.is_stripped == 1) {
                stripped.count((bit<32>)standard_metadata.ingress_port);
            }
            source.apply(hdr, meta);
            if (meta.role == Role.UNTRUSTED) {
                domain.apply(meta.domain);
                if (meta.is_ip == 0 || !users.apply().hit) {
                    default_user.apply();
                }
                metered_of_user.count(meta.user.index);
                set_class();
                meter_of_user.apply(meta);
            }
            if (meta.is_ip == 0 || !routes.apply().hit) {
                stations.apply();
            } else if (meta.is_routed == 1) {
                count_hop();
            }
            if (meta.verdict == Verdict.NO_ROUTE) {
                unroutable.count((bit<32>)standard_metadata.ingress_port);
            } else {
                aqm.apply(standard_metadata.egress_spec, meta.aqm, meta.queue, meta.is_managed);
            }
            if (meta.is_managed == 1) {
                aqm_of_port.apply(meta, standard_metadata);
                if (meta.verdict == Verdict.ACCEPTED) {
                    accepted_by_aqm.count((bit<32>)standard_metadata.egress_spec);
                } else {
                    if (meta.verdict == Verdict.DROPPED) {
                        dropped_by_aqm.count((bit<32>)standard_metadata.egress_spec);
                    } else {
                        dropped_by_limit.count((bit<32>)standard_metadata.egress_spec);
                    }
                    if (meta.role == Role.UNTRUSTED) {
                        dropped_of_user.count(meta.user.index);
                    }
                }
            }
        }
        if (meta.verdict != Verdict.ACCEPTED) {
            mark_to_drop(standard_metadata);
        }
#ifdef FAIRLANE_PROBE
        probe_end.apply(hdr, meta, standard_metadata);
#endif
    }
}

control SwitchEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard_metadata) {
    Departure() departure;

    /* The label on the link: a tag in front of all others. */
    @name(".carry_label")
    action carry_label() {
        bit<15> upper = (bit<15>)(meta.label.activity >> (ACTIVITY_BITS - 15));
        hdr.label.setValid();
        hdr.label.pcp = upper[14:12];
        hdr.label.dei = meta.label.is_expedited;
        hdr.label.vid = upper[11:0];
        hdr.label.ethertype = hdr.ethernet.ethertype;
        hdr.ethernet.ethertype = ETHERTYPE_8021AD;
    }

    /* The end of the domain: labels stay in the switch. */
    @name(".end_of_domain") action end_of_domain() {}

    /* Links within the domain. */
    @name(".links")
    table links {
        key = { standard_metadata.egress_port: exact; }
        actions = { carry_label; end_of_domain; }
        default_action = end_of_domain();
        size = PORTS;
    }

    apply {
        departure.apply(meta, standard_metadata);
        if (meta.label.is_valid == 1) {
            links.apply();
        }
    }
}

control NoVerification(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

control NoChecksum(inout headers_t hdr, inout metadata_t meta) {
    apply {}
}

V1Switch(PacketParser(), NoVerification(), SwitchIngress(), SwitchEgress(), NoChecksum(), PacketDeparser()) main;

#endif

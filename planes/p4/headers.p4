/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Headers on the wire, and the parts of what the switch knows of a packet. */
#ifndef FAIRLANE_HEADERS_P4
#define FAIRLANE_HEADERS_P4

const bit<16> ETHERTYPE_IPV4 = 0x0800;
const bit<16> ETHERTYPE_8021Q = 0x8100;
const bit<16> ETHERTYPE_IPV6 = 0x86dd;
/* 802.1ad: what carries labels, as on the Linux node (bpf/node.h). */
const bit<16> ETHERTYPE_8021AD = 0x88a8;

const bit<6> DSCP_EF = 46;
const bit<32> ETHERNET_BYTES = 14;
const bit<32> TAG_BYTES = 4;

header ethernet_t {
    bit<48> destination;
    bit<48> source;
    bit<16> ethertype;
}

/*
 * PCP and VID are the upper 15 bits of the biased label, DEI is class EF: exact to 2^-10. The finer digits stay in the
 * switch that metered.
 */
header tag_t {
    bit<3>  pcp;
    bit<1>  dei;
    bit<12> vid;
    bit<16> ethertype;
}

header ipv4_t {
    bit<4>  version;
    bit<4>  header_words;
    bit<6>  dscp;
    bit<2>  ecn;
    bit<16> total_bytes;
    bit<16> identification;
    bit<3>  flags;
    bit<13> fragment_offset;
    bit<8>  ttl;
    bit<8>  protocol;
    bit<16> checksum;
    bit<32> source;
    bit<32> destination;
}

header ipv6_t {
    bit<4>   version;
    bit<6>   dscp;
    bit<2>   ecn;
    bit<20>  flow_label;
    bit<16>  payload_bytes;
    bit<8>   next_header;
    bit<8>   hop_limit;
    bit<128> source;
    bit<128> destination;
}

#ifdef FAIRLANE_PROBE
/* In front of Ethernet in tests, see probe.p4. */
header probe_t {
    /* In. */
    bit<32> number;
    bit<16> ingress_port;
    bit<64> now_ns;
    bit<64> queue;      /* in the unit of the AQM */
    bit<32> random;
    /* Out. */
    bit<8>  verdict;
    bit<8>  flags;      /* 1: label is valid, 2: expedited, 4: an AQM has decided, 8: flooded */
    bit<32> activity;   /* biased */
    bit<64> average;    /* what average and threshold are, the AQM says */
    bit<64> threshold;
    bit<16> egress_port;
    bit<8>  priority;
}
#endif

struct headers_t {
#ifdef FAIRLANE_PROBE
    probe_t    probe;
#endif
    ethernet_t ethernet;
    /* Outermost 802.1ad tags: the label of a neighbour, or what hosts forged. */
    tag_t      label;
    tag_t      inner_label;
    /* Further tags that the source address is looked for behind. */
    tag_t      vlan;
    tag_t      inner_vlan;
    ipv4_t     ipv4;
    ipv6_t     ipv6;
}

/* What happens to packets that come in at a port. */
enum bit<2> Role {
    PLAIN = 0,     /* labels are stripped, nobody is metered */
    UNTRUSTED = 1, /* edge: labels are stripped, users metered */
    TRUSTED = 2    /* core: labels are believed */
}

/* Which class a user's packets are in. */
enum bit<2> ClassRule {
    BEST_EFFORT = 0,
    EXPEDITED = 1,
    DSCP = 2 /* expedited if the DSCP is EF */
}

/* What became of a packet. */
enum bit<3> Verdict {
    ACCEPTED = 0,
    DROPPED = 1,   /* by the AQM */
    OVERLIMIT = 2, /* by the limit of the queue */
    REFUSED = 3,   /* malformed label */
    NO_ROUTE = 4
}

/* The label of a packet inside the switch. */
struct label_t {
    bit<1>     is_valid;
    bit<1>     is_expedited;
    activity_t activity; /* log2 of the user's rate over the reference rate, biased: + 32, unsigned */
}

/* What the meter needs to know of the user. */
struct user_t {
    bit<64> offset; /* from log2(S) to the label, Q31 in two's complement */
    ClassRule class_rule;
    bit<32> index; /* of the registers */
}

/* The queue of a port: what is set, what a packet finds there, where it stands. All lengths are in one unit. */
struct queue_t {
    bit<1>  is_virtual;  /* unit: nanoseconds of a virtual queue; otherwise 1/16 packets of the egress queues */
    bit<64> limit;       /* 2^64 - 1: none */
    bit<64> ns_per_byte; /* Q20, of the virtual queue */
    bit<3>  ef_priority; /* queue of expedited packets; 0: that of all others */
    bit<64> length;      /* what waits */
    bit<64> share;       /* what the packet adds */
    /* From the AQM to the egress: whose place in which queue this is. */
    bit<1>  is_counted;
    bit<32> index;
    bit<32> place;
}

#ifdef FAIRLANE_PROBE
/* What tests set, and what the AQM shows them; see probe.p4. */
struct probed_t {
    bit<64> queue;
    bit<32> random;
    bit<64> average;
    bit<64> threshold;
}
#endif

#endif

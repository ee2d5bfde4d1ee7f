/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the switch knows of a packet. domain_t and aqm_t are the scheme's, in its parameters.p4. */
#ifndef FAIRLANE_METADATA_P4
#define FAIRLANE_METADATA_P4

struct metadata_t {
    Role       role;
    Verdict    verdict;
    label_t    label;
    bit<64>    now_ns;
    bit<32>    ip_bytes;    /* from the IP header on; of other packets, from behind Ethernet and tags */
    bit<128>   source;      /* IPv4 addresses are ::ffff:0:0/96 */
    bit<128>   destination;
    bit<1>     is_ip;
    bit<6>     dscp;
    bit<1>     is_stripped; /* a label of an untrusted port */
    bit<1>     is_routed;
    bit<1>     is_managed;  /* the port has an AQM, which judges the packet */
    domain_t   domain;
    user_t     user;
    aqm_t      aqm;
    queue_t    queue;
#ifdef FAIRLANE_PROBE
    probed_t   probed;
#endif
}

#endif

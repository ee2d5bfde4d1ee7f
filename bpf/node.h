/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * What the kernel programs and the tool share: layout of the maps, of the mark, of the tag. The tool has the same
 * structures in crates/node/src/kernel/layout.rs; every read and write compares their sizes, the replays their fields.
 */
#ifndef FAIRLANE_NODE_H
#define FAIRLANE_NODE_H

#include "fixed.h"

/* What labels say and ports decide by: the activity (ABC), or the rate over the reference rate as a logarithm (CSFQ). */
enum { SCHEME_ABC, SCHEME_CSFQ };

/* Classes, and the rules that give them to users. */
enum { CLASS_BE, CLASS_EF, CLASSES };
enum { RULE_BE, RULE_EF, RULE_DSCP };

/* Units of a queue: 1/16 packets, bytes, nanoseconds of a virtual queue. */
enum { UNIT_PACKETS, UNIT_BYTES, UNIT_VIRTUAL };

/* What a port does with packets that come in. */
enum { INGRESS_NONE, INGRESS_METER, INGRESS_TRUSTED };

/*
 * The label inside a node is the mark of the packet:
 *   31..24 MARK_VALID, 23 zero, 22 class EF, 21..0 biased activity.
 */
#define MARK_VALID 0xfa000000U
#define MARK_VALID_MASK 0xff000000U
#define MARK_EF 0x00400000U
#define MARK_ACTIVITY 0x003fffffU

/*
 * On a link it is an 802.1ad tag: PCP and VID are the upper 15 bits of the biased activity, DEI is class EF. The lower 7
 * are lost; what comes out is the middle of the activities with these upper bits, which is wrong by 2^-10 at most.
 */
#define TAG_ETHERTYPE 0x88a8
#define TAG_DEI 0x1000
#define TAG_LOST_BITS (FAIR_ACTIVITY_BITS - 15)

/*
 * Or an option in the hop-by-hop header of IPv6: type 0x1e (for experiments, RFC 4727; nodes that do not know it pass it
 * over, RFC 8200 4.2), 4 bytes that are the mark in network byte order. It comes first in its header.
 */
#define OPTION_TYPE 0x1e
#define OPTION_PADN 1
/*
 * Or a shim of 8 bytes between the addresses and the ethertype, as a tag would lie there: an ethertype for experiments
 * (IEEE 802, Local Experimental 1), the mark in network byte order, zero. It is taken off by XDP, before the kernel
 * looks at the packet, and its label goes on in front of the data (data_meta).
 */
#define SHIM_ETHERTYPE 0x88b5
/* What an option or a shim adds to a packet. */
#define LABEL_BYTES 8

#define DSCP_EF 46
/* A port has the place of its ifindex modulo this; the tool refuses two ports of one place. */
#define PORT_PLACES 1024

struct node_config {
	__u64 start_ns; /* t0 of all meters */
	__u64 netns; /* inode of the network namespace of the ports */
	__u64 user_timeout_ns;
	__u64 sweep_ns; /* time between two searches for silent users */
	struct fair_decay decay; /* of M_AM */
	__s64 log2_memory;
	__u32 factor_q20[CLASSES];
	__s64 log2_tick; /* of a tick over the memory, Q31: CSFQ */
	__u32 scheme;
	__u32 vlans; /* number of users by VLAN */
	__u32 marks; /* number of users by mark */
	__u32 reserved;
};

/* Key of the trie: IPv4 addresses are ::ffff:0:0/96. */
struct prefix_key {
	__u32 bits;
	__u8 address[16];
};

/* A meter's identity survives every change of the configuration. */
struct user_key {
	__u8 address[16]; /* of the prefix, or the address itself; VLAN; value and mask of a mark */
	__u8 bits; /* length of the prefix; 128 for an address */
	__u8 kind;
	__u8 reserved[6];
} __attribute__((aligned(8))); /* copied in three steps, not byte by byte */

/* What a user is known by; the default user is who has no user of its own. */
enum { KIND_ADDRESS, KIND_DEFAULT, KIND_VLAN, KIND_MARK };

struct rule {
	struct user_key key; /* of the meter that the prefix has */
	__s64 offset; /* FixedMeterParams::offset_q31 */
	__u32 class_rule;
	__u32 per_address; /* each address has a meter of its own */
};

/* Users by mark: the first whose mask and value fit counts. */
#define MOST_MARKS 16

struct mark_rule {
	__u32 value;
	__u32 mask;
	struct rule rule;
};

struct user {
	struct bpf_spin_lock lock;
	__s32 activity; /* last label */
	struct fair_meter meter;
	__u64 pending; /* bytes of the tick, Q16: CSFQ */
	__u64 last_ns;
	__u64 packets;
	__u64 bytes;
	__u64 drops; /* by an AQM of this node */
};

struct port_config {
	__u32 ifindex; /* 0: none */
	__u32 ingress;
	__u32 aqm; /* 0: none, 1: abc, 2: csfq */
	__u32 carrier; /* of labels on this link */
	__u32 unit;
	__u32 made_clsact; /* of the tool: the qdisc was not there before */
	__u32 qdisc_class[CLASSES]; /* skb->priority, 0: leave */
	__s64 q_min;
	__s64 q_base; /* of csfq: q_threshold */
	__s64 gamma;
	__s64 limit; /* 0: none */
	struct fair_decay decay; /* of M_AA */
	__u64 ns_per_byte_q20; /* of the virtual queue */
	struct fair_csfq_params csfq;
};

enum { AQM_NONE, AQM_ABC, AQM_CSFQ };

enum { CARRIER_NONE, CARRIER_TAG, CARRIER_OPTION, CARRIER_SHIM };

/* Counters of a port; in one lock with what they count. */
struct port_state {
	struct bpf_spin_lock lock;
	__s32 average; /* A_avg before the last packet; of csfq: alpha, the lowest label without an estimate */
	struct fair_averager averager;
	__u64 free_at_ns; /* virtual queue: when it will be empty */
	__s64 queue; /* that the last packet found */
	__s64 threshold; /* T_drop of the last packet; of csfq: Q_min */
	__u64 accepted;
	__u64 accepted_bytes;
	__u64 dropped; /* by the AQM */
	__u64 overlimit; /* by the limit */
	__u64 unlabelled;
	struct fair_csfq csfq;
};

/* Counters of what happens to labels. */
struct ingress_stats {
	__u64 metered;
	__u64 trusted;
	__u64 stripped; /* labels from untrusted ports */
	__u64 refused; /* packets from which no label can be taken, or onto which none can be put */
	__u64 not_ip; /* counted for the default user */
	__u64 no_room; /* users that found the table full */
	__u64 expired; /* users that were silent for too long */
	__u64 too_large; /* packets that have no room for a label on their link */
};

/* Inputs of a replay, in place of the clock, the qdisc and the random number. */
struct replay_input {
	__u64 now_ns;
	__u32 packets;
	__u32 bytes;
	__u32 random;
	__u32 reserved;
};

#endif

/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Written by `make bpf-headers` from crates/node/src/records: do not edit. */
#ifndef FAIRLANE_RECORDS_H
#define FAIRLANE_RECORDS_H

/* Users by mark, which are tried one after another. */
#define MOST_MARKS 16
/* A port has the place of its ifindex modulo this; the tool refuses two ports of one place. */
#define PORT_PLACES 1024

enum { SCHEME_ABC = 0, SCHEME_CSFQ = 1 };
enum { RULE_BE = 0, RULE_EF = 1, RULE_DSCP = 2 };
enum { UNIT_PACKETS = 0, UNIT_BYTES = 1, UNIT_VIRTUAL = 2 };
enum { INGRESS_NONE = 0, INGRESS_METER = 1, INGRESS_TRUSTED = 2 };
enum { AQM_NONE = 0, AQM_ABC = 1, AQM_CSFQ = 2 };
enum { CARRIER_NONE = 0, CARRIER_TAG = 1, CARRIER_OPTION = 2, CARRIER_SHIM = 3 };
enum { KIND_ADDRESS = 0, KIND_DEFAULT = 1, KIND_VLAN = 2, KIND_MARK = 3 };

/* The node. */
struct node_config {
	__u64 start_ns; /* t0 of all meters, on the monotonic clock. */
	__u64 netns; /* Inode of the network namespace of the ports. */
	__u64 user_timeout_ns; /* Silence after which a meter makes room. */
	__u64 sweep_ns; /* Time between two searches for silent users. */
	struct fair_decay decay; /* Of M_AM, or of K of CSFQ. */
	__s64 log2_memory; /* log2 of that memory in ns, Q31: tells memories apart. */
	__u32 factor_q20[2]; /* Accounting factor of each class. */
	__s64 log2_tick; /* log2 of a tick over the memory, Q31: CSFQ. */
	__u32 scheme; /* What labels say and ports decide by. */
	__u32 vlans; /* Number of users by VLAN. */
	__u32 marks; /* Number of users by mark. */
	__u32 reserved; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct node_config) == 88, "node_config");
_Static_assert(__builtin_offsetof(struct node_config, start_ns) == 0, "node_config.start_ns");
_Static_assert(__builtin_offsetof(struct node_config, netns) == 8, "node_config.netns");
_Static_assert(__builtin_offsetof(struct node_config, user_timeout_ns) == 16, "node_config.user_timeout_ns");
_Static_assert(__builtin_offsetof(struct node_config, sweep_ns) == 24, "node_config.sweep_ns");
_Static_assert(__builtin_offsetof(struct node_config, decay) == 32, "node_config.decay");
_Static_assert(__builtin_offsetof(struct node_config, log2_memory) == 48, "node_config.log2_memory");
_Static_assert(__builtin_offsetof(struct node_config, factor_q20) == 56, "node_config.factor_q20");
_Static_assert(__builtin_offsetof(struct node_config, log2_tick) == 64, "node_config.log2_tick");
_Static_assert(__builtin_offsetof(struct node_config, scheme) == 72, "node_config.scheme");
_Static_assert(__builtin_offsetof(struct node_config, vlans) == 76, "node_config.vlans");
_Static_assert(__builtin_offsetof(struct node_config, marks) == 80, "node_config.marks");
_Static_assert(__builtin_offsetof(struct node_config, reserved) == 84, "node_config.reserved");

/* Key of the trie: IPv4 addresses are ::ffff:0:0/96. */
struct prefix_key {
	__u32 bits; /* Length of the prefix. */
	__u8 address[16]; /* IPv6 address, or IPv4 mapped into it. */
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct prefix_key) == 20, "prefix_key");
_Static_assert(__builtin_offsetof(struct prefix_key, bits) == 0, "prefix_key.bits");
_Static_assert(__builtin_offsetof(struct prefix_key, address) == 4, "prefix_key.address");

/* The identity of a meter, which survives every change of the configuration. Aligned: copied in three steps. */
struct user_key {
	__u8 address[16]; /* Of the prefix, or the address itself; VLAN; value and mask of a mark. */
	__u8 bits; /* Length of the prefix; 128 for an address. */
	__u8 kind; /* What the user is known by. */
	__u8 reserved[6]; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct user_key) == 24, "user_key");
_Static_assert(__builtin_offsetof(struct user_key, address) == 0, "user_key.address");
_Static_assert(__builtin_offsetof(struct user_key, bits) == 16, "user_key.bits");
_Static_assert(__builtin_offsetof(struct user_key, kind) == 17, "user_key.kind");
_Static_assert(__builtin_offsetof(struct user_key, reserved) == 18, "user_key.reserved");

/* Rate and class of a user. */
struct rule {
	struct user_key key; /* Of the meter that the prefix has. */
	__s64 offset; /* What the reference rate adds to the label, Q31. */
	__u32 class_rule; /* Which packets are expedited. */
	__u32 per_address; /* Whether each address has a meter of its own. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct rule) == 40, "rule");
_Static_assert(__builtin_offsetof(struct rule, key) == 0, "rule.key");
_Static_assert(__builtin_offsetof(struct rule, offset) == 24, "rule.offset");
_Static_assert(__builtin_offsetof(struct rule, class_rule) == 32, "rule.class_rule");
_Static_assert(__builtin_offsetof(struct rule, per_address) == 36, "rule.per_address");

/* Users by mark: the first whose mask and value fit counts. */
struct mark_rule {
	__u32 value; /* What the bits under the mask are. */
	__u32 mask; /* Which bits count. */
	struct rule rule; /* What the user has. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct mark_rule) == 48, "mark_rule");
_Static_assert(__builtin_offsetof(struct mark_rule, value) == 0, "mark_rule.value");
_Static_assert(__builtin_offsetof(struct mark_rule, mask) == 4, "mark_rule.mask");
_Static_assert(__builtin_offsetof(struct mark_rule, rule) == 8, "mark_rule.rule");

/* A user: its meter and counters. */
struct user {
	struct bpf_spin_lock lock; /* Of the meter. */
	__s32 activity; /* Label of the last packet. */
	struct fair_meter meter; /* Amount, and when it was counted. */
	__u64 pending; /* Bytes of the tick, Q16: CSFQ. */
	__u64 last_ns; /* When the last packet came, on the monotonic clock. */
	__u64 packets; /* Packets metered. */
	__u64 bytes; /* Bytes metered, from the IP header on. */
	__u64 dropped; /* Packets that an AQM of this node dropped. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct user) == 64, "user");
_Static_assert(__builtin_offsetof(struct user, lock) == 0, "user.lock");
_Static_assert(__builtin_offsetof(struct user, activity) == 4, "user.activity");
_Static_assert(__builtin_offsetof(struct user, meter) == 8, "user.meter");
_Static_assert(__builtin_offsetof(struct user, pending) == 24, "user.pending");
_Static_assert(__builtin_offsetof(struct user, last_ns) == 32, "user.last_ns");
_Static_assert(__builtin_offsetof(struct user, packets) == 40, "user.packets");
_Static_assert(__builtin_offsetof(struct user, bytes) == 48, "user.bytes");
_Static_assert(__builtin_offsetof(struct user, dropped) == 56, "user.dropped");

/* What happens at a port. */
struct port_config {
	__u32 ifindex; /* Index of the interface; 0 in a place without a port. */
	__u32 ingress; /* What happens to packets that come in. */
	__u32 aqm; /* What decides on packets that go out. */
	__u32 carrier; /* What carries labels on the link. */
	__u32 unit; /* Of the queue. */
	__u32 made_clsact; /* Whether the tool made the clsact qdisc. */
	__u32 qdisc_class[2]; /* skb->priority of each class, 0 leaves it. */
	__s64 q_min; /* Q_min. */
	__s64 q_base; /* Q_base; of CSFQ the threshold of its queue. */
	__s64 gamma; /* Gamma. */
	__s64 limit; /* Q_max; 0 for none. */
	struct fair_decay decay; /* Of M_AA. */
	__u64 ns_per_byte_q20; /* What a byte adds to the virtual queue. */
	struct fair_csfq_params csfq; /* Parameters of CSFQ. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct port_config) == 136, "port_config");
_Static_assert(__builtin_offsetof(struct port_config, ifindex) == 0, "port_config.ifindex");
_Static_assert(__builtin_offsetof(struct port_config, ingress) == 4, "port_config.ingress");
_Static_assert(__builtin_offsetof(struct port_config, aqm) == 8, "port_config.aqm");
_Static_assert(__builtin_offsetof(struct port_config, carrier) == 12, "port_config.carrier");
_Static_assert(__builtin_offsetof(struct port_config, unit) == 16, "port_config.unit");
_Static_assert(__builtin_offsetof(struct port_config, made_clsact) == 20, "port_config.made_clsact");
_Static_assert(__builtin_offsetof(struct port_config, qdisc_class) == 24, "port_config.qdisc_class");
_Static_assert(__builtin_offsetof(struct port_config, q_min) == 32, "port_config.q_min");
_Static_assert(__builtin_offsetof(struct port_config, q_base) == 40, "port_config.q_base");
_Static_assert(__builtin_offsetof(struct port_config, gamma) == 48, "port_config.gamma");
_Static_assert(__builtin_offsetof(struct port_config, limit) == 56, "port_config.limit");
_Static_assert(__builtin_offsetof(struct port_config, decay) == 64, "port_config.decay");
_Static_assert(__builtin_offsetof(struct port_config, ns_per_byte_q20) == 80, "port_config.ns_per_byte_q20");
_Static_assert(__builtin_offsetof(struct port_config, csfq) == 88, "port_config.csfq");

/* What a port has done; under one lock with what it counts. */
struct port_state {
	struct bpf_spin_lock lock; /* Of all that follows. */
	__s32 average; /* A_avg before the last packet; of CSFQ log2 of the fair rate, the lowest label without an estimate. */
	struct fair_averager averager; /* A_avg. */
	__u64 free_at_ns; /* When the virtual queue will be empty. */
	__s64 queue; /* Queue that the last packet found, in the unit of the port. */
	__s64 threshold; /* T_drop of the last packet; of CSFQ Q_min. */
	__u64 accepted; /* Packets accepted. */
	__u64 accepted_bytes; /* Their bytes, Ethernet header included. */
	__u64 dropped; /* Packets dropped by the AQM. */
	__u64 overlimit; /* Packets dropped at the limit. */
	__u64 unlabelled; /* Accepted packets without a label. */
	struct fair_csfq csfq; /* State of CSFQ. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct port_state) == 168, "port_state");
_Static_assert(__builtin_offsetof(struct port_state, lock) == 0, "port_state.lock");
_Static_assert(__builtin_offsetof(struct port_state, average) == 4, "port_state.average");
_Static_assert(__builtin_offsetof(struct port_state, averager) == 8, "port_state.averager");
_Static_assert(__builtin_offsetof(struct port_state, free_at_ns) == 32, "port_state.free_at_ns");
_Static_assert(__builtin_offsetof(struct port_state, queue) == 40, "port_state.queue");
_Static_assert(__builtin_offsetof(struct port_state, threshold) == 48, "port_state.threshold");
_Static_assert(__builtin_offsetof(struct port_state, accepted) == 56, "port_state.accepted");
_Static_assert(__builtin_offsetof(struct port_state, accepted_bytes) == 64, "port_state.accepted_bytes");
_Static_assert(__builtin_offsetof(struct port_state, dropped) == 72, "port_state.dropped");
_Static_assert(__builtin_offsetof(struct port_state, overlimit) == 80, "port_state.overlimit");
_Static_assert(__builtin_offsetof(struct port_state, unlabelled) == 88, "port_state.unlabelled");
_Static_assert(__builtin_offsetof(struct port_state, csfq) == 96, "port_state.csfq");

/* Counters of what happens to labels, of one processor. */
struct ingress_stats {
	__u64 metered; /* Packets metered. */
	__u64 trusted; /* Packets whose label came over a trusted link. */
	__u64 stripped; /* Packets from untrusted ports that had a label. */
	__u64 refused; /* Packets dropped because no label could be taken from them or put onto them. */
	__u64 not_ip; /* Packets without an IP address, counted for the default user. */
	__u64 no_room; /* Packets of users that found the table full. */
	__u64 expired; /* Users forgotten. */
	__u64 too_large; /* Packets dropped because a label made them too large for their link. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct ingress_stats) == 64, "ingress_stats");
_Static_assert(__builtin_offsetof(struct ingress_stats, metered) == 0, "ingress_stats.metered");
_Static_assert(__builtin_offsetof(struct ingress_stats, trusted) == 8, "ingress_stats.trusted");
_Static_assert(__builtin_offsetof(struct ingress_stats, stripped) == 16, "ingress_stats.stripped");
_Static_assert(__builtin_offsetof(struct ingress_stats, refused) == 24, "ingress_stats.refused");
_Static_assert(__builtin_offsetof(struct ingress_stats, not_ip) == 32, "ingress_stats.not_ip");
_Static_assert(__builtin_offsetof(struct ingress_stats, no_room) == 40, "ingress_stats.no_room");
_Static_assert(__builtin_offsetof(struct ingress_stats, expired) == 48, "ingress_stats.expired");
_Static_assert(__builtin_offsetof(struct ingress_stats, too_large) == 56, "ingress_stats.too_large");

/* Inputs of a replay, in place of the clock, the qdisc and the random number. */
struct replay_input {
	__u64 now_ns; /* The time. */
	__u32 packets; /* Packets in the qdisc. */
	__u32 bytes; /* Bytes in the qdisc. */
	__u32 random; /* Random bits. */
	__u32 reserved; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct replay_input) == 24, "replay_input");
_Static_assert(__builtin_offsetof(struct replay_input, now_ns) == 0, "replay_input.now_ns");
_Static_assert(__builtin_offsetof(struct replay_input, packets) == 8, "replay_input.packets");
_Static_assert(__builtin_offsetof(struct replay_input, bytes) == 12, "replay_input.bytes");
_Static_assert(__builtin_offsetof(struct replay_input, random) == 16, "replay_input.random");
_Static_assert(__builtin_offsetof(struct replay_input, reserved) == 20, "replay_input.reserved");

#endif

/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Written by `make bpf-headers` from crates/node/src/records: do not edit. */
#ifndef FAIRLANE_RECORDS_H
#define FAIRLANE_RECORDS_H

/* Maximum number of users by mark, which are matched one by one. */
#define MOST_MARKS 16
/* The slot of a port is its ifindex modulo this number; the tool rejects two ports with the same slot. */
#define PORT_PLACES 1024
/* Limits of one slice of the search for silent users: slots checked, users expired. */
#define SLICE_LOOKED 256
#define SLICE_EXPIRED 64
/* Interval between questions to a neighbour, and validity of an answer from its question on. */
#define ASK_EVERY_NS 200000000ULL
#define READ_FOR_NS 2000000000ULL

/* Control traffic, see control.rs. */
#define ETHERTYPE_ARP 0x0806
#define DSCP_CS6 48
#define DSCP_CS7 56
#define PROTOCOL_ICMP 1
#define NEXT_ICMPV6 58
#define ND_FIRST 133
#define ND_LAST 137
#define ND_HOP_LIMIT 255
#define CONTROL_BURST_NS 1000000000ULL

enum { SCHEME_ABC = 0, SCHEME_CSFQ = 1 };
enum { RULE_BE = 0, RULE_EF = 1, RULE_DSCP = 2 };
enum { UNIT_PACKETS = 0, UNIT_BYTES = 1, UNIT_VIRTUAL = 2 };
enum { OWN_QDISC_NONE = 0, OWN_QDISC_FIFO = 1 };
enum { INGRESS_NONE = 0, INGRESS_METER = 1, INGRESS_TRUSTED = 2 };
enum { AQM_NONE = 0, AQM_ABC = 1, AQM_CSFQ = 2 };
enum { CARRIER_NONE = 0, CARRIER_TAG = 1, CARRIER_OPTION = 2, CARRIER_SHIM = 3 };
enum { USER_IS_SOURCE = 0, USER_IS_DESTINATION = 1 };
enum { KIND_FREE = 0, KIND_ADDRESS = 1, KIND_DEFAULT = 2, KIND_OVERFLOW = 3, KIND_UNPARSED = 4, KIND_VLAN = 5, KIND_MARK = 6, KIND_SERVICE = 7, KIND_TAGS = 8, KIND_SESSION = 9, KIND_TUNNEL = 10 };
enum { PLACE_DEFAULT = 0, PLACE_OVERFLOW = 2, PLACE_UNPARSED = 4, PLACE_FIRST = 6 };

/* Position of the label in a packet mark: a bit for the class, and above this bit the upper bits of the activity */
struct mark_bits {
	__u32 mask; /* Bits of the label. */
	__u32 shift; /* Lowest bit of the label. */
	__u32 lost; /* Number of low activity bits that are cut off. */
	__u32 most; /* Maximum value above the class bit. */
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct mark_bits) == 16, "mark_bits");
_Static_assert(__builtin_offsetof(struct mark_bits, mask) == 0, "mark_bits.mask");
_Static_assert(__builtin_offsetof(struct mark_bits, shift) == 4, "mark_bits.shift");
_Static_assert(__builtin_offsetof(struct mark_bits, lost) == 8, "mark_bits.lost");
_Static_assert(__builtin_offsetof(struct mark_bits, most) == 12, "mark_bits.most");

/* The node. */
struct node_config {
	__u64 start_ns; /* t0 of all meters, on the monotonic clock. */
	__u64 netns; /* Inode of the network namespace of the ports. */
	__u64 user_timeout_ns; /* Idle time after which a meter is freed. */
	__u64 sweep_ns; /* Duration of a search of the whole table for idle users. */
	struct fair_decay decay; /* Decay of M_AM, or of K of CSFQ. */
	__s64 log2_memory; /* log2 of the memory in ns, Q31. A reload must not change it. */
	__u32 factor_q20[2]; /* Accounting factor of each class. */
	__s64 log2_tick; /* For CSFQ, log2 of a tick divided by the memory, Q31. */
	__u32 scheme; /* Scheme, which determines the quantity in labels. */
	__u32 marks; /* Number of users by mark. */
	__u32 kinds; /* Kinds of identifiers in use, one bit each. */
	__u32 first_address; /* First slot of per-address meters. */
	__u32 addresses; /* Number of slots of per-address meters. */
	__u32 carriers; /* Label carriers in use at the node's ports, one bit each. */
	__u32 generation; /* Generation of the rules, never zero: programs' cached rules are valid only for the same generation. */
	__u32 reserved; /* Zero. */
	struct mark_bits mark_bits; /* Position of labels in marks. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct node_config) == 120, "node_config");
_Static_assert(__builtin_offsetof(struct node_config, start_ns) == 0, "node_config.start_ns");
_Static_assert(__builtin_offsetof(struct node_config, netns) == 8, "node_config.netns");
_Static_assert(__builtin_offsetof(struct node_config, user_timeout_ns) == 16, "node_config.user_timeout_ns");
_Static_assert(__builtin_offsetof(struct node_config, sweep_ns) == 24, "node_config.sweep_ns");
_Static_assert(__builtin_offsetof(struct node_config, decay) == 32, "node_config.decay");
_Static_assert(__builtin_offsetof(struct node_config, log2_memory) == 48, "node_config.log2_memory");
_Static_assert(__builtin_offsetof(struct node_config, factor_q20) == 56, "node_config.factor_q20");
_Static_assert(__builtin_offsetof(struct node_config, log2_tick) == 64, "node_config.log2_tick");
_Static_assert(__builtin_offsetof(struct node_config, scheme) == 72, "node_config.scheme");
_Static_assert(__builtin_offsetof(struct node_config, marks) == 76, "node_config.marks");
_Static_assert(__builtin_offsetof(struct node_config, kinds) == 80, "node_config.kinds");
_Static_assert(__builtin_offsetof(struct node_config, first_address) == 84, "node_config.first_address");
_Static_assert(__builtin_offsetof(struct node_config, addresses) == 88, "node_config.addresses");
_Static_assert(__builtin_offsetof(struct node_config, carriers) == 92, "node_config.carriers");
_Static_assert(__builtin_offsetof(struct node_config, generation) == 96, "node_config.generation");
_Static_assert(__builtin_offsetof(struct node_config, reserved) == 100, "node_config.reserved");
_Static_assert(__builtin_offsetof(struct node_config, mark_bits) == 104, "node_config.mark_bits");

/* Key of the trie: IPv4 addresses are ::ffff:0:0/96. */
struct prefix_key {
	__u32 bits; /* Length of the prefix. */
	__u8 address[16]; /* IPv6 address, or IPv4 mapped into it. */
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct prefix_key) == 20, "prefix_key");
_Static_assert(__builtin_offsetof(struct prefix_key, bits) == 0, "prefix_key.bits");
_Static_assert(__builtin_offsetof(struct prefix_key, address) == 4, "prefix_key.address");

/* Identity of a meter, kept when the configuration changes. Aligned, since it is copied in three steps. */
struct user_key {
	__u8 address[16]; /* Address of the prefix, or the numbers of another identifier. */
	__u8 bits; /* Length of the prefix; 128 for an address. */
	__u8 kind; /* Kind of identifier. */
	__u8 user_is; /* Role of the user: source or destination. */
	__u8 reserved[5]; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct user_key) == 24, "user_key");
_Static_assert(__builtin_offsetof(struct user_key, address) == 0, "user_key.address");
_Static_assert(__builtin_offsetof(struct user_key, bits) == 16, "user_key.bits");
_Static_assert(__builtin_offsetof(struct user_key, kind) == 17, "user_key.kind");
_Static_assert(__builtin_offsetof(struct user_key, user_is) == 18, "user_key.user_is");
_Static_assert(__builtin_offsetof(struct user_key, reserved) == 19, "user_key.reserved");

/* Key of an identifier other than addresses and marks. */
struct number_key {
	__u32 kind; /* Kind of identifier. */
	__u32 first; /* First number. */
	__u32 second; /* Second number, or zero. */
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct number_key) == 12, "number_key");
_Static_assert(__builtin_offsetof(struct number_key, kind) == 0, "number_key.kind");
_Static_assert(__builtin_offsetof(struct number_key, first) == 4, "number_key.first");
_Static_assert(__builtin_offsetof(struct number_key, second) == 8, "number_key.second");

/* Rule: meter, rate and class of a user. */
struct rule {
	__s64 offset; /* Contribution of the reference rate to the label, Q31. */
	__u32 place; /* Slot of the user's meter as a source. The next slot is the meter as a destination. */
	__u32 address_limit; /* Maximum number of per-address meters; 0 if all addresses share one. */
	__u32 class_rule; /* Rule for which packets are expedited. */
	__u32 reserved; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct rule) == 24, "rule");
_Static_assert(__builtin_offsetof(struct rule, offset) == 0, "rule.offset");
_Static_assert(__builtin_offsetof(struct rule, place) == 8, "rule.place");
_Static_assert(__builtin_offsetof(struct rule, address_limit) == 12, "rule.address_limit");
_Static_assert(__builtin_offsetof(struct rule, class_rule) == 16, "rule.class_rule");
_Static_assert(__builtin_offsetof(struct rule, reserved) == 20, "rule.reserved");

/* A user identified by a mark. The first matching entry applies. */
struct mark_rule {
	__u32 value; /* Bits under the mask. */
	__u32 mask; /* Significant bits. */
	struct rule rule; /* Rule of the user. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct mark_rule) == 32, "mark_rule");
_Static_assert(__builtin_offsetof(struct mark_rule, value) == 0, "mark_rule.value");
_Static_assert(__builtin_offsetof(struct mark_rule, mask) == 4, "mark_rule.mask");
_Static_assert(__builtin_offsetof(struct mark_rule, rule) == 8, "mark_rule.rule");

/* A user: meter and counters. The fields `late` count packets that arrived while the meter was locked. */
struct user {
	__u32 lock; /* Lock of the meter. Only programs use it; the tool writes zero. */
	__s32 activity; /* Label of the last packet. */
	struct fair_meter meter; /* Amount S, and time of the last count. */
	__u64 pending; /* For CSFQ, bytes of the current tick, Q16. */
	__u64 last_ns; /* Time of the last packet, on the monotonic clock. */
	__u64 packets; /* Packets metered. */
	__u64 bytes; /* Bytes metered, including the IP header. */
	__u64 dropped; /* Packets dropped by AQMs of this node. */
	struct user_key key; /* Identity of the meter. */
	__u32 owner; /* For an address: slot of the user whose limit includes it. */
	__u32 port; /* For an address: slot of the port at which it first arrived. */
	__u32 addresses; /* For a user: number of its per-address meters. */
	__u32 reserved; /* Zero. */
	__u64 late_amount; /* Amount in bytes, Q16, to be added to the meter by the next packet that gets the lock. */
	__u64 late_packets; /* Packets metered without the lock. */
	__u64 late_bytes; /* Bytes of these packets. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct user) == 128, "user");
_Static_assert(__builtin_offsetof(struct user, lock) == 0, "user.lock");
_Static_assert(__builtin_offsetof(struct user, activity) == 4, "user.activity");
_Static_assert(__builtin_offsetof(struct user, meter) == 8, "user.meter");
_Static_assert(__builtin_offsetof(struct user, pending) == 24, "user.pending");
_Static_assert(__builtin_offsetof(struct user, last_ns) == 32, "user.last_ns");
_Static_assert(__builtin_offsetof(struct user, packets) == 40, "user.packets");
_Static_assert(__builtin_offsetof(struct user, bytes) == 48, "user.bytes");
_Static_assert(__builtin_offsetof(struct user, dropped) == 56, "user.dropped");
_Static_assert(__builtin_offsetof(struct user, key) == 64, "user.key");
_Static_assert(__builtin_offsetof(struct user, owner) == 88, "user.owner");
_Static_assert(__builtin_offsetof(struct user, port) == 92, "user.port");
_Static_assert(__builtin_offsetof(struct user, addresses) == 96, "user.addresses");
_Static_assert(__builtin_offsetof(struct user, reserved) == 100, "user.reserved");
_Static_assert(__builtin_offsetof(struct user, late_amount) == 104, "user.late_amount");
_Static_assert(__builtin_offsetof(struct user, late_packets) == 112, "user.late_packets");
_Static_assert(__builtin_offsetof(struct user, late_bytes) == 120, "user.late_bytes");

/* State of the search for idle users, one slice of the table at a time. */
struct pool {
	__u32 fresh; /* Number of slots that were ever used for addresses. Later slots have never been used. */
	__u32 cursor; /* Start of the next slice. */
	__u32 live; /* Number of per-address meters. */
	__u32 most_looked; /* Maximum number of slots in a slice so far. */
	__u32 most_expired; /* Maximum number of expired users in a slice so far. */
	__u32 reserved; /* Zero. */
	__u64 slices; /* Slices so far. */
	__u64 most_ns; /* Maximum time of a slice, in ns. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct pool) == 40, "pool");
_Static_assert(__builtin_offsetof(struct pool, fresh) == 0, "pool.fresh");
_Static_assert(__builtin_offsetof(struct pool, cursor) == 4, "pool.cursor");
_Static_assert(__builtin_offsetof(struct pool, live) == 8, "pool.live");
_Static_assert(__builtin_offsetof(struct pool, most_looked) == 12, "pool.most_looked");
_Static_assert(__builtin_offsetof(struct pool, most_expired) == 16, "pool.most_expired");
_Static_assert(__builtin_offsetof(struct pool, reserved) == 20, "pool.reserved");
_Static_assert(__builtin_offsetof(struct pool, slices) == 24, "pool.slices");
_Static_assert(__builtin_offsetof(struct pool, most_ns) == 32, "pool.most_ns");

/* Configuration of a port. */
struct port_config {
	__u32 ifindex; /* Index of the interface; 0 in an unused slot. */
	__u32 ingress; /* Treatment of arriving packets. */
	__u32 aqm; /* Scheme that decides on departing packets. */
	__u32 carrier; /* Carrier of labels on the link. */
	__u32 unit; /* Unit of the queue. */
	__u32 made_clsact; /* True if the tool created the clsact qdisc. */
	__u32 user_is; /* Role of users in arriving packets: source or destination. */
	__u32 address_limit; /* Maximum number of per-address meters for addresses that arrive at this port. */
	__u32 is_layer3; /* True if packets begin with their IP header. */
	__u32 marks_ecn; /* True if the AQM marks ECN-capable packets instead of dropping them. */
	struct mark_bits mark_bits; /* Position of labels in marks. */
	__u32 qdisc_class[2]; /* skb->priority of each class; 0 leaves it unchanged. */
	__u32 asks; /* True if no labels are written until the far end announces that it reads them. */
	__u32 own_qdisc; /* Scheduler of the port's own qdisc, or 0 if the kernel's qdisc is the queue. */
	__u64 quiet_until_ns; /* Time until which a port that reads labels does not announce this; 0 if it does. */
	__s64 q_min; /* Q_min. */
	__s64 q_base; /* Q_base; for CSFQ the queue threshold. */
	__s64 gamma; /* Gamma. */
	__s64 limit; /* Q_max; 0 for none. */
	struct fair_decay decay; /* Decay of M_AA. */
	__u64 packet_weight; /* Weight of a packet in A_avg, FAIR_PACKET_WEIGHT; 0 to weight by bytes. */
	__u64 ns_per_byte_q20; /* Time per byte of the virtual queue. */
	__u64 control_ns_per_byte_q20; /* Time per byte of the control rate; 0 if no control traffic bypasses the AQM. */
	struct fair_csfq_params csfq; /* Parameters of CSFQ. */
	__u64 shaper_ns_per_byte_q20; /* For the own qdisc: time per byte at the rate to which it shapes; 0 if it doesn't shape. */
	__u64 be_offset_ns; /* For the own qdisc: time by which a BE packet may wait longer than an EF packet. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct port_config) == 216, "port_config");
_Static_assert(__builtin_offsetof(struct port_config, ifindex) == 0, "port_config.ifindex");
_Static_assert(__builtin_offsetof(struct port_config, ingress) == 4, "port_config.ingress");
_Static_assert(__builtin_offsetof(struct port_config, aqm) == 8, "port_config.aqm");
_Static_assert(__builtin_offsetof(struct port_config, carrier) == 12, "port_config.carrier");
_Static_assert(__builtin_offsetof(struct port_config, unit) == 16, "port_config.unit");
_Static_assert(__builtin_offsetof(struct port_config, made_clsact) == 20, "port_config.made_clsact");
_Static_assert(__builtin_offsetof(struct port_config, user_is) == 24, "port_config.user_is");
_Static_assert(__builtin_offsetof(struct port_config, address_limit) == 28, "port_config.address_limit");
_Static_assert(__builtin_offsetof(struct port_config, is_layer3) == 32, "port_config.is_layer3");
_Static_assert(__builtin_offsetof(struct port_config, marks_ecn) == 36, "port_config.marks_ecn");
_Static_assert(__builtin_offsetof(struct port_config, mark_bits) == 40, "port_config.mark_bits");
_Static_assert(__builtin_offsetof(struct port_config, qdisc_class) == 56, "port_config.qdisc_class");
_Static_assert(__builtin_offsetof(struct port_config, asks) == 64, "port_config.asks");
_Static_assert(__builtin_offsetof(struct port_config, own_qdisc) == 68, "port_config.own_qdisc");
_Static_assert(__builtin_offsetof(struct port_config, quiet_until_ns) == 72, "port_config.quiet_until_ns");
_Static_assert(__builtin_offsetof(struct port_config, q_min) == 80, "port_config.q_min");
_Static_assert(__builtin_offsetof(struct port_config, q_base) == 88, "port_config.q_base");
_Static_assert(__builtin_offsetof(struct port_config, gamma) == 96, "port_config.gamma");
_Static_assert(__builtin_offsetof(struct port_config, limit) == 104, "port_config.limit");
_Static_assert(__builtin_offsetof(struct port_config, decay) == 112, "port_config.decay");
_Static_assert(__builtin_offsetof(struct port_config, packet_weight) == 128, "port_config.packet_weight");
_Static_assert(__builtin_offsetof(struct port_config, ns_per_byte_q20) == 136, "port_config.ns_per_byte_q20");
_Static_assert(__builtin_offsetof(struct port_config, control_ns_per_byte_q20) == 144, "port_config.control_ns_per_byte_q20");
_Static_assert(__builtin_offsetof(struct port_config, csfq) == 152, "port_config.csfq");
_Static_assert(__builtin_offsetof(struct port_config, shaper_ns_per_byte_q20) == 200, "port_config.shaper_ns_per_byte_q20");
_Static_assert(__builtin_offsetof(struct port_config, be_offset_ns) == 208, "port_config.be_offset_ns");

/* Packet counters of a port, with sizes on the wire. */
struct port_counts {
	__u64 accepted; /* Packets accepted. */
	__u64 accepted_bytes; /* Their bytes, Ethernet header included. */
	__u64 dropped; /* Packets dropped by the AQM. */
	__u64 overlimit; /* Packets dropped at the limit. */
	__u64 unlabelled; /* Accepted packets without a label. */
	__u64 marked; /* Accepted packets that were ECN-marked instead of dropped. */
	__u64 control; /* Control packets that bypassed the AQM within their rate. */
	__u64 control_excess; /* Control packets above their rate, treated by the AQM like other unlabelled packets. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct port_counts) == 64, "port_counts");
_Static_assert(__builtin_offsetof(struct port_counts, accepted) == 0, "port_counts.accepted");
_Static_assert(__builtin_offsetof(struct port_counts, accepted_bytes) == 8, "port_counts.accepted_bytes");
_Static_assert(__builtin_offsetof(struct port_counts, dropped) == 16, "port_counts.dropped");
_Static_assert(__builtin_offsetof(struct port_counts, overlimit) == 24, "port_counts.overlimit");
_Static_assert(__builtin_offsetof(struct port_counts, unlabelled) == 32, "port_counts.unlabelled");
_Static_assert(__builtin_offsetof(struct port_counts, marked) == 40, "port_counts.marked");
_Static_assert(__builtin_offsetof(struct port_counts, control) == 48, "port_counts.control");
_Static_assert(__builtin_offsetof(struct port_counts, control_excess) == 56, "port_counts.control_excess");

/* State of a port. The fields `late` count packets that arrived while the state was locked. */
struct port_state {
	__u32 lock; /* Lock of all fields except `late`. Only programs use it; the tool writes zero. */
	__s32 average; /* A_avg before the last packet. For CSFQ, log2 of the fair rate, or the lowest label if there is no estimate. */
	struct fair_averager averager; /* A_avg. */
	__u64 free_at_ns; /* Time at which the virtual queue will be empty, or the shaper of the own qdisc sends again. */
	__s64 queue; /* Queue at the arrival of the last packet, in the unit of the port. */
	__s64 threshold; /* T_drop of the last packet; for CSFQ Q_min. */
	struct port_counts counts; /* Packets counted under the lock. */
	__u64 control_at_ns; /* Theoretical arrival time of the control rate limiter. */
	struct fair_csfq csfq; /* State of CSFQ. */
	struct port_counts late; /* Packets counted without the lock. */
	__u64 late_sum; /* Amount to be added to the averager's sum by the next packet that gets the lock. */
	__u64 late_count; /* Amount to be added to the averager's count by the next packet that gets the lock. */
	__u64 late_ns; /* Time in ns to be added to the virtual queue by the next packet that gets the lock. */
	__u64 late_pending[2]; /* For CSFQ, arrived and accepted bytes, Q16, to be added by the next packet that gets the lock. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct port_state) == 304, "port_state");
_Static_assert(__builtin_offsetof(struct port_state, lock) == 0, "port_state.lock");
_Static_assert(__builtin_offsetof(struct port_state, average) == 4, "port_state.average");
_Static_assert(__builtin_offsetof(struct port_state, averager) == 8, "port_state.averager");
_Static_assert(__builtin_offsetof(struct port_state, free_at_ns) == 32, "port_state.free_at_ns");
_Static_assert(__builtin_offsetof(struct port_state, queue) == 40, "port_state.queue");
_Static_assert(__builtin_offsetof(struct port_state, threshold) == 48, "port_state.threshold");
_Static_assert(__builtin_offsetof(struct port_state, counts) == 56, "port_state.counts");
_Static_assert(__builtin_offsetof(struct port_state, control_at_ns) == 120, "port_state.control_at_ns");
_Static_assert(__builtin_offsetof(struct port_state, csfq) == 128, "port_state.csfq");
_Static_assert(__builtin_offsetof(struct port_state, late) == 200, "port_state.late");
_Static_assert(__builtin_offsetof(struct port_state, late_sum) == 264, "port_state.late_sum");
_Static_assert(__builtin_offsetof(struct port_state, late_count) == 272, "port_state.late_count");
_Static_assert(__builtin_offsetof(struct port_state, late_ns) == 280, "port_state.late_ns");
_Static_assert(__builtin_offsetof(struct port_state, late_pending) == 288, "port_state.late_pending");

/* Packets of a traffic class that left the own qdisc of a port. */
struct class_counts {
	__u64 packets; /* Packets sent. */
	__u64 bytes; /* Their bytes, Ethernet header included. */
	__u64 waited_ns; /* Sum of their waiting times in ns. An aggregate counts once. */
	__u64 longest_ns; /* Longest waiting time in ns. */
	__u64 waits; /* Number of waiting times in the sum. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct class_counts) == 40, "class_counts");
_Static_assert(__builtin_offsetof(struct class_counts, packets) == 0, "class_counts.packets");
_Static_assert(__builtin_offsetof(struct class_counts, bytes) == 8, "class_counts.bytes");
_Static_assert(__builtin_offsetof(struct class_counts, waited_ns) == 16, "class_counts.waited_ns");
_Static_assert(__builtin_offsetof(struct class_counts, longest_ns) == 24, "class_counts.longest_ns");
_Static_assert(__builtin_offsetof(struct class_counts, waits) == 32, "class_counts.waits");

/* Own qdisc of a port. */
struct qdisc_state {
	struct class_counts classes[2]; /* Counts of each class, BE first. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct qdisc_state) == 80, "qdisc_state");
_Static_assert(__builtin_offsetof(struct qdisc_state, classes) == 0, "qdisc_state.classes");

/* Key of a neighbour to which packets are sent. */
struct neighbour_key {
	__u32 ifindex; /* Index of the interface. */
	__u8 mac[6]; /* Ethernet address. */
	__u8 carrier; /* Carrier of labels to it. */
	__u8 reserved; /* Zero. */
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct neighbour_key) == 12, "neighbour_key");
_Static_assert(__builtin_offsetof(struct neighbour_key, ifindex) == 0, "neighbour_key.ifindex");
_Static_assert(__builtin_offsetof(struct neighbour_key, mac) == 4, "neighbour_key.mac");
_Static_assert(__builtin_offsetof(struct neighbour_key, carrier) == 10, "neighbour_key.carrier");
_Static_assert(__builtin_offsetof(struct neighbour_key, reserved) == 11, "neighbour_key.reserved");

/* State of a neighbour: if it reads labels. */
struct neighbour {
	__u64 until_ns; /* Time until which labels may be written; if the neighbour has never answered, when it was first seen. */
	__u64 asked_ns; /* Time of the last question. */
	__u32 nonce; /* Nonce that the neighbour's answer must repeat. */
	__u32 reserved; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct neighbour) == 24, "neighbour");
_Static_assert(__builtin_offsetof(struct neighbour, until_ns) == 0, "neighbour.until_ns");
_Static_assert(__builtin_offsetof(struct neighbour, asked_ns) == 8, "neighbour.asked_ns");
_Static_assert(__builtin_offsetof(struct neighbour, nonce) == 16, "neighbour.nonce");
_Static_assert(__builtin_offsetof(struct neighbour, reserved) == 20, "neighbour.reserved");

/* State of the far end of a port's link. */
struct link_state {
	__u64 asked_ns; /* Time when a new neighbour was last seen. */
	__u64 until_ns; /* Time until which labels may be sent to the last neighbour that answered. */
	__u64 answered_ns; /* Time of the port's last announcement that it reads labels. */
	__u64 late_ns; /* Time of the last label that arrived while the port did not announce that it reads them. */
	__u64 held_back; /* Packets sent without the label that they should have. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct link_state) == 40, "link_state");
_Static_assert(__builtin_offsetof(struct link_state, asked_ns) == 0, "link_state.asked_ns");
_Static_assert(__builtin_offsetof(struct link_state, until_ns) == 8, "link_state.until_ns");
_Static_assert(__builtin_offsetof(struct link_state, answered_ns) == 16, "link_state.answered_ns");
_Static_assert(__builtin_offsetof(struct link_state, late_ns) == 24, "link_state.late_ns");
_Static_assert(__builtin_offsetof(struct link_state, held_back) == 32, "link_state.held_back");

/* Label counters of one processor. */
struct ingress_stats {
	__u64 metered; /* Packets metered. */
	__u64 trusted; /* Packets with a label from a trusted link. */
	__u64 stripped; /* Packets with a label from an untrusted port. */
	__u64 refused; /* Packets dropped because a label could not be removed or added. */
	__u64 not_ip; /* Packets of protocols other than IP. */
	__u64 malformed; /* Packets with truncated or inconsistent headers. */
	__u64 too_many_tags; /* Packets with more tags than are parsed. */
	__u64 pppoe_not_ip; /* PPPoE packets that are not IP: discovery, control. */
	__u64 mpls_not_ip; /* MPLS packets without IP after at most four labels. */
	__u64 no_room; /* Packets of addresses for which the table has no free slot. */
	__u64 user_full; /* Packets of addresses whose user has its maximum number of meters. */
	__u64 port_full; /* Packets of addresses that arrived at a port with its maximum number of meters. */
	__u64 expired; /* Expired users. */
	__u64 too_large; /* Packets dropped because a label made them too large for their link. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct ingress_stats) == 112, "ingress_stats");
_Static_assert(__builtin_offsetof(struct ingress_stats, metered) == 0, "ingress_stats.metered");
_Static_assert(__builtin_offsetof(struct ingress_stats, trusted) == 8, "ingress_stats.trusted");
_Static_assert(__builtin_offsetof(struct ingress_stats, stripped) == 16, "ingress_stats.stripped");
_Static_assert(__builtin_offsetof(struct ingress_stats, refused) == 24, "ingress_stats.refused");
_Static_assert(__builtin_offsetof(struct ingress_stats, not_ip) == 32, "ingress_stats.not_ip");
_Static_assert(__builtin_offsetof(struct ingress_stats, malformed) == 40, "ingress_stats.malformed");
_Static_assert(__builtin_offsetof(struct ingress_stats, too_many_tags) == 48, "ingress_stats.too_many_tags");
_Static_assert(__builtin_offsetof(struct ingress_stats, pppoe_not_ip) == 56, "ingress_stats.pppoe_not_ip");
_Static_assert(__builtin_offsetof(struct ingress_stats, mpls_not_ip) == 64, "ingress_stats.mpls_not_ip");
_Static_assert(__builtin_offsetof(struct ingress_stats, no_room) == 72, "ingress_stats.no_room");
_Static_assert(__builtin_offsetof(struct ingress_stats, user_full) == 80, "ingress_stats.user_full");
_Static_assert(__builtin_offsetof(struct ingress_stats, port_full) == 88, "ingress_stats.port_full");
_Static_assert(__builtin_offsetof(struct ingress_stats, expired) == 96, "ingress_stats.expired");
_Static_assert(__builtin_offsetof(struct ingress_stats, too_large) == 104, "ingress_stats.too_large");

/* Counters of the program that passes frames to the forwarder, one set per processor. */
struct redirect_stats {
	__u64 oversized; /* Frames dropped because they are too long. */
	__u64 without_checksum; /* Frames dropped because the sender left the checksum to a network card. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct redirect_stats) == 16, "redirect_stats");
_Static_assert(__builtin_offsetof(struct redirect_stats, oversized) == 0, "redirect_stats.oversized");
_Static_assert(__builtin_offsetof(struct redirect_stats, without_checksum) == 8, "redirect_stats.without_checksum");

/* Inputs of a replay, instead of the clock, the qdisc and random numbers. */
struct replay_input {
	__u64 now_ns; /* Time. */
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

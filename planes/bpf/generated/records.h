/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Written by `make bpf-headers` from crates/node/src/records: do not edit. */
#ifndef FAIRLANE_RECORDS_H
#define FAIRLANE_RECORDS_H

/* Users by mark, which are tried one after another. */
#define MOST_MARKS 16
/* A port has the place of its ifindex modulo this; the tool refuses two ports of one place. */
#define PORT_PLACES 1024
/* What the search for silent users does at a time: places looked at, users expired. */
#define SLICE_LOOKED 256
#define SLICE_EXPIRED 64
/* How often a neighbour is asked whether it reads labels, and how long a yes counts from the question on. */
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
enum { INGRESS_NONE = 0, INGRESS_METER = 1, INGRESS_TRUSTED = 2 };
enum { AQM_NONE = 0, AQM_ABC = 1, AQM_CSFQ = 2 };
enum { CARRIER_NONE = 0, CARRIER_TAG = 1, CARRIER_OPTION = 2, CARRIER_SHIM = 3 };
enum { USER_IS_SOURCE = 0, USER_IS_DESTINATION = 1 };
enum { KIND_FREE = 0, KIND_ADDRESS = 1, KIND_DEFAULT = 2, KIND_OVERFLOW = 3, KIND_UNPARSED = 4, KIND_VLAN = 5, KIND_MARK = 6, KIND_SERVICE = 7, KIND_TAGS = 8, KIND_SESSION = 9, KIND_TUNNEL = 10 };
enum { PLACE_DEFAULT = 0, PLACE_OVERFLOW = 2, PLACE_UNPARSED = 4, PLACE_FIRST = 6 };

/* Where a label lies in the mark of a packet: a bit for the class, above it the upper bits of the activity plus 1. */
struct mark_bits {
	__u32 mask; /* Which bits. */
	__u32 shift; /* Its lowest bit. */
	__u32 lost; /* Lower bits of the activity that have no room. */
	__u32 most; /* The highest number above the bit for the class. */
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
	__u64 user_timeout_ns; /* Silence after which a meter makes room. */
	__u64 sweep_ns; /* Time for a search of the whole table for silent users. */
	struct fair_decay decay; /* Of M_AM, or of K of CSFQ. */
	__s64 log2_memory; /* log2 of that memory in ns, Q31: tells memories apart. */
	__u32 factor_q20[2]; /* Accounting factor of each class. */
	__s64 log2_tick; /* log2 of a tick over the memory, Q31: CSFQ. */
	__u32 scheme; /* What labels say and ports decide by. */
	__u32 marks; /* Number of users by mark. */
	__u32 kinds; /* What users are known by, a bit for each kind. */
	__u32 first_address; /* Place of the first address that has a meter of its own. */
	__u32 addresses; /* Number of such places. */
	__u32 carriers; /* What carries labels at the ports of the node, a bit for each carrier. */
	__u32 generation; /* How often rules have changed, never zero: what programs remember of them holds as long as it is the same. */
	__u32 reserved; /* Zero. */
	struct mark_bits mark_bits; /* Where labels lie in marks. */
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

/* The identity of a meter, which survives every change of the configuration. Aligned: copied in three steps. */
struct user_key {
	__u8 address[16]; /* Of the prefix, or the address itself; numbers of other kinds. */
	__u8 bits; /* Length of the prefix; 128 for an address. */
	__u8 kind; /* What the user is known by. */
	__u8 user_is; /* Whether it is metered as a source or as a destination. */
	__u8 reserved[5]; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct user_key) == 24, "user_key");
_Static_assert(__builtin_offsetof(struct user_key, address) == 0, "user_key.address");
_Static_assert(__builtin_offsetof(struct user_key, bits) == 16, "user_key.bits");
_Static_assert(__builtin_offsetof(struct user_key, kind) == 17, "user_key.kind");
_Static_assert(__builtin_offsetof(struct user_key, user_is) == 18, "user_key.user_is");
_Static_assert(__builtin_offsetof(struct user_key, reserved) == 19, "user_key.reserved");

/* What a user is known by, other than addresses and marks. */
struct number_key {
	__u32 kind; /* What the numbers are. */
	__u32 first; /* The first. */
	__u32 second; /* The second, or zero. */
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct number_key) == 12, "number_key");
_Static_assert(__builtin_offsetof(struct number_key, kind) == 0, "number_key.kind");
_Static_assert(__builtin_offsetof(struct number_key, first) == 4, "number_key.first");
_Static_assert(__builtin_offsetof(struct number_key, second) == 8, "number_key.second");

/* Meter, rate and class of a user. */
struct rule {
	__s64 offset; /* What the reference rate adds to the label, Q31. */
	__u32 place; /* Of its meter as a source; that as a destination follows. */
	__u32 address_limit; /* Most meters of its addresses at a time; 0 if all share one. */
	__u32 class_rule; /* Which packets are expedited. */
	__u32 reserved; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct rule) == 24, "rule");
_Static_assert(__builtin_offsetof(struct rule, offset) == 0, "rule.offset");
_Static_assert(__builtin_offsetof(struct rule, place) == 8, "rule.place");
_Static_assert(__builtin_offsetof(struct rule, address_limit) == 12, "rule.address_limit");
_Static_assert(__builtin_offsetof(struct rule, class_rule) == 16, "rule.class_rule");
_Static_assert(__builtin_offsetof(struct rule, reserved) == 20, "rule.reserved");

/* Users by mark: the first whose mask and value fit counts. */
struct mark_rule {
	__u32 value; /* What the bits under the mask are. */
	__u32 mask; /* Which bits count. */
	struct rule rule; /* What the user has. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct mark_rule) == 32, "mark_rule");
_Static_assert(__builtin_offsetof(struct mark_rule, value) == 0, "mark_rule.value");
_Static_assert(__builtin_offsetof(struct mark_rule, mask) == 4, "mark_rule.mask");
_Static_assert(__builtin_offsetof(struct mark_rule, rule) == 8, "mark_rule.rule");

/* A user: its meter and counters. What packets that found it locked add is in the fields `late`. */
struct user {
	__u32 lock; /* Of the meter; the programs take it, the tool writes zero. */
	__s32 activity; /* Label of the last packet. */
	struct fair_meter meter; /* Amount, and when it was counted. */
	__u64 pending; /* Bytes of the tick, Q16: CSFQ. */
	__u64 last_ns; /* When the last packet came, on the monotonic clock. */
	__u64 packets; /* Packets metered. */
	__u64 bytes; /* Bytes metered, from the IP header on. */
	__u64 dropped; /* Packets that an AQM of this node dropped. */
	struct user_key key; /* Who it is. */
	__u32 owner; /* Of an address: the place of the user whose limit it counts for. */
	__u32 port; /* Of an address: the place of the port that it first came in at. */
	__u32 addresses; /* Of a user: its addresses that have meters. */
	__u32 reserved; /* Zero. */
	__u64 late_amount; /* What the next packet that takes the lock adds to the meter, in bytes, Q16. */
	__u64 late_packets; /* Packets metered without the lock. */
	__u64 late_bytes; /* Their bytes. */
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

/* The search for silent users: a slice of the table at a time. */
struct pool {
	__u32 fresh; /* Places that were ever given to addresses; those behind have not been touched. */
	__u32 cursor; /* Where the next slice begins. */
	__u32 live; /* Addresses that have meters. */
	__u32 most_looked; /* Most places that a slice has looked at. */
	__u32 most_expired; /* Most users that a slice has expired. */
	__u32 reserved; /* Zero. */
	__u64 slices; /* Slices so far. */
	__u64 most_ns; /* Longest time of a slice, in ns. */
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

/* What happens at a port. */
struct port_config {
	__u32 ifindex; /* Index of the interface; 0 in a place without a port. */
	__u32 ingress; /* What happens to packets that come in. */
	__u32 aqm; /* What decides on packets that go out. */
	__u32 carrier; /* What carries labels on the link. */
	__u32 unit; /* Of the queue. */
	__u32 made_clsact; /* Whether the tool made the clsact qdisc. */
	__u32 user_is; /* Whether users that come in are sources or destinations. */
	__u32 address_limit; /* Most meters of addresses that come in here at a time. */
	__u32 is_layer3; /* Whether packets begin with their IP header. */
	__u32 marks_ecn; /* Whether the AQM marks packets that can be marked, in place of dropping them. */
	struct mark_bits mark_bits; /* Where labels lie in marks. */
	__u32 qdisc_class[2]; /* skb->priority of each class, 0 leaves it. */
	__u32 asks; /* Whether labels wait until the far end says that it reads them. */
	__u32 reserved; /* Zero. */
	__u64 quiet_until_ns; /* Until when a port that reads labels does not say so; 0 if it does. */
	__s64 q_min; /* Q_min. */
	__s64 q_base; /* Q_base; of CSFQ the threshold of its queue. */
	__s64 gamma; /* Gamma. */
	__s64 limit; /* Q_max; 0 for none. */
	struct fair_decay decay; /* Of M_AA. */
	__u64 packet_weight; /* What a packet counts for in A_avg, FAIR_PACKET_WEIGHT; 0 for its bytes. */
	__u64 ns_per_byte_q20; /* What a byte adds to the virtual queue. */
	__u64 control_ns_per_byte_q20; /* What a byte of control traffic takes of its rate, 0 if none passes. */
	struct fair_csfq_params csfq; /* Parameters of CSFQ. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct port_config) == 200, "port_config");
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
_Static_assert(__builtin_offsetof(struct port_config, reserved) == 68, "port_config.reserved");
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

/* Packets of a port, as they are on the wire. */
struct port_counts {
	__u64 accepted; /* Packets accepted. */
	__u64 accepted_bytes; /* Their bytes, Ethernet header included. */
	__u64 dropped; /* Packets dropped by the AQM. */
	__u64 overlimit; /* Packets dropped at the limit. */
	__u64 unlabelled; /* Accepted packets without a label. */
	__u64 marked; /* Accepted packets that were marked in place of dropped (ECN). */
	__u64 control; /* Control packets that passed the AQM within their rate. */
	__u64 control_excess; /* Control packets beyond their rate, which the AQM judged as others without a label. */
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

/* What a port has done. What packets that found it locked add is in the fields `late`. */
struct port_state {
	__u32 lock; /* Of all but the fields `late`; the programs take it, the tool writes zero. */
	__s32 average; /* A_avg before the last packet; of CSFQ log2 of the fair rate, the lowest label without an estimate. */
	struct fair_averager averager; /* A_avg. */
	__u64 free_at_ns; /* When the virtual queue will be empty. */
	__s64 queue; /* Queue that the last packet found, in the unit of the port. */
	__s64 threshold; /* T_drop of the last packet; of CSFQ Q_min. */
	struct port_counts counts; /* Packets counted under the lock. */
	__u64 control_at_ns; /* When control traffic will have used up what it has taken of its rate. */
	struct fair_csfq csfq; /* State of CSFQ. */
	struct port_counts late; /* Packets counted without the lock. */
	__u64 late_sum; /* What the next packet that takes the lock adds to the sum of the averager. */
	__u64 late_count; /* The same for its count. */
	__u64 late_ns; /* The same for the virtual queue, in ns. */
	__u64 late_pending[2]; /* The same for the bytes of CSFQ, Q16: arrived, accepted. */
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

/* A neighbour that packets are sent to. */
struct neighbour_key {
	__u32 ifindex; /* Index of the interface. */
	__u8 mac[6]; /* Its address. */
	__u8 carrier; /* What carries labels to it. */
	__u8 reserved; /* Zero. */
} __attribute__((aligned(4)));
_Static_assert(sizeof(struct neighbour_key) == 12, "neighbour_key");
_Static_assert(__builtin_offsetof(struct neighbour_key, ifindex) == 0, "neighbour_key.ifindex");
_Static_assert(__builtin_offsetof(struct neighbour_key, mac) == 4, "neighbour_key.mac");
_Static_assert(__builtin_offsetof(struct neighbour_key, carrier) == 10, "neighbour_key.carrier");
_Static_assert(__builtin_offsetof(struct neighbour_key, reserved) == 11, "neighbour_key.reserved");

/* Whether a neighbour reads labels. */
struct neighbour {
	__u64 until_ns; /* Until when labels may be written; of one that never answered, when it was met. */
	__u64 asked_ns; /* When it was asked last. */
	__u32 nonce; /* What its answer must repeat. */
	__u32 reserved; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct neighbour) == 24, "neighbour");
_Static_assert(__builtin_offsetof(struct neighbour, until_ns) == 0, "neighbour.until_ns");
_Static_assert(__builtin_offsetof(struct neighbour, asked_ns) == 8, "neighbour.asked_ns");
_Static_assert(__builtin_offsetof(struct neighbour, nonce) == 16, "neighbour.nonce");
_Static_assert(__builtin_offsetof(struct neighbour, reserved) == 20, "neighbour.reserved");

/* What is known of the far end of the link of a port. */
struct link_state {
	__u64 asked_ns; /* When a new neighbour was met last. */
	__u64 until_ns; /* Until when the last neighbour that answered may be sent labels. */
	__u64 answered_ns; /* When the port last said that it reads labels. */
	__u64 late_ns; /* When a label came last while the port did not say so. */
	__u64 held_back; /* Packets sent without what the carrier would have said. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct link_state) == 40, "link_state");
_Static_assert(__builtin_offsetof(struct link_state, asked_ns) == 0, "link_state.asked_ns");
_Static_assert(__builtin_offsetof(struct link_state, until_ns) == 8, "link_state.until_ns");
_Static_assert(__builtin_offsetof(struct link_state, answered_ns) == 16, "link_state.answered_ns");
_Static_assert(__builtin_offsetof(struct link_state, late_ns) == 24, "link_state.late_ns");
_Static_assert(__builtin_offsetof(struct link_state, held_back) == 32, "link_state.held_back");

/* Counters of what happens to labels, of one processor. */
struct ingress_stats {
	__u64 metered; /* Packets metered. */
	__u64 trusted; /* Packets whose label came over a trusted link. */
	__u64 stripped; /* Packets from untrusted ports that had a label. */
	__u64 refused; /* Packets dropped because no label could be taken from them or put onto them. */
	__u64 not_ip; /* Packets of protocols other than IP. */
	__u64 malformed; /* Packets whose headers are cut off or contradict themselves. */
	__u64 too_many_tags; /* Packets with more tags than are looked through. */
	__u64 pppoe_not_ip; /* Packets of PPPoE that are not IP: discovery, control. */
	__u64 mpls_not_ip; /* Packets of MPLS that are not IP below at most four labels. */
	__u64 no_room; /* Packets of addresses that found the table full. */
	__u64 user_full; /* Packets of addresses whose user has as many meters as it may. */
	__u64 port_full; /* Packets of addresses that came in at a port that has as many meters as it may. */
	__u64 expired; /* Users forgotten. */
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

/* Counters of the program that hands frames to the forwarder, one of each for every processor. */
struct redirect_stats {
	__u64 oversized; /* Frames dropped since they are too long. */
	__u64 without_checksum; /* Frames dropped since their checksum was left to a network card. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct redirect_stats) == 16, "redirect_stats");
_Static_assert(__builtin_offsetof(struct redirect_stats, oversized) == 0, "redirect_stats.oversized");
_Static_assert(__builtin_offsetof(struct redirect_stats, without_checksum) == 8, "redirect_stats.without_checksum");

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

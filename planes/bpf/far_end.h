/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * Finds out whether the neighbour at the far end of a link removes labels. A packet whose tag or shim nobody removes is
 * lost. So the egress program asks first: while it has packets for a neighbour (by destination MAC address), it sends a
 * question frame to that address every ASK_EVERY_NS. The ingress program of a node that reads labels of this carrier
 * returns the frame. Labels are written until READ_FOR_NS after the last returned frame was sent. A neighbour that is
 * not a node drops the frame: its ethertype is unknown.
 *
 * A switch floods frames to an unknown address. Hence a node answers only for its own address. It answers for other
 * addresses if a device on top of the interface, such as a bridge or macvlan, accepts their frames.
 *
 * The programs do all of this, so that no process has to run. A node that stops reading labels first stops answering,
 * and then waits longer than READ_FOR_NS.
 */
#ifndef FAIRLANE_FAR_END_H
#define FAIRLANE_FAR_END_H

#include "carriers.h"
#include <bpf/bpf_core_read.h>

/* IEEE 802, Local Experimental 2. */
#define FAR_END_ETHERTYPE 0x88b6
#define FAR_END_MAGIC 0x464c5244U /* "FLRD" */
#define FAR_END_VERSION 1
enum { FAR_END_ASKS = 1, FAR_END_READS = 2 };
/* Size of a frame; the larger size is for clones whose checksum, at a higher offset, is still to be computed. */
#define FAR_END_BYTES 64
#define FAR_END_MOST_BYTES 256
#define MOST_NEIGHBOURS 4096
/* Minimum time between two new neighbours, so that forged addresses neither flood the link nor evict used ones. */
#define NEW_EVERY_NS 1000000
/* TC_PRIO_CONTROL of linux/pkt_sched.h. */
#define PRIORITY_CONTROL 7
/* Two words in the control block of a clone that will become a question. */
#define CLONE_FIRST 0x666c7264U
#define CLONE_SECOND 0x9b41c07dU

/* PACKET_HOST of linux/if_packet.h: sent to the address of the interface. */
#define TO_THIS_HOST 0

/* The few fields of kernel structures that are used. */
struct net_device___far_end {
	void *rx_handler;
	const unsigned char *dev_addr;
} __attribute__((preserve_access_index));

struct sk_buff___far_end {
	struct net_device___far_end *dev;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

/* Frame after the addresses. `asked_ns`, `nonce` and the questioned address `mac` are returned unchanged. */
struct far_end_frame {
	__be16 ethertype;
	__u8 version;
	__u8 kind;
	__be32 magic;
	__u32 nonce;
	__u64 asked_ns;
	__u8 mac[6];
	__u8 carrier;
	__u8 zeros[FAR_END_BYTES - ETHERTYPE_AT - 27];
} __attribute__((packed, aligned(4)));
_Static_assert(sizeof(struct far_end_frame) == FAR_END_BYTES - ETHERTYPE_AT, "far_end_frame");

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, MOST_NEIGHBOURS);
	__type(key, struct neighbour_key);
	__type(value, struct neighbour);
} neighbours SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORT_PLACES);
	__type(key, __u32);
	__type(value, struct link_state);
} link_states SEC(".maps");

/* The last neighbour of a port that a processor found to read labels, valid only during the kernel tick `tick`. */
struct known {
	__u64 word;
	__u64 tick;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, PORT_PLACES);
	__type(key, __u32);
	__type(value, struct known);
} knowns SEC(".maps");

/* Has the resolution of a kernel tick, which suffices here. */
static __always_inline __u64 coarse_ns(void)
{
	return replay ? clock_ns() : bpf_ktime_get_coarse_ns();
}

/* Number of the kernel tick. The verifier turns it into one load; reading the clock for each packet costs 20 ns. */
static __always_inline __u64 tick(void)
{
	return replay ? clock_ns() : bpf_jiffies64();
}

/* ---- egress ---- */

/* Sends a clone of the packet through the egress program, which turns it into a question. */
static __always_inline void ask(struct __sk_buff *skb, __u64 now)
{
	if (replay)
		return;
	skb->cb[0] = CLONE_FIRST;
	skb->cb[1] = CLONE_SECOND;
	skb->cb[2] = skb->ifindex;
	skb->cb[3] = now;
	skb->cb[4] = now >> 32;
	/* If there is no memory, the next packet asks. */
	bpf_clone_redirect(skb, skb->ifindex, 0);
	skb->cb[0] = 0;
	skb->cb[1] = 0;
}

static __always_inline int is_clone(const struct __sk_buff *skb)
{
	return skb->cb[0] == CLONE_FIRST && skb->cb[1] == CLONE_SECOND && skb->cb[2] == skb->ifindex;
}

static __always_inline int key_of(struct __sk_buff *skb, __u32 carrier, struct neighbour_key *key)
{
	const __u8 *mac = (void *)(long)skb->data;

	if (mac + 6 > (__u8 *)(long)skb->data_end)
		return -1;
	key->ifindex = skb->ifindex;
	__builtin_memcpy(key->mac, mac, sizeof(key->mac));
	key->carrier = carrier;
	key->reserved = 0;
	return 0;
}

/* Turns a clone into a question. */
__noinline int write_ask(struct __sk_buff *skb)
{
	__u32 place = skb->ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct neighbour_key key;
	struct far_end_frame frame = {
		.ethertype = bpf_htons(FAR_END_ETHERTYPE),
		.version = FAR_END_VERSION,
		.kind = FAR_END_ASKS,
		.magic = bpf_htonl(FAR_END_MAGIC),
		.asked_ns = (__u64)skb->cb[4] << 32 | skb->cb[3],
	};
	struct neighbour *neighbour;

	skb->cb[0] = 0;
	skb->cb[1] = 0;
	if (!port || key_of(skb, port->carrier, &key))
		return TC_ACT_SHOT;
	neighbour = bpf_map_lookup_elem(&neighbours, &key);
	if (!neighbour)
		return TC_ACT_SHOT;
	__builtin_memcpy(frame.mac, key.mac, sizeof(key.mac));
	frame.nonce = neighbour->nonce;
	frame.carrier = port->carrier;
	if (bpf_skb_change_tail(skb, FAR_END_BYTES, 0) && bpf_skb_change_tail(skb, FAR_END_MOST_BYTES, 0))
		return TC_ACT_SHOT;
	if (bpf_skb_store_bytes(skb, ETHERTYPE_AT, &frame, sizeof(frame), 0))
		return TC_ACT_SHOT;
	skb->mark = 0;
	skb->priority = PRIORITY_CONTROL;
	return TC_ACT_UNSPEC;
}

static __always_inline struct neighbour *new_neighbour(const struct neighbour_key *key, struct link_state *link,
						     __u64 now)
{
	struct neighbour new = { .until_ns = now, .nonce = bpf_get_prandom_u32() };

	if (now - link->asked_ns < NEW_EVERY_NS)
		return 0;
	link->asked_ns = now;
	bpf_map_update_elem(&neighbours, key, &new, BPF_NOEXIST);
	return bpf_map_lookup_elem(&neighbours, key);
}

static __always_inline __u64 word_of(const struct neighbour_key *key)
{
	const __u32 *upper = (const void *)key->mac;
	const __u32 *lower = (const void *)(key->mac + 4);

	return (__u64)*lower << 32 | *upper;
}

/* Returns 1 if an earlier packet of this tick found that the neighbour reads labels. */
static __always_inline int is_known_to_read(struct __sk_buff *skb, const struct port_config *port)
{
	__u32 place = skb->ifindex % PORT_PLACES;
	struct known *known = bpf_map_lookup_elem(&knowns, &place);
	struct neighbour_key key;

	return known && !key_of(skb, port->carrier, &key) && known->word == word_of(&key) && known->tick == tick();
}

/*
 * True if the receiver of a packet removes its label. For multicast, the last neighbour that answered counts. Asks if a
 * question is due.
 */
__noinline int is_read(struct __sk_buff *skb)
{
	__u32 place = skb->ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct link_state *link = bpf_map_lookup_elem(&link_states, &place);
	struct neighbour_key key;
	struct neighbour *neighbour;
	struct known *known;
	__u64 now = coarse_ns();
	int is_read = 0;

	if (!port || !link || key_of(skb, port->carrier, &key))
		return 0;
	if (key.mac[0] & 1) {
		is_read = link->until_ns > now;
	} else {
		neighbour = bpf_map_lookup_elem(&neighbours, &key);
		if (!neighbour)
			neighbour = new_neighbour(&key, link, now);
		/* Another processor may have set a later time. */
		if (neighbour && (__s64)(now - neighbour->asked_ns) >= (__s64)ASK_EVERY_NS) {
			neighbour->asked_ns = now;
			ask(skb, now);
		}
		is_read = neighbour && neighbour->until_ns > now;
		known = bpf_map_lookup_elem(&knowns, &place);
		if (is_read && known) {
			known->word = word_of(&key);
			known->tick = tick();
		}
	}
	if (!is_read)
		__sync_fetch_and_add(&link->held_back, 1);
	return is_read;
}

/* Writes the label into the packet. For label 0, writes "no label" if the receiver removes it. */
static __always_inline int carry(struct __sk_buff *skb, const struct port_config *port, __u32 label)
{
	/* Needs no reader at the far end: drops a forged shim, or leaves the packet unchanged. */
	if (!label && (port->carrier == CARRIER_SHIM || (port->carrier == CARRIER_TAG && !has_tag(skb))))
		return put_none(skb, port->carrier);
	if (port->asks && !is_known_to_read(skb, port) && !is_read(skb))
		return TC_ACT_UNSPEC;
	return label ? put_label(skb, port->carrier, label) : put_none(skb, port->carrier);
}

/* ---- ingress ---- */

/* True if a packet may be a frame of this protocol. */
static __always_inline int is_far_end(const struct __sk_buff *skb)
{
	return skb->protocol == bpf_htons(FAR_END_ETHERTYPE);
}

/* Reads a frame. Returns 0 if the packet is not one. */
static __always_inline int load_frame(struct __sk_buff *skb, struct far_end_frame *frame)
{
	return !bpf_skb_load_bytes(skb, ETHERTYPE_AT, frame, sizeof(*frame)) && frame->magic == bpf_htonl(FAR_END_MAGIC) &&
	       frame->ethertype == bpf_htons(FAR_END_ETHERTYPE) && frame->version == FAR_END_VERSION;
}

/* True if a departing packet is a question or an answer, which no AQM may drop. */
__noinline int is_frame(struct __sk_buff *skb)
{
	struct far_end_frame frame;

	return load_frame(skb, &frame);
}

/* Returns a frame to its sender: the port removes labels of this carrier. */
static __always_inline int answer(struct __sk_buff *skb, struct far_end_frame *frame)
{
	struct sk_buff___far_end *kernel_skb = bpf_cast_to_kern_ctx(skb);
	struct net_device___far_end *device = kernel_skb->dev;
	__u8 from_to[ETHERTYPE_AT];

	if (skb->pkt_type != TO_THIS_HOST && !device->rx_handler)
		return TC_ACT_SHOT;
	if (bpf_skb_load_bytes(skb, 6, from_to, 6) || bpf_core_read(from_to + 6, 6, device->dev_addr))
		return TC_ACT_SHOT;
	frame->kind = FAR_END_READS;
	if (bpf_skb_store_bytes(skb, 0, from_to, sizeof(from_to), 0) ||
	    bpf_skb_store_bytes(skb, ETHERTYPE_AT, frame, sizeof(*frame), 0))
		return TC_ACT_SHOT;
	skb->mark = 0;
	skb->priority = PRIORITY_CONTROL;
	return bpf_redirect(skb->ifindex, 0);
}

/* Notes that a neighbour reads labels, if it returned a recent question. */
static __always_inline void believe(struct __sk_buff *skb, const struct far_end_frame *frame, struct link_state *link,
				    __u64 now)
{
	struct neighbour_key key = { .ifindex = skb->ifindex, .carrier = frame->carrier };
	__u64 until = frame->asked_ns + READ_FOR_NS;
	struct neighbour *neighbour;

	__builtin_memcpy(key.mac, frame->mac, sizeof(key.mac));
	neighbour = bpf_map_lookup_elem(&neighbours, &key);
	if (!neighbour || neighbour->nonce != frame->nonce || frame->asked_ns > neighbour->asked_ns || until <= now)
		return;
	if (until > neighbour->until_ns)
		neighbour->until_ns = until;
	if (until > link->until_ns)
		link->until_ns = until;
}

/*
 * Consumes or returns a frame of this protocol; other packets continue. Drops frames from hosts, which never need one.
 */
__noinline int hear(struct __sk_buff *skb)
{
	__u32 place = skb->ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct link_state *link = bpf_map_lookup_elem(&link_states, &place);
	struct ingress_stats *stats = stats_of_cpu();
	struct far_end_frame frame;
	__u64 now = coarse_ns();

	if (!port || !link || !stats || !load_frame(skb, &frame))
		return TC_ACT_UNSPEC;
	if (frame.kind == FAR_END_READS && port->asks) {
		if (frame.carrier == port->carrier)
			believe(skb, &frame, link, now);
		return TC_ACT_SHOT;
	}
	if (frame.kind != FAR_END_ASKS || port->ingress != INGRESS_TRUSTED)
		return refuse(stats);
	if (frame.carrier != port->carrier || port->quiet_until_ns > now)
		return TC_ACT_SHOT;
	link->answered_ns = now;
	return answer(skb, &frame);
}

/* Removes the label. While the port does not answer, none should arrive. */
static __always_inline int take_label_of(struct __sk_buff *skb, const struct port_config *port, __u32 place,
					 struct ingress_stats *stats)
{
	int verdict = take_label(skb, port->carrier, stats);

	if (port->quiet_until_ns && port->carrier != CARRIER_OPTION && label_in(&port->mark_bits, skb->mark)) {
		struct link_state *link = bpf_map_lookup_elem(&link_states, &place);

		if (link)
			link->late_ns = coarse_ns();
	}
	return verdict;
}

#endif

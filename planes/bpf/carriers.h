/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * Labels on links: added to departing packets, removed from packets of a trusted neighbour, invalidated if the sender
 * is not trusted. Inside a node the label is in the mark.
 */
#ifndef FAIRLANE_CARRIERS_H
#define FAIRLANE_CARRIERS_H

#include "source.h"

#define NEXT_ICMPV6 58
/* In a frame without tags: offset of the ethertype, and of the end of the IPv6 header. */
#define ETHERTYPE_AT 12
#define IPV6_END 54
/* Segments of a GSO packet keep their size, and checksums stay valid. */
#define OPTION_ROOM (BPF_F_ADJ_ROOM_FIXED_GSO | BPF_F_ADJ_ROOM_NO_CSUM_RESET)

static __always_inline struct ingress_stats *stats_of_cpu(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&stats, &zero);
}

static __always_inline int refuse(struct ingress_stats *stats)
{
	stats->refused++;
	return TC_ACT_SHOT;
}

#define LABEL_BITS (MARK_VALID_MASK | MARK_EF | MARK_ACTIVITY)

static __always_inline int is_label(__u32 label)
{
	return (label & MARK_VALID_MASK) == MARK_VALID;
}

/* Writes a label into the mark, or removes it. */
static __always_inline void set_label(struct __sk_buff *skb, __u32 label)
{
	__u32 place = skb->ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);

	if (port)
		skb->mark = mark_with(&port->mark_bits, skb->mark, label);
}

/* True if a packet with its label fits the MTU of its link; for a GSO packet, each segment. */
static __always_inline int has_room(struct __sk_buff *skb)
{
	__u32 mtu = 0;

	return !bpf_check_mtu(skb, 0, &mtu, 0, BPF_MTU_CHK_SEGS);
}

/* ---- the 802.1ad tag ---- */

/*
 * True if the outermost tag has the ethertype of labels: outside the data, as on reception, or inside, as hosts write
 * it.
 */
static __always_inline int has_tag(const struct __sk_buff *skb)
{
	__u32 ethertype = skb->protocol;

	/* Two loads: the verifier rejects a computed offset in the context. */
	asm volatile("" : "+r"(ethertype));
	if (skb->vlan_present)
		ethertype = skb->vlan_proto;
	return ethertype == bpf_htons(TAG_ETHERTYPE);
}

static __always_inline int take_tag(struct __sk_buff *skb, struct ingress_stats *stats)
{
	__u32 tci = skb->vlan_tci;
	__u32 upper = (tci >> 13 & 7) << 12 | (tci & 0xfff);

	set_label(skb, 0);
	if (!skb->vlan_present || !has_tag(skb))
		return TC_ACT_UNSPEC;
	if (bpf_skb_vlan_pop(skb))
		return refuse(stats);
	if (upper == TAG_NONE)
		return TC_ACT_UNSPEC;
	set_label(skb, MARK_VALID | (tci & TAG_DEI ? MARK_EF : 0) | upper << TAG_LOST_BITS | 1U << TAG_LOST_BITS >> 1);
	stats->trusted++;
	return TC_ACT_UNSPEC;
}

/* Adds a tag outside all other tags of the packet. */
static __always_inline int push_tag(struct __sk_buff *skb, __u32 upper, __u32 dei)
{
	__u32 tci = upper >> 12 << 13 | dei | (upper & 0xfff);

	struct ingress_stats *stats = stats_of_cpu();

	if (!bpf_skb_vlan_push(skb, bpf_htons(TAG_ETHERTYPE), tci))
		return TC_ACT_UNSPEC;
	return stats ? refuse(stats) : TC_ACT_SHOT;
}

static __always_inline int put_tag(struct __sk_buff *skb, __u32 label)
{
	__u32 upper = (label & MARK_ACTIVITY) >> TAG_LOST_BITS;

	return push_tag(skb, upper < TAG_NONE ? upper : TAG_NONE - 1, label & MARK_EF ? TAG_DEI : 0);
}

/* ---- the IPv6 option ---- */

/* Starts at the ethertype of a frame. */
struct ipv6_head {
	__be16 ethertype;
	__u8 version; /* and four bits of the traffic class */
	__u8 class_and_flow[3];
	__be16 length; /* of the packet after the header */
	__u8 next;
	__u8 reserved;
};

/* A hop-by-hop header that starts with a label. */
struct option {
	__u8 next;
	__u8 more; /* bytes after the first 8, in units of 8 */
	__u8 type;
	__u8 length;
	__be32 label;
	/* Only if `more` is not 0. */
	__u8 pad_type;
	__u8 pad_length;
	__u8 reserved[2];
};

static __always_inline int load_ipv6(struct __sk_buff *skb, __u32 at, struct ipv6_head *head)
{
	return !bpf_skb_load_bytes(skb, at, head, 9) && head->ethertype == bpf_htons(ETHERTYPE_IPV6) &&
	       head->version >> 4 == 6;
}

static __always_inline int is_tag(__be16 ethertype)
{
	return ethertype == bpf_htons(ETHERTYPE_8021Q) || ethertype == bpf_htons(ETHERTYPE_8021AD);
}

static __always_inline long store_ipv6(struct __sk_buff *skb, const struct ipv6_head *head)
{
	return bpf_skb_store_bytes(skb, ETHERTYPE_AT + 6, &head->length, 3, BPF_F_RECOMPUTE_CSUM);
}

/* True if a hop-by-hop header has one label, written as a node does. */
static __always_inline int load_option(struct __sk_buff *skb, __u32 at, struct option *option)
{
	if (bpf_skb_load_bytes(skb, at, option, 8) || option->type != OPTION_TYPE || option->length != 4 ||
	    !is_label(bpf_ntohl(option->label)))
		return 0;
	return !option->more || (!bpf_skb_load_bytes(skb, at + 8, &option->pad_type, 2) && option->pad_type == OPTION_PADN &&
				 !option->pad_length);
}

/* Turns a label written by a host into padding, also behind tags. The packet keeps its length. */
__noinline int strip_option(struct __sk_buff *skb)
{
	struct ingress_stats *stats = stats_of_cpu();
	__u8 padding[6] = { OPTION_PADN, 4 };
	struct ipv6_head head = {};
	struct option option = {};
	__u32 at = ETHERTYPE_AT;
	int i;

	for (i = 0; !load_ipv6(skb, at, &head); i++) {
		if (i == MOST_TAGS || !is_tag(head.ethertype))
			return TC_ACT_UNSPEC;
		at += 4;
	}
	at += IPV6_END - ETHERTYPE_AT;
	if (!stats || head.next != NEXT_HOP_BY_HOP || !load_option(skb, at, &option))
		return TC_ACT_UNSPEC;
	stats->stripped++;
	return bpf_skb_store_bytes(skb, at + 2, padding, 6, BPF_F_RECOMPUTE_CSUM) ? refuse(stats) : TC_ACT_UNSPEC;
}

/* Moves the label from the option to the mark; the inverse of put_option. */
__noinline int take_option(struct __sk_buff *skb)
{
	struct ingress_stats *stats = stats_of_cpu();
	struct ipv6_head head = {};
	struct option option = {};
	__u32 length, label;

	set_label(skb, 0);
	if (!stats || !load_ipv6(skb, ETHERTYPE_AT, &head) || head.next != NEXT_HOP_BY_HOP ||
	    !load_option(skb, IPV6_END, &option))
		return TC_ACT_UNSPEC;
	length = bpf_ntohs(head.length);
	if (length < LABEL_BYTES)
		return TC_ACT_UNSPEC;
	label = bpf_ntohl(option.label);
	head.length = bpf_htons(length - LABEL_BYTES);
	if (option.more) {
		option.more--;
		if (bpf_skb_store_bytes(skb, IPV6_END + LABEL_BYTES, &option, 2, BPF_F_RECOMPUTE_CSUM))
			return refuse(stats);
	} else {
		head.next = option.next;
	}
	if (store_ipv6(skb, &head) || bpf_skb_adjust_room(skb, -LABEL_BYTES, BPF_ADJ_ROOM_NET, OPTION_ROOM))
		return refuse(stats);
	set_label(skb, label & LABEL_BITS);
	stats->trusted++;
	return TC_ACT_UNSPEC;
}

/*
 * Inserts 8 bytes behind the IPv6 header. If a hop-by-hop header follows, its first two bytes move into the new bytes
 * and are replaced by empty padding. ICMPv6 is unchanged: neighbours that are not nodes need it.
 */
__noinline int put_option(struct __sk_buff *skb, __u32 label)
{
	struct option option = { .type = OPTION_TYPE, .length = 4, .label = bpf_htonl(label), .pad_type = OPTION_PADN };
	struct ingress_stats *stats = stats_of_cpu();
	__u32 length, bytes = LABEL_BYTES;
	struct ipv6_head head = {};

	if (!stats || !load_ipv6(skb, ETHERTYPE_AT, &head))
		return TC_ACT_UNSPEC;
	option.next = head.next;
	if (head.next == NEXT_HOP_BY_HOP) {
		if (bpf_skb_load_bytes(skb, IPV6_END, &option, 2))
			return TC_ACT_UNSPEC;
		bytes += 2;
	}
	if (option.next == NEXT_ICMPV6)
		return TC_ACT_UNSPEC;
	length = bpf_ntohs(head.length) + LABEL_BYTES;
	if (length > 0xffff || option.more == 0xff) {
		stats->too_large++;
		return TC_ACT_SHOT;
	}
	option.more += bytes > LABEL_BYTES;
	head.length = bpf_htons(length);
	head.next = NEXT_HOP_BY_HOP;
	if (bpf_skb_adjust_room(skb, LABEL_BYTES, BPF_ADJ_ROOM_NET, OPTION_ROOM) || store_ipv6(skb, &head) ||
	    bpf_skb_store_bytes(skb, IPV6_END, &option, bytes, BPF_F_RECOMPUTE_CSUM))
		return refuse(stats);
	if (has_room(skb))
		return TC_ACT_UNSPEC;
	stats->too_large++;
	return TC_ACT_SHOT;
}

/* ---- the shim ---- */

/* The addresses of a frame and the shim. */
struct shim {
	__u8 addresses[ETHERTYPE_AT];
	__be16 ethertype;
	__be16 label[2];
	__be16 zero;
};

/* True if a shim is left after XDP: written by a host, truncated, or a second one. It is not trusted. */
static __always_inline int has_shim(const struct __sk_buff *skb)
{
	return skb->protocol == bpf_htons(SHIM_ETHERTYPE);
}

static __always_inline int take_shim(struct __sk_buff *skb, struct ingress_stats *stats)
{
	const __u32 *label = (void *)(long)skb->data_meta;

	set_label(skb, 0);
	if (has_shim(skb))
		return refuse(stats);
	if ((void *)(label + 1) > (void *)(long)skb->data || !is_label(*label))
		return TC_ACT_UNSPEC;
	set_label(skb, *label & LABEL_BITS);
	stats->trusted++;
	return TC_ACT_UNSPEC;
}

/* A tag outside the data would be sent before the shim, where the neighbour does not look for a shim. */
__noinline int put_shim(struct __sk_buff *skb, __u32 label)
{
	struct shim shim = { .ethertype = bpf_htons(SHIM_ETHERTYPE) };
	struct ingress_stats *stats = stats_of_cpu();

	if (!stats)
		return TC_ACT_UNSPEC;
	shim.label[0] = bpf_htons(label >> 16);
	shim.label[1] = bpf_htons(label);
	if (skb->vlan_present || bpf_skb_load_bytes(skb, 0, shim.addresses, sizeof(shim.addresses)) ||
	    bpf_skb_change_head(skb, LABEL_BYTES, 0) || bpf_skb_store_bytes(skb, 0, &shim, sizeof(shim), 0))
		return refuse(stats);
	if (has_room(skb))
		return TC_ACT_UNSPEC;
	stats->too_large++;
	return TC_ACT_SHOT;
}

/* Drops a frame that has a shim but no label of this node: the shim cannot be removed here. */
__noinline int refuse_shim(struct __sk_buff *skb)
{
	struct ingress_stats *stats = stats_of_cpu();
	__be16 ethertype;

	if (!stats || bpf_skb_load_bytes(skb, ETHERTYPE_AT, &ethertype, 2) || ethertype != bpf_htons(SHIM_ETHERTYPE))
		return TC_ACT_UNSPEC;
	return refuse(stats);
}

/* Removes the shim from a frame and returns its label. Without a shim, returns 0 and leaves the frame unchanged. */
static __always_inline __u32 unwrap_shim(struct xdp_md *context)
{
	const struct shim *shim = (void *)(long)context->data;
	__u8 addresses[ETHERTYPE_AT], *data;
	__u32 label;

	if ((void *)(shim + 1) + 2 > (void *)(long)context->data_end || shim->ethertype != bpf_htons(SHIM_ETHERTYPE) ||
	    shim->zero)
		return 0;
	label = (__u32)bpf_ntohs(shim->label[0]) << 16 | bpf_ntohs(shim->label[1]);
	if (!is_label(label))
		return 0;
	__builtin_memcpy(addresses, shim->addresses, ETHERTYPE_AT);
	if (bpf_xdp_adjust_head(context, LABEL_BYTES))
		return 0;
	data = (void *)(long)context->data;
	if (data + ETHERTYPE_AT > (__u8 *)(long)context->data_end)
		return 0;
	__builtin_memcpy(data, addresses, ETHERTYPE_AT);
	return label & LABEL_BITS;
}

/* Passes a label to the tc program. Writes zero if there is none, since the metadata may be from an earlier link. */
static __always_inline void hand_over(struct xdp_md *context, __u32 label)
{
	__u32 *place;

	if (bpf_xdp_adjust_meta(context, -(int)sizeof(label)))
		return;
	place = (void *)(long)context->data_meta;
	if ((void *)(place + 1) <= (void *)(long)context->data)
		*place = label;
}

/* ---- any carrier ---- */

static __always_inline int take_label(struct __sk_buff *skb, __u32 carrier, struct ingress_stats *stats)
{
	if (carrier == CARRIER_OPTION)
		return take_option(skb);
	return carrier == CARRIER_SHIM ? take_shim(skb, stats) : take_tag(skb, stats);
}

static __always_inline int put_label(struct __sk_buff *skb, __u32 carrier, __u32 label)
{
	if (carrier == CARRIER_OPTION)
		return put_option(skb, label);
	return carrier == CARRIER_SHIM ? put_shim(skb, label) : put_tag(skb, label);
}

/* A packet without a label must not carry a forged one to a neighbour that trusts it. */
__noinline int put_none(struct __sk_buff *skb, __u32 carrier)
{
	if (carrier == CARRIER_OPTION)
		return strip_option(skb);
	if (carrier == CARRIER_SHIM)
		return refuse_shim(skb);
	/*
	 * The neighbour takes the outermost tag for ours, so another tag gets an empty tag of ours around it.
	 */
	return has_tag(skb) ? push_tag(skb, TAG_NONE, 0) : TC_ACT_UNSPEC;
}

#endif

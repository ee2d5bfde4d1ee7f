/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Who sent a packet: mark, VLAN, source address behind up to two VLAN tags, and the user that it belongs to. */
#ifndef FAIRLANE_SOURCE_H
#define FAIRLANE_SOURCE_H

#include <linux/if_ether.h>
#include "maps.h"

#define ETHERTYPE_8021Q 0x8100
#define ETHERTYPE_8021AD 0x88a8
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define NEXT_HOP_BY_HOP 0
#define MOST_TAGS 2
/* Ethernet, two tags, IPv6. */
#define MOST_HEADER (14 + MOST_TAGS * 4 + 40)

struct source {
	struct prefix_key key; /* all 128 bits of the address */
	__u32 vlan; /* of the outermost 802.1Q tag, 0 without one */
	__u32 ip_bytes; /* length from the IP header on; of another packet, from behind Ethernet and tags */
	__u8 dscp;
	__u8 is_ip;
	__u8 has_hop_by_hop; /* IPv6 whose next header is one */
};

/* Copies words: an IP header lies at a multiple of 4, and the compiler, which does not know, would copy bytes. */
static __always_inline void copy_words(void *to, const void *from, int words)
{
	int i;

#pragma unroll
	for (i = 0; i < words; i++)
		((__u32 *)to)[i] = ((const __u32 *)from)[i];
}

/*
 * Reads the headers between data and data_end. A packet that is truncated, malformed or not IP has no address, which is
 * not an error: it belongs to the default user.
 */
static __always_inline void parse_source(const __u8 *data, const __u8 *data_end, __u32 bytes, struct source *source)
{
	const __u8 *at = data + 14;
	__u16 ethertype;
	int i;

	source->is_ip = 0;
	source->has_hop_by_hop = 0;
	source->dscp = 0;
	source->vlan = 0;
	source->ip_bytes = bytes > 14 ? bytes - 14 : 0;
	if (at > data_end)
		return;
	ethertype = data[12] << 8 | data[13];
#pragma unroll
	for (i = 0; i < MOST_TAGS; i++) {
		if (ethertype != ETHERTYPE_8021Q && ethertype != ETHERTYPE_8021AD)
			break;
		if (at + 4 > data_end)
			return;
		if (ethertype == ETHERTYPE_8021Q && !source->vlan)
			source->vlan = (at[0] << 8 | at[1]) & 0xfff;
		ethertype = at[2] << 8 | at[3];
		at += 4;
		source->ip_bytes = source->ip_bytes > 4 ? source->ip_bytes - 4 : 0;
	}
	if (ethertype == ETHERTYPE_IPV4) {
		if (at + 20 > data_end || at[0] >> 4 != 4 || (at[0] & 0xf) < 5)
			return;
		source->dscp = at[1] >> 2;
		__builtin_memset(source->key.address, 0, 8);
		*(__u32 *)(source->key.address + 8) = bpf_htonl(0xffff);
		copy_words(source->key.address + 12, at + 12, 1);
	} else if (ethertype == ETHERTYPE_IPV6) {
		if (at + 40 > data_end || at[0] >> 4 != 6)
			return;
		source->dscp = (at[0] & 0xf) << 2 | at[1] >> 6;
		copy_words(source->key.address, at + 8, 4);
		source->has_hop_by_hop = at[6] == NEXT_HOP_BY_HOP;
	} else {
		return;
	}
	source->key.bits = 128;
	source->is_ip = 1;
}

/* The source of a packet whose headers need not lie in its linear part, and whose outermost tag may lie apart. */
static __always_inline void source_of(struct __sk_buff *skb, struct source *source)
{
	parse_source((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len, source);
	if (!source->is_ip && skb->data_end - skb->data < MOST_HEADER && skb->data_end - skb->data < skb->len) {
		__u32 bytes = skb->len < MOST_HEADER ? skb->len : MOST_HEADER;

		if (!bpf_skb_pull_data(skb, bytes))
			parse_source((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len, source);
	}
	if (skb->vlan_present && skb->vlan_proto == bpf_htons(ETHERTYPE_8021Q) && (skb->vlan_tci & 0xfff))
		source->vlan = skb->vlan_tci & 0xfff;
}

/* The index of the rule of a mark; MOST_MARKS if there is none. */
__noinline __u32 index_of_mark(__u32 mark, __u32 marks)
{
	__u32 i;

	for (i = 0; i < MOST_MARKS && i < marks; i++) {
		__u32 index = i;
		struct mark_rule *rule = bpf_map_lookup_elem(&mark_rules, &index);

		if (rule && (mark & rule->mask) == rule->value)
			return i;
	}
	return MOST_MARKS;
}

/* The rule of a mark, if there is one. */
static __always_inline struct rule *rule_of_mark(const struct node_config *node, __u32 mark)
{
	struct mark_rule *rule;
	__u32 index;

	if (!node->marks)
		return 0;
	index = index_of_mark(mark, node->marks);
	rule = bpf_map_lookup_elem(&mark_rules, &index);
	return rule ? &rule->rule : 0;
}

/* The rule of a source by VLAN, then by address; never null but for a map that is not there. */
static __always_inline struct rule *rule_of(const struct node_config *node, const struct source *source)
{
	struct rule *rule = 0;
	__u32 zero = 0;

	if (node->vlans && source->vlan)
		rule = bpf_map_lookup_elem(&vlan_rules, &source->vlan);
	if (!rule && source->is_ip)
		rule = bpf_map_lookup_elem(&rules, &source->key);
	return rule ?: bpf_map_lookup_elem(&default_rule, &zero);
}

/* The key of the meter of a source under its rule. */
static __always_inline void user_key_of(const struct rule *rule, const struct source *source, struct user_key *key)
{
	*key = rule->key;
	if (rule->per_address && source->is_ip) {
		copy_words(key->address, source->key.address, 4);
		key->bits = 128;
		key->kind = KIND_ADDRESS;
	}
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * Finds the user of a packet: mark, tunnel, PPPoE session, tags, address, and the matching rule.
 *
 * Looks for IP behind up to two VLAN tags of any kind, then PPPoE (RFC 2516) or up to four MPLS labels (RFC 3032), or
 * at the start of a packet if the interface has no Ethernet. Packets without an address are counted by reason.
 */
#ifndef FAIRLANE_SOURCE_H
#define FAIRLANE_SOURCE_H

#include <linux/if_ether.h>
#include "maps.h"

#define ETHERTYPE_8021Q 0x8100
#define ETHERTYPE_8021AD 0x88a8
#define ETHERTYPE_QINQ 0x9100
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define ETHERTYPE_PPPOE_DISCOVERY 0x8863
#define ETHERTYPE_PPPOE 0x8864
#define ETHERTYPE_MPLS 0x8847
#define ETHERTYPE_MPLS_MULTICAST 0x8848
#define PPP_IPV4 0x0021
#define PPP_IPV6 0x0057
#define NEXT_HOP_BY_HOP 0
#define MOST_TAGS 2
#define MOST_LABELS 4
#define PPPOE_BYTES 8
/* Ethernet, two tags, MPLS, IPv6. */
#define MOST_HEADER (14 + MOST_TAGS * 4 + MOST_LABELS * 4 + 40)

/* Reasons why a packet has no address. */
enum { HIDES_NOT_IP, HIDES_MALFORMED, HIDES_TAGS, HIDES_PPPOE, HIDES_MPLS };

struct source {
	struct prefix_key key; /* all 128 bits of the address */
	__u32 vlan; /* of the outermost 802.1Q tag, 0 without one */
	__u32 tags; /* number of tags, at most two */
	__u32 outer, inner; /* their VLAN numbers */
	__u32 is_service; /* the outermost tag is not 802.1Q */
	__u32 session; /* of PPPoE, 0 without one */
	__u32 ip_bytes; /* length from the IP header on; for other packets, from the end of the parsed headers on */
	__u32 ip_at; /* offset of the IP header */
	__u32 hides; /* reason for no address */
	__u8 dscp;
	__u8 is_ip;
	__u8 has_hop_by_hop; /* IPv6 with a hop-by-hop header */
	__u8 version; /* IP version */
};

/* Copies words: IP headers start at a multiple of 4, but the compiler does not know that and would copy bytes. */
static __always_inline void copy_words(void *to, const void *from, int words)
{
	int i;

#pragma unroll
	for (i = 0; i < words; i++)
		((__u32 *)to)[i] = ((const __u32 *)from)[i];
}

static __always_inline __u16 word_at(const __u8 *at)
{
	return at[0] << 8 | at[1];
}

static __always_inline int is_vlan(__u16 ethertype)
{
	return ethertype == ETHERTYPE_8021Q || ethertype == ETHERTYPE_8021AD || ethertype == ETHERTYPE_QINQ;
}

/* Notes a tag. */
static __always_inline void count_tag(struct source *source, __u16 ethertype, __u32 number)
{
	if (source->tags)
		source->inner = number;
	else
		source->outer = number;
	if (!source->tags)
		source->is_service = ethertype != ETHERTYPE_8021Q;
	if (ethertype == ETHERTYPE_8021Q && !source->vlan)
		source->vlan = number;
	source->tags++;
}

/*
 * Parses the headers between data and data_end. `layer3` is the ethertype if the interface has no Ethernet. With
 * `is_destination`, takes the address of the receiver. Sets the reason if there is no address.
 */
static __always_inline void parse_source(const __u8 *data, const __u8 *data_end, __u32 bytes, __u32 layer3,
					 __u32 is_destination, struct source *source)
{
	const __u8 *at = data;
	__u16 ethertype = layer3;
	__u32 left;
	int i;

	source->is_ip = 0;
	source->has_hop_by_hop = 0;
	source->dscp = 0;
	source->vlan = 0;
	source->tags = 0;
	source->outer = 0;
	source->inner = 0;
	source->is_service = 0;
	source->session = 0;
	source->hides = HIDES_MALFORMED;
	if (!layer3) {
		at += 14;
		source->ip_bytes = bytes > 14 ? bytes - 14 : 0;
		if (at > data_end)
			return;
		ethertype = word_at(data + 12);
	} else {
		source->ip_bytes = bytes;
	}
	if (ethertype != ETHERTYPE_IPV4 && ethertype != ETHERTYPE_IPV6) {
		left = source->ip_bytes;
#pragma unroll
		for (i = 0; i < MOST_TAGS; i++) {
			if (!is_vlan(ethertype))
				break;
			if (at + 4 > data_end)
				return;
			count_tag(source, ethertype, word_at(at) & 0xfff);
			ethertype = word_at(at + 2);
			at += 4;
			left -= 4;
			source->ip_bytes = left;
		}
		if (ethertype == ETHERTYPE_PPPOE) {
			if (at + PPPOE_BYTES > data_end)
				return;
			source->session = word_at(at + 2);
			ethertype = word_at(at + 6) == PPP_IPV4 ? ETHERTYPE_IPV4 :
				    word_at(at + 6) == PPP_IPV6 ? ETHERTYPE_IPV6 :
								  ETHERTYPE_PPPOE;
			at += PPPOE_BYTES;
			source->ip_bytes = left - PPPOE_BYTES;
		} else if (ethertype == ETHERTYPE_MPLS || ethertype == ETHERTYPE_MPLS_MULTICAST) {
			__u32 is_last = 0;

#pragma unroll
			for (i = 0; i < MOST_LABELS; i++) {
				if (at + 4 > data_end)
					return;
				is_last = at[2] & 1;
				at += 4;
				left -= 4;
				if (is_last)
					break;
			}
			source->ip_bytes = left;
			source->hides = HIDES_MPLS;
			/*
			 * The inner protocol is not declared (RFC 3032 3.1): IP by its version, otherwise a pseudowire.
			 */
			if (!is_last || at + 1 > data_end)
				return;
			ethertype = at[0] >> 4 == 4 ? ETHERTYPE_IPV4 : at[0] >> 4 == 6 ? ETHERTYPE_IPV6 : ETHERTYPE_MPLS;
		}
	}
	source->ip_at = at - data;
	if (ethertype == ETHERTYPE_IPV4) {
		if (at + 20 > data_end || at[0] >> 4 != 4 || (at[0] & 0xf) < 5)
			return;
		source->dscp = at[1] >> 2;
		source->version = 4;
		__builtin_memset(source->key.address, 0, 8);
		*(__u32 *)(source->key.address + 8) = bpf_htonl(0xffff);
		if (is_destination)
			copy_words(source->key.address + 12, at + 16, 1);
		else
			copy_words(source->key.address + 12, at + 12, 1);
	} else if (ethertype == ETHERTYPE_IPV6) {
		if (at + 40 > data_end || at[0] >> 4 != 6)
			return;
		source->dscp = (at[0] & 0xf) << 2 | at[1] >> 6;
		source->version = 6;
		if (is_destination)
			copy_words(source->key.address, at + 24, 4);
		else
			copy_words(source->key.address, at + 8, 4);
		source->has_hop_by_hop = at[6] == NEXT_HOP_BY_HOP;
	} else {
		source->hides = is_vlan(ethertype) ? HIDES_TAGS :
				ethertype == ETHERTYPE_PPPOE || ethertype == ETHERTYPE_PPPOE_DISCOVERY ? HIDES_PPPOE :
				ethertype == ETHERTYPE_MPLS ? HIDES_MPLS : HIDES_NOT_IP;
		return;
	}
	source->key.bits = 128;
	source->is_ip = 1;
}

/* Ethertype of a packet that begins with its IP header: from the kernel, or from its first bits. */
static __always_inline __u32 layer3_of(const struct __sk_buff *skb, __u32 is_layer3)
{
	return is_layer3 ? bpf_ntohs(skb->protocol) : 0;
}

/* Parses a packet whose headers may be outside its linear part, and whose outermost tag may be outside the data. */
static __always_inline void source_of(struct __sk_buff *skb, __u32 is_layer3, __u32 is_destination,
				      struct source *source)
{
	__u32 layer3 = layer3_of(skb, is_layer3), number;

	parse_source((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len, layer3, is_destination, source);
	if (!source->is_ip && skb->data_end - skb->data < MOST_HEADER && skb->data_end - skb->data < skb->len) {
		__u32 bytes = skb->len < MOST_HEADER ? skb->len : MOST_HEADER;

		if (!bpf_skb_pull_data(skb, bytes))
			parse_source((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len, layer3,
				     is_destination, source);
	}
	if (!skb->vlan_present)
		return;
	number = skb->vlan_tci & 0xfff;
	source->inner = source->outer;
	source->outer = number;
	source->tags++;
	source->is_service = skb->vlan_proto != bpf_htons(ETHERTYPE_8021Q);
	if (!source->is_service && number)
		source->vlan = number;
}

/* ---- rules ---- */

#define KNOWS(node, kind) ((node)->kinds & 1U << (kind))

/* Index of the rule for a mark; MOST_MARKS if there is none. */
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

/* First rule that exists: by PPPoE session, by two tags, by the outer tag, by VLAN. */
static __noinline struct rule *rule_of_numbers(const struct node_config *node, const struct source *source)
{
	struct rule *rule = 0;
	struct number_key key = {};

	if (KNOWS(node, KIND_SESSION) && source->session) {
		key.kind = KIND_SESSION;
		key.first = source->session;
		rule = bpf_map_lookup_elem(&number_rules, &key);
	}
	if (!rule && KNOWS(node, KIND_TAGS) && source->tags > 1) {
		key.kind = KIND_TAGS;
		key.first = source->outer;
		key.second = source->inner;
		rule = bpf_map_lookup_elem(&number_rules, &key);
		key.second = 0;
	}
	if (!rule && KNOWS(node, KIND_SERVICE) && (source->tags > 1 || (source->tags && source->is_service))) {
		key.kind = KIND_SERVICE;
		key.first = source->outer;
		rule = bpf_map_lookup_elem(&number_rules, &key);
	}
	if (!rule && KNOWS(node, KIND_VLAN) && source->vlan) {
		key.kind = KIND_VLAN;
		key.first = source->vlan;
		rule = bpf_map_lookup_elem(&number_rules, &key);
	}
	return rule;
}

#define NUMBERS (1U << KIND_SESSION | 1U << KIND_TAGS | 1U << KIND_SERVICE | 1U << KIND_VLAN)

/* Rule by the headers: first numbers, then the address. Null if there is none. */
static __always_inline struct rule *rule_of(const struct node_config *node, const struct source *source)
{
	struct rule *rule = 0;

	if (node->kinds & NUMBERS && (source->tags || source->session))
		rule = rule_of_numbers(node, source);
	if (!rule && KNOWS(node, KIND_ADDRESS) && source->is_ip)
		rule = bpf_map_lookup_elem(&rules, &source->key);
	return rule;
}

/* Key of the per-address meter of an address. */
static __always_inline void address_key(const struct source *source, __u32 user_is, struct user_key *key)
{
	__builtin_memset(key, 0, sizeof(*key));
	copy_words(key->address, source->key.address, 4);
	key->bits = 128;
	key->kind = KIND_ADDRESS;
	key->user_is = user_is;
}

#endif

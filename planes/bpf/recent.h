/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * Cache of recent addresses and their terms: one array entry replaces a prefix-table and a hash-table look-up. An
 * address keeps its entry until another address maps to it.
 *
 * Each processor has its own cache. An entry is valid until the rules change: the tool then increments `generation` of
 * the node. An address may lose its own meter meanwhile; the key in the meter shows that.
 */
#ifndef FAIRLANE_RECENT_H
#define FAIRLANE_RECENT_H

#include "source.h"

#define RECENT_BITS 10
/*
 * 2^32 divided by the golden ratio: neighbouring addresses get distant entries (Knuth, The Art of Computer Programming
 * 3, 6.4).
 */
#define RECENT_FACTOR 0x9e3779b1U

/* Terms of metering: meter, reference rate, class. */
struct terms {
	__s64 offset;
	__u32 class_rule;
	__u32 place; /* slot of the meter */
};

struct recent {
	__u32 address[4];
	__u32 generation; /* of the rules; 0 in an empty entry */
	__u32 user_is;
	__u32 is_own; /* the address has its own meter */
	__u32 reserved;
	struct terms terms;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1 << RECENT_BITS);
	__type(key, __u32);
	__type(value, struct recent);
} recents SEC(".maps");

/* Addresses differ at both ends of their two halves. */
static __always_inline struct recent *recent_of(const struct source *source)
{
	const __u32 *address = (const void *)source->key.address;
	__u32 index = ((address[0] ^ address[1] ^ address[2] ^ address[3]) * RECENT_FACTOR) >> (32 - RECENT_BITS);

	return bpf_map_lookup_elem(&recents, &index);
}

static __always_inline int is_same_address(const __u32 *a, const __u32 *b)
{
	return !((a[0] ^ b[0]) | (a[1] ^ b[1]) | (a[2] ^ b[2]) | (a[3] ^ b[3]));
}

/* Meter of an address, if the entry is for this address and still valid. */
static __always_inline struct user *recall(const struct recent *recent, const struct node_config *node,
					   const struct source *source, __u32 user_is, struct terms *terms)
{
	const __u32 *address = (const void *)source->key.address;
	struct user *user;
	__u32 place;

	if (!recent->generation || recent->generation != node->generation || recent->user_is != user_is ||
	    !is_same_address(recent->address, address))
		return 0;
	place = recent->terms.place;
	user = bpf_map_lookup_elem(&users, &place);
	if (!user)
		return 0;
	if (recent->is_own && (user->key.kind != KIND_ADDRESS || user->key.user_is != user_is ||
			       !is_same_address((const void *)user->key.address, address)))
		return 0;
	*terms = recent->terms;
	return user;
}

/* Stores the terms of an address under the rules of `generation`. */
static __always_inline void remember(struct recent *recent, __u32 generation, const struct source *source,
				     __u32 user_is, __u32 is_own, const struct terms *terms)
{
	copy_words(recent->address, source->key.address, 4);
	recent->generation = generation;
	recent->user_is = user_is;
	recent->is_own = is_own;
	recent->terms = *terms;
}

#endif

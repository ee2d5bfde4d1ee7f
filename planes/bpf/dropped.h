/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Finds the user of a dropped packet. Shared by the tc program and the queue discipline. */
#ifndef FAIRLANE_DROPPED_H
#define FAIRLANE_DROPPED_H

#include "source.h"

/*
 * Returns the slot of the meter that counted a packet on arrival at the interface `from`, if this node metered it and
 * its headers are unchanged. `layer3` is as for parse_source().
 */
static __always_inline __u32 place_of_dropped(const __u8 *data, const __u8 *data_end, __u32 bytes, __u32 layer3,
					      __u32 from, const struct node_config *node)
{
	__u32 zero = 0, place = from % PORT_PLACES, user_is = 0, *found;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct source source;
	struct user_key key;
	struct rule *rule;

	/* The ingress port decides whether the source or the destination is metered. */
	if (port && port->ifindex == from)
		user_is = port->user_is & 1;
	parse_source(data, data_end, bytes, layer3, user_is, &source);
	rule = rule_of(node, &source);
	if (!rule) {
		rule = bpf_map_lookup_elem(&default_rule, &zero);
		if (!rule || !source.is_ip)
			return PLACE_UNPARSED + user_is;
	}
	if (!rule->address_limit || !source.is_ip)
		return rule->place + user_is;
	address_key(&source, user_is, &key);
	found = bpf_map_lookup_elem(&addresses, &key);
	return found ? *found : PLACE_OVERFLOW + user_is;
}

static __always_inline void count_dropped(__u32 place, __u32 packets)
{
	struct user *user = bpf_map_lookup_elem(&users, &place);

	if (user)
		__sync_fetch_and_add(&user->dropped, packets);
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * Control traffic, as declared by control.rs of crates/node. It bypasses the AQM up to a rate; above it, the AQM
 * treats it like other packets without a label.
 *
 * A packet with a label is never control traffic, whatever its DSCP: hosts behind metered ports cannot send any.
 */
#ifndef FAIRLANE_CONTROL_H
#define FAIRLANE_CONTROL_H

#include "aqm.h"
#include "source.h"

/* linux/pkt_sched.h: the priority of the kernel's own ARP, IGMP and STP. */
#define TC_PRIO_CONTROL 7
#define IPV6_BYTES 40
/* Offsets in the IP header. The hop limit follows the next header. */
#define IPV4_PROTOCOL_AT 9
#define IPV6_NEXT_AT 6

/* Maximum number of attempts; another processor may defeat each. */
#define CONTROL_TRIES 4

static __always_inline int is_neighbour_discovery(struct __sk_buff *skb, const struct source *source, __u8 hop_limit)
{
	__u8 type;

	return source->version == 6 && hop_limit == ND_HOP_LIMIT &&
	       !bpf_skb_load_bytes(skb, source->ip_at + IPV6_BYTES, &type, 1) && type >= ND_FIRST && type <= ND_LAST;
}

/* True if packets without a label may come from hosts: only IPv6 packets can carry the option. */
static __always_inline int brings_options(__u32 ifindex)
{
	__u32 place = ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);

	return port && port->ifindex == ifindex && port->ingress == INGRESS_TRUSTED && port->carrier == CARRIER_OPTION;
}

/* True if a packet without a label is control traffic. */
static __always_inline int is_control(struct __sk_buff *skb, __u32 is_layer3)
{
	struct source source;
	__u8 protocol_and_limit[2];

	if (skb->priority == TC_PRIO_CONTROL || skb->protocol == bpf_htons(ETHERTYPE_ARP))
		return 1;
	source.version = 0;
	parse_source((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len, layer3_of(skb, is_layer3), 0,
		     &source);
	if (!source.is_ip)
		return !skb->ingress_ifindex;
	if (bpf_skb_load_bytes(skb, source.ip_at + (source.version == 4 ? IPV4_PROTOCOL_AT : IPV6_NEXT_AT),
			       protocol_and_limit, 2))
		return 0;
	/* Any host can make a node send echo replies and errors, and errors have CS6 (RFC 1812, 4.3.2.5). */
	if (protocol_and_limit[0] == (source.version == 4 ? PROTOCOL_ICMP : NEXT_ICMPV6))
		return is_neighbour_discovery(skb, &source, protocol_and_limit[1]);
	/* Tunnels copy interface and label from the packets that they forward, which have no socket. */
	if (!skb->ingress_ifindex)
		return !!skb->sk;
	return (source.dscp == DSCP_CS6 || source.dscp == DSCP_CS7) && !brings_options(skb->ingress_ifindex);
}

/*
 * Charges a packet to the rate, if the rate allows it. The state is the theoretical arrival time of GCRA (ITU-T I.371).
 */
static __always_inline int spend(struct port_state *state, __u64 cost_ns, __u64 burst_ns, __u64 now)
{
	int i;

#pragma unroll
	for (i = 0; i < CONTROL_TRIES; i++) {
		__u64 there = *(volatile __u64 *)&state->control_at_ns, from = there > now ? there : now;

		if (from + cost_ns > now + burst_ns)
			return 0;
		if (__sync_val_compare_and_swap(&state->control_at_ns, there, from + cost_ns) == there)
			return 1;
	}
	__sync_fetch_and_add(&state->control_at_ns, cost_ns);
	return 1;
}

/* Decides whether a packet without a label bypasses the AQM. */
__noinline int control_of(struct __sk_buff *skb)
{
	__u32 place = skb->ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct port_state *state = bpf_map_lookup_elem(&port_states, &place);
	__u64 burst_ns = skb->ingress_ifindex ? CONTROL_BURST_NS : 2 * CONTROL_BURST_NS, cost_ns;

	if (!port || !state || !port->control_ns_per_byte_q20 || !is_control(skb, port->is_layer3))
		return CONTROL_NONE;
	cost_ns = skb->wire_len * port->control_ns_per_byte_q20 >> 20;
	return spend(state, cost_ns, burst_ns, clock_ns()) ? CONTROL_PASSES : CONTROL_EXCESS;
}

#endif

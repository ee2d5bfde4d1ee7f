/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* The maps, and access to the clock. The tool pins every map except those for replays. */
#ifndef FAIRLANE_MAPS_H
#define FAIRLANE_MAPS_H

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_endian.h>
#include "node.h"

/* Set by tests before loading: clock and queue are then inputs. If unset, the verifier removes these branches. */
const volatile __u32 replay SEC(".rodata.mode") = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct replay_input);
} replay_input SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct node_config);
} config SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_LPM_TRIE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1048576);
	__type(key, struct prefix_key);
	__type(value, struct rule);
} rules SEC(".maps");

/* Users by tags, PPPoE session or tunnel. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 1048576);
	__type(key, struct number_key);
	__type(value, struct rule);
} number_rules SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_MARKS);
	__type(key, __u32);
	__type(value, struct mark_rule);
} mark_rules SEC(".maps");

/* Rule for addresses without another rule, and for those that find no slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct rule);
} default_rule SEC(".maps");

/* Meters: the fixed ones, those of configured users, those of addresses. The tool sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 65536);
	__type(key, __u32);
	__type(value, struct user);
} users SEC(".maps");

/* Slots of addresses with their own meters. The tool sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct user_key);
	__type(value, __u32);
} addresses SEC(".maps");

/* Released slots, first in, first out, so that a slot is reused as late as possible. The tool sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_QUEUE);
	__uint(max_entries, 65536);
	__type(value, __u32);
} free_places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pool);
} pools SEC(".maps");

/* Number of meters of addresses that first arrived at a port. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORT_PLACES);
	__type(key, __u32);
	__type(value, __u32);
} port_addresses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORT_PLACES);
	__type(key, __u32);
	__type(value, struct port_config);
} ports SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORT_PLACES);
	__type(key, __u32);
	__type(value, struct port_state);
} port_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORT_PLACES);
	__type(key, __u32);
	__type(value, struct qdisc_state);
} qdisc_states SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct ingress_stats);
} stats SEC(".maps");

static __always_inline __u64 clock_ns(void)
{
	if (replay) {
		__u32 zero = 0;
		struct replay_input *input = bpf_map_lookup_elem(&replay_input, &zero);

		return input ? input->now_ns : 0;
	}
	return bpf_ktime_get_ns();
}

#endif

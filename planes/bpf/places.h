/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * Slots of meters. Fixed meters and configured users have permanent slots. An address gets a slot with its first
 * packet, and loses the slot after a long silence. If no slot is free, the address shares the overflow meter.
 *
 * A timer looks for silent addresses, one slice of the table at a time, so that no processor is busy for long, however
 * large the table is.
 */
#ifndef FAIRLANE_PLACES_H
#define FAIRLANE_PLACES_H

#include "source.h"

#define CLOCK_MONOTONIC 1
#define EXISTS_ALREADY (-16) /* EBUSY of bpf_timer_init */
#define LEAST_WAIT_NS 1000000

/* A free slot for an address; 0 if there is none. */
static __noinline __u32 take_place(const struct node_config *node, struct pool *pool)
{
	__u32 place = 0;

	if (!bpf_map_pop_elem(&free_places, &place))
		return place;
	if (pool->fresh >= node->addresses)
		return 0;
	place = __sync_fetch_and_add(&pool->fresh, 1);
	if (place < node->addresses)
		return node->first_address + place;
	__sync_fetch_and_add(&pool->fresh, -1);
	return 0;
}

static __always_inline int count_below(__u32 *count, __u32 limit)
{
	if (*count >= limit)
		return 0;
	if (__sync_fetch_and_add(count, 1) < limit)
		return 1;
	__sync_fetch_and_add(count, -1);
	return 0;
}

static __always_inline void count_less(__u32 *count)
{
	__sync_fetch_and_add(count, -1);
}

struct newcomer {
	struct user_key key;
	__u32 owner; /* slot of the user that the address belongs to */
	__u32 user_limit;
	__u32 port; /* slot of the port */
	__u32 port_limit;
	__u64 now_ns;
};

/* Enters an address into the table. Returns its slot; 0 if another processor has just entered it. */
static __noinline __u32 enter(struct newcomer *new, __u32 place)
{
	struct user *user = bpf_map_lookup_elem(&users, &place);

	if (!user)
		return 0;
	/* Initialised in place: the stack has no room for it. */
	__builtin_memset(user, 0, sizeof(*user));
	user->last_ns = new->now_ns;
	user->key = new->key;
	user->owner = new->owner;
	user->port = new->port;
	if (!bpf_map_update_elem(&addresses, &new->key, &place, BPF_NOEXIST))
		return place;
	user->key.kind = KIND_FREE;
	bpf_map_push_elem(&free_places, &place, BPF_ANY);
	return 0;
}

/* Slot of an address that has none yet; the overflow slot if it may not have one. */
static __noinline __u32 place_of_newcomer(struct newcomer *new, const struct node_config *node)
{
	__u32 zero = 0, place, overflow = PLACE_OVERFLOW + new->key.user_is, *at_port, *found;
	struct ingress_stats *counters = bpf_map_lookup_elem(&stats, &zero);
	struct pool *pool = bpf_map_lookup_elem(&pools, &zero);
	struct user *owner = bpf_map_lookup_elem(&users, &new->owner);

	at_port = bpf_map_lookup_elem(&port_addresses, &new->port);
	if (!counters || !pool || !owner || !at_port)
		return overflow;
	if (!count_below(&owner->addresses, new->user_limit)) {
		counters->user_full++;
		return overflow;
	}
	if (!count_below(at_port, new->port_limit)) {
		counters->port_full++;
		count_less(&owner->addresses);
		return overflow;
	}
	place = take_place(node, pool);
	if (place) {
		if (enter(new, place)) {
			__sync_fetch_and_add(&pool->live, 1);
			return place;
		}
	} else {
		counters->no_room++;
	}
	count_less(&owner->addresses);
	count_less(at_port);
	found = bpf_map_lookup_elem(&addresses, &new->key);
	return found ? *found : overflow;
}

/* ---- ageing ---- */

struct sweeper {
	struct bpf_timer timer;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sweeper);
} sweepers SEC(".maps");

struct slice {
	__u64 now_ns;
	__u64 timeout_ns;
	__u32 first;
	__u32 end;
	__u32 cursor;
	__u32 looked;
	__u32 expired;
};

/*
 * Removes an address from its slot. Its drops are added to the user that it belonged to, so that the drops of all users
 * still sum to those of all ports. If the queue of free slots does not accept the slot, the next sweep tries again.
 */
static __always_inline void forget(struct slice *slice, struct user *user, __u32 place)
{
	struct user_key key = user->key;
	__u32 owner_place = user->owner, port = user->port, *at_port;
	struct user *owner;

	if (!bpf_map_delete_elem(&addresses, &key)) {
		owner = bpf_map_lookup_elem(&users, &owner_place);
		at_port = bpf_map_lookup_elem(&port_addresses, &port);
		if (owner) {
			count_less(&owner->addresses);
			__sync_fetch_and_add(&owner->dropped, __sync_lock_test_and_set(&user->dropped, 0));
		}
		if (at_port)
			count_less(at_port);
		slice->expired++;
	}
	user->key.kind = KIND_FREE;
	if (bpf_map_push_elem(&free_places, &place, BPF_ANY))
		user->key.kind = KIND_ADDRESS;
}

static long look_at_one(__u32 index, struct slice *slice)
{
	__u32 place = slice->first + slice->cursor;
	struct user *user = bpf_map_lookup_elem(&users, &place);

	if (slice->cursor >= slice->end)
		return 1;
	slice->cursor++;
	slice->looked++;
	/* A packet may have arrived since the slice began. */
	if (!user || user->key.kind != KIND_ADDRESS || slice->now_ns <= user->last_ns ||
	    slice->now_ns - user->last_ns <= slice->timeout_ns)
		return 0;
	forget(slice, user, place);
	return slice->expired >= SLICE_EXPIRED;
}

/* Delay until the next slice: the whole table takes `sweep_ns`, or as long as the minimum delay requires. */
static __always_inline __u64 wait_ns(const struct node_config *node, const struct slice *slice)
{
	__u64 ns;

	if (slice->expired >= SLICE_EXPIRED)
		return LEAST_WAIT_NS;
	ns = slice->end > SLICE_LOOKED ? node->sweep_ns * SLICE_LOOKED / slice->end : node->sweep_ns;
	return ns > LEAST_WAIT_NS ? ns : LEAST_WAIT_NS;
}

static int sweep_slice(void *map, __u32 *index, struct sweeper *sweeper)
{
	__u32 zero = 0;
	struct node_config *node = bpf_map_lookup_elem(&config, &zero);
	struct ingress_stats *counters = bpf_map_lookup_elem(&stats, &zero);
	struct pool *pool = bpf_map_lookup_elem(&pools, &zero);
	struct slice slice = { .now_ns = bpf_ktime_get_ns() };
	__u64 took_ns;

	if (!node || !counters || !pool)
		return 0;
	slice.timeout_ns = node->user_timeout_ns;
	slice.first = node->first_address;
	slice.end = pool->fresh < node->addresses ? pool->fresh : node->addresses;
	slice.cursor = pool->cursor < slice.end ? pool->cursor : 0;
	bpf_loop(SLICE_LOOKED, look_at_one, &slice, 0);
	pool->cursor = slice.cursor;
	__sync_fetch_and_add(&pool->live, -slice.expired);
	counters->expired += slice.expired;
	pool->slices++;
	if (slice.looked > pool->most_looked)
		pool->most_looked = slice.looked;
	if (slice.expired > pool->most_expired)
		pool->most_expired = slice.expired;
	took_ns = bpf_ktime_get_ns() - slice.now_ns;
	if (took_ns > pool->most_ns)
		pool->most_ns = took_ns;
	bpf_timer_start(&sweeper->timer, wait_ns(node, &slice), 0);
	return 0;
}

/* Run once by the tool, and again by each new version of the tool, whose code then takes over. */
SEC("tc")
int fairlane_start(struct __sk_buff *skb)
{
	__u32 zero = 0;
	struct sweeper *sweeper = bpf_map_lookup_elem(&sweepers, &zero);
	long error;

	if (!sweeper)
		return 1;
	error = bpf_timer_init(&sweeper->timer, &sweepers, CLOCK_MONOTONIC);
	if (error && error != EXISTS_ALREADY)
		return 2;
	if (bpf_timer_set_callback(&sweeper->timer, sweep_slice))
		return 3;
	return bpf_timer_start(&sweeper->timer, LEAST_WAIT_NS, 0) ? 4 : 0;
}

#endif

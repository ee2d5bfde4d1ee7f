// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/*
 * ABC and CSFQ in the kernel: the meter where packets come in, the AQM where they go out. Source: abc2018 III and
 * V-A; arithmetic of fairlane_schemes::fixed.
 *
 * Deviations: a packet without a label (of the node itself, or from a port that does nothing) is judged by ABC as one
 * of average activity, and does not move the average; CSFQ counts it in the rates of the port and never drops it early.
 *
 * Functions that are neither static nor inlined are verified once for all their arguments, not anew for each way that
 * leads to them.
 */
#include "carriers.h"

#define CLOCK_MONOTONIC 1
#define EXISTS_ALREADY (-16) /* EBUSY of bpf_timer_init */

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The few fields of the kernel's structures that are read; the loader finds their places. */
struct qdisc_skb_head {
	__u32 qlen;
} __attribute__((preserve_access_index));

struct gnet_stats_queue {
	__u32 backlog;
} __attribute__((preserve_access_index));

struct Qdisc {
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} __attribute__((preserve_access_index));

struct net_device {
	struct Qdisc *qdisc;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

/* ---- ingress ---- */

/* The meter of a user that has none yet; that of the default user if there is no room. */
static __noinline struct user *new_user(struct user_key *key, struct ingress_stats *stats)
{
	struct user fresh = {};
	__u32 zero = 0;
	struct user *user;
	struct rule *rule;

	bpf_map_update_elem(&users, key, &fresh, BPF_NOEXIST);
	user = bpf_map_lookup_elem(&users, key);
	if (user)
		return user;
	stats->no_room++;
	rule = bpf_map_lookup_elem(&default_rule, &zero);
	return rule ? bpf_map_lookup_elem(&users, &rule->key) : 0;
}

/* Counts the packet for its user and writes the label into the mark. */
static __always_inline int meter(struct __sk_buff *skb, struct ingress_stats *stats)
{
	struct source source;
	struct user_key key;
	struct node_config *node;
	struct user *user;
	struct rule *rule;
	__u64 now, age, sum = 0;
	__u32 zero = 0, class, mark = skb->mark;
	__s64 log2_sum = 0;
	__s32 activity;

	skb->mark = 0;
	source_of(skb, &source);
	if (source.has_hop_by_hop && strip_option(skb) == TC_ACT_SHOT)
		return TC_ACT_SHOT;
	node = bpf_map_lookup_elem(&config, &zero);
	if (!node)
		return TC_ACT_UNSPEC;
	rule = rule_of_mark(node, mark) ?: rule_of(node, &source);
	if (!rule)
		return TC_ACT_UNSPEC;
	if (!source.is_ip)
		stats->not_ip++;
	user_key_of(rule, &source, &key);
	user = bpf_map_lookup_elem(&users, &key);
	if (!user) {
		user = new_user(&key, stats);
		if (!user)
			return TC_ACT_UNSPEC;
	}
	class = rule->class_rule == RULE_EF || (rule->class_rule == RULE_DSCP && source.dscp == DSCP_EF) ? CLASS_EF :
													    CLASS_BE;
	now = clock_ns();
	age = now > node->start_ns ? now - node->start_ns : 0;
	bpf_spin_lock(&user->lock);
	if (node->scheme == SCHEME_CSFQ)
		log2_sum = fair_rate_count(&user->meter, &user->pending, &node->decay, node->log2_tick, source.ip_bytes, age);
	else
		sum = fair_meter_count(&user->meter, &node->decay, source.ip_bytes, node->factor_q20[class], age);
	user->packets++;
	user->bytes += source.ip_bytes;
	user->last_ns = now;
	bpf_spin_unlock(&user->lock);
	if (node->scheme == SCHEME_CSFQ)
		activity = fair_activity_of_q31(log2_sum + rule->offset);
	else
		activity = fair_meter_activity(sum, &node->decay, node->log2_memory, rule->offset, age);
	user->activity = activity;
	skb->mark = MARK_VALID | (class == CLASS_EF ? MARK_EF : 0) | fair_biased(activity);
	stats->metered++;
	return TC_ACT_UNSPEC;
}

SEC("tc")
int fairlane_ingress(struct __sk_buff *skb)
{
	__u32 place = skb->ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct ingress_stats *stats = stats_of_cpu();

	if (!port || port->ifindex != skb->ifindex || !stats)
		return TC_ACT_UNSPEC;
	if (port->ingress == INGRESS_TRUSTED)
		return take_label(skb, port->carrier, stats);
	if (port->ingress != INGRESS_METER)
		return TC_ACT_UNSPEC;
	if (strip_tags(skb, stats) == TC_ACT_SHOT)
		return TC_ACT_SHOT;
	return has_shim(skb) ? refuse(stats) : meter(skb, stats);
}

/* At ports whose neighbours write shims only. */
SEC("xdp")
int fairlane_unwrap(struct xdp_md *context)
{
	hand_over(context, unwrap_shim(context));
	return XDP_PASS;
}

/* ---- egress ---- */

/* Writes a drop to the account of the user, if this node meters it. */
__noinline int count_drop(struct __sk_buff *skb)
{
	struct source source;
	struct user_key key;
	struct node_config *node;
	struct user *user;
	struct rule *rule;
	__u32 zero = 0;

	parse_source((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len, &source);
	node = bpf_map_lookup_elem(&config, &zero);
	if (!node)
		return 0;
	rule = rule_of(node, &source);
	if (!rule)
		return 0;
	user_key_of(rule, &source, &key);
	user = bpf_map_lookup_elem(&users, &key);
	if (!user) {
		/* The table was full when the packet came: it counted for the default user. */
		rule = bpf_map_lookup_elem(&default_rule, &zero);
		user = rule ? bpf_map_lookup_elem(&users, &rule->key) : 0;
	}
	if (user)
		__sync_fetch_and_add(&user->dropped, 1);
	return 0;
}

/* What waits in the root qdisc, in the unit of the port. It is read outside of the lock of the qdisc. */
static __always_inline __s64 qdisc_queue(struct __sk_buff *skb, __u32 unit)
{
	struct sk_buff *kernel_skb;
	__u32 packets, bytes;

	if (replay) {
		__u32 zero = 0;
		struct replay_input *input = bpf_map_lookup_elem(&replay_input, &zero);

		packets = input ? input->packets : 0;
		bytes = input ? input->bytes : 0;
	} else {
		kernel_skb = bpf_cast_to_kern_ctx(skb);
		packets = kernel_skb->dev->qdisc->q.qlen;
		bytes = kernel_skb->dev->qdisc->qstats.backlog;
	}
	return unit == UNIT_PACKETS ? (__s64)packets * FAIR_PACKET : bytes;
}

/* What a packet adds to the queue, in the unit of the port. */
static __always_inline __s64 share_of_queue(const struct port_config *port, __u32 bytes)
{
	if (port->unit == UNIT_PACKETS)
		return FAIR_PACKET;
	return port->unit == UNIT_BYTES ? bytes : (bytes * port->ns_per_byte_q20) >> 20;
}

/* What a packet finds at a port, in the unit of the port; that of a virtual queue needs the lock. */
static __always_inline __s64 queue_of(struct __sk_buff *skb, const struct port_config *port)
{
	return port->unit != UNIT_VIRTUAL ? qdisc_queue(skb, port->unit) : 0;
}

static __always_inline __s64 virtual_queue(const struct port_config *port, const struct port_state *state, __u64 now,
					   __s64 queue)
{
	if (port->unit == UNIT_VIRTUAL && state->free_at_ns > now)
		return state->free_at_ns - now;
	return queue;
}

/* Counts a packet that goes on. */
static __always_inline void accept(const struct port_config *port, struct port_state *state, __u64 now, __s64 queue,
				   __s64 share, __u32 bytes, __u32 is_labelled)
{
	state->accepted++;
	state->accepted_bytes += bytes;
	state->unlabelled += !is_labelled;
	if (port->unit == UNIT_VIRTUAL)
		state->free_at_ns = now + queue + share;
}

/* ABC decides on the packet: eq. (10), then whether it fits into the limit; an accepted one moves the average. */
static __always_inline int admit(struct __sk_buff *skb, const struct port_config *port, struct port_state *state)
{
	__u32 mark = skb->mark, bytes = skb->len, is_labelled = is_label(mark);
	__s32 activity = fair_unbiased(mark & MARK_ACTIVITY), average;
	__u64 now = clock_ns();
	__s64 queue = queue_of(skb, port), share = share_of_queue(port, bytes), threshold;
	int verdict = TC_ACT_UNSPEC;

	bpf_spin_lock(&state->lock);
	queue = virtual_queue(port, state, now, queue);
	average = fair_averager_average(&state->averager);
	threshold = fair_drop_threshold(port->q_min, port->q_base, port->gamma, is_labelled ? activity : average, average);
	state->average = average;
	state->queue = queue;
	state->threshold = threshold;
	if (queue >= threshold) {
		state->dropped++;
		verdict = TC_ACT_SHOT;
	} else if (port->limit && queue + share > port->limit) {
		state->overlimit++;
		verdict = TC_ACT_SHOT;
	} else {
		if (is_labelled)
			fair_averager_accept(&state->averager, &port->decay, activity, now);
		accept(port, state, now, queue, share, bytes, is_labelled);
	}
	bpf_spin_unlock(&state->lock);
	return verdict;
}

static __always_inline __u32 random_bits(void)
{
	if (replay) {
		__u32 zero = 0;
		struct replay_input *input = bpf_map_lookup_elem(&replay_input, &zero);

		return input ? input->random : 0;
	}
	return bpf_get_prandom_u32();
}

/* CSFQ decides on the packet: eq. (3), then whether it fits into the limit; an accepted one gets a new label. */
__noinline int admit_csfq(struct __sk_buff *skb)
{
	__u32 zero = 0, place = skb->ifindex % PORT_PLACES, random = random_bits();
	__u32 mark = skb->mark, bytes = skb->len, is_labelled = is_label(mark);
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct port_state *state = bpf_map_lookup_elem(&port_states, &place);
	struct node_config *node = bpf_map_lookup_elem(&config, &zero);
	__s32 label = fair_unbiased(mark & MARK_ACTIVITY);
	__u64 now = clock_ns(), age;
	__s64 queue, share;
	int verdict = TC_ACT_UNSPEC;

	if (!port || !state || !node)
		return verdict;
	age = now > node->start_ns ? now - node->start_ns : 0;
	queue = queue_of(skb, port);
	share = share_of_queue(port, bytes);
	bpf_spin_lock(&state->lock);
	queue = virtual_queue(port, state, now, queue);
	state->average = fair_activity_of_q31(state->csfq.log2_alpha);
	state->queue = queue;
	state->threshold = port->q_min;
	if (fair_csfq_admit(&state->csfq, &port->csfq, is_labelled, &label, bytes, queue < port->q_min, queue < port->q_base,
			    random, age)) {
		state->dropped++;
		verdict = TC_ACT_SHOT;
	} else if (port->limit && queue + share > port->limit) {
		state->overlimit++;
		fair_csfq_overflow(&state->csfq);
		verdict = TC_ACT_SHOT;
	} else {
		accept(port, state, now, queue, share, bytes, is_labelled);
	}
	bpf_spin_unlock(&state->lock);
	if (is_labelled)
		skb->mark = (mark & ~MARK_ACTIVITY) | fair_biased(label);
	return verdict;
}

SEC("tc")
int fairlane_egress(struct __sk_buff *skb)
{
	__u32 place = skb->ifindex % PORT_PLACES, mark, class;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct port_state *state;
	int verdict = TC_ACT_UNSPEC;

	if (!port || port->ifindex != skb->ifindex)
		return TC_ACT_UNSPEC;
	if (port->aqm == AQM_ABC) {
		state = bpf_map_lookup_elem(&port_states, &place);
		if (state)
			verdict = admit(skb, port, state);
	} else if (port->aqm == AQM_CSFQ) {
		verdict = admit_csfq(skb);
	}
	if (verdict == TC_ACT_SHOT) {
		count_drop(skb);
		return TC_ACT_SHOT;
	}
	mark = skb->mark;
	if (!is_label(mark))
		return port->carrier ? put_none(skb, port->carrier) : TC_ACT_UNSPEC;
	class = mark & MARK_EF ? CLASS_EF : CLASS_BE;
	if (port->qdisc_class[class])
		skb->priority = port->qdisc_class[class];
	return port->carrier ? put_label(skb, port->carrier) : TC_ACT_UNSPEC;
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

struct bpf_map;

struct sweep {
	__u64 now_ns;
	__u64 timeout_ns;
	__u64 expired;
};

static long expire(struct bpf_map *map, struct user_key *key, struct user *user, struct sweep *sweep)
{
	/* A packet may have come since the sweep began. */
	if (key->kind != KIND_DEFAULT && sweep->now_ns > user->last_ns && sweep->now_ns - user->last_ns > sweep->timeout_ns) {
		bpf_map_delete_elem(map, key);
		sweep->expired++;
	}
	return 0;
}

static int sweep_users(void *map, __u32 *index, struct sweeper *sweeper)
{
	struct ingress_stats *stats = stats_of_cpu();
	struct sweep sweep = { .now_ns = bpf_ktime_get_ns() };
	struct node_config *node;
	__u32 zero = 0;

	node = bpf_map_lookup_elem(&config, &zero);
	if (!node)
		return 0;
	sweep.timeout_ns = node->user_timeout_ns;
	bpf_for_each_map_elem(&users, expire, &sweep, 0);
	if (stats)
		stats->expired += sweep.expired;
	bpf_timer_start(&sweeper->timer, node->sweep_ns, 0);
	return 0;
}

/* Run once by the tool; again by a new version of it, whose code then takes over. */
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
	if (bpf_timer_set_callback(&sweeper->timer, sweep_users))
		return 3;
	return bpf_timer_start(&sweeper->timer, 1000000, 0) ? 4 : 0;
}

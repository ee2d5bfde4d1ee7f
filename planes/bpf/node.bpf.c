// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/*
 * ABC and CSFQ in the kernel: the meter runs where packets arrive, the AQM where they leave. Source: abc2018 III and
 * V-A; arithmetic of fairlane_schemes::fixed.
 *
 * Deviations: some packets have no label: packets of the node itself, and packets from a port that does nothing. ABC
 * treats such a packet as one of average activity and does not count it in the average; CSFQ counts it in the rates of
 * the port and never drops it early. Both schemes let control traffic pass up to a rate (control.h).
 *
 * Functions that are neither static nor inlined are verified once for all arguments, not once for each path to them.
 */
#include "aqm.h"
#include "control.h"
#include "dropped.h"
#include "far_end.h"
#include "places.h"
#include "recent.h"
#include "wire.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* TCQ_F_MQROOT of net/sch_generic.h: mq, whose queues are those of its children. */
#define QDISC_OF_MANY 8
#define MOST_QUEUES 64

/* Factor 1: the amount of a packet is its bytes. */
#define ONE_Q20 (1U << 20)

/* ---- ingress ---- */

/* Counts the reason why a packet has no address. */
static __always_inline void count_hidden(const struct source *source, struct ingress_stats *stats)
{
	stats->not_ip += source->hides == HIDES_NOT_IP;
	stats->malformed += source->hides == HIDES_MALFORMED;
	stats->too_many_tags += source->hides == HIDES_TAGS;
	stats->pppoe_not_ip += source->hides == HIDES_PPPOE;
	stats->mpls_not_ip += source->hides == HIDES_MPLS;
}

/* Assigns a slot to an address that has none. */
static __noinline __u32 place_of_unknown(const struct user_key *key, const struct rule *rule,
					 const struct port_config *port, const struct node_config *node)
{
	struct newcomer new = {
		.key = *key,
		.owner = rule->place,
		.user_limit = rule->address_limit,
		.port = port->ifindex % PORT_PLACES,
		.port_limit = port->address_limit,
		.now_ns = clock_ns(),
	};

	return place_of_newcomer(&new, node);
}

/*
 * Finds the terms of a packet, by the given rule (for a mark or tunnel), otherwise by the rule for its headers. Writes
 * the entry in `recent` if the address alone decides. An address that should have its own meter but has no slot yet
 * gets no entry.
 */
__noinline int look_up(const struct source *source, const struct rule *rule, __u32 port_place, __u32 is_recent,
		       struct terms *terms)
{
	struct port_config *port = bpf_map_lookup_elem(&ports, &port_place);
	__u32 zero = 0, generation, is_own = 0, *place;
	struct node_config *node = bpf_map_lookup_elem(&config, &zero);
	struct recent *recent;
	struct user_key key;

	if (!source || !terms || !port || !node)
		return -1;
	generation = node->generation;
	if (!rule)
		rule = rule_of(node, source);
	if (!rule) {
		rule = bpf_map_lookup_elem(&default_rule, &zero);
		if (!rule)
			return -1;
		terms->place = source->is_ip ? PLACE_DEFAULT : PLACE_UNPARSED;
	} else {
		terms->place = rule->place;
	}
	terms->place += port->user_is;
	terms->offset = rule->offset;
	terms->class_rule = rule->class_rule;
	if (rule->address_limit && source->is_ip) {
		address_key(source, port->user_is, &key);
		place = bpf_map_lookup_elem(&addresses, &key);
		if (!place) {
			terms->place = place_of_unknown(&key, rule, port, node);
			return 0;
		}
		terms->place = *place;
		is_own = 1;
	}
	recent = is_recent ? recent_of(source) : 0;
	if (recent)
		remember(recent, generation, source, port->user_is, is_own, terms);
	return 0;
}

/* Rule for the tunnel that a packet came out of, if there is one. */
static __noinline struct rule *rule_of_tunnel(struct __sk_buff *skb)
{
	struct number_key key = { .kind = KIND_TUNNEL };
	struct bpf_tunnel_key tunnel = {};

	/* Tries both address families; the call fails for a packet of no tunnel. */
	if (bpf_skb_get_tunnel_key(skb, &tunnel, sizeof(tunnel), 0) &&
	    bpf_skb_get_tunnel_key(skb, &tunnel, sizeof(tunnel), BPF_F_TUNINFO_IPV6))
		return 0;
	key.first = tunnel.tunnel_id;
	return bpf_map_lookup_elem(&number_rules, &key);
}

/* Returns the meter of a packet and sets its terms. */
static __always_inline struct user *meter_of(struct __sk_buff *skb, __u32 mark, const struct source *source,
					     const struct port_config *port, const struct node_config *node,
					     struct terms *terms)
{
	struct rule *rule = rule_of_mark(node, mark);
	struct recent *recent = 0;
	struct user *user = 0;
	__u32 place;

	if (!rule && KNOWS(node, KIND_TUNNEL))
		rule = rule_of_tunnel(skb);
	if (!rule && source->is_ip && !source->tags && !source->session)
		recent = recent_of(source);
	if (recent)
		user = recall(recent, node, source, port->user_is, terms);
	if (user)
		return user;
	place = port->ifindex % PORT_PLACES;
	if (look_up(source, rule, place, !!recent, terms))
		return 0;
	place = terms->place;
	return bpf_map_lookup_elem(&users, &place);
}

/* Bytes of a packet on the wire, from the IP header of each segment on. */
static __always_inline __u32 wire_bytes(struct __sk_buff *skb, const struct source *source, __u32 *packets)
{
	__u32 before_ip = skb->len - source->ip_bytes, header;
	__u64 both;

	*packets = 1;
	if (!skb->gso_size)
		return source->ip_bytes;
	both = aggregated(skb);
	header = both;
	if (both >> 32)
		*packets = both >> 32;
	return source->ip_bytes + (header > before_ip ? (*packets - 1) * (header - before_ip) : 0);
}

/*
 * Counts packets into the meter of a user. Returns S for ABC, log2 of the sum for CSFQ. Without the lock the meter does
 * not change.
 */
static __always_inline __u64 count_amount(struct user *user, const struct node_config *node, __u64 amount,
					  __u32 is_held, __u64 age)
{
	struct fair_meter meter = user->meter;
	__u64 pending = user->pending, value;

	amount += is_held ? take_late(&user->late_amount) : __sync_fetch_and_add(&user->late_amount, amount);
	if (node->scheme == SCHEME_CSFQ)
		value = fair_rate_count(&meter, &pending, &node->decay, node->log2_tick, amount, age);
	else
		value = fair_meter_count(&meter, &node->decay, amount, age);
	if (is_held) {
		user->meter = meter;
		user->pending = pending;
	}
	return value;
}

/* Meters the packet for its user and writes the label into the mark. */
static __always_inline int meter(struct __sk_buff *skb, const struct port_config *port, struct ingress_stats *stats)
{
	struct source source;
	struct terms terms;
	struct node_config *node;
	struct user *user;
	__u64 now, age, value, amount;
	__u32 zero = 0, class, mark = skb->mark, bytes, packets, is_held;
	__s32 activity;

	skb->mark = mark & ~port->mark_bits.mask;
	node = bpf_map_lookup_elem(&config, &zero);
	if (!node)
		return TC_ACT_UNSPEC;
	if (node->carriers & 1U << CARRIER_SHIM && has_shim(skb))
		return refuse(stats);
	source_of(skb, port->is_layer3, port->user_is, &source);
	if (source.has_hop_by_hop && node->carriers & 1U << CARRIER_OPTION && strip_option(skb) == TC_ACT_SHOT)
		return TC_ACT_SHOT;
	if (!source.is_ip)
		count_hidden(&source, stats);
	user = meter_of(skb, mark, &source, port, node, &terms);
	if (!user)
		return TC_ACT_UNSPEC;
	class = terms.class_rule == RULE_EF || (terms.class_rule == RULE_DSCP && source.dscp == DSCP_EF) ? CLASS_EF :
													  CLASS_BE;
	now = clock_ns();
	age = now > node->start_ns ? now - node->start_ns : 0;
	bytes = wire_bytes(skb, &source, &packets);
	amount = fair_meter_amount(bytes, node->scheme == SCHEME_CSFQ ? ONE_Q20 : node->factor_q20[class]);
	is_held = take_lock(&user->lock, now);
	value = count_amount(user, node, amount, is_held, age);
	count(&user->packets, &user->late_packets, is_held, packets);
	count(&user->bytes, &user->late_bytes, is_held, bytes);
	user->last_ns = now;
	if (is_held)
		give_lock(&user->lock);
	if (node->scheme == SCHEME_CSFQ)
		activity = fair_activity_of_q31((__s64)value + terms.offset);
	else
		activity = fair_meter_activity(value, &node->decay, node->log2_memory, terms.offset, age);
	user->activity = activity;
	skb->mark = mark_with(&port->mark_bits, mark, MARK_VALID | (class == CLASS_EF ? MARK_EF : 0) | fair_biased(activity));
	stats->metered += packets;
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
	if (is_far_end(skb)) {
		int verdict = hear(skb);

		if (verdict != TC_ACT_UNSPEC)
			return verdict;
	}
	if (port->ingress == INGRESS_TRUSTED)
		return take_label_of(skb, port, place, stats);
	if (port->ingress != INGRESS_METER)
		return TC_ACT_UNSPEC;
	return meter(skb, port, stats);
}

/* Attached only at ports whose neighbours write shims. */
SEC("xdp")
int fairlane_unwrap(struct xdp_md *context)
{
	hand_over(context, unwrap_shim(context));
	return XDP_PASS;
}

/* ---- egress ---- */

/* Counts a drop for the user of the packet, whichever port metered it. */
__noinline int count_drop(struct __sk_buff *skb)
{
	__u32 zero = 0, place = skb->ifindex % PORT_PLACES;
	struct node_config *node = bpf_map_lookup_elem(&config, &zero);
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);

	if (!node || !port)
		return 0;
	place = place_of_dropped((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len,
				 layer3_of(skb, port->is_layer3), skb->ingress_ifindex, node);
	count_dropped(place, packets_of(skb));
	return 0;
}

struct queues {
	struct netdev_queue *first;
	__u32 packets, bytes;
};

static long count_one_queue(__u32 index, struct queues *queues)
{
	void *queue = (void *)queues->first + (__u64)index * bpf_core_type_size(struct netdev_queue);
	struct Qdisc *qdisc = 0;
	__u32 packets = 0, bytes = 0;

	if (bpf_core_read(&qdisc, sizeof(qdisc), &((struct netdev_queue *)queue)->qdisc))
		return 1;
	bpf_core_read(&packets, sizeof(packets), &qdisc->q.qlen);
	bpf_core_read(&bytes, sizeof(bytes), &qdisc->qstats.backlog);
	queues->packets += packets;
	queues->bytes += bytes;
	return 0;
}

/*
 * An interface with several transmit queues is still one link. Returns bytes in the upper 32 bits, packets in the
 * lower.
 */
__noinline __u64 queue_of_many(struct __sk_buff *skb)
{
	struct sk_buff *kernel_skb = bpf_cast_to_kern_ctx(skb);
	struct net_device *device = kernel_skb->dev;
	struct queues queues = { .first = device->_tx };
	__u32 count = device->real_num_tx_queues;

	bpf_loop(count < MOST_QUEUES ? count : MOST_QUEUES, count_one_queue, &queues, 0);
	return (__u64)queues.bytes << 32 | queues.packets;
}

/* Queue of the root qdisc, in the unit of the port. Read without the lock of the qdisc. */
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
		struct Qdisc *root;

		kernel_skb = bpf_cast_to_kern_ctx(skb);
		root = kernel_skb->dev->qdisc;
		if (root->flags & QDISC_OF_MANY) {
			__u64 both = queue_of_many(skb);

			packets = both;
			bytes = both >> 32;
		} else {
			packets = root->q.qlen;
			bytes = root->qstats.backlog;
		}
	}
	return unit == UNIT_PACKETS ? (__s64)packets * FAIR_PACKET : bytes;
}

static __always_inline void make_offer(struct __sk_buff *skb, const struct port_config *port, struct offer *offer)
{
	offer->label = label_in(&port->mark_bits, skb->mark);
	offer->packets = packets_of(skb);
	offer->bytes = skb->wire_len;
	offer->control = offer->label ? CONTROL_NONE : control_of(skb);
	offer->now = clock_ns();
	/* A virtual queue is in the state of the port. */
	offer->queue = port->unit != UNIT_VIRTUAL ? qdisc_queue(skb, port->unit) : 0;
	offer->share = share_of_queue(port, offer->bytes);
}

/* ---- ECN (RFC 3168) ---- */

#define ECN_CE 3

/* Returns the offset of the IP header (shifted left by 4) and the IP version; 0 if the packet cannot be marked. */
__noinline __u32 markable(struct __sk_buff *skb, __u32 is_layer3)
{
	struct source source;
	__u8 bytes[2];

	parse_source((void *)(long)skb->data, (void *)(long)skb->data_end, skb->len, layer3_of(skb, is_layer3), 0,
		     &source);
	if (!source.is_ip || bpf_skb_load_bytes(skb, source.ip_at, bytes, 2))
		return 0;
	if (!(source.version == 4 ? bytes[1] & ECN_CE : bytes[1] >> 4 & ECN_CE))
		return 0;
	return source.ip_at << 4 | source.version;
}

/* Writes CE. Updates the header checksum of IPv4 (RFC 1624); IPv6 has none. */
__noinline int mark_ce(struct __sk_buff *skb, __u32 place)
{
	__u32 at = place >> 4;
	__u8 old[2], new[2];

	if (bpf_skb_load_bytes(skb, at, old, 2))
		return TC_ACT_UNSPEC;
	new[0] = old[0];
	new[1] = old[1] | ((place & 15) == 4 ? ECN_CE : ECN_CE << 4);
	if (new[1] == old[1])
		return TC_ACT_UNSPEC;
	if ((place & 15) == 4) {
		bpf_l3_csum_replace(skb, at + 10, bpf_htons(old[0] << 8 | old[1]), bpf_htons(new[0] << 8 | new[1]), 2);
		bpf_skb_store_bytes(skb, at + 1, &new[1], 1, 0);
	} else {
		bpf_skb_store_bytes(skb, at + 1, &new[1], 1, BPF_F_RECOMPUTE_CSUM);
	}
	return TC_ACT_UNSPEC;
}

static __always_inline int admit(struct __sk_buff *skb, const struct port_config *port, struct port_state *state)
{
	__u32 place = port->marks_ecn ? markable(skb, port->is_layer3) : 0;
	struct offer offer;
	int verdict;

	make_offer(skb, port, &offer);
	verdict = decide(port, state, &offer, place);
	return verdict == VERDICT_DROP ? TC_ACT_SHOT : verdict == VERDICT_MARK ? mark_ce(skb, place) : TC_ACT_UNSPEC;
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

/* Adds the bytes of packets that found the port locked. */
static __always_inline void settle_csfq(struct port_state *state)
{
	int i;

	for (i = 0; i < 2; i++)
		state->csfq.pending[i] = fair_saturating_add(state->csfq.pending[i], take_late(&state->late_pending[i]));
}

/* Decision of CSFQ: first eq. (3), then the limit. An accepted packet gets a new label. */
__noinline int admit_csfq(struct __sk_buff *skb)
{
	__u32 zero = 0, place = skb->ifindex % PORT_PLACES, random = random_bits();
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct port_state *state = bpf_map_lookup_elem(&port_states, &place);
	struct node_config *node = bpf_map_lookup_elem(&config, &zero);
	struct fair_csfq csfq;
	struct offer offer;
	__s32 label;
	__u64 age, amount;
	int verdict = TC_ACT_UNSPEC, drop;

	if (!port || !state || !node)
		return verdict;
	make_offer(skb, port, &offer);
	label = fair_unbiased(offer.label & MARK_ACTIVITY);
	age = offer.now > node->start_ns ? offer.now - node->start_ns : 0;
	offer.is_held = take_lock(&state->lock, offer.now);
	if (offer.is_held) {
		settle(port, state, offer.now);
		settle_csfq(state);
	}
	csfq = state->csfq;
	offer.queue = virtual_queue(port, state, &offer);
	state->average = fair_activity_of_q31(csfq.log2_alpha);
	state->queue = offer.queue;
	state->threshold = port->q_min;
	drop = fair_csfq_admit(&csfq, &port->csfq, !!offer.label, &label, offer.bytes, offer.queue < port->q_min,
			       offer.queue < port->q_base, random, age);
	if (drop) {
		COUNT(state, dropped, offer.is_held, offer.packets);
		verdict = TC_ACT_SHOT;
	} else if (offer.control != CONTROL_PASSES && port->limit && offer.queue + offer.share > port->limit) {
		COUNT(state, overlimit, offer.is_held, offer.packets);
		fair_csfq_overflow(&csfq);
		verdict = TC_ACT_SHOT;
	} else {
		accept(port, state, &offer);
	}
	count_control(state, &offer);
	if (offer.is_held) {
		state->csfq = csfq;
		give_lock(&state->lock);
	} else {
		amount = (__u64)offer.bytes << FAIR_METER_SUM_BITS;
		__sync_fetch_and_add(&state->late_pending[0], amount);
		if (!drop)
			__sync_fetch_and_add(&state->late_pending[1], amount);
	}
	if (offer.label)
		skb->mark = mark_with(&port->mark_bits, skb->mark, (offer.label & ~MARK_ACTIVITY) | fair_biased(label));
	return verdict;
}

/* Sets the qdisc class of a packet that may leave, and writes its label into the link's carrier. */
static __always_inline int send_labelled(struct __sk_buff *skb, const struct port_config *port)
{
	__u32 label = label_in(&port->mark_bits, skb->mark), class;

	if (!label)
		return port->carrier ? carry(skb, port, 0) : TC_ACT_UNSPEC;
	class = label & MARK_EF ? CLASS_EF : CLASS_BE;
	if (port->qdisc_class[class])
		skb->priority = port->qdisc_class[class];
	return port->carrier ? carry(skb, port, label) : TC_ACT_UNSPEC;
}

/* The node's own qdisc decides on the packet. Passes it the properties of the packet that only tc programs can find. */
__noinline int leave_to_qdisc(struct __sk_buff *skb)
{
	__u32 place = skb->ifindex % PORT_PLACES, control = CONTROL_PASSES, packets = 1;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	int verdict = TC_ACT_UNSPEC;

	if (!port)
		return verdict;
	if (is_clone(skb)) {
		verdict = write_ask(skb);
	} else if (!is_far_end(skb) || !is_frame(skb)) {
		control = label_in(&port->mark_bits, skb->mark) ? CONTROL_NONE : control_of(skb);
		packets = packets_of(skb);
		verdict = send_labelled(skb, port);
	}
	skb->cb[HANDED_MAGIC] = HANDED;
	skb->cb[HANDED_PORT] = skb->ifindex;
	skb->cb[HANDED_CONTROL] = control;
	skb->cb[HANDED_PACKETS] = packets;
	return verdict;
}

SEC("tc")
int fairlane_egress(struct __sk_buff *skb)
{
	__u32 place = skb->ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct port_state *state;
	int verdict = TC_ACT_UNSPEC;

	if (!port || port->ifindex != skb->ifindex)
		return TC_ACT_UNSPEC;
	if (port->own_qdisc)
		return leave_to_qdisc(skb);
	if (is_clone(skb))
		return write_ask(skb);
	if (is_far_end(skb) && is_frame(skb))
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
	return send_labelled(skb, port);
}

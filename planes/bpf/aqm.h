/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Decision of ABC on a packet at a port. Shared by the tc program and the queue discipline. */
#ifndef FAIRLANE_AQM_H
#define FAIRLANE_AQM_H

#include "lock.h"
#include "maps.h"

enum { CONTROL_NONE, CONTROL_PASSES, CONTROL_EXCESS };
/*
 * Words of __sk_buff.cb in which the egress program passes its findings to the node's own qdisc. A packet without them
 * is no control traffic, and counts once.
 */
enum { HANDED_MAGIC, HANDED_PORT, HANDED_CONTROL, HANDED_PACKETS };
#define HANDED 0x464c5144U
enum { VERDICT_PASS, VERDICT_MARK, VERDICT_DROP };

/* Amount that a packet adds to the queue, in the unit of the port. */
static __always_inline __s64 share_of_queue(const struct port_config *port, __u32 bytes)
{
	if (port->unit == UNIT_PACKETS)
		return FAIR_PACKET;
	return port->unit == UNIT_BYTES ? bytes : (bytes * port->ns_per_byte_q20) >> 20;
}

/* A packet at a port. */
struct offer {
	__u32 label; /* 0 if the packet has none */
	__u32 packets; /* on the wire */
	__u32 bytes; /* of all these packets */
	__u32 control; /* CONTROL_NONE, CONTROL_PASSES or CONTROL_EXCESS */
	__u32 is_held; /* the packet holds the lock */
	__s64 queue; /* queue that the packet finds */
	__s64 share; /* amount that the packet adds */
	__u64 now;
};

static __always_inline __s64 virtual_queue(const struct port_config *port, const struct port_state *state,
					   const struct offer *offer)
{
	__u64 free_at_ns = state->free_at_ns;

	if (port->unit != UNIT_VIRTUAL)
		return offer->queue;
	return (free_at_ns > offer->now ? free_at_ns - offer->now : 0) + state->late_ns;
}

/*
 * True if a packet that ABC would drop is marked instead. False if the queue is so long that even a user with half the
 * average rate loses packets (activity one below A_avg in eq. (10)): a user that ignores marks must not take the queue
 * from the others (RFC 7567 4.2.1).
 */
static __always_inline int is_marked(const struct port_config *port, __u32 place, __s64 queue)
{
	return place && queue < port->q_base + port->gamma;
}

/* Calls count() for a counter of a port. */
#define COUNT(state, field, is_held, packets) \
	count(&(state)->counts.field, &(state)->late.field, is_held, packets)

/* Adds the amounts of packets that found the port locked. */
static __always_inline void settle(const struct port_config *port, struct port_state *state, __u64 now)
{
	if (state->late_count) {
		__u64 sum = take_late(&state->late_sum);

		fair_averager_accept(&state->averager, &port->decay, sum, take_late(&state->late_count), now);
	}
	if (state->late_ns)
		state->free_at_ns = (state->free_at_ns > now ? state->free_at_ns : now) + take_late(&state->late_ns);
}

/* Counts the label of an accepted packet in the average. */
static __always_inline void count_label(const struct port_config *port, struct port_state *state, __s32 activity,
					const struct offer *offer)
{
	__u32 weight = port->packet_weight ? port->packet_weight * offer->packets : offer->bytes;
	__u64 sum = fair_averager_sum_of(activity, weight), many = fair_averager_count_of(weight);

	if (offer->is_held) {
		fair_averager_accept(&state->averager, &port->decay, sum, many, offer->now);
	} else {
		__sync_fetch_and_add(&state->late_sum, sum);
		__sync_fetch_and_add(&state->late_count, many);
	}
}

static __always_inline void count_control(struct port_state *state, const struct offer *offer)
{
	if (offer->control == CONTROL_PASSES)
		COUNT(state, control, offer->is_held, offer->packets);
	if (offer->control == CONTROL_EXCESS)
		COUNT(state, control_excess, offer->is_held, offer->packets);
}

static __always_inline void accept(const struct port_config *port, struct port_state *state, const struct offer *offer)
{
	COUNT(state, accepted, offer->is_held, offer->packets);
	COUNT(state, accepted_bytes, offer->is_held, offer->bytes);
	if (!offer->label)
		COUNT(state, unlabelled, offer->is_held, offer->packets);
	if (port->unit != UNIT_VIRTUAL)
		return;
	if (offer->is_held)
		state->free_at_ns = offer->now + offer->queue + offer->share;
	else
		__sync_fetch_and_add(&state->late_ns, offer->share);
}

/*
 * Decision of ABC: first eq. (10), then the limit. An accepted packet updates the average. `can_mark` is true if the
 * packet can be marked instead of dropped.
 */
static __always_inline int decide(const struct port_config *port, struct port_state *state, struct offer *offer,
				  __u32 can_mark)
{
	__s32 activity = fair_unbiased(offer->label & MARK_ACTIVITY), average;
	__s64 threshold;
	int verdict = VERDICT_PASS, marks = 0;

	offer->is_held = take_lock(&state->lock, offer->now);
	if (offer->is_held)
		settle(port, state, offer->now);
	offer->queue = virtual_queue(port, state, offer);
	average = offer->is_held ? fair_averager_average(&state->averager) : state->average;
	threshold = fair_drop_threshold(port->q_min, port->q_base, port->gamma, offer->label ? activity : average,
					average);
	state->average = average;
	state->queue = offer->queue;
	state->threshold = threshold;
	marks = offer->queue >= threshold && is_marked(port, can_mark, offer->queue);
	if (offer->control == CONTROL_PASSES) {
		marks = 0;
		accept(port, state, offer);
	} else if (offer->queue >= threshold && !marks) {
		COUNT(state, dropped, offer->is_held, offer->packets);
		verdict = VERDICT_DROP;
	} else if (port->limit && offer->queue + offer->share > port->limit) {
		COUNT(state, overlimit, offer->is_held, offer->packets);
		verdict = VERDICT_DROP;
	} else {
		if (marks)
			COUNT(state, marked, offer->is_held, offer->packets);
		if (offer->label)
			count_label(port, state, activity, offer);
		accept(port, state, offer);
	}
	count_control(state, offer);
	if (offer->is_held)
		give_lock(&state->lock);
	return marks && verdict == VERDICT_PASS ? VERDICT_MARK : verdict;
}

#endif

// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/*
 * ABC as a queue discipline (struct_ops Qdisc_ops, net/sched/bpf_qdisc.c, Linux 6.16 and later): decides on a packet
 * under the lock of the queue that it joins, schedules two traffic classes and shapes to a rate. Source: abc2018 III-C
 * and III-D2; schedulers as in class_queues.rs of crates/schemes.
 *
 * A queue discipline cannot write packets. The egress program writes labels into the carrier before, and passes what it
 * knows about a packet in skb->cb.
 *
 * Deviation: with strict priority, a BE packet that has waited 146 years precedes EF.
 */
#if __clang_major__ < 16
#error "clang before 16 drops the type tag of pointers in maps"
#endif

/* Types of linux/bpf.h that Linux 6.1 headers lack or declare shorter. */
#define bpf_list_head bpf_list_head___installed
#define bpf_list_node bpf_list_node___installed
#define bpf_iter_num bpf_iter_num___installed
#include <linux/bpf.h>
#undef bpf_list_head
#undef bpf_list_node
#undef bpf_iter_num

struct bpf_list_head {
	__u64 opaque[2];
} __attribute__((aligned(8)));

struct bpf_list_node {
	__u64 opaque[3];
} __attribute__((aligned(8)));

struct bpf_iter_num {
	__u64 opaque[1];
} __attribute__((aligned(8)));

#include "aqm.h"
#include "dropped.h"
#include "kernel.h"
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <linux/pkt_sched.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* linux/netdevice.h */
#define NET_XMIT_SUCCESS 0
#define NET_XMIT_DROP 1
/* linux/errno.h */
#define EINVAL 22
#define EBUSY 16

/* The shaper catches up on this much time that the timer or the processor was late. */
#define MOST_LATE_NS 4000000

/* Limit of a qdisc whose port is not configured, in packets: the kernel's own default. */
#define LEFT_LIMIT 1000

#define CONTAINS(type, node) __attribute__((btf_decl_tag("contains:" #type ":" #node)))

struct bpf_sk_buff_ptr {
	struct sk_buff *skb;
};
struct nlattr;
struct netlink_ext_ack;

struct Qdisc_ops {
	char id[16];
	int (*enqueue)(struct sk_buff *skb, struct Qdisc *sch, struct sk_buff **to_free);
	struct sk_buff *(*dequeue)(struct Qdisc *sch);
	int (*init)(struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *error);
	void (*reset)(struct Qdisc *sch);
	void (*destroy)(struct Qdisc *sch);
};

extern void bpf_kfree_skb(struct sk_buff *skb) __ksym;
extern void bpf_qdisc_skb_drop(struct sk_buff *skb, struct bpf_sk_buff_ptr *to_free) __ksym;
extern void bpf_qdisc_watchdog_schedule(struct Qdisc *sch, __u64 expire, __u64 slack_ns) __ksym;
extern void bpf_qdisc_bstats_update(struct Qdisc *sch, const struct sk_buff *skb) __ksym;
extern void *bpf_obj_new_impl(__u64 type, void *meta) __ksym;
extern void bpf_obj_drop_impl(void *object, void *meta) __ksym;
extern int bpf_list_push_back_impl(struct bpf_list_head *head, struct bpf_list_node *node, void *meta,
				   __u64 offset) __ksym;
extern struct bpf_list_node *bpf_list_pop_front(struct bpf_list_head *head) __ksym;
extern struct bpf_list_node *bpf_list_front(struct bpf_list_head *head) __ksym;

/* A packet in the queue. */
struct waiting {
	struct sk_buff __kptr *skb;
	struct bpf_list_node node;
	__u64 since_ns;
	__u32 bytes, packets, class;
};

#define WAITING(node_pointer) ((struct waiting *)((void *)(node_pointer) - __builtin_offsetof(struct waiting, node)))

/* The queue of a port. The lock exists only for the verifier: the kernel's lock of the qdisc is already held. */
struct queue {
	__u64 owner; /* the only qdisc that may use it; 0 for none */
	struct bpf_spin_lock lock;
	struct bpf_list_head be CONTAINS(waiting, node);
	struct bpf_list_head ef CONTAINS(waiting, node);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, PORT_PLACES);
	__type(key, __u32);
	__type(value, struct queue);
} queues SEC(".maps");

static __always_inline __u32 ifindex_of(const struct Qdisc *sch)
{
	return sch->dev_queue->dev->ifindex;
}

/* Returns the queue of a qdisc, or 0 if the qdisc has none because its init failed. */
static __always_inline struct queue *queue_of(const struct Qdisc *sch)
{
	__u32 place = ifindex_of(sch) % PORT_PLACES;
	struct queue *queue = bpf_map_lookup_elem(&queues, &place);

	return queue && queue->owner == (__u64)sch ? queue : 0;
}

/* ---- enqueue ---- */

/* Word `index` that the egress program passed on, or `otherwise` if it did not. */
static __always_inline __u32 handed(const struct sk_buff *skb, __u32 ifindex, __u32 index, __u32 otherwise)
{
	const struct qdisc_skb_cb *cb = (const void *)skb->cb;

	if (*(__u32 *)&cb->data[4 * HANDED_MAGIC] != HANDED || *(__u32 *)&cb->data[4 * HANDED_PORT] != ifindex)
		return otherwise;
	return *(__u32 *)&cb->data[4 * index];
}

/*
 * Counts a drop for the user of the packet. Copies the headers of the linear part, with an Ethernet header in front and
 * the IP header aligned, as the verifier demands on the stack.
 */
static __noinline void count_drop(struct sk_buff *skb, const struct port_config *port, __u32 packets)
{
	__u32 zero = 0, before = port->is_layer3 ? ETH_HLEN : 0, bytes = skb->len - skb->data_len;
	struct node_config *node = bpf_map_lookup_elem(&config, &zero);
	struct {
		__u16 padding;
		__u8 data[MOST_HEADER];
	} headers __attribute__((aligned(8))) = {};

	if (bytes > MOST_HEADER - before)
		bytes = MOST_HEADER - before;
	if (before)
		*(__u16 *)(headers.data + ETH_HLEN - 2) = skb->protocol;
	if (!node || bpf_probe_read_kernel(headers.data + before, bytes, skb->data))
		return;
	count_dropped(place_of_dropped(headers.data, headers.data + before + bytes, before + skb->len, 0, skb->skb_iif,
				       node),
		      packets);
}

SEC("struct_ops")
int BPF_PROG(fairlane_enqueue, struct sk_buff *skb, struct Qdisc *sch, struct bpf_sk_buff_ptr *to_free)
{
	__u32 ifindex = ifindex_of(sch), place = ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct port_state *state = bpf_map_lookup_elem(&port_states, &place);
	struct queue *queue = queue_of(sch);
	struct waiting *waiting;
	struct offer offer;

	if (!port || !state || !queue)
		goto drop;
	offer.label = label_in(&port->mark_bits, skb->mark);
	offer.packets = handed(skb, ifindex, HANDED_PACKETS, 1);
	offer.bytes = ((const struct qdisc_skb_cb *)skb->cb)->pkt_len;
	offer.control = offer.label ? CONTROL_NONE : handed(skb, ifindex, HANDED_CONTROL, CONTROL_NONE);
	offer.now = clock_ns();
	offer.queue = port->unit == UNIT_PACKETS ? (__s64)sch->q.qlen * FAIR_PACKET : sch->qstats.backlog;
	offer.share = share_of_queue(port, offer.bytes);
	waiting = bpf_obj_new_impl(bpf_core_type_id_local(struct waiting), 0);
	if (!waiting) {
		__sync_fetch_and_add(&state->late.overlimit, offer.packets);
		count_drop(skb, port, offer.packets);
		goto drop;
	}
	/* The qdisc outlives its port's configuration for a moment. */
	if (port->own_qdisc ? decide(port, state, &offer, 0) == VERDICT_DROP : sch->q.qlen >= LEFT_LIMIT) {
		bpf_obj_drop_impl(waiting, 0);
		count_drop(skb, port, offer.packets);
		goto drop;
	}
	waiting->since_ns = offer.now;
	waiting->bytes = offer.bytes;
	waiting->packets = offer.packets;
	waiting->class = offer.label & MARK_EF ? CLASS_EF : CLASS_BE;
	sch->q.qlen++;
	sch->qstats.backlog += offer.bytes;
	skb = bpf_kptr_xchg(&waiting->skb, skb);
	if (skb)
		bpf_qdisc_skb_drop(skb, to_free);
	if (waiting->class == CLASS_EF && port->own_qdisc != OWN_QDISC_FIFO) {
		bpf_spin_lock(&queue->lock);
		bpf_list_push_back_impl(&queue->ef, &waiting->node, 0, 0);
		bpf_spin_unlock(&queue->lock);
	} else {
		bpf_spin_lock(&queue->lock);
		bpf_list_push_back_impl(&queue->be, &waiting->node, 0, 0);
		bpf_spin_unlock(&queue->lock);
	}
	return NET_XMIT_SUCCESS;
drop:
	sch->qstats.drops++;
	bpf_qdisc_skb_drop(skb, to_free);
	return NET_XMIT_DROP;
}

/* ---- dequeue ---- */

/* Removes the packet with the earliest deadline; EF if deadlines are equal. Returns 0 if no packet waits. */
static __always_inline struct bpf_list_node *next_of(struct queue *queue, __u64 be_offset_ns)
{
	struct bpf_list_node *be, *ef, *next;

	bpf_spin_lock(&queue->lock);
	ef = bpf_list_front(&queue->ef);
	be = bpf_list_front(&queue->be);
	if (!ef || (be && WAITING(be)->since_ns + be_offset_ns < WAITING(ef)->since_ns))
		next = bpf_list_pop_front(&queue->be);
	else
		next = bpf_list_pop_front(&queue->ef);
	bpf_spin_unlock(&queue->lock);
	return next;
}

/* True if the link sends no packet now. In a replay, a packet leaves only while the queue is longer than the input. */
static __always_inline int is_link_free(struct Qdisc *sch, const struct port_config *port,
					const struct port_state *state, __u64 now)
{
	if (replay) {
		__u32 zero = 0;
		struct replay_input *input = bpf_map_lookup_elem(&replay_input, &zero);

		return input && sch->q.qlen > input->packets;
	}
	if (!port->shaper_ns_per_byte_q20 || state->free_at_ns <= now)
		return 1;
	bpf_qdisc_watchdog_schedule(sch, state->free_at_ns, 0);
	return 0;
}

/* The link begins to send a packet when it was free and the packet was there, however late this program runs. */
static __always_inline void shape(const struct port_config *port, struct port_state *state,
				  const struct waiting *waiting, __u64 now)
{
	__u64 start = state->free_at_ns;

	if (waiting->since_ns > start)
		start = waiting->since_ns;
	if (start + MOST_LATE_NS < now)
		start = now - MOST_LATE_NS;
	state->free_at_ns = start + ((waiting->bytes * port->shaper_ns_per_byte_q20) >> 20);
}

static __always_inline void count_sent(__u32 place, const struct waiting *waiting, __u64 now)
{
	struct qdisc_state *all = bpf_map_lookup_elem(&qdisc_states, &place);
	__u64 waited = now > waiting->since_ns ? now - waiting->since_ns : 0;
	struct class_counts *counts;

	if (!all)
		return;
	counts = &all->classes[waiting->class & CLASS_EF];
	counts->packets += waiting->packets;
	counts->bytes += waiting->bytes;
	counts->waited_ns += waited;
	counts->waits++;
	if (waited > counts->longest_ns)
		counts->longest_ns = waited;
}

SEC("struct_ops")
struct sk_buff *BPF_PROG(fairlane_dequeue, struct Qdisc *sch)
{
	__u32 place = ifindex_of(sch) % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct port_state *state = bpf_map_lookup_elem(&port_states, &place);
	struct queue *queue = queue_of(sch);
	struct bpf_list_node *node;
	struct waiting *waiting;
	struct sk_buff *skb = 0;
	__u64 now;

	if (!port || !state || !queue || !sch->q.qlen)
		return 0;
	now = clock_ns();
	if (!is_link_free(sch, port, state, now))
		return 0;
	node = next_of(queue, port->be_offset_ns);
	if (!node)
		return 0;
	waiting = WAITING(node);
	shape(port, state, waiting, now);
	count_sent(place, waiting, now);
	sch->q.qlen--;
	sch->qstats.backlog -= waiting->bytes;
	skb = bpf_kptr_xchg(&waiting->skb, skb);
	bpf_obj_drop_impl(waiting, 0);
	if (skb)
		bpf_qdisc_bstats_update(sch, skb);
	return skb;
}

/* ---- life ---- */

/* Accepts only the root of a port of this node, since the state of a port has one queue. */
SEC("struct_ops")
int BPF_PROG(fairlane_init, struct Qdisc *sch, struct nlattr *options, struct netlink_ext_ack *error)
{
	__u32 zero = 0, ifindex = ifindex_of(sch), place = ifindex % PORT_PLACES;
	struct port_config *port = bpf_map_lookup_elem(&ports, &place);
	struct node_config *node = bpf_map_lookup_elem(&config, &zero);
	struct queue *queue = bpf_map_lookup_elem(&queues, &place);

	if (!port || !node || !queue || sch->parent != TC_H_ROOT || port->ifindex != ifindex || !port->own_qdisc ||
	    sch->dev_queue->dev->nd_net.net->ns.inum != node->netns)
		return -EINVAL;
	return __sync_val_compare_and_swap(&queue->owner, 0, (__u64)sch) ? -EBUSY : 0;
}

SEC("struct_ops")
void BPF_PROG(fairlane_reset, struct Qdisc *sch)
{
	struct queue *queue = queue_of(sch);
	struct bpf_list_node *node;
	struct waiting *waiting;
	struct sk_buff *skb;
	__u32 i;

	if (!queue)
		return;
	bpf_for(i, 0, sch->q.qlen) {
		node = next_of(queue, 0);
		if (!node)
			break;
		waiting = WAITING(node);
		skb = bpf_kptr_xchg(&waiting->skb, 0);
		if (skb)
			bpf_kfree_skb(skb);
		bpf_obj_drop_impl(waiting, 0);
	}
	sch->q.qlen = 0;
	sch->qstats.backlog = 0;
}

/* The kernel also calls this after a failed init. */
SEC("struct_ops")
void BPF_PROG(fairlane_destroy, struct Qdisc *sch)
{
	struct queue *queue = queue_of(sch);

	if (queue)
		queue->owner = 0;
}

/* The tool sets the name, by which tc knows the qdisc. */
SEC(".struct_ops.link")
struct Qdisc_ops fairlane = {
	.enqueue = (void *)fairlane_enqueue,
	.dequeue = (void *)fairlane_dequeue,
	.init = (void *)fairlane_init,
	.reset = (void *)fairlane_reset,
	.destroy = (void *)fairlane_destroy,
};

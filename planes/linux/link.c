// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * Links, hosts and delays of a scenario, for a kernel that runs in virtual time.
 *
 * A link `lN` sends one packet at a time at its rate and stops its queue meanwhile, so its root qdisc is the queue of
 * the simulated port. The packet then travels the link's delay, is perhaps lost or delayed, and enters the next link of
 * its path, or its receiver.
 * A host `h` has no queue and no rate. Packets of a receiver travel the reverse delay of the path.
 *
 * Commands are written to /proc/fairlane, one a write; reading it gives the counters of the window as JSON.
 * /proc/fairlane_trace gives the packets that were traced. /proc/fairlane_draws takes random numbers.
 *
 * There are no locks: the kernel has one processor, and all packets are handled with softirqs disabled.
 */
#include <linux/etherdevice.h>
#include <linux/hrtimer.h>
#include <linux/if_arp.h>
#include <linux/inetdevice.h>
#include <linux/init.h>
#include <linux/ip.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/proc_fs.h>
#include <linux/rtnetlink.h>
#include <linux/seq_file.h>
#include <linux/tcp.h>
#include <linux/udp.h>
#include <linux/version.h>
#include <linux/xarray.h>
#include <net/inet_ecn.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/tcp.h>

#define MTU_BYTES 1500
#define TCP_HEADERS 52 /* IPv4, TCP, timestamps */
#define SMALL_BYTES 1000 /* payload from which the memory of a segment is set */
#define MOST_LINKS 1024
#define MOST_HOSTS 4096
#define MOST_FLOWS 16384
#define MOST_HOPS 16
#define SLACK_NS 64
/* Host N has the address 10.1.0.1 + N; the receiver of flow N has the port 10000 + N. */
#define FIRST_ADDRESS 0x0a010001u
#define FIRST_PORT 10000u

/* Histograms: exact below 128, then 64 buckets to a power of two, up to 2^40. */
#define EXACT_BUCKETS 128
#define OCTAVE_BUCKETS 64
#define LARGEST_LOG2 40
#define BUCKETS (EXACT_BUCKETS + (LARGEST_LOG2 - 7) * OCTAVE_BUCKETS)

struct link;

/* Packets that travel, in the order in which they arrive. */
struct line {
	struct sk_buff_head packets;
	struct hrtimer timer;
	u64 delay_ns;
	void (*deliver)(struct line *line, struct sk_buff *skb);
};

/* Kept in skb->cb only while a packet is on a line; qdiscs overwrite it. */
struct on_line {
	u64 due_ns;
};

struct route {
	struct net_device *sender, *receiver;
	struct line reverse;
	u32 hops;
	struct link *links[MOST_HOPS];
};

struct share {
	u64 arrived_packets, arrived_bytes, sent_packets, sent_bytes, dropped_packets, dropped_bytes, marked_packets;
	u64 lost_packets, lost_bytes; /* of those that were sent */
	u64 delay_ns, delay_most_ns;
	u64 sending_ns, held_ns; /* transmission; jitter and detours */
	u32 delays[BUCKETS];
};

/* As in DropReason of the simulator. */
enum reason { AQM, OVERLIMIT, PUSHED_OUT, LOST, REASONS };

struct count {
	u64 packets, bytes;
};

struct rate_step {
	u64 at_ns, bits_per_second;
};

/* A recorded trace: at each of its times, the link delivers `bytes` bytes. The trace repeats after its last time. */
struct opportunities {
	u32 *times_ms, count, room, bytes, bytes_left;
	u64 next, at_ns;
};

/* Random numbers drawn ahead by the guest's program, which can compute with floating-point numbers. */
struct drawn {
	u64 bits;
	s64 deviation_ns; /* jitter computed from this number and, for a normal distribution, the next one */
};

struct stream {
	u32 size, read, written, of_jitter;
	struct drawn drawn[];
};

enum loss_model { RANDOM, GILBERT_ELLIOTT, PERIODIC };
enum jitter { NO_JITTER, IN_ORDER, REORDER };

struct span {
	u64 from_ns, until_ns;
};

struct loss {
	struct loss *next;
	enum loss_model model;
	u64 below[4]; /* bounds on bits: of a loss, or of leaving the good and bad state, and of a loss in them */
	bool is_bad;
	u32 count;
	struct span span;
};

/* As in the simulator: crates/sim/src/network/impairment. */
struct impairment {
	struct link *link;
	struct stream *stream;
	struct line held;
	struct loss *losses;
	enum jitter jitter;
	u64 delay_ns, last_ns, detour_ns;
	struct span detoured, jittery;
};

struct link {
	struct net_device *dev;
	u32 index;
	struct line line;
	u64 bits_per_second;
	u64 remainder; /* of the division that gives the time of a packet */
	struct rate_step *steps;
	u32 step_count, next_step;
	struct opportunities *opportunities;
	struct impairment *impairment;
	struct hrtimer sent;
	struct sk_buff *sending;
	u64 started_ns, ends_ns;
	struct xarray users;
	/* Counters of the window. */
	u64 sent_packets, sent_bytes, busy_ns;
	u64 level_packets, level_bytes, level_since_ns, level_most;
	u64 packet_ns, byte_ns;
	struct count drops[REASONS];
	u64 levels_ns[BUCKETS];
};

/* One packet of a trace: 32 bytes, little-endian. */
struct traced {
	__le64 time_ns;
	__le32 sequence;
	__le16 flow, host, length, queue;
	u8 event, ecn, reason;
	u8 spare[9];
} __packed;
enum { ARRIVED, STARTED, DROPPED };

static struct link *links[MOST_LINKS];
static struct net_device *hosts[MOST_HOSTS];
static DEFINE_XARRAY(paths); /* by sender and receiver */
static u64 epoch_ns, begin_ns, end_ns = U64_MAX;
static u32 first_sequence[MOST_FLOWS];
static struct traced *trace;
static u32 trace_link, trace_size, trace_used;

/* The packet that is being passed to a qdisc, and the state of the queue before it. */
static struct {
	const struct sk_buff *skb; /* NULL if there is none */
	u64 level_packets;
	u32 overlimits;
} arriving;

static DEFINE_XARRAY(streams);
static DECLARE_WAIT_QUEUE_HEAD(draws_wait);

/* ---- Time, histograms -------------------------------------------------------------------------------------------- */

static void timer_setup_soft(struct hrtimer *timer, enum hrtimer_restart (*expired)(struct hrtimer *))
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	hrtimer_setup(timer, expired, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
#else
	hrtimer_init(timer, CLOCK_MONOTONIC, HRTIMER_MODE_ABS_SOFT);
	timer->function = expired;
#endif
}

static bool in_window(u64 now_ns)
{
	return now_ns >= begin_ns && now_ns < end_ns;
}

static u32 bucket(u64 value)
{
	u32 log2;

	if (value < EXACT_BUCKETS)
		return value;
	log2 = min_t(u32, ilog2(value), LARGEST_LOG2 - 1);
	value = min_t(u64, value, (1ull << LARGEST_LOG2) - 1);
	return EXACT_BUCKETS + (log2 - 7) * OCTAVE_BUCKETS + (value >> (log2 - 6)) - OCTAVE_BUCKETS;
}

static u64 lower_bound(u32 bucket)
{
	u32 above = bucket - EXACT_BUCKETS;

	if (bucket < EXACT_BUCKETS)
		return bucket;
	return (u64)(OCTAVE_BUCKETS + above % OCTAVE_BUCKETS) << (above / OCTAVE_BUCKETS + 1);
}

/* ---- Packets ----------------------------------------------------------------------------------------------------- */

static u32 host_of(__be32 address)
{
	return ntohl(address) - FIRST_ADDRESS;
}

/* TCP and UDP have their ports at the same offset. */
static u32 flow_of(const struct sk_buff *skb)
{
	const struct udphdr *udp = (const void *)(skb_network_header(skb) + ip_hdrlen(skb));

	return ntohs(udp->dest) - FIRST_PORT;
}

static u8 ecn_of(const struct sk_buff *skb)
{
	return ip_hdr(skb)->tos & INET_ECN_MASK;
}

static struct route *route_of(u32 sender, u32 receiver)
{
	return xa_load(&paths, sender * MOST_HOSTS + receiver);
}

/*
 * While a packet waits in a link, its mark holds when it came, in units of 64 ns, and its ECN bits then. No qdisc that
 * the plane offers reads the mark.
 */
static u32 arrival_mark(u64 now_ns, u8 ecn)
{
	return (u32)(now_ns >> 6) << 2 | ecn;
}

static u64 waited_ns(u64 now_ns, u32 mark)
{
	return (u64)(((u32)(now_ns >> 6) - (mark >> 2)) & 0x3fffffff) << 6;
}

static u32 sequence_of(const struct sk_buff *skb, u32 flow)
{
	const struct tcphdr *tcp = (const void *)(skb_network_header(skb) + ip_hdrlen(skb));

	if (ip_hdr(skb)->protocol != IPPROTO_TCP)
		return ntohs(ip_hdr(skb)->id);
	if (tcp->syn)
		first_sequence[flow] = ntohl(tcp->seq) + 1;
	return ntohl(tcp->seq) - first_sequence[flow];
}

static void trace_packet(struct link *link, struct sk_buff *skb, u8 event, u8 ecn, u64 now_ns, enum reason reason)
{
	u32 flow = flow_of(skb);
	struct traced *at;

	if (link->index != trace_link || trace_used == trace_size || flow >= MOST_FLOWS)
		return;
	at = &trace[trace_used++];
	at->time_ns = cpu_to_le64(now_ns - epoch_ns);
	at->sequence = cpu_to_le32(sequence_of(skb, flow));
	at->flow = cpu_to_le16(flow);
	at->host = cpu_to_le16(host_of(ip_hdr(skb)->saddr));
	at->length = cpu_to_le16(skb->len);
	at->queue = cpu_to_le16(link->level_packets);
	at->event = event;
	at->ecn = ecn;
	at->reason = reason;
}

/* ---- Lines ------------------------------------------------------------------------------------------------------- */

static void line_arm(struct line *line)
{
	struct sk_buff *first = skb_peek(&line->packets);

	if (first)
		hrtimer_start(&line->timer, ns_to_ktime(((struct on_line *)first->cb)->due_ns), HRTIMER_MODE_ABS_SOFT);
}

static enum hrtimer_restart line_expired(struct hrtimer *timer)
{
	struct line *line = container_of(timer, struct line, timer);
	u64 now_ns = ktime_get_ns();
	struct sk_buff *skb;

	while ((skb = skb_peek(&line->packets)) && ((struct on_line *)skb->cb)->due_ns <= now_ns) {
		__skb_unlink(skb, &line->packets);
		line->deliver(line, skb);
	}
	line_arm(line);
	return HRTIMER_NORESTART;
}

static void line_insert(struct line *line, struct sk_buff *skb, u64 due_ns)
{
	struct sk_buff *before;

	((struct on_line *)skb->cb)->due_ns = due_ns;
	skb_queue_reverse_walk(&line->packets, before)
		if (((struct on_line *)before->cb)->due_ns <= due_ns)
			break;
	__skb_queue_after(&line->packets, before, skb);
	if (skb_peek(&line->packets) == skb)
		line_arm(line);
}

static void line_enter(struct line *line, struct sk_buff *skb)
{
	line_insert(line, skb, ktime_get_ns() + line->delay_ns);
}

static void line_setup(struct line *line, u64 delay_ns, void (*deliver)(struct line *, struct sk_buff *))
{
	__skb_queue_head_init(&line->packets);
	timer_setup_soft(&line->timer, line_expired);
	line->delay_ns = delay_ns;
	line->deliver = deliver;
}

/*
 * A segment takes twice its payload of the receive buffer, so that the window is exactly half of tcp_rmem
 * (tcp_measure_rcv_mss takes the ratio from the segments that come).
 */
static void receive(struct net_device *dev, struct sk_buff *skb)
{
	if (skb->len > TCP_HEADERS + SMALL_BYTES)
		skb->truesize = 2 * (skb->len - TCP_HEADERS);
	skb->dev = dev;
	skb->pkt_type = PACKET_HOST;
	skb->ip_summed = CHECKSUM_UNNECESSARY;
	skb->mark = 0;
	skb_reset_mac_header(skb);
	dev_sw_netstats_rx_add(dev, skb->len);
	netif_receive_skb(skb);
}

/* ---- Links ------------------------------------------------------------------------------------------------------- */

static struct Qdisc *root_of(struct link *link)
{
	return rcu_dereference_bh(netdev_get_tx_queue(link->dev, 0)->qdisc);
}

/* Accounts for the time since the last event, during which `packets` and `bytes` waited. */
static void integrate(struct link *link, u64 now_ns, u64 packets, u64 bytes)
{
	u64 from_ns = max(link->level_since_ns, begin_ns), to_ns = min(now_ns, end_ns);

	if (to_ns > from_ns) {
		link->packet_ns += packets * (to_ns - from_ns);
		link->byte_ns += bytes * (to_ns - from_ns);
		link->levels_ns[bucket(packets)] += to_ns - from_ns;
		link->level_most = max(link->level_most, packets);
	}
	link->level_since_ns = now_ns;
}

static void read_level(struct link *link)
{
	struct Qdisc *root = root_of(link);

	link->level_packets = qdisc_qlen_sum(root);
	link->level_bytes = root->qstats.backlog;
}

static struct share *share_of(struct link *link, u32 host)
{
	struct share *user = xa_load(&link->users, host);

	if (!user) {
		user = kzalloc(sizeof(*user), GFP_ATOMIC);
		if (!user || xa_is_err(xa_store(&link->users, host, user, GFP_ATOMIC)))
			panic("fairlane: no memory for the users of %s", link->dev->name);
	}
	return user;
}

static bool is_any_of(const struct Qdisc *qdisc, const char *const *names)
{
	for (; *names; names++)
		if (strcmp(qdisc->ops->id, *names) == 0)
			return true;
	return false;
}

/* Largest number of packets of a qdisc that compares it before all else; SFB's is that of its own FIFO. */
static u64 limit_of(struct Qdisc *root)
{
	const struct Qdisc_class_ops *classes = root->ops->cl_ops;

	return strcmp(root->ops->id, "sfb") ? root->limit : classes->leaf(root, 1)->limit;
}

/*
 * The kernel does not say why a qdisc drops a packet. We infer the reason from the time and the packet:
 *  - A packet dropped later than at an arrival was dropped by the AQM, or by SFQ when it hashes flows again.
 *  - If the AQM acts at the dequeue, each packet dropped at an arrival was dropped because the queue was full.
 *  - pie, fq_pie, sfb and dualpi2 first look for room. red and choke look last, and count early drops as `overlimits`;
 *    only choke drops a waiting packet, which is a match.
 */
static enum reason reason_of(struct link *link, const struct sk_buff *skb)
{
	static const char *const room_first[] = { "pie", "fq_pie", "sfb", "dualpi2", NULL };
	static const char *const room_last[] = { "red", "choke", NULL };
	struct Qdisc *root = root_of(link);
	bool is_marked = ecn_of(skb) == INET_ECN_CE && (skb->mark & INET_ECN_MASK) != INET_ECN_CE;

	if (!arriving.skb)
		return strcmp(root->ops->id, "sfq") ? AQM : PUSHED_OUT;
	if (is_any_of(root, room_first))
		return arriving.level_packets >= limit_of(root) ? OVERLIMIT : AQM;
	if (is_any_of(root, room_last)) {
		bool matched = skb != arriving.skb || qdisc_qlen_sum(root) < arriving.level_packets;

		return matched || (root->qstats.overlimits != arriving.overlimits && !is_marked) ? AQM : OVERLIMIT;
	}
	return skb == arriving.skb ? OVERLIMIT : PUSHED_OUT;
}

static void count_drop(struct link *link, struct sk_buff *skb, enum reason reason, s64 sign)
{
	struct share *user = share_of(link, host_of(ip_hdr(skb)->saddr));

	user->dropped_packets += sign;
	user->dropped_bytes += sign * skb->len;
	link->drops[reason].packets += sign;
	link->drops[reason].bytes += sign * skb->len;
}

/* A packet that is freed while it waits was dropped by the qdisc. */
static void dropped(struct sk_buff *skb)
{
	struct link *link = *(struct link **)netdev_priv(skb->dev);
	enum reason reason = reason_of(link, skb);
	u64 now_ns = ktime_get_ns();

	if (in_window(now_ns))
		count_drop(link, skb, reason, 1);
	trace_packet(link, skb, DROPPED, skb->mark & INET_ECN_MASK, now_ns, reason);
}

/* sch_fq takes a packet from its owner when it comes, which looks like a drop until the packet is sent. */
static void not_dropped(struct link *link, struct sk_buff *skb, u64 arrived_ns)
{
	if (in_window(arrived_ns))
		count_drop(link, skb, OVERLIMIT, -1);
}

static void end_if_due(struct link *link);

static void link_enter(struct link *link, struct sk_buff *skb)
{
	struct share *user = share_of(link, host_of(ip_hdr(skb)->saddr));
	u64 now_ns = ktime_get_ns();

	end_if_due(link);
	/* The level may have fallen since the last event: a qdisc may drop all it has when it is asked for a packet. */
	read_level(link);
	integrate(link, now_ns, link->level_packets, link->level_bytes);
	if (in_window(now_ns)) {
		user->arrived_packets++;
		user->arrived_bytes += skb->len;
	}
	trace_packet(link, skb, ARRIVED, ecn_of(skb), now_ns, 0);
	skb->dev = link->dev;
	skb->mark = arrival_mark(now_ns, ecn_of(skb));
	skb->destructor = dropped;
	arriving.skb = skb;
	arriving.level_packets = link->level_packets;
	arriving.overlimits = root_of(link)->qstats.overlimits;
	dev_queue_xmit(skb);
	arriving.skb = NULL;
	read_level(link);
}

static u64 opportunity_ns(const struct opportunities *of, u64 number)
{
	u32 place;
	u64 round = div_u64_rem(number, of->count, &place);

	return (round * of->times_ms[of->count - 1] + of->times_ms[place]) * NSEC_PER_MSEC;
}

/* Number of opportunities until this time, which is included. */
static u64 opportunities_until(const struct opportunities *of, u64 time_ns)
{
	u32 low = 0, high = of->count;
	u64 within_ms, round = div64_u64_rem(div_u64(time_ns, NSEC_PER_MSEC), of->times_ms[high - 1], &within_ms);

	while (low < high) {
		u32 middle = low + (high - low) / 2;

		if (of->times_ms[middle] <= within_ms)
			low = middle + 1;
		else
			high = middle;
	}
	return round * of->count + low;
}

static u64 use_opportunities(struct opportunities *of, u32 bytes, u64 start_ns)
{
	if (start_ns > of->at_ns) {
		of->bytes_left = 0;
		of->next = max(of->next, opportunities_until(of, start_ns));
	}
	while (bytes > of->bytes_left) {
		bytes -= of->bytes_left;
		of->bytes_left = of->bytes;
		of->at_ns = opportunity_ns(of, of->next++);
	}
	of->bytes_left -= bytes;
	return of->at_ns;
}

/* End of a transmission. `left` is in bits times nanoseconds per second. */
static u64 transmit(struct link *link, u32 bytes, u64 start_ns)
{
	u64 left = bytes * 8ull * NSEC_PER_SEC + link->remainder;

	if (link->opportunities)
		return epoch_ns + use_opportunities(link->opportunities, bytes, start_ns - epoch_ns);
	for (; link->next_step < link->step_count; link->next_step++) {
		const struct rate_step *step = &link->steps[link->next_step];
		u64 at_ns = epoch_ns + step->at_ns;

		if (at_ns > start_ns) {
			if (div64_u64(left, link->bits_per_second) <= at_ns - start_ns)
				break;
			left -= link->bits_per_second * (at_ns - start_ns);
			start_ns = at_ns;
		}
		link->bits_per_second = step->bits_per_second;
	}
	return start_ns + div64_u64_rem(left, link->bits_per_second, &link->remainder);
}

static netdev_tx_t link_xmit(struct sk_buff *skb, struct net_device *dev)
{
	struct link *link = *(struct link **)netdev_priv(dev);
	u64 now_ns = ktime_get_ns(), waited = waited_ns(now_ns, skb->mark);
	/* Timers expire a few nanoseconds late, which must not add up. */
	u64 start_ns = now_ns <= link->ends_ns + SLACK_NS ? link->ends_ns : now_ns;

	if (!skb->destructor)
		not_dropped(link, skb, now_ns - waited);
	skb->destructor = NULL;
	integrate(link, now_ns, link->level_packets, link->level_bytes);
	read_level(link);
	link->ends_ns = transmit(link, skb->len, start_ns);
	if (in_window(now_ns)) {
		struct share *user = share_of(link, host_of(ip_hdr(skb)->saddr));

		user->sent_packets++;
		user->sent_bytes += skb->len;
		user->marked_packets += ecn_of(skb) == INET_ECN_CE && (skb->mark & INET_ECN_MASK) != INET_ECN_CE;
		user->delay_ns += waited;
		user->delay_most_ns = max(user->delay_most_ns, waited);
		user->delays[bucket(waited)]++;
		user->sending_ns += link->ends_ns - start_ns;
	}
	trace_packet(link, skb, STARTED, ecn_of(skb), now_ns, 0);
	link->sending = skb;
	link->started_ns = now_ns;
	netif_stop_queue(dev);
	hrtimer_start(&link->sent, ns_to_ktime(link->ends_ns), HRTIMER_MODE_ABS_SOFT);
	return NETDEV_TX_OK;
}

/* Asks the qdisc at once; netif_wake_queue would ask in a later softirq, after the arrivals of this moment. */
static void ask(struct link *link)
{
	struct Qdisc *qdisc = root_of(link);
	bool locked = !(qdisc->flags & TCQ_F_NOLOCK);

	netif_start_queue(link->dev);
	if (locked)
		spin_lock(qdisc_lock(qdisc));
	qdisc_run(qdisc);
	if (locked)
		spin_unlock(qdisc_lock(qdisc));
}

static void end_transmission(struct link *link, u64 now_ns)
{
	u64 from_ns = max(link->started_ns, begin_ns), to_ns = min(now_ns, end_ns);
	struct sk_buff *skb = link->sending;

	link->sending = NULL;
	if (to_ns > from_ns)
		link->busy_ns += to_ns - from_ns;
	if (in_window(now_ns)) {
		link->sent_packets++;
		link->sent_bytes += skb->len;
	}
	line_enter(&link->line, skb);
	ask(link);
}

/* At equal times, a transmission ends before a packet arrives, as in the simulator. */
static void end_if_due(struct link *link)
{
	u64 now_ns = ktime_get_ns();

	if (link->sending && link->ends_ns <= now_ns)
		end_transmission(link, now_ns);
}

static enum hrtimer_restart link_sent(struct hrtimer *timer)
{
	end_if_due(container_of(timer, struct link, sent));
	return HRTIMER_NORESTART;
}

static bool take_datagram(struct sk_buff *skb);

static void leave(struct link *link, struct sk_buff *skb)
{
	struct route *path = route_of(host_of(ip_hdr(skb)->saddr), host_of(ip_hdr(skb)->daddr));
	u32 hop;

	for (hop = 0; path->links[hop] != link; hop++)
		;
	if (hop + 1 < path->hops)
		link_enter(path->links[hop + 1], skb);
	else if (!take_datagram(skb))
		receive(path->receiver, skb);
}

static bool is_half_empty(const struct stream *stream)
{
	return stream->written - stream->read < stream->size / 2;
}

static const struct drawn *draw(struct stream *stream, u32 count)
{
	const struct drawn *drawn = &stream->drawn[stream->read & (stream->size - 1)];

	if (stream->written - stream->read < count)
		panic("fairlane: no random numbers");
	stream->read += count;
	if (is_half_empty(stream))
		wake_up(&draws_wait);
	return drawn;
}

static bool loses(struct loss *of, struct stream *stream)
{
	u64 lost_below;

	switch (of->model) {
	case RANDOM:
		return draw(stream, 1)->bits < of->below[0];
	case GILBERT_ELLIOTT:
		lost_below = of->below[2 + of->is_bad];
		of->is_bad ^= draw(stream, 1)->bits < of->below[of->is_bad];
		return draw(stream, 1)->bits < lost_below;
	case PERIODIC:
		of->count = (of->count + 1) % of->below[0];
		return of->count == 0;
	}
	return false;
}

static bool lasts(const struct span *span, u64 now_ns)
{
	return now_ns >= epoch_ns + span->from_ns && now_ns < epoch_ns + span->until_ns;
}

static void impair(struct impairment *of, struct sk_buff *skb)
{
	struct share *user = share_of(of->link, host_of(ip_hdr(skb)->saddr));
	u64 now_ns = ktime_get_ns(), due_ns = now_ns;
	struct loss *loss = of->losses;

	while (loss && !(lasts(&loss->span, now_ns) && loses(loss, of->stream)))
		loss = loss->next;
	if (loss) {
		if (in_window(now_ns)) {
			count_drop(of->link, skb, LOST, 1);
			user->lost_packets++;
			user->lost_bytes += skb->len;
		}
		trace_packet(of->link, skb, DROPPED, ecn_of(skb), now_ns, LOST);
		kfree_skb(skb);
		return;
	}
	if (lasts(&of->detoured, now_ns))
		due_ns += of->detour_ns;
	if (of->jitter) {
		if (lasts(&of->jittery, now_ns))
			due_ns += max_t(s64, 0, of->delay_ns + draw(of->stream, of->stream->of_jitter)->deviation_ns);
		else
			due_ns += of->delay_ns;
		if (of->jitter == IN_ORDER)
			of->last_ns = due_ns = max(due_ns, of->last_ns);
	}
	if (in_window(now_ns))
		user->held_ns += due_ns - now_ns;
	if (of->jitter || due_ns > now_ns)
		line_insert(&of->held, skb, due_ns);
	else
		leave(of->link, skb);
}

static void link_deliver(struct line *line, struct sk_buff *skb)
{
	struct link *link = container_of(line, struct link, line);

	if (link->impairment)
		impair(link->impairment, skb);
	else
		leave(link, skb);
}

static void held_deliver(struct line *line, struct sk_buff *skb)
{
	leave(container_of(line, struct impairment, held)->link, skb);
}

static const struct net_device_ops link_ops = { .ndo_start_xmit = link_xmit };

/* ---- Hosts ------------------------------------------------------------------------------------------------------- */

static void reverse_deliver(struct line *line, struct sk_buff *skb)
{
	receive(container_of(line, struct route, reverse)->sender, skb);
}

static netdev_tx_t host_xmit(struct sk_buff *skb, struct net_device *dev)
{
	u32 from = host_of(ip_hdr(skb)->saddr), to = host_of(ip_hdr(skb)->daddr);
	struct route *forward, *reverse;

	if (skb->protocol != htons(ETH_P_IP) || from >= MOST_HOSTS || to >= MOST_HOSTS)
		goto lost;
	skb_orphan(skb);
	skb_scrub_packet(skb, true);
	skb_clear_hash(skb);
	skb->priority = 0;
	forward = route_of(from, to);
	reverse = route_of(to, from);
	if (forward)
		link_enter(forward->links[0], skb);
	else if (reverse)
		line_enter(&reverse->reverse, skb);
	else
		goto lost;
	return NETDEV_TX_OK;
lost:
	kfree_skb(skb);
	return NETDEV_TX_OK;
}

static const struct net_device_ops host_ops = { .ndo_start_xmit = host_xmit };

static void setup_device(struct net_device *dev)
{
	dev->type = ARPHRD_NONE;
	dev->flags = IFF_NOARP | IFF_POINTOPOINT;
	dev->mtu = MTU_BYTES;
	dev->max_mtu = MTU_BYTES;
	dev->tx_queue_len = 1000;
	dev->features = dev->hw_features = NETIF_F_SG | NETIF_F_FRAGLIST | NETIF_F_HW_CSUM | NETIF_F_HIGHDMA;
	dev->pcpu_stat_type = NETDEV_PCPU_STAT_TSTATS;
}

static struct net_device *new_device(const char *name, const struct net_device_ops *ops, u32 private_bytes)
{
	struct net_device *dev = alloc_netdev(private_bytes, name, NET_NAME_USER, setup_device);

	if (!dev)
		return NULL;
	dev->netdev_ops = ops;
	dev_net_set(dev, current->nsproxy->net_ns);
	return dev;
}

/* ---- Datagrams --------------------------------------------------------------------------------------------------- */

/*
 * UDP that does not respond is made and counted here: no code of the kernel's UDP has a part in what a scenario asks,
 * and six system calls a packet would be most of its cost.
 */
#define BATCH 64

struct batch {
	u32 flow, count;
	u64 at_ns[BATCH];
};

struct datagrams {
	struct hrtimer timer;
	u32 flow, sender, receiver, bytes;
	u8 ecn;
	u16 id;
	struct batch batch;
	u32 used;
	/* Counters of the window. */
	u64 sent_packets, received_packets, received_bytes;
};

static DEFINE_XARRAY(all_datagrams); /* by flow */

static void send_datagram(struct datagrams *of)
{
	u32 headers = sizeof(struct iphdr) + sizeof(struct udphdr);
	struct sk_buff *skb = alloc_skb(of->bytes, GFP_ATOMIC);
	struct udphdr *udp;
	struct iphdr *ip;

	if (!skb)
		return;
	skb_reset_network_header(skb);
	ip = skb_put_zero(skb, headers);
	skb_put(skb, of->bytes - headers);
	ip->version = 4;
	ip->ihl = sizeof(*ip) / 4;
	ip->tos = of->ecn;
	ip->tot_len = htons(of->bytes);
	ip->id = htons(of->id++);
	ip->ttl = 64;
	ip->protocol = IPPROTO_UDP;
	ip->saddr = htonl(FIRST_ADDRESS + of->sender);
	ip->daddr = htonl(FIRST_ADDRESS + of->receiver);
	ip_send_check(ip);
	udp = (void *)(ip + 1);
	skb_set_transport_header(skb, sizeof(*ip));
	udp->source = udp->dest = htons(FIRST_PORT + of->flow);
	udp->len = htons(of->bytes - sizeof(*ip));
	skb->protocol = htons(ETH_P_IP);
	of->sent_packets += in_window(ktime_get_ns());
	link_enter(route_of(of->sender, of->receiver)->links[0], skb);
}

static enum hrtimer_restart datagram_due(struct hrtimer *timer)
{
	struct datagrams *of = container_of(timer, struct datagrams, timer);

	send_datagram(of);
	if (++of->used < of->batch.count)
		hrtimer_start(timer, ns_to_ktime(of->batch.at_ns[of->used]), HRTIMER_MODE_ABS_SOFT);
	return HRTIMER_NORESTART;
}

static int add_datagrams(u32 flow, u32 sender, u32 receiver, u32 bytes, u8 ecn)
{
	struct datagrams *of;

	if (!route_of(sender, receiver) || bytes < 28 || bytes > MTU_BYTES)
		return -EINVAL;
	of = kzalloc(sizeof(*of), GFP_KERNEL);
	if (!of)
		return -ENOMEM;
	timer_setup_soft(&of->timer, datagram_due);
	of->flow = flow;
	of->sender = sender;
	of->receiver = receiver;
	of->bytes = bytes;
	of->ecn = ecn;
	return xa_err(xa_store(&all_datagrams, flow, of, GFP_KERNEL));
}

static bool take_datagram(struct sk_buff *skb)
{
	struct datagrams *of;

	if (ip_hdr(skb)->protocol != IPPROTO_UDP || !(of = xa_load(&all_datagrams, flow_of(skb))))
		return false;
	if (in_window(ktime_get_ns())) {
		of->received_packets++;
		of->received_bytes += skb->len - sizeof(struct iphdr) - sizeof(struct udphdr);
	}
	kfree_skb(skb);
	return true;
}

static ssize_t take_batch(struct file *file, const char __user *from, size_t length, loff_t *offset)
{
	struct batch batch;
	struct datagrams *of;

	if (length != sizeof(batch) || copy_from_user(&batch, from, length))
		return -EINVAL;
	of = xa_load(&all_datagrams, batch.flow);
	if (!of || !batch.count || batch.count > BATCH)
		return -EINVAL;
	local_bh_disable();
	of->batch = batch;
	of->used = 0;
	hrtimer_start(&of->timer, ns_to_ktime(batch.at_ns[0]), HRTIMER_MODE_ABS_SOFT);
	local_bh_enable();
	return length;
}

static int show_datagrams(struct seq_file *seq, void *unused)
{
	struct datagrams *of;
	unsigned long flow;

	xa_for_each(&all_datagrams, flow, of)
		seq_printf(seq, "\"sent_packets\":%llu,\"received_packets\":%llu,\"received_bytes\":%llu\n",
			   of->sent_packets, of->received_packets, of->received_bytes);
	return 0;
}

static int open_datagrams(struct inode *inode, struct file *file)
{
	return single_open(file, show_datagrams, NULL);
}

static const struct proc_ops datagrams_file = {
	.proc_open = open_datagrams,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = take_batch,
};

/* ---- Random numbers ---------------------------------------------------------------------------------------------- */

struct draws {
	u32 stream, count;
	struct drawn drawn[];
};

/* Returns -EAGAIN if there is no room for all numbers. */
static ssize_t take_draws(struct file *file, const char __user *from, size_t length, loff_t *offset)
{
	struct draws head;
	struct stream *stream;
	u32 at, before_end;

	if (length < sizeof(head) || copy_from_user(&head, from, sizeof(head)))
		return -EINVAL;
	stream = xa_load(&streams, head.stream);
	if (!stream || head.count > stream->size || length != struct_size(&head, drawn, head.count))
		return -EINVAL;
	if (stream->size - (stream->written - stream->read) < head.count)
		return -EAGAIN;
	at = stream->written & (stream->size - 1);
	before_end = min(head.count, stream->size - at);
	from += sizeof(head);
	if (copy_from_user(&stream->drawn[at], from, before_end * sizeof(*stream->drawn)) ||
	    copy_from_user(stream->drawn, from + before_end * sizeof(*stream->drawn),
			   (head.count - before_end) * sizeof(*stream->drawn)))
		return -EFAULT;
	stream->written += head.count;
	return length;
}

static __poll_t poll_draws(struct file *file, struct poll_table_struct *table)
{
	struct stream *stream;
	unsigned long index;

	poll_wait(file, &draws_wait, table);
	xa_for_each(&streams, index, stream)
		if (is_half_empty(stream))
			return EPOLLOUT;
	return 0;
}

static const struct proc_ops draws_file = { .proc_write = take_draws, .proc_poll = poll_draws };

static int add_stream(u32 index, u32 size, u32 of_jitter)
{
	struct stream *stream;

	if (xa_load(&streams, index) || size < 1 || size > 1 << 20)
		return -EINVAL;
	size = roundup_pow_of_two(size);
	stream = kvzalloc(struct_size(stream, drawn, size), GFP_KERNEL);
	if (!stream)
		return -ENOMEM;
	stream->size = size;
	stream->of_jitter = of_jitter;
	return xa_err(xa_store(&streams, index, stream, GFP_KERNEL));
}

/* ---- Receivers --------------------------------------------------------------------------------------------------- */

static int discard(read_descriptor_t *descriptor, struct sk_buff *skb, unsigned int offset, size_t bytes)
{
	return bytes;
}

static void drain(struct sock *sk)
{
	read_descriptor_t descriptor = { .count = 1 };

	tcp_read_sock(sk, &descriptor, discard);
}

/*
 * An application that reads at once, without the system calls: they would be most of the cost of a packet.
 * `fd` is a connection of the calling process.
 */
static int add_sink(int fd)
{
	struct socket *sock;
	int error;

	sock = sockfd_lookup(fd, &error);
	if (!sock)
		return error;
	lock_sock(sock->sk);
	sock->sk->sk_data_ready = drain;
	drain(sock->sk);
	release_sock(sock->sk);
	sockfd_put(sock);
	return 0;
}

/* ---- Senders ----------------------------------------------------------------------------------------------------- */

/* An application takes back data that TCP has not sent, like a sender of the simulator that stops. */
static int drop_unsent(int fd)
{
	struct socket *sock;
	struct sk_buff *skb;
	struct tcp_sock *tp;
	int error;

	sock = sockfd_lookup(fd, &error);
	if (!sock)
		return error;
	lock_sock(sock->sk);
	tp = tcp_sk(sock->sk);
	while ((skb = tcp_send_head(sock->sk)) != NULL) {
		tcp_unlink_write_queue(skb, sock->sk);
		tcp_wmem_free_skb(sock->sk, skb);
	}
	tp->write_seq = tp->snd_nxt;
	if (after(tp->pushed_seq, tp->write_seq))
		tp->pushed_seq = tp->write_seq;
	release_sock(sock->sk);
	sockfd_put(sock);
	return 0;
}

/* ---- Commands ---------------------------------------------------------------------------------------------------- */

static int add_link(u32 index, u64 bits_per_second, u64 delay_ns)
{
	struct link *link;
	char name[IFNAMSIZ];
	int error;

	if (index >= MOST_LINKS || links[index] || !bits_per_second)
		return -EINVAL;
	link = kvzalloc(sizeof(*link), GFP_KERNEL);
	if (!link)
		return -ENOMEM;
	snprintf(name, sizeof(name), "l%u", index);
	link->dev = new_device(name, &link_ops, sizeof(struct link *));
	if (!link->dev)
		return -ENOMEM;
	*(struct link **)netdev_priv(link->dev) = link;
	link->index = index;
	link->bits_per_second = bits_per_second;
	xa_init(&link->users);
	line_setup(&link->line, delay_ns, link_deliver);
	timer_setup_soft(&link->sent, link_sent);
	error = register_netdev(link->dev);
	if (!error)
		links[index] = link;
	return error;
}

static int add_step(u32 index, u64 at_ns, u64 bits_per_second)
{
	struct link *link = index < MOST_LINKS ? links[index] : NULL;
	struct rate_step *steps;

	if (!link || !bits_per_second)
		return -EINVAL;
	steps = krealloc_array(link->steps, link->step_count + 1, sizeof(*steps), GFP_KERNEL);
	if (!steps)
		return -ENOMEM;
	link->steps = steps;
	steps[link->step_count++] = (struct rate_step){ at_ns, bits_per_second };
	return 0;
}

/* Gaps between opportunities in ms, such as `3` or `1*20`. A link takes several commands. */
static int add_opportunities(u32 index, u32 bytes, char *gaps)
{
	struct link *link = index < MOST_LINKS ? links[index] : NULL;
	struct opportunities *of;
	char *word;

	if (!link || !bytes)
		return -EINVAL;
	if (!link->opportunities)
		link->opportunities = kzalloc(sizeof(*of), GFP_KERNEL);
	of = link->opportunities;
	if (!of)
		return -ENOMEM;
	of->bytes = bytes;
	while ((word = strsep(&gaps, " ")) != NULL) {
		u32 gap, count = 1;

		if (sscanf(word, "%u*%u", &gap, &count) < 1)
			return -EINVAL;
		if (of->room - of->count < count) {
			u32 room = max(2 * of->room, of->count + count), *times = kvmalloc_array(room, sizeof(*times), GFP_KERNEL);

			if (!times)
				return -ENOMEM;
			if (of->count)
				memcpy(times, of->times_ms, of->count * sizeof(*times));
			kvfree(of->times_ms);
			of->times_ms = times;
			of->room = room;
		}
		for (; count; count--, of->count++)
			of->times_ms[of->count] = (of->count ? of->times_ms[of->count - 1] : 0) + gap;
	}
	return 0;
}

static int add_impairment(const char *words)
{
	struct impairment *of = kzalloc(sizeof(*of), GFP_KERNEL);
	u32 index, stream;

	if (!of)
		return -ENOMEM;
	if (sscanf(words, "%u %u %u %llu %llu %llu %llu %llu %llu", &index, &stream, &of->jitter, &of->delay_ns,
		   &of->detour_ns, &of->detoured.from_ns, &of->detoured.until_ns, &of->jittery.from_ns,
		   &of->jittery.until_ns) != 9 ||
	    index >= MOST_LINKS || !links[index])
		return -EINVAL;
	of->stream = xa_load(&streams, stream);
	if (!of->stream)
		return -EINVAL;
	of->link = links[index];
	line_setup(&of->held, 0, held_deliver);
	links[index]->impairment = of;
	return 0;
}

static int add_loss(const char *words)
{
	struct loss *of = kzalloc(sizeof(*of), GFP_KERNEL), **last;
	u32 index;

	if (!of)
		return -ENOMEM;
	if (sscanf(words, "%u %u %llu %llu %llu %llu %llu %llu", &index, &of->model, &of->below[0], &of->below[1],
		   &of->below[2], &of->below[3], &of->span.from_ns, &of->span.until_ns) != 8 ||
	    index >= MOST_LINKS || !links[index] || !links[index]->impairment || of->model > PERIODIC ||
	    (of->model == PERIODIC && !of->below[0]))
		return -EINVAL;
	for (last = &links[index]->impairment->losses; *last; last = &(*last)->next)
		;
	*last = of;
	return 0;
}

static int add_host(u32 index, bool tso)
{
	struct net_device *dev;
	int error;

	if (index >= MOST_HOSTS || hosts[index])
		return -EINVAL;
	dev = new_device("h", &host_ops, 0);
	if (!dev)
		return -ENOMEM;
	dev->priv_flags |= IFF_NO_QUEUE;
	if (!tso) /* TCP builds large segments for every device, unless the device takes one at a time. */
		netif_set_tso_max_segs(dev, 1);
	error = register_netdev(dev);
	if (!error)
		hosts[index] = dev;
	return error;
}

static int add_path(u32 sender, u32 receiver, u64 reverse_delay_ns, char *rest)
{
	struct route *path;
	char *word;
	u32 index;

	if (sender >= MOST_HOSTS || receiver >= MOST_HOSTS || !hosts[sender] || !hosts[receiver])
		return -EINVAL;
	path = kzalloc(sizeof(*path), GFP_KERNEL);
	if (!path)
		return -ENOMEM;
	path->sender = hosts[sender];
	path->receiver = hosts[receiver];
	line_setup(&path->reverse, reverse_delay_ns, reverse_deliver);
	while ((word = strsep(&rest, " ")) != NULL) {
		if (!*word)
			continue;
		if (path->hops == MOST_HOPS || kstrtou32(word, 10, &index) || index >= MOST_LINKS || !links[index])
			return -EINVAL;
		path->links[path->hops++] = links[index];
	}
	if (!path->hops)
		return -EINVAL;
	return xa_err(xa_store(&paths, sender * MOST_HOSTS + receiver, path, GFP_KERNEL));
}

static int start_trace(u32 link, u32 size)
{
	trace = kvcalloc(size, sizeof(*trace), GFP_KERNEL);
	if (!trace)
		return -ENOMEM;
	trace_link = link;
	trace_size = size;
	return 0;
}

static int command(char *line)
{
	u64 a, b, c, d, e;
	int used = 0;

	if (sscanf(line, "link %llu %llu %llu", &a, &b, &c) == 3)
		return add_link(a, b, c);
	if (sscanf(line, "rate %llu %llu %llu", &a, &b, &c) == 3)
		return add_step(a, b, c);
	if (sscanf(line, "opportunities %llu %llu %n", &a, &b, &used) == 2 && used)
		return add_opportunities(a, b, line + used);
	if (sscanf(line, "stream %llu %llu %llu", &a, &b, &c) == 3)
		return add_stream(a, b, c);
	if (sscanf(line, "impair %n", &used) == 0 && used)
		return add_impairment(line + used);
	if (sscanf(line, "lose %n", &used) == 0 && used)
		return add_loss(line + used);
	if (sscanf(line, "host %llu %llu", &a, &b) == 2)
		return add_host(a, b);
	if (sscanf(line, "path %llu %llu %llu %n", &a, &b, &c, &used) == 3 && used)
		return add_path(a, b, c, line + used);
	if (sscanf(line, "datagrams %llu %llu %llu %llu %llu", &a, &b, &c, &d, &e) == 5)
		return add_datagrams(a, b, c, d, e);
	if (sscanf(line, "sink %llu", &a) == 1)
		return add_sink(a);
	if (sscanf(line, "unsent %llu", &a) == 1)
		return drop_unsent(a);
	if (sscanf(line, "trace %llu %llu", &a, &b) == 2)
		return start_trace(a, b);
	if (sscanf(line, "window %llu %llu %llu", &a, &b, &c) == 3) {
		epoch_ns = a;
		begin_ns = a + b;
		end_ns = a + c;
		return 0;
	}
	return -EINVAL;
}

static ssize_t take_command(struct file *file, const char __user *from, size_t length, loff_t *offset)
{
	char line[512];
	int error;

	if (length >= sizeof(line))
		return -E2BIG;
	if (copy_from_user(line, from, length))
		return -EFAULT;
	line[length] = 0;
	error = command(strim(line));
	return error ?: length;
}

/* ---- Results ----------------------------------------------------------------------------------------------------- */

#define FIELD(seq, of, name) seq_printf(seq, ",\"" #name "\":%llu", (of)->name)

static void show_user(struct seq_file *seq, unsigned long host, const struct share *user)
{
	const char *comma = "";
	u32 index;

	seq_printf(seq, "{\"host\":%lu", host);
	FIELD(seq, user, arrived_packets);
	FIELD(seq, user, arrived_bytes);
	FIELD(seq, user, sent_packets);
	FIELD(seq, user, sent_bytes);
	FIELD(seq, user, dropped_packets);
	FIELD(seq, user, dropped_bytes);
	FIELD(seq, user, marked_packets);
	FIELD(seq, user, lost_packets);
	FIELD(seq, user, lost_bytes);
	FIELD(seq, user, delay_ns);
	FIELD(seq, user, delay_most_ns);
	FIELD(seq, user, sending_ns);
	FIELD(seq, user, held_ns);
	seq_puts(seq, ",\"delay_histogram\":[");
	for (index = 0; index < BUCKETS; index++) {
		if (!user->delays[index])
			continue;
		seq_printf(seq, "%s[%llu,%u]", comma, lower_bound(index), user->delays[index]);
		comma = ",";
	}
	seq_puts(seq, "]}");
}

static void show_link(struct seq_file *seq, struct link *link)
{
	const char *comma = "";
	struct share *user;
	unsigned long host;
	u32 index;

	local_bh_disable();
	integrate(link, ktime_get_ns(), link->level_packets, link->level_bytes);
	local_bh_enable();
	seq_printf(seq, "{\"name\":\"%s\"", link->dev->name);
	FIELD(seq, link, sent_packets);
	FIELD(seq, link, sent_bytes);
	FIELD(seq, link, busy_ns);
	seq_printf(seq, ",\"queue_packet_ns\":%llu", link->packet_ns);
	seq_printf(seq, ",\"queue_byte_ns\":%llu", link->byte_ns);
	seq_printf(seq, ",\"queue_most_packets\":%llu", link->level_most);
	seq_puts(seq, ",\"drops\":[");
	for (index = 0; index < REASONS; index++)
		seq_printf(seq, "%s[%llu,%llu]", index ? "," : "", link->drops[index].packets, link->drops[index].bytes);
	seq_puts(seq, "],\"queue_histogram\":[");
	for (index = 0; index < BUCKETS; index++) {
		if (!link->levels_ns[index])
			continue;
		seq_printf(seq, "%s[%llu,%llu]", comma, lower_bound(index), link->levels_ns[index]);
		comma = ",";
	}
	seq_puts(seq, "],\"users\":[");
	comma = "";
	xa_for_each(&link->users, host, user) {
		seq_puts(seq, comma);
		show_user(seq, host, user);
		comma = ",\n  ";
	}
	seq_puts(seq, "]}");
}

static int show_links(struct seq_file *seq, void *unused)
{
	const char *comma = "";
	u32 index;

	seq_puts(seq, "[");
	for (index = 0; index < MOST_LINKS; index++) {
		if (!links[index])
			continue;
		seq_puts(seq, comma);
		show_link(seq, links[index]);
		comma = ",\n ";
	}
	seq_puts(seq, "]");
	return 0;
}

static int open_links(struct inode *inode, struct file *file)
{
	return single_open(file, show_links, NULL);
}

static ssize_t read_trace(struct file *file, char __user *to, size_t length, loff_t *offset)
{
	return simple_read_from_buffer(to, length, offset, trace, trace_used * sizeof(*trace));
}

static const struct proc_ops links_file = {
	.proc_open = open_links,
	.proc_read = seq_read,
	.proc_lseek = seq_lseek,
	.proc_release = single_release,
	.proc_write = take_command,
};
static const struct proc_ops trace_file = { .proc_read = read_trace };

static int __init fairlane_init(void)
{
	BUILD_BUG_ON(IS_ENABLED(CONFIG_SMP));
	BUILD_BUG_ON(sizeof(struct traced) != 32);
	if (!proc_create("fairlane", 0600, NULL, &links_file) || !proc_create("fairlane_trace", 0400, NULL, &trace_file) ||
	    !proc_create("fairlane_datagrams", 0600, NULL, &datagrams_file) ||
	    !proc_create("fairlane_draws", 0600, NULL, &draws_file))
		return -ENOMEM;
	return 0;
}
device_initcall(fairlane_init);

/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* The few fields of kernel structures that are used; the loader finds their offsets. */
#ifndef FAIRLANE_KERNEL_H
#define FAIRLANE_KERNEL_H

#include <linux/types.h>

struct qdisc_skb_head {
	__u32 qlen;
} __attribute__((preserve_access_index));

struct gnet_stats_queue {
	__u32 backlog;
	__u32 drops;
} __attribute__((preserve_access_index));

struct ns_common {
	__u32 inum;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;

struct net_device;

struct netdev_queue {
	struct net_device *dev;
	struct Qdisc *qdisc;
} __attribute__((preserve_access_index));

struct Qdisc {
	__u32 flags;
	__u32 parent;
	struct netdev_queue *dev_queue;
	struct qdisc_skb_head q;
	struct gnet_stats_queue qstats;
} __attribute__((preserve_access_index));

struct net_device {
	__u32 ifindex;
	possible_net_t nd_net;
	struct Qdisc *qdisc;
	struct netdev_queue *_tx;
	__u32 real_num_tx_queues;
} __attribute__((preserve_access_index));

/* Private to the queue discipline, in skb->cb. The tc programs see `data` as the five words of __sk_buff.cb. */
struct qdisc_skb_cb {
	__u32 pkt_len;
	__u8 data[20];
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
	__u8 encapsulation : 1;
	__u16 inner_transport_header;
	__u16 transport_header;
	__u16 protocol;
	__u32 end;
	__u32 len, data_len;
	__u32 mark;
	__s32 skb_iif;
	char cb[48];
	unsigned char *head, *data;
} __attribute__((preserve_access_index));

struct skb_shared_info {
	__u32 gso_type;
} __attribute__((preserve_access_index));

#endif

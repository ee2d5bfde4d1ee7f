// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/*
 * Passes frames from an interface to the forwarder's AF_XDP socket, with the arrival time in front of the frame.
 *
 * Drops and counts the frames that the forwarder would reject: frames that are too long and, on veth, frames whose
 * checksum was left to a network card. At XDP such a frame looks like any other, and so does a frame whose outer VLAN
 * tag was left to a card. Only the sk_buff from which veth makes the frame shows the difference.
 */
#include "node.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* Longest frame, tags included. */
const volatile __u32 longest_frame = 1600;

struct {
	__uint(type, BPF_MAP_TYPE_XSKMAP);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} sockets SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct redirect_stats);
} refused SEC(".maps");

/* The few fields of kernel structures that are used; the loader finds their offsets. */
struct sk_buff {
	__u8 ip_summed : 2;
	__be16 vlan_proto;
	__u16 vlan_tci;
} __attribute__((preserve_access_index));

/* drivers/net/veth.c since Linux 6.3; the program receives its first member. */
struct veth_xdp_buff {
	struct sk_buff *skb;
} __attribute__((preserve_access_index));

extern void *bpf_cast_to_kern_ctx(void *context) __ksym;
extern void *bpf_rdonly_cast(const void *object, __u32 type) __ksym;

/* linux/skbuff.h */
#define CHECKSUM_PARTIAL 3

#define ADDRESS_BYTES 12

struct vlan_tag {
	__be16 ethertype;
	__be16 tci;
};

static __always_inline struct redirect_stats *stats_here(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&refused, &zero);
}

/* Redirects the frame to the socket. If that is impossible, drops it. */
static __always_inline int redirect(struct xdp_md *context)
{
	__u64 *at;

	if (context->data_end - context->data > longest_frame) {
		struct redirect_stats *stats = stats_here();

		if (stats)
			stats->oversized++;
		return XDP_DROP;
	}
	/* If the driver has no room in front of frames, the forwarder takes the time when it reads the frame. */
	if (!bpf_xdp_adjust_meta(context, -(int)sizeof(*at))) {
		at = (void *)(long)context->data_meta;
		if ((void *)(at + 1) <= (void *)(long)context->data)
			*at = bpf_ktime_get_ns();
	}
	return bpf_redirect_map(&sockets, context->rx_queue_index, XDP_DROP);
}

/* Inserts a tag behind the addresses. */
static __always_inline int put_tag(struct xdp_md *context, struct vlan_tag tag)
{
	__u8 addresses[ADDRESS_BYTES], *data = (void *)(long)context->data;

	if (data + ADDRESS_BYTES > (__u8 *)(long)context->data_end)
		return -1;
	__builtin_memcpy(addresses, data, ADDRESS_BYTES);
	if (bpf_xdp_adjust_head(context, -(int)sizeof(tag)))
		return -1;
	data = (void *)(long)context->data;
	if (data + ADDRESS_BYTES + sizeof(tag) > (__u8 *)(long)context->data_end)
		return -1;
	__builtin_memcpy(data, addresses, ADDRESS_BYTES);
	__builtin_memcpy(data + ADDRESS_BYTES, &tag, sizeof(tag));
	return 0;
}

/* The sk_buff that veth made the frame from; null if there is none. */
static __always_inline const struct sk_buff *skb_of(struct xdp_md *context)
{
	void *buffer = bpf_cast_to_kern_ctx(context);
	void *skb = 0;

	/* The structure may belong to a module, which bpf_rdonly_cast does not know. */
	if (bpf_probe_read_kernel(&skb, sizeof(skb), buffer + bpf_core_field_offset(struct veth_xdp_buff, skb)))
		return 0;
	return skb ? bpf_rdonly_cast(skb, bpf_core_type_id_kernel(struct sk_buff)) : 0;
}

SEC("xdp")
int fairlane_redirect(struct xdp_md *context)
{
	return redirect(context);
}

SEC("xdp")
int fairlane_redirect_veth(struct xdp_md *context)
{
	const struct sk_buff *skb = skb_of(context);

	if (skb) {
		struct vlan_tag tag = { .ethertype = skb->vlan_proto, .tci = __builtin_bswap16(skb->vlan_tci) };

		/* Same order as in the forwarder: a frame is counted for the first fault found. */
		if (context->data_end - context->data <= longest_frame &&
		    BPF_CORE_READ_BITFIELD(skb, ip_summed) == CHECKSUM_PARTIAL) {
			struct redirect_stats *stats = stats_here();

			if (stats)
				stats->without_checksum++;
			return XDP_DROP;
		}
		if (tag.ethertype && put_tag(context, tag))
			return XDP_DROP;
	}
	return redirect(context);
}

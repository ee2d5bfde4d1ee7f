/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/* Sizes on the wire of packets that the kernel segments later or has merged on reception (GSO, GRO). */
#ifndef FAIRLANE_WIRE_H
#define FAIRLANE_WIRE_H

#include "kernel.h"
#include "maps.h"
#include <bpf/bpf_core_read.h>

extern void *bpf_cast_to_kern_ctx(void *ctx) __ksym;

/* linux/skbuff.h */
#define GSO_TCP (1U << 0 | 1U << 4)
#define GSO_UDP (1U << 17)
#define UNKNOWN_HEADER 0xffff

#define UDP_BYTES 8
/* Offset of the length in a TCP header, in the upper four bits. */
#define TCP_LENGTH_AT 12

/*
 * Number of segments of an aggregated packet (upper 32 bits), and bytes of the headers that each segment has, from the
 * Ethernet header on (lower 32 bits). Computed as in qdisc_pkt_len_init of net/core/dev.c.
 */
__noinline __u64 aggregated(struct __sk_buff *skb)
{
	struct sk_buff *kernel_skb = bpf_cast_to_kern_ctx(skb);
	__u32 packets = skb->gso_segs, size = skb->gso_size, bytes = skb->len, type = 0;
	unsigned char *head = kernel_skb->head;
	struct skb_shared_info *info = (void *)(head + kernel_skb->end);
	__u64 header = kernel_skb->transport_header;
	__u8 length;

	if (BPF_CORE_READ_BITFIELD(kernel_skb, encapsulation))
		header = kernel_skb->inner_transport_header;
	if (header == UNKNOWN_HEADER || bpf_core_read(&type, sizeof(type), &info->gso_type))
		return (__u64)packets << 32;
	header -= kernel_skb->data - head;
	if (type & GSO_TCP && !bpf_skb_load_bytes(skb, header + TCP_LENGTH_AT, &length, 1))
		header += length >> 4 << 2;
	else if (type & GSO_UDP)
		header += UDP_BYTES;
	if (header >= bytes)
		return (__u64)packets << 32;
	/* The segments of a guest's packet are not counted yet. */
	if (!packets && size)
		packets = (bytes - (__u32)header + size - 1) / size;
	return (__u64)packets << 32 | header;
}

/* Number of segments of a departing packet: its length on the wire is already known. */
static __always_inline __u32 packets_of(struct __sk_buff *skb)
{
	__u32 packets = skb->wire_len == skb->len ? 1 : aggregated(skb) >> 32;

	return packets ? packets : 1;
}

#endif

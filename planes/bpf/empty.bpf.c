// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/* Programs that do nothing: benchmarks subtract their time, which leaves the cost of a program itself. */
#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/pkt_cls.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

SEC("tc")
int fairlane_empty(struct __sk_buff *skb)
{
	return TC_ACT_UNSPEC;
}

SEC("xdp")
int fairlane_empty_xdp(struct xdp_md *context)
{
	return XDP_PASS;
}

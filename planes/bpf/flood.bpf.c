// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0
/* Sends every frame to an interface: a source of frames for benchmarks, run by BPF_PROG_TEST_RUN. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

char LICENSE[] SEC("license") = "Dual MIT/GPL";

const volatile __u32 to_interface = 0;

SEC("xdp")
int fairlane_flood(struct xdp_md *context)
{
	return bpf_redirect(to_interface, 0);
}

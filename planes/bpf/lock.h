/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * A lock of one word that nobody waits for. That of the kernel (bpf_spin_lock) is two calls which switch interrupts off
 * and on, and costs more than what it guards here.
 *
 * A packet that finds a record locked works on a copy of it, and leaves what it adds in fields of the record that are
 * changed by atomic additions only, `late`. The next packet that takes the lock adds them. So each count is exact, a
 * record has one writer at a time, and a processor that is taken from a virtual machine while it has the lock stops
 * nobody.
 *
 * Worst case: the copy is made while the holder writes, and has one word of before and one of after. The label or the
 * decision of that packet is wrong, no state is.
 *
 * Why interrupts can stay on: whoever holds it runs with bottom halves off (tc, BPF_PROG_TEST_RUN), so that no other
 * packet comes in between on the same processor, and no interrupt takes it.
 *
 * The word is 1, or since when packets have found the record locked, in units of 2^20 ns. The tool writes records with
 * the word at zero. A word that is older than a second was written by somebody else, or its holder stands still so
 * long: the lock is taken over.
 */
#ifndef FAIRLANE_LOCK_H
#define FAIRLANE_LOCK_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

/* About a second, in units of 2^20 ns. */
#define LOCK_LASTS 1024

#define LOCKED 1

/* Another packet has the lock: whether it has had it for too long. */
static __noinline int take_over(__u32 *lock, __u32 there, __u64 now_ns)
{
	__u32 now = (__u32)(now_ns >> 20) | 2;

	if (there == LOCKED)
		there = now;
	/* Clocks of processors differ a little, hence the sign. */
	if ((__s32)(now - there) > LOCK_LASTS)
		return 1;
	/* Unless it was given back meanwhile. */
	__sync_val_compare_and_swap(lock, LOCKED, there);
	return 0;
}

/* Whether the lock is ours from now on. Exchanges order what comes before and behind them on every processor. */
static __always_inline __u32 take_lock(__u32 *lock, __u64 now_ns)
{
	__u32 there = __sync_lock_test_and_set(lock, LOCKED), is_ours = !there;

	if (there)
		is_ours = take_over(lock, there, now_ns);
	asm volatile("" ::: "memory");
	return is_ours;
}

static __always_inline void give_lock(__u32 *lock)
{
	asm volatile("" ::: "memory");
	__sync_lock_test_and_set(lock, 0);
}

/* Takes what was left in a field of `late`; mostly there is nothing. */
static __always_inline __u64 take_late(__u64 *field)
{
	return *(volatile __u64 *)field ? __sync_lock_test_and_set(field, 0) : 0;
}

#endif

/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * A lock of one word. That of the kernel (bpf_spin_lock) is two calls which switch interrupts off and on, and costs more
 * than what it guards here.
 *
 * Why interrupts can stay on: whoever holds it runs with bottom halves off (tc, BPF_PROG_TEST_RUN), so that no other
 * packet comes in between on the same processor, and no interrupt takes it.
 *
 * Who waits too long goes on without it: a word that was overwritten, or a processor that was taken from a virtual
 * machine, costs the count of a packet, not a processor. The tool writes records with the word at zero; one that it writes
 * while it is held lets two in once.
 */
#ifndef FAIRLANE_LOCK_H
#define FAIRLANE_LOCK_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

/* Looks at a lock: some tenths of a millisecond. What it guards takes tens of nanoseconds. */
#define MOST_LOOKS (1U << 14)

static long look_at_lock(__u32 index, __u32 **lock)
{
	return !*(volatile __u32 *)*lock && !__sync_lock_test_and_set(*lock, 1);
}

static __noinline int wait_for(__u32 *lock)
{
	if (lock)
		bpf_loop(MOST_LOOKS, look_at_lock, &lock, 0);
	return 0;
}

/* Exchanges order what comes before and behind them on every processor. */
static __always_inline void take_lock(__u32 *lock)
{
	if (__sync_lock_test_and_set(lock, 1))
		wait_for(lock);
	asm volatile("" ::: "memory");
}

static __always_inline void give_lock(__u32 *lock)
{
	asm volatile("" ::: "memory");
	__sync_lock_test_and_set(lock, 0);
}

#endif

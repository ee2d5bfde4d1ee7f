/* SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0 */
/*
 * A one-word lock that nobody waits for. The kernel's lock (bpf_spin_lock) takes two calls that disable and enable
 * interrupts, and costs more than the work that it would guard here.
 *
 * A packet that finds a record locked works on a copy, and adds its amounts to fields of the record that only atomic
 * additions change, `late`. The next packet that takes the lock adds them to the record. So all counts are exact, a
 * record has one writer at a time, and a virtual CPU that is descheduled while it holds the lock blocks nobody.
 *
 * Worst case: the copy is made while the holder writes, and mixes old and new words. The label or the decision of that
 * packet is then wrong, but no state is.
 *
 * Interrupts can stay on: the holder runs with bottom halves disabled (tc, BPF_PROG_TEST_RUN), so no other packet
 * interrupts it on the same processor, and no interrupt handler takes the lock.
 *
 * While locked, the word is 1, or the time since which packets have found the record locked, in units of 2^20 ns. The
 * tool writes records with the word at zero. If the word is older than a second, another program wrote it or the holder
 * has been stopped that long: the lock is taken over.
 */
#ifndef FAIRLANE_LOCK_H
#define FAIRLANE_LOCK_H

#include <linux/types.h>
#include <bpf/bpf_helpers.h>

/* About a second, in units of 2^20 ns. */
#define LOCK_LASTS 1024

#define LOCKED 1

/* Called when another packet has the lock. Returns true if it has had it for too long. */
static __noinline int take_over(__u32 *lock, __u32 there, __u64 now_ns)
{
	__u32 now = (__u32)(now_ns >> 20) | 2;

	if (there == LOCKED)
		there = now;
	/* Clocks of processors differ slightly, so the difference is signed. */
	if ((__s32)(now - there) > LOCK_LASTS)
		return 1;
	/* Fails if the lock was released meanwhile. */
	__sync_val_compare_and_swap(lock, LOCKED, there);
	return 0;
}

/*
 * Returns true if the caller now holds the lock. The exchange orders memory accesses before and after it on every
 * processor.
 */
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

/* Takes the amount in a field of `late`, which is mostly 0. */
static __always_inline __u64 take_late(__u64 *field)
{
	return *(volatile __u64 *)field ? __sync_lock_test_and_set(field, 0) : 0;
}

/* Counts packets in a field under the lock, or in its `late` field without the lock. */
static __always_inline void count(__u64 *field, __u64 *late, __u32 is_held, __u64 packets)
{
	if (is_held)
		*field += packets;
	else
		__sync_fetch_and_add(late, packets);
}

#endif

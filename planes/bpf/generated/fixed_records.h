/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Written by `make bpf-headers` from crates/node/src/records: do not edit. */
#ifndef FAIRLANE_FIXED_RECORDS_H
#define FAIRLANE_FIXED_RECORDS_H


/* Decay of one memory. */
struct fair_decay {
	__u64 step; /* log2(e) * tick / memory, Q56. */
	__u32 shift; /* log2 of the tick in ns. */
	__u32 reserved; /* Zero. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct fair_decay) == 16, "fair_decay");
_Static_assert(__builtin_offsetof(struct fair_decay, step) == 0, "fair_decay.step");
_Static_assert(__builtin_offsetof(struct fair_decay, shift) == 8, "fair_decay.shift");
_Static_assert(__builtin_offsetof(struct fair_decay, reserved) == 12, "fair_decay.reserved");

/* Meter of one user. */
struct fair_meter {
	__u64 sum; /* S in bytes, Q16. */
	__u64 last_tick; /* Time since the start of the measurement. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct fair_meter) == 16, "fair_meter");
_Static_assert(__builtin_offsetof(struct fair_meter, sum) == 0, "fair_meter.sum");
_Static_assert(__builtin_offsetof(struct fair_meter, last_tick) == 8, "fair_meter.last_tick");

/* Averager of one port. */
struct fair_averager {
	__u64 sum; /* S, biased activities, Q22. */
	__u64 count; /* N, Q28. */
	__u64 last_tick; /* Time since the start of the measurement. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct fair_averager) == 24, "fair_averager");
_Static_assert(__builtin_offsetof(struct fair_averager, sum) == 0, "fair_averager.sum");
_Static_assert(__builtin_offsetof(struct fair_averager, count) == 8, "fair_averager.count");
_Static_assert(__builtin_offsetof(struct fair_averager, last_tick) == 16, "fair_averager.last_tick");

/* Parameters of a CSFQ port. */
struct fair_csfq_params {
	struct fair_decay decay; /* Decay of K_alpha. */
	__s64 log2_tick; /* log2 of a tick divided by K_alpha, Q31. */
	__u64 window_ns; /* The window K_c. */
	__s64 log2_capacity; /* log2 of C divided by the reference rate of weight 1, Q31. */
	__s64 log2_full; /* log2 of a sum whose rate is C, Q31. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct fair_csfq_params) == 48, "fair_csfq_params");
_Static_assert(__builtin_offsetof(struct fair_csfq_params, decay) == 0, "fair_csfq_params.decay");
_Static_assert(__builtin_offsetof(struct fair_csfq_params, log2_tick) == 16, "fair_csfq_params.log2_tick");
_Static_assert(__builtin_offsetof(struct fair_csfq_params, window_ns) == 24, "fair_csfq_params.window_ns");
_Static_assert(__builtin_offsetof(struct fair_csfq_params, log2_capacity) == 32, "fair_csfq_params.log2_capacity");
_Static_assert(__builtin_offsetof(struct fair_csfq_params, log2_full) == 40, "fair_csfq_params.log2_full");

/* State of a CSFQ port: logarithms in Q31, FAIR_LOG2_OF_ZERO_Q31 if there is no rate. */
struct fair_csfq {
	__s64 log2_alpha; /* Fair rate. */
	__s64 largest_label; /* Largest label in the current uncongested window. */
	__u64 window_start_ns; /* Start of the window. */
	__u64 sums[2]; /* Sums that represent the rates A and F: rate * K_alpha in bytes, Q16. */
	__u64 pending[2]; /* Bytes of the current tick, Q16. */
	__u64 last_tick; /* Time since the start of the measurement. */
	__u32 is_congested; /* True if A exceeds C. */
	__u32 cuts_left; /* Number of times that the fair rate may still be reduced in the current window. */
} __attribute__((aligned(8)));
_Static_assert(sizeof(struct fair_csfq) == 72, "fair_csfq");
_Static_assert(__builtin_offsetof(struct fair_csfq, log2_alpha) == 0, "fair_csfq.log2_alpha");
_Static_assert(__builtin_offsetof(struct fair_csfq, largest_label) == 8, "fair_csfq.largest_label");
_Static_assert(__builtin_offsetof(struct fair_csfq, window_start_ns) == 16, "fair_csfq.window_start_ns");
_Static_assert(__builtin_offsetof(struct fair_csfq, sums) == 24, "fair_csfq.sums");
_Static_assert(__builtin_offsetof(struct fair_csfq, pending) == 40, "fair_csfq.pending");
_Static_assert(__builtin_offsetof(struct fair_csfq, last_tick) == 56, "fair_csfq.last_tick");
_Static_assert(__builtin_offsetof(struct fair_csfq, is_congested) == 64, "fair_csfq.is_congested");
_Static_assert(__builtin_offsetof(struct fair_csfq, cuts_left) == 68, "fair_csfq.cuts_left");

#endif

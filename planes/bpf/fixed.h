/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * The integer arithmetic of fairlane_schemes::fixed in C, operation by operation. The Rust module documents the
 * formulas, the error bounds and why 64 bits suffice. A test compares the results of both.
 *
 * The includer declares __u32, __s32, __u64, __s64.
 */
#ifndef FAIRLANE_FIXED_H
#define FAIRLANE_FIXED_H

#include "generated/fixed_records.h"
#include "generated/fixed_tables.h"

#define FAIR_INLINE static inline __attribute__((always_inline))

/*
 * Highest set bit of x > 0. Branch-free: BPF has no instruction for it, and the verifier would follow both sides of
 * each branch that a table index depends on.
 */
FAIR_INLINE __u32 fair_highest_bit(__u64 x)
{
	x |= x >> 1;
	x |= x >> 2;
	x |= x >> 4;
	x |= x >> 8;
	x |= x >> 16;
	x |= x >> 32;
	return fair_highest_table[(x * FAIR_DE_BRUIJN) >> 58];
}

/* log2(x) in Q31. */
FAIR_INLINE __s64 fair_log2_q31(__u64 x)
{
	__u64 mantissa, rest, low, rise, bow, between;
	__u32 highest, cell;

	if (!x)
		return FAIR_LOG2_OF_ZERO_Q31;
	highest = fair_highest_bit(x);
	mantissa = x << (63 - highest);
	cell = (mantissa >> 55) & 0xff;
	rest = (mantissa >> 23) & 0xffffffff;
	low = fair_log2_table[cell];
	rise = fair_log2_table[cell + 1] - low;
	bow = (((rise * rise) >> 31) * FAIR_LN2_Q32) >> 33;
	between = (rest * ((1ULL << 32) - rest)) >> 32;
	return ((__s64)highest << 31) + (__s64)(low + ((rise * rest + bow * between) >> 32));
}

/* Loss of 2^-y within a table cell, in Q40. */
FAIR_INLINE __u64 fair_cell_loss_q40(__u64 y)
{
	__u64 z = (((y >> 16) & 0xffffffff) * FAIR_LN2_Q32) >> 32;

	return z - ((z * z) >> 41);
}

/* 2^-y for the fraction of y (Q56), in Q32. */
FAIR_INLINE __u64 fair_exp2_neg_q32(__u64 y)
{
	__u64 entry = fair_exp2_table[(y >> 48) & 0xff];
	__u64 loss = fair_cell_loss_q40(y);

	return entry - ((entry * loss + (1ULL << 39)) >> 40);
}

/* value * factor / 2^32, rounded; factor <= 2^32. */
FAIR_INLINE __u64 fair_mul_q32(__u64 value, __u64 factor)
{
	return (value >> 32) * factor + (((value & 0xffffffff) * factor + (1ULL << 31)) >> 32);
}

/* value * factor / 2^40, rounded; factor < 2^32. */
FAIR_INLINE __u64 fair_mul_q40(__u64 value, __u64 factor)
{
	return ((value >> 32) * factor + (((value & 0xffffffff) * factor) >> 32) + (1 << 7)) >> 8;
}

/* value * 2^-y, y in Q56, rounded. */
FAIR_INLINE __u64 fair_scale_down(__u64 value, __u64 y)
{
	__u64 whole = y >> FAIR_EXPONENT_BITS, scaled;

	if (whole >= 64)
		return 0;
	scaled = fair_mul_q32(value, fair_exp2_table[(y >> 48) & 0xff]);
	scaled -= fair_mul_q40(scaled, fair_cell_loss_q40(y));
	/* Rounds by the bit below the last one; if whole is 0, there is no such bit. */
	return (scaled >> whole) + ((scaled << 1 >> whole) & 1);
}

FAIR_INLINE __u64 fair_tick(const struct fair_decay *decay, __u64 ns)
{
	return ns >> (decay->shift & 63);
}

/* A number of ticks as an exponent of 1/2, Q56; at most 64 (nothing left). */
FAIR_INLINE __u64 fair_ticks_exponent(const struct fair_decay *decay, __u64 ticks)
{
	return ticks >= FAIR_FORGOTTEN ? ~0ULL : ticks * decay->step;
}

/* value * exp(-ticks * tick / memory). */
FAIR_INLINE __u64 fair_decay_apply(const struct fair_decay *decay, __u64 value, __u64 ticks)
{
	return fair_scale_down(value, fair_ticks_exponent(decay, ticks));
}

/* Nearest label to a logarithm in Q31, saturating. */
FAIR_INLINE __s32 fair_activity_of_q31(__s64 logarithm)
{
	__s64 rounded = (logarithm + (1 << 14)) >> 15;

	if (rounded < -FAIR_ACTIVITY_BIAS)
		return -FAIR_ACTIVITY_BIAS;
	if (rounded >= FAIR_ACTIVITY_BIAS)
		return FAIR_ACTIVITY_BIAS - 1;
	return (__s32)rounded;
}

FAIR_INLINE __u32 fair_biased(__s32 activity)
{
	return (__u32)(activity + FAIR_ACTIVITY_BIAS);
}

FAIR_INLINE __s32 fair_unbiased(__u32 biased)
{
	return (__s32)(biased & ((1U << FAIR_ACTIVITY_BITS) - 1)) - FAIR_ACTIVITY_BIAS;
}

/* log2(T) in Q31, T of eq. (2) in ns. */
FAIR_INLINE __s64 fair_log2_measured_time(const struct fair_decay *decay, __s64 log2_memory, __u64 age_ns)
{
	__u64 ticks = fair_tick(decay, age_ns), exponent, y;

	if (!age_ns || ticks >= FAIR_FORGOTTEN)
		return log2_memory;
	exponent = ticks * decay->step;
	if (ticks < FAIR_YOUNG_TICKS) {
		y = exponent >> 24;
		return fair_log2_q31(age_ns) - (__s64)(y >> 2) +
		       (__s64)((((y * y) >> 32) * FAIR_LN2_24TH_Q32) >> 33);
	}
	return log2_memory + fair_log2_q31((1ULL << 32) - fair_scale_down(1ULL << 32, exponent)) - (32LL << 31);
}

/* Amount that a packet adds to S: bytes in Q16. */
FAIR_INLINE __u64 fair_meter_amount(__u32 bytes, __u32 factor_q20)
{
	return ((__u64)bytes * factor_q20 + (1 << 3)) >> (20 - FAIR_METER_SUM_BITS);
}

/* Counts packets into S: eq. (1), (4). Returns S. */
FAIR_INLINE __u64 fair_meter_count(struct fair_meter *meter, const struct fair_decay *decay, __u64 amount, __u64 age_ns)
{
	__u64 tick = fair_tick(decay, age_ns);
	__u64 ticks = tick > meter->last_tick ? tick - meter->last_tick : 0;
	__u64 left = fair_decay_apply(decay, meter->sum, ticks);
	__u64 sum = left + amount;

	if (sum < left)
		sum = ~0ULL;
	meter->sum = sum;
	if (tick > meter->last_tick)
		meter->last_tick = tick;
	return sum;
}

/* Activity of a sum S: eq. (2), (3), (5). */
FAIR_INLINE __s32 fair_meter_activity(__u64 sum, const struct fair_decay *decay, __s64 log2_memory, __s64 offset,
				      __u64 age_ns)
{
	return fair_activity_of_q31(fair_log2_q31(sum) - fair_log2_measured_time(decay, log2_memory, age_ns) + offset);
}

/* Amount that an accepted packet adds to S and N. Its weight is FAIR_PACKET_WEIGHT or its bytes. */
FAIR_INLINE __u64 fair_averager_sum_of(__s32 activity, __u32 weight)
{
	return (__u64)fair_biased(activity) * weight >> (FAIR_WEIGHT_BITS - FAIR_SUM_EXTRA_BITS);
}

FAIR_INLINE __u64 fair_averager_count_of(__u32 weight)
{
	return (__u64)weight << (FAIR_COUNT_BITS - FAIR_WEIGHT_BITS);
}

/* Counts accepted packets: eq. (6) to (9). */
FAIR_INLINE void fair_averager_accept(struct fair_averager *averager, const struct fair_decay *decay, __u64 sum,
				      __u64 count, __u64 now_ns)
{
	__u64 tick = fair_tick(decay, now_ns);
	__u64 ticks = tick > averager->last_tick ? tick - averager->last_tick : 0;
	__u64 exponent = fair_ticks_exponent(decay, ticks);

	averager->sum = fair_scale_down(averager->sum, exponent) + sum;
	averager->count = fair_scale_down(averager->count, exponent) + count;
	if (tick > averager->last_tick)
		averager->last_tick = tick;
	if (averager->count >= 1ULL << 63) {
		averager->sum >>= 1;
		averager->count >>= 1;
	}
}

/* A_avg; 0 before the first accepted packet. */
FAIR_INLINE __s32 fair_averager_average(const struct fair_averager *averager)
{
	__u64 sum = averager->sum, count = averager->count, biased;
	__u32 dropped_bits = count < 1ULL << 41 ? 0 : count < 1ULL << 52 ? 11 : 22;

	if (!count)
		return 0;
	sum >>= dropped_bits;
	count >>= dropped_bits;
	biased = ((sum << FAIR_ACTIVITY_BITS) + (count >> 1)) / count;
	return fair_unbiased(biased >> FAIR_ACTIVITY_BITS ? (1U << FAIR_ACTIVITY_BITS) - 1 : (__u32)biased);
}

/* T_drop of eq. (10), rounded up to a whole unit of the queue. */
FAIR_INLINE __s64 fair_drop_threshold(__s64 q_min, __s64 q_base, __s64 gamma, __s32 activity, __s32 average)
{
	__s64 excess = (__s64)activity - (__s64)average;
	__s64 threshold = q_base - ((gamma * excess) >> FAIR_ACTIVITY_FRACTION);

	return threshold > q_min ? threshold : q_min;
}

/* ---- CSFQ ---- */

/* Exponents of 1/2 of a gap: `left` for the rest of a sum, `part` for the fraction of fresh bytes that counts. */
FAIR_INLINE void fair_rate_gap(const struct fair_decay *decay, __s64 log2_tick, __u64 ticks, __u64 *left, __u64 *part)
{
	__s64 halvings = fair_log2_q31(ticks) + log2_tick;

	*left = fair_ticks_exponent(decay, ticks);
	if (*left != ~0ULL)
		halvings -= fair_log2_q31((1ULL << 62) - fair_scale_down(1ULL << 62, *left)) - (62LL << 31);
	*part = halvings > 0 ? (__u64)halvings << (FAIR_EXPONENT_BITS - 31) : 0;
}

FAIR_INLINE __u64 fair_saturating_add(__u64 a, __u64 b)
{
	__u64 sum = a + b;

	return sum < a ? ~0ULL : sum;
}

FAIR_INLINE void fair_rate_apply(__u64 *sum, __u64 *pending, __u64 left, __u64 part)
{
	*sum = fair_saturating_add(fair_scale_down(*sum, left), fair_scale_down(*pending, part));
	*pending = 0;
}

/* Counts packets, in bytes Q16, into the rate of a user. Returns log2 of its sum, Q31. */
FAIR_INLINE __s64 fair_rate_count(struct fair_meter *meter, __u64 *pending, const struct fair_decay *decay,
				  __s64 log2_tick, __u64 amount, __u64 age_ns)
{
	__u64 tick = fair_tick(decay, age_ns), left, part;

	*pending = fair_saturating_add(*pending, amount);
	if (tick > meter->last_tick) {
		fair_rate_gap(decay, log2_tick, tick - meter->last_tick, &left, &part);
		fair_rate_apply(&meter->sum, pending, left, part);
		meter->last_tick = tick;
	}
	return fair_log2_q31(meter->sum);
}

/* eq. (5), (6), and the amendments of 2003. */
FAIR_INLINE void fair_csfq_observe(struct fair_csfq *port, const struct fair_csfq_params *params, __s64 log2_label,
				   int is_short, __u64 age_ns)
{
	__u64 window_end = fair_saturating_add(port->window_start_ns, params->window_ns);
	__s64 arrival, accepted, scaled;

	/* Reads the sums from memory again, so that the verifier need not distinguish the paths that led here. */
	asm volatile("" ::: "memory");
	arrival = fair_log2_q31(port->sums[0]);
	accepted = fair_log2_q31(port->sums[1]);
	if (port->log2_alpha == FAIR_LOG2_OF_ZERO_Q31) {
		if (is_short) {
			if (log2_label > port->largest_label)
				port->largest_label = log2_label;
			return;
		}
		port->log2_alpha = port->largest_label != FAIR_LOG2_OF_ZERO_Q31 ? port->largest_label :
										  params->log2_capacity - (1LL << 31);
		port->largest_label = FAIR_LOG2_OF_ZERO_Q31;
	}
	if (arrival >= params->log2_full) {
		if (!port->is_congested) {
			port->is_congested = 1;
			port->window_start_ns = age_ns;
			port->cuts_left = FAIR_CUTS;
		} else if (age_ns >= window_end) {
			port->window_start_ns = age_ns;
			if (accepted != FAIR_LOG2_OF_ZERO_Q31) {
				scaled = port->log2_alpha + params->log2_full - accepted;
				port->log2_alpha = scaled < params->log2_capacity ? scaled : params->log2_capacity;
			}
		}
	} else if (port->is_congested) {
		port->is_congested = 0;
		port->window_start_ns = age_ns;
		port->largest_label = FAIR_LOG2_OF_ZERO_Q31;
	} else if (age_ns < window_end) {
		if (log2_label > port->largest_label)
			port->largest_label = log2_label;
	} else {
		port->window_start_ns = age_ns;
		port->log2_alpha = is_short ? FAIR_LOG2_OF_ZERO_Q31 : port->largest_label;
		if (!is_short)
			port->largest_label = FAIR_LOG2_OF_ZERO_Q31;
	}
}

/*
 * Returns true if a packet is dropped: eq. (3). Otherwise `label` is its new label: eq. (4). A packet without a label
 * counts in A and F, is never dropped early, and does not affect the largest label.
 */
FAIR_INLINE int fair_csfq_admit(struct fair_csfq *port, const struct fair_csfq_params *params, int is_labelled,
				__s32 *label, __u32 bytes, int spares, int is_short, __u32 random, __u64 age_ns)
{
	__s64 log2_label = is_labelled ? (__s64)*label * (1 << (31 - FAIR_ACTIVITY_FRACTION)) : FAIR_LOG2_OF_ZERO_Q31;
	__s64 halvings;
	__u64 tick = fair_tick(&params->decay, age_ns), fresh = (__u64)bytes << FAIR_METER_SUM_BITS, left, part;
	__s32 alpha;
	int drop = 0;

	if (is_labelled && port->log2_alpha != FAIR_LOG2_OF_ZERO_Q31 && log2_label > port->log2_alpha) {
		halvings = log2_label - port->log2_alpha;
		if (halvings > (64LL << 31) - 1)
			halvings = (64LL << 31) - 1;
		drop = random < (1ULL << 32) - fair_scale_down(1ULL << 32, (__u64)halvings << (FAIR_EXPONENT_BITS - 31)) &&
		       !spares;
		alpha = fair_activity_of_q31(port->log2_alpha);
		if (alpha < *label)
			*label = alpha;
	}
	port->pending[0] = fair_saturating_add(port->pending[0], fresh);
	if (!drop)
		port->pending[1] = fair_saturating_add(port->pending[1], fresh);
	if (tick > port->last_tick) {
		fair_rate_gap(&params->decay, params->log2_tick, tick - port->last_tick, &left, &part);
		fair_rate_apply(&port->sums[0], &port->pending[0], left, part);
		fair_rate_apply(&port->sums[1], &port->pending[1], left, part);
		port->last_tick = tick;
		fair_csfq_observe(port, params, log2_label, is_short, age_ns);
	}
	return drop;
}

/* A packet found the queue full: eq. (7). */
FAIR_INLINE void fair_csfq_overflow(struct fair_csfq *port)
{
	if (!port->cuts_left)
		return;
	port->cuts_left--;
	if (port->log2_alpha != FAIR_LOG2_OF_ZERO_Q31)
		port->log2_alpha += FAIR_LOG2_CUT_Q31;
}

#endif

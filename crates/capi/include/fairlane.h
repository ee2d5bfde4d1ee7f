/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fairlane's schemes for hosts in C and C++. Link with libfairlane_capi (static or shared).
 *
 * Every function that can fail returns a status, FAIRLANE_OK or why not; results go through pointers and are written
 * on success only. Times are ns on a clock of the caller, below 2^64/1000 (213 days); a clock that runs backwards
 * counts as standing still. Lengths are bytes at the IP layer. Nothing here locks: one thread at a time for each
 * handle or state. No call ends the process or unwinds into the caller.
 */
#ifndef FAIRLANE_H
#define FAIRLANE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the interface: to be compared with fairlane_abi_version() where the library is loaded at run time. */
#define FAIRLANE_ABI_VERSION 1
uint32_t fairlane_abi_version(void);

typedef enum fairlane_status {
	FAIRLANE_OK = 0,
	FAIRLANE_NULL = 1,         /* a pointer that is needed is null */
	FAIRLANE_OUT_OF_RANGE = 2, /* a number is outside the range given here */
	FAIRLANE_CONFIG = 3,       /* a text is not TOML or JSON, or has a wrong key or value */
	FAIRLANE_INTERNAL = 4      /* an error in the library: do not use the handle or state any more */
} fairlane_status;

/* What a status means, in English; never null, must not be freed. */
const char *fairlane_status_message(int status);

/* Traffic classes. */
#define FAIRLANE_BEST_EFFORT 0
#define FAIRLANE_EXPEDITED 1

/* ---- ABC as functions over state that the caller keeps: abc2018 eq. (1) to (10) ---- */

/* Activity meter: A = log2(R/R_r), R measured by TDRM-UTEMA. */
typedef struct fairlane_abc_meter_config {
	uint64_t memory_ns;          /* M, 1 ms to 1 h; the paper: 3 s */
	uint64_t reference_rate_bps; /* R_r, at least 1 bit/s */
	double accounting_be;        /* best effort counts so many times its length, 0.001 to 1000 */
	double accounting_ef;        /* the same for expedited packets; the paper: 3 */
} fairlane_abc_meter_config;

/* State of a meter, to be kept bit for bit. */
typedef struct fairlane_abc_meter_state {
	double weighted_sum_bits; /* S, bits, 0 to 1e30 */
	double measured;          /* T/M = 1 - exp(-(t_last - t0)/M), 0 or 1e-15 to 1 */
	uint64_t last_ns;         /* t_last */
} fairlane_abc_meter_state;

/* Starts a measurement at start_ns (t0). */
fairlane_status fairlane_abc_meter_reset(fairlane_abc_meter_state *state, uint64_t start_ns);

/* Counts a packet of at least one byte; *activity is at least -32. */
fairlane_status fairlane_abc_meter_label(const fairlane_abc_meter_config *config, fairlane_abc_meter_state *state,
					uint64_t now_ns, uint32_t bytes, uint8_t traffic_class, double *activity);

/* Averager: mean activity of the accepted packets by UTEMA. All zero: nothing so far. To be kept bit for bit. */
typedef struct fairlane_abc_averager_state {
	double weighted_sum;   /* S, activities, N times -128 to 128 */
	double weighted_count; /* N, packets, 0 or 1 to 1e30 */
	uint64_t last_ns;      /* t_last */
} fairlane_abc_averager_state;

fairlane_status fairlane_abc_averager_reset(fairlane_abc_averager_state *state);

/* Counts a packet that was accepted and stored; memory_ns is M, 1 ms to 1 h; the paper: 0.3 s. activity is -128 to 128. */
fairlane_status fairlane_abc_averager_accept(uint64_t memory_ns, fairlane_abc_averager_state *state, double activity,
					     uint64_t now_ns);

/* *average is A_avg, 0 before the first packet. */
fairlane_status fairlane_abc_averager_average(const fairlane_abc_averager_state *state, double *average);

/* Activity AQM. All lengths in one unit, that of the queue: packets, bytes or seconds, 0 to 1e12. */
typedef struct fairlane_abc_aqm_config {
	double q_min;  /* no packet is dropped while the queue is shorter */
	double q_base; /* threshold of a packet of average activity */
	double gamma;  /* by how much one unit of activity above the average shortens the queue */
} fairlane_abc_aqm_config;

/* *threshold is T_drop = max(Q_min, Q_base - gamma*(A - A_avg)); A and A_avg are -128 to 128. */
fairlane_status fairlane_abc_aqm_threshold(const fairlane_abc_aqm_config *config, double activity, double average,
					   double *threshold);

/* *drop is 1 if a packet that finds this queue is to be dropped (queue >= threshold), else 0. */
fairlane_status fairlane_abc_aqm_verdict(double queue, double threshold, uint8_t *drop);

/* ---- Any scheme behind a handle ---- */

/* A packet; the library copies it. */
typedef struct fairlane_packet {
	uint64_t id;           /* anything of the caller's, such as a pointer to its own packet */
	double label;          /* what the marker wrote; finite */
	uint32_t flow;         /* transport connection */
	uint32_t user;         /* user */
	uint32_t bytes;        /* at least 1 */
	uint8_t traffic_class; /* FAIRLANE_BEST_EFFORT or FAIRLANE_EXPEDITED */
	uint8_t ecn;           /* ECN field of the IP header, 0 to 3 */
	uint16_t reserved;     /* 0 */
} fairlane_packet;

/* Why on_drop is called. */
#define FAIRLANE_DROP_AQM 0        /* dropped by the scheme before the queue was full */
#define FAIRLANE_DROP_OVERLIMIT 1  /* the queue was full */
#define FAIRLANE_DROP_PUSHED_OUT 2 /* waited already and made room */
#define FAIRLANE_MARKED 3          /* marked (CE), not dropped */

/* Called for every packet that is dropped or marked, within the call that does so; must not call the queue. */
typedef void (*fairlane_on_drop)(void *context, const fairlane_packet *packet, uint8_t reason);

typedef struct fairlane_queue fairlane_queue;

/*
 * Creates a queue from the text of a [queue] table (TOML, or JSON if it begins with a brace), such as
 * "scheme = \"abc\"\nlimit = \"24 packets\"", at a link of rate_bps, 1 bit/s to 1 Tbit/s. The same seed and calls give
 * the same results on any machine. A mistake in the text is reported in one line in message (cut to message_size
 * bytes, a zero at the end included; may be null).
 */
fairlane_status fairlane_queue_create(const char *description, uint64_t rate_bps, uint64_t seed, fairlane_queue **queue,
				      char *message, size_t message_size);
void fairlane_queue_destroy(fairlane_queue *queue);

/* Offers a packet: it is stored, or on_drop (may be null) is called. */
fairlane_status fairlane_queue_enqueue(fairlane_queue *queue, const fairlane_packet *packet, uint64_t now_ns,
				       fairlane_on_drop on_drop, void *context);

/* The next packet to transmit from now_ns on: *found is 1 and *packet written, or 0 if nothing waits. */
fairlane_status fairlane_queue_dequeue(fairlane_queue *queue, uint64_t now_ns, fairlane_on_drop on_drop, void *context,
				       fairlane_packet *packet, uint8_t *found);

/* Sets the rate of the link. */
fairlane_status fairlane_queue_set_rate(fairlane_queue *queue, uint64_t rate_bps);

/* What a queue has done: offered = sent + dropped + backlog, in packets. */
typedef struct fairlane_queue_stats_t {
	uint64_t offered_packets;
	uint64_t sent_packets;
	uint64_t dropped_packets[3]; /* by FAIRLANE_DROP_... */
	uint64_t marked_packets;
	uint64_t backlog_packets;
	uint64_t backlog_bytes;
	double drop_threshold; /* that the last arrival met, in the unit of the scheme's thresholds; NaN without one */
} fairlane_queue_stats_t;

fairlane_status fairlane_queue_stats(const fairlane_queue *queue, fairlane_queue_stats_t *stats);

/* A user of a marker. */
typedef struct fairlane_user {
	uint64_t reference_rate_bps; /* at least 1 bit/s */
	double weight;               /* 0.001 to 1000 */
} fairlane_user;

typedef struct fairlane_marker fairlane_marker;

/*
 * Creates a marker from the text of a [marker] table, such as "scheme = \"abc\"", with a meter for each of count users
 * (1 to 2^20), numbered in their order, which begin to measure at start_ns. Text and message as for queues.
 */
fairlane_status fairlane_marker_create(const char *description, const fairlane_user *users, size_t count,
				       uint64_t start_ns, uint64_t seed, fairlane_marker **marker, char *message,
				       size_t message_size);
void fairlane_marker_destroy(fairlane_marker *marker);

/* Counts a packet at the meter of packet->user and writes packet->label. */
fairlane_status fairlane_marker_label(fairlane_marker *marker, fairlane_packet *packet, uint64_t now_ns);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fairlane's schemes for hosts in C and C++: link with libfairlane_capi (static or shared). And the other way round:
 * what a library of schemes of your own offers to Fairlane, at the end; that links with nothing.
 *
 * Every function that can fail returns a status, FAIRLANE_OK or why not; results go through pointers and are written
 * on success only. Times are ns on a clock of the caller, below 17280000000000000 (200 days); a clock that runs
 * backwards counts as standing still. Lengths are bytes at the IP layer. Nothing here locks: one thread at a time for
 * each handle or state. No call ends the process or unwinds into the caller.
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

/*
 * Counts a packet that was accepted and stored; memory_ns is M, 1 ms to 1 h; the paper: 0.3 s. activity is -128 to 128.
 */
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

/* ---- Simulations, with congestion controls of the host's own ---- */

/* What a control sets; holds what is in force when a function is called. */
typedef struct fairlane_output {
	uint32_t window;     /* congestion window, bytes of payload; not 0, less than a segment counts as a segment */
	uint32_t quantum;    /* most bytes sent at once if paced; 0 leaves it to the sender */
	uint64_t pacing_bps; /* rate of payload; 0 leaves it to the sender */
} fairlane_output;

/* A segment that leaves, arrives or is taken for lost. */
typedef struct fairlane_segment {
	uint64_t now_ns;
	uint64_t sent_ns;    /* when it was sent last */
	uint32_t number;     /* of its last transmission; the first is 1 */
	uint32_t bytes;      /* its payload */
	uint8_t app_limited; /* 1 if the sender had too few data to fill the window when it was sent */
} fairlane_segment;

/* An ACK, after the segments that it delivers and shows to be lost. Sizes are bytes of payload. */
typedef struct fairlane_ack {
	uint64_t now_ns;
	uint64_t rtt_ns; /* of the newest segment that it delivers; 0 if that was sent twice or there is none */
	uint64_t smoothed_rtt_ns;
	uint64_t min_rtt_ns; /* the least of the connection */
	uint64_t total_delivered;
	uint64_t total_lost;
	uint64_t delivered_when_sent; /* total_delivered when the newest segment that it delivers was sent */
	uint64_t delivery_rate_bps;   /* 0 without a sample */
	uint32_t delivered;           /* newly */
	uint32_t lost;                /* newly */
	uint32_t marked;              /* newly delivered with a mark, if marks is not 0 */
	uint32_t in_flight;           /* after it */
	uint8_t app_limited;          /* 1 if the sender had too few data when that segment was sent */
	uint8_t window_limited;       /* 1 if the window bounded what was sent */
	uint8_t in_recovery;          /* 1 if losses are being repaired */
} fairlane_ack;

/* Events. */
#define FAIRLANE_OPEN 0          /* the handshake is over */
#define FAIRLANE_LOSS 1          /* recovery begins */
#define FAIRLANE_MARK 2          /* a mark, once a round trip */
#define FAIRLANE_TIMEOUT 3
#define FAIRLANE_RECOVERY_ENDS 4
#define FAIRLANE_UNDO 5          /* the last congestion was none */
#define FAIRLANE_IDLE 6          /* data are about to be sent after a silence */

/* Of the table below; it changes with the table, or with what a function of it means. */
#define FAIRLANE_CONGESTION_CONTROL_VERSION 1

/*
 * A congestion control: functions that are called with the state of a connection, all in the thread that runs the
 * simulation. Those that are null are not called. A function that gives an int gives 0, or else ends the run.
 */
typedef struct fairlane_congestion_control {
	uint32_t version; /* FAIRLANE_CONGESTION_CONTROL_VERSION */
	size_t size;      /* sizeof(fairlane_congestion_control) */
	const char *name; /* in scenarios, where it goes before a built-in one; of two of one name the first counts */
	void *context;    /* handed to create; without create it is the state */
	int kind;         /* 0: sets the window always, needs on_ack; 1: leaves slow start and recovery to the sender, needs
			     grow and reduce */
	int marks;        /* feedback on marks: 0 one a round trip; 1 all, of packets with ECT(0); 2 all, with ECT(1) */
	void *(*create)(void *context, uint32_t mss, uint64_t seed); /* null ends the run */
	void (*destroy)(void *state);                                /* of what create gave */
	int (*on_sent)(void *state, const fairlane_segment *segment, fairlane_output *output);
	int (*on_delivered)(void *state, const fairlane_segment *segment, fairlane_output *output);
	int (*on_lost)(void *state, const fairlane_segment *segment, fairlane_output *output);
	int (*on_ack)(void *state, const fairlane_ack *ack, fairlane_output *output);
	int (*on_event)(void *state, int event, uint64_t now_ns, fairlane_output *output);
	uint32_t (*grow)(void *state, uint32_t window, uint32_t segments, uint64_t now_ns); /* the window, not 0 */
	uint32_t (*reduce)(void *state, uint32_t window, uint64_t outstanding, uint64_t in_flight, int event); /* the same */
} fairlane_congestion_control;

/*
 * Runs a replication (from 0) of a scenario, given as the text of its file (TOML, or JSON if it begins with a brace).
 * Its senders may have one of count controls. *record is JSON, to be freed. A mistake in the text or in a table, and a
 * control that fails, is FAIRLANE_CONFIG with a line in message, as for queues.
 */
fairlane_status fairlane_simulate(const char *scenario, uint32_t replication,
				  const fairlane_congestion_control *const *controls, size_t count, char **record,
				  char *message, size_t message_size);
void fairlane_record_free(char *record);

/* ---- Libraries of schemes: what `fairlane run --scheme-lib libmine.so` loads ---- */

/* Of the tables below; it changes with a table, or with what a function of it means. */
#define FAIRLANE_SCHEME_VERSION 1

/*
 * A parameter of a scheme: a key of [queue]. Texts are UTF-8; values stand as a scenario has them ("5 ms", "0.5"),
 * without quotes. Those that are null are absent.
 */
typedef struct fairlane_parameter {
	const char *name;
	const char *kind;          /* time, rate, size, threshold, count, number, probability, flag, text or choice */
	const char *default_value; /* null: the key may be absent */
	const char *least, *most;  /* both or none */
	const char *choices;       /* of a choice, with commas between them */
	const char *doc;           /* what it does */
} fairlane_parameter;

typedef struct fairlane_value {
	/* in s, bit/s, bytes, packets or without a unit; 0 or 1 of a flag, the place of a choice; else NaN */
	double number;
	const char *text; /* as a scenario has it, with every digit; null if it is absent */
} fairlane_value;

/* What a scheme is told of its port; all pointers end with the call. */
typedef struct fairlane_port {
	uint64_t limit_packets; /* packets that may wait; 0 if the limit is in bytes */
	uint64_t limit_bytes;   /* bytes that may wait; 0 if the limit is in packets */
	uint64_t mtu_bytes;     /* of a full packet */
	uint64_t rate_bps;      /* of the link at first; 0 in check */
	uint64_t seed;          /* of all random numbers of the scheme; differs by run and port */
	const double *weights;  /* of the first weight_count users; all others have weight 1 */
	size_t weight_count;
	const fairlane_value *values; /* of the parameters, in the order of their declaration */
	size_t value_count;
} fairlane_port;

/* Takes a reading: its name with its unit, which must stay as long as the library, and its value. */
typedef void (*fairlane_on_reading)(void *context, const char *name, double value);

/*
 * A scheme: functions that are called with the state of a port. A function that gives an int gives 0, or else ends the
 * run with a line that has the message. Times are ps on the simulator's clock, which never runs backwards: a scheme
 * gets what one that is built in gets. The packets stay with the host; a scheme copies what it needs and gives their id
 * back. Each packet that was offered is given by dequeue or handed to on_drop once, and none twice: the host checks
 * that.
 *
 * States are used by one thread each at a time; create, and functions of different states, may run at once. Nothing may
 * unwind or jump out of a function: an exception that leaves one ends the process, and so does abort(). No clock, no
 * random numbers but those that follow from the seed: then the same scenario and seed give the same results.
 */
typedef struct fairlane_scheme {
	size_t size;         /* sizeof(fairlane_scheme) */
	const char *name;    /* in scenarios: lower-case letters, digits, - and _, a letter first */
	const char *summary; /* what it does, in one sentence; may be null */
	const char *marker;  /* the marker that its labels come from, such as "abc"; null for none */
	const fairlane_parameter *parameters;
	size_t parameter_count;
	/* Checks what no single range can: a message such as "least: 3 must be below most". May be null. */
	int (*check)(const fairlane_port *port, char *message, size_t message_size);
	int (*create)(const fairlane_port *port, void **state, char *message, size_t message_size);
	void (*destroy)(void *state);
	/* Stores a packet, or hands it or others to on_drop, so that no more wait than the limit allows. */
	int (*enqueue)(void *state, const fairlane_packet *packet, uint64_t now_ps, fairlane_on_drop on_drop, void *context);
	/* As fairlane_queue_dequeue: *found is 0 only if nothing waits, or all were dropped just now: the link falls idle. Of
	   *packet its id counts, and its label, with which the packet goes on. */
	int (*dequeue)(void *state, uint64_t now_ps, fairlane_on_drop on_drop, void *context, fairlane_packet *packet,
		       uint8_t *found);
	/* All of the following may be null. */
	void (*set_rate)(void *state, uint64_t rate_bps);
	void (*failure)(const void *state, char *message, size_t message_size); /* why enqueue or dequeue failed */
	double (*drop_threshold)(const void *state); /* that the last arrival met; NaN if there is none: not asked again */
	void (*state_size)(const void *state, size_t *records, size_t *bytes); /* what it remembers, without the packets */
	void (*report)(const void *state, fairlane_on_reading on_reading, void *context);
} fairlane_scheme;

typedef struct fairlane_scheme_library {
	uint32_t version;    /* FAIRLANE_SCHEME_VERSION */
	size_t size;         /* sizeof(fairlane_scheme_library) */
	const char *name;    /* with its own version and the hash of its file, in every result */
	const char *release; /* its own version, such as "1.0.2" */
	const fairlane_scheme *const *schemes;
	size_t scheme_count;
} fairlane_scheme_library;

/*
 * The one function that a library defines: its table, which stays, for a host that has this version; null if it has
 * none.
 */
const fairlane_scheme_library *fairlane_schemes(uint32_t host_version);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * Fairlane's schemes for hosts in C and C++: link with libfairlane_capi (static or shared). The last part is for the
 * opposite direction: it declares the tables of a library of your own schemes for Fairlane, which links with nothing.
 *
 * Every function that can fail returns a status: FAIRLANE_OK or the error. Results are written through pointers, only
 * on success. Times are ns on the caller's clock, below 17280000000000000 (200 days); if the clock runs backwards, the
 * elapsed time counts as 0. Lengths are bytes at the IP layer. There are no locks: only one thread at a time may use a
 * handle or state. No call ends the process or unwinds into the caller.
 */
#ifndef FAIRLANE_H
#define FAIRLANE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Version of the interface. If the library is loaded at run time, compare it with fairlane_abi_version(). */
#define FAIRLANE_ABI_VERSION 1
uint32_t fairlane_abi_version(void);

typedef enum fairlane_status {
	FAIRLANE_OK = 0,
	FAIRLANE_NULL = 1,         /* a required pointer is null */
	FAIRLANE_OUT_OF_RANGE = 2, /* a number is outside the range given here */
	FAIRLANE_CONFIG = 3,       /* a text is not TOML or JSON, or has a wrong key or value */
	FAIRLANE_INTERNAL = 4      /* an error in the library: do not use the handle or state any more */
} fairlane_status;

/* Returns the meaning of a status in English; never null, must not be freed. */
const char *fairlane_status_message(int status);

/* Traffic classes. */
#define FAIRLANE_BEST_EFFORT 0
#define FAIRLANE_EXPEDITED 1

/* ---- ABC as functions over state that the caller stores: abc2018 eq. (1) to (10) ---- */

/* Activity meter: A = log2(R/R_r), R measured by TDRM-UTEMA. */
typedef struct fairlane_abc_meter_config {
	uint64_t memory_ns;          /* M, 1 ms to 1 h; the paper: 3 s */
	uint64_t reference_rate_bps; /* R_r, at least 1 bit/s */
	double accounting_be;        /* factor for the length of best-effort packets, 0.001 to 1000 */
	double accounting_ef;        /* factor for expedited packets, 0.001 to 1000; the paper: 3 */
} fairlane_abc_meter_config;

/* State of a meter; the caller must store it bit for bit. */
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

/* Averager: mean activity of the accepted packets by UTEMA. All zero: no packet yet. Store it bit for bit. */
typedef struct fairlane_abc_averager_state {
	double weighted_sum;   /* S, activities, N times -128 to 128 */
	double weighted_count; /* N, packets, 0 or 1 to 1e30 */
	uint64_t last_ns;      /* t_last */
} fairlane_abc_averager_state;

fairlane_status fairlane_abc_averager_reset(fairlane_abc_averager_state *state);

/*
 * Counts a packet that was accepted and stored. memory_ns is M, 1 ms to 1 h (paper: 0.3 s); activity is -128 to 128.
 */
fairlane_status fairlane_abc_averager_accept(uint64_t memory_ns, fairlane_abc_averager_state *state, double activity,
					     uint64_t now_ns);

/* Sets *average to A_avg, 0 before the first packet. */
fairlane_status fairlane_abc_averager_average(const fairlane_abc_averager_state *state, double *average);

/* Activity AQM. All lengths have the unit of the queue: packets, bytes or seconds, 0 to 1e12. */
typedef struct fairlane_abc_aqm_config {
	double q_min;  /* no packet is dropped while the queue is shorter */
	double q_base; /* threshold of a packet of average activity */
	double gamma;  /* decrease of the threshold per unit of activity above the average */
} fairlane_abc_aqm_config;

/* Sets *threshold to T_drop = max(Q_min, Q_base - gamma*(A - A_avg)); A and A_avg are -128 to 128. */
fairlane_status fairlane_abc_aqm_threshold(const fairlane_abc_aqm_config *config, double activity, double average,
					   double *threshold);

/* Sets *drop to 1 if a packet that finds this queue must be dropped (queue >= threshold), else to 0. */
fairlane_status fairlane_abc_aqm_verdict(double queue, double threshold, uint8_t *drop);

/* ---- Any scheme behind a handle ---- */

/* A packet; the library copies it. */
typedef struct fairlane_packet {
	uint64_t id;           /* any number, such as a pointer to the caller's own packet */
	double label;          /* written by the marker; finite */
	uint32_t flow;         /* transport connection */
	uint32_t user;         /* user */
	uint32_t bytes;        /* at least 1 */
	uint8_t traffic_class; /* FAIRLANE_BEST_EFFORT or FAIRLANE_EXPEDITED */
	uint8_t ecn;           /* ECN field of the IP header, 0 to 3 */
	uint16_t reserved;     /* 0 */
} fairlane_packet;

/* Reasons for calling on_drop. */
#define FAIRLANE_DROP_AQM 0        /* dropped by the scheme before the queue was full */
#define FAIRLANE_DROP_OVERLIMIT 1  /* the queue was full */
#define FAIRLANE_DROP_PUSHED_OUT 2 /* was waiting and was pushed out */
#define FAIRLANE_MARKED 3          /* marked (CE), not dropped */

/* Called for every packet that is dropped or marked, within the call that does so; must not call the queue. */
typedef void (*fairlane_on_drop)(void *context, const fairlane_packet *packet, uint8_t reason);

typedef struct fairlane_queue fairlane_queue;

/*
 * Creates a queue from the text of a [queue] table (TOML, or JSON if it begins with a brace), such as
 * "scheme = \"abc\"\nlimit = \"24 packets\"", for a link of rate_bps, 1 bit/s to 1 Tbit/s. The same seed and calls give
 * the same results on any machine. An error in the text is written to message (may be null) as one line, truncated to
 * message_size bytes including the final zero.
 */
fairlane_status fairlane_queue_create(const char *description, uint64_t rate_bps, uint64_t seed, fairlane_queue **queue,
				      char *message, size_t message_size);
void fairlane_queue_destroy(fairlane_queue *queue);

/* Offers a packet: it is stored, or on_drop (may be null) is called. */
fairlane_status fairlane_queue_enqueue(fairlane_queue *queue, const fairlane_packet *packet, uint64_t now_ns,
				       fairlane_on_drop on_drop, void *context);

/* Returns the next packet to transmit at now_ns: sets *found to 1 and *packet, or *found to 0 if none waits. */
fairlane_status fairlane_queue_dequeue(fairlane_queue *queue, uint64_t now_ns, fairlane_on_drop on_drop, void *context,
				       fairlane_packet *packet, uint8_t *found);

/* Sets the rate of the link. */
fairlane_status fairlane_queue_set_rate(fairlane_queue *queue, uint64_t rate_bps);

/* Counters of a queue: offered = sent + dropped + backlog, in packets. */
typedef struct fairlane_queue_stats_t {
	uint64_t offered_packets;
	uint64_t sent_packets;
	uint64_t dropped_packets[3]; /* by FAIRLANE_DROP_... */
	uint64_t marked_packets;
	uint64_t backlog_packets;
	uint64_t backlog_bytes;
	double drop_threshold; /* for the last arrival, in the unit of the scheme's thresholds; NaN if there is none */
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
 * (1 to 2^20), numbered in their order. Measurements start at start_ns. Text and message are as for queues.
 */
fairlane_status fairlane_marker_create(const char *description, const fairlane_user *users, size_t count,
				       uint64_t start_ns, uint64_t seed, fairlane_marker **marker, char *message,
				       size_t message_size);
void fairlane_marker_destroy(fairlane_marker *marker);

/* Counts a packet in the meter of packet->user and writes packet->label. */
fairlane_status fairlane_marker_label(fairlane_marker *marker, fairlane_packet *packet, uint64_t now_ns);

/* ---- Simulations, with congestion controls of the host ---- */

/* Outputs of a control; contains the present values when a function is called. */
typedef struct fairlane_output {
	uint32_t window;     /* congestion window, bytes of payload; not 0; at least a segment is used */
	uint32_t quantum;    /* maximum bytes per burst if paced; 0 leaves it to the sender */
	uint64_t pacing_bps; /* rate of payload; 0 leaves it to the sender */
} fairlane_output;

/* A segment that is sent, has arrived, or is considered lost. */
typedef struct fairlane_segment {
	uint64_t now_ns;
	uint64_t sent_ns;    /* time of its last transmission */
	uint32_t number;     /* number of its last transmission; the first is 1 */
	uint32_t bytes;      /* payload */
	uint8_t app_limited; /* 1 if the sender had too little data to fill the window when it was sent */
} fairlane_segment;

/* An ACK; called after the segments that it delivers or shows to be lost. Sizes are bytes of payload. */
typedef struct fairlane_ack {
	uint64_t now_ns;
	uint64_t rtt_ns; /* of the newest segment that it delivers; 0 if that was retransmitted or there is none */
	uint64_t smoothed_rtt_ns;
	uint64_t min_rtt_ns; /* minimum of the connection */
	uint64_t total_delivered;
	uint64_t total_lost;
	uint64_t delivered_when_sent; /* total_delivered when the newest segment that it delivers was sent */
	uint64_t delivery_rate_bps;   /* 0 without a sample */
	uint32_t delivered;           /* newly */
	uint32_t lost;                /* newly */
	uint32_t marked;              /* newly delivered with a mark, if marks is not 0 */
	uint32_t in_flight;           /* after the ACK */
	uint8_t app_limited;          /* 1 if the sender had too little data when that segment was sent */
	uint8_t window_limited;       /* 1 if the window limited sending */
	uint8_t in_recovery;          /* 1 if losses are being repaired */
} fairlane_ack;

/* Events. */
#define FAIRLANE_OPEN 0          /* the handshake is over */
#define FAIRLANE_LOSS 1          /* recovery begins */
#define FAIRLANE_MARK 2          /* a mark, once per round trip */
#define FAIRLANE_TIMEOUT 3
#define FAIRLANE_RECOVERY_ENDS 4
#define FAIRLANE_UNDO 5          /* the last congestion event was spurious */
#define FAIRLANE_IDLE 6          /* data will be sent after an idle time */

/* Version of the table below; changes with the table or the meaning of its functions. */
#define FAIRLANE_CONGESTION_CONTROL_VERSION 1

/*
 * A congestion control: functions that are called with the state of a connection, all in the thread that runs the
 * simulation. Null functions are not called. If a function with an int result returns another value than 0, the run
 * ends.
 */
typedef struct fairlane_congestion_control {
	uint32_t version; /* FAIRLANE_CONGESTION_CONTROL_VERSION */
	size_t size;      /* sizeof(fairlane_congestion_control) */
	const char *name; /* in scenarios, before built-in ones; of two with the same name the first is used */
	void *context;    /* argument of create; without create it is the state */
	int kind;         /* 0: always sets the window, requires on_ack; 1: leaves slow start and recovery to the sender,
			     requires grow and reduce */
	int marks;        /* feedback on marks: 0 one per round trip; 1 all, packets with ECT(0); 2 all, with ECT(1) */
	void *(*create)(void *context, uint32_t mss, uint64_t seed); /* a null result ends the run */
	void (*destroy)(void *state);                                /* state from create */
	int (*on_sent)(void *state, const fairlane_segment *segment, fairlane_output *output);
	int (*on_delivered)(void *state, const fairlane_segment *segment, fairlane_output *output);
	int (*on_lost)(void *state, const fairlane_segment *segment, fairlane_output *output);
	int (*on_ack)(void *state, const fairlane_ack *ack, fairlane_output *output);
	int (*on_event)(void *state, int event, uint64_t now_ns, fairlane_output *output);
	uint32_t (*grow)(void *state, uint32_t window, uint32_t segments, uint64_t now_ns); /* new window, not 0 */
	uint32_t (*reduce)(void *state, uint32_t window, uint64_t outstanding, uint64_t in_flight, int event); /* as grow */
} fairlane_congestion_control;

/*
 * Runs a replication (from 0) of a scenario, given as the text of its file (TOML, or JSON if it begins with a brace).
 * Its senders may use the count controls. *record is JSON; free it with fairlane_record_free. An error in the text or
 * in a table, or a control that fails, results in FAIRLANE_CONFIG with a line in message, as for queues.
 */
fairlane_status fairlane_simulate(const char *scenario, uint32_t replication,
				  const fairlane_congestion_control *const *controls, size_t count, char **record,
				  char *message, size_t message_size);
void fairlane_record_free(char *record);

/* ---- Libraries of schemes, loaded by `fairlane run --scheme-lib libmine.so` ---- */

/* Version of the tables below; changes with a table or the meaning of its functions. */
#define FAIRLANE_SCHEME_VERSION 1

/*
 * A parameter of a scheme: a key of [queue]. Texts are UTF-8; values have the scenario's notation ("5 ms", "0.5"),
 * without quotes. Null means absent.
 */
typedef struct fairlane_parameter {
	const char *name;
	const char *kind;          /* time, rate, size, threshold, count, number, probability, flag, text or choice */
	const char *default_value; /* null: the key may be absent */
	const char *least, *most;  /* both or none */
	const char *choices;       /* for a choice: values separated by commas */
	const char *doc;           /* description */
} fairlane_parameter;

typedef struct fairlane_value {
	/* in s, bit/s, bytes, packets or without a unit; 0 or 1 for a flag; index of a choice; else NaN */
	double number;
	const char *text; /* in the scenario's notation, with all digits; null if it is absent */
} fairlane_value;

/* Properties of a port for its scheme; all pointers are valid only during the call. */
typedef struct fairlane_port {
	uint64_t limit_packets; /* maximum number of waiting packets; 0 if the limit is in bytes */
	uint64_t limit_bytes;   /* maximum number of waiting bytes; 0 if the limit is in packets */
	uint64_t mtu_bytes;     /* of a full packet */
	uint64_t rate_bps;      /* initial rate of the link; 0 in check */
	uint64_t seed;          /* for all random numbers of the scheme; differs by run and port */
	const double *weights;  /* of the first weight_count users; all others have weight 1 */
	size_t weight_count;
	const fairlane_value *values; /* of the parameters, in the order of their declaration */
	size_t value_count;
} fairlane_port;

/* Receives a reading: its name with unit, which must live as long as the library, and its value. */
typedef void (*fairlane_on_reading)(void *context, const char *name, double value);

/*
 * A scheme: functions that are called with the state of a port. If a function with an int result returns another value
 * than 0, the run ends with an error line that contains the message. Times are ps on the simulator's clock, which never
 * runs backwards, as for built-in schemes. The packets stay with the host: a scheme copies the fields that it needs and
 * returns the packet's id. Each offered packet must be returned by dequeue or passed to on_drop exactly once; the host
 * checks this.
 *
 * Only one thread at a time uses a state; create, and functions of different states, may run concurrently. A function
 * must not be left by an exception or a jump: an exception ends the process, and so does abort(). A scheme must use no
 * clock, and only random numbers derived from the seed, so that the same scenario and seed give the same results.
 */
typedef struct fairlane_scheme {
	size_t size;         /* sizeof(fairlane_scheme) */
	const char *name;    /* in scenarios: lower-case letters, digits, - and _; begins with a letter */
	const char *summary; /* one sentence; may be null */
	const char *marker;  /* marker that writes its labels, such as "abc"; null for none */
	const fairlane_parameter *parameters;
	size_t parameter_count;
	/* Checks conditions on several parameters; message such as "least: 3 must be below most". May be null. */
	int (*check)(const fairlane_port *port, char *message, size_t message_size);
	int (*create)(const fairlane_port *port, void **state, char *message, size_t message_size);
	void (*destroy)(void *state);
	/* Stores a packet, or passes it or others to on_drop, so that the backlog stays within the limit. */
	int (*enqueue)(void *state, const fairlane_packet *packet, uint64_t now_ps, fairlane_on_drop on_drop, void *context);
	/* As fairlane_queue_dequeue. *found may be 0 only if no packet waits, or all were dropped in this call; the link
	   then becomes idle. In *packet only id and label (the new label of the packet) are used. */
	int (*dequeue)(void *state, uint64_t now_ps, fairlane_on_drop on_drop, void *context, fairlane_packet *packet,
		       uint8_t *found);
	/* All of the following may be null. */
	void (*set_rate)(void *state, uint64_t rate_bps);
	void (*failure)(const void *state, char *message, size_t message_size); /* why enqueue or dequeue failed */
	double (*drop_threshold)(const void *state); /* for the last arrival; NaN if there is none: not called again */
	void (*state_size)(const void *state, size_t *records, size_t *bytes); /* of the scheme, without packets */
	void (*report)(const void *state, fairlane_on_reading on_reading, void *context);
} fairlane_scheme;

typedef struct fairlane_scheme_library {
	uint32_t version;    /* FAIRLANE_SCHEME_VERSION */
	size_t size;         /* sizeof(fairlane_scheme_library) */
	const char *name;    /* with its version and the hash of its file, in every result */
	const char *release; /* version of the library, such as "1.0.2" */
	const fairlane_scheme *const *schemes;
	size_t scheme_count;
} fairlane_scheme_library;

/*
 * The only function that a library defines: returns its table, which must live as long as the process, for a host with
 * this version; null if it does not support the version.
 */
const fairlane_scheme_library *fairlane_schemes(uint32_t host_version);

#ifdef __cplusplus
}
#endif

#endif

/* A host in C: uses every function of fairlane.h and prints results for the test in Rust. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "fairlane.h"

#define CHECK(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
			return 1; \
		} \
	} while (0)

struct drops {
	unsigned reasons[4];
	uint64_t last_id;
};

static void on_drop(void *context, const fairlane_packet *packet, uint8_t reason)
{
	struct drops *drops = context;

	drops->reasons[reason]++;
	drops->last_id = packet->id;
}

/* Passes packets through meter, AQM and averager with an artificial queue. Prints activity, threshold, verdict. */
static int abc(void)
{
	const fairlane_abc_meter_config meter = { 3000000000u, 10000, 1.0, 3.0 };
	const fairlane_abc_aqm_config aqm = { 6, 20, 16 };
	fairlane_abc_meter_state metered;
	fairlane_abc_averager_state averager;
	int i;

	CHECK(fairlane_abc_meter_reset(&metered, 0) == FAIRLANE_OK);
	CHECK(fairlane_abc_averager_reset(&averager) == FAIRLANE_OK);
	for (i = 0; i < 1000; i++) {
		uint64_t now_ns = 240000u * (uint64_t)(i + 1);
		double activity, average, threshold;
		uint8_t drop;

		CHECK(!fairlane_abc_meter_label(&meter, &metered, now_ns, 40 + i % 1461, i % 10 == 0, &activity));
		CHECK(!fairlane_abc_averager_average(&averager, &average));
		CHECK(!fairlane_abc_aqm_threshold(&aqm, activity, average, &threshold));
		CHECK(!fairlane_abc_aqm_verdict(i % 30, threshold, &drop));
		if (!drop)
			CHECK(!fairlane_abc_averager_accept(300000000u, &averager, activity, now_ns));
		printf("abc %.17g %.17g %d\n", activity, threshold, drop);
	}
	return 0;
}

static int queue(void)
{
	const fairlane_user users[2] = { { 10000, 1.0 }, { 20000, 1.0 } };
	fairlane_marker *marker;
	fairlane_queue *queue;
	fairlane_packet packet, next;
	fairlane_queue_stats_t stats;
	struct drops drops = { { 0 }, 0 };
	uint8_t found;
	int i;

	CHECK(!fairlane_marker_create("scheme = \"abc\"", users, 2, 0, 1, &marker, NULL, 0));
	CHECK(!fairlane_queue_create("{\"scheme\": \"abc\", \"limit\": \"24 packets\"}", 10000000, 1, &queue, NULL, 0));
	for (i = 0; i < 2000; i++) {
		uint64_t now_ns = 1000000u * (uint64_t)(i + 1);

		memset(&packet, 0, sizeof(packet));
		packet.id = i;
		packet.user = packet.flow = i % 4 == 0;
		packet.bytes = 1500;
		CHECK(!fairlane_marker_label(marker, &packet, now_ns));
		CHECK(!fairlane_queue_enqueue(queue, &packet, now_ns, on_drop, &drops));
		if (i % 6 != 0) { /* 10 Mbit/s: five packets in 6 ms */
			CHECK(!fairlane_queue_dequeue(queue, now_ns, on_drop, &drops, &next, &found));
			if (found)
				printf("sent %llu %.17g\n", (unsigned long long)next.id, next.label);
		}
	}
	CHECK(!fairlane_queue_set_rate(queue, 5000000));
	CHECK(!fairlane_queue_stats(queue, &stats));
	CHECK(stats.offered_packets == 2000 && stats.dropped_packets[0] > 0);
	CHECK(stats.dropped_packets[0] == drops.reasons[0] && stats.dropped_packets[1] == drops.reasons[1]);
	CHECK(stats.offered_packets == stats.sent_packets + stats.dropped_packets[0] + stats.dropped_packets[1] +
					       stats.dropped_packets[2] + stats.backlog_packets);
	printf("stats %llu %llu %.17g\n", (unsigned long long)stats.sent_packets,
	       (unsigned long long)stats.backlog_packets, stats.drop_threshold);
	fairlane_queue_destroy(queue);
	fairlane_marker_destroy(marker);
	return 0;
}

static int mistakes(void)
{
	fairlane_abc_meter_config meter = { 3000000000u, 10000, 1.0, 3.0 };
	fairlane_abc_meter_state state = { 0, 0, 0 }, before;
	fairlane_queue *queue = NULL;
	fairlane_user user = { 10000, 1.0 };
	fairlane_marker *marker;
	fairlane_packet packet = { 0 };
	char message[200];
	double activity = 7;

	CHECK(fairlane_abi_version() == FAIRLANE_ABI_VERSION);
	CHECK(!strcmp(fairlane_status_message(FAIRLANE_OK), "ok"));
	CHECK(!strcmp(fairlane_status_message(99), "unknown status"));
	CHECK(fairlane_abc_meter_reset(NULL, 0) == FAIRLANE_NULL);
	CHECK(fairlane_abc_meter_reset(&state, UINT64_MAX) == FAIRLANE_OUT_OF_RANGE);
	CHECK(fairlane_abc_meter_label(&meter, &state, 1, 100, 0, NULL) == FAIRLANE_NULL);
	CHECK(fairlane_abc_meter_label(&meter, &state, 1, 0, 0, &activity) == FAIRLANE_OUT_OF_RANGE);
	CHECK(fairlane_abc_meter_label(&meter, &state, 1, 100, 2, &activity) == FAIRLANE_OUT_OF_RANGE);
	meter.memory_ns = 999999;
	CHECK(fairlane_abc_meter_label(&meter, &state, 1, 100, 0, &activity) == FAIRLANE_OUT_OF_RANGE);
	meter.memory_ns = 3000000000u;
	meter.accounting_be = NAN;
	CHECK(fairlane_abc_meter_label(&meter, &state, 1, 100, 0, &activity) == FAIRLANE_OUT_OF_RANGE);
	meter.accounting_be = 1;
	state.measured = 2;
	before = state;
	CHECK(fairlane_abc_meter_label(&meter, &state, 1, 100, 0, &activity) == FAIRLANE_OUT_OF_RANGE);
	CHECK(!memcmp(&state, &before, sizeof(state)) && activity == 7);

	CHECK(fairlane_queue_create(NULL, 1, 1, &queue, message, sizeof(message)) == FAIRLANE_NULL);
	CHECK(fairlane_queue_create("scheme = \"abc\"", 0, 1, &queue, message, sizeof(message)) == FAIRLANE_OUT_OF_RANGE);
	CHECK(fairlane_queue_create("scheme = \"abcd\"", 1, 1, &queue, message, sizeof(message)) == FAIRLANE_CONFIG);
	CHECK(!strncmp(message, "queue.scheme: \"abcd\" is not one of ", 35));
	CHECK(fairlane_queue_create("scheme = ", 1, 1, &queue, message, sizeof(message)) == FAIRLANE_CONFIG);
	CHECK(!strncmp(message, "not TOML: ", 10));
	CHECK(fairlane_queue_create("{", 1, 1, &queue, message, 9) == FAIRLANE_CONFIG && strlen(message) == 8);
	CHECK(queue == NULL);
	CHECK(fairlane_queue_enqueue(NULL, &packet, 0, NULL, NULL) == FAIRLANE_NULL);
	fairlane_queue_destroy(NULL);
	fairlane_marker_destroy(NULL);

	CHECK(fairlane_marker_create("", NULL, 1, 0, 1, &marker, NULL, 0) == FAIRLANE_NULL);
	CHECK(fairlane_marker_create("scheme = \"abc\"", &user, 0, 0, 1, &marker, NULL, 0) == FAIRLANE_OUT_OF_RANGE);
	CHECK(!fairlane_marker_create("scheme = \"abc\"", &user, 1, 0, 1, &marker, NULL, 0));
	packet.bytes = 1500;
	packet.user = 1;
	CHECK(fairlane_marker_label(marker, &packet, 0) == FAIRLANE_OUT_OF_RANGE);
	fairlane_marker_destroy(marker);
	return 0;
}

/* Sizes and offsets that must be equal on both sides. */
static void layout(void)
{
	printf("layout %zu %zu %zu %zu %zu %zu %zu\n", sizeof(fairlane_abc_meter_config), sizeof(fairlane_abc_meter_state),
	       sizeof(fairlane_abc_averager_state), sizeof(fairlane_abc_aqm_config), sizeof(fairlane_packet),
	       sizeof(fairlane_queue_stats_t), sizeof(fairlane_user));
	printf("places %zu %zu %zu\n", offsetof(fairlane_packet, bytes), offsetof(fairlane_packet, ecn),
	       offsetof(fairlane_queue_stats_t, drop_threshold));
	printf("tables %zu %zu %zu %zu %zu\n", sizeof(fairlane_parameter), sizeof(fairlane_value), sizeof(fairlane_port),
	       sizeof(fairlane_scheme), sizeof(fairlane_scheme_library));
	printf("fields %zu %zu %zu %zu %zu %zu\n", offsetof(fairlane_parameter, choices), offsetof(fairlane_value, text),
	       offsetof(fairlane_port, values), offsetof(fairlane_scheme, enqueue), offsetof(fairlane_scheme, report),
	       offsetof(fairlane_scheme_library, schemes));
}

int main(void)
{
	layout();
	return abc() || queue() || mistakes();
}

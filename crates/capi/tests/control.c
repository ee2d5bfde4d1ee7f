/* Two congestion controls in C: Reno, for comparison with the built-in one, and one that always sets its window. */
#include "fairlane.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct connection {
	uint32_t mss;
	uint64_t sent, arrived, lost, reduced_ns;
	double window;
};

static int open_connections;

static void *create(void *context, uint32_t mss, uint64_t seed)
{
	struct connection *connection = calloc(1, sizeof *connection);

	(void)context;
	(void)seed;
	if (connection) {
		connection->mss = mss;
		connection->window = 10.0 * mss;
		open_connections++;
	}
	return connection;
}

static void destroy(void *state)
{
	open_connections--;
	free(state);
}

/* RFC 5681 3.1, eq. (3), for each segment that the ACK covers. */
static uint32_t grow(void *state, uint32_t window, uint32_t segments, uint64_t now_ns)
{
	const struct connection *connection = state;
	uint32_t step = connection->mss * connection->mss / window;

	(void)now_ns;
	return window + (step ? step : 1) * segments;
}

/* Eq. (4), applied to the window as in Linux. */
static uint32_t reduce(void *state, uint32_t window, uint64_t outstanding, uint64_t in_flight, int event)
{
	uint32_t used = outstanding < window ? (uint32_t)outstanding : window;

	(void)state;
	(void)in_flight;
	(void)event;
	return used > 1 ? used / 2 : 1;
}

static int on_sent(void *state, const fairlane_segment *segment, fairlane_output *output)
{
	struct connection *connection = state;

	(void)output;
	return segment->number == ++connection->sent ? 0 : 1;
}

static int on_delivered(void *state, const fairlane_segment *segment, fairlane_output *output)
{
	struct connection *connection = state;

	(void)output;
	connection->arrived += segment->bytes;
	connection->window += (double)connection->mss * segment->bytes / connection->window;
	return 0;
}

static int on_lost(void *state, const fairlane_segment *segment, fairlane_output *output)
{
	struct connection *connection = state;

	(void)output;
	if (segment->sent_ns >= connection->reduced_ns) {
		connection->reduced_ns = segment->now_ns;
		connection->window /= 2;
	}
	return 0;
}

static int on_ack(void *state, const fairlane_ack *ack, fairlane_output *output)
{
	struct connection *connection = state;

	if (ack->total_delivered != connection->arrived)
		return 2;
	if (connection->window < 2.0 * connection->mss)
		connection->window = 2.0 * connection->mss;
	output->window = (uint32_t)connection->window;
	return 0;
}

static int on_ack_failing(void *state, const fairlane_ack *ack, fairlane_output *output)
{
	(void)state;
	(void)ack;
	(void)output;
	return 7;
}

static int on_ack_zero(void *state, const fairlane_ack *ack, fairlane_output *output)
{
	(void)state;
	(void)ack;
	output->window = 0;
	return 0;
}

static void run(const char *control, const fairlane_congestion_control *const *controls, size_t count)
{
	static const char format[] = "run = { warmup = \"1 s\", measure = \"9 s\" }\n"
				     "topology = { bottleneck_delay = \"20 ms\", access_limit = \"1000 packets\" }\n"
				     "queue = { scheme = \"droptail\", limit = \"33 packets\" }\n"
				     "tcp = { profile = \"linux\", whole_windows = false, congestion_control = \"%s\" }\n"
				     "groups = [{ start_until = \"0 s\", sources = [{ kind = \"tcp\", flows = 2 }] }]\n";
	char text[sizeof format + 64], message[200] = "", *record = NULL;
	fairlane_status status;

	snprintf(text, sizeof text, format, control);
	status = fairlane_simulate(text, 0, controls, count, &record, message, sizeof message);
	printf("%s %d %s%s\n", control, (int)status, message, record ? record : "");
	fairlane_record_free(record);
}

/* First fields of every table. */
#define TABLE(of) .version = FAIRLANE_CONGESTION_CONTROL_VERSION, .size = sizeof(of)

int main(void)
{
	fairlane_congestion_control reno = {
		TABLE(reno), .name = "c-reno", .kind = 1, .create = create, .destroy = destroy, .grow = grow,
		.reduce = reduce,
	};
	fairlane_congestion_control aimd = {
		TABLE(aimd), .name = "c-aimd", .create = create, .destroy = destroy, .on_sent = on_sent,
		.on_delivered = on_delivered, .on_lost = on_lost, .on_ack = on_ack,
	};
	fairlane_congestion_control failing = {TABLE(failing), .name = "c-failing", .on_ack = on_ack_failing};
	/* Its state is the context, which the library does not destroy. */
	fairlane_congestion_control zero = {
		TABLE(zero), .name = "c-zero", .destroy = destroy, .context = &open_connections, .on_ack = on_ack_zero,
	};
	fairlane_congestion_control newer = {.version = 2, .size = 8, .name = "c-newer", .on_ack = on_ack};
	fairlane_congestion_control shorter = {TABLE(shorter), .name = "c-short", .on_ack = on_ack};
	fairlane_congestion_control deaf = {TABLE(deaf), .name = "c-deaf"};
	fairlane_congestion_control half = {TABLE(half), .name = "c-half", .kind = 1, .grow = grow};
	fairlane_congestion_control kind = {TABLE(kind), .name = "c-kind", .kind = 2, .on_ack = on_ack};
	fairlane_congestion_control marks = {TABLE(marks), .name = "c-marks", .marks = 3, .on_ack = on_ack};
	const fairlane_congestion_control *all[] = {&reno, &aimd, &failing, &zero};
	const fairlane_congestion_control *wrong[] = {&newer, &shorter, &deaf, &half, &kind, &marks};
	size_t i;

	shorter.size -= 8;
	run("reno", NULL, 0);
	run("c-reno", all, 4);
	run("c-aimd", all, 4);
	run("c-failing", all, 4);
	run("c-zero", all, 4);
	run("c-none", all, 4);
	for (i = 0; i < sizeof wrong / sizeof *wrong; i++)
		run(wrong[i]->name, &wrong[i], 1);
	printf("open %d\n", open_connections);
	return 0;
}

/*
 * Drop-tail in C, with an optional limit below that of the scenario:
 *
 *     cc -O2 -shared -fPIC -I crates/capi/include -o libmy_schemes.so examples/scheme-lib-c/my_schemes.c
 *     fairlane run scenario.toml --scheme-lib libmy_schemes.so --set queue.scheme=my-fifo --set queue.most=10
 */
#include "fairlane.h"
#include <math.h>
#include <stdlib.h>

struct fifo {
	uint64_t most_packets, most_bytes; /* 0: no limit */
	uint64_t packets, bytes, first, room;
	fairlane_packet *ring; /* room is a power of two */
};

static int create(const fairlane_port *port, void **state, char *message, size_t message_size)
{
	struct fifo *fifo = calloc(1, sizeof *fifo);
	double most = port->values[0].number; /* NaN if it is absent */

	(void)message, (void)message_size;
	if (!fifo)
		return 1;
	fifo->room = 16;
	fifo->ring = malloc(fifo->room * sizeof *fifo->ring);
	fifo->most_packets = port->limit_packets;
	fifo->most_bytes = port->limit_bytes;
	if (!isnan(most) && (fifo->most_packets == 0 || most < (double)fifo->most_packets))
		fifo->most_packets = (uint64_t)most;
	*state = fifo;
	return fifo->ring ? 0 : 1;
}

static void destroy(void *state)
{
	struct fifo *fifo = state;

	free(fifo->ring);
	free(fifo);
}

static int grow(struct fifo *fifo)
{
	fairlane_packet *ring = malloc(2 * fifo->room * sizeof *ring);
	uint64_t i;

	if (!ring)
		return 1;
	for (i = 0; i < fifo->packets; i++)
		ring[i] = fifo->ring[(fifo->first + i) & (fifo->room - 1)];
	free(fifo->ring);
	fifo->ring = ring;
	fifo->first = 0;
	fifo->room *= 2;
	return 0;
}

static int enqueue(void *state, const fairlane_packet *packet, uint64_t now_ps, fairlane_on_drop on_drop, void *context)
{
	struct fifo *fifo = state;

	(void)now_ps;
	if ((fifo->most_packets && fifo->packets >= fifo->most_packets) ||
	    (fifo->most_bytes && fifo->bytes + packet->bytes > fifo->most_bytes)) {
		on_drop(context, packet, FAIRLANE_DROP_OVERLIMIT);
		return 0;
	}
	if (fifo->packets == fifo->room && grow(fifo))
		return 1;
	fifo->ring[(fifo->first + fifo->packets++) & (fifo->room - 1)] = *packet;
	fifo->bytes += packet->bytes;
	return 0;
}

static int dequeue(void *state, uint64_t now_ps, fairlane_on_drop on_drop, void *context, fairlane_packet *packet,
		   uint8_t *found)
{
	struct fifo *fifo = state;

	(void)now_ps, (void)on_drop, (void)context;
	*found = fifo->packets > 0;
	if (*found) {
		*packet = fifo->ring[fifo->first];
		fifo->first = (fifo->first + 1) & (fifo->room - 1);
		fifo->packets--;
		fifo->bytes -= packet->bytes;
	}
	return 0;
}

static const fairlane_parameter parameters[] = {
	{.name = "most", .kind = "count", .least = "1", .most = "1000000",
	 .doc = "Maximum number of waiting packets, if less than the limit."},
};

static const fairlane_scheme fifo = {
	.size = sizeof(fairlane_scheme),
	.name = "my-fifo",
	.summary = "Accepts every packet until the queue is full.",
	.parameters = parameters,
	.parameter_count = 1,
	.create = create,
	.destroy = destroy,
	.enqueue = enqueue,
	.dequeue = dequeue,
};

static const fairlane_scheme *const schemes[] = {&fifo};

static const fairlane_scheme_library library = {
	.version = FAIRLANE_SCHEME_VERSION,
	.size = sizeof(fairlane_scheme_library),
	.name = "my_schemes",
	.release = "0.1.0",
	.schemes = schemes,
	.scheme_count = 1,
};

const fairlane_scheme_library *fairlane_schemes(uint32_t host_version)
{
	(void)host_version;
	return &library;
}

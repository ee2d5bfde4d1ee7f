// SPDX-License-Identifier: MIT OR Apache-2.0
/*
 * First and only process of the guest: builds the network of a plan, is all senders and receivers, writes the result.
 *
 * One loop over epoll and one timer: events by time are kept in a heap. Sockets of all hosts belong to this process;
 * each was opened in the network namespace of its host.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/sockios.h>
#include <linux/tcp.h>
#include <math.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RUN "/run/fairlane"
#define MOST_HOSTS 4096
#define MOST_FLOWS 16384
#define MOST_STREAMS 2048
#define MOST_WORDS 64
#define LONGEST_LINE 500
#define FIRST_ADDRESS 0x0a010001u
#define FIRST_PORT 10000
#define UNSENT_BYTES (128 << 10) /* data that waits in a socket beyond the window */
#define CHUNK_BYTES (64 << 10)
#define MOST_READ (1 << 30)
#define SEGMENT_BYTES 1448
#define BATCH 64 /* datagrams whose times the kernel gets at once */
#define DRAWS 256 /* random numbers that the kernel gets at once */
#define MOST_DEVIATIONS 4.0 /* range of netem's tables */
#define EARLY_NS 1000 /* the kernel gets the time of the first datagram this much earlier */
#define OPTIONS_BYTES 12 /* which TCP_MAXSEG includes */

enum kind { TCP, CBR, POISSON, ON_OFF };
enum ending { TIMER, RECEIVER, SENDER, LISTENER, STREAMS };

/* Generator of a random stream of the simulator: xoshiro256++, as crates/schemes/src/base/rng.rs. */
struct generator {
	uint64_t s[4];
};

/* Random numbers of the impairments of a link, or of all access links of a group. */
struct stream {
	struct generator generator;
	uint64_t ahead; /* the next number */
	char distribution; /* of the jitter, by its first letter */
	double deviation_ps;
	bool is_full; /* the kernel has not taken the last numbers */
	struct {
		uint32_t index, count;
		struct {
			uint64_t bits;
			int64_t deviation_ns;
		} drawn[DRAWS];
	} next;
};

struct transfer {
	uint64_t start_ns, end_ns;
};

struct flow {
	enum kind kind;
	int sender, receiver;
	uint64_t start_ns, stop_ns;
	char control[16];
	bool ecn;
	uint64_t bytes, pause_ns;
	uint64_t app_bps, limit_from_ns, limit_until_ns; /* rate of the application, and when it applies */
	uint64_t back_ns; /* from the last byte to its ACK at the sender */
	uint64_t repeat; /* transfers still to come, without the present one; ENDLESS: without end */
	int mss;
	struct generator generator;
	uint64_t gap_ps, off_ps, burst_left;
	double jitter, burst_gaps, shape; /* shape of a Pareto distribution of bursts; 0 for an exponential one */
	/* State. */
	int fd, listener, accepted;
	bool open, waits;
	bool connected;
	bool limited; /* the application has its rate now */
	uint64_t clock_ns, writes; /* start of writing, or 0; number of segments written since then */
	uint64_t allowed, written; /* of the present transfer */
	uint64_t received, received_now;
	uint32_t connection; /* its number: writes that were planned for an older one are dropped */
	uint64_t send_at_ps;
	struct tcp_info before;
	uint64_t past_segments, past_retransmitted; /* of connections that ended within the window */
	uint64_t received_before;
	struct transfer *transfers;
	size_t transfer_count;
};
#define ENDLESS UINT64_MAX

enum action { START, STOP, WRITE, LIMIT, UNLIMIT, SEND, BEGIN, END, SAMPLE };

struct event {
	uint64_t at_ns, order;
	enum action action;
	int flow;
	uint32_t connection;
};

static int host_namespace[MOST_HOSTS], first_namespace;
static struct flow flows[MOST_FLOWS];
static int flow_count;
static struct event *heap;
static size_t heap_size, heap_room;
static uint64_t order, epoch_ns, begin_ns, end_ns, sample_ns;
static struct generator pauses; /* between transfers, of all flows */
static struct stream *streams[MOST_STREAMS];
static int stream_count;
static int poll_fd, timer_fd, datagrams_fd, draws_fd;
static char data[CHUNK_BYTES];
static FILE *samples;

/* ---- Errors ------------------------------------------------------------------------------------------------------ */

static void power_off(void)
{
	sync();
	reboot(RB_POWER_OFF);
	_exit(1);
}

static void __attribute__((noreturn, format(printf, 1, 2))) fail(const char *format, ...)
{
	FILE *file = fopen(RUN "/error", "w");
	va_list arguments;

	va_start(arguments, format);
	vfprintf(file ? file : stderr, format, arguments);
	va_end(arguments);
	if (file)
		fclose(file);
	power_off();
	abort();
}

static void check(bool well, const char *doing, int number)
{
	if (!well)
		fail("%s %d: %s", doing, number, strerror(errno));
}

/* ---- Events ------------------------------------------------------------------------------------------------------ */

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000000000ull + now.tv_nsec - epoch_ns;
}

static bool earlier(const struct event *a, const struct event *b)
{
	return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->order < b->order;
}

static void at(uint64_t at_ns, enum action action, int flow)
{
	size_t hole = heap_size++;
	struct event event = { at_ns, order++, action, flow, flows[flow].connection };

	if (heap_size > heap_room) {
		heap_room = 2 * heap_size + 64;
		heap = realloc(heap, heap_room * sizeof(*heap));
		check(heap, "memory for events", 0);
	}
	for (; hole && earlier(&event, &heap[(hole - 1) / 2]); hole = (hole - 1) / 2)
		heap[hole] = heap[(hole - 1) / 2];
	heap[hole] = event;
}

static struct event next_event(void)
{
	struct event first = heap[0], last = heap[--heap_size];
	size_t hole = 0, child;

	while ((child = 2 * hole + 1) < heap_size) {
		if (child + 1 < heap_size && earlier(&heap[child + 1], &heap[child]))
			child++;
		if (!earlier(&heap[child], &last))
			break;
		heap[hole] = heap[child];
		hole = child;
	}
	heap[hole] = last;
	return first;
}

/* SplitMix64. */
static uint64_t split(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static struct generator seeded(uint64_t seed)
{
	struct generator of;

	for (int word = 0; word < 4; word++)
		of.s[word] = split(&seed);
	return of;
}

static uint64_t rotated(uint64_t word, int by)
{
	return word << by | word >> (64 - by);
}

/* The next 52 bits. */
static uint64_t draw(struct generator *of)
{
	uint64_t *s = of->s, result = rotated(s[0] + s[3], 23) + s[0], t = s[1] << 17;

	s[2] ^= s[0];
	s[3] ^= s[1];
	s[1] ^= s[2];
	s[0] ^= s[3];
	s[2] ^= t;
	s[3] = rotated(s[3], 45);
	return result >> 12;
}

/* Uniform in (0, 1). */
static double open01(uint64_t bits)
{
	return (bits + 0.5) * 0x1p-52;
}

/* ---- Hosts ------------------------------------------------------------------------------------------------------- */

static void enter(int host)
{
	int fd = host < 0 ? first_namespace : host_namespace[host];

	check(setns(fd, CLONE_NEWNET) == 0, "namespace of host", host);
}

static void write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);

	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		fail("%s: cannot write \"%s\": %s", path, text, strerror(errno));
	close(fd);
}

static struct sockaddr_in address_of(int host, int port)
{
	struct sockaddr_in address = { .sin_family = AF_INET, .sin_port = htons(port) };

	address.sin_addr.s_addr = htonl(FIRST_ADDRESS + host);
	return address;
}

static void bring_up(const char *name, int host)
{
	struct ifreq request = { 0 };
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
	if (host >= 0) {
		struct sockaddr_in address = address_of(host, 0);

		memcpy(&request.ifr_addr, &address, sizeof(address));
		check(ioctl(fd, SIOCSIFADDR, &request) == 0, "address of host", host);
		address.sin_addr.s_addr = htonl(0xff000000);
		memcpy(&request.ifr_netmask, &address, sizeof(address));
		check(ioctl(fd, SIOCSIFNETMASK, &request) == 0, "netmask of host", host);
	}
	check(ioctl(fd, SIOCGIFFLAGS, &request) == 0, "flags of host", host);
	request.ifr_flags |= IFF_UP;
	check(ioctl(fd, SIOCSIFFLAGS, &request) == 0, "host up", host);
	close(fd);
}

static void add_host(int host, const char *command)
{
	if (host < 0 || host >= MOST_HOSTS)
		fail("host %d: must be below %d", host, MOST_HOSTS);
	check(unshare(CLONE_NEWNET) == 0, "new namespace of host", host);
	host_namespace[host] = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	check(host_namespace[host] >= 0, "namespace of host", host);
	write_file("/proc/fairlane", command);
	bring_up("h", host);
	enter(-1);
}

static void set_sysctl(int host, char **words, int count)
{
	char path[256] = "/proc/sys/", value[256] = "";

	strncat(path, words[0], 200);
	for (char *dot = path + 10; *dot; dot++)
		if (*dot == '.')
			*dot = '/';
	for (int word = 1; word < count; word++) {
		strncat(value, words[word], 100);
		strcat(value, " ");
	}
	enter(host);
	write_file(path, value);
	enter(-1);
}

static void run_tc(char **words)
{
	static const char *const paths[] = { "/sbin/tc", "/usr/sbin/tc", "/bin/tc", "/usr/bin/tc" };
	int child = fork(), status;

	if (child == 0) {
		int fd = open(RUN "/tc", O_WRONLY | O_CREAT | O_TRUNC, 0644);

		dup2(fd, 1);
		dup2(fd, 2);
		for (size_t path = 0; path < sizeof(paths) / sizeof(*paths); path++)
			execv(paths[path], words);
		dprintf(2, "tc: not found");
		_exit(127);
	}
	check(child > 0 && waitpid(child, &status, 0) == child, "tc", 0);
	if (status) {
		char said[400] = "", *line;
		int fd = open(RUN "/tc", O_RDONLY);

		if (read(fd, said, sizeof(said) - 1) < 0)
			*said = 0;
		if ((line = strchr(said, '\n')))
			*line = 0;
		fail("tc %s %s %s %s %s %s: %s", words[1], words[2], words[3], words[4], words[5], words[6], said);
	}
	unlink(RUN "/tc");
}

/* ---- Flows ------------------------------------------------------------------------------------------------------- */

static void watch(int fd, uint32_t events, int ending, int flow)
{
	struct epoll_event event = { events, { .u64 = (uint64_t)ending << 32 | (uint32_t)flow } };

	if (epoll_ctl(poll_fd, EPOLL_CTL_MOD, fd, &event) && epoll_ctl(poll_fd, EPOLL_CTL_ADD, fd, &event))
		fail("epoll: %s", strerror(errno));
}

static int new_socket(int host, const struct flow *flow)
{
	int fd, one = 1;

	enter(host);
	fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	check(fd >= 0, "socket of host", host);
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, flow->control, strlen(flow->control)))
		fail("congestion control %s: %s", flow->control, strerror(errno));
	if (flow->mss)
		setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &flow->mss, sizeof(flow->mss));
	enter(-1);
	return fd;
}

static void listen_for(int index)
{
	struct flow *flow = &flows[index];
	struct sockaddr_in address = address_of(flow->receiver, FIRST_PORT + index);

	flow->listener = new_socket(flow->receiver, flow);
	check(bind(flow->listener, (void *)&address, sizeof(address)) == 0, "bind for flow", index);
	check(listen(flow->listener, 16) == 0, "listen for flow", index);
	watch(flow->listener, EPOLLIN, LISTENER, index);
}

static void open_flow(int index)
{
	struct flow *flow = &flows[index];
	struct sockaddr_in to = address_of(flow->receiver, FIRST_PORT + index);
	int unsent = UNSENT_BYTES, at_once = flow->limited;

	flow->fd = new_socket(flow->sender, flow);
	flow->written = flow->received_now = 0;
	flow->connection++;
	memset(&flow->before, 0, sizeof(flow->before));
	setsockopt(flow->fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unsent, sizeof(unsent));
	setsockopt(flow->fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
	flow->connected = false;
	flow->clock_ns = 0;
	if (connect(flow->fd, (void *)&to, sizeof(to)) && errno != EINPROGRESS)
		fail("flow %d cannot connect: %s", index, strerror(errno));
	flow->open = true;
}

static int payload_of(const struct flow *flow)
{
	return flow->mss ? flow->mss - OPTIONS_BYTES : SEGMENT_BYTES;
}

static void write_more(int index)
{
	struct flow *flow = &flows[index];
	/* After a period with a rate the window may be longer than a chunk, whose end is sent as it is. */
	uint64_t left, most = flow->limit_until_ns ? CHUNK_BYTES / payload_of(flow) * payload_of(flow) : CHUNK_BYTES;

	while (flow->open) {
		ssize_t wrote;

		left = flow->bytes ? flow->bytes - flow->written : UINT64_MAX;
		if (flow->limited && left > flow->allowed)
			left = flow->allowed;
		if (!left)
			break;
		wrote = send(flow->fd, data, left < most ? left : most, MSG_NOSIGNAL);
		if (wrote <= 0) {
			if (errno == EAGAIN && !flow->waits && !flow->limited) {
				flow->waits = true;
				watch(flow->fd, EPOLLOUT, SENDER, index);
			}
			if (errno != EAGAIN && errno != ENOTCONN)
				flow->open = false;
			return;
		}
		flow->written += wrote;
		flow->allowed -= flow->limited ? wrote : 0;
	}
	if (flow->waits) {
		flow->waits = false;
		watch(flow->fd, 0, SENDER, index);
	}
}

static void wait_for_room(int index)
{
	flows[index].waits = true;
	watch(flows[index].fd, EPOLLOUT, SENDER, index);
}

static void plan_write(int index)
{
	struct flow *flow = &flows[index];
	unsigned __int128 bits = (unsigned __int128)8000000000 * payload_of(flow) * (flow->writes + 1);

	if (flow->app_bps)
		at(flow->clock_ns + (uint64_t)(bits / flow->app_bps), WRITE, index);
}

/* An application with a rate has written its first segment once the rate gives that many bits. */
static void start_writing(int index)
{
	struct flow *flow = &flows[index];

	flow->clock_ns = now_ns();
	flow->writes = flow->allowed = 0;
	plan_write(index);
	write_more(index); /* writes nothing, but ends the wait for room */
}

/* The application writes one segment at a time. Data that do not fit wait until the next write. */
static void accrue(int index)
{
	struct flow *flow = &flows[index];

	if (!flow->open || !flow->limited)
		return;
	flow->allowed += payload_of(flow);
	flow->writes++;
	write_more(index);
	plan_write(index);
}

/* The application takes back what it has written and TCP has not sent. */
static void take_back(struct flow *flow)
{
	char command[32];
	int unsent = 0;

	ioctl(flow->fd, SIOCOUTQNSD, &unsent);
	snprintf(command, sizeof(command), "unsent %d", flow->fd);
	write_file("/proc/fairlane", command);
	flow->written -= unsent;
}

static void limit(int index, bool is_limited)
{
	struct flow *flow = &flows[index];
	int at_once = is_limited;

	flow->limited = is_limited;
	if (!flow->open)
		return;
	setsockopt(flow->fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
	if (!flow->connected)
		return;
	if (is_limited) {
		take_back(flow);
		start_writing(index);
	} else {
		wait_for_room(index);
	}
}

/* The socket has room. The first time, this means that it is connected. */
static void writable(int index)
{
	struct flow *flow = &flows[index];

	flow->connected = true;
	if (flow->limited && !flow->clock_ns)
		start_writing(index);
	else
		write_more(index);
}

static void start_transfer(int index)
{
	struct flow *flow = &flows[index];

	if (flow->bytes) {
		flow->transfers = realloc(flow->transfers, (flow->transfer_count + 1) * sizeof(*flow->transfers));
		check(flow->transfers, "memory for transfers of flow", index);
		flow->transfers[flow->transfer_count++] = (struct transfer){ now_ns(), 0 };
	}
	open_flow(index);
	wait_for_room(index);
}

static double exponential(struct flow *flow, double mean)
{
	return -mean * log(open01(draw(&flow->generator)));
}

/* Length of a burst or silence. */
static double drawn_length(struct flow *flow, double mean)
{
	if (!flow->shape)
		return exponential(flow, mean);
	return mean * (flow->shape - 1) / flow->shape * pow(open01(draw(&flow->generator)), -1 / flow->shape);
}

/* Time from one datagram to the next, as in crates/sim/src/traffic/udp_source.rs. */
static uint64_t drawn_gap_ps(struct flow *flow)
{
	double width = flow->jitter * flow->gap_ps;
	uint64_t silence_ps = 0;

	if (flow->kind == POISSON)
		return exponential(flow, flow->gap_ps);
	if (flow->kind == CBR)
		return width ? flow->gap_ps + width * (open01(draw(&flow->generator)) - 0.5) : flow->gap_ps;
	if (!flow->burst_left) {
		flow->burst_left = fmin(fmax(round(drawn_length(flow, flow->burst_gaps)), 1), UINT32_MAX);
		silence_ps = drawn_length(flow, flow->off_ps);
	}
	flow->burst_left--;
	return flow->gap_ps + silence_ps;
}

/* Gives the kernel the times of the next datagrams, which are drawn here, where there are floating-point numbers. */
static void send_batch(int index)
{
	struct flow *flow = &flows[index];
	struct {
		uint32_t flow, count;
		uint64_t at_ns[BATCH];
	} batch = { index, 0, { 0 } };

	while (batch.count < BATCH) {
		uint64_t at_ns = flow->send_at_ps / 1000;

		if (flow->stop_ns && at_ns >= flow->stop_ns)
			break;
		batch.at_ns[batch.count++] = epoch_ns + at_ns;
		flow->send_at_ps += drawn_gap_ps(flow);
	}
	if (!batch.count)
		return;
	check(write(datagrams_fd, &batch, sizeof(batch)) == sizeof(batch), "datagrams of flow", index);
	at(batch.at_ns[batch.count - 1] - epoch_ns, SEND, index);
}

static void start(int index)
{
	struct flow *flow = &flows[index];

	if (flow->stop_ns && now_ns() >= flow->stop_ns)
		return;
	if (flow->kind == TCP) {
		start_transfer(index);
		return;
	}
	send_batch(index);
}

/* ---- Random numbers for links ------------------------------------------------------------------------------------ */

/* Deviation of the delay that this number gives, as in crates/sim/src/network/impairment/jitter.rs. */
static double deviation(const struct stream *of, double uniform)
{
	switch (of->distribution) {
	case 'u': return 2 * uniform - 1;
	case 'n':
		return fmax(-MOST_DEVIATIONS, fmin(MOST_DEVIATIONS, sqrt(-2 * log(uniform)) * cos(2 * M_PI * open01(of->ahead))));
	case 'p': return fmin(MOST_DEVIATIONS, (pow(uniform, -1.0 / 3) - 1.5) * (4.0 / 3));
	}
	return 0;
}

static void fill(struct stream *of)
{
	for (;; of->is_full = false) {
		if (!of->is_full) {
			for (of->next.count = 0; of->next.count < DRAWS; of->next.count++) {
				uint64_t bits = of->ahead;

				of->ahead = draw(&of->generator);
				of->next.drawn[of->next.count].bits = bits;
				of->next.drawn[of->next.count].deviation_ns =
					llround(deviation(of, open01(bits)) * of->deviation_ps / 1000);
			}
		}
		of->is_full = true;
		if (write(draws_fd, &of->next, sizeof(of->next)) != sizeof(of->next))
			break;
	}
	check(errno == EAGAIN, "random numbers of stream", of->next.index);
}

static void add_stream(uint64_t seed, char distribution, uint64_t deviation_ps, uint64_t links)
{
	struct stream *of = calloc(1, sizeof(*of));
	char command[96];

	check(of && stream_count < MOST_STREAMS, "memory for stream", stream_count);
	of->generator = seeded(seed);
	of->ahead = draw(&of->generator);
	of->distribution = distribution;
	of->deviation_ps = deviation_ps;
	of->next.index = stream_count;
	/* Four numbers may be needed for each at one instant, and the kernel cannot ask for more within it. */
	snprintf(command, sizeof(command), "stream %d %" PRIu64 " %d", stream_count, 16 * (DRAWS + links),
		 distribution == 'n' ? 2 : 1);
	write_file("/proc/fairlane", command);
	streams[stream_count++] = of;
	fill(of);
}

static struct tcp_info info_of(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t length = sizeof(info);

	if (fd > 0)
		getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length);
	return info;
}

static void count_past(struct flow *flow)
{
	struct tcp_info info = info_of(flow->fd);

	flow->past_segments += info.tcpi_data_segs_out - flow->before.tcpi_data_segs_out;
	flow->past_retransmitted += info.tcpi_total_retrans - flow->before.tcpi_total_retrans;
}

/* The next transfer uses a new connection; the old one stays open, so that no FIN is sent. */
static void transfer_ended(int index)
{
	struct flow *flow = &flows[index];
	struct epoll_event none = { 0 };
	uint64_t next_ns; /* after the last ACK and an exponential pause */

	flow->transfers[flow->transfer_count - 1].end_ns = now_ns();
	count_past(flow);
	epoll_ctl(poll_fd, EPOLL_CTL_DEL, flow->fd, &none);
	flow->open = flow->waits = false;
	flow->fd = 0;
	flow->before = (struct tcp_info){ 0 };
	if (!flow->repeat)
		return;
	flow->repeat -= flow->repeat != ENDLESS;
	next_ns = now_ns() + flow->back_ns + (uint64_t)(-log(open01(draw(&pauses))) * flow->pause_ns);
	if (!flow->stop_ns || next_ns < flow->stop_ns)
		at(next_ns, START, index);
}

static void receive(int index)
{
	struct flow *flow = &flows[index];
	ssize_t got;

	got = recv(flow->accepted, NULL, MOST_READ, MSG_TRUNC);
	if (got <= 0)
		return;
	flow->received += got;
	flow->received_now += got;
	if (flow->bytes && flow->received_now >= flow->bytes)
		transfer_ended(index);
}

static void accept_connection(int index)
{
	struct flow *flow = &flows[index];
	int fd = accept4(flow->listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	char command[32];

	if (fd < 0)
		return;
	flow->accepted = fd;
	if (flow->bytes) {
		watch(fd, EPOLLIN, RECEIVER, index);
		return;
	}
	snprintf(command, sizeof(command), "sink %d", fd);
	write_file("/proc/fairlane", command);
}

/* ---- Measurement ------------------------------------------------------------------------------------------------- */

static int tcp_fd(const struct flow *flow)
{
	return flow->kind == TCP ? flow->fd : 0;
}

/* Payload that the application has received: the kernel reads for endless flows. */
static uint64_t received(const struct flow *flow)
{
	return flow->kind == TCP && !flow->bytes ? info_of(flow->accepted).tcpi_bytes_received : flow->received;
}

static void begin(void)
{
	for (struct flow *flow = flows; flow < flows + flow_count; flow++) {
		flow->before = info_of(tcp_fd(flow));
		flow->past_segments = flow->past_retransmitted = 0;
		flow->received_before = received(flow);
	}
}

static void sample(void)
{
	uint64_t now = now_ns();

	if (!samples) {
		samples = fopen(RUN "/info.csv", "w");
		check(samples, "info.csv", 0);
		fputs("time_ns,flow,cwnd,ssthresh,srtt_us,unacked,sacked,lost,retransmitted,pacing_Bps,delivery_Bps,"
		      "min_rtt_us,state\n", samples);
	}
	for (int index = 0; index < flow_count; index++) {
		struct tcp_info info = info_of(tcp_fd(&flows[index]));

		if (flows[index].kind != TCP || !flows[index].open)
			continue;
		fprintf(samples, "%" PRIu64 ",%d,%u,%u,%u,%u,%u,%u,%u,%llu,%llu,%u,%u\n", now, index, info.tcpi_snd_cwnd,
			info.tcpi_snd_ssthresh, info.tcpi_rtt, info.tcpi_unacked, info.tcpi_sacked, info.tcpi_lost,
			info.tcpi_retrans, info.tcpi_pacing_rate, info.tcpi_delivery_rate, info.tcpi_min_rtt,
			info.tcpi_ca_state);
	}
	at(now + sample_ns, SAMPLE, 0);
}

/* The kernel has the counters of datagrams: a line a flow. */
static void write_flow(FILE *out, const struct flow *flow, const char *datagrams)
{
	struct tcp_info info = info_of(tcp_fd(flow));

	fprintf(out, "{\"sender\":%d,\"receiver\":%d", flow->sender, flow->receiver);
	if (flow->kind != TCP) {
		fprintf(out, ",\"kind\":\"udp\",%s}", datagrams);
		return;
	}
	fprintf(out, ",\"kind\":\"tcp\",\"received_bytes\":%" PRIu64, received(flow) - flow->received_before);
	fprintf(out, ",\"sent_segments\":%" PRIu64 ",\"retransmitted_segments\":%" PRIu64,
		flow->past_segments + info.tcpi_data_segs_out - flow->before.tcpi_data_segs_out,
		flow->past_retransmitted + info.tcpi_total_retrans - flow->before.tcpi_total_retrans);
	fprintf(out, ",\"rtt_us\":%u,\"min_rtt_us\":%u,\"cwnd\":%u,\"transfers\":[", info.tcpi_rtt, info.tcpi_min_rtt,
		info.tcpi_snd_cwnd);
	for (size_t one = 0; one < flow->transfer_count; one++)
		fprintf(out, "%s[%" PRIu64 ",%" PRIu64 "]", one ? "," : "", flow->transfers[one].start_ns,
			flow->transfers[one].end_ns);
	fputs("]}", out);
}

static void copy(const char *from, FILE *to)
{
	static char block[1 << 16];
	int fd = open(from, O_RDONLY);
	ssize_t got;

	check(fd >= 0, from, 0);
	while ((got = read(fd, block, sizeof(block))) > 0)
		fwrite(block, 1, got, to);
	close(fd);
}

static void end(void)
{
	FILE *out = fopen(RUN "/result.part", "w"), *datagrams = fopen("/proc/fairlane_datagrams", "r"), *trace;
	char line[256] = "";
	struct utsname name;

	check(out && datagrams, "result.json", 0);
	uname(&name);
	fprintf(out, "{\"schema\":1,\"release\":\"%s\",\"window_ns\":[%" PRIu64 ",%" PRIu64 "],\"clock_ns_at_end\":%" PRIu64,
		name.release, begin_ns, end_ns, now_ns());
	fputs(",\n\"links\":", out);
	copy("/proc/fairlane", out);
	fputs(",\n\"flows\":[", out);
	for (int index = 0; index < flow_count; index++) {
		if (flows[index].kind != TCP)
			check(fgets(line, sizeof(line), datagrams), "datagrams of flow", index);
		line[strcspn(line, "\n")] = 0;
		fputs(index ? ",\n " : "", out);
		write_flow(out, &flows[index], line);
	}
	fputs("]}\n", out);
	check(!ferror(out) && !fclose(out), "result.json", 0);
	trace = fopen(RUN "/trace.bin", "w");
	check(trace, "trace.bin", 0);
	copy("/proc/fairlane_trace", trace);
	fclose(trace);
	if (samples)
		fclose(samples);
	check(rename(RUN "/result.part", RUN "/result.json") == 0, "result.json", 0);
	power_off();
}

/* ---- The plan ---------------------------------------------------------------------------------------------------- */

static uint64_t number(char **words, int count, int index)
{
	char *rest;
	uint64_t value;

	if (index >= count)
		fail("plan: \"%s\" lacks value %d", words[0], index);
	value = strtoull(words[index], &rest, 10);
	if (*rest)
		fail("plan: \"%s\" has \"%s\", which is no number", words[0], words[index]);
	return value;
}

static double decimal(char **words, int count, int index)
{
	char *rest;
	double value;

	if (index >= count)
		fail("plan: \"%s\" lacks value %d", words[0], index);
	value = strtod(words[index], &rest);
	if (*rest)
		fail("plan: \"%s\" has \"%s\", which is no number", words[0], words[index]);
	return value;
}

static void add_flow(char **words, int count)
{
	struct flow *flow = &flows[flow_count];
	char command[96];

	if (flow_count == MOST_FLOWS)
		fail("plan: at most %d flows", MOST_FLOWS);
	flow->sender = number(words, count, 1);
	flow->receiver = number(words, count, 2);
	if (strcmp(words[0], "tcp") == 0) {
		snprintf(flow->control, sizeof(flow->control), "%s", words[3]);
		flow->ecn = number(words, count, 4);
		flow->start_ns = number(words, count, 5);
		flow->stop_ns = number(words, count, 6);
		flow->bytes = number(words, count, 7);
		flow->repeat = number(words, count, 8);
		flow->repeat = flow->repeat ? flow->repeat - 1 : ENDLESS;
		flow->pause_ns = number(words, count, 9);
		flow->mss = number(words, count, 10);
		flow->back_ns = number(words, count, 11);
		if (count > 12) {
			flow->app_bps = number(words, count, 12);
			flow->limit_from_ns = number(words, count, 13);
			flow->limit_until_ns = number(words, count, 14);
			flow->limited = !flow->limit_from_ns;
		}
		enter(flow->sender);
		write_file("/proc/sys/net/ipv4/tcp_ecn", flow->ecn ? "1" : "0");
		enter(-1);
	} else {
		flow->kind = strcmp(words[3], "cbr") == 0 ? CBR : strcmp(words[3], "poisson") == 0 ? POISSON : ON_OFF;
		flow->gap_ps = number(words, count, 4);
		snprintf(command, sizeof(command), "datagrams %d %d %d %" PRIu64 " %" PRIu64, flow_count, flow->sender,
			 flow->receiver, number(words, count, 5), number(words, count, 6));
		flow->send_at_ps = number(words, count, 7);
		flow->stop_ns = number(words, count, 8);
		flow->generator = seeded(number(words, count, 9));
		if (flow->kind == CBR)
			flow->jitter = decimal(words, count, 10);
		if (flow->kind == ON_OFF) {
			flow->burst_gaps = decimal(words, count, 10) / flow->gap_ps;
			flow->off_ps = number(words, count, 11);
			flow->shape = decimal(words, count, 12);
		}
		/* The simulator has drawn the time of the first packet. */
		if (flow->kind == CBR)
			draw(&flow->generator);
		else
			drawn_gap_ps(flow);
		write_file("/proc/fairlane", command);
		flow->start_ns = flow->send_at_ps / 1000;
		flow->start_ns -= flow->start_ns < EARLY_NS ? flow->start_ns : EARLY_NS;
	}
	if (flow->kind == TCP)
		listen_for(flow_count);
	at(flow->start_ns, START, flow_count);
	if (flow->limit_from_ns)
		at(flow->limit_from_ns, LIMIT, flow_count);
	if (flow->limit_until_ns)
		at(flow->limit_until_ns, UNLIMIT, flow_count);
	if (flow->stop_ns && flow->kind == TCP)
		at(flow->stop_ns, STOP, flow_count);
	flow_count++;
}

static void follow(char *line)
{
	char whole[LONGEST_LINE], *words[MOST_WORDS + 1];
	int count = 0;

	strcpy(whole, line);
	for (char *word = strtok(line, " \n"); word && count < MOST_WORDS; word = strtok(NULL, " \n"))
		words[count++] = word;
	words[count] = NULL;
	if (!count || *words[0] == '#')
		return;
	if (strcmp(words[0], "window") == 0) {
		begin_ns = number(words, count, 1);
		end_ns = number(words, count, 2);
	} else if (strcmp(words[0], "link") == 0) {
		char name[16];

		write_file("/proc/fairlane", whole);
		snprintf(name, sizeof(name), "l%" PRIu64, number(words, count, 1));
		bring_up(name, -1);
	} else if (strcmp(words[0], "tc") == 0) {
		run_tc(words);
	} else if (strcmp(words[0], "host") == 0) {
		char command[64];
		uint64_t host = number(words, count, 1);

		snprintf(command, sizeof(command), "host %" PRIu64 " %d", host, count > 2 && strcmp(words[2], "tso") == 0);
		add_host(host, command);
	} else if (strcmp(words[0], "sysctl") == 0) {
		set_sysctl(number(words, count, 1), words + 2, count - 2);
	} else if (strcmp(words[0], "pauses") == 0) {
		pauses = seeded(number(words, count, 1));
	} else if (strcmp(words[0], "stream") == 0) {
		add_stream(number(words, count, 1), *words[2], number(words, count, 3), number(words, count, 4));
	} else if (strcmp(words[0], "path") == 0 || strcmp(words[0], "trace") == 0 || strcmp(words[0], "rate") == 0 ||
		   strcmp(words[0], "opportunities") == 0 || strcmp(words[0], "impair") == 0 ||
		   strcmp(words[0], "lose") == 0) {
		write_file("/proc/fairlane", whole);
	} else if (strcmp(words[0], "tcp") == 0 || strcmp(words[0], "udp") == 0) {
		add_flow(words, count);
	} else if (strcmp(words[0], "info") == 0) {
		sample_ns = number(words, count, 1);
	} else {
		fail("plan: \"%s\" is no directive", words[0]);
	}
}

static void read_plan(void)
{
	FILE *plan = fopen(RUN "/plan", "r");
	char line[LONGEST_LINE];

	check(plan, "plan", 0);
	while (fgets(line, sizeof(line), plan))
		follow(line);
	fclose(plan);
	if (!end_ns)
		fail("plan: has no window");
}

static void stop(int index)
{
	struct flow *flow = &flows[index];

	flow->repeat = 0;
	if (flow->bytes) /* transfers that have started are completed */
		return;
	if (flow->connected)
		take_back(flow);
	flow->open = flow->waits = false;
	if (flow->fd)
		watch(flow->fd, 0, SENDER, index);
}

static void act(struct event event)
{
	switch (event.action) {
	case START: start(event.flow); break;
	case STOP: stop(event.flow); break;
	case WRITE:
		if (event.connection == flows[event.flow].connection)
			accrue(event.flow);
		break;
	case LIMIT: limit(event.flow, true); break;
	case UNLIMIT: limit(event.flow, false); break;
	case SEND: send_batch(event.flow); break;
	case BEGIN: begin(); break;
	case END: end(); break;
	case SAMPLE: sample(); break;
	}
}

/* The traffic starts a second after the network is built, at a whole second: all is at rest by then. */
static void start_clock(void)
{
	char command[96];

	epoch_ns = 0;
	epoch_ns = (now_ns() / 1000000000 + 2) * 1000000000;
	snprintf(command, sizeof(command), "window %" PRIu64 " %" PRIu64 " %" PRIu64, epoch_ns, begin_ns, end_ns);
	write_file("/proc/fairlane", command);
	at(begin_ns, BEGIN, 0);
	at(end_ns, END, 0);
	if (sample_ns)
		at(sample_ns, SAMPLE, 0);
}

static void set_timer(void)
{
	uint64_t due_ns = epoch_ns + heap[0].at_ns;
	struct itimerspec when = { .it_value = { due_ns / 1000000000, due_ns % 1000000000 } };

	timerfd_settime(timer_fd, TFD_TIMER_ABSTIME, &when, NULL);
}

/* Reading the clock costs virtual time, so it is read only when the timer has expired. */
static void act_on_time(void)
{
	while ((int64_t)(now_ns() - heap[0].at_ns) >= 0)
		act(next_event());
}

static void loop(void)
{
	struct epoll_event events[256];

	for (;;) {
		uint64_t set_for_ns = heap[0].at_ns;
		int count;

		set_timer();
		do {
			count = epoll_wait(poll_fd, events, 256, -1);
			for (int one = 0; one < count; one++) {
				int flow = (uint32_t)events[one].data.u64;

				switch (events[one].data.u64 >> 32) {
				case TIMER: act_on_time(); break;
				case RECEIVER: receive(flow); break;
				case SENDER: writable(flow); break;
				case LISTENER: accept_connection(flow); break;
				case STREAMS:
					for (int stream = 0; stream < stream_count; stream++)
						fill(streams[stream]);
				}
			}
		} while (heap[0].at_ns == set_for_ns);
	}
}

int main(void)
{
	struct epoll_event event = { EPOLLIN, { .u64 = (uint64_t)TIMER << 32 } };
	struct rlimit files = { 1 << 20, 1 << 20 };

	/*
	 * The run folder is the working directory of the kernel on the host. A path on the command line would seed the
	 * kernel's random numbers, and each run would differ.
	 */
	if (mount("none", "/proc", "proc", 0, NULL) || mount("none", "/run", "tmpfs", 0, NULL) || mkdir(RUN, 0755) ||
	    mount("none", RUN, "hostfs", 0, "/proc/self/cwd")) {
		fprintf(stderr, "fairlane: cannot mount the run folder: %s\n", strerror(errno));
		power_off();
	}
	/* In pages. By default a twelfth of the memory, beyond which receivers drop what came out of order. */
	write_file("/proc/sys/net/ipv4/tcp_mem", "1000000000 1000000000 1000000000");
	setrlimit(RLIMIT_NOFILE, &files);
	first_namespace = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	poll_fd = epoll_create1(EPOLL_CLOEXEC);
	timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	epoll_ctl(poll_fd, EPOLL_CTL_ADD, timer_fd, &event);
	datagrams_fd = open("/proc/fairlane_datagrams", O_WRONLY | O_CLOEXEC);
	draws_fd = open("/proc/fairlane_draws", O_WRONLY | O_CLOEXEC);
	read_plan();
	if (stream_count)
		watch(draws_fd, EPOLLOUT, STREAMS, 0);
	start_clock();
	loop();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* echo_load.c - a closed-loop client of an echo server that counts exactly.
 *
 * echo_load PORT CONNECTIONS SECONDS WARM_SECONDS [memcached]
 *
 * One kernel thread, epoll, one message of 64 bytes in flight per connection. Each
 * message contains the connection's number and a counter, and every byte that comes
 * back is compared. With memcached, each message asks for one value of 64 bytes, which
 * the first connection has stored. Many connections need more ports than one address
 * has, so they come from 127.0.0.2, .3, ...
 *
 * It stops at quiet points, so that the harness can read the server's CPU time and
 * memory. Before the first connection it prints BEGIN; when each connection has had one
 * answer and nothing is in flight, IDLE; after the warm-up READY; after the measured
 * time "DONE name=value ...". After each of these lines it waits for a line on stdin.
 * Before the last three it first completes what is in flight. An error ends it with
 * status 1. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "../lib/bench.h"

#define MESSAGE 64
#define WORDS (MESSAGE / sizeof(uint64_t))
#define MOST (MESSAGE + 64) /* bytes of a message or an answer */
#define KEY "bench"
#define STORED "STORED\r\n"
#define PER_ADDRESS 10000
#define BATCH 64 /* connections made at a time */
#define EVENTS 512
#define LATE_NS ((int64_t)30 * 1000000000)
#define STEP_NS 1000
#define STEPS 30000000 /* up to what counts as late; pages come as they are used */

struct conn {
	int fd;
	uint32_t done; /* bytes of the answer that have arrived */
	uint64_t count;
	int64_t sent;
};

static struct conn *conns;
static uint32_t hist[STEPS];
static int ep, nconns, made, in_flight, issuing, recording;
static uint64_t requests;
static int memcached;

static void fail(const struct conn *c, const char *what, int err)
{
	fprintf(stderr, "connection %d of %d, message %llu: %s%s%s\n", (int)(c - conns),
		nconns, (unsigned long long)c->count, what, err ? ": " : "",
		err ? strerror(err) : "");
	exit(1);
}

static void fill(const struct conn *c, uint64_t m[WORDS])
{
	uint64_t seed = rng_seed((uint64_t)(c - conns) << 32 | c->count);

	for (size_t i = 0; i < WORDS; i++)
		m[i] = rng_next(&seed);
}

static size_t answer_to(const struct conn *c, char m[MOST])
{
	uint64_t words[WORDS];

	if (memcached)
		return (size_t)sprintf(m, "VALUE " KEY " 0 %d\r\n%0*d\r\nEND\r\n",
				       MESSAGE, MESSAGE, 1);
	fill(c, words);
	memcpy(m, words, MESSAGE);
	return MESSAGE;
}

static void send_message(struct conn *c)
{
	size_t len = sizeof("get " KEY "\r\n") - 1;
	char m[MOST] = "get " KEY "\r\n";
	ssize_t n;

	c->count++;
	c->done = 0;
	if (!memcached)
		len = answer_to(c, m);
	c->sent = now_ns();
	in_flight++;
	n = send(c->fd, m, len, MSG_NOSIGNAL);
	if (n != (ssize_t)len)
		fail(c, "send", n < 0 ? errno : 0);
}

static void answered(struct conn *c)
{
	in_flight--;
	if (recording) {
		int64_t step = (now_ns() - c->sent) / STEP_NS;

		requests++;
		hist[step < STEPS ? step : STEPS - 1]++;
	}
	if (issuing)
		send_message(c);
}

static void readable(struct conn *c)
{
	char want[MOST], got[MOST + 1];
	size_t len = answer_to(c, want);
	ssize_t n = recv(c->fd, got, sizeof(got), MSG_DONTWAIT);

	if (n < 0 && errno == EAGAIN)
		return;
	if (n <= 0)
		fail(c, n ? "recv" : "the server closed it", n ? errno : 0);
	if ((size_t)n > len - c->done)
		fail(c, "more bytes than are due", 0);
	if (memcmp(got, want + c->done, (size_t)n) != 0)
		fail(c, "wrong bytes", 0);
	c->done += (uint32_t)n;
	if (c->done == len)
		answered(c);
}

static void poll_once(int timeout)
{
	struct epoll_event ev[EVENTS];
	int n = epoll_wait(ep, ev, EVENTS, timeout);

	for (int i = 0; i < n; i++)
		readable(&conns[ev[i].data.u32]);
}

/* Runs until nothing is in flight. */
static void drain(void)
{
	int64_t end = now_ns() + LATE_NS;
	char m[MOST];

	issuing = 0;
	while (in_flight > 0 && now_ns() < end)
		poll_once(100);
	for (struct conn *c = conns; in_flight > 0 && c < conns + made; c++)
		if (c->done < answer_to(c, m))
			fail(c, "no answer for 30 s", 0);
}

static void connect_one(struct conn *c, int port)
{
	uint32_t i = (uint32_t)(c - conns);
	struct sockaddr_in from = { .sin_family = AF_INET };
	struct sockaddr_in to = { .sin_family = AF_INET,
				  .sin_port = htons((uint16_t)port),
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct epoll_event ev = { .events = EPOLLIN, .data.u32 = i };
	int one = 1;

	from.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1 + i / PER_ADDRESS);
	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		fail(c, "socket", errno);
	setsockopt(c->fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &one, sizeof(one));
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	if (bind(c->fd, (struct sockaddr *)&from, sizeof(from)) ||
	    connect(c->fd, (struct sockaddr *)&to, sizeof(to)) ||
	    epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev))
		fail(c, "connect", errno);
}

static void store_value(struct conn *c)
{
	char m[MOST];
	int n = snprintf(m, sizeof(m), "set " KEY " 0 0 %d\r\n%0*d\r\n", MESSAGE,
			 MESSAGE, 1);

	if (send(c->fd, m, (size_t)n, MSG_NOSIGNAL) != n ||
	    recv(c->fd, m, sizeof(STORED) - 1, MSG_WAITALL) != sizeof(STORED) - 1 ||
	    memcmp(m, STORED, sizeof(STORED) - 1) != 0)
		fail(c, "set", errno);
}

/* Each connection has had an answer, so the server has a thread for it. */
static void connect_all(int port)
{
	for (; made < nconns; made++) {
		connect_one(&conns[made], port);
		if (memcached && !made)
			store_value(&conns[0]);
		send_message(&conns[made]);
		if (made % BATCH == BATCH - 1)
			drain();
	}
	drain();
}

static void run_for(double seconds)
{
	int64_t end = now_ns() + (int64_t)(seconds * 1e9);

	issuing = 1;
	for (int i = 0; i < nconns; i++)
		send_message(&conns[i]);
	while (now_ns() < end)
		poll_once(10);
	drain();
}

static void stop_at(const char *word)
{
	char line[64];

	printf("%s\n", word);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
}

static double quantile_us(double q)
{
	uint64_t sum = 0;

	for (int i = 0; i < STEPS; i++)
		if ((double)(sum += hist[i]) >= q * (double)requests)
			return i * (STEP_NS / 1000.0);
	return STEPS * (STEP_NS / 1000.0);
}

static void measure(double seconds)
{
	char words[256];
	int64_t t0 = now_ns(), cpu0 = cpu_ns();

	recording = 1;
	run_for(seconds);
	snprintf(words, sizeof(words),
		 "DONE requests=%llu seconds=%.6f cpu=%.6f p50=%.0f p99=%.0f",
		 (unsigned long long)requests, (double)(now_ns() - t0) / 1e9,
		 (double)(cpu_ns() - cpu0) / 1e9, quantile_us(0.5), quantile_us(0.99));
	stop_at(words);
}

int main(int argc, char **argv)
{
	memcached = argc == 6 && !strcmp(argv[5], "memcached");
	if (argc != 5 && !memcached) {
		fprintf(stderr,
			"usage: echo_load PORT CONNECTIONS SECONDS WARM [memcached]\n");
		return 2;
	}
	nconns = atoi(argv[2]);
	conns = calloc((size_t)nconns, sizeof(*conns));
	ep = epoll_create1(EPOLL_CLOEXEC);
	if (!conns || ep < 0)
		die("echo_load", errno);
	stop_at("BEGIN");
	connect_all(atoi(argv[1]));
	stop_at("IDLE");
	run_for(atof(argv[4]));
	stop_at("READY");
	measure(atof(argv[3]));
	return 0;
}

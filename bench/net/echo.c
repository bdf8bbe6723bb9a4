/* SPDX-License-Identifier: Apache-2.0 */
/* echo.c - net-echo: a server that echoes 256 bytes on 32 connections, and its client,
 * each in a network namespace of its own (veth.py, which also counts).
 *
 *   serve HOW HOST NET
 *      HOW: threads|epoll|poll|uk|net|sqpoll|batch. It runs on CPU HOST; a variant with
 *      a CPU for the network uses CPU NET. It says "ready", and ends with its
 *      connections.
 *   load ADDRESS N RATE [TIMES]
 *      RATE 0: always one request in flight on each connection. Otherwise RATE requests
 *      a second, each on the next connection, with its latency measured from when it
 *      was due. It says "begin" and "end" and waits for a line each time, so that the
 *      counters see only the N requests. It does that TIMES times, and prints the
 *      latencies of the last. */
#include <uk/uk.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>

#include "bench.h"

#ifndef CONNECTIONS
#define CONNECTIONS 32
#endif
#define BYTES 256
#define PORT 7777

static int listener, host, net;

static void stay_on(int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		die("sched_setaffinity", errno);
}

static int accept_one(void)
{
	int one = 1, c = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (c < 0 || setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("accept", errno);
	return c;
}

/* -- the servers; each ends when all connections have ended -- */

static void *blocking(void *arg)
{
	int c = (int)(intptr_t)arg;
	char b[BYTES];
	ssize_t r;

	while ((r = recv(c, b, sizeof(b), 0)) > 0)
		if (send(c, b, (size_t)r, MSG_NOSIGNAL) != r)
			die("send", errno);
	return NULL;
}

static void serve_threads(void)
{
	pthread_t t[CONNECTIONS];

	for (int i = 0; i < CONNECTIONS; i++)
		if (pthread_create(&t[i], NULL, blocking,
				   (void *)(intptr_t)accept_one()))
			die("pthread_create", EAGAIN);
	for (int i = 0; i < CONNECTIONS; i++)
		pthread_join(t[i], NULL);
}

struct poll_params {
	uint32_t usecs;
	uint16_t budget;
	uint8_t prefer, pad;
};

static void serve_epoll(bool polls)
{
	struct poll_params params = { .usecs = 200, .budget = 64, .prefer = 1 };
	int e = epoll_create1(EPOLL_CLOEXEC), left = CONNECTIONS;

	if (polls && ioctl(e, _IOW(0x8A, 1, struct poll_params), &params))
		die("EPIOCSPARAMS", errno);
	for (int i = 0; i < CONNECTIONS; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.fd = accept_one() };

		if (epoll_ctl(e, EPOLL_CTL_ADD, ev.data.fd, &ev))
			die("epoll_ctl", errno);
	}
	while (left) {
		struct epoll_event ev[CONNECTIONS];
		int n = epoll_wait(e, ev, CONNECTIONS, -1);

		for (int i = 0; i < n; i++) {
			char b[BYTES];
			ssize_t r = recv(ev[i].data.fd, b, sizeof(b), MSG_DONTWAIT);

			if (r > 0 &&
			    send(ev[i].data.fd, b, (size_t)r, MSG_NOSIGNAL) != r)
				die("send", errno);
			if (r == 0) {
				close(ev[i].data.fd);
				left--;
			}
		}
	}
}

static void *parking(void *arg)
{
	int c = (int)(intptr_t)arg;
	char b[BYTES];
	ssize_t r;

	while ((r = uk_recv(c, b, sizeof(b), 0)) > 0)
		if (uk_send(c, b, (size_t)r, 0) != r)
			die("uk_send", EPIPE);
	return NULL;
}

/* A set of one vp and, depending on how, a reactive vp, or a network processor, without
 * or with batches of completions. NULL: the default set. */
static uk_vpset *set_for(const char *how)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;
	uk_vpset *s;

	if (!strcmp(how, "uk"))
		return NULL;
	a.name = "echo";
	a.n = 1;
	a.flags = strcmp(how, "net") ? UK_VPSET_SQPOLL : UK_VPSET_NET;
	a.net_cpu = net;
	a.idle = UK_SEC;
	a.napi = 50 * UK_US;
	a.napi_prefer = 1;
	a.min_wait = strcmp(how, "batch") ? 0 : 100 * UK_US;
	if (uk_vpset_create_attr(&s, &a))
		die("uk_vpset_create_attr", ENOMEM);
	if (a.flags & UK_VPSET_SQPOLL && uk_vpset_sqpoll(s) < 0)
		die("no network processor", -uk_vpset_sqpoll(s));
	return s;
}

static void serve_uk(const char *how)
{
	uk_thread_attr a = { .flags = UK_THREAD_LIGHT, .set = set_for(how) };
	uk_thread *t[CONNECTIONS];

	for (int i = 0; i < CONNECTIONS; i++)
		if (uk_thread_create(&t[i], &a, parking,
				     (void *)(intptr_t)accept_one()))
			die("uk_thread_create", ENOMEM);
	for (int i = 0; i < CONNECTIONS; i++)
		uk_thread_join(t[i], NULL);
}

static int serve(const char *how)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int one = 1;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(listener, (struct sockaddr *)&at, sizeof(at)) ||
	    listen(listener, CONNECTIONS))
		die("listen", errno);
	stay_on(host);
	puts("ready");
	fflush(stdout);
	if (!strcmp(how, "threads"))
		serve_threads();
	else if (!strcmp(how, "epoll") || !strcmp(how, "poll"))
		serve_epoll(how[0] == 'p');
	else
		serve_uk(how);
	return 0;
}

/* -- the client -- */

static int connect_one(const char *to)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_port = htons(PORT) };
	int one = 1, c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (inet_pton(AF_INET, to, &at.sin_addr) != 1 ||
	    connect(c, (const struct sockaddr *)&at, sizeof(at)) ||
	    setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("connect", errno);
	return c;
}

#define ASKED 8192 /* most requests on a connection that have no answer yet */

static struct client {
	int fd;
	int got; /* bytes of the current answer that have arrived */
	unsigned asked, answered;
	int64_t due[ASKED]; /* when each request without an answer was due */
} client[CONNECTIONS];
static int64_t *took; /* latency of each request */
static long done;

static void ask(struct client *c, int64_t due)
{
	static const char b[BYTES] = "echo";

	if (c->asked - c->answered == ASKED)
		die("the server is too slow for that", ETIME);
	c->due[c->asked++ % ASKED] = due;
	if (send(c->fd, b, sizeof(b), MSG_NOSIGNAL) != BYTES)
		die("send", errno);
}

/* Returns how many answers have arrived. */
static int hear(struct client *c)
{
	char b[BYTES * 16];
	ssize_t r = recv(c->fd, b, sizeof(b), MSG_DONTWAIT);
	int64_t now = now_ns();
	int n = 0;

	if (r == 0)
		die("the server", ECONNRESET);
	for (c->got += r > 0 ? (int)r : 0; c->got >= BYTES; c->got -= BYTES, n++)
		took[done++] = now - c->due[c->answered++ % ASKED];
	return n;
}

static void counted(const char *word)
{
	char line[16];

	puts(word);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		die("the counting process has ended", EPIPE);
}

static void start_all(int e, const char *to)
{
	for (int i = 0; i < CONNECTIONS; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.u32 = (uint32_t)i };

		client[i].fd = connect_one(to);
		if (epoll_ctl(e, EPOLL_CTL_ADD, client[i].fd, &ev))
			die("epoll_ctl", errno);
	}
}

/* Sends the requests that are due. Returns how long it is until the next, or NULL. */
static const struct timespec *ask_due(long n, long *asked, int64_t since, int64_t step)
{
	static struct timespec ts;
	int64_t now = now_ns();

	for (; *asked < n && since + *asked * step <= now; ++*asked)
		ask(&client[*asked % CONNECTIONS], since + *asked * step);
	if (*asked == n)
		return NULL;
	ts.tv_nsec = since + *asked * step - now;
	return &ts;
}

/* Makes n requests; rate 0: a new one for each answer. */
static void run(int e, long n, long rate)
{
	int64_t since = now_ns();
	long asked = 0;

	done = 0;
	for (; !rate && asked < CONNECTIONS; asked++)
		ask(&client[asked], since);
	while (done < n) {
		const struct timespec *limit =
		    rate ? ask_due(n, &asked, since, 1000000000 / rate) : NULL;
		struct epoll_event ev[CONNECTIONS];
		int k = epoll_pwait2(e, ev, CONNECTIONS, limit, NULL);

		for (int i = 0; i < k; i++) {
			struct client *c = &client[ev[i].data.u32];

			if (hear(c) && !rate && asked++ < n)
				ask(c, now_ns());
		}
	}
}

/* Returns how long the run took. */
static int64_t counted_run(int e, long n, long rate)
{
	int64_t since, span;

	counted("begin");
	since = now_ns();
	run(e, n, rate);
	span = now_ns() - since;
	counted("end");
	return span;
}

static int load(const char *to, long n, long rate, int times)
{
	int e = epoll_create1(EPOLL_CLOEXEC);
	int64_t span = 0;

	if (n < 20 * CONNECTIONS)
		die("so few requests say nothing", EINVAL);
	prctl(PR_SET_TIMERSLACK, 1);
	took = calloc((size_t)n, sizeof(*took));
	start_all(e, to);
	run(e, n / 20, rate);
	for (; times; times--)
		span = counted_run(e, n, rate);
	result("turn", (double)span / (double)n);
	qsort(took, (size_t)n, sizeof(*took), cmp_i64);
	result("p50", (double)took[n / 2] / 1e3);
	result("p99", (double)took[n * 99 / 100] / 1e3);
	result("p999", (double)took[n * 999 / 1000] / 1e3);
	for (int i = 0; i < CONNECTIONS; i++)
		close(client[i].fd);
	check(n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 5 && !strcmp(argv[1], "serve")) {
		host = atoi(argv[3]);
		net = atoi(argv[4]);
		return serve(argv[2]);
	}
	if ((argc == 5 || argc == 6) && !strcmp(argv[1], "load"))
		return load(argv[2], atol(argv[3]), atol(argv[4]),
			    argc == 6 ? atoi(argv[5]) : 1);
	die("serve HOW HOST NET | load ADDRESS N RATE [TIMES]", EINVAL);
}

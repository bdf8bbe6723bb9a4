/* SPDX-License-Identifier: Apache-2.0 */
/* echo.c - net-echo: a server that echoes 256 bytes on 32 connections over lo,
 * and in a process of its own a client that has one request on each connection
 * in flight, always. threads|epoll|uk|net|sqpoll|batch N
 *
 * The server's figures are what the kernel counts for its process, from the
 * first connection to its exit: they depend less on who else uses the machine
 * than a latency would. */
#include <uk/uk.h>

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bench.h"

#define CONNECTIONS 32
#define BYTES 256

static int listener;

static int accept_one(void)
{
	int one = 1, c = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (c < 0 || setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("accept", errno);
	return c;
}

/* -- the servers; each ends when all connections have -- */

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

static void serve_epoll(void)
{
	int e = epoll_create1(EPOLL_CLOEXEC), left = CONNECTIONS;

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

/* One vp, and, as how says, a reactive one, or a network processor on the last CPU, without or
 * with completions in batches. NULL: the default set. */
static uk_vpset *set_for(const char *how)
{
	uk_vpset_attr a = UK_VPSET_ATTR_INIT;
	uk_vpset *s;

	if (!strcmp(how, "uk"))
		return NULL;
	a.name = "echo";
	a.n = 1;
	a.flags = strcmp(how, "net") ? UK_VPSET_SQPOLL : UK_VPSET_NET;
	a.net_cpu = (int)sysconf(_SC_NPROCESSORS_ONLN) - 1;
	a.idle = 20 * UK_MS;
	a.min_wait = strcmp(how, "batch") ? 0 : 100 * UK_US;
	if (uk_vpset_create_attr(&s, &a))
		die("uk_vpset_create_attr", ENOMEM);
	if (uk_vpset_sqpoll(s) < 0)
		die("no network processor", -uk_vpset_sqpoll(s));
	return s;
}

static void serve_uk(const char *how)
{
	uk_attr a = { .flags = UK_ATTR_LIGHT, .set = set_for(how) };
	uk_thread *t[CONNECTIONS];

	for (int i = 0; i < CONNECTIONS; i++)
		if (uk_thread_create(&t[i], &a, parking,
				     (void *)(intptr_t)accept_one()))
			die("uk_thread_create", ENOMEM);
	for (int i = 0; i < CONNECTIONS; i++)
		uk_thread_join(t[i], NULL);
}

static void serve(const char *how)
{
	if (!strcmp(how, "threads"))
		serve_threads();
	else if (!strcmp(how, "epoll"))
		serve_epoll();
	else
		serve_uk(how);
}

/* -- the client -- */

static int connect_one(const struct sockaddr_in *at)
{
	int one = 1, c = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (c < 0 || connect(c, (const struct sockaddr *)at, sizeof(*at)) ||
	    setsockopt(c, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one)))
		die("connect", errno);
	return c;
}

static void ask(int c)
{
	static const char b[BYTES] = "echo";

	if (send(c, b, sizeof(b), MSG_NOSIGNAL) != BYTES)
		die("send", errno);
}

/* How many answers came. */
static long load(const struct sockaddr_in *at, long n)
{
	int e = epoll_create1(EPOLL_CLOEXEC), c[CONNECTIONS], got[CONNECTIONS] = { 0 };
	long asked = 0, done = 0;

	for (int i = 0; i < CONNECTIONS; i++) {
		struct epoll_event ev = { .events = EPOLLIN, .data.u32 = (uint32_t)i };

		c[i] = connect_one(at);
		if (epoll_ctl(e, EPOLL_CTL_ADD, c[i], &ev))
			die("epoll_ctl", errno);
	}
	for (int i = 0; i < CONNECTIONS && asked < n; i++, asked++)
		ask(c[i]);
	while (done < n) {
		struct epoll_event ev[CONNECTIONS];
		int k = epoll_wait(e, ev, CONNECTIONS, -1);

		for (int i = 0; i < k; i++) {
			unsigned at_c = ev[i].data.u32;
			char b[BYTES];
			ssize_t r = recv(c[at_c], b, sizeof(b), MSG_DONTWAIT);

			if (r == 0)
				die("the server", ECONNRESET);
			got[at_c] += r > 0 ? (int)r : 0;
			if (got[at_c] < BYTES)
				continue;
			got[at_c] = 0;
			done++;
			if (asked++ < n)
				ask(c[at_c]);
		}
	}
	for (int i = 0; i < CONNECTIONS; i++)
		close(c[i]);
	return done;
}

int main(int argc, char **argv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
				  .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(at);
	struct rusage u;
	int64_t since;
	int status;
	long n, done;
	pid_t pid;

	if (argc != 3)
		die("threads|epoll|uk|net|sqpoll|batch N", EINVAL);
	n = atol(argv[2]);
	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (bind(listener, (struct sockaddr *)&at, len) ||
	    listen(listener, CONNECTIONS) ||
	    getsockname(listener, (struct sockaddr *)&at, &len))
		die("listen", errno);
	pid = fork();
	if (!pid) {
		serve(argv[1]);
		_exit(0);
	}
	since = now_ns();
	done = load(&at, n);
	result("turn", (double)(now_ns() - since) / (double)done);
	if (pid < 0 || wait4(pid, &status, 0, &u) != pid || status)
		die("the server", EIO);
	result("switches", 1000.0 * (double)(u.ru_nvcsw + u.ru_nivcsw) / (double)done);
	result("cpu", ((double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e9 +
		       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1e3) /
			  (double)done);
	check(done);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* proxy.h - what the proxies of async-proxy share: a process that sends, a process that
 * receives and checks each block, and between them the proxy on a CPU of its own, by
 * TCP over loopback. The CPU time of the proxy is measured. */
#ifndef PROXY_H
#define PROXY_H

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "bench.h"

#define PROXY_BLOCK 4096
#define PROXY_PIECE (1 << 20)

struct proxy {
	int in, out;
	size_t chunk;
	long mib;
	int64_t cpu;
	pid_t sink;
};

/* Moves the caller to the nth CPU that this process may use. */
static inline void proxy_on(int nth)
{
	cpu_set_t may, one;

	CPU_ZERO(&one);
	sched_getaffinity(0, sizeof(may), &may);
	for (int i = 0; i < CPU_SETSIZE; i++)
		if (CPU_ISSET(i, &may) && nth-- == 0)
			CPU_SET(i, &one);
	if (CPU_COUNT(&one))
		sched_setaffinity(0, sizeof(one), &one);
}

/* Makes a TCP connection: sets *ours to one end, returns the other. */
static inline int proxy_pair(int *ours)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int on = 1, l = socket(AF_INET, SOCK_STREAM, 0),
	    c = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(l, (void *)&a, len) || listen(l, 1) ||
	    getsockname(l, (void *)&a, &len) || connect(c, (void *)&a, len))
		die("a connection to ourselves", errno);
	*ours = accept(l, NULL, NULL);
	setsockopt(*ours, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	close(l);
	return c;
}

static inline void proxy_source(int fd, long mib)
{
	char *b = calloc(1, PROXY_PIECE);
	uint64_t block = 0;

	for (long i = 0; i < mib; i++) {
		for (size_t at = 0; at < PROXY_PIECE; at += PROXY_BLOCK, block++)
			memcpy(b + at, &block, sizeof(block));
		for (size_t at = 0; at < PROXY_PIECE;) {
			ssize_t n = send(fd, b + at, PROXY_PIECE - at, 0);

			if (n <= 0)
				die("the source", errno);
			at += (size_t)n;
		}
	}
}

static inline void proxy_sink(int fd, long mib)
{
	char *b = malloc(PROXY_PIECE);
	uint64_t block = 0, got;

	for (long i = 0; i < mib; i++) {
		if (recv(fd, b, PROXY_PIECE, MSG_WAITALL) != PROXY_PIECE)
			die("the sink: it ends early", EPIPE);
		for (size_t at = 0; at < PROXY_PIECE; at += PROXY_BLOCK) {
			memcpy(&got, b + at, sizeof(got));
			if (got != block++)
				die("the sink: a block is wrong", EILSEQ);
		}
	}
	if (recv(fd, b, 1, 0) != 0)
		die("the sink: more than was sent", EILSEQ);
}

static inline pid_t proxy_child(void (*work)(int fd, long mib), int fd, int other,
				long mib)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	close(other);
	proxy_on(1);
	work(fd, mib);
	_exit(0);
}

/* Call it before any thread exists. */
static inline struct proxy proxy_start(size_t chunk, long mib)
{
	struct proxy p = { .chunk = chunk, .mib = mib };
	int from = proxy_pair(&p.in), to;

	proxy_child(proxy_source, from, p.in, mib);
	close(from);
	to = proxy_pair(&p.out);
	p.sink = proxy_child(proxy_sink, to, p.out, mib);
	close(to);
	proxy_on(0);
	p.cpu = cpu_ns();
	return p;
}

static inline int proxy_end(struct proxy *p)
{
	int status = 1;

	shutdown(p->out, SHUT_WR);
	result("cpu", (double)(cpu_ns() - p->cpu) / 1e3 / (double)p->mib);
	waitpid(p->sink, &status, 0);
	wait(NULL); /* the source: unless it is waited for, its CPU time counts for
		     * other programs */
	check(status ? -1 : p->mib);
	return 0;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_uk.c - async-proxy on a user thread. It copies the bytes, or lends what it has
 * received to the kernel (UK_OP_ZEROCOPY), or splices them (uk_splice).
 * copy|lend|splice CHUNK MIB */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdbool.h>
#include <uk/uk.h>

#include "proxy.h"

#define BUFS 8u

static struct proxy p;
static void (*way)(void);

static char *buffers(void)
{
	char *b = malloc(BUFS * p.chunk);

	if (!b)
		die("malloc", ENOMEM);
	memset(b, 1, BUFS * p.chunk);
	return b;
}

static void copies(void)
{
	char *b = buffers();
	ssize_t n;

	while ((n = uk_recv(p.in, b, p.chunk, 0)) > 0)
		for (ssize_t at = 0, r; at < n; at += r)
			if ((r = uk_send(p.out, b + at, (size_t)(n - at), 0)) <= 0)
				die("uk_send", (int)r);
	if (n < 0)
		die("uk_recv", (int)n);
	free(b);
}

static unsigned lent; /* buffers that the kernel holds */

/* Waits until at most `most` buffers are lent and the send is accepted. */
static void get_back(uk_group *g, bool accepted, unsigned most)
{
	while (!accepted || lent > most) {
		uk_completion e;
		int r = uk_group_wait_any(g, &e, 1, UK_FOREVER);

		if (r != 1 || e.res < 0)
			die("a send", r == 1 ? (int)e.res : r);
		accepted |= !(e.flags & UK_COMPLETION_FREE);
		lent -= !!(e.flags & UK_COMPLETION_FREE);
	}
}

static void lends(void)
{
	char *b = buffers();
	uk_group *g;
	unsigned i = 0;
	ssize_t n;

	if (uk_group_create(&g, 2 * BUFS))
		die("uk_group_create", ENOMEM);
	while ((n = uk_recv(p.in, b + (size_t)i * p.chunk, p.chunk, 0)) > 0) {
		uk_op op =
		    UK_OP(.kind = UK_OP_SEND, .options = UK_OP_ZEROCOPY, .fd = p.out,
			  .addr = b + (size_t)i * p.chunk, .len = (size_t)n);

		if (uk_group_submit(g, &op, 1) != 1)
			die("uk_group_submit", EAGAIN);
		lent++;
		get_back(g, false, BUFS - 1);
		i = (i + 1) % BUFS;
	}
	get_back(g, true, 0);
	uk_group_destroy(g);
	free(b);
}

static void splices(void)
{
	int pipe[2];
	ssize_t n;

	if (pipe2(pipe, O_CLOEXEC) || fcntl(pipe[1], F_SETPIPE_SZ, 1 << 20) < 0)
		die("pipe", errno);
	while ((n = uk_splice(p.in, NULL, pipe[1], NULL, p.chunk, SPLICE_F_MOVE)) > 0)
		for (ssize_t at = 0, r; at < n; at += r)
			if ((r = uk_splice(pipe[0], NULL, p.out, NULL, (size_t)(n - at),
					   SPLICE_F_MOVE)) <= 0)
				die("uk_splice", (int)r);
	if (n < 0)
		die("uk_splice", (int)n);
}

static void *root(void *arg)
{
	way();
	return arg;
}

int main(int argc, char **argv)
{
	uk_thread *t;

	if (argc != 4)
		die("copy|lend|splice CHUNK MIB", EINVAL);
	way = argv[1][0] == 'c' ? copies : argv[1][0] == 'l' ? lends : splices;
	p = proxy_start((size_t)atol(argv[2]), atol(argv[3]));
	if (uk_thread_create(&t, NULL, root, NULL) || uk_thread_join(t, NULL))
		die("uk_thread_create", ENOMEM);
	return proxy_end(&p);
}

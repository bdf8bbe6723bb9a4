/* SPDX-License-Identifier: Apache-2.0 */
/* proxy_liburing.c - async-proxy with liburing alone, in the same three ways.
 * copy|lend|splice CHUNK MIB */
#define _GNU_SOURCE
#include <fcntl.h>
#include <liburing.h>

#include "proxy.h"

#define BUFS 8u

static struct proxy p;
static struct io_uring ring;
static unsigned lent;
static char *bufs;

static struct io_uring_cqe next_end(void)
{
	struct io_uring_cqe *cqe, e;
	int err = io_uring_wait_cqe(&ring, &cqe);

	if (err)
		die("io_uring_wait_cqe", err);
	e = *cqe;
	io_uring_cqe_seen(&ring, cqe);
	return e;
}

/* Submits a request and returns its result. Meanwhile it counts loans that end. */
static int do_one(void)
{
	io_uring_submit_and_wait(&ring, 1);
	for (;;) {
		struct io_uring_cqe e = next_end();

		if (e.flags & IORING_CQE_F_NOTIF) {
			lent--;
			continue;
		}
		lent += !!(e.flags & IORING_CQE_F_MORE);
		if (e.res < 0)
			die("a request", e.res);
		return e.res;
	}
}

static void send_all(char *b, int n, int lend)
{
	for (int at = 0; at < n; at += do_one()) {
		struct io_uring_sqe *s = io_uring_get_sqe(&ring);

		if (lend)
			io_uring_prep_send_zc(s, p.out, b + at, (size_t)(n - at),
					      MSG_WAITALL, 0);
		else
			io_uring_prep_send(s, p.out, b + at, (size_t)(n - at),
					   MSG_WAITALL);
	}
}

static void by_buffers(int lend)
{
	for (unsigned i = 0;; i = (i + 1) % BUFS) {
		char *b = bufs + (size_t)i * p.chunk;
		int n;

		io_uring_prep_recv(io_uring_get_sqe(&ring), p.in, b, p.chunk, 0);
		n = do_one();
		if (!n)
			break;
		send_all(b, n, lend);
		while (lent >= BUFS) {
			next_end();
			lent--;
		}
	}
	for (; lent; lent--)
		next_end();
}

static int splice_one(int from, int to, unsigned n)
{
	io_uring_prep_splice(io_uring_get_sqe(&ring), from, -1, to, -1, n,
			     SPLICE_F_MOVE);
	return do_one();
}

static void splices(void)
{
	int pipe[2], n;

	if (pipe2(pipe, O_CLOEXEC) || fcntl(pipe[1], F_SETPIPE_SZ, 1 << 20) < 0)
		die("pipe", errno);
	while ((n = splice_one(p.in, pipe[1], (unsigned)p.chunk)) > 0)
		for (int at = 0; at < n;)
			at += splice_one(pipe[0], p.out, (unsigned)(n - at));
}

int main(int argc, char **argv)
{
	int err;

	if (argc != 4)
		die("copy|lend|splice CHUNK MIB", EINVAL);
	p = proxy_start((size_t)atol(argv[2]), atol(argv[3]));
	err = io_uring_queue_init(64, &ring, 1u << 8 | 1u << 9 | 1u << 7);
	if (err)
		die("io_uring_queue_init", err);
	bufs = malloc(BUFS * p.chunk);
	memset(bufs, 1, BUFS * p.chunk);
	if (argv[1][0] == 's')
		splices();
	else
		by_buffers(argv[1][0] == 'l');
	return proxy_end(&p);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* liburing.c - async-io with liburing alone, which is the limit. The ring has the same
 * flags as the library's.
 * reads DEPTH N | stats DEPTH N FOLDER */
#include <liburing.h>

#include "load.h"

static struct io_uring ring;

static struct io_uring_sqe *sqe(void)
{
	struct io_uring_sqe *s = io_uring_get_sqe(&ring);

	if (!s)
		die("io_uring_get_sqe", ENOBUFS);
	return s;
}

/* Submits a round, waits for all of it, then submits the next. */
static long reads(unsigned depth, long n, const char *folder)
{
	unsigned *block = calloc(depth, sizeof(*block));
	char *bufs = load_buffers(depth);
	uint64_t seed = 1;
	int fd = load_file();
	int64_t since = now_ns();
	long done = 0;

	(void)folder;
	while (done < n) {
		struct io_uring_cqe *cqe;
		unsigned head, seen = 0;

		for (unsigned i = 0; i < depth; i++) {
			struct io_uring_sqe *s = sqe();

			block[i] = load_next(&seed);
			io_uring_prep_read(s, fd, bufs + (size_t)i * BLOCK, BLOCK,
					   (uint64_t)block[i] * BLOCK);
			io_uring_sqe_set_data64(s, i);
		}
		io_uring_submit_and_wait(&ring, depth);
		io_uring_for_each_cqe(&ring, head, cqe)
		{
			unsigned i = (unsigned)cqe->user_data;

			load_right(bufs + (size_t)i * BLOCK, block[i], cqe->res);
			seen++;
		}
		io_uring_cq_advance(&ring, seen);
		done += seen;
	}
	load_done(since, done);
	return 0;
}

static long stats(unsigned depth, long n, const char *folder)
{
	char(*names)[8] = load_names(folder, n);
	struct statx *st = calloc(depth, sizeof(*st));
	int64_t since = now_ns();
	long done = 0;

	while (done < n) {
		struct io_uring_cqe *cqe;
		unsigned head, seen = 0;

		for (unsigned i = 0; i < depth; i++)
			io_uring_prep_statx(sqe(), AT_FDCWD, names[done + i], 0,
					    STATX_BASIC_STATS, &st[i]);
		io_uring_submit_and_wait(&ring, depth);
		io_uring_for_each_cqe(&ring, head, cqe)
		{
			if (cqe->res)
				die("statx", cqe->res);
			seen++;
		}
		io_uring_cq_advance(&ring, seen);
		done += seen;
	}
	load_done(since, done);
	return 0;
}

int main(int argc, char **argv)
{
	int err = io_uring_queue_init(512, &ring, 1u << 8 | 1u << 9 | 1u << 7);

	if (argc < 4 || err)
		die("liburing reads|stats DEPTH N [FOLDER]", err ? err : EINVAL);
	return (int)(strcmp(argv[1], "reads") ? stats : reads)((unsigned)atoi(argv[2]),
							       atol(argv[3]), argv[4]);
}

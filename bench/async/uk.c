/* SPDX-License-Identifier: Apache-2.0 */
/* uk.c - async-io with ukthreads: by asynchronous calls of one thread, or by as many
 * light threads that block.
 * calls|threads reads DEPTH N | calls|threads stats DEPTH N FOLDER */
#include <uk/uk.h>

#include "load.h"

static unsigned depth;
static long n, share;
static int fd;
static char *bufs;
static struct statx *st;
static char (*names)[8];
static int (*work)(void);

static uk_op read_of(unsigned i)
{
	return UK_OP(.kind = UK_OP_READ, .fd = fd, .addr = bufs + (size_t)i * BLOCK,
		     .len = BLOCK, .tag = i);
}

static uk_op stat_of(unsigned i)
{
	return UK_OP(.kind = UK_OP_STATX, .fd = AT_FDCWD, .len = STATX_BASIC_STATS,
		     .addr2 = &st[i], .tag = i);
}

static int calls(void)
{
	unsigned *block = calloc(depth, sizeof(*block));
	uk_op *ops = calloc(depth, sizeof(*ops));
	uk_completion *ends = calloc(depth, sizeof(*ends));
	uk_group *g;
	uint64_t seed = 1;
	long done = 0;
	int64_t since;

	if (uk_group_create(&g, depth))
		die("uk_group_create", ENOMEM);
	/* the vector belongs to the program, so what stays the same is written only
	 * once */
	for (unsigned i = 0; i < depth; i++)
		ops[i] = bufs ? read_of(i) : stat_of(i);
	since = now_ns();
	while (done < n) {
		int r;

		for (unsigned i = 0; i < depth; i++)
			if (bufs) {
				block[i] = load_next(&seed);
				ops[i].off = (int64_t)block[i] * BLOCK;
			} else {
				ops[i].addr = names[done + i];
			}
		if (uk_group_submit(g, ops, depth) != (int)depth)
			die("uk_group_submit", EAGAIN);
		r = uk_group_wait_all(g, ends, depth, UK_FOREVER);
		for (int k = 0; k < r; k++) {
			unsigned i = (unsigned)ends[k].tag;

			if (bufs)
				load_right(bufs + (size_t)i * BLOCK, block[i],
					   ends[k].res);
			else if (ends[k].res)
				die("statx", (int)ends[k].res);
		}
		done += r;
	}
	load_done(since, done);
	uk_group_destroy(g);
	return 0;
}

static void *reader(void *arg)
{
	unsigned i = (unsigned)(uintptr_t)arg;
	uint64_t seed = i + 1;
	struct stat s;

	for (long k = 0; k < share; k++) {
		unsigned block = load_next(&seed);
		char *b = bufs + (size_t)i * BLOCK;

		if (bufs)
			load_right(b, block,
				   uk_pread(fd, b, BLOCK, (off_t)block * BLOCK));
		else if (uk_stat(names[i * share + k], &s))
			die("uk_stat", ENOENT);
	}
	return NULL;
}

static int threads(void)
{
	uk_thread **t = calloc(depth, sizeof(*t));
	uk_thread_attr a = { .flags = UK_THREAD_LIGHT };
	int64_t since = now_ns();

	share = (n + depth - 1) / depth;
	for (unsigned i = 0; i < depth; i++)
		if (uk_thread_create(&t[i], &a, reader, (void *)(uintptr_t)i))
			die("uk_thread_create", ENOMEM);
	for (unsigned i = 0; i < depth; i++)
		uk_thread_join(t[i], NULL);
	load_done(since, share * depth);
	return 0;
}

static void *root(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)work();
}

int main(int argc, char **argv)
{
	uk_thread *t;

	if (argc < 5)
		die("uk calls|threads reads|stats DEPTH N [FOLDER]", EINVAL);
	work = strcmp(argv[1], "calls") ? threads : calls;
	depth = (unsigned)atoi(argv[3]);
	n = atol(argv[4]);
	if (!strcmp(argv[2], "reads")) {
		fd = load_file();
		bufs = load_buffers(depth);
	} else {
		st = calloc(depth, sizeof(*st));
		names = load_names(argv[5], n);
	}
	if (uk_thread_create(&t, NULL, root, NULL))
		die("uk_thread_create", ENOMEM);
	return uk_thread_join(t, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Asynchronous calls on names: helpers carry them out, on every engine. */
#include "../io/iotest.h"

#include <dirent.h>
#include <linux/stat.h>
#include <sys/stat.h>

#define MANY 256u
#define FIFOS 64u

static uk_group *g;
static char dir[64];
static char names[MANY][96];
static uk_op ops[MANY];
static uk_completion ends[MANY];
static struct statx st[MANY];

static void begin(void)
{
	strcpy(dir, "/tmp/uk-names-XXXXXX");
	CHECK(mkdtemp(dir));
	for (unsigned i = 0; i < MANY; i++)
		snprintf(names[i], sizeof(names[i]), "%s/%u", dir, i);
	CHECK_EQ(uk_group_create(&g, MANY), 0);
}

static void over(void)
{
	uk_group_destroy(g);
	for (unsigned i = 0; i < MANY; i++)
		unlink(names[i]);
	CHECK_EQ(rmdir(dir), 0);
}

/* Submits ops[0..n), and collects them all in the order of their tags. */
static void all(unsigned n)
{
	uk_completion some[MANY];

	for (unsigned i = 0; i < n; i++)
		ops[i].tag = i;
	CHECK_EQ(uk_group_submit(g, ops, n), n);
	CHECK_EQ(uk_group_wait_all(g, some, n, UK_FOREVER), n);
	for (unsigned i = 0; i < n; i++)
		ends[some[i].tag] = some[i];
}

static void create(void)
{
	for (unsigned i = 0; i < MANY; i++)
		ops[i] = UK_OP(.kind = UK_OP_OPENAT, .fd = AT_FDCWD, .addr = names[i],
			       .flags = O_CREAT | O_RDWR | O_CLOEXEC, .len = 0600);
	all(MANY);
	for (unsigned i = 0; i < MANY; i++) {
		CHECK(ends[i].res > 2);
		CHECK_EQ(pwrite((int)ends[i].res, names, i, 0), i);
		CHECK_EQ(uk_close((int)ends[i].res), 0);
	}
}

static void examine(void)
{
	for (unsigned i = 0; i < MANY; i++)
		ops[i] = UK_OP(.kind = UK_OP_STATX, .fd = AT_FDCWD, .addr = names[i],
			       .len = STATX_SIZE, .addr2 = &st[i]);
	all(MANY);
	for (unsigned i = 0; i < MANY; i++) {
		CHECK_EQ(ends[i].res, 0);
		CHECK_EQ(st[i].stx_size, i);
	}
}

/* How many kernel threads of the process are workers of io_uring. They live on for
 * seconds. */
static unsigned workers(void)
{
	DIR *d = opendir("/proc/self/task");
	unsigned n = 0;

	CHECK(d);
	for (struct dirent *e; (e = readdir(d));) {
		char path[300], name[32] = "";
		int f;

		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", e->d_name);
		f = open(path, O_RDONLY | O_CLOEXEC);
		if (f < 0)
			continue;
		CHECK(read(f, name, sizeof(name) - 1) >= 0);
		close(f);
		n += !strncmp(name, "iou-wrk", 7);
	}
	closedir(d);
	return n;
}

static uk_stats counts(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s;
}

static void no_worker_of_the_kernel_serves_names(void)
{
	uk_stats from, to;

	begin();
	from = counts();
	for (int i = 0; i < 3; i++) {
		create();
		examine();
	}
	to = counts();
	CHECK_EQ(workers(), 0);
	CHECK(to.sqes - from.sqes < MANY);
	over();
}

/* A helper takes the next request when it has finished one. Another helper takes over
 * if it waits, or if a vp is idle. */
static void a_helper_carries_out_many_requests(void)
{
	uint64_t least = UINT64_MAX;

	begin();
	create();
	for (int i = 0; i < 20; i++) {
		uk_stats from = counts(), to;

		examine();
		to = counts();
		if (to.creates - from.creates < least)
			least = to.creates - from.creates;
	}
	CHECK(least && least <= MANY / 4);
	over();
}

/* None of the opens of FIFOs returns before the last one has begun, and other threads of
 * the vp, this one among them, go on. */
static void opens_that_wait_overlap(void)
{
	int to[FIFOS];

	begin();
	for (unsigned i = 0; i < FIFOS; i++) {
		CHECK_EQ(mkfifo(names[i], 0600), 0);
		ops[i] = UK_OP(.kind = UK_OP_OPENAT, .fd = AT_FDCWD, .addr = names[i],
			       .flags = O_RDONLY | O_CLOEXEC);
	}
	CHECK_EQ(uk_group_submit(g, ops, FIFOS), FIFOS);
	for (unsigned i = FIFOS; i--;) {
		/* succeeds as soon as someone waits at the other end */
		while ((to[i] = open(names[i], O_WRONLY | O_NONBLOCK | O_CLOEXEC)) <
		       0) {
			CHECK_EQ(errno, ENXIO);
			CHECK_EQ(uk_group_wait_any(g, ends, 1, 0), -ETIMEDOUT);
			uk_sleep(100 * UK_US);
		}
		if (i == FIFOS - 1) { /* the others go on waiting while this ends */
			CHECK_EQ(uk_group_wait_any(g, ends, 1, UK_FOREVER), 1);
			CHECK_EQ(ends[0].id, ops[i].id);
			CHECK(ends[0].res > 2);
			uk_close((int)ends[0].res);
			ops[MANY - 1] =
			    UK_OP(.kind = UK_OP_STATX, .fd = AT_FDCWD, .addr = names[0],
				  .len = STATX_TYPE, .addr2 = &st[0]);
			CHECK_EQ(uk_group_submit(g, &ops[MANY - 1], 1), 1);
			CHECK_EQ(uk_group_wait_any(g, ends, 1, UK_FOREVER), 1);
			CHECK_EQ(ends[0].res, 0);
			CHECK(S_ISFIFO(st[0].stx_mode));
			CHECK_EQ(uk_group_wait_any(g, ends, 1, 0), -ETIMEDOUT);
		}
	}
	CHECK_EQ(uk_group_wait_all(g, ends, MANY, UK_FOREVER), FIFOS - 1);
	for (unsigned i = 0; i < FIFOS; i++)
		close(to[i]);
	for (unsigned i = 0; i < FIFOS - 1; i++) {
		CHECK(ends[i].res > 2);
		uk_close((int)ends[i].res);
	}
	over();
}

/* Each waits for the one behind it in the queue. */
static void requests_may_wait_for_later_ones(void)
{
	int p[2];
	char c[MANY];

	begin();
	make_pipe(p, 0);
	for (unsigned i = 0; i < MANY; i++)
		ops[i] = UK_OP(.kind = i < MANY / 2 ? UK_OP_READ : UK_OP_WRITE,
			       .fd = p[i >= MANY / 2], .addr = &c[i], .len = 1,
			       .off = UK_OP_HERE, .deadline = uk_after(3600 * UK_SEC));
	all(MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK_EQ(ends[i].res, 1);
	uk_close(p[0]);
	uk_close(p[1]);
	over();
}

/* Destroyed as soon as the last completion has been collected, when a helper that found
 * no more work is still there. */
static void a_group_can_be_destroyed_at_once(void)
{
	begin();
	uk_group_destroy(g);
	for (int turn = 0; turn < 200; turn++) {
		unsigned n = 1 + (unsigned)turn % 40;

		CHECK_EQ(uk_group_create(&g, n), 0);
		for (unsigned i = 0; i < n; i++)
			ops[i] = UK_OP(.kind = UK_OP_STATX, .fd = AT_FDCWD, .addr = dir,
				       .len = STATX_TYPE, .addr2 = &st[i]);
		if (turn & 1)
			all(n);
		else
			CHECK_EQ(uk_group_submit(g, ops, n), n);
		uk_group_destroy(g);
	}
	CHECK_EQ(uk_group_create(&g, 1), 0);
	over();
}

/* Without a thread for it, a request fails, and all of them end. */
static void requests_end_at_the_limit_of_threads(void)
{
	begin();
	create();
	uk_group_destroy(g); /* with its helpers */
	CHECK_EQ(uk_group_create(&g, MANY), 0);
	CHECK_EQ(uk_thread_limit(1), 0); /* this thread */
	for (unsigned i = 0; i < MANY; i++)
		ops[i] = UK_OP(.kind = UK_OP_STATX, .fd = AT_FDCWD, .addr = names[i],
			       .len = STATX_SIZE, .addr2 = &st[i]);
	all(MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK_EQ(ends[i].res, -EAGAIN);
	CHECK_EQ(uk_thread_limit(2), 0); /* and one helper */
	all(MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(ends[i].res == 0 || ends[i].res == -EAGAIN);
	CHECK_EQ(uk_thread_limit(0), 0);
	examine();
	over();
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(no_worker_of_the_kernel_serves_names);
	BOTH(a_helper_carries_out_many_requests);
	BOTH(opens_that_wait_overlap);
	BOTH(requests_may_wait_for_later_ones);
	BOTH(a_group_can_be_destroyed_at_once);
	USER(requests_end_at_the_limit_of_threads);
	return 0;
}

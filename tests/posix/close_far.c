/* SPDX-License-Identifier: Apache-2.0 */
/* The cost of close_range depends on what is open, not on the size of the range: it
 * touches no memory for file descriptors that were never used. It also finds threads
 * that wait on a file descriptor above RLIMIT_NOFILE. The first thread needs none. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <sys/resource.h>

#include "asleep.h"
#include "posix.h"
#include <unistd.h>

#define MANY 16384u /* at 8 bytes each, 32 pages */

static long faults(void)
{
	struct rusage u;

	CHECK(!getrusage(RUSAGE_SELF, &u));
	return u.ru_minflt;
}

static void close_range_touches_few_pages(void)
{
	long before;

	for (unsigned i = 0; i < 2; i++) { /* the first call loads the code */
		before = faults();
		CHECK(!close_range(i ? 2000 : 1900, i ? ~0u : 1910, 0));
	}
	CHECK(faults() - before < 24);
}

static int far;

static void *reads(void *arg)
{
	char c = 0;

	pthread_setname_np(pthread_self(), "reads");
	CHECK(read(far, &c, 1) == 1 && c == 'x');
	return arg;
}

static void reader_above_the_limit_goes_on(struct rlimit lim)
{
	pthread_t t;
	int p[2];

	CHECK(!pipe(p));
	far = fcntl(p[0], F_DUPFD, (int)lim.rlim_cur - 10);
	CHECK(far >= 0 && !close(p[0]));
	lim.rlim_cur /= 2;
	CHECK(!setrlimit(RLIMIT_NOFILE, &lim));
	t = start(reads, NULL);
	until_sleeps("reads");
	CHECK(!close_range((unsigned)far, ~0u, 0));
	FAILS(fcntl(far, F_GETFD), EBADF);
	CHECK(write(p[1], "x", 1) == 1);
	finish(t);
}

static void *idles(void *arg)
{
	return arg;
}

static void *counts(void *arg)
{
	return arg;
}

/* The limit stays as it was. */
static void first_thread_needs_no_file_descriptor(void)
{
	struct rlimit lim;

	CHECK(!getrlimit(RLIMIT_NOFILE, &lim));
	lim.rlim_cur = 200;
	CHECK(!setrlimit(RLIMIT_NOFILE, &lim));
	while (dup(1) >= 0)
		;
	CHECK(errno == EMFILE);
	run_in_thread(counts);
	FAILS(dup(1), EMFILE);
	close(199);
	close(198);
	CHECK(dup(1) == 198 && dup(1) == 199);
	FAILS(dup(1), EMFILE);
	CHECK(!getrlimit(RLIMIT_NOFILE, &lim) && lim.rlim_cur == 200);
}

int main(void)
{
	struct rlimit lim;

	CHECK(!getrlimit(RLIMIT_NOFILE, &lim));
	if (lim.rlim_max < MANY) {
		printf("skip: at most %lu file descriptors\n",
		       (unsigned long)lim.rlim_max);
		return 77;
	}
	RUN_ALONE(first_thread_needs_no_file_descriptor);
	lim.rlim_cur = MANY;
	CHECK(!setrlimit(RLIMIT_NOFILE, &lim));
	run_in_thread(idles);
	RUN(close_range_touches_few_pages);
	reader_above_the_limit_goes_on(lim);
	printf("ok\n");
	return 0;
}

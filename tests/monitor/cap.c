/* SPDX-License-Identifier: Apache-2.0 */
/* When the limit of kernel threads is reached and no spare is left to take a vp, the
 * watchdog reports the limit and where it comes from, the threads that hold the
 * carriers, and the variable that raises it. Below the limit, 600 threads may block at
 * once. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

enum { BLOCKED = 20 };

static int gate[2];

static void *reads_raw(void *arg)
{
	char c;

	CHECK_EQ(read(gate[0], &c, 1), 1);
	return arg;
}

static void *frees_all(void *arg)
{
	for (int i = 0; i < BLOCKED; i++)
		CHECK_EQ(write(gate[1], "x", 1), 1);
	return arg;
}

/* This thread would let the others continue. It is ready, but no carrier is left to run
 * it. */
static void *is_never_run(void *arg)
{
	fputs("the saviour ran: a carrier was left\n", stderr);
	return arg;
}

static void stands_still(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	CHECK_EQ(pipe(gate), 0);
	/* with two vps it would run if it is stolen before the readers */
	CHECK_EQ(uk_vpset_create(&a.set, "cap", 1, NULL, 0), 0);
	a.name = "raw-reader";
	for (int i = 0; i < BLOCKED; i++)
		CHECK_EQ(uk_thread_create(&t, &a, reads_raw, NULL), 0);
	a.name = "saviour";
	CHECK_EQ(uk_thread_create(&t, &a, is_never_run, NULL), 0);
	for (;;)
		pause();
}

/* Collects what a child writes to standard error until `word` comes; then kills the
 * child. */
static void child_says(void (*body)(void), const char *word, char *out, size_t size)
{
	const char *at;
	int p[2], status;
	size_t n = 0;
	ssize_t r;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		dup2(p[1], 2);
		close(p[0]);
		close(p[1]);
		body();
		_exit(0);
	}
	close(p[1]);
	out[0] = 0;
	/* read up to the end of the line with that word */
	while (!(at = strstr(out, word), at && strchr(at, '\n')) && n < size - 1 &&
	       (r = read(p[0], out + n, size - 1 - n)) > 0)
		out[n += (size_t)r] = 0;
	kill(pid, SIGKILL);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	close(p[0]);
}

static void the_report_names_limit_threads_and_variable(void)
{
	char out[8192];

	setenv("UK_CARRIERS", "10", 1);
	setenv("UK_STALL", "3000", 1);
	/* a slow machine has not made all carriers by then, and reports that first */
	child_says(stands_still, "threads that may be made", out, sizeof(out));
	CHECK(strstr(out, "stall: vp"));
	CHECK(strstr(out, "(limit: UK_CARRIERS; raise it)"));
	CHECK(strstr(out, "\"raw-reader\""));
	CHECK(!strstr(out, "\"saviour\""));
	unsetenv("UK_CARRIERS");
}

static void many(void)
{
	uk_thread *t[600], *last;
	char c = 'x';

	CHECK_EQ(pipe(gate), 0);
	for (int i = 0; i < 600; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, reads_raw, NULL), 0);
	CHECK_EQ(uk_thread_create(&last, NULL, frees_all, NULL), 0);
	/* it runs last, when every other thread holds a kernel thread */
	CHECK_EQ(uk_thread_join(last, NULL), 0);
	for (int i = BLOCKED; i < 600; i++)
		CHECK_EQ(write(gate[1], &c, 1), 1);
	for (int i = 0; i < 600; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	fputs("all came back", stderr);
}

static void six_hundred_threads_may_block(void)
{
	struct rlimit rl;
	char out[8192];

	CHECK_EQ(getrlimit(RLIMIT_NPROC, &rl), 0);
	if (rl.rlim_cur < 4 * 700) {
		printf("skipped: RLIMIT_NPROC is too low: %lu\n",
		       (unsigned long)rl.rlim_cur);
		return;
	}
	child_says(many, "came back", out, sizeof(out));
	CHECK(strstr(out, "all came back"));
}

int main(void)
{
	RUN(the_report_names_limit_threads_and_variable);
	RUN(six_hundred_threads_may_block);
	return 0;
}

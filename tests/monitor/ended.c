/* SPDX-License-Identifier: Apache-2.0 */
/* A thread ends its kernel thread, a carrier, by a raw system call that the library
 * cannot see. The library reports that the thread is lost. The other threads of its vp
 * go on, also those whose requests the ended carrier had submitted. */
#include <stdio.h>
#include <sys/mman.h>
#include <uk/uk.h>
#include <unistd.h>

#include "base/sys.h"
#include "test.h"

enum { READERS = 16, LOST = 6 };

static int pipes[READERS][2], said;
static uk_thread *reader[READERS];
static uk_sem got = UK_SEM_INIT(0);
static uint32_t turns, over, begun;

static void *reads(void *arg)
{
	const int *p = arg;
	char c;

	while (uk_read(p[0], &c, 1) == 1)
		uk_sem_post(&got);
	return NULL;
}

static void *turns_beside(void *arg)
{
	while (!load_acquire(&over)) {
		bump(&turns, 1);
		uk_yield();
	}
	return arg;
}

static void *ends_its_kernel_thread(void *arg)
{
	store_release(&begun, 1);
	sys1(SYS_exit, 0);
	return arg;
}

static void lose_one(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	store_release(&begun, 0);
	a.name = "lost-one";
	CHECK_EQ(uk_thread_create(&t, &a, ends_its_kernel_thread, NULL), 0);
	CHECK_EQ(uk_thread_detach(t), 0);
	UNTIL(load_acquire(&begun));
}

static void all_read(void)
{
	for (int i = 0; i < READERS; i++)
		CHECK_EQ(write(pipes[i][1], "x", 1), 1);
	for (int i = 0; i < READERS; i++)
		CHECK_EQ(uk_sem_wait(&got), 0);
}

static void the_others_go_on(void)
{
	uk_thread *beside;

	for (int i = 0; i < READERS; i++) {
		CHECK_EQ(pipe(pipes[i]), 0);
		CHECK_EQ(uk_thread_create(&reader[i], NULL, reads, pipes[i]), 0);
	}
	CHECK_EQ(uk_thread_create(&beside, NULL, turns_beside, NULL), 0);
	CHECK_EQ(uk_thread_detach(beside), 0);
	all_read();
	for (int i = 0; i < LOST; i++) {
		uint32_t was;

		lose_one();
		was = load_relaxed(&turns);
		UNTIL(load_relaxed(&turns) > was + 1);
		all_read();
	}
}

/* How many losses have been reported so far. */
static int times_reported(void)
{
	static char text[1 << 16];
	ssize_t n = pread(said, text, sizeof(text) - 1, 0);
	const char *p = text;
	int times = 0;

	CHECK(n >= 0);
	text[n] = 0;
	while ((p = strstr(p, "\"lost-one\""))) {
		times++;
		p++;
	}
	return times;
}

static void each_loss_is_reported_once(void)
{
	uk_stats s;

	UNTIL(times_reported() >= LOST);
	CHECK_EQ(times_reported(), LOST);
	uk_stats_get(&s, sizeof(s));
	CHECK(s.carriers >= 1);
}

/* Runs all tests again where the monitor has its own table of fds, with 2 in it. */
static void again_by_events(char **argv)
{
	if (getenv("UK_ACTIVATION"))
		return;
	setenv("UK_ACTIVATION", "perf", 1);
	execv("/proc/self/exe", argv);
	CHECK(false);
}

int main(int argc UNUSED, char **argv)
{
	int err = dup(2);

	said = memfd_create("said", 0);
	CHECK(said >= 0 && dup2(said, 2) == 2);
	RUN(the_others_go_on);
	RUN(each_loss_is_reported_once);
	dup2(err, 2);
	store_release(&over, 1);
	for (int i = 0; i < READERS; i++) {
		close(pipes[i][1]);
		CHECK_EQ(uk_thread_join(reader[i], NULL), 0);
	}
	again_by_events(argv);
	return 0;
}

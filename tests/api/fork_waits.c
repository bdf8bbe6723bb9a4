/* SPDX-License-Identifier: Apache-2.0 */
/* A forked child undoes the waits of threads that it does not have. It does so for
 * objects that still exist, and for no others. */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

#define PATTERN 0xa5
#define ROUNDS 20

static union {
	uk_barrier barrier;
	uk_cond cond;
	unsigned char bytes[64];
} o; /* used by one test after another */
static uk_mutex m = UK_MUTEX_INIT;
static uint32_t waiting;

static bool untouched(void)
{
	for (size_t i = 0; i < sizeof(o); i++)
		if (o.bytes[i] != PATTERN)
			return false;
	return true;
}

/* Forks, and checks that fine() is true in the child. */
static void check_in_a_child(bool (*fine)(void))
{
	pid_t pid = fork(), got;
	int st;

	CHECK(pid >= 0);
	if (!pid)
		_exit(SANITIZED || fine() ? 0 : 1);
	do
		got = waitpid(pid, &st, 0);
	while (got < 0 && errno == EINTR);
	CHECK_EQ(got, pid);
	CHECK_EQ(st, 0);
}

static void *waits_at_barrier(void *arg)
{
	waiting++;
	CHECK(uk_barrier_wait(&o.barrier) >= 0);
	return arg;
}

static void *waits_on_cond(void *arg)
{
	CHECK_EQ(uk_mutex_lock(&m), 0);
	waiting++;
	CHECK_EQ(uk_cond_wait(&o.cond, &m), 0);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	return arg;
}

/* Starts n threads that run fn, and waits until they sleep. */
static void start(uk_thread **t, int n, void *(*fn)(void *))
{
	waiting = 0;
	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, fn, NULL), 0);
	while (waiting < (uint32_t)n)
		uk_yield();
	uk_sleep(UK_MS / 10);
}

static void finish(uk_thread **t, int n)
{
	for (int i = 0; i < n; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static void a_barrier_that_has_opened_is_not_touched(void)
{
	uk_thread *t[2];

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(uk_barrier_init(&o.barrier, 3), 0);
		start(t, 2, waits_at_barrier);
		CHECK_EQ(uk_barrier_wait(&o.barrier), 1);
		memset(&o, PATTERN, sizeof(o)); /* as reuse after a free would */
		check_in_a_child(untouched);
		finish(t, 2);
	}
}

static void a_condition_that_was_broadcast_is_not_touched(void)
{
	uk_thread *t[2];

	for (int i = 0; i < ROUNDS; i++) {
		o.cond = (uk_cond)UK_COND_INIT;
		start(t, 2, waits_on_cond);
		CHECK_EQ(uk_mutex_lock(&m), 0);
		CHECK_EQ(uk_cond_broadcast(&o.cond), 0);
		memset(&o, PATTERN, sizeof(o));
		check_in_a_child(untouched);
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		finish(t, 2);
	}
}

static uk_chan *chan;
static unsigned char *reused; /* the memory of the destroyed channel */
static size_t chan_size;

static bool chan_untouched(void)
{
	for (size_t i = 0; i < chan_size; i++)
		if (reused[i] != PATTERN)
			return false;
	return true;
}

static void *receives(void *arg)
{
	waiting++;
	CHECK_EQ(uk_chan_recv(chan, NULL), -EPIPE);
	return arg;
}

/* Two receivers wait. The last one that the close wakes may destroy the channel. */
static void a_channel_that_was_closed_is_not_touched(void)
{
	uk_thread *t[2];
	uintptr_t was;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK_EQ(uk_chan_create(&chan, 0, 0), 0);
		chan_size = malloc_usable_size(chan);
		start(t, 2, receives);
		CHECK_EQ(uk_chan_close(chan), 0);
		was = (uintptr_t)chan;
		uk_chan_destroy(chan);
		reused = malloc(chan_size);
		CHECK(SANITIZED || (uintptr_t)reused == was);
		memset(reused, PATTERN, chan_size);
		check_in_a_child(chan_untouched);
		free(reused);
		finish(t, 2);
	}
}

static void *arrives(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)uk_barrier_wait(&o.barrier);
}

/* Three threads arrive, and exactly one is told that it is the last. */
static bool barrier_is_reset(void)
{
	uk_thread *t[2];
	int last;

	for (int i = 0; i < 2; i++)
		if (uk_thread_create(&t[i], NULL, arrives, NULL))
			return false;
	last = uk_barrier_wait(&o.barrier);
	for (int i = 0; i < 2; i++) {
		void *r;

		if (uk_thread_join(t[i], &r))
			return false;
		last += (int)(intptr_t)r;
	}
	return last == 1;
}

static void a_barrier_where_threads_wait_is_reset(void)
{
	uk_thread *t[2];

	CHECK_EQ(uk_barrier_init(&o.barrier, 3), 0);
	start(t, 2, waits_at_barrier);
	check_in_a_child(barrier_is_reset);
	CHECK_EQ(uk_barrier_wait(&o.barrier), 1);
	finish(t, 2);
}

static void *all(void *arg)
{
	RUN(a_barrier_that_has_opened_is_not_touched);
	RUN(a_condition_that_was_broadcast_is_not_touched);
	RUN(a_barrier_where_threads_wait_is_reset);
	RUN(a_channel_that_was_closed_is_not_touched);
	return arg;
}

int main(void)
{
	uk_thread *t;

	setenv("UK_VPS", "1", 1); /* so a woken thread has not run when we fork */
	CHECK_EQ(uk_thread_create(&t, NULL, all, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads that block outside the runtime, one after the other, do not delay a
 * thread that only parks. The test counts turns instead of time: how many threads of
 * the crowd run between two turns of the thread that parks (the ticker).
 *
 * On a loaded machine the kernel may preempt the ticker. Then it looks like a thread
 * that computes and loses its vp, and the crowd runs on until the kernel continues the
 * ticker. This is not the fault of the crowd, so turns during which a hog lost its vp
 * do not count. */
#include <pthread.h>
#include <uk/uk.h>

#include "test.h"

enum { CROWD = 300, MOST = 150 };

static pthread_barrier_t wall;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static uint32_t ticks, stop, in;
static uint32_t most, beside_hogs; /* turns of the crowd between two ticks */

static uint64_t hogs(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s.handoffs_hog;
}

static void *tick(void *arg)
{
	uint64_t hogs_were = hogs();
	uint32_t before = 0;

	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		uint32_t now = __atomic_load_n(&in, __ATOMIC_SEQ_CST);
		uint64_t hogs_are = hogs();
		uint32_t *to = hogs_are == hogs_were ? &most : &beside_hogs;

		*to = now - before > *to ? now - before : *to;
		before = now;
		hogs_were = hogs_are;
		__atomic_fetch_add(&ticks, 1, __ATOMIC_SEQ_CST);
		uk_sleep(1);
	}
	return arg;
}

static void *at_a_barrier(void *arg)
{
	__atomic_fetch_add(&in, 1, __ATOMIC_SEQ_CST);
	pthread_barrier_wait(&wall);
	return arg;
}

static void *behind_a_mutex(void *arg)
{
	__atomic_fetch_add(&in, 1, __ATOMIC_SEQ_CST);
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return arg;
}

static void ticker_runs_beside(void *(*crowd)(void *))
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t[CROWD], *tk;

	CHECK_EQ(uk_vpset_create(&a.set, "burst", 1, NULL, 0), 0);
	ticks = stop = in = most = beside_hogs = 0;
	CHECK_EQ(uk_thread_create(&tk, &a, tick, NULL), 0);
	UNTIL(__atomic_load_n(&ticks, __ATOMIC_SEQ_CST) > 10);
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(uk_thread_create(&t[i], &a, crowd, NULL), 0);
	UNTIL(__atomic_load_n(&in, __ATOMIC_SEQ_CST) == CROWD);
	if (crowd == at_a_barrier)
		pthread_barrier_wait(&wall);
	else
		pthread_mutex_unlock(&held);
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_thread_join(tk, NULL), 0);
	printf("at most %u of %d threads ran between two turns, %u beside a hog\n",
	       most, CROWD, beside_hogs);
	CHECK(most < MOST);
}

static void a_crowd_at_a_barrier_starves_no_thread(void)
{
	CHECK_EQ(pthread_barrier_init(&wall, NULL, CROWD + 1), 0);
	ticker_runs_beside(at_a_barrier);
}

static void a_crowd_behind_a_mutex_starves_no_thread(void)
{
	pthread_mutex_lock(&held);
	ticker_runs_beside(behind_a_mutex);
}

int main(void)
{
	RUN(a_crowd_at_a_barrier_starves_no_thread);
	RUN(a_crowd_behind_a_mutex_starves_no_thread);
	return 0;
}

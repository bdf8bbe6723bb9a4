/* SPDX-License-Identifier: Apache-2.0 */
/* A crowd of threads that block outside the runtime, one after the other, holds up nobody
 * who does not. Measured in turns, not in time: how many of the crowd get theirs between two
 * of a thread that only parks. */
#include <pthread.h>
#include <uk/uk.h>

#include "test.h"

enum { CROWD = 300, MOST = 150 };

static pthread_barrier_t wall;
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static uint32_t ticks, stop, in;
static uint32_t at[CROWD]; /* the tick at which each of the crowd began */

static void *tick(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST)) {
		__atomic_fetch_add(&ticks, 1, __ATOMIC_SEQ_CST);
		uk_sleep(1);
	}
	return arg;
}

static void comes_in(void)
{
	uint32_t n = __atomic_fetch_add(&in, 1, __ATOMIC_SEQ_CST);

	at[n] = __atomic_load_n(&ticks, __ATOMIC_SEQ_CST);
}

static void *at_a_barrier(void *arg)
{
	comes_in();
	pthread_barrier_wait(&wall);
	return arg;
}

static void *behind_a_mutex(void *arg)
{
	comes_in();
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return arg;
}

static void ticker_runs_beside(void *(*crowd)(void *))
{
	uk_attr a = UK_ATTR_INIT;
	uk_thread *t[CROWD], *tk;
	uint32_t run = 0, most = 0;

	CHECK_EQ(uk_vpset_create(&a.set, "burst", 1, NULL, 0), 0);
	ticks = stop = in = 0;
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
	for (int i = 1; i < CROWD; i++) {
		run = at[i] == at[i - 1] ? run + 1 : 0;
		most = run > most ? run : most;
	}
	printf("at most %u of %d between two turns\n", most + 1, CROWD);
	CHECK(most < MOST);
}

static void a_crowd_at_a_barrier_starves_nobody(void)
{
	CHECK_EQ(pthread_barrier_init(&wall, NULL, CROWD + 1), 0);
	ticker_runs_beside(at_a_barrier);
}

static void a_crowd_behind_a_mutex_starves_nobody(void)
{
	pthread_mutex_lock(&held);
	ticker_runs_beside(behind_a_mutex);
}

int main(void)
{
	RUN(a_crowd_at_a_barrier_starves_nobody);
	RUN(a_crowd_behind_a_mutex_starves_nobody);
	return 0;
}

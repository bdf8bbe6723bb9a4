/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes of every type: the results of the calls, and mutual exclusion. */
#include "posix.h"

#define THREADS 12
#define ROUNDS 3000

static const int types[] = { PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_RECURSIVE,
			     PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP };

static void make(pthread_mutex_t *m, int type, int protocol, int robust)
{
	pthread_mutexattr_t a;

	CHECK(!pthread_mutexattr_init(&a));
	CHECK(!pthread_mutexattr_settype(&a, type));
	CHECK(!pthread_mutexattr_setprotocol(&a, protocol));
	CHECK(!pthread_mutexattr_setrobust(&a, robust));
	CHECK(!pthread_mutex_init(m, &a));
	pthread_mutexattr_destroy(&a);
}

/* ---- results of the calls ---- */

static void *from_another(void *arg)
{
	pthread_mutex_t *m = arg;
	struct timespec past = { 1, 0 }, bad = { 1, 1000000000 }, old = { -1, 0 };
	struct timespec soon = in_ms(CLOCK_REALTIME, 20),
			soon_m = in_ms(CLOCK_MONOTONIC, 20);
	int kind = m->__data.__kind & 3;

	SAY(pthread_mutex_trylock(m));
	SAY(pthread_mutex_timedlock(m, &past));
	SAY(pthread_mutex_timedlock(m, &old));
	SAY(pthread_mutex_timedlock(m, &bad));
	SAY(pthread_mutex_timedlock(m, &soon));
	SAY(pthread_mutex_clocklock(m, CLOCK_MONOTONIC, &soon_m));
	SAY(pthread_mutex_clocklock(m, CLOCK_PROCESS_CPUTIME_ID, &soon_m));
	if (kind == PTHREAD_MUTEX_RECURSIVE || kind == PTHREAD_MUTEX_ERRORCHECK)
		SAY(pthread_mutex_unlock(m));
	return NULL;
}

static void results(int type, int protocol, int robust)
{
	struct timespec bad = { 1, 1000000000 }, soon = in_ms(CLOCK_REALTIME, 20);
	pthread_mutex_t m;

	printf("type %d protocol %d robust %d\n", type, protocol, robust);
	make(&m, type, protocol, robust);
	if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK ||
	    robust)
		SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_timedlock(&m, &bad));
	if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
		SAY(pthread_mutex_lock(&m));
	if (protocol == PTHREAD_PRIO_NONE || type != PTHREAD_MUTEX_NORMAL)
		SAY(pthread_mutex_timedlock(&m, &soon));
	SAY(pthread_mutex_trylock(&m));
	if (!robust) /* libc gives EINVAL or 0 for a locked robust mutex */
		SAY(pthread_mutex_destroy(&m));
	finish(start(from_another, &m));
	while (type == PTHREAD_MUTEX_RECURSIVE && m.__data.__count > 1)
		CHECK(!pthread_mutex_unlock(&m));
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_consistent(&m));
	SAY(pthread_mutex_destroy(&m));
	SAY(pthread_mutex_lock(&m));
	SAY(pthread_mutex_trylock(&m));
	SAY(pthread_mutex_unlock(&m));
}

/* ---- mutual exclusion ---- */

static pthread_mutex_t one;
static int inside;
static long total;

static void work(void)
{
	struct timespec later;

	for (int i = 0; i < ROUNDS; i++) {
		switch (i % 4) {
		case 0:
			while (pthread_mutex_trylock(&one))
				sched_yield();
			break;
		case 1:
			later = in_ms(CLOCK_REALTIME, 100000);
			CHECK(!pthread_mutex_timedlock(&one, &later));
			break;
		default:
			CHECK(!pthread_mutex_lock(&one));
		}
		CHECK(!inside++);
		total++;
		if (i % 64 == 0)
			sched_yield();
		if (i % 512 == 0)
			usleep(10);
		CHECK(!--inside);
		CHECK(!pthread_mutex_unlock(&one));
	}
}

static void *worker(void *arg)
{
	work();
	return arg;
}

static void crowd(int type, int protocol, int robust)
{
	pthread_t t[THREADS];

	total = 0;
	make(&one, type, protocol, robust);
	for (int i = 0; i < THREADS; i++)
		t[i] = start(worker, NULL);
	work(); /* main, too */
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	CHECK(total == (THREADS + 1L) * ROUNDS);
	CHECK(!pthread_mutex_destroy(&one));
}

/* ---- another thread may unlock a normal mutex ---- */

static void *unlocks(void *arg)
{
	CHECK(!pthread_mutex_unlock(arg));
	return NULL;
}

static void *locks(void *arg)
{
	CHECK(!pthread_mutex_lock(arg));
	return NULL;
}

static void another_thread_may_unlock(void)
{
	static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
	pthread_t a, b;

	CHECK(!pthread_mutex_lock(&m));
	a = start(locks, &m);
	usleep(1000);
	b = start(unlocks, &m);
	finish(a);
	finish(b);
	SAY(pthread_mutex_trylock(&m));
	SAY(pthread_mutex_unlock(&m));
}

static void recursion_is_counted(void)
{
	static pthread_mutex_t m = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
	static pthread_mutex_t e = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;

	for (int i = 0; i < 100; i++)
		CHECK(!pthread_mutex_lock(&m));
	m.__data.__count = UINT32_MAX;
	SAY(pthread_mutex_lock(&m));
	SAY(pthread_mutex_trylock(&m));
	m.__data.__count = 1;
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_unlock(&e));
	SAY(pthread_mutex_lock(&e));
	SAY(pthread_mutex_lock(&e));
	SAY(pthread_mutex_unlock(&e));
}

int main(void)
{
	RUN(recursion_is_counted);
	for (unsigned i = 0; i < 4; i++) {
		results(types[i], PTHREAD_PRIO_NONE, 0);
		results(types[i], PTHREAD_PRIO_INHERIT, 0);
		results(types[i], PTHREAD_PRIO_NONE, 1);
		results(types[i], PTHREAD_PRIO_INHERIT, 1);
		crowd(types[i], PTHREAD_PRIO_NONE, 0);
	}
	crowd(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, 0);
	crowd(PTHREAD_MUTEX_RECURSIVE, PTHREAD_PRIO_NONE, 1);
	RUN(another_thread_may_unlock);
	puts("one at a time");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reader-writer locks of every kind: the results of the calls, and mutual exclusion. */
#include "posix.h"

#define THREADS 8
#define ROUNDS 2000

static const int kinds[] = { PTHREAD_RWLOCK_PREFER_READER_NP,
			     PTHREAD_RWLOCK_PREFER_WRITER_NP,
			     PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP };

static pthread_rwlock_t l;
static int readers, writers;
static long written;

static void make(int kind)
{
	pthread_rwlockattr_t a;

	CHECK(!pthread_rwlockattr_init(&a));
	CHECK(!pthread_rwlockattr_setkind_np(&a, kind));
	CHECK(!pthread_rwlock_init(&l, &a));
}

static void *from_another(void *arg)
{
	struct timespec past = { 1, 0 }, bad = { 1, -1 };
	struct timespec soon = in_ms(CLOCK_MONOTONIC, 20);

	SAY(pthread_rwlock_tryrdlock(&l));
	SAY(pthread_rwlock_trywrlock(&l));
	SAY(pthread_rwlock_timedwrlock(&l, &past));
	SAY(pthread_rwlock_timedwrlock(&l, &bad));
	SAY(pthread_rwlock_clockwrlock(&l, CLOCK_MONOTONIC, &soon));
	SAY(pthread_rwlock_clockwrlock(&l, CLOCK_PROCESS_CPUTIME_ID, &soon));
	if (arg) {
		SAY(pthread_rwlock_timedrdlock(&l, &past));
		SAY(pthread_rwlock_timedrdlock(&l, &bad));
		SAY(pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &soon));
		SAY(pthread_rwlock_clockrdlock(&l, CLOCK_BOOTTIME, &soon));
	} else {
		SAY(pthread_rwlock_unlock(&l)); /* the tryrdlock above */
	}
	return NULL;
}

static void results(int kind)
{
	struct timespec bad = { 1, 1000000000 }, past = { 1, 0 };

	printf("kind %d\n", kind);
	make(kind);
	SAY(pthread_rwlock_timedrdlock(&l, &bad));
	SAY(pthread_rwlock_timedrdlock(&l, &past));
	SAY(pthread_rwlock_rdlock(&l));
	SAY(pthread_rwlock_trywrlock(&l));
	finish(start(from_another, NULL));
	SAY(pthread_rwlock_unlock(&l));
	SAY(pthread_rwlock_unlock(&l));
	SAY(pthread_rwlock_wrlock(&l));
	SAY(pthread_rwlock_wrlock(&l));
	SAY(pthread_rwlock_rdlock(&l));
	SAY(pthread_rwlock_timedwrlock(&l, &past));
	SAY(pthread_rwlock_timedwrlock(&l, &bad));
	SAY(pthread_rwlock_tryrdlock(&l));
	finish(start(from_another, &l));
	SAY(pthread_rwlock_unlock(&l));
	SAY(pthread_rwlock_destroy(&l));
}

/* A reader locks once more while a writer waits. It succeeds unless the kind forbids
 * it. */
static void *a_writer(void *arg)
{
	CHECK(!pthread_rwlock_wrlock(&l));
	written++;
	CHECK(!pthread_rwlock_unlock(&l));
	return arg;
}

static void again(int kind)
{
	struct timespec soon;
	pthread_t t;
	int r;

	make(kind);
	CHECK(!pthread_rwlock_rdlock(&l));
	t = start(a_writer, NULL);
	usleep(30000); /* it most likely waits now; if not, no kind fails */
	soon = in_ms(CLOCK_REALTIME, 50);
	r = pthread_rwlock_timedrdlock(&l, &soon);
	if (kind != PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP)
		CHECK(!r);
	CHECK(!r || r == ETIMEDOUT);
	if (!r)
		CHECK(!pthread_rwlock_unlock(&l));
	CHECK(!pthread_rwlock_unlock(&l));
	finish(t);
	CHECK(!pthread_rwlock_destroy(&l));
}

static void read_once(int i)
{
	struct timespec later = in_ms(CLOCK_MONOTONIC, 100000);

	if (i % 7 == 0)
		while (pthread_rwlock_tryrdlock(&l))
			sched_yield();
	else if (i % 7 == 1)
		CHECK(!pthread_rwlock_clockrdlock(&l, CLOCK_MONOTONIC, &later));
	else
		CHECK(!pthread_rwlock_rdlock(&l));
	__atomic_fetch_add(&readers, 1, __ATOMIC_RELAXED);
	CHECK(!__atomic_load_n(&writers, __ATOMIC_RELAXED));
	if (i % 32 == 0)
		sched_yield();
	__atomic_fetch_sub(&readers, 1, __ATOMIC_RELAXED);
	CHECK(!pthread_rwlock_unlock(&l));
}

static void write_once(int i)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, i % 5);

	if (i % 3 == 0) {
		if (pthread_rwlock_timedwrlock(&l, &soon))
			return;
	} else {
		CHECK(!pthread_rwlock_wrlock(&l));
	}
	CHECK(!__atomic_fetch_add(&writers, 1, __ATOMIC_RELAXED));
	CHECK(!__atomic_load_n(&readers, __ATOMIC_RELAXED));
	written++;
	if (i % 16 == 0)
		sched_yield();
	__atomic_fetch_sub(&writers, 1, __ATOMIC_RELAXED);
	CHECK(!pthread_rwlock_unlock(&l));
}

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++)
		if (i % 4)
			read_once(i);
		else
			write_once(i);
	return arg;
}

int main(void)
{
	pthread_t t[THREADS];

	for (int k = 0; k < 3; k++) {
		results(kinds[k]);
		again(kinds[k]);
		make(kinds[k]);
		for (int i = 0; i < THREADS; i++)
			t[i] = start(work, NULL);
		work(NULL);
		for (int i = 0; i < THREADS; i++)
			finish(t[i]);
		CHECK(!pthread_rwlock_destroy(&l));
	}
	puts("done");
	return 0;
}

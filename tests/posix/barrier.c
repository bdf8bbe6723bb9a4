/* SPDX-License-Identifier: Apache-2.0 */
/* Barriers, also when a handler interrupts the wait; pthread_once; and spin locks whose
 * owner may be a thread of the same vp. */
#include <semaphore.h>
#include <signal.h>
#include <threads.h>

#include "asleep.h"
#include "posix.h"

#define THREADS 20
#define ROUNDS 200

static pthread_barrier_t b;
static int arrived[ROUNDS], serial[ROUNDS];

static void *rounds(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		__atomic_fetch_add(&arrived[i], 1, __ATOMIC_RELAXED);
		switch (pthread_barrier_wait(&b)) {
		case 0:
			break;
		case PTHREAD_BARRIER_SERIAL_THREAD:
			serial[i]++;
			break;
		default:
			CHECK(0);
		}
		CHECK(__atomic_load_n(&arrived[i], __ATOMIC_RELAXED) == THREADS + 1);
	}
	return arg;
}

static void barriers(int shared)
{
	pthread_barrierattr_t a;
	pthread_t t[THREADS];

	memset(arrived, 0, sizeof(arrived));
	memset(serial, 0, sizeof(serial));
	CHECK(!pthread_barrierattr_init(&a));
	CHECK(!pthread_barrierattr_setpshared(&a, shared));
	SAY(pthread_barrier_init(&b, &a, 0));
	CHECK(!pthread_barrier_init(&b, &a, THREADS + 1));
	for (int i = 0; i < THREADS; i++)
		t[i] = start(rounds, NULL);
	rounds(NULL);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	SAY(pthread_barrier_destroy(&b));
	for (int i = 0; i < ROUNDS; i++)
		CHECK(serial[i] == 1);
	CHECK(!pthread_barrier_init(&b, &a, 1));
	SAY(pthread_barrier_wait(&b));
	SAY(pthread_barrier_destroy(&b));
}

/* The thread that gets PTHREAD_BARRIER_SERIAL_THREAD frees the barrier. */
static void *freed(void *arg)
{
	pthread_barrier_t *x = arg;

	if (pthread_barrier_wait(x) == PTHREAD_BARRIER_SERIAL_THREAD) {
		pthread_barrier_destroy(x);
		memset(x, 0xee, sizeof(*x));
		free(x);
	}
	return NULL;
}

/* -- a handler interrupts the wait -- */

static sem_t in_handler, may_leave;
static int handlers;

static void on_signal(int sig)
{
	int err = errno;

	(void)sig;
	__atomic_fetch_add(&handlers, 1, __ATOMIC_RELAXED);
	sem_post(&in_handler);
	while (sem_wait(&may_leave))
		CHECK(errno == EINTR);
	errno = err;
}

static void *waits(void *arg)
{
	CHECK(!pthread_setname_np(pthread_self(), "at-barrier"));
	CHECK(!pthread_barrier_wait(arg));
	return arg;
}

static void *destroys(void *arg)
{
	CHECK(!pthread_barrier_destroy(arg));
	memset(arg, 0xee, sizeof(b));
	return arg;
}

/* A thread in a handler has already arrived at the barrier: the last thread passes, and
 * pthread_barrier_destroy waits until the handler returns. The barrier opens during the
 * handler or about when it ends. */
static void handled(bool opens_after)
{
	pthread_t t, other;

	CHECK(!pthread_barrier_init(&b, NULL, 2));
	t = start(waits, &b);
	until_sleeps("at-barrier");
	CHECK(!pthread_kill(t, SIGUSR1));
	while (sem_wait(&in_handler))
		CHECK(errno == EINTR);
	if (opens_after)
		CHECK(!sem_post(&may_leave));
	CHECK(pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD);
	other = start(destroys, &b);
	if (!opens_after)
		CHECK(!sem_post(&may_leave));
	finish(t);
	finish(other);
}

static void handlers_interrupt_barrier_waits(void)
{
	struct sigaction a = { .sa_handler = on_signal };

	CHECK(!sem_init(&in_handler, 0, 0) && !sem_init(&may_leave, 0, 0));
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	for (int i = 0; i < 10; i++)
		handled(i % 2);
	printf("handlers: %d\n", handlers);
}

/* -- once -- */

static pthread_once_t once = PTHREAD_ONCE_INIT, left = PTHREAD_ONCE_INIT;
static once_flag flag = ONCE_FLAG_INIT;
static int ran, tried;
static sem_t never;

static void runs(void)
{
	usleep(2000);
	ran++;
}

static void *calls(void *arg)
{
	CHECK(!pthread_once(&once, runs));
	CHECK(ran >= 1);
	call_once(&flag, runs);
	CHECK(ran == 2);
	return arg;
}

static void first_is_cancelled(void)
{
	if (++tried == 1)
		for (;;)
			sem_wait(&never);
}

static void *calls_left(void *arg)
{
	CHECK(!pthread_once(&left, first_is_cancelled));
	return arg;
}

static void once_runs_once(void)
{
	pthread_t t[THREADS], first;

	for (int i = 0; i < THREADS; i++)
		t[i] = start(calls, NULL);
	calls(NULL);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	first = start(calls_left, NULL);
	while (!__atomic_load_n(&tried, __ATOMIC_RELAXED))
		usleep(100);
	for (int i = 0; i < THREADS; i++)
		t[i] = start(calls_left, NULL);
	usleep(1000);
	CHECK(!pthread_cancel(first));
	CHECK(finish(first) == PTHREAD_CANCELED);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	printf("ran %d, tried %d\n", ran, tried);
}

/* -- spin -- */

static pthread_spinlock_t spin;
static long spun;

static void *spins(void *arg)
{
	for (int i = 0; i < 200; i++) {
		CHECK(!pthread_spin_lock(&spin));
		spun++;
		if (i == 100)
			sched_yield(); /* the other threads of this vp spin */
		CHECK(!pthread_spin_unlock(&spin));
	}
	return arg;
}

static void spin_locks_exclude(void)
{
	pthread_t t[THREADS];

	CHECK(!pthread_spin_init(&spin, 0));
	for (int i = 0; i < THREADS; i++)
		t[i] = start(spins, NULL);
	spins(NULL);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	CHECK(!pthread_spin_lock(&spin));
	SAY(pthread_spin_trylock(&spin));
	SAY(pthread_spin_unlock(&spin));
	SAY(pthread_spin_destroy(&spin));
	printf("spun %ld\n", spun);
}

int main(void)
{
	barriers(PTHREAD_PROCESS_PRIVATE);
	barriers(PTHREAD_PROCESS_SHARED);
	for (int i = 0; i < 200; i++) {
		pthread_barrier_t *x = malloc(sizeof(*x));
		pthread_t t[3];

		CHECK(x && !pthread_barrier_init(x, NULL, 4));
		for (int k = 0; k < 3; k++)
			t[k] = start(freed, x);
		freed(x);
		for (int k = 0; k < 3; k++)
			finish(t[k]);
	}
	RUN(once_runs_once);
	RUN(spin_locks_exclude);
	RUN(handlers_interrupt_barrier_waits);
	return 0;
}

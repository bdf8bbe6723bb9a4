/* SPDX-License-Identifier: Apache-2.0 */
/* Robust mutexes in one process: a thread that holds one and ends, in whatever way,
 * leaves it to the next, which gets EOWNERDEAD. */
#include "posix.h"

#define THREADS 6

static pthread_mutex_t m;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

static void make(int type)
{
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	CHECK(!pthread_mutexattr_settype(&a, type));
	CHECK(!pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST));
	CHECK(!pthread_mutex_init(&m, &a));
}

static void *takes(void *arg)
{
	int r = pthread_mutex_lock(&m);

	CHECK(r == 0 || r == EOWNERDEAD);
	if (r)
		CHECK(!pthread_mutex_consistent(&m));
	if (arg == &m)
		pthread_exit(NULL);
	for (; arg == &c;) /* until it is cancelled while it holds m */
		usleep(1000);
	return NULL;
}

static void *waits(void *arg)
{
	int r = pthread_mutex_lock(&m);

	CHECK(r == 0 || r == EOWNERDEAD);
	if (r)
		CHECK(!pthread_mutex_consistent(&m));
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
	return (void *)(intptr_t)r; /* and ends while it holds m */
}

static void *tells(void *arg)
{
	(void)arg;
	SAY(pthread_mutex_trylock(&m));
	SAY(pthread_mutex_consistent(&m));
	SAY(pthread_mutex_consistent(&m));
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_unlock(&m));
	return NULL;
}

static void *breaks(void *arg)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 20);

	(void)arg;
	SAY(pthread_mutex_timedlock(&m, &soon));
	SAY(pthread_mutex_unlock(&m));
	SAY(pthread_mutex_lock(&m)); /* a trylock would leave libc's own mutex locked */
	SAY(pthread_mutex_timedlock(&m, &soon));
	SAY(pthread_mutex_consistent(&m));
	return NULL;
}

static void one_dies(int type)
{
	pthread_t t[THREADS];
	int in = 0, dead = 0;

	printf("type %d\n", type);
	make(type);
	finish(start(takes, NULL));
	finish(start(tells, NULL));
	finish(start(takes, &m));
	tells(NULL); /* the same in main */
	t[0] = start(takes, &c);
	while (pthread_mutex_trylock(&m) != EBUSY) {
		pthread_mutex_unlock(&m);
		sched_yield();
	}
	CHECK(!pthread_cancel(t[0]));
	finish(t[0]);
	tells(NULL);
	CHECK(!pthread_mutex_lock(&m)); /* each waiter inherits m and ends */
	for (int i = 0; i < THREADS; i++)
		t[i] = start(waits, &in);
	usleep(2000);
	CHECK(!pthread_mutex_unlock(&m));
	for (int i = 0; i < THREADS; i++)
		dead += finish(t[i]) == (void *)EOWNERDEAD;
	printf("locked %d, EOWNERDEAD %d\n", in, dead);
	breaks(NULL);
	SAY(pthread_mutex_destroy(&m));
}

/* -- pthread_cond_wait returns EOWNERDEAD -- */

static int ready;

static void *signals(void *arg)
{
	CHECK(!pthread_mutex_lock(&m));
	ready = 1;
	CHECK(!pthread_cond_signal(&c));
	return arg; /* ends while it holds m */
}

static void *in_wait(void *arg)
{
	int r = 0;

	CHECK(!pthread_mutex_lock(&m));
	*(pthread_t *)arg = start(signals, NULL);
	while (!ready && !r)
		r = pthread_cond_wait(&c, &m);
	printf("wait: %d\n", r);
	SAY(pthread_mutex_consistent(&m));
	SAY(pthread_mutex_unlock(&m));
	return NULL;
}

/* -- main ends while it holds a mutex -- */

static void *heir(void *arg)
{
	int r;

	(void)arg;
	while ((r = pthread_mutex_trylock(&m)) == EBUSY)
		usleep(1000);
	printf("after main: %d\n", r);
	fflush(stdout);
	return NULL;
}

/* Initializes a mutex again while it is held. That is an error of the program, but must
 * not hang. */
static void *makes_anew(void *arg)
{
	for (int i = 0; i < 3; i++) {
		make(PTHREAD_MUTEX_NORMAL);
		CHECK(!pthread_mutex_lock(&m));
	}
	return arg;
}

int main(void)
{
	pthread_t other;

	one_dies(PTHREAD_MUTEX_NORMAL);
	one_dies(PTHREAD_MUTEX_RECURSIVE);
	one_dies(PTHREAD_MUTEX_ERRORCHECK);
	finish(start(makes_anew, NULL));
	make(PTHREAD_MUTEX_NORMAL);
	finish(start(in_wait, &other));
	finish(other);
	CHECK(!pthread_mutex_lock(&m));
	pthread_detach(start(heir, NULL));
	pthread_exit(NULL);
}

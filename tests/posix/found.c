/* SPDX-License-Identifier: Apache-2.0 */
/* Language runtimes find functions by a handle of libc. What they find works on the
 * same objects as the functions that the program is linked with. */
#include <dlfcn.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>

#include "posix.h"

enum { THREADS = 8, TIMES = 2000 };

static void *libc;
static bool versioned;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_barrier_t barrier;
static sem_t sem;
static int count, inside, waiting, flag, ran;

#ifdef __x86_64__
#define VERSION "GLIBC_2.2.5"
#else
#define VERSION "GLIBC_2.17"
#endif

/* By dlvsym where libc's present function has that version. */
static void *find(const char *name)
{
	void *plain = dlsym(libc, name);

	CHECK(plain);
	return versioned && dlvsym(libc, name, VERSION) ? dlvsym(libc, name, VERSION)
							: plain;
}

#define FOUND(name) ((__typeof__(&(name)))find(#name))

static void *locks(void *arg)
{
	__typeof__(&pthread_mutex_lock) take = FOUND(pthread_mutex_lock);
	__typeof__(&pthread_mutex_unlock) give = FOUND(pthread_mutex_unlock);
	bool found = arg;

	for (int i = 0; i < TIMES; i++) {
		CHECK(!(found ? take : pthread_mutex_lock)(&lock));
		CHECK(!inside++);
		count++;
		if (i % 200 == 0)
			usleep(100);
		inside--;
		CHECK(!(found ? give : pthread_mutex_unlock)(&lock));
	}
	return NULL;
}

/* A thread made by either way ends for a joiner of either way. */
static void start_and_finish(void *(*fn)(void *), void (*meanwhile)(void))
{
	pthread_t t[THREADS];

	for (long i = 0; i < THREADS; i++)
		CHECK(!(i & 1 ? FOUND(pthread_create)
			      : pthread_create)(&t[i], NULL, fn, (void *)(i & 1)));
	if (meanwhile)
		meanwhile();
	for (int i = 0; i < THREADS; i++)
		CHECK(!(i & 2 ? FOUND(pthread_join) : pthread_join)(t[i], NULL));
}

static void both_ways_lock_a_mutex(void)
{
	count = 0;
	start_and_finish(locks, NULL);
	CHECK(count == THREADS * TIMES);
}

static void runs_once(void)
{
	usleep(1000);
	ran++;
}

/* (dlvsym has another pthread_cond_wait, for objects of older programs.) */
static void *waits(void *arg)
{
	__typeof__(&pthread_cond_wait) on_cond =
	    (__typeof__(on_cond))dlsym(libc, "pthread_cond_wait");
	bool found = arg;

	pthread_mutex_lock(&lock);
	waiting++;
	while (!flag)
		CHECK(!(found ? on_cond : pthread_cond_wait)(&cond, &lock));
	pthread_mutex_unlock(&lock);
	CHECK(!(found ? FOUND(sem_wait) : sem_wait)(&sem));
	CHECK(!(found ? FOUND(pthread_once) : pthread_once)(&once, runs_once));
	(found ? FOUND(pthread_barrier_wait) : pthread_barrier_wait)(&barrier);
	return NULL;
}

static void wakes(void)
{
	int n;

	do {
		usleep(100);
		pthread_mutex_lock(&lock);
		n = waiting;
		pthread_mutex_unlock(&lock);
	} while (n < THREADS);
	pthread_mutex_lock(&lock);
	flag = 1;
	CHECK(!((__typeof__(&pthread_cond_broadcast))dlsym(
	    libc, "pthread_cond_broadcast"))(&cond));
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		CHECK(!(i & 1 ? FOUND(sem_post) : sem_post)(&sem));
}

static void both_ways_wait(void)
{
	waiting = flag = ran = 0;
	once = (pthread_once_t)PTHREAD_ONCE_INIT;
	CHECK(!sem_init(&sem, 0, 0));
	CHECK(!pthread_barrier_init(&barrier, NULL, THREADS));
	start_and_finish(waits, wakes);
	CHECK(ran == 1);
}

static void other_names_are_libcs(void)
{
	void *c = dlsym(libc, "qsort");

	CHECK(c && c == dlsym(RTLD_DEFAULT, "qsort") && c == dlsym(RTLD_NEXT, "qsort"));
	CHECK(!dlsym(libc, "no_such_function") && dlerror() && !dlerror());
	CHECK(!dlvsym(libc, "pthread_create", "GLIBC_9.9") && dlerror());
	CHECK(dlsym(RTLD_DEFAULT, "pthread_create") ==
	      dlsym(RTLD_NEXT, "pthread_create"));
}

int main(void)
{
	libc = dlopen("libc.so.6", RTLD_NOW | RTLD_LOCAL);
	CHECK(libc);
	for (int i = 0; i < 2; i++) {
		versioned = i;
		RUN(both_ways_lock_a_mutex);
		RUN(both_ways_wait);
	}
	RUN(other_names_are_libcs);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation where libc itself sleeps in the kernel, and of threads that compute or
 * wait where there is no cancellation point. */
#include <semaphore.h>

#include "posix.h"

static pthread_t main_thread;
static sem_t shared;
static int cleaned, begun;

static void on_cleanup(void *arg)
{
	(void)arg;
	__atomic_fetch_add(&cleaned, 1, __ATOMIC_RELAXED);
}

static void *joins_main(void *arg)
{
	pthread_cleanup_push(on_cleanup, NULL);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	pthread_join(main_thread, NULL);
	pthread_cleanup_pop(0);
	return arg;
}

static void *waits(void *arg)
{
	pthread_cleanup_push(on_cleanup, NULL);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	while (sem_wait(&shared))
		;
	pthread_cleanup_pop(0);
	return arg;
}

static void *computes(void *arg)
{
	pthread_cleanup_push(on_cleanup, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	for (volatile unsigned n = 0;; n++)
		;
	pthread_cleanup_pop(0);
	return arg;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;

/* Asynchronous cancellation ends it although mutex_lock is no cancellation point. */
static void *locks(void *arg)
{
	pthread_cleanup_push(on_cleanup, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	pthread_mutex_lock(&mutex);
	pthread_cleanup_pop(0);
	return arg;
}

static void *locks_to_write(void *arg)
{
	pthread_cleanup_push(on_cleanup, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	pthread_rwlock_wrlock(&rwlock);
	pthread_cleanup_pop(0);
	return arg;
}

static void *waits_for_others(void *arg)
{
	pthread_cleanup_push(on_cleanup, NULL);
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	pthread_barrier_wait(&barrier);
	pthread_cleanup_pop(0);
	return arg;
}

/* Deferred cancellation: it continues until a cancellation point. */
static void *comes_to_a_point(void *arg)
{
	pthread_cleanup_push(on_cleanup, NULL);
	__atomic_store_n(&begun, 1, __ATOMIC_RELEASE);
	while (__atomic_load_n(&begun, __ATOMIC_ACQUIRE) == 1)
		;
	__atomic_store_n(&begun, 3, __ATOMIC_RELEASE);
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return arg;
}

static void one(void *(*fn)(void *), int wait)
{
	pthread_t t;

	begun = 0;
	t = start(fn, NULL);
	while (!__atomic_load_n(&begun, __ATOMIC_ACQUIRE))
		usleep(100);
	if (wait)
		usleep(5000);
	CHECK(!pthread_cancel(t));
	if (fn == comes_to_a_point) {
		usleep(2000);
		__atomic_store_n(&begun, 2, __ATOMIC_RELEASE);
	}
	CHECK(finish(t) == PTHREAD_CANCELED);
	CHECK(fn != comes_to_a_point || begun == 3);
}

int main(void)
{
	static void *(*const all[])(void *) = { joins_main,       waits, computes,
						comes_to_a_point, locks, locks_to_write,
						waits_for_others };

	main_thread = pthread_self();
	CHECK(!sem_init(&shared, 1, 0));
	CHECK(!pthread_mutex_lock(&mutex));
	CHECK(!pthread_rwlock_rdlock(&rwlock));
	CHECK(!pthread_barrier_init(&barrier, NULL, 1000));
	for (int round = 0; round < 10; round++)
		for (unsigned i = 0; i < sizeof(all) / sizeof(all[0]); i++)
			one(all[i], round % 2);
	printf("cleaned %d\n", cleaned);
	return 0;
}

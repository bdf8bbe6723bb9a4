/* SPDX-License-Identifier: Apache-2.0 */
/* Threads are created, have their own TLS and stacks, end by return, exit or
 * cancellation, and are joined or detached. */
#include <string.h>
#include <unistd.h>

#include "posix.h"

static __thread long mine;
static pthread_key_t key;
static int ended, cleaned;

static void on_key(void *value)
{
	(void)value;
	__atomic_fetch_add(&ended, 1, __ATOMIC_RELAXED);
}

static void on_cleanup(void *arg)
{
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
}

static void *live(void *arg)
{
	mine = (long)arg;
	pthread_setspecific(key, &mine);
	usleep(1000);
	CHECK(mine == (long)arg);
	if (mine % 3 == 0)
		pthread_exit(arg);
	return arg;
}

static void many_threads_keep_their_values(void)
{
	pthread_t t[100];
	void *r;

	pthread_key_create(&key, on_key);
	for (long i = 0; i < 100; i++)
		CHECK(!pthread_create(&t[i], NULL, live, (void *)i));
	for (long i = 0; i < 100; i++)
		CHECK(!pthread_join(t[i], &r) && r == (void *)i);
	printf("ended %d\n", ended);
}

static void *sleeper(void *arg)
{
	pthread_cleanup_push(on_cleanup, &cleaned);
	for (;;)
		sleep(1);
	pthread_cleanup_pop(0);
	return arg;
}

static void *until_told(void *arg)
{
	while (!__atomic_load_n((int *)arg, __ATOMIC_ACQUIRE))
		usleep(100);
	return NULL;
}

static void threads_are_cancelled_and_detached(void)
{
	pthread_t t;
	void *r;
	int told = 0;

	CHECK(!pthread_create(&t, NULL, sleeper, NULL));
	CHECK(!pthread_cancel(t));
	CHECK(!pthread_join(t, &r));
	printf("cancelled %d, cleaned %d\n", r == PTHREAD_CANCELED, cleaned);
	CHECK(!pthread_create(&t, NULL, until_told, &told));
	printf("tryjoin %d\n", pthread_tryjoin_np(t, NULL) == EBUSY);
	__atomic_store_n(&told, 1, __ATOMIC_RELEASE);
	CHECK(!pthread_join(t, NULL));
	CHECK(!pthread_create(&t, NULL, live, (void *)1));
	CHECK(!pthread_detach(t));
}

/* Nothing else has its memory yet, so libc and the library still recognise it. */
static void a_thread_that_is_gone_cannot_be_joined_or_detached(void)
{
	pthread_attr_t a;
	pthread_t t;
	int r, told = 1;

	CHECK(!pthread_create(&t, NULL, until_told, &told));
	CHECK(!pthread_join(t, NULL));
	CHECK(pthread_join(t, NULL) == ESRCH);
	CHECK(pthread_detach(t) == ESRCH);
	CHECK(!pthread_attr_init(&a));
	CHECK(!pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED));
	for (int late = 0; late < 2; late++) {
		CHECK(!pthread_create(&t, late ? NULL : &a, until_told, &told));
		CHECK(!late || !pthread_detach(t));
		while ((r = pthread_tryjoin_np(t, NULL)) == EBUSY)
			sched_yield();
		CHECK(r == EINVAL);
		CHECK(pthread_join(t, NULL) == EINVAL);
		CHECK(pthread_detach(t) == EINVAL);
	}
	CHECK(!pthread_attr_destroy(&a));
}

static void *own_stack(void *arg)
{
	pthread_attr_t a;
	char here, *low;
	size_t size;

	CHECK(!pthread_getattr_np(pthread_self(), &a));
	CHECK(!pthread_attr_getstack(&a, (void **)&low, &size));
	CHECK(low <= &here && &here < low + size);
	pthread_attr_destroy(&a);
	if (arg)
		CHECK(low == (char *)arg && size == 1 << 18);
	else
		CHECK(size >= (1 << 20));
	return NULL;
}

static void threads_run_on_given_stacks(void)
{
	char *mem = aligned_alloc(4096, 1 << 18);
	pthread_attr_t a;
	pthread_t t;

	CHECK(mem);
	for (int i = 0; i < 10; i++) {
		memset(mem, 0xaa, 1 << 18);
		pthread_attr_init(&a);
		CHECK(!pthread_attr_setstack(&a, mem, 1 << 18));
		CHECK(!pthread_create(&t, &a, own_stack, mem));
		CHECK(!pthread_join(t, NULL));
		CHECK(!pthread_attr_destroy(&a));
	}
	free(mem);
	pthread_attr_init(&a);
	CHECK(!pthread_attr_setstacksize(&a, 1 << 20));
	CHECK(!pthread_create(&t, &a, own_stack, NULL));
	CHECK(!pthread_join(t, NULL));
	puts("stacks");
}

static void *last(void *arg)
{
	usleep(20000); /* main has most likely left by now */
	puts("the last one");
	fflush(stdout);
	return arg;
}

int main(void)
{
	pthread_t t;

	RUN(many_threads_keep_their_values);
	RUN(threads_are_cancelled_and_detached);
	RUN(a_thread_that_is_gone_cannot_be_joined_or_detached);
	RUN(threads_run_on_given_stacks);
	CHECK(!pthread_create(&t, NULL, last, NULL));
	pthread_detach(t);
	pthread_exit(NULL); /* the process ends with its last thread, with status 0 */
}

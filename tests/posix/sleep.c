/* SPDX-License-Identifier: Apache-2.0 */
/* The sleep calls: they sleep long enough, they reject bad arguments, and 2000 threads
 * sleep at the same time. */
#include <unistd.h>

#include "posix.h"

#define MANY 2000

static void *kinds(void *arg)
{
	struct timespec span = { 0, 20000000 }, bad = { 0, 1000000000 }, abs, rem;
	long was = ms_now();

	errno = 77;
	CHECK(!usleep(20000) && ms_now() - was >= 20);
	CHECK(!nanosleep(&span, &rem) && ms_now() - was >= 40);
	CHECK(!clock_nanosleep(CLOCK_REALTIME, 0, &span, NULL) && ms_now() - was >= 60);
	CHECK(!clock_nanosleep(CLOCK_BOOTTIME, 0, &span, NULL) && ms_now() - was >= 80);
	clock_gettime(CLOCK_MONOTONIC, &abs);
	abs.tv_sec++;
	CHECK(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &abs, NULL));
	CHECK(ms_now() - was >= 1080);
	CHECK(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &abs, NULL));
	clock_gettime(CLOCK_REALTIME, &abs);
	CHECK(!clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &abs, NULL));
	clock_gettime(CLOCK_BOOTTIME, &abs);
	CHECK(!clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &abs, NULL));
	CHECK(sleep(0) == 0 && errno == 77);
	FAILS(nanosleep(&bad, NULL), EINVAL);
	bad = (struct timespec){ -1, 0 };
	FAILS(nanosleep(&bad, NULL), EINVAL);
	FAILS(nanosleep(NULL, NULL), EFAULT);
	CHECK(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL) == EINVAL);
	CHECK(clock_nanosleep(12345, 0, &span, NULL) == EINVAL);
	CHECK(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &span, NULL) == EINVAL);
	return arg;
}

static void *short_one(void *arg)
{
	for (int i = 0; i < 5; i++)
		usleep((useconds_t)(1000 + (long)arg % 7 * 1000));
	return NULL;
}

/* The other thread can run only if a sleep of length 0 yields. */
static int told;

static void *waits_for_word(void *arg)
{
	struct timespec none = { 0, 0 };

	while (!__atomic_load_n(&told, __ATOMIC_ACQUIRE))
		nanosleep(&none, NULL);
	return arg;
}

static void *tells(void *arg)
{
	__atomic_store_n(&told, 1, __ATOMIC_RELEASE);
	return arg;
}

int main(void)
{
	static pthread_t t[MANY];
	pthread_t a, b;

	run_in_thread(kinds);
	for (long i = 0; i < MANY; i++)
		t[i] = start(short_one, (void *)i);
	for (int i = 0; i < MANY; i++)
		finish(t[i]);
	a = start(waits_for_word, NULL);
	b = start(tells, NULL);
	finish(a);
	finish(b);
	printf("ok\n");
	return 0;
}

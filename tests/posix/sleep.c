/* SPDX-License-Identifier: Apache-2.0 */
/* The sleeps: not too short, what they refuse, and thousands at once. */
#include <unistd.h>

#include "must.h"

#define MANY 2000

static void *kinds(void *arg)
{
	struct timespec span = { 0, 20000000 }, bad = { 0, 1000000000 }, abs, rem;
	long was = ms_now();

	errno = 77;
	MUST(!usleep(20000) && ms_now() - was >= 20);
	MUST(!nanosleep(&span, &rem) && ms_now() - was >= 40);
	MUST(!clock_nanosleep(CLOCK_REALTIME, 0, &span, NULL) && ms_now() - was >= 60);
	MUST(!clock_nanosleep(CLOCK_BOOTTIME, 0, &span, NULL) && ms_now() - was >= 80);
	clock_gettime(CLOCK_MONOTONIC, &abs);
	abs.tv_sec++;
	MUST(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &abs, NULL));
	MUST(ms_now() - was >= 1080);
	MUST(!clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &abs, NULL));
	clock_gettime(CLOCK_REALTIME, &abs);
	MUST(!clock_nanosleep(CLOCK_REALTIME, TIMER_ABSTIME, &abs, NULL));
	clock_gettime(CLOCK_BOOTTIME, &abs);
	MUST(!clock_nanosleep(CLOCK_BOOTTIME, TIMER_ABSTIME, &abs, NULL));
	MUST(sleep(0) == 0 && errno == 77);
	FAILS(nanosleep(&bad, NULL), EINVAL);
	bad = (struct timespec){ -1, 0 };
	FAILS(nanosleep(&bad, NULL), EINVAL);
	FAILS(nanosleep(NULL, NULL), EFAULT);
	MUST(clock_nanosleep(CLOCK_MONOTONIC, 0, &bad, NULL) == EINVAL);
	MUST(clock_nanosleep(12345, 0, &span, NULL) == EINVAL);
	MUST(clock_nanosleep(CLOCK_THREAD_CPUTIME_ID, 0, &span, NULL) == EINVAL);
	return arg;
}

static void *short_one(void *arg)
{
	for (int i = 0; i < 5; i++)
		usleep((useconds_t)(1000 + (long)arg % 7 * 1000));
	return NULL;
}

/* Nobody else runs unless a sleep of no time lets him. */
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
		t[i] = thread_of(short_one, (void *)i);
	for (int i = 0; i < MANY; i++)
		end_of(t[i]);
	a = thread_of(waits_for_word, NULL);
	b = thread_of(tells, NULL);
	end_of(a);
	end_of(b);
	printf("ok\n");
	return 0;
}

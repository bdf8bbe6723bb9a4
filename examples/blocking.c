/* SPDX-License-Identifier: Apache-2.0 */
/* Blocking: threads that block their kernel thread do not delay the others, bracketed
 * or not. On one vp, forty threads sleep in the kernel for 20 ms each; one after
 * another would take 800 ms. */
#include <stdio.h>
#include <time.h>
#include <uk/uk.h>

#define THREADS 40

static void *plain(void *arg)
{
	struct timespec ts = { 0, 20 * 1000 * 1000 };

	nanosleep(&ts, NULL); /* not a library call: the monitor detects it */
	return arg;
}

static void *bracketed(void *arg)
{
	uk_blocking_begin(); /* the vp moves on at once */
	plain(arg);
	uk_blocking_end();
	return arg;
}

static uk_time run(uk_thread_attr *a, void *(*fn)(void *))
{
	uk_time begun = uk_now();
	uk_thread *t[THREADS];

	for (int i = 0; i < THREADS; i++)
		if (uk_thread_create(&t[i], a, fn, NULL) < 0)
			return UK_FOREVER;
	for (int i = 0; i < THREADS; i++)
		uk_thread_join(t[i], NULL);
	return uk_now() - begun;
}

int main(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_stats s;

	if (uk_vpset_create(&a.set, "one", 1, NULL, 0) < 0)
		return 1;
	printf("bracketed: %s\n", run(&a, bracketed) < UK_FOREVER ? "all ended" : "?");
	printf("plain: %s\n", run(&a, plain) < UK_FOREVER ? "all ended" : "?");
	uk_stats_get(&s, sizeof(s));
	printf("the vp moved: %s\n", s.handoffs > THREADS / 2 ? "yes" : "no");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Threads: the sum of 1..10,000 by divide and conquer, with a thread for the left half
 * of each range. Then a thread is cancelled, and its cleanup handler runs. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <uk/uk.h>

struct range {
	long from, to, sum;
};

static uk_thread *must_start(void *(*fn)(void *), void *arg)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.stack_size = 32 << 10;
	if (uk_thread_create(&t, &a, fn, arg) < 0)
		abort();
	return t;
}

static void *sum(void *arg)
{
	struct range *r = arg, left, right;
	uk_thread *t;

	if (r->from == r->to) {
		r->sum = r->from;
		return NULL;
	}
	left = (struct range){ r->from, (r->from + r->to) / 2, 0 };
	right = (struct range){ left.to + 1, r->to, 0 };
	t = must_start(sum, &left);
	sum(&right);
	uk_thread_join(t, NULL);
	r->sum = left.sum + right.sum;
	return NULL;
}

static void say_goodbye(void *arg)
{
	printf("%s: cleaned up\n", (const char *)arg);
}

static void *waits_for_ever(void *arg)
{
	int r;

	uk_cleanup_push(say_goodbye, arg);
	r = uk_sleep(UK_FOREVER);
	printf("%s: %s\n", (const char *)arg, r == -ECANCELED ? "cancelled" : "?");
	return NULL;
}

int main(void)
{
	struct range all = { 1, 10000, 0 };
	char name[] = "waiter";
	uk_thread *t;

	uk_thread_join(must_start(sum, &all), NULL);
	printf("1 + ... + 10000 = %ld\n", all.sum);
	t = must_start(waits_for_ever, name);
	uk_sleep(10 * UK_MS);
	uk_thread_cancel(t);
	uk_thread_join(t, NULL);
	return 0;
}

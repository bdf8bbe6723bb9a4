/* SPDX-License-Identifier: Apache-2.0 */
/* Time: ten thousand threads sleep at once, a deadline ends a wait, and one deadline
 * bounds a whole sequence of calls. */
#include <errno.h>
#include <stdio.h>
#include <uk/uk.h>

#define SLEEPERS 10000

static uk_thread *t[SLEEPERS];
static int woken;

static void *sleeper(void *arg)
{
	uk_time until = uk_after((1 + (long)arg % 50) * UK_MS);

	if (uk_sleep_until(until) == 0 && uk_now() >= until)
		__atomic_add_fetch(&woken, 1, __ATOMIC_RELAXED);
	return NULL;
}

int main(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_sem never = UK_SEM_INIT(0);
	int naps = 0, r;

	a.stack_size = 16 << 10;
	for (long i = 0; i < SLEEPERS; i++)
		if (uk_thread_create(&t[i], &a, sleeper, (void *)i) < 0)
			return 1;
	for (int i = 0; i < SLEEPERS; i++)
		uk_thread_join(t[i], NULL);
	printf("%d threads slept, none woke early\n", woken);

	r = uk_sem_wait_until(&never, uk_after(5 * UK_MS));
	printf("a wait with a deadline: %s\n", r == -ETIMEDOUT ? "timed out" : "?");

	uk_thread_set_deadline(uk_after(20 * UK_MS));
	while (uk_sleep(UK_MS) == 0)
		naps++;
	uk_thread_set_deadline(UK_FOREVER);
	printf("naps within 20 ms: %s\n", naps >= 0 && naps <= 20 ? "at most 20" : "?");
	return 0;
}

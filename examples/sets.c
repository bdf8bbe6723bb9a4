/* SPDX-License-Identifier: Apache-2.0 */
/* Vp sets: threads of one set share its vps and never delay those of another set. Here
 * "batch" threads compute without a pause in their own set, while a thread of the
 * default set ticks and another goes from vp to vp. (A set of one vp is not a lock: a
 * thread that computes for long loses the vp and runs on beside the next one.) */
#include <stdio.h>
#include <uk/uk.h>

#define BATCH 4

static int stop, ticks;

static void *compute(void *set)
{
	volatile double x = 1;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		x = x * 1.0000001 + 1e-9;
	return uk_vpset_self() == set ? set : NULL;
}

static void *tick(void *arg)
{
	while (ticks < 20 && uk_sleep(UK_MS) == 0)
		ticks++;
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	return arg;
}

static void *tour(void *arg)
{
	uk_vpset *s = uk_vpset_self();
	unsigned right = 0;

	for (unsigned i = 0; i < uk_vpset_size(s); i++)
		right += uk_thread_pin(uk_vpset_vp(s, i)) == 0 &&
			 uk_vp_self() == uk_vpset_vp(s, i);
	uk_thread_pin(NULL);
	*(int *)arg = right == uk_vpset_size(s);
	return NULL;
}

int main(void)
{
	uk_thread_attr batch = UK_THREAD_ATTR_INIT;
	uk_thread *t[BATCH], *ticker, *guest;
	int stayed = 0, toured = 0;
	void *set;

	if (uk_vpset_create(&batch.set, "batch", 1, NULL, 0) < 0)
		return 1;
	for (int i = 0; i < BATCH; i++)
		if (uk_thread_create(&t[i], &batch, compute, batch.set) < 0)
			return 1;
	if (uk_thread_create(&ticker, NULL, tick, NULL) < 0 ||
	    uk_thread_create(&guest, NULL, tour, &toured) < 0)
		return 1;
	uk_thread_join(guest, NULL);
	uk_thread_join(ticker, NULL);
	for (int i = 0; i < BATCH; i++)
		if (uk_thread_join(t[i], &set) == 0 && set == batch.set)
			stayed++;
	printf("ticks: %d\n", ticks);
	printf("stayed in their set: %d of %d\n", stayed, BATCH);
	printf("toured all vps of the default set: %s\n", toured ? "yes" : "no");
	return 0;
}

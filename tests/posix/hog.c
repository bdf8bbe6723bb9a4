/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that compute for long beside threads that want to run. To the program and to
 * the kernel they are ordinary threads. */
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <unistd.h>

#include "posix.h"

#define HOGS 3
#define ROUNDS 6

static atomic_int over, nicest, turn;

/* Reads its own priority all the time while it computes. */
static void *computes(void *arg)
{
	while (!atomic_load(&over)) {
		int nice = getpriority(PRIO_PROCESS, 0);

		if (nice > atomic_load(&nicest))
			atomic_store(&nicest, nice);
	}
	return arg;
}

static void *wants_to_run(void *arg)
{
	for (long end = ms_now() + 500; ms_now() < end;)
		usleep(100);
	return arg;
}

static void a_hog_keeps_its_priority(void)
{
	pthread_t hogs[HOGS], other;

	atomic_store(&nicest, getpriority(PRIO_PROCESS, 0));
	int normal = atomic_load(&nicest);
	for (int i = 0; i < HOGS; i++)
		hogs[i] = start(computes, NULL);
	other = start(wants_to_run, NULL);
	finish(other);
	atomic_store(&over, 1);
	for (int i = 0; i < HOGS; i++)
		finish(hogs[i]);
	CHECK(atomic_load(&nicest) == normal);
}

/* As redis's I/O threads do: each thread spins until it is its turn, then computes. */
static void *spins(void *arg)
{
	long me = (long)arg;

	for (int n = 0; n < ROUNDS; n++) {
		while (atomic_load(&turn) % (HOGS + 1) != me)
			;
		for (long end = ms_now() + 2; ms_now() < end;)
			;
		atomic_fetch_add(&turn, 1);
	}
	return arg;
}

static void main_and_threads_spin_for_each_other(void)
{
	pthread_t all[HOGS];

	for (long i = 0; i < HOGS; i++)
		all[i] = start(spins, (void *)(i + 1));
	spins(0);
	for (int i = 0; i < HOGS; i++)
		finish(all[i]);
	CHECK(atomic_load(&turn) == ROUNDS * (HOGS + 1));
}

int main(void)
{
	RUN(a_hog_keeps_its_priority);
	RUN(main_and_threads_spin_for_each_other);
	puts("done");
	return 0;
}

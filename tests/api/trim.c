/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of threads that park for long: the unused pages are freed, the frames stay. */
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <uk/uk.h>

#include "lifecycle/keeper.h"
#include "sched/vp.h"
#include "tasks.h"
#include "test.h"

enum { N = 50, DEEP = 16 * 4096, FRAME = 3000, BIG = 64 };

static uk_sem go = UK_SEM_INIT(0);
static uint32_t over;

static __attribute__((noinline)) void goes_deep(volatile char *p)
{
	volatile char big[DEEP];

	for (int i = 0; i < DEEP; i += 512)
		big[i] = 1;
	*p = big[0];
}

static void *deep_then_waits(void *arg)
{
	unsigned char frame[FRAME];
	volatile char c;

	goes_deep(&c);
	memset(frame, (int)(uintptr_t)arg, sizeof(frame));
	CHECK_EQ(uk_sem_wait(&go), 0);
	for (int i = 0; i < FRAME; i++)
		CHECK_EQ(frame[i], (unsigned char)(uintptr_t)arg);
	goes_deep(&c);
	for (int i = 0; i < FRAME; i++)
		CHECK_EQ(frame[i], (unsigned char)(uintptr_t)arg);
	return arg;
}

static int pages(const uk_thread *t)
{
	static unsigned char in[BIG];
	size_t size;
	void *base;
	int n = 0;

	if (uk_thread_stack(t, &base, &size) || size > BIG * 4096 ||
	    mincore(base, size, in))
		return 0;
	for (size_t i = 0; i < size / 4096; i++)
		n += in[i] & 1;
	return n;
}

static void the_stack_of_a_thread_that_waits_for_long_shrinks(void)
{
	uk_thread *t[N];

	for (uintptr_t i = 0; i < N; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, deep_then_waits, (void *)i), 0);
	for (int i = 0; i < N; i++)
		UNTIL(pages(t[i]) > 0 && pages(t[i]) <= 3); /* about 17 before */
	for (int i = 0; i < N; i++)
		CHECK_EQ(uk_sem_post(&go), 0);
	for (int i = 0; i < N; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static uk_thread *waiter;
static uint32_t waits;

static void *waits_again_and_again(void *arg)
{
	volatile char c;

	for (int i = 0; i < 9; i++) {
		goes_deep(&c);
		__atomic_add_fetch(&waits, 1, __ATOMIC_SEQ_CST);
		CHECK_EQ(uk_sem_wait(&go), 0);
	}
	return arg;
}

/* Each wait is trimmed, not only some. */
static void every_long_wait_is_trimmed(void)
{
	CHECK_EQ(uk_thread_create(&waiter, NULL, waits_again_and_again, NULL), 0);
	for (uint32_t i = 1; i <= 9; i++) {
		UNTIL(__atomic_load_n(&waits, __ATOMIC_SEQ_CST) == i);
		UNTIL(pages(waiter) > 0 && pages(waiter) <= 3);
		CHECK_EQ(uk_sem_post(&go), 0);
	}
	CHECK_EQ(uk_thread_join(waiter, NULL), 0);
}

enum { MANY = 3000 };

static void *deep_until_told(void *arg)
{
	volatile char c;

	goes_deep(&c);
	__atomic_add_fetch(&waits, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_sem_wait(&go), 0);
	return arg;
}

/* The keeper does this, in portions with a pause after each. */
static void trimming_does_not_stop_the_monitor(void)
{
	static uk_thread *t[MANY];
	uint64_t cuts = load_relaxed(&keeper_cuts);
	uk_stats from, to;
	pid_t tid;

	waits = 0;
	uk_stats_get(&from, sizeof(from));
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, deep_until_told, NULL), 0);
	UNTIL(load_relaxed(&keeper_cuts) >= cuts + MANY);
	uk_stats_get(&to, sizeof(to));
	CHECK(load_relaxed(&keeper_cuts) <= 32 * load_relaxed(&keeper_portions));
	CHECK_EQ(tasks_named("uk-keeper", &tid, 1), 1);
	/* some hundred portions, with a millisecond between them */
	CHECK(to.monitor_wakes > from.monitor_wakes + 10);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_sem_post(&go), 0);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static char *high; /* mapped before the stacks of the runtime */
static ucontext_t own, back;

static void waits_on_its_stack(void)
{
	CHECK_EQ(uk_sem_wait(&go), 0);
	swapcontext(&own, &back);
}

static void *switches_stacks(void *arg)
{
	unsigned char frame[FRAME];

	memset(frame, 7, sizeof(frame));
	CHECK_EQ(getcontext(&own), 0);
	own.uc_stack.ss_sp = arg;
	own.uc_stack.ss_size = DEEP;
	makecontext(&own, waits_on_its_stack, 0);
	CHECK_EQ(swapcontext(&back, &own), 0);
	for (int i = 0; i < FRAME; i++)
		CHECK_EQ(frame[i], 7);
	return arg;
}

/* The thread parks on a stack of the program, above or below its own. */
static void a_thread_parks_on_a_stack_of_the_program(void *stack)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, switches_stacks, stack), 0);
	UNTIL(load_relaxed(&t->trimmed)); /* the keeper has looked at it */
	CHECK_EQ(uk_sem_post(&go), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

static void the_programs_own_stacks_are_left_alone(void)
{
	char *low = mmap(NULL, DEEP, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	CHECK(low != MAP_FAILED);
	a_thread_parks_on_a_stack_of_the_program(high);
	a_thread_parks_on_a_stack_of_the_program(low);
}

static size_t resident_kb(void)
{
	char line[128];
	size_t kb = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Rss:", 4))
			kb = strtoul(line + 4, NULL, 10);
	fclose(f);
	return kb;
}

/* Carriers that were created since then keep what they touch of their stacks. (The
 * schedule fuzzer creates many spares.) */
static size_t carriers_kb(uint64_t since)
{
	return (size_t)(load_relaxed(&carriers_count) - since) * 48;
}

/* The stacks of a crowd are freed some time after its end. */
static void stacks_are_freed_after_a_mass_exit(void)
{
	static uk_thread *t[MANY];
	uint64_t carriers = load_relaxed(&carriers_count);
	size_t before = resident_kb(), full;
	uk_thread_attr a = UK_THREAD_ATTR_INIT;

	a.flags = UK_THREAD_LIGHT;
	waits = 0;
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_create(&t[i], &a, deep_until_told, NULL), 0);
	UNTIL(__atomic_load_n(&waits, __ATOMIC_SEQ_CST) == MANY);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_sem_post(&go), 0);
	full = before + MANY * 4; /* a page for each if nothing is freed */
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	/* vps keep some stacks */
	UNTIL(resident_kb() < before + (full - before) * 2 / 3 + carriers_kb(carriers));
}

static void *checks_its_frame(void *arg)
{
	unsigned char frame[FRAME];

	memset(frame, (int)(uintptr_t)arg, sizeof(frame));
	CHECK_EQ(uk_sleep((int64_t)((uintptr_t)arg % 5) * UK_MS / 2 + 1), 0);
	for (int i = 0; i < FRAME; i++)
		CHECK_EQ(frame[i], (unsigned char)(uintptr_t)arg);
	return arg;
}

/* Joins, sleeps and wake-ups race with the trimming. */
static void *joins_for_a_while(void *arg)
{
	for (uintptr_t i = 0; !__atomic_load_n(&over, __ATOMIC_SEQ_CST); i++) {
		unsigned char frame[FRAME];
		uk_thread *t;

		memset(frame, (int)i, sizeof(frame));
		CHECK_EQ(uk_thread_create(&t, NULL, checks_its_frame, (void *)i), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		for (int k = 0; k < FRAME; k++)
			CHECK_EQ(frame[k], (unsigned char)i);
	}
	return arg;
}

static void frames_are_never_cut(void)
{
	uk_thread *t[20];

	for (int i = 0; i < 20; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, joins_for_a_while, NULL), 0);
	uk_sleep(700 * UK_MS);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 20; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

int main(void)
{
	set_debug("trim", "1");
	high = mmap(NULL, DEEP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	CHECK(high != MAP_FAILED);
	RUN(the_stack_of_a_thread_that_waits_for_long_shrinks);
	RUN(every_long_wait_is_trimmed);
	RUN(trimming_does_not_stop_the_monitor);
	if (!SANITIZED)
		RUN(stacks_are_freed_after_a_mass_exit);
	if (!SANITIZED) /* sanitizers know only the library's own switches */
		RUN(the_programs_own_stacks_are_left_alone);
	RUN(frames_are_never_cut);
	return 0;
}

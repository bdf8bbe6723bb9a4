/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that get no memory for a stack do not hold up threads that have one, however
 * many they are. They begin when there is memory. */
#include <sys/resource.h>
#include <uk/uk.h>

#include "test.h"

enum { MANY = 200, NAPS = 20, ROOM = 8 << 20, BIG = 16 << 20 };

static uk_thread *made[MANY];
static uint32_t began;

static void leave_room_for(size_t bytes)
{
	struct rlimit rl;
	size_t pages = 0;
	FILE *f = fopen("/proc/self/statm", "r");

	CHECK(f && fscanf(f, "%zu", &pages) == 1);
	fclose(f);
	CHECK_EQ(getrlimit(RLIMIT_AS, &rl), 0);
	rl.rlim_cur = bytes ? (pages << 12) + bytes : rl.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_AS, &rl), 0);
}

static void *begins(void *arg)
{
	__atomic_add_fetch(&began, 1, __ATOMIC_RELAXED);
	return arg;
}

static uint64_t sleeps(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
	return s.waits;
}

/* Once, each turn of this thread took a sleep for each of the others. */
static void *has_its_turns(void *arg)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uint64_t before;

	leave_room_for(ROOM);
	a.stack_size = BIG;
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_create(&made[i], &a, begins, NULL), 0);
	uk_yield();
	before = sleeps();
	for (int i = 0; i < NAPS; i++)
		CHECK_EQ(uk_sleep(UK_US), 0);
	CHECK(sleeps() - before < MANY);
	CHECK_EQ(__atomic_load_n(&began, __ATOMIC_RELAXED), 0);
	leave_room_for(0);
	for (int i = 0; i < MANY; i++)
		CHECK_EQ(uk_thread_join(made[i], NULL), 0);
	CHECK_EQ(__atomic_load_n(&began, __ATOMIC_RELAXED), MANY);
	return arg;
}

static void a_thread_with_a_stack_goes_before_those_without(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	CHECK_EQ(uk_vpset_create(&a.set, "one", 1, NULL, 0), 0);
	CHECK_EQ(uk_thread_create(&t, &a, has_its_turns, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

int main(void)
{
	if (SANITIZED)
		SKIP("a sanitizer's shadow memory needs all address space");
	RUN(a_thread_with_a_stack_goes_before_those_without);
	return 0;
}

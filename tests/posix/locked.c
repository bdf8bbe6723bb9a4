/* SPDX-License-Identifier: Apache-2.0 */
/* mlockall locks what threads have, and not much more. A stack is in memory before its
 * thread touches it. */
#include <string.h>
#include <sys/mman.h>

#include "posix.h"

enum { THREADS = 100 };
#define STACK ((size_t)256 << 10)
#define MOST_KB 45000

static pthread_barrier_t here, done;

static size_t kb_of(const char *key)
{
	char line[256];
	size_t kb = 0;
	FILE *f = fopen("/proc/self/status", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kb = strtoul(line + strlen(key) + 1, NULL, 10);
	fclose(f);
	return kb;
}

static void *stays(void *arg)
{
	volatile char low;
	unsigned char there = 0;
	uintptr_t page = ((uintptr_t)&low - STACK / 2) & ~(uintptr_t)4095;

	pthread_barrier_wait(&here);
	pthread_barrier_wait(&here); /* locked */
	CHECK(!mincore((void *)page, 4096, &there) && (there & 1));
	pthread_barrier_wait(&done);
	return arg;
}

static void threads_and(int before, int after)
{
	pthread_t t[THREADS];
	pthread_attr_t a;
	size_t kb;

	CHECK(!pthread_barrier_init(&here, NULL, THREADS + 1));
	CHECK(!pthread_barrier_init(&done, NULL, THREADS + 1));
	CHECK(!pthread_attr_init(&a) && !pthread_attr_setstacksize(&a, STACK));
	CHECK(!before || !mlockall(before));
	for (int i = 0; i < THREADS; i++)
		CHECK(!pthread_create(&t[i], &a, stays, NULL));
	pthread_barrier_wait(&here);
	CHECK(!after || !mlockall(after));
	kb = kb_of("VmLck");
	if (kb < THREADS * STACK / 1024 || kb > MOST_KB)
		printf("%zu KB are locked\n", kb);
	pthread_barrier_wait(&here);
	pthread_barrier_wait(&done);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
}

static void stacks_of_later_threads_are_locked(void)
{
	threads_and(MCL_CURRENT | MCL_FUTURE, 0);
}

static void stacks_of_earlier_threads_are_locked(void)
{
	threads_and(0, MCL_CURRENT);
}

int main(void)
{
	void *p = mmap(NULL, (size_t)64 << 20, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED || mlock(p, (size_t)64 << 20)) {
		puts("skip: the limit of locked memory is too low");
		return 77;
	}
	munmap(p, (size_t)64 << 20);
	RUN_ALONE(stacks_of_later_threads_are_locked);
	RUN_ALONE(stacks_of_earlier_threads_are_locked);
	return 0;
}

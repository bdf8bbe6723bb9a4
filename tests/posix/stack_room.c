/* SPDX-License-Identifier: Apache-2.0 */
/* When address space is limited, the cached stacks of ended threads are freed for
 * stacks of another size and for malloc. */
#include <sched.h>
#include <sys/resource.h>

#include "posix.h"

enum { MOST = 100, MANY = 10 };
#define MB ((size_t)1 << 20)

static int go;

static void *waits(void *arg)
{
	while (!__atomic_load_n(&go, __ATOMIC_ACQUIRE))
		sched_yield();
	return arg;
}

/* Creates as many threads as fit at the same time. */
static int fill_with(size_t size)
{
	pthread_t t[MOST];
	pthread_attr_t a;
	int n = 0;

	CHECK(!pthread_attr_init(&a) && !pthread_attr_setstacksize(&a, size));
	__atomic_store_n(&go, 0, __ATOMIC_RELEASE);
	while (n < MOST && !pthread_create(&t[n], &a, waits, NULL))
		n++;
	__atomic_store_n(&go, 1, __ATOMIC_RELEASE);
	for (int i = 0; i < n; i++)
		finish(t[i]);
	return n;
}

static void malloc_has_room(size_t size)
{
	void *p = malloc(size);

	CHECK(p);
	free(p);
}

int main(void)
{
	struct rlimit rl = { 2048 * MB, 2048 * MB };

	CHECK(!setrlimit(RLIMIT_AS, &rl));
	for (int round = 0; round < 4; round++) {
		CHECK(fill_with(60 * MB) >= MANY);
		malloc_has_room(1024 * MB);
		CHECK(fill_with(25 * MB) >= MANY);
		CHECK(fill_with(130 * MB) >= MANY / 2);
		malloc_has_room(1024 * MB);
	}
	puts("done");
	return 0;
}

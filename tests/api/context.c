/* SPDX-License-Identifier: Apache-2.0 */
/* What belongs to a thread stays with it across switches and migrations: errno,
 * __thread variables, floating-point control, callee-saved registers, pthread_self (law
 * 2, docs/ARCHITECTURE.md). */
#include <errno.h>
#include <fenv.h>
#include <malloc.h>
#include <pthread.h>
#include <uk/uk.h>

#include "base/base.h"
#include "test.h"

#define THREADS 40
#define ROUNDS 300

static __thread long mine = 41;

static void *keeps_its_own(void *arg)
{
	long id = (long)(intptr_t)arg;
	pthread_t self = pthread_self();
	volatile double x = 1.0 + (double)id;

	CHECK_EQ(mine, 41);
	mine = id;
	for (int i = 0; i < ROUNDS; i++) {
		errno = (int)id;
		if (i % 7 == 0)
			uk_sleep(UK_MS / 50);
		else
			uk_yield();
		CHECK_EQ(errno, (int)id);
		CHECK_EQ(mine, id);
		CHECK(pthread_equal(self, pthread_self()));
		CHECK(x == 1.0 + (double)id);
	}
	return NULL;
}

static void tls_and_errno_stay_with_their_thread(void)
{
	uk_thread *t[THREADS];

#if UK_ASAN || UK_TSAN
	printf("skipped here: sanitizer builds make light threads\n");
	return;
#endif
	for (long i = 0; i < THREADS; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, keeps_its_own, (void *)(i + 1)),
			 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK_EQ(mine, 41);
}

static void *rounds_its_own_way(void *arg)
{
	static const int modes[] = { FE_TONEAREST, FE_UPWARD, FE_DOWNWARD,
				     FE_TOWARDZERO };
	int mode = modes[(intptr_t)arg & 3];

	CHECK_EQ(fesetround(mode), 0);
	for (int i = 0; i < ROUNDS; i++) {
		uk_yield();
		CHECK_EQ(fegetround(), mode);
	}
	return NULL;
}

static void rounding_modes_stay_with_their_thread(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t[THREADS];

	for (long i = 0; i < THREADS; i++) {
		a.flags = i & 4 ? UK_THREAD_LIGHT : 0;
		CHECK_EQ(uk_thread_create(&t[i], &a, rounds_its_own_way, (void *)i), 0);
	}
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK_EQ(fegetround(), FE_TONEAREST);
}

static void *checks_registers(void *arg)
{
	uint64_t seed = (uint64_t)(uintptr_t)arg * 0x9e3779b97f4a7c15u;
	uint64_t v[6];

	for (int i = 0; i < 6; i++)
		v[i] = seed + (uint64_t)i;
	for (int i = 0; i < ROUNDS; i++) {
		uint64_t a = v[0], b = v[1], c = v[2], d = v[3], e = v[4], f = v[5];

		__asm__ volatile(""
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e),
				   "+r"(f));
		uk_yield();
		__asm__ volatile(""
				 : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e),
				   "+r"(f));
		CHECK(a == seed && b == seed + 1 && c == seed + 2 && d == seed + 3 &&
		      e == seed + 4 && f == seed + 5);
	}
	return NULL;
}

static void registers_stay_with_their_thread(void)
{
	uk_thread *t[THREADS];

	for (long i = 0; i < THREADS; i++)
		CHECK_EQ(
		    uk_thread_create(&t[i], NULL, checks_registers, (void *)(i + 1)),
		    0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static uint32_t gate, parked;

static void *parks(void *arg)
{
	__atomic_fetch_add(&parked, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&gate, __ATOMIC_RELAXED))
		uk_futex_wait(&gate, 0, UK_FOREVER);
	return arg;
}

/* All that a thread has on the heap is libc's vector of TLS modules. It has no cache of
 * malloc, because it never calls malloc, although it starts other threads that need
 * their vectors. */
static void a_thread_that_never_calls_malloc_has_no_malloc_cache(void)
{
	enum { N = 2000 };
	static uk_thread *t[N];
	size_t before = mallinfo2().uordblks, each;

	for (int i = 0; i < N; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, parks, NULL), 0);
	UNTIL(__atomic_load_n(&parked, __ATOMIC_RELAXED) == N);
	each = (mallinfo2().uordblks - before) / N;
	printf("%zu bytes of heap for each thread\n", each);
	CHECK(each < 600); /* once it was 970 */
	__atomic_store_n(&gate, 1, __ATOMIC_RELAXED);
	uk_futex_wake(&gate, INT32_MAX);
	for (int i = 0; i < N; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

int main(void)
{
	RUN(tls_and_errno_stay_with_their_thread);
	RUN(rounding_modes_stay_with_their_thread);
	RUN(registers_stay_with_their_thread);
	if (!UK_ASAN && !UK_TSAN)
		RUN(a_thread_that_never_calls_malloc_has_no_malloc_cache);
	return 0;
}

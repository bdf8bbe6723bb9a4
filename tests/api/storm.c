/* SPDX-License-Identifier: Apache-2.0 */
/* A seeded storm: threads create, join, yield, sleep, block in the kernel, compute,
 * lock, suspend and resume each other. At the end all threads are accounted for. */
#include <errno.h>
#include <time.h>
#include <unistd.h>
#include <uk/uk.h>

#include "base/env.h"
#include "test.h"

#define ACTORS 24

static uint64_t seed;
static uint32_t children_made, children_run;
static uk_mutex m = UK_MUTEX_INIT;
static uint64_t guarded, expected;

static uint32_t draw(uint64_t *s)
{
	*s = *s * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*s >> 33);
}

static void *child(void *arg)
{
	uint64_t s = (uintptr_t)arg;

	switch (draw(&s) % 4) {
	case 0:
		uk_yield();
		break;
	case 1:
		uk_sleep(draw(&s) % 200 * UK_US);
		break;
	case 2: {
		struct timespec ts = { 0, 50000 };

		nanosleep(&ts, NULL);
		break;
	}
	}
	__atomic_add_fetch(&children_run, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void make_children(uint64_t *s)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t[8];
	uint32_t n = 1 + draw(s) % 8;

	for (uint32_t i = 0; i < n; i++) {
		a.flags = draw(s) & 1 ? UK_THREAD_LIGHT : 0;
		CHECK_EQ(uk_thread_create(&t[i], &a, child, (void *)(uintptr_t)draw(s)),
			 0);
	}
	__atomic_add_fetch(&children_made, n, __ATOMIC_SEQ_CST);
	for (uint32_t i = 0; i < n; i++) {
		int r;

		if (draw(s) % 4 == 0)
			uk_yield();
		do
			r = uk_thread_join_until(t[i], NULL,
						 uk_after(draw(s) % 300 * UK_US));
		while (r == -ETIMEDOUT);
		CHECK_EQ(r, 0);
	}
}

static void *actor(void *arg)
{
	uint64_t s = seed + (uintptr_t)arg * 7919;
	int rounds = UK_TSAN || UK_HOSTILE ? 40 : 150;

	for (int i = 0; i < rounds; i++) {
		switch (draw(&s) % 8) {
		case 0:
			make_children(&s);
			break;
		case 1:
			uk_sleep(draw(&s) % 500 * UK_US);
			break;
		case 2: {
			struct timespec ts = { 0, draw(&s) % 300000 };

			nanosleep(&ts, NULL);
			break;
		}
		case 3:
			uk_blocking_begin();
			usleep(draw(&s) % 200);
			uk_blocking_end();
			break;
		case 4:
			for (uint32_t k = draw(&s) % 20000; k; k--)
				__asm__ volatile("");
			break;
		case 5:
			CHECK_EQ(uk_mutex_lock(&m), 0);
			guarded++;
			if (draw(&s) % 4 == 0)
				uk_yield();
			expected++;
			CHECK_EQ(guarded, expected);
			CHECK_EQ(uk_mutex_unlock(&m), 0);
			break;
		default:
			uk_yield();
		}
	}
	return NULL;
}

int main(void)
{
	uk_thread *t[ACTORS];
	uk_stats st;

	seed = env_key_number(ENV_SEED, (uint64_t)uk_now());
	printf("UK_DEBUG=seed=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (uintptr_t i = 0; i < ACTORS; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, actor, (void *)i), 0);
	for (int i = 0; i < ACTORS; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK_EQ(children_made, children_run);
	uk_stats_get(&st, sizeof(st));
	CHECK_EQ(st.threads, 0);
	return 0;
}

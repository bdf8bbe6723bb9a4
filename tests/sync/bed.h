/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the sync tests: a seed, crews of user and foreign threads, and waiting for
 * a condition. */
#ifndef TESTS_SYNC_BED_H
#define TESTS_SYNC_BED_H

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"
#include "test.h"
#include "uk/chan.h"
#include "uk/sync.h"
#include "uk/thread.h"
#include "uk/time.h"

#define GET(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define SET(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)

static uint64_t bed_seed;

/* Prints the seed, so that UK_DEBUG can repeat a failed run. */
static inline void bed_init(void)
{
	char buf[32];

	bed_seed = env_key_number(ENV_SEED, (uint64_t)uk_now() % 1000000007);
	snprintf(buf, sizeof(buf), "%llu", (unsigned long long)bed_seed);
	set_debug("seed", buf);
	printf("UK_DEBUG=seed=%s\n", buf);
	fflush(stdout);
}

struct rng {
	uint64_t s;
};

static inline uint32_t rnd(struct rng *r, uint32_t below)
{
	r->s += 0x9e3779b97f4a7c15ULL;
	uint64_t x = r->s;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ x >> 27) * 0x94d049bb133111ebULL;
	return (uint32_t)((x ^ x >> 31) >> 32) % below;
}

/* Threads 0..n-1 run fn(i); those with bit (i % 8) in foreign are kernel threads. */
#define CREW_MAX 256
#define ALL_USER 0u
#define MIXED 0x92u
#define ALL_FOREIGN 0xffu
struct crew {
	void (*fn)(unsigned i, struct rng *r);
	unsigned n, foreign;
	uk_thread *user[CREW_MAX];
	pthread_t kernel[CREW_MAX];
};

struct crew_arg {
	struct crew *crew;
	unsigned i;
};

static inline void *crew_main(void *p)
{
	struct crew_arg a = *(struct crew_arg *)p;
	struct rng r = { bed_seed * 1000003 + a.i };

	free(p);
	a.crew->fn(a.i, &r);
	return NULL;
}

static inline bool crew_is_foreign(const struct crew *c, unsigned i)
{
	return c->foreign >> i % 8 & 1;
}

static inline void crew_start(struct crew *c, unsigned n, unsigned foreign,
			      void (*fn)(unsigned, struct rng *))
{
	c->fn = fn;
	c->n = n;
	c->foreign = foreign;
	for (unsigned i = 0; i < n; i++) {
		struct crew_arg *a = malloc(sizeof(*a));

		*a = (struct crew_arg){ c, i };
		if (crew_is_foreign(c, i))
			CHECK_EQ(pthread_create(&c->kernel[i], NULL, crew_main, a), 0);
		else
			CHECK_EQ(uk_thread_create(&c->user[i], NULL, crew_main, a), 0);
	}
}

static inline void crew_join(struct crew *c)
{
	for (unsigned i = 0; i < c->n; i++) {
		if (crew_is_foreign(c, i))
			CHECK_EQ(pthread_join(c->kernel[i], NULL), 0);
		else
			CHECK_EQ(uk_thread_join(c->user[i], NULL), 0);
	}
}

static inline void crew_run(unsigned n, unsigned foreign,
			    void (*fn)(unsigned, struct rng *))
{
	struct crew c;

	crew_start(&c, n, foreign, fn);
	crew_join(&c);
}

/* Waits until cond holds. */
#define EVENTUALLY(cond)                                                               \
	do {                                                                           \
		uk_time limit_ = uk_after(HANG_NS);                                    \
		while (!(cond)) {                                                      \
			CHECK(uk_now() < limit_ && #cond);                             \
			uk_sleep(UK_MS / 5);                                           \
		}                                                                      \
	} while (0)

/* The same without sleeping, for conditions that hold within microseconds. */
#define SOON(cond)                                                                     \
	do {                                                                           \
		uk_time limit_ = uk_after(HANG_NS);                                    \
		while (!(cond)) {                                                      \
			CHECK(uk_now() < limit_ && #cond);                             \
			uk_yield();                                                    \
		}                                                                      \
	} while (0)

/* Gives a thread that has announced itself time to park. */
static inline void settle_down(void)
{
	uk_sleep(5 * UK_MS);
}

#endif

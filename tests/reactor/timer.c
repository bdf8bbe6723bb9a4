/* SPDX-License-Identifier: Apache-2.0 */
/* The timer wheel against a model that keeps every timer in a flat array, its sleeps,
 * its cost, and use by several kernel threads. */
#include "test.h"

#include <inttypes.h>
#include <pthread.h>

#include "base/env.h"
#include "base/sys.h"
#include "reactor/timer.h"

static uint64_t rng;

static uint64_t draw(void)
{
	uint64_t z = rng += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static void seed(void)
{
	rng = env_key_number(ENV_SEED, (uint64_t)sys_now());
	printf("UK_DEBUG=seed=%" PRIu64 "\n", rng);
}

static struct wheel wheel;

#define N 4096
static struct timer timers[N];
static bool armed[N], was_past[N], resting[N]; /* resting: it may still be in the
					        * wheel */

/* A span between 0 and years; each order of magnitude is equally likely. */
static int64_t span(void)
{
	return (int64_t)(draw() & ((UINT64_C(1) << (draw() % 57)) - 1));
}

static int64_t model_min(void)
{
	int64_t min = TIME_NEVER;

	for (unsigned i = 0; i < N; i++)
		if (armed[i] && timers[i].due < min)
			min = timers[i].due;
	return min;
}

static void expire_and_compare(int64_t now)
{
	struct timer_hit hit[16];
	uint64_t last = 0;
	unsigned n;

	do {
		n = wheel_expire(&wheel, now, hit, 1 + (unsigned)(draw() % 16));
		for (unsigned i = 0; i < n; i++) {
			unsigned k = (unsigned)hit[i].token;

			CHECK(armed[k]);
			CHECK(hit[i].timer == &timers[k]);
			CHECK(timers[k].due <= now);
			CHECK(!timers[k].wheel);
			/* ticks fire in order, except timers that were past due when
			 * they were added */
			if (!was_past[k]) {
				uint64_t tick =
				    (uint64_t)timers[k].when >> WHEEL_TICK_BITS;

				CHECK(tick >= last);
				last = tick;
			}
			armed[k] = false;
		}
	} while (n);
	for (unsigned i = 0; i < N; i++)
		CHECK(!armed[i] || timers[i].due > now);
}

static void a_million_random_operations_match_the_model(void)
{
	int64_t now = 1000 * NS_PER_SEC;
	unsigned live = 0;

	wheel_init(&wheel, now);
	for (unsigned op = 0; op < 1000000; op++) {
		unsigned k = (unsigned)(draw() % N);

		switch (draw() % 8) {
		default:
			if (armed[k] && op & 1) {
				CHECK(timer_del(&timers[k]));
				armed[k] = false;
			} else if (armed[k]) {
				timer_rest(&wheel, &timers[k]);
				armed[k] = false;
				resting[k] = true;
			} else {
				timer_arm(&wheel, &timers[k], k, now - 100000 + span());
				armed[k] = true;
				resting[k] = false;
				/* a timer that rested from a past time is still linked
				 * there */
				was_past[k] = timers[k].when <= now;
			}
			break;
		case 0:
			if (armed[k])
				break;
			CHECK(!timer_del(&timers[k]) || resting[k]);
			resting[k] = false;
			break;
		case 1:
			if (op % 16)
				break;
			now += span() >> (draw() % 40);
			expire_and_compare(now);
			live = 0;
			for (unsigned i = 0; i < N; i++) {
				live += timers[i].wheel != NULL;
				CHECK(!armed[i] || timers[i].wheel);
				CHECK(armed[i] || resting[i] || !timers[i].wheel);
			}
			CHECK_EQ(wheel_count(&wheel), live);
			CHECK(wheel_next(&wheel) <= model_min());
			if (!live)
				CHECK(wheel_next(&wheel) == TIME_NEVER);
			if (now > INT64_MAX / 2)
				now = 1000 * NS_PER_SEC, wheel_init(&wheel, now),
				memset(armed, 0, sizeof(armed)),
				memset(timers, 0, sizeof(timers)),
				memset(resting, 0, sizeof(resting));
			break;
		}
	}
	for (unsigned i = 0; i < N; i++)
		if (timer_del(&timers[i]))
			CHECK(armed[i] || resting[i]);
		else
			CHECK(!armed[i]);
	CHECK_EQ(wheel_count(&wheel), 0);
	CHECK(wheel_next(&wheel) == TIME_NEVER);
}

/* Without deletions wheel_next is exact, so a jump to each of its results fires each
 * timer at its own nanosecond. */
static void next_is_exact_when_nothing_was_deleted(void)
{
	struct timer_hit hit[4];
	int64_t now = 5 * NS_PER_SEC, last = 0;
	unsigned fired = 0;

	wheel_init(&wheel, now);
	memset(timers, 0, sizeof(timers));
	for (unsigned i = 0; i < N; i++) {
		timers[i].token = i;
		wheel_add(&wheel, &timers[i], now + span());
	}
	while (fired < N) {
		int64_t next = wheel_next(&wheel);
		unsigned n;

		CHECK(next >= last && next < TIME_NEVER);
		CHECK_EQ(wheel_expire(&wheel, next - 1, hit, 4), 0);
		while ((n = wheel_expire(&wheel, next, hit, 4))) {
			for (unsigned i = 0; i < n; i++)
				CHECK_EQ(timers[hit[i].token].when, next);
			fired += n;
		}
		last = next;
	}
	CHECK(wheel_next(&wheel) == TIME_NEVER);
}

static void never_is_refused_and_the_past_is_due_at_once(void)
{
	struct timer_hit hit[4];
	struct timer a = { 0 }, b = { .token = 7 }, c = { .token = 8 };
	int64_t now = 77 * NS_PER_SEC;

	wheel_init(&wheel, now);
	wheel_add(&wheel, &a, TIME_NEVER);
	CHECK_EQ(wheel_count(&wheel), 0);
	CHECK(!timer_del(&a));
	wheel_add(&wheel, &b, now - NS_PER_SEC);
	wheel_add(&wheel, &c, -5);
	CHECK(wheel_next(&wheel) <= now - NS_PER_SEC);
	CHECK_EQ(wheel_expire(&wheel, now, hit, 4), 2);
	CHECK(!timer_del(&b));
	wheel_add(&wheel, &b, TIME_NEVER - 1);
	CHECK_EQ(wheel_next(&wheel), TIME_NEVER - 1);
	CHECK_EQ(wheel_expire(&wheel, TIME_NEVER - 2, hit, 4), 0);
	CHECK_EQ(wheel_expire(&wheel, TIME_NEVER - 1, hit, 4), 1);
}

#define MANY 200000
/* The sleep ends exactly at the time of a lone timer. With several timers it ends at
 * the time of one of them, and no later than the slack after the first. */
static void one_sleep_serves_several_timers_and_a_lone_one_exactly(void)
{
	unsigned joined = 0;

	for (unsigned round = 0; round < 20000; round++) {
		int64_t base = (int64_t)(draw() >> 8), first = TIME_NEVER, last = 0,
			until;
		int64_t slack = round % 2 ? 32 * NS_PER_US : 20 * NS_PER_MS;
		unsigned n = 1 + (unsigned)(draw() % 8);
		bool is_one = false;

		wheel_init(&wheel, base);
		CHECK_EQ(wheel_next_crowd(&wheel, slack), TIME_NEVER);
		for (unsigned i = 0; i < n; i++) {
			timers[i] = (struct timer){ 0 };
			wheel_add(
			    &wheel, &timers[i],
			    base + (int64_t)(draw() % (6000 * (uint64_t)slack / 1000)));
			first = MIN(first, timers[i].when);
			last = MAX(last, timers[i].when);
		}
		until = wheel_next_crowd(&wheel, slack);
		CHECK(until >= first && until <= last && until - first <= slack);
		for (unsigned i = 0; i < n; i++)
			is_one |= timers[i].when == until;
		CHECK(is_one);
		CHECK(n > 1 || until == first);
		joined += until > first;
		CHECK_EQ(wheel_next(&wheel), first);
	}
	CHECK(joined > 2000);
}

static void the_sleep_ends_for_the_latest_possible_timer(void)
{
	wheel_init(&wheel, 0);
	timers[0] = (struct timer){ 0 };
	wheel_add(&wheel, &timers[0], TIME_NEVER - 1);
	CHECK_EQ(wheel_next_crowd(&wheel, 20 * NS_PER_MS), TIME_NEVER - 1);
	CHECK(timer_del(&timers[0]));
}

static int64_t cpu_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

/* The CPU time that many timers in one tick cost. */
static int64_t fire_in_one_tick(struct timer *t, unsigned many)
{
	struct timer_hit hit[64];
	int64_t now = 3 * NS_PER_SEC, when = 10 * NS_PER_SEC, begin;
	unsigned fired = 0, n;

	memset(t, 0, many * sizeof(*t));
	wheel_init(&wheel, now);
	for (unsigned i = 0; i < many; i++)
		wheel_add(&wheel, &t[i], when + i % 8000);
	begin = cpu_now();
	while ((n = wheel_expire(&wheel, when + 4000, hit, 64)))
		fired += n;
	CHECK_EQ(fired, many / 8000 * 4001);
	while ((n = wheel_expire(&wheel, when + 8000, hit, 64)))
		fired += n;
	CHECK_EQ(fired, many);
	return cpu_now() - begin;
}

static void two_hundred_thousand_in_one_tick_cost_linear_time(void)
{
	struct timer *t = calloc(MANY, sizeof(*t));
	int64_t few, many;

	fire_in_one_tick(t, MANY); /* warms the caches */
	few = fire_in_one_tick(t, MANY / 25);
	many = fire_in_one_tick(t, MANY);
	printf("# %lld us for %d, %lld us for %d\n", (long long)few / 1000, MANY / 25,
	       (long long)many / 1000, MANY);
	/* 25 times as many timers take 25 times as long if the time is linear, 625
	 * times if it is quadratic */
	CHECK(many < 150 * few);
	free(t);
}

/* A wait that is over leaves its timer in the wheel. The next wait moves its due time;
 * a resting timer leaves the wheel when it expires. */
static void a_resting_timer_is_reused_and_expires_without_a_hit(void)
{
	struct timer_hit hit[4];
	int64_t now = 5 * NS_PER_SEC;
	struct wheel *other = calloc(1, sizeof(*other));
	struct timer t = { .wheel = NULL };

	wheel_init(&wheel, now);
	wheel_init(other, now);
	timer_arm(&wheel, &t, 1, now + 1000);
	timer_rest(&wheel, &t);
	timer_arm(&wheel, &t, 2, now + NS_PER_SEC);
	CHECK_EQ(wheel_next(&wheel), now + 1000); /* it expires once without a hit */
	CHECK_EQ(wheel_expire(&wheel, now + 1000, hit, 4), 0);
	CHECK_EQ(wheel_next(&wheel), now + NS_PER_SEC);
	timer_rest(&wheel, &t);
	timer_arm(&wheel, &t, 3, now + NS_PER_MS); /* an earlier time: it moves at
						    * once */
	CHECK_EQ(wheel_next(&wheel), now + NS_PER_MS);
	CHECK_EQ(wheel_expire(&wheel, now + NS_PER_MS, hit, 4), 1);
	CHECK(hit[0].timer == &t && hit[0].token == 3);
	timer_rest(&wheel, &t); /* it has fired, so this does nothing */
	timer_arm(&wheel, &t, 4, now + NS_PER_SEC);
	timer_rest(other, &t); /* its thread woke on another vp */
	CHECK_EQ(wheel_count(&wheel), 0);
	timer_arm(other, &t, 5, now + NS_PER_SEC);
	timer_rest(other, &t);
	timer_arm(&wheel, &t, 6, now + 2 * NS_PER_SEC);
	CHECK_EQ(wheel_count(other), 0);
	timer_rest(&wheel, &t);
	CHECK_EQ(wheel_expire(&wheel, now + 3 * NS_PER_SEC, hit, 4), 0);
	CHECK_EQ(wheel_count(&wheel), 0);
	CHECK(!t.wheel);
	CHECK(wheel_next(&wheel) == TIME_NEVER);
	free(other);
}

/* -- several kernel threads -- */

#define THREADS 4
#define ROUNDS 50000
static uint32_t stop;
static uint64_t hits[THREADS], lost[THREADS];

struct owned {
	struct timer t;
	uint32_t fired; /* the expirer writes, the owner of the timer reads */
};
static struct owned owned[THREADS];

static void *add_and_delete(void *arg)
{
	struct owned *o = arg;
	uint64_t armed_n = 0, deleted = 0;

	for (unsigned i = 0; i < ROUNDS; i++) {
		uint32_t before = load_acquire(&o->fired);

		wheel_add(&wheel, &o->t, sys_now() + (int64_t)(i % 64) * 1000);
		armed_n++;
		for (unsigned spin = i % 50; spin; spin--)
			cpu_relax();
		if (timer_del(&o->t)) {
			deleted++;
			continue;
		}
		while (load_acquire(&o->fired) == before)
			sys0(SYS_sched_yield);
	}
	hits[o - owned] = armed_n - deleted;
	return NULL;
}

static void *expirer(void *arg UNUSED)
{
	struct timer_hit hit[3];

	while (!load_acquire(&stop)) {
		unsigned n = wheel_expire(&wheel, sys_now(), hit, 3);

		for (unsigned i = 0; i < n; i++) {
			struct owned *o = container_of(hit[i].timer, struct owned, t);

			lost[o - owned]++;
			fetch_add_acq_rel(&o->fired, 1);
		}
		if (!n)
			sys0(SYS_sched_yield);
	}
	return NULL;
}

static void parallel_add_and_delete_fires_or_deletes_exactly_once(void)
{
	pthread_t t[THREADS], e;

	wheel_init(&wheel, sys_now());
	pthread_create(&e, NULL, expirer, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, add_and_delete, &owned[i]);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	store_release(&stop, 1);
	pthread_join(e, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		CHECK_EQ(hits[i], lost[i]);
	CHECK_EQ(wheel_count(&wheel), 0);
}

int main(void)
{
	seed();
	RUN(a_million_random_operations_match_the_model);
	RUN(next_is_exact_when_nothing_was_deleted);
	RUN(never_is_refused_and_the_past_is_due_at_once);
	RUN(a_resting_timer_is_reused_and_expires_without_a_hit);
	RUN(one_sleep_serves_several_timers_and_a_lone_one_exactly);
	RUN(the_sleep_ends_for_the_latest_possible_timer);
	RUN(two_hundred_thousand_in_one_tick_cost_linear_time);
	RUN(parallel_add_and_delete_fires_or_deletes_exactly_once);
	return 0;
}

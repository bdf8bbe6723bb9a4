/* SPDX-License-Identifier: Apache-2.0 */
/* The run queue of a vp alone: order, overflow and thieves. Each thread that is put in
 * comes out once. */
#include "sched/runq.h"

#include <pthread.h>
#include <sched.h>

#include "test.h"

enum { N = 4 * RUNQ_SIZE };

static struct uk_thread threads[N];
static struct runq q;

static void anew(bool shared, uint32_t at)
{
	q = (struct runq){ .shared = shared, .head = at, .tail = at };
}

static long nth(const struct uk_thread *t)
{
	return t ? t - threads : -1;
}

/* Pops as the dispatcher does: from the ring, refilled when it is empty. It must not
 * return NULL while the overflow has threads, because thieves do not reach the
 * overflow. */
static struct uk_thread *next(void)
{
	return runq_pop_fifo(&q);
}

/* Runs body on both kinds of queue, and with indices that wrap around in the middle. */
static void each(void (*body)(void))
{
	anew(false, 0);
	body();
	anew(true, 0);
	body();
	anew(true, UINT32_MAX - 5);
	body();
	anew(false, UINT32_MAX - 5);
	body();
}

static void in_and_out(void)
{
	CHECK(!runq_pop_ring(&q));
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < 100; i++)
			runq_push(&q, &threads[i]);
		CHECK_EQ(runq_len(&q), 100);
		for (int i = 0; i < 100; i++)
			CHECK_EQ(nth(runq_pop_ring(&q)), i);
		CHECK(!runq_pop_ring(&q));
		CHECK_EQ(runq_len(&q), 0);
	}
}

static void first_in_is_first_out(void)
{
	each(in_and_out);
}

static void over_the_edge(void)
{
	for (int i = 0; i < N; i++)
		runq_push(&q, &threads[i]);
	CHECK_EQ(runq_stealable(&q), N);
	CHECK_EQ(q.over.n, N - RUNQ_SIZE);
	for (int i = 0; i < 10; i++)
		CHECK_EQ(nth(next()), i);
	/* the ring has a free place, but earlier threads wait in the overflow */
	runq_push(&q, &threads[0]);
	CHECK_EQ(q.over.n, N - RUNQ_SIZE + 1);
	for (int i = 10; i < N; i++)
		CHECK_EQ(nth(next()), i);
	CHECK_EQ(nth(next()), 0);
	CHECK(!next());
	CHECK_EQ(q.over.n, 0);
}

static void threads_that_overflow_keep_their_turn(void)
{
	each(over_the_edge);
}

static void hot_slot(void)
{
	CHECK(!runq_take_lifo(&q));
	runq_push(&q, &threads[0]);
	runq_push_lifo(&q, &threads[1]);
	CHECK_EQ(runq_len(&q), 1); /* the lifo slot is not counted */
	runq_push_lifo(&q, &threads[2]);
	CHECK_EQ(runq_len(&q), 2);
	CHECK_EQ(nth(runq_take_lifo(&q)), 2);
	CHECK(!runq_take_lifo(&q));
	CHECK_EQ(nth(next()), 0);
	CHECK_EQ(nth(next()), 1);
	CHECK(!next());
}

static void the_latest_runs_next_and_moves_the_previous_one_to_the_tail(void)
{
	each(hot_slot);
}

static void back_again(void)
{
	CHECK(!runq_take_back(&q, &threads[0]));
	for (int i = 0; i < 3; i++)
		runq_push(&q, &threads[i]);
	CHECK(!runq_take_back(&q, &threads[1]));
	CHECK_EQ(nth(runq_take_back(&q, &threads[2])), 2);
	CHECK(!runq_take_back(&q, &threads[2]));
	runq_push(&q, &threads[3]);
	CHECK_EQ(nth(next()), 0);
	CHECK_EQ(nth(runq_take_back(&q, &threads[3])), 3);
	CHECK_EQ(nth(runq_take_back(&q, &threads[1])), 1);
	CHECK(!runq_take_back(&q, &threads[1]));
	CHECK(!next());
}

static void only_the_youngest_can_be_taken_back(void)
{
	each(back_again);
}

static void a_thief_takes_the_older_half(void)
{
	struct uk_thread *out[RUNQ_SIZE];

	anew(true, UINT32_MAX - 2);
	CHECK_EQ(runq_steal(&q, out, 10), 0);
	runq_push(&q, &threads[0]);
	CHECK_EQ(runq_steal(&q, out, 10), 1); /* half, rounded up */
	CHECK_EQ(nth(out[0]), 0);
	for (int i = 0; i < 9; i++)
		runq_push(&q, &threads[i]);
	CHECK_EQ(runq_steal(&q, out, 100), 5);
	for (int i = 0; i < 5; i++)
		CHECK_EQ(nth(out[i]), i);
	CHECK_EQ(runq_steal(&q, out, 1), 1);
	CHECK_EQ(nth(out[0]), 5);
	for (int i = 6; i < 9; i++)
		CHECK_EQ(nth(next()), i);
	CHECK_EQ(runq_steal(&q, out, 10), 0);
}

/* --- the owner and two thieves --- */

enum { ROUNDS = SANITIZED ? 8 : 60 };
static uint32_t times[N]; /* how often each thread came out; atomic */
static uint32_t over;
static uint64_t stolen;

static void out_comes(const struct uk_thread *t)
{
	fetch_add_relaxed(&times[nth(t)], 1);
}

static void *steals(void *arg)
{
	struct uk_thread *out[RUNQ_SIZE / 2], *t;
	unsigned max = *(unsigned *)arg;

	while (!load_acquire(&over)) {
		unsigned n = runq_steal(&q, out, max);

		for (unsigned i = 0; i < n; i++)
			out_comes(out[i]);
		fetch_add_relaxed(&stolen, n);
		t = runq_take_lifo(&q);
		if (t)
			out_comes(t);
		if (!n && !t)
			sched_yield();
	}
	return NULL;
}

static void owner_round(unsigned round)
{
	struct uk_thread *t;
	uint32_t want = round + 1;

	for (int i = 0; i < N; i++) {
		if (i % 5 == 0)
			runq_push_lifo(&q, &threads[i]);
		else
			runq_push(&q, &threads[i]);
		if (i % 3 == 0 && (t = next()))
			out_comes(t);
		if (i % 4 == 1 && (t = runq_take_back(&q, &threads[i])))
			out_comes(t);
	}
	while ((t = runq_take_lifo(&q)) || (t = next()))
		out_comes(t);
	for (int i = 0; i < N; i++) {
		while (load_relaxed(&times[i]) < want) /* a thief will count it */
			sched_yield();
		CHECK_EQ(load_relaxed(&times[i]), want);
	}
}

static void two_thieves_and_the_owner_share_without_loss(void)
{
	unsigned few = 3, many = RUNQ_SIZE / 2;
	pthread_t a, b;

	anew(true, UINT32_MAX - 1000);
	CHECK_EQ(pthread_create(&a, NULL, steals, &few), 0);
	CHECK_EQ(pthread_create(&b, NULL, steals, &many), 0);
	for (unsigned i = 0; i < ROUNDS || !load_relaxed(&stolen); i++)
		owner_round(i);
	store_release(&over, 1);
	CHECK_EQ(pthread_join(a, NULL), 0);
	CHECK_EQ(pthread_join(b, NULL), 0);
	printf("%llu of %llu stolen\n", (unsigned long long)stolen,
	       (unsigned long long)N * ROUNDS);
}

int main(void)
{
	RUN(first_in_is_first_out);
	RUN(threads_that_overflow_keep_their_turn);
	RUN(the_latest_runs_next_and_moves_the_previous_one_to_the_tail);
	RUN(only_the_youngest_can_be_taken_back);
	RUN(a_thief_takes_the_older_half);
	RUN(two_thieves_and_the_owner_share_without_loss);
	return 0;
}

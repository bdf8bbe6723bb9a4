/* SPDX-License-Identifier: Apache-2.0 */
/* The wait word (its states are in thread.h, the model in tests/model/park.pml): each
 * transition of the real code, by user threads and by kernel threads, first one by one
 * and then all at once. */
#include <uk/uk.h>

#include "base/sys.h"
#include "sched/sched.h"
#include "test.h"

/* Read by the threads that fire: the waiter, its token, and how far it is. */
static struct uk_thread *waiter;
static uint64_t token;
static uint32_t step;

static void is(struct uk_thread *t, unsigned state)
{
	CHECK_EQ(W_STATE(load_acquire(&t->wait)), state);
}

static void on_both(void *(*body)(void *))
{
	uk_thread *t;

	body(NULL); /* main is a foreign thread */
	CHECK_EQ(uk_thread_create(&t, NULL, body, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

/* --- one thread --- */

static void *fires_itself(void *arg)
{
	struct uk_thread *t = rt_enter();
	uint64_t tok;

	is(t, W_IDLE);
	tok = wait_begin(t, WAIT_FUTEX, NULL);
	is(t, W_ARMED);
	CHECK(!wait_fire(t, tok - 1, WAKE_OK)); /* an old token */
	CHECK(!wait_fire(t, tok + 1, WAKE_OK));
	is(t, W_ARMED);
	CHECK(wait_fire(t, tok, 77));
	is(t, W_FIRED);
	CHECK(!wait_fire(t, tok, WAKE_OK)); /* only one fire wins */
	CHECK_EQ(wait_park(t, tok, TIME_NEVER), 77);
	is(t, W_IDLE);
	CHECK(!wait_fire(t, tok, WAKE_OK)); /* too late */
	CHECK(wait_begin(t, WAIT_FUTEX, NULL) != tok);
	CHECK(!wait_fire(t, tok, WAKE_OK)); /* of another wait */
	tok = W_TOKEN(load_acquire(&t->wait));
	CHECK(wait_abandon(t, tok, NULL));
	rt_exit();
	return arg;
}

static void a_thread_that_is_fired_before_it_parks_does_not_park(void)
{
	on_both(fires_itself);
}

static void *abandons(void *arg)
{
	struct uk_thread *t = rt_enter();
	uint64_t tok = wait_begin(t, WAIT_FUTEX, NULL);
	unsigned why = 0;

	CHECK(wait_abandon(t, tok, &why));
	is(t, W_IDLE);
	CHECK(!wait_fire(t, tok, WAKE_OK));
	tok = wait_begin(t, WAIT_FUTEX, NULL);
	CHECK(wait_fire(t, tok, 70));
	CHECK(!wait_abandon(t, tok, &why));
	CHECK_EQ(why, 70);
	is(t, W_IDLE);
	rt_exit();
	return arg;
}

static void a_wait_can_be_abandoned_unless_it_was_fired(void)
{
	on_both(abandons);
}

static unsigned waits(struct uk_thread *t, bool stubborn, int64_t deadline)
{
	uint64_t tok = stubborn ? wait_begin_uncancelable(t, WAIT_FUTEX, NULL)
				: wait_begin(t, WAIT_FUTEX, NULL);
	unsigned why = wait_park(t, tok, deadline);

	is(t, W_IDLE);
	CHECK(!wait_fire(t, tok, WAKE_OK));
	return why;
}

static void *is_timed_out(void *arg)
{
	struct uk_thread *t = rt_enter();
	int64_t now = sys_now();

	CHECK_EQ(waits(t, false, now - 1), WAKE_TIMEOUT);
	CHECK_EQ(waits(t, false, now + NS_PER_MS), WAKE_TIMEOUT);
	CHECK(sys_now() >= now + NS_PER_MS);
	CHECK_EQ(waits(t, true, sys_now() + NS_PER_MS), WAKE_TIMEOUT);
	/* an earlier deadline of the thread counts, except in an uncancelable wait */
	t->deadline = sys_now();
	CHECK_EQ(waits(t, false, TIME_NEVER), WAKE_TIMEOUT);
	now = sys_now();
	CHECK_EQ(waits(t, true, now + NS_PER_MS), WAKE_TIMEOUT);
	CHECK(sys_now() >= now + NS_PER_MS);
	t->deadline = TIME_NEVER;
	rt_exit();
	return arg;
}

static void a_wait_times_out_at_its_deadline_and_not_before(void)
{
	on_both(is_timed_out);
}

static void *is_cancelled(void *arg)
{
	struct uk_thread *t = rt_enter();

	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ(waits(t, false, TIME_NEVER), WAKE_CANCEL);
	CHECK_EQ(waits(t, false, TIME_NEVER),
		 WAKE_CANCEL); /* each wait, until cleared */
	CHECK_EQ(waits(t, true, sys_now()), WAKE_TIMEOUT);
	CHECK_EQ(uk_thread_cancel_clear(), 1);
	CHECK_EQ(waits(t, false, sys_now()), WAKE_TIMEOUT);
	rt_exit();
	return arg;
}

static void a_cancelled_thread_does_not_wait(void)
{
	on_both(is_cancelled);
}

/* --- a parked thread and another one --- */

static bool stubborn;

static void *parks(void *why)
{
	struct uk_thread *t = rt_enter();

	waiter = t;
	token = stubborn ? wait_begin_uncancelable(t, WAIT_FUTEX, NULL)
			 : wait_begin(t, WAIT_FUTEX, NULL);
	store_release(&step, 1);
	*(unsigned *)why = wait_park(t, token, TIME_NEVER);
	rt_exit();
	return NULL;
}

static uk_thread *parked(unsigned *why)
{
	uk_thread *t;

	step = 0;
	CHECK_EQ(uk_thread_create(&t, NULL, parks, why), 0);
	UNTIL(load_acquire(&step) && W_STATE(load_acquire(&waiter->wait)) == W_PARKED);
	return t;
}

static void *readies(void *arg)
{
	unsigned why = 0;
	uk_thread *t = parked(&why);

	CHECK(!wait_fire(waiter, token - 1, WAKE_OK));
	is(waiter, W_PARKED);
	CHECK(wait_fire(waiter, token, 99));
	CHECK(!wait_fire(waiter, token, WAKE_OK));
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(why, 99);
	CHECK(!wait_fire(waiter, token, WAKE_OK)); /* descriptors are never unmapped */
	return arg;
}

static void any_thread_may_fire_a_parked_thread_but_only_once(void)
{
	on_both(readies);
}

static void *cancels(void *arg)
{
	unsigned why = 0;
	uk_thread *t = parked(&why);

	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(why, WAKE_CANCEL);
	stubborn = true;
	t = parked(&why);
	CHECK_EQ(uk_thread_cancel(t), 0);
	is(waiter, W_PARKED);
	CHECK(wait_fire(waiter, token, WAKE_OK));
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(why, WAKE_OK);
	stubborn = false;
	return arg;
}

static void a_cancel_ends_a_wait_unless_it_is_uncancelable(void)
{
	on_both(cancels);
}

/* --- all at once --- */

enum { ROUNDS = 20000, FIRERS = 2 };
static uint64_t shared_token; /* UINT64_MAX: the race is over */
static struct uk_thread *racer;
static uint64_t wins;

static void *fires_what_it_sees(void *arg)
{
	uint64_t tok, last = 0;

	while ((tok = load_acquire(&shared_token)) != UINT64_MAX) {
		if (tok == last) {
			uk_yield();
			continue;
		}
		last = tok;
		if (wait_fire(racer, tok, WAKE_OK))
			fetch_add_relaxed(&wins, 1);
	}
	return arg;
}

static void *races(void *arg)
{
	uint64_t by_them = 0, by_clock = 0;
	uk_thread *f[FIRERS];

	racer = rt_enter();
	rt_exit();
	for (int i = 0; i < FIRERS; i++)
		CHECK_EQ(uk_thread_create(&f[i], NULL, fires_what_it_sees, NULL), 0);
	for (int i = 0; i < ROUNDS; i++) {
		struct uk_thread *t = rt_enter();
		uint64_t tok = wait_begin(t, WAIT_FUTEX, NULL);
		unsigned why;

		store_release(&shared_token, tok);
		if (i % 3 == 0 && wait_abandon(t, tok, &why)) {
			rt_exit();
			continue;
		}
		if (i % 3)
			why = wait_park(t, tok, sys_now() + i % 50 * NS_PER_US);
		CHECK(why == WAKE_OK || (i % 3 && why == WAKE_TIMEOUT));
		is(t, W_IDLE);
		by_them += why == WAKE_OK;
		by_clock += why == WAKE_TIMEOUT;
		rt_exit();
	}
	store_release(&shared_token, UINT64_MAX);
	for (int i = 0; i < FIRERS; i++)
		CHECK_EQ(uk_thread_join(f[i], NULL), 0);
	CHECK_EQ(wins, by_them);
	printf("fired %llu, timed out %llu\n", (unsigned long long)by_them,
	       (unsigned long long)by_clock);
	wins = 0;
	shared_token = 0;
	return arg;
}

static void firers_clock_and_waiter_agree_on_the_winner(void)
{
	on_both(races);
}

int main(void)
{
	CHECK_EQ(uk_init(), 0);
	RUN(a_thread_that_is_fired_before_it_parks_does_not_park);
	RUN(a_wait_can_be_abandoned_unless_it_was_fired);
	RUN(a_wait_times_out_at_its_deadline_and_not_before);
	RUN(a_cancelled_thread_does_not_wait);
	RUN(any_thread_may_fire_a_parked_thread_but_only_once);
	RUN(a_cancel_ends_a_wait_unless_it_is_uncancelable);
	RUN(firers_clock_and_waiter_agree_on_the_winner);
	return 0;
}

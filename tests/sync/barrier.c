/* SPDX-License-Identifier: Apache-2.0 */
/* Barrier, once and the spin lock. */
#include "bed.h"

static uk_barrier b;
static int serial[64], inside, phase_of[16];

#define PHASES 60

static void one_by_one_through_all_phases(unsigned i, struct rng *r)
{
	for (int p = 0; p < PHASES; p++) {
		int ret;

		if (rnd(r, 4) == 0)
			uk_yield();
		SET(&phase_of[i], p);
		ret = uk_barrier_wait(&b);
		CHECK(ret == 0 || ret == 1);
		ADD(&serial[p], ret);
		for (int k = 0; k < 8; k++) /* no thread is a phase behind */
			CHECK(GET(&phase_of[k]) >= p);
	}
}

static void no_thread_passes_before_all_have_arrived(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		memset(serial, 0, sizeof(serial));
		memset(phase_of, 0, sizeof(phase_of));
		CHECK_EQ(uk_barrier_init(&b, 8), 0);
		crew_run(8, kinds[k], one_by_one_through_all_phases);
		for (int p = 0; p < PHASES; p++)
			CHECK_EQ(serial[p], 1);
		CHECK_EQ(b.arrived, 0);
	}
}

static void a_barrier_of_one_never_waits(void)
{
	CHECK_EQ(uk_barrier_init(&b, 0), -EINVAL);
	CHECK_EQ(uk_barrier_init(&b, 1), 0);
	CHECK_EQ(uk_barrier_wait(&b), 1);
}

static void *arrive(void *arg)
{
	(void)arg;
	return (void *)(intptr_t)uk_barrier_wait(&b);
}

static void a_timeout_or_cancel_takes_the_arrival_back(void)
{
	uk_thread *t;
	void *ret;

	CHECK_EQ(uk_barrier_init(&b, 2), 0);
	uk_thread_set_deadline(uk_after(2 * UK_MS));
	CHECK_EQ(uk_barrier_wait(&b), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(b.arrived, 0);
	CHECK_EQ(uk_thread_create(&t, NULL, arrive, NULL), 0);
	EVENTUALLY(GET(&b.arrived) == 1);
	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ(uk_thread_join(t, &ret), 0);
	CHECK_EQ((intptr_t)ret, -ECANCELED);
	CHECK_EQ(b.arrived, 0);
	CHECK_EQ(uk_thread_create(&t, NULL, arrive, NULL), 0);
	EVENTUALLY(GET(&b.arrived) == 1);
	CHECK_EQ(uk_barrier_wait(&b), 1);
	CHECK_EQ(uk_thread_join(t, &ret), 0);
	CHECK_EQ((intptr_t)ret, 0);
}

static long passes;

/* Each thread that passes is one of exactly three in its round. */
static void arrive_with_tight_deadlines(unsigned i, struct rng *r)
{
	(void)i;
	for (int n = 0; n < 400; n++) {
		int ret;

		uk_thread_set_deadline(uk_after(rnd(r, 80) * UK_US));
		ret = uk_barrier_wait(&b);
		uk_thread_set_deadline(UK_FOREVER);
		CHECK(ret == 0 || ret == 1 || ret == -ETIMEDOUT);
		if (ret >= 0)
			ADD(&passes, 1);
		if (ret == 1)
			ADD(&inside, 1);
	}
}

static void a_timeout_that_meets_the_opening_counts_once(void)
{
	CHECK_EQ(uk_barrier_init(&b, 3), 0);
	crew_run(8, MIXED, arrive_with_tight_deadlines);
	CHECK_EQ(passes, 3l * inside);
	CHECK_EQ(b.phase, inside);
	CHECK_EQ(b.arrived, 0);
	CHECK(inside > 0);
}

static uk_once once;
static int made, saw;

static void make_slowly(void)
{
	ADD(&made, 1);
	uk_sleep(5 * UK_MS);
	ADD(&made, 1);
}

static void call_once(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	CHECK_EQ(uk_once_run(&once, make_slowly), 0);
	CHECK_EQ(GET(&made), 2);
	ADD(&saw, 1);
}

static void once_runs_once_and_all_wait_for_it(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		once = (uk_once)UK_ONCE_INIT;
		made = saw = 0;
		crew_run(10, kinds[k], call_once);
		CHECK_EQ(saw, 10);
		CHECK_EQ(made, 2);
	}
}

#define MANY 3000
static uk_once many[MANY];
static int inits, arrived_at[MANY];

static void init_quickly(void)
{
	ADD(&inits, 1);
}

/* Two threads meet at each once: the second comes while fn runs, or as it ends. */
static void race_through_many(unsigned i, struct rng *r)
{
	(void)i;
	for (int n = 0; n < MANY; n++) {
		ADD(&arrived_at[n], 1);
		for (int k = 0; k < 10000 && GET(&arrived_at[n]) < 2; k++)
			if (k % 100 == 99)
				uk_yield();
		for (uint32_t k = rnd(r, 200); k; k--)
			__asm__ volatile("");
		CHECK_EQ(uk_once_run(&many[n], init_quickly), 0);
		CHECK(GET(&inits) > n);
	}
}

static void once_runs_once_in_a_race(void)
{
	crew_run(2, ALL_USER, race_through_many);
	CHECK_EQ(inits, MANY);
}

static int init_ret;

static void init_while_cancelled(void)
{
	SET(&made, 1);
	EVENTUALLY(uk_thread_is_cancelled());
	init_ret = uk_sleep(UK_SEC);
	SET(&made, 2);
}

static void *run_init(void *arg)
{
	(void)arg;
	CHECK_EQ(uk_once_run(&once, init_while_cancelled), 0);
	return NULL;
}

static void a_cancelled_initialiser_still_completes(void)
{
	uk_thread *t, *waiter;

	once = (uk_once)UK_ONCE_INIT;
	SET(&made, 0);
	CHECK_EQ(uk_thread_create(&t, NULL, run_init, NULL), 0);
	EVENTUALLY(GET(&made) == 1);
	CHECK_EQ(uk_thread_create(&waiter, NULL, run_init, NULL), 0);
	EVENTUALLY(GET(&once.state) == 2);
	CHECK_EQ(uk_thread_cancel(waiter), 0); /* it goes on waiting all the same */
	settle_down();
	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_thread_join(waiter, NULL), 0);
	CHECK_EQ(GET(&made), 2);
	CHECK_EQ(init_ret, -ECANCELED);
}

static uk_spin spin;
static long counter, in_section;

static void spin_alone(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	for (int n = 0; n < 4000; n++) {
		uk_spin_lock(&spin);
		CHECK_EQ(in_section++, 0);
		counter++;
		in_section--;
		uk_spin_unlock(&spin);
		uk_spin_lock(&spin);
		CHECK_EQ(uk_spin_trylock(&spin), -EBUSY);
		uk_spin_unlock(&spin);
	}
}

static void the_spin_lock_excludes_other_threads(void)
{
	counter = 0;
	crew_run(4, MIXED, spin_alone);
	CHECK_EQ(counter, 4 * 4000);
}

int main(void)
{
	bed_init();
	RUN(no_thread_passes_before_all_have_arrived);
	RUN(a_barrier_of_one_never_waits);
	RUN(a_timeout_or_cancel_takes_the_arrival_back);
	RUN(a_timeout_that_meets_the_opening_counts_once);
	RUN(once_runs_once_and_all_wait_for_it);
	RUN(once_runs_once_in_a_race);
	RUN(a_cancelled_initialiser_still_completes);
	RUN(the_spin_lock_excludes_other_threads);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Mutexes: errors, recursion, deadlines, cancellation, exclusion, starvation, and reuse
 * of the memory. */
#include "bed.h"

#define WAITERS 2u /* a bit of the mutex word */

static uk_mutex m, m2;
static long counter, in_section;

static void lock_trylock_unlock_and_their_errors(void)
{
	uk_mutex_init(&m, 0);
	CHECK_EQ(uk_mutex_unlock(&m), -EPERM);
	CHECK_EQ(uk_mutex_lock(&m), 0);
	CHECK_EQ(uk_mutex_lock(&m), -EDEADLK);
	CHECK_EQ(uk_mutex_trylock(&m), -EBUSY);
	CHECK_EQ(uk_mutex_lock_until(&m, uk_after(UK_MS)), -EDEADLK);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	CHECK_EQ(uk_mutex_unlock(&m), -EPERM);
	CHECK_EQ(uk_mutex_trylock(&m), 0);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	CHECK_EQ(m.word, 0);
}

static void *try_and_unlock(void *arg)
{
	uk_mutex *l = arg;

	CHECK_EQ(uk_mutex_trylock(l), -EBUSY);
	CHECK_EQ(uk_mutex_unlock(l), -EPERM);
	CHECK_EQ(uk_mutex_lock_until(l, uk_after(2 * UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_mutex_lock_until(l, 0), -ETIMEDOUT);
	return NULL;
}

static void another_thread_can_neither_take_nor_unlock_it(void)
{
	uk_thread *t;

	uk_mutex_init(&m, 0);
	CHECK_EQ(uk_mutex_lock(&m), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, try_and_unlock, &m), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(m.word, 1); /* the timed-out waiter left nothing behind */
	CHECK_EQ(uk_mutex_unlock(&m), 0);
}

static void a_recursive_mutex_counts(void)
{
	uk_mutex r = UK_MUTEX_RECURSIVE_INIT;
	uk_thread *t;

	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_mutex_lock(&r), 0);
	CHECK_EQ(uk_mutex_trylock(&r), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_mutex_unlock(&r), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, try_and_unlock, &r), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_mutex_unlock(&r), 0);
	CHECK_EQ(uk_mutex_unlock(&r), -EPERM);
	CHECK_EQ(r.word, 0);
}

static void *lock_to_be_cancelled(void *arg)
{
	CHECK_EQ(uk_mutex_lock(arg), -ECANCELED);
	CHECK_EQ(uk_mutex_lock(arg), -ECANCELED); /* each later one, too */
	CHECK_EQ(uk_thread_is_cancelled(), 1);
	CHECK_EQ(uk_thread_cancel_clear(), 1);
	CHECK_EQ(uk_mutex_lock(&m2), 0);
	CHECK_EQ(uk_mutex_unlock(&m2), 0);
	return NULL;
}

static void cancel_ends_a_wait_and_leaves_the_mutex_consistent(void)
{
	uk_thread *t;

	uk_mutex_init(&m, 0);
	CHECK_EQ(uk_mutex_lock(&m), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, lock_to_be_cancelled, &m), 0);
	EVENTUALLY(GET(&m.word) & WAITERS);
	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(m.word, 1);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
}

static void *lock_with_own_deadline(void *arg)
{
	CHECK(uk_thread_set_deadline(uk_after(3 * UK_MS)) == UK_FOREVER);
	CHECK_EQ(uk_mutex_lock(arg), -ETIMEDOUT);
	CHECK(uk_thread_set_deadline(UK_FOREVER) < UK_FOREVER);
	return NULL;
}

static void the_threads_own_deadline_bounds_the_wait(void)
{
	uk_thread *t;

	uk_mutex_init(&m, 0);
	CHECK_EQ(uk_mutex_lock(&m), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, lock_with_own_deadline, &m), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
}

#define ROUNDS 4000

static void count_under_lock(unsigned i, struct rng *r)
{
	for (int n = 0; n < ROUNDS; n++) {
		CHECK_EQ(uk_mutex_lock(&m), 0);
		CHECK_EQ(in_section++, 0); /* not atomic: TSan would see a race */
		counter++;
		if (rnd(r, 64) == 0 && i % 2)
			uk_yield();
		in_section--;
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		if (rnd(r, 16) == 0)
			uk_yield();
	}
}

static void it_excludes_user_threads_and_foreign_threads(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		uk_mutex_init(&m, 0);
		counter = 0;
		crew_run(8, kinds[k], count_under_lock);
		CHECK_EQ(counter, 8 * ROUNDS);
		CHECK_EQ(m.word, 0);
	}
}

#define HURRY 15000

static void lock_in_a_hurry(unsigned i, struct rng *r)
{
	for (int n = 0; n < HURRY; n++) {
		(void)i;
		CHECK_EQ(uk_mutex_lock(&m), 0);
		counter++;
		for (uint32_t k = rnd(r, 6000); k; k--) /* often longer than it spins */
			__asm__ volatile("");
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		for (uint32_t k = rnd(r, 80); k; k--)
			__asm__ volatile("");
	}
}

/* There are only two threads, so no third thread's unlock hides a lost wake-up. */
static void two_threads_never_lose_a_wake_up(void)
{
	for (int n = 0; n < 6; n++) {
		counter = 0;
		crew_run(2, n % 2 ? ALL_FOREIGN : ALL_USER, lock_in_a_hurry);
		CHECK_EQ(counter, 2 * HURRY);
		CHECK_EQ(m.word, 0);
	}
}

static long got, missed;

/* The deadlines are about as long as the critical sections, so hand-overs and timeouts
 * collide. */
static void lock_with_tight_deadlines(unsigned i, struct rng *r)
{
	long mine = 0, lost = 0;

	for (int n = 0; n < ROUNDS / 4; n++) {
		int ret = uk_mutex_lock_until(&m, uk_after(rnd(r, 60) * UK_US));

		if (ret) {
			CHECK_EQ(ret, -ETIMEDOUT);
			lost++;
			continue;
		}
		CHECK_EQ(in_section++, 0);
		counter++;
		mine++;
		if (rnd(r, 200) == 0)
			uk_sleep(2 * UK_MS); /* so long that the others starve */
		else if (i % 3 == 0)
			uk_yield();
		in_section--;
		CHECK_EQ(uk_mutex_unlock(&m), 0);
	}
	ADD(&got, mine);
	ADD(&missed, lost);
}

static void a_timeout_during_a_hand_over_loses_nothing(void)
{
	uk_mutex_init(&m, 0);
	counter = 0;
	crew_run(8, MIXED, lock_with_tight_deadlines);
	CHECK_EQ(counter, got);
	CHECK_EQ(got + missed, 8 * (ROUNDS / 4));
	CHECK(missed > 0);
	/* the mutex is free, and no waiter is left in the queue */
	CHECK_EQ(m.word, 0);
	CHECK_EQ(uk_mutex_trylock(&m), 0);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
}

static int stop;
static long canceled;
static uk_thread *targets[6];
static int ready_targets;

static void *lock_until_stopped(void *arg)
{
	struct rng r = { bed_seed + (uintptr_t)arg };

	ADD(&ready_targets, 1);
	while (!GET(&stop)) {
		int ret = uk_mutex_lock(&m);

		if (ret == -ECANCELED) {
			ADD(&canceled, 1);
			uk_thread_cancel_clear();
			continue;
		}
		CHECK_EQ(ret, 0);
		CHECK_EQ(in_section++, 0);
		counter++;
		if (rnd(&r, 4) == 0)
			uk_yield();
		in_section--;
		CHECK_EQ(uk_mutex_unlock(&m), 0);
	}
	return NULL;
}

static void a_cancel_during_a_hand_over_loses_nothing(void)
{
	struct rng r = { bed_seed };
	uk_time end = uk_after(300 * UK_MS);

	uk_mutex_init(&m, 0);
	SET(&stop, 0);
	for (uintptr_t i = 0; i < 6; i++)
		CHECK_EQ(
		    uk_thread_create(&targets[i], NULL, lock_until_stopped, (void *)i),
		    0);
	EVENTUALLY(GET(&ready_targets) == 6);
	while (uk_now() < end || !GET(&canceled)) {
		uk_thread_cancel(targets[rnd(&r, 6)]);
		if (rnd(&r, 8) == 0)
			uk_sleep(rnd(&r, 100) * UK_US);
		CHECK(uk_now() < end + HANG_NS);
	}
	SET(&stop, 1);
	for (int i = 0; i < 6; i++)
		CHECK_EQ(uk_thread_join(targets[i], NULL), 0);
	CHECK_EQ(m.word, 0);
}

static long hog_rounds, rounds_at_wait, rounds_at_get, worst;

static void *hog(void *arg)
{
	(void)arg;
	while (!GET(&stop)) {
		CHECK_EQ(uk_mutex_lock(&m), 0);
		ADD(&hog_rounds, 1);
		uk_sleep(100 * UK_US); /* the lock is held nearly all the time */
		CHECK_EQ(uk_mutex_unlock(&m), 0);
	}
	return NULL;
}

/* Without hand-off, a holder in a tight loop would always get the lock first. On one vp
 * this is certain, because the waiter runs only while the hog sleeps with the lock;
 * then this test hangs. With hand-off, a waiter gets the lock after 1 ms and one more
 * section, which is about ten sections of 0.1 ms on an idle machine. */
static void *wait_behind_the_hog(void *arg)
{
	for (int i = 0; i < 10; i++) {
		rounds_at_wait = GET(&hog_rounds);
		CHECK_EQ(uk_mutex_lock_until(&m, uk_after(HANG_NS)), 0);
		rounds_at_get = GET(&hog_rounds);
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		if (worst < rounds_at_get - rounds_at_wait)
			worst = rounds_at_get - rounds_at_wait;
	}
	return arg;
}

static void a_waiter_does_not_starve_behind_a_thread_that_locks_in_a_loop(void)
{
	uk_thread *t, *waiter;

	uk_mutex_init(&m, 0);
	SET(&stop, 0);
	CHECK_EQ(uk_thread_create(&t, NULL, hog, NULL), 0);
	EVENTUALLY(GET(&hog_rounds) > 3);
	CHECK_EQ(uk_thread_create(&waiter, NULL, wait_behind_the_hog, NULL), 0);
	CHECK_EQ(uk_thread_join(waiter, NULL), 0);
	wait_behind_the_hog(NULL); /* as a foreign thread */
	SET(&stop, 1);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(m.word, 0);
}

static void *unlock_late(void *arg)
{
	(void)arg;
	CHECK_EQ(uk_mutex_lock(&m), 0);
	SET(&stop, 2);
	uk_sleep(5 * UK_MS);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	return NULL;
}

/* A thread that has unlocked the mutex may not touch it any more, because the next
 * owner may free it. */
static void the_last_owner_may_free_it(void)
{
	for (int i = 0; i < 20; i++) {
		uk_thread *t;

		SET(&stop, 0);
		uk_mutex_init(&m, 0);
		CHECK_EQ(uk_thread_create(&t, NULL, unlock_late, NULL), 0);
		EVENTUALLY(GET(&stop) == 2);
		CHECK_EQ(uk_mutex_lock(&m), 0);
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		memset(&m, 0xa5, sizeof(m));
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		for (size_t k = 0; k < sizeof(m); k++)
			CHECK_EQ(((unsigned char *)&m)[k], 0xa5);
	}
}

int main(void)
{
	bed_init();
	RUN(lock_trylock_unlock_and_their_errors);
	RUN(another_thread_can_neither_take_nor_unlock_it);
	RUN(a_recursive_mutex_counts);
	RUN(cancel_ends_a_wait_and_leaves_the_mutex_consistent);
	RUN(the_threads_own_deadline_bounds_the_wait);
	RUN(it_excludes_user_threads_and_foreign_threads);
	RUN(two_threads_never_lose_a_wake_up);
	RUN(a_timeout_during_a_hand_over_loses_nothing);
	RUN(a_cancel_during_a_hand_over_loses_nothing);
	RUN(a_waiter_does_not_starve_behind_a_thread_that_locks_in_a_loop);
	RUN(the_last_owner_may_free_it);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Condition variables: deadlines, cancellation, signal and broadcast, and no lost
 * signal. */
#include "bed.h"

static uk_mutex m;
static uk_cond c;
static int waiting, done;

static void wait_needs_the_mutex(void)
{
	uk_mutex_init(&m, 0);
	CHECK_EQ(uk_cond_wait(&c, &m), -EPERM);
	CHECK_EQ(uk_cond_wait_until(&c, &m, uk_after(UK_MS)), -EPERM);
}

static void a_deadline_ends_the_wait_with_the_mutex_held(void)
{
	uk_time start = uk_now();

	CHECK_EQ(uk_mutex_lock(&m), 0);
	CHECK_EQ(uk_cond_wait_until(&c, &m, uk_after(3 * UK_MS)), -ETIMEDOUT);
	CHECK(uk_now() - start >= 3 * UK_MS);
	CHECK_EQ(uk_cond_wait_until(&c, &m, 0), -ETIMEDOUT);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	CHECK_EQ(c.waiters, 0);
	CHECK_EQ(uk_cond_signal(&c), 0); /* without a waiter it has no effect */
	CHECK_EQ(uk_cond_broadcast(&c), 0);
}

static void *wait_for_cancel(void *arg)
{
	(void)arg;
	CHECK_EQ(uk_mutex_lock(&m), 0);
	SET(&waiting, 1);
	CHECK_EQ(uk_cond_wait(&c, &m), -ECANCELED);
	CHECK_EQ(uk_mutex_lock(&m), -EDEADLK); /* we hold the mutex */
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	return NULL;
}

static void cancel_ends_the_wait_with_the_mutex_held(void)
{
	uk_thread *t;

	SET(&waiting, 0);
	CHECK_EQ(uk_thread_create(&t, NULL, wait_for_cancel, NULL), 0);
	EVENTUALLY(GET(&waiting));
	CHECK_EQ(uk_mutex_lock(&m), 0); /* t waits, so it has released m */
	CHECK_EQ(uk_thread_cancel(t), 0);
	uk_sleep(3 * UK_MS); /* although it is cancelled, it must wait for the mutex */
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(c.waiters, 0);
	CHECK_EQ(m.word, 0);
}

static void a_wait_releases_and_retakes_all_levels_of_a_recursive_mutex(void)
{
	uk_mutex r = UK_MUTEX_RECURSIVE_INIT;

	CHECK_EQ(uk_mutex_lock(&r), 0);
	CHECK_EQ(uk_mutex_lock(&r), 0);
	CHECK_EQ(uk_cond_wait_until(&c, &r, uk_after(UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_mutex_unlock(&r), 0);
	CHECK_EQ(uk_mutex_unlock(&r), 0);
	CHECK_EQ(uk_mutex_unlock(&r), -EPERM);
}

static void wait_once(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	CHECK_EQ(uk_mutex_lock(&m), 0);
	waiting++;
	CHECK_EQ(uk_cond_wait(&c, &m), 0);
	done++;
	CHECK_EQ(uk_mutex_unlock(&m), 0);
}

static int locked(int *p)
{
	int v;

	CHECK_EQ(uk_mutex_lock(&m), 0);
	v = *p;
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	return v;
}

static void signal_wakes_exactly_one_and_broadcast_all(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 6; k++) {
		struct crew crew;

		waiting = done = 0;
		crew_start(&crew, 16, kinds[k % 3], wait_once);
		EVENTUALLY(locked(&waiting) == 16);
		for (int i = 1; i <= 5; i++) {
			if (k < 3) /* first with the mutex held, then without */
				CHECK_EQ(uk_mutex_lock(&m), 0);
			CHECK_EQ(uk_cond_signal(&c), 0);
			if (k < 3)
				CHECK_EQ(uk_mutex_unlock(&m), 0);
			EVENTUALLY(locked(&done) == i);
		}
		settle_down();
		CHECK_EQ(locked(&done), 5);
		CHECK_EQ(GET(&c.waiters), 11);
		if (k < 3)
			CHECK_EQ(uk_mutex_lock(&m), 0);
		CHECK_EQ(uk_cond_broadcast(&c), 0);
		if (k < 3)
			CHECK_EQ(uk_mutex_unlock(&m), 0);
		crew_join(&crew);
		CHECK_EQ(done, 16);
		CHECK_EQ(c.waiters, 0);
		CHECK_EQ(m.word, 0);
	}
}

/* -- A bounded buffer: a lost signal stops it, a stolen one makes the sum wrong. -- */

#define SLOTS 4
#define ITEMS 3000
static long buffer[SLOTS], filled, sum;
static uk_cond not_empty, not_full;

static void produce_and_consume(unsigned i, struct rng *r)
{
	for (long n = 1; n <= ITEMS; n++) {
		CHECK_EQ(uk_mutex_lock(&m), 0);
		if (i % 2) {
			while (filled == SLOTS)
				CHECK_EQ(uk_cond_wait(&not_full, &m), 0);
			buffer[filled++] = n;
			CHECK_EQ(uk_cond_signal(&not_empty), 0);
		} else {
			while (filled == 0)
				CHECK_EQ(uk_cond_wait(&not_empty, &m), 0);
			sum += buffer[--filled];
			CHECK_EQ(uk_cond_signal(&not_full), 0);
		}
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		if (rnd(r, 32) == 0)
			uk_yield();
	}
}

static void no_signal_is_lost_or_stolen(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		sum = filled = 0;
		crew_run(8, kinds[k], produce_and_consume);
		CHECK_EQ(sum, 4l * ITEMS * (ITEMS + 1) / 2);
		CHECK_EQ(m.word, 0);
		CHECK_EQ(not_empty.waiters + not_full.waiters, 0);
	}
}

/* -- Tokens: there is one signal for each token. The impatient threads (even) wait with
 * tight deadlines or are cancelled, and look for a token only after a signal. The
 * others wait without a deadline. So if an impatient thread takes a signal along as it
 * leaves, no thread takes that token. -- */

static long tokens, taken, left_early;
static int closing;

static long locked_tokens(void)
{
	long v;

	CHECK_EQ(uk_mutex_lock(&m), 0);
	v = tokens;
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	return v;
}

static void take_while_any(void)
{
	while (tokens > 0) {
		tokens--;
		taken++;
	}
}

static void be_patient(void)
{
	CHECK_EQ(uk_mutex_lock(&m), 0);
	while (take_while_any(), !closing)
		CHECK_EQ(uk_cond_wait(&c, &m), 0);
	CHECK_EQ(uk_mutex_unlock(&m), 0);
}

static void lock_anyway(void)
{
	int ret;

	while ((ret = uk_mutex_lock(&m)) == -ECANCELED)
		uk_thread_cancel_clear();
	CHECK_EQ(ret, 0);
}

static void be_impatient(int error, struct rng *r)
{
	lock_anyway();
	while (!closing) {
		uk_time d =
		    error == -ETIMEDOUT ? uk_after(rnd(r, 100) * UK_US) : UK_FOREVER;
		int ret = uk_cond_wait_until(&c, &m, d);

		if (ret == 0) {
			take_while_any();
			continue;
		}
		CHECK_EQ(ret, error);
		__atomic_add_fetch(&left_early, 1, __ATOMIC_RELAXED);
		uk_thread_cancel_clear();
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		uk_yield();
		lock_anyway();
	}
	CHECK_EQ(uk_mutex_unlock(&m), 0);
}

static void wait_or_time_out(unsigned i, struct rng *r)
{
	if (i % 2)
		be_patient();
	else
		be_impatient(-ETIMEDOUT, r);
}

static void wait_or_be_cancelled(unsigned i, struct rng *r)
{
	if (i % 2)
		be_patient();
	else
		be_impatient(-ECANCELED, r);
}

static void deal_tokens(struct crew *crew, bool cancel)
{
	struct rng r = { bed_seed };
	long given = 0;

	tokens = taken = left_early = closing = 0;
	crew_start(crew, 8, cancel ? ALL_USER : MIXED,
		   cancel ? wait_or_be_cancelled : wait_or_time_out);
	for (int n = 0; n < 8000 || !__atomic_load_n(&left_early, __ATOMIC_RELAXED);
	     n++) {
		CHECK_EQ(uk_mutex_lock(&m), 0);
		tokens++;
		given++;
		if (n % 2) /* mutex held: signal moves the waiter; free: fires it */
			CHECK_EQ(uk_cond_signal(&c), 0);
		CHECK_EQ(uk_mutex_unlock(&m), 0);
		if (n % 2 == 0)
			CHECK_EQ(uk_cond_signal(&c), 0);
		for (int k = 0; cancel && k < 3; k++)
			uk_thread_cancel(crew->user[rnd(&r, 4) * 2]);
		SOON(locked_tokens() == 0);
	}
	CHECK_EQ(uk_mutex_lock(&m), 0);
	closing = 1;
	CHECK_EQ(uk_mutex_unlock(&m), 0);
	CHECK_EQ(uk_cond_broadcast(&c), 0);
	crew_join(crew);
	CHECK_EQ(taken, given);
	CHECK_EQ(c.waiters, 0);
	CHECK_EQ(m.word, 0);
}

static void a_timeout_does_not_swallow_a_signal(void)
{
	struct crew crew;

	deal_tokens(&crew, false);
}

static void a_cancel_does_not_swallow_a_signal(void)
{
	struct crew crew;

	deal_tokens(&crew, true);
}

int main(void)
{
	bed_init();
	uk_cond_init(&c); /* the same as zero */
	RUN(wait_needs_the_mutex);
	RUN(a_deadline_ends_the_wait_with_the_mutex_held);
	RUN(cancel_ends_the_wait_with_the_mutex_held);
	RUN(a_wait_releases_and_retakes_all_levels_of_a_recursive_mutex);
	RUN(signal_wakes_exactly_one_and_broadcast_all);
	RUN(no_signal_is_lost_or_stolen);
	RUN(a_timeout_does_not_swallow_a_signal);
	RUN(a_cancel_does_not_swallow_a_signal);
	return 0;
}

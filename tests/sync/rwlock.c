/* SPDX-License-Identifier: Apache-2.0 */
/* Reader-writer locks: errors, deadlines, cancellation, fairness between readers and
 * writers, and exclusion. */
#include "bed.h"

static uk_rwlock l;
static long readers, writers, value, copy_of_value;

static void locks_and_their_errors(void)
{
	CHECK_EQ(uk_rwlock_unlock(&l), -EPERM);
	CHECK_EQ(uk_rwlock_rdlock(&l), 0);
	CHECK_EQ(uk_rwlock_rdlock(&l), 0);
	CHECK_EQ(uk_rwlock_tryrdlock(&l), 0);
	CHECK_EQ(uk_rwlock_trywrlock(&l), -EBUSY);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_rwlock_unlock(&l), 0);
	CHECK_EQ(uk_rwlock_unlock(&l), -EPERM);
	CHECK_EQ(uk_rwlock_wrlock(&l), 0);
	CHECK_EQ(uk_rwlock_wrlock(&l), -EDEADLK);
	CHECK_EQ(uk_rwlock_rdlock(&l), -EDEADLK);
	CHECK_EQ(uk_rwlock_trywrlock(&l), -EBUSY);
	CHECK_EQ(uk_rwlock_tryrdlock(&l), -EBUSY);
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	CHECK_EQ(uk_rwlock_trywrlock(&l), 0);
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	CHECK_EQ(l.state, 0);
}

static void *while_write_locked(void *arg)
{
	(void)arg;
	CHECK_EQ(uk_rwlock_unlock(&l), -EPERM);
	CHECK_EQ(uk_rwlock_rdlock_until(&l, uk_after(2 * UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_rwlock_wrlock_until(&l, uk_after(2 * UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_rwlock_wrlock_until(&l, 0), -ETIMEDOUT);
	return NULL;
}

static void deadlines_leave_nothing_behind(void)
{
	uk_thread *t;

	CHECK_EQ(uk_rwlock_wrlock(&l), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, while_write_locked, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(l.state, 1);
	CHECK_EQ(l.readers_waiting + l.writers_waiting, 0);
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
}

static void *to_be_cancelled(void *arg)
{
	CHECK_EQ(arg ? uk_rwlock_wrlock(&l) : uk_rwlock_rdlock(&l), -ECANCELED);
	return NULL;
}

static void cancel_ends_both_kinds_of_wait(void)
{
	for (uintptr_t kind = 0; kind < 2; kind++) {
		uk_thread *t;

		CHECK_EQ(uk_rwlock_wrlock(&l), 0);
		CHECK_EQ(uk_thread_create(&t, NULL, to_be_cancelled, (void *)kind), 0);
		EVENTUALLY(GET(&l.readers_waiting) + GET(&l.writers_waiting) == 1);
		CHECK_EQ(uk_thread_cancel(t), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		CHECK_EQ(l.state, 1);
		CHECK_EQ(uk_rwlock_unlock(&l), 0);
	}
}

static int order_len, order[8];

static void *write_and_note(void *arg)
{
	CHECK_EQ(uk_rwlock_wrlock(&l), 0);
	order[ADD(&order_len, 1)] = (int)(intptr_t)arg;
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	return NULL;
}

static void *read_and_note(void *arg)
{
	CHECK_EQ(uk_rwlock_rdlock(&l), 0);
	order[ADD(&order_len, 1)] = (int)(intptr_t)arg;
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	return NULL;
}

static void a_waiting_writer_holds_new_readers_back(void)
{
	uk_thread *w, *r;

	order_len = 0;
	CHECK_EQ(uk_rwlock_rdlock(&l), 0);
	CHECK_EQ(uk_thread_create(&w, NULL, write_and_note, (void *)1), 0);
	EVENTUALLY(GET(&l.writers_waiting) == 1);
	CHECK_EQ(uk_rwlock_tryrdlock(&l), -EBUSY);
	CHECK_EQ(uk_thread_create(&r, NULL, read_and_note, (void *)2), 0);
	EVENTUALLY(GET(&l.readers_waiting) == 1);
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	CHECK_EQ(uk_thread_join(w, NULL), 0);
	CHECK_EQ(uk_thread_join(r, NULL), 0);
	CHECK_EQ(order[0], 1);
	CHECK_EQ(order[1], 2);
	CHECK_EQ(l.state, 0);
}

static void a_writer_that_gives_up_lets_the_readers_in(void)
{
	uk_thread *w, *r;

	order_len = 0;
	CHECK_EQ(uk_rwlock_rdlock(&l), 0);
	CHECK_EQ(uk_thread_create(&w, NULL, to_be_cancelled, (void *)1), 0);
	EVENTUALLY(GET(&l.writers_waiting) == 1);
	CHECK_EQ(uk_thread_create(&r, NULL, read_and_note, (void *)7), 0);
	EVENTUALLY(GET(&l.readers_waiting) == 1);
	CHECK_EQ(uk_thread_cancel(w), 0);
	/* we still read: r gets in only because the writer leaves */
	CHECK_EQ(uk_thread_join(r, NULL), 0);
	CHECK_EQ(uk_thread_join(w, NULL), 0);
	CHECK_EQ(order[0], 7);
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	CHECK_EQ(l.state, 0);
}

static void all_waiting_readers_come_in_between_two_writers(void)
{
	uk_thread *t[5];

	order_len = 0;
	CHECK_EQ(uk_rwlock_wrlock(&l), 0);
	CHECK_EQ(uk_thread_create(&t[0], NULL, write_and_note, (void *)1), 0);
	EVENTUALLY(GET(&l.writers_waiting) == 1);
	for (int i = 1; i < 4; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, read_and_note, (void *)2), 0);
	EVENTUALLY(GET(&l.readers_waiting) == 3);
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(order[i], 2);
	CHECK_EQ(order[3], 1);
}

#define ROUNDS 1500

static void check_and_count(bool write, struct rng *r)
{
	if (write) {
		CHECK_EQ(ADD(&writers, 1), 0);
		CHECK_EQ(GET(&readers), 0);
		value++;
		if (rnd(r, 16) == 0)
			uk_yield();
		copy_of_value++;
		CHECK_EQ(ADD(&writers, -1), 1);
	} else {
		ADD(&readers, 1);
		CHECK_EQ(GET(&writers), 0);
		CHECK_EQ(value, copy_of_value);
		if (rnd(r, 16) == 0)
			uk_yield();
		ADD(&readers, -1);
	}
}

static void read_and_write(unsigned i, struct rng *r)
{
	(void)i;
	for (int n = 0; n < ROUNDS; n++) {
		bool write = rnd(r, 4) == 0;

		CHECK_EQ(write ? uk_rwlock_wrlock(&l) : uk_rwlock_rdlock(&l), 0);
		check_and_count(write, r);
		CHECK_EQ(uk_rwlock_unlock(&l), 0);
	}
}

static void it_excludes_user_threads_and_foreign_threads(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		crew_run(8, kinds[k], read_and_write);
		CHECK_EQ(value, copy_of_value);
		CHECK_EQ(l.state, 0);
	}
}

static long missed;

static void with_tight_deadlines(unsigned i, struct rng *r)
{
	(void)i;
	for (int n = 0; n < ROUNDS; n++) {
		bool write = rnd(r, 3) == 0;
		uk_time d = uk_after(rnd(r, 40) * UK_US);
		int ret = write ? uk_rwlock_wrlock_until(&l, d)
				: uk_rwlock_rdlock_until(&l, d);

		if (ret) {
			CHECK_EQ(ret, -ETIMEDOUT);
			ADD(&missed, 1);
			continue;
		}
		check_and_count(write, r);
		if (rnd(r, 100) == 0)
			uk_sleep(50 * UK_US);
		CHECK_EQ(uk_rwlock_unlock(&l), 0);
	}
}

static void a_timeout_during_a_grant_loses_nothing(void)
{
	crew_run(8, MIXED, with_tight_deadlines);
	CHECK(missed > 0);
	CHECK_EQ(l.state, 0);
	CHECK_EQ(l.readers_waiting + l.writers_waiting, 0);
}

static int stop;
static long reads, writes;
/* Counts the threads that take the lock while a thread of the other kind waits: those
 * that pass the waiter, and those that got the lock as it came. Nothing is counted
 * before we wait, however slow we are. */
static long passed;

static void read_in_a_loop(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	while (!GET(&stop)) {
		CHECK_EQ(uk_rwlock_rdlock(&l), 0);
		ADD(&reads, 1);
		ADD(&passed, GET(&l.writers_waiting) > 0);
		/* readers overlap, so without a queue the lock would never be free */
		uk_sleep(50 * UK_US);
		CHECK_EQ(uk_rwlock_unlock(&l), 0);
	}
}

static void write_in_a_loop(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	while (!GET(&stop)) {
		CHECK_EQ(uk_rwlock_wrlock(&l), 0);
		ADD(&writes, 1);
		ADD(&passed, GET(&l.readers_waiting) > 0);
		uk_sleep(50 * UK_US);
		CHECK_EQ(uk_rwlock_unlock(&l), 0);
	}
}

static void neither_side_starves(void)
{
	struct crew crew;

	SET(&stop, 0);
	crew_start(&crew, 6, ALL_USER, read_in_a_loop);
	EVENTUALLY(GET(&reads) > 20);
	SET(&passed, 0);
	CHECK_EQ(uk_rwlock_wrlock(&l), 0);
	CHECK(GET(&passed) <= 6); /* the readers that are inside */
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	SET(&stop, 1);
	crew_join(&crew);

	SET(&stop, 0);
	crew_start(&crew, 6, ALL_USER, write_in_a_loop);
	EVENTUALLY(GET(&writes) > 20);
	SET(&passed, 0);
	CHECK_EQ(uk_rwlock_rdlock(&l), 0);
	CHECK(GET(&passed) <= 2); /* the writer that is inside, and the next one */
	CHECK_EQ(uk_rwlock_unlock(&l), 0);
	SET(&stop, 1);
	crew_join(&crew);
	CHECK_EQ(l.state, 0);
}

int main(void)
{
	bed_init();
	uk_rwlock_init(&l); /* the same as zero */
	RUN(locks_and_their_errors);
	RUN(deadlines_leave_nothing_behind);
	RUN(cancel_ends_both_kinds_of_wait);
	RUN(a_waiting_writer_holds_new_readers_back);
	RUN(a_writer_that_gives_up_lets_the_readers_in);
	RUN(all_waiting_readers_come_in_between_two_writers);
	RUN(it_excludes_user_threads_and_foreign_threads);
	RUN(a_timeout_during_a_grant_loses_nothing);
	RUN(neither_side_starves);
	return 0;
}

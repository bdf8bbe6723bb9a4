/* SPDX-License-Identifier: Apache-2.0 */
/* All primitives of src/sync at once, for UK_STRESS_MS milliseconds (default 1500). 24
 * user and foreign threads make random calls with random deadlines, while main cancels
 * them at random. These hold at each step and at the end:
 *
 *   money      accounts change under a mutex or a rwlock; their sum stays 0
 *   permits    a semaphore of 3 guards a counter that never exceeds 3
 *   parcels    numbers go through channels and selects; each arrives once
 *   turns      a condition guards a queue; what is put is taken
 *   liveness   each thread ends: no wake-up was lost
 */
#include "bed.h"

#define THREADS 24
#define ACCOUNTS 8

static int stop;
static uk_mutex money_lock, queue_lock;
static uk_rwlock rw;
static uk_sem sem;
static uk_cond more;
static uk_chan *chans[3];

static long account[ACCOUNTS], ledger[ACCOUNTS];
static long permits, stored, fetched, queue;
static long parcels_out, parcels_in, sum_out, sum_in, cancelled, timed_out, steps;

static uk_time some_deadline(struct rng *r)
{
	switch (rnd(r, 4)) {
	case 0:
		return uk_after(rnd(r, 30) * UK_US);
	case 1:
		return uk_after(rnd(r, 1000) * UK_US);
	default:
		return uk_after(20 * UK_MS); /* a partner may have ended */
	}
}

/* True if the call succeeded. If not, it must return one of the two allowed errors. */
static bool fine(int ret)
{
	if (ret >= 0)
		return true;
	if (ret == -ECANCELED) {
		ADD(&cancelled, 1);
		uk_thread_cancel_clear();
		return false;
	}
	CHECK_EQ(ret, -ETIMEDOUT);
	ADD(&timed_out, 1);
	return false;
}

static void move_money(struct rng *r)
{
	uint32_t from = rnd(r, ACCOUNTS), to = rnd(r, ACCOUNTS);
	long sum = 0;

	if (!fine(uk_mutex_lock_until(&money_lock, some_deadline(r))))
		return;
	account[from] -= 5;
	if (rnd(r, 8) == 0)
		uk_yield();
	account[to] += 5;
	for (int i = 0; i < ACCOUNTS; i++)
		sum += account[i];
	CHECK_EQ(sum, 0);
	CHECK_EQ(uk_mutex_unlock(&money_lock), 0);
}

static void read_or_write_ledger(struct rng *r)
{
	bool write = rnd(r, 4) == 0;
	uk_time d = some_deadline(r);
	long sum = 0;

	if (!fine(write ? uk_rwlock_wrlock_until(&rw, d)
			: uk_rwlock_rdlock_until(&rw, d)))
		return;
	if (write) {
		ledger[rnd(r, ACCOUNTS)] -= 3;
		if (rnd(r, 8) == 0)
			uk_yield();
		ledger[0] += 3;
	}
	for (int i = 0; i < ACCOUNTS; i++)
		sum += ledger[i];
	CHECK_EQ(sum, 0);
	CHECK_EQ(uk_rwlock_unlock(&rw), 0);
}

static void take_a_permit(struct rng *r)
{
	if (!fine(uk_sem_wait_until(&sem, some_deadline(r))))
		return;
	CHECK(ADD(&permits, 1) < 3);
	if (rnd(r, 4) == 0)
		uk_yield();
	ADD(&permits, -1);
	CHECK_EQ(uk_sem_post(&sem), 0);
}

static bool transfer(bool send, long *v, struct rng *r)
{
	uk_time d = some_deadline(r);
	uk_chan_case k[3];
	int i;

	if (rnd(r, 2)) {
		uk_chan *c = chans[rnd(r, 3)];

		return fine(send ? uk_chan_send_until(c, v, d)
				 : uk_chan_recv_until(c, v, d));
	}
	for (i = 0; i < 3; i++)
		k[i] = (uk_chan_case){ chans[i], send ? UK_CHAN_SEND : UK_CHAN_RECV, 1,
				       v };
	i = uk_chan_select(k, 3, d);
	if (!fine(i))
		return false;
	CHECK_EQ(k[i].result, 0);
	return true;
}

static void pass_a_parcel(struct rng *r)
{
	bool send = rnd(r, 2);
	long v = send ? (long)rnd(r, 1u << 30) : -1;

	if (!transfer(send, &v, r))
		return;
	ADD(send ? &sum_out : &sum_in, v);
	ADD(send ? &parcels_out : &parcels_in, 1);
}

static void put_or_get(struct rng *r)
{
	if (!fine(uk_mutex_lock_until(&queue_lock, some_deadline(r))))
		return;
	if (rnd(r, 2)) {
		queue++;
		stored++;
		CHECK_EQ(rnd(r, 4) ? uk_cond_signal(&more) : uk_cond_broadcast(&more),
			 0);
	} else {
		while (queue == 0)
			if (!fine(uk_cond_wait_until(&more, &queue_lock,
						     some_deadline(r))))
				break;
		if (queue) {
			queue--;
			fetched++;
		}
	}
	CHECK_EQ(uk_mutex_unlock(&queue_lock), 0);
}

static void do_anything(unsigned i, struct rng *r)
{
	void (*const what[])(struct rng *) = { move_money, read_or_write_ledger,
					       take_a_permit, pass_a_parcel,
					       put_or_get };

	(void)i;
	while (!GET(&stop)) {
		what[rnd(r, 5)](r);
		ADD(&steps, 1);
	}
}

static void all_primitives_work_at_once(void)
{
	const char *ms = getenv("UK_STRESS_MS");
	uk_time end = uk_after((ms ? atol(ms) : 1500) * UK_MS);
	struct rng r = { bed_seed };
	struct crew crew;
	long v;

	CHECK_EQ(uk_sem_init(&sem, 3), 0);
	for (size_t i = 0; i < 3; i++)
		CHECK_EQ(uk_chan_create(&chans[i], sizeof(long), i), 0);
	crew_start(&crew, THREADS, MIXED, do_anything);
	/* on a busy machine this takes longer than `end` */
	while (uk_now() < end || !GET(&cancelled) || !GET(&timed_out) ||
	       !GET(&parcels_out)) {
		unsigned victim = rnd(&r, THREADS);

		if (!crew_is_foreign(&crew, victim))
			uk_thread_cancel(crew.user[victim]);
		uk_sleep(rnd(&r, 200) * UK_US);
	}
	SET(&stop, 1);
	crew_join(&crew);
	for (size_t i = 0; i < 3; i++) { /* some parcels are still in a ring */
		while (uk_chan_tryrecv(chans[i], &v) == 0) {
			sum_in += v;
			parcels_in++;
		}
		uk_chan_destroy(chans[i]);
	}
	CHECK_EQ(parcels_out, parcels_in);
	CHECK_EQ(sum_out, sum_in);
	CHECK_EQ(stored, fetched + queue);
	CHECK_EQ(sem.value, 3);
	CHECK_EQ(sem.waiters, 0);
	CHECK_EQ(rw.state, 0);
	CHECK_EQ(money_lock.word | queue_lock.word, 0);
	CHECK_EQ(more.waiters, 0);
	CHECK(cancelled > 0 && timed_out > 0 && parcels_in > 0);
	printf("%ld steps, %ld timed out, %ld cancelled, %ld parcels\n", steps,
	       timed_out, cancelled, parcels_in);
}

int main(void)
{
	bed_init();
	RUN(all_primitives_work_at_once);
	return 0;
}

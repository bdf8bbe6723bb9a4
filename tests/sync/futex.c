/* SPDX-License-Identifier: Apache-2.0 */
/* The table of futex waiters: wake, requeue, bit sets, deadlines and cancellation;
 * which nodes a waker reads; buckets that are split. */
#include <sys/mman.h>

#include "bed.h"
#include "sync/futex.h"

static uint32_t word, other;

static void a_wait_for_another_value_returns_at_once(void)
{
	SET(&word, 1);
	CHECK_EQ(uk_futex_wait(&word, 0, UK_FOREVER), -EAGAIN);
	CHECK_EQ(uk_futex_wait(&word, 1, uk_after(2 * UK_MS)), -ETIMEDOUT);
	CHECK_EQ(uk_futex_wait(&word, 1, 0), -ETIMEDOUT);
	CHECK_EQ(uk_futex_wake(&word, 1), 0);
}

static int results[16], waiting;

static void wait_here(unsigned i, struct rng *r)
{
	(void)r;
	ADD(&waiting, 1);
	SET(&results[i], uk_futex_wait(&word, 0, UK_FOREVER));
	ADD(&waiting, -1);
}

/* How many threads are queued on addr. Takes the bucket's lock, as any caller must. */
static int queued(const uint32_t *addr)
{
	struct futex_node *n;
	struct futex_bucket *b;
	int count = 0;

	rt_enter();
	b = futex_lock(addr);
	for (n = futex_first(b, addr); n; n = futex_next(b, n))
		count++;
	futex_unlock(b);
	rt_exit();
	return count;
}

static void wake_wakes_as_many_as_asked(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		struct crew crew;

		SET(&word, 0);
		crew_start(&crew, 8, kinds[k], wait_here);
		EVENTUALLY(queued(&word) == 8);
		CHECK_EQ(uk_futex_wake(&other, 8), 0);
		CHECK_EQ(uk_futex_wake(&word, 0), 0);
		CHECK_EQ(uk_futex_wake(&word, 3), 3);
		EVENTUALLY(GET(&waiting) == 5);
		settle_down();
		CHECK_EQ(GET(&waiting), 5);
		CHECK_EQ(uk_futex_wake(&word, INT32_MAX), 5);
		crew_join(&crew);
		for (int i = 0; i < 8; i++)
			CHECK_EQ(results[i], 0);
	}
}

static int requeue(const uint32_t *from, int wake, int move, const uint32_t *to)
{
	int r;

	rt_enter();
	r = futex_requeue(from, wake, move, to, NULL);
	rt_exit();
	return r;
}

static void requeue_wakes_and_moves_as_many_as_asked(void)
{
	struct crew crew;

	SET(&word, 0);
	crew_start(&crew, 8, MIXED, wait_here);
	EVENTUALLY(queued(&word) == 8);
	CHECK_EQ(requeue(&word, 1, 4, &other), 5);
	EVENTUALLY(GET(&waiting) == 7);
	CHECK_EQ(queued(&word), 3);
	CHECK_EQ(queued(&other), 4);
	CHECK_EQ(requeue(&other, 0, 1, &word),
		 1); /* and back, with the locks in the other order */
	CHECK_EQ(queued(&word), 4);
	CHECK_EQ(requeue(&word, 0, 9, &word), 0); /* to itself: no effect */
	CHECK_EQ(uk_futex_wake(&word, 8), 4);
	CHECK_EQ(uk_futex_wake(&other, 8), 3);
	crew_join(&crew);
}

static void requeue_compares_the_value_if_asked(void)
{
	uint32_t expected = 1;

	SET(&word, 0);
	rt_enter();
	CHECK_EQ(futex_requeue(&word, 1, 1, &other, &expected), -EAGAIN);
	expected = 0;
	CHECK_EQ(futex_requeue(&word, 1, 1, &other, &expected), 0);
	rt_exit();
}

static void *wait_for_ms(void *arg)
{
	return (void *)(intptr_t)uk_futex_wait(&word, 0,
					       uk_after((intptr_t)arg * UK_MS));
}

static void a_requeued_waiter_can_still_leave(void)
{
	intptr_t ms = 15;
	uk_thread *t;
	void *ret;
	int moved;

	SET(&word, 0);
	/* on a busy machine its time may be over before we move it */
	do {
		ms *= 2;
		CHECK_EQ(uk_thread_create(&t, NULL, wait_for_ms, (void *)ms), 0);
		uk_sleep(UK_MS);
		moved = requeue(&word, 0, 1, &other);
		CHECK_EQ(uk_thread_join(t, &ret), 0);
		CHECK_EQ((intptr_t)ret, -ETIMEDOUT);
		CHECK_EQ(queued(&other), 0);
		CHECK_EQ(queued(&word), 0);
	} while (!moved);
	CHECK_EQ(uk_thread_create(&t, NULL, wait_for_ms, (void *)(intptr_t)1000000), 0);
	EVENTUALLY(queued(&word) == 1);
	CHECK_EQ(requeue(&word, 0, 1, &other), 1);
	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ(uk_thread_join(t, &ret), 0);
	CHECK_EQ((intptr_t)ret, -ECANCELED);
	CHECK_EQ(queued(&other), 0);
}

static void *wait_for_bits(void *bits)
{
	CHECK_EQ(futex_wait(&word, 0, (uint32_t)(uintptr_t)bits, TIME_NEVER), 0);
	return NULL;
}

static void bit_sets_choose_the_waiter(void)
{
	uk_thread *t[2];

	SET(&word, 0);
	for (uintptr_t i = 0; i < 2; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, wait_for_bits, (void *)(i + 1)),
			 0);
	EVENTUALLY(queued(&word) == 2);
	rt_enter();
	CHECK_EQ(futex_wake(&word, 9, 4), 0);
	CHECK_EQ(futex_wake(&word, 9, 2), 1);
	rt_exit();
	CHECK_EQ(uk_thread_join(t[1], NULL), 0);
	rt_enter();
	CHECK_EQ(futex_wake(&word, 9, FUTEX_ANY), 1);
	rt_exit();
	CHECK_EQ(uk_thread_join(t[0], NULL), 0);
}

/* -- A ticket moves round a ring of threads. Each sleeps until the word is its number,
 * so one lost wake-up stops them all. -- */

#define LAPS 400

static void pass_the_ticket(unsigned i, struct rng *r)
{
	(void)r;
	for (uint32_t lap = 0; lap < LAPS; lap++) {
		uint32_t v;

		while ((v = GET(&word)) != lap * 8 + i)
			CHECK(uk_futex_wait(&word, v, UK_FOREVER) != -ETIMEDOUT);
		SET(&word, v + 1);
		uk_futex_wake(&word, INT32_MAX);
	}
}

static void no_wake_up_is_lost(void)
{
	static const unsigned kinds[] = { ALL_USER, MIXED, ALL_FOREIGN };

	for (unsigned k = 0; k < 3; k++) {
		SET(&word, 0);
		crew_run(8, kinds[k], pass_the_ticket);
		CHECK_EQ(word, 8 * LAPS);
	}
}

/* -- Tokens: a timeout must not take along another thread's wake-up. -- */

static long takes;
static int stop;

static void take(unsigned i, struct rng *r)
{
	while (!GET(&stop)) {
		uint32_t v = GET(&word);

		if (v &&
		    __atomic_compare_exchange_n(&word, &v, v - 1, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
			ADD(&takes, 1);
		} else if (!v && i % 2) {
			uk_futex_wait(&word, 0, UK_FOREVER);
		} else if (!v) {
			/* if a wake-up is lost, it does not look at the word */
			while (uk_futex_wait(&word, GET(&word),
					     uk_after(rnd(r, 30) * UK_US)) &&
			       !GET(&stop))
				;
		}
	}
}

static void a_timeout_does_not_swallow_a_wake_up(void)
{
	struct crew crew;

	SET(&word, 0);
	crew_start(&crew, 8, MIXED, take);
	for (long n = 0; n < 20000; n++) {
		ADD(&word, 1);
		uk_futex_wake(&word, 1);
		SOON(GET(&takes) > n);
	}
	SET(&stop, 1);
	ADD(&word, 100);
	uk_futex_wake(&word, INT32_MAX);
	crew_join(&crew);
}

/* -- "Strangers" are waiters on other addresses of the same bucket. -- */

static void *wait_on(void *addr)
{
	return (void *)(intptr_t)uk_futex_wait(addr, 0, UK_FOREVER);
}

/* Finds two words that share a bucket. */
static void find_words_of_one_bucket(uint32_t **a, uint32_t **b)
{
	static uint32_t words[1 << 15];
	static uint32_t *first[FUTEX_BUCKETS];

	*a = *b = NULL;
	for (size_t i = 0; i < array_size(words); i++) {
		unsigned h = futex_hash(&words[i]);

		if (first[h] && queued(&words[i]) == 0) {
			*a = first[h];
			*b = &words[i];
			break;
		}
		first[h] = &words[i];
	}
	CHECK(*b);
}

static void push_stranger(struct futex_node *n, const void *key)
{
	rt_enter();
	struct futex_bucket *b = futex_lock(key);

	futex_push(b, n, key, NULL, 0, false);
	futex_unlock(b);
	rt_exit();
}

static void take_stranger(struct futex_node *n)
{
	rt_enter();
	futex_leave(n);
	rt_exit();
}

/* To wake or move one waiter, there is no need to know whether a second one waits. With
 * 100,000 parked threads the search for it read a dozen cold stacks. Here the last
 * stranger's memory cannot be read. */
static void waking_or_moving_one_waiter_does_not_read_the_last_node(void)
{
	struct futex_node near = { 0 }, *far = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
						    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint32_t *mine, *strange;
	uk_thread *t;
	void *ret;

	find_words_of_one_bucket(&mine, &strange);
	for (int moved = 0; moved < 2; moved++) {
		CHECK_EQ(uk_thread_create(&t, NULL, wait_on, mine), 0);
		EVENTUALLY(queued(mine) == 1);
		push_stranger(&near, strange);
		push_stranger(far, strange);
		CHECK_EQ(mprotect(far, 4096, PROT_NONE), 0);
		if (moved)
			CHECK_EQ(requeue(mine, 0, 1, &other), 1);
		else
			CHECK_EQ(uk_futex_wake(mine, 1), 1);
		CHECK_EQ(mprotect(far, 4096, PROT_READ | PROT_WRITE), 0);
		take_stranger(far);
		take_stranger(&near);
		if (moved)
			CHECK_EQ(uk_futex_wake(&other, 1), 1);
		CHECK_EQ(uk_thread_join(t, &ret), 0);
		CHECK_EQ((intptr_t)ret, 0);
	}
	munmap(far, 4096);
}

/* A waiter behind many strangers is found without reading those of other parts. Their
 * memory cannot be read. */
static void a_waiter_is_found_without_reading_the_nodes_of_other_parts(void)
{
	enum { CROWD = 100, APART = 4096 };
	uintptr_t mine = (uintptr_t)&word, key = mine;
	char *pages = mmap(NULL, CROWD * APART, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct crew crew;

	SET(&word, 0);
	for (int i = 0; i < CROWD; i++) {
		do
			key += 4;
		while (futex_hash((void *)key) != futex_hash((void *)mine) ||
		       futex_part((void *)key) == futex_part((void *)mine));
		push_stranger((void *)(pages + (size_t)i * APART), (void *)key);
	}
	crew_start(&crew, 3, MIXED, wait_here);
	EVENTUALLY(queued(&word) == 3);
	CHECK_EQ(mprotect(pages, CROWD * APART, PROT_NONE), 0);
	CHECK_EQ(uk_futex_wake(&word, 2), 2);
	CHECK_EQ(requeue(&word, 0, 1, &other), 1);
	CHECK_EQ(mprotect(pages, CROWD * APART, PROT_READ | PROT_WRITE), 0);
	CHECK_EQ(uk_futex_wake(&other, 1), 1);
	crew_join(&crew);
	for (int i = 0; i < CROWD; i++)
		take_stranger((void *)(pages + (size_t)i * APART));
	CHECK_EQ(munmap(pages, CROWD * APART), 0);
}

/* Threads wait among a crowd and alone, while their bucket is split and becomes one
 * queue again. */
static void a_bucket_is_split_and_becomes_one_queue_again(void)
{
	enum { CROWD = 40 };
	static struct futex_node crowd[CROWD];
	struct futex_bucket *b = &futex_table[futex_hash(&word)];
	uintptr_t key = (uintptr_t)&word;
	struct crew crew;

	for (int round = 0; round < 3; round++) {
		SET(&word, 0);
		crew_start(&crew, 4, MIXED, wait_here);
		EVENTUALLY(queued(&word) == 4);
		for (int i = 0; i < CROWD; i++) {
			do
				key += 4;
			while (futex_hash((void *)key) != futex_hash(&word));
			push_stranger(&crowd[i], (void *)key);
		}
		CHECK(b->split);
		CHECK_EQ(queued(&word), 4);
		CHECK_EQ(uk_futex_wake(&word, 1), 1);
		for (int i = 0; i < CROWD; i++)
			take_stranger(&crowd[i]);
		CHECK_EQ(queued(&word), 3);
		CHECK_EQ(uk_futex_wake(&word, 9), 3);
		crew_join(&crew);
		CHECK_EQ(b->waiters, 0);
		CHECK(!b->split);
	}
}

static uk_sem sem;
static uk_mutex mutex = UK_MUTEX_INIT;
static uk_rwlock rwlock;
static uk_cond cond;
static uk_barrier barrier;

static void wait_by_sem(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	CHECK_EQ(uk_sem_wait(&sem), 0);
}

static void wait_by_mutex(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	CHECK_EQ(uk_mutex_lock(&mutex), 0);
	CHECK_EQ(uk_mutex_unlock(&mutex), 0);
}

static void wait_by_rwlock(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	CHECK_EQ(uk_rwlock_rdlock(&rwlock), 0);
	CHECK_EQ(uk_rwlock_unlock(&rwlock), 0);
}

static void wait_by_cond(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	CHECK_EQ(uk_mutex_lock(&mutex), 0);
	CHECK_EQ(uk_cond_wait(&cond, &mutex), 0);
	CHECK_EQ(uk_mutex_unlock(&mutex), 0);
}

static void wait_by_barrier(unsigned i, struct rng *r)
{
	(void)i, (void)r;
	CHECK(uk_barrier_wait(&barrier) >= 0);
}

/* True if each waiter on key is queued by the node in its descriptor. */
static bool by_their_own(const void *key)
{
	struct futex_bucket *b;
	bool all = true;

	rt_enter();
	b = futex_lock(key);
	for (struct futex_node *n = futex_first(b, key); n; n = futex_next(b, n))
		all &= n == futex_node_of(n->thread);
	futex_unlock(b);
	rt_exit();
	return all;
}

/* So a thread that wakes many waiters needs none of their stacks. */
static void waiters_queue_by_the_node_in_their_descriptor(void)
{
	struct {
		const void *key;
		void (*wait)(unsigned, struct rng *);
	} ways[] = { { &word, wait_here },      { &sem, wait_by_sem },
		     { &mutex, wait_by_mutex }, { &rwlock, wait_by_rwlock },
		     { &cond, wait_by_cond },   { &barrier, wait_by_barrier } };
	struct crew crew;

	SET(&word, 0);
	CHECK_EQ(uk_sem_init(&sem, 0), 0);
	CHECK_EQ(uk_barrier_init(&barrier, 4), 0);
	for (unsigned k = 0; k < array_size(ways); k++) {
		if (ways[k].key == &mutex)
			CHECK_EQ(uk_mutex_lock(&mutex), 0);
		if (ways[k].key == &rwlock)
			CHECK_EQ(uk_rwlock_wrlock(&rwlock), 0);
		crew_start(&crew, 3, MIXED, ways[k].wait);
		EVENTUALLY(queued(ways[k].key) == 3);
		CHECK(by_their_own(ways[k].key));
		if (ways[k].key == &word)
			CHECK_EQ(uk_futex_wake(&word, 3), 3);
		else if (ways[k].key == &sem)
			for (int i = 0; i < 3; i++)
				CHECK_EQ(uk_sem_post(&sem), 0);
		else if (ways[k].key == &mutex)
			CHECK_EQ(uk_mutex_unlock(&mutex), 0);
		else if (ways[k].key == &rwlock)
			CHECK_EQ(uk_rwlock_unlock(&rwlock), 0);
		else if (ways[k].key == &cond)
			CHECK_EQ(uk_cond_broadcast(&cond), 0);
		else
			CHECK(uk_barrier_wait(&barrier) >= 0);
		crew_join(&crew);
	}
}

int main(void)
{
	bed_init();
	RUN(a_wait_for_another_value_returns_at_once);
	RUN(wake_wakes_as_many_as_asked);
	RUN(requeue_wakes_and_moves_as_many_as_asked);
	RUN(requeue_compares_the_value_if_asked);
	RUN(a_requeued_waiter_can_still_leave);
	RUN(bit_sets_choose_the_waiter);
	RUN(waking_or_moving_one_waiter_does_not_read_the_last_node);
	RUN(a_waiter_is_found_without_reading_the_nodes_of_other_parts);
	RUN(a_bucket_is_split_and_becomes_one_queue_again);
	RUN(waiters_queue_by_the_node_in_their_descriptor);
	RUN(no_wake_up_is_lost);
	RUN(a_timeout_does_not_swallow_a_wake_up);
	return 0;
}

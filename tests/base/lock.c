/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's lock: it excludes other threads, a thread that sleeps on it wakes up,
 * and a debug build checks the order of ranks. A violation is a panic, so each is tried
 * in a child. */
#include "base/lock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { THREADS = 4, ROUNDS = 100000 };

static struct lock chan = LOCK_INIT(RANK_CHAN), futex = LOCK_INIT(RANK_FUTEX);
static struct lock other = LOCK_INIT(RANK_FUTEX), unranked;
static uint64_t counter; /* protected by chan; not atomic on purpose */

static void *adds(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock_acquire(&chan);
		counter++;
		lock_release(&chan);
	}
	return arg;
}

static void one_thread_at_a_time(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, adds, NULL), 0);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	CHECK_EQ(counter, THREADS * ROUNDS);
	CHECK_EQ(chan.word, 0);
}

static void *takes_once(void *arg)
{
	lock_acquire(&chan);
	counter++;
	lock_release(&chan);
	return arg;
}

static void sleeping_threads_are_woken(void)
{
	pthread_t t[THREADS];

	counter = 0;
	lock_acquire(&chan);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, takes_once, NULL), 0);
	/* 2: one thread has spun long enough, and sleeps or is about to */
	while (load_relaxed(&chan.word) != 2)
		usleep(100);
	CHECK_EQ(counter, 0);
	lock_release(&chan);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	CHECK_EQ(counter, THREADS);
}

static void a_try_takes_only_a_free_lock(void)
{
	lock_acquire(&futex);
	CHECK(lock_try_nested(&other));
	CHECK(!lock_try_nested(&other));
	lock_release_nested(&other);
	lock_acquire_nested(&other);
	lock_release_nested(&other);
	lock_release(&futex);
	CHECK_EQ(other.word, 0);
}

static void locks_in_order_are_allowed(void)
{
	lock_acquire(&chan);
	lock_acquire(&futex);
	lock_release(&chan); /* locks may be released in any order */
	lock_release(&futex);
	lock_acquire(&futex);
	lock_release(&futex);
}

#if UK_CHECKS
/* Checks that body panics with a message that contains words. */
static void panics_with(void (*body)(void), const char *words)
{
	char said[1024];
	size_t n = 0;
	int p[2], status;
	ssize_t r;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		dup2(p[1], 2);
		body();
		_exit(0);
	}
	close(p[1]);
	while (n < sizeof(said) - 1 &&
	       (r = read(p[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)r;
	said[n] = 0;
	close(p[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
	if (!strstr(said, words))
		fprintf(stderr, "the message was: %s", said);
	CHECK(strstr(said, words));
}

static void inverts(void)
{
	lock_acquire(&futex);
	lock_acquire(&chan);
}

static void takes_two_of_a_rank(void)
{
	lock_acquire(&futex);
	lock_acquire(&other);
}

static void nests_without_a_parent(void)
{
	lock_acquire(&chan);
	lock_acquire_nested(&other);
}

static void takes_one_without_rank(void)
{
	lock_acquire(&unranked);
}

static void releases_an_unheld_lock(void)
{
	lock_acquire(&futex);
	lock_release(&chan);
}

static void a_wrong_order_panics(void)
{
	panics_with(inverts, "rank CHAN taken while one of rank FUTEX is held");
	panics_with(takes_two_of_a_rank, "rank FUTEX taken while one of rank FUTEX");
	panics_with(nests_without_a_parent, "rank FUTEX taken while none of that rank");
	panics_with(takes_one_without_rank, "a lock without a rank");
	panics_with(releases_an_unheld_lock, "rank CHAN released that is not held");
}

/* Runs with an empty set of held ranks, as another kernel thread would. */
static void locks_with_an_empty_set(void)
{
	lock_acquire(&chan);
	lock_release(&chan);
}

static void restores_its_ranks(void)
{
	uint32_t ranks;

	lock_acquire(&futex);
	ranks = lock_ranks_put();
	locks_with_an_empty_set();
	lock_ranks_take(ranks);
	lock_acquire(&chan);
}

static void held_ranks_move_with_the_thread(void)
{
	panics_with(restores_its_ranks, "rank CHAN taken while one of rank FUTEX");
}
#endif

int main(void)
{
	RUN(one_thread_at_a_time);
	RUN(sleeping_threads_are_woken);
	RUN(a_try_takes_only_a_free_lock);
	RUN(locks_in_order_are_allowed);
	(void)unranked;
#if UK_CHECKS
	RUN(a_wrong_order_panics);
	RUN(held_ranks_move_with_the_thread);
#endif
	return 0;
}

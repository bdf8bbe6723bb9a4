/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime's lock: it excludes, whoever sleeps on it wakes up, and in a debug build the
 * order of ranks is held to. A violation is a panic, so each is tried in a child. */
#include "base/lock.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

enum { THREADS = 4, ROUNDS = 100000 };

static struct lock chan = LOCK_INIT(RANK_CHAN), futex = LOCK_INIT(RANK_FUTEX);
static struct lock other = LOCK_INIT(RANK_FUTEX), unranked;
static uint64_t counter; /* chan; plain on purpose */

static void *adds(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock_acquire(&chan);
		counter++;
		lock_release(&chan);
	}
	return arg;
}

static void one_at_a_time(void)
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

static void a_sleeper_is_woken(void)
{
	pthread_t t[THREADS];

	counter = 0;
	lock_acquire(&chan);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_create(&t[i], NULL, takes_once, NULL), 0);
	/* 2: one has spun long enough, and sleeps or is about to */
	while (load_relaxed(&chan.word) != 2)
		usleep(100);
	CHECK_EQ(counter, 0);
	lock_release(&chan);
	for (int i = 0; i < THREADS; i++)
		CHECK_EQ(pthread_join(t[i], NULL), 0);
	CHECK_EQ(counter, THREADS);
}

static void trying_takes_what_is_free_and_no_more(void)
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

static void in_order_is_fine(void)
{
	lock_acquire(&chan);
	lock_acquire(&futex);
	lock_release(&chan); /* the order of release is free */
	lock_release(&futex);
	lock_acquire(&futex);
	lock_release(&futex);
}

#if UK_DEBUG
/* What it says when it dies of a panic. */
static void dies_saying(void (*body)(void), const char *words)
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
		fprintf(stderr, "it said: %s", said);
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

static void nests_in_nothing(void)
{
	lock_acquire(&chan);
	lock_acquire_nested(&other);
}

static void takes_one_without_rank(void)
{
	lock_acquire(&unranked);
}

static void gives_what_it_has_not(void)
{
	lock_acquire(&futex);
	lock_release(&chan);
}

static void who_breaks_the_order_panics(void)
{
	dies_saying(inverts, "rank CHAN taken while one of rank FUTEX is held");
	dies_saying(takes_two_of_a_rank, "rank FUTEX taken while one of rank FUTEX");
	dies_saying(nests_in_nothing, "rank FUTEX taken while none of that rank");
	dies_saying(takes_one_without_rank, "a lock without a rank");
	dies_saying(gives_what_it_has_not, "rank CHAN released that is not held");
}

/* As another kernel thread would. */
static void in_order_is_fine_elsewhere(void)
{
	lock_acquire(&chan);
	lock_release(&chan);
}

static void takes_up_what_it_put_down(void)
{
	uint32_t ranks;

	lock_acquire(&futex);
	ranks = lock_ranks_put();
	in_order_is_fine_elsewhere();
	lock_ranks_take(ranks);
	lock_acquire(&chan);
}

static void the_note_of_locks_goes_with_the_thread(void)
{
	dies_saying(takes_up_what_it_put_down,
		    "rank CHAN taken while one of rank FUTEX");
}
#endif

int main(void)
{
	RUN(one_at_a_time);
	RUN(a_sleeper_is_woken);
	RUN(trying_takes_what_is_free_and_no_more);
	RUN(in_order_is_fine);
	(void)unranked;
#if UK_DEBUG
	RUN(who_breaks_the_order_panics);
	RUN(the_note_of_locks_goes_with_the_thread);
#endif
	return 0;
}

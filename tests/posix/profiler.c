/* SPDX-License-Identifier: Apache-2.0 */
/* SIGPROF is delivered to a thread that does not block it, and stays pending while all
 * threads block it. This also holds if a thread unblocks it, or a handler is set, only
 * after the signal was sent. A thread that waits gets no ticks. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "posix.h"

#define TICK_US 5000
#define TICKS 5

static int opens, shuts,
    stop; /* atomics: ticks in threads that unblock it, and that block it */
static __thread volatile int *mine;

static int get(const int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void on_prof(int sig)
{
	(void)sig;
	if (mine)
		__atomic_add_fetch(mine, 1, __ATOMIC_RELEASE);
}

static void timer(int us)
{
	struct itimerval it = { { 0, us }, { 0, us } };

	CHECK(!setitimer(ITIMER_PROF, &it, NULL));
}

static int pending(void)
{
	sigset_t s;

	CHECK(!sigpending(&s));
	return sigismember(&s, SIGPROF);
}

static void *blocks(void *arg)
{
	mine = &shuts;
	while (!get(&stop))
		__asm__ volatile("");
	return arg;
}

static void *lets_through(void *arg)
{
	mine = &opens;
	mask(SIG_UNBLOCK, SIGPROF);
	while (get(&opens) < TICKS)
		__asm__ volatile("");
	mask(SIG_BLOCK, SIGPROF);
	return arg;
}

/* All threads block it; a later thread unblocks it. */
static void thread_that_unblocks_gets_ticks(void)
{
	pthread_t t = start(blocks, NULL);

	signal(SIGPROF, on_prof);
	timer(TICK_US);
	while (!pending())
		sched_yield();
	usleep(10 * TICK_US);
	CHECK(pending() && !get(&shuts));
	finish(start(lets_through, NULL));
	timer(0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	finish(t);
	printf("ticks in threads that block: %d\n", get(&shuts));
}

/* At first a thread takes it with sigwait. The handler is set later, while another
 * thread computes. */
static void later_handler_gets_ticks(void)
{
	pthread_t t;
	sigset_t s = only(SIGPROF);
	int sig;

	while (pending())
		sigwait(&s, &sig);
	signal(SIGPROF, SIG_DFL);
	stop = shuts = 0;
	t = start(blocks, NULL);
	for (int i = 0; i < TICKS; i++) {
		CHECK(!kill(getpid(), SIGPROF));
		CHECK(!sigwait(&s, &sig) && sig == SIGPROF);
	}
	signal(SIGPROF, on_prof);
	opens = 0;
	timer(TICK_US);
	finish(start(lets_through, NULL));
	timer(0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
	finish(t);
	printf("ticks in threads that block: %d\n", get(&shuts));
}

#define MANY_TICKS 100

static void *computes(void *arg)
{
	mine = &opens;
	while (get(&opens) < MANY_TICKS)
		__asm__ volatile("");
	return arg;
}

static void main_gets_no_ticks_while_it_waits(void)
{
	pthread_t t[2];

	signal(SIGPROF, on_prof);
	mine = &shuts;
	shuts = opens = 0;
	mask(SIG_UNBLOCK, SIGPROF);
	t[0] = start(computes, NULL);
	t[1] = start(computes, NULL);
	timer(TICK_US);
	finish(t[0]);
	finish(t[1]);
	timer(0);
	mask(SIG_BLOCK, SIGPROF);
	CHECK(get(&shuts) <= MANY_TICKS / 20);
}

int main(void)
{
	mask(SIG_BLOCK, SIGPROF);
	RUN(thread_that_unblocks_gets_ticks);
	RUN(later_handler_gets_ticks);
	RUN(main_gets_no_ticks_while_it_waits);
	return 0;
}

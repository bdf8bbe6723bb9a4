/* SPDX-License-Identifier: Apache-2.0 */
/* SIGPROF goes to a thread that lets it through, and stays pending while all block it: also if some
 * thread lets it through, or a handler is there, only after it has come. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "posix.h"

#define TICK_US 5000
#define TICKS 5

static int opens, shuts,
    stop; /* atomics: ticks in threads that let it through, and that block it */
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

static void mask(int how, int sig)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, sig);
	CHECK(!pthread_sigmask(how, &s, NULL));
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

/* Nobody has it, then one who comes later. */
static void by_mask(void)
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
	printf("blocked: %d\n", get(&shuts));
}

/* It was somebody's who waits for it; the handler comes later, when its thread computes already. */
static void by_handler(void)
{
	pthread_t t;
	sigset_t s;
	int sig;

	sigemptyset(&s);
	sigaddset(&s, SIGPROF);
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
	printf("blocked: %d\n", get(&shuts));
}

int main(void)
{
	mask(SIG_BLOCK, SIGPROF);
	RUN(by_mask);
	RUN(by_handler);
	return 0;
}

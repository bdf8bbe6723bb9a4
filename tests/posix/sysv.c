/* SPDX-License-Identifier: Apache-2.0 */
/* The signal calls of System V and 4.2BSD, after the first thread exists. Handlers that
 * they set run in every thread; each thread has its own mask. */
#include <signal.h>

#include "asleep.h"
#include "posix.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

#define ONLY(sig) (1 << ((sig)-1))

extern int pause_with(int mask) __asm__("sigpause");

static int got; /* atomics */

static void on_signal(int sig)
{
	__atomic_fetch_add(&got, sig, __ATOMIC_RELAXED);
}

static int seen(void)
{
	return __atomic_exchange_n(&got, 0, __ATOMIC_RELAXED);
}

static const char *name_of(void (*fn)(int))
{
	return fn == SIG_DFL    ? "default"
	       : fn == SIG_IGN  ? "ignored"
	       : fn == SIG_HOLD ? "held"
	       : fn == SIG_ERR  ? "error"
				: "handled";
}

#define NAME(call) printf("%s: %s\n", #call, name_of(call))

static void *held(void *arg)
{
	SAY(sighold(SIGUSR1));
	CHECK(!raise(SIGUSR1));
	printf("held: %d\n", seen());
	NAME(sigset(SIGUSR1, SIG_HOLD));
	SAY(sigrelse(SIGUSR1));
	printf("released: %d\n", seen());
	NAME(sigset(SIGUSR1, SIG_HOLD));
	CHECK(!gsignal(SIGUSR1));
	NAME(sigset(SIGUSR1, on_signal));
	printf("set: %d\n", seen());
	NAME(sigset(SIGUSR1, on_signal));
	SAY(sighold(0));
	SAY(sigrelse(65));
	NAME(sigset(0, on_signal));
	NAME(sigset(SIGKILL, on_signal));
	return arg;
}

static void *words(void *arg)
{
	int usr2 = ONLY(SIGUSR2);

	SAY(siggetmask());
	SAY(sigblock(usr2));
	SAY(sigblock(ONLY(SIGHUP)));
	CHECK(!raise(SIGUSR2));
	printf("blocked: %d\n", seen());
	SAY(sigsetmask(ONLY(SIGHUP)));
	printf("let through: %d\n", seen());
	SAY(siggetmask());
	return arg;
}

static void *ignores(void *arg)
{
	NAME(ssignal(SIGUSR2, on_signal));
	SAY(sigignore(SIGUSR2));
	CHECK(!raise(SIGUSR2));
	NAME(ssignal(SIGUSR2, on_signal));
	CHECK(!raise(SIGUSR2));
	printf("handled: %d\n", seen());
	return arg;
}

static void *pauses(void *arg)
{
	int without = *(int *)arg;

	CHECK(!pthread_setname_np(pthread_self(), "pauses"));
	CHECK(!sighold(SIGUSR1) && !sighold(SIGUSR2));
	errno = 0;
	SAY(without ? sigpause(SIGUSR1) : pause_with(ONLY(SIGUSR2)));
	printf("errno %d, mask %x\n", errno, siggetmask());
	return arg;
}

static void paused(int without)
{
	pthread_t t = start(pauses, &without);

	until_sleeps("pauses");
	CHECK(!pthread_kill(t, SIGUSR2) && !pthread_kill(t, SIGUSR1));
	finish(t);
	printf("in it: %d\n", seen());
}

static void *nothing(void *arg)
{
	return arg;
}

int main(void)
{
	finish(start(nothing, NULL));
	NAME(sigset(SIGUSR1, on_signal));
	finish(start(held, NULL));
	finish(start(ignores, NULL));
	finish(start(words, NULL));
	paused(1);
	paused(0);
	words(NULL); /* main */
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that left sigwait takes no more signals, whichever way it left: a signal
 * sent to the process goes to a thread that still waits or that does not block it. */
#include <limits.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>

#include "asleep.h"
#include "posix.h"

#define SENT 20

static sem_t has_left, may_end, handled;
static pthread_t left;

static sigset_t usr2(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	return set;
}

static void on_usr2(int sig)
{
	(void)sig;
	sem_post(&handled);
}

static __thread sigjmp_buf out;

static void on_usr1(int sig)
{
	(void)sig;
	siglongjmp(out, 1);
}

static void wait_for(sem_t *s)
{
	while (sem_wait(s))
		CHECK(errno == EINTR);
}

static void stays(void *arg)
{
	(void)arg;
	sem_post(&has_left);
	wait_for(&may_end);
}

static void *waits(void *name)
{
	sigset_t set = usr2();
	int sig = 0;

	CHECK(!pthread_setname_np(pthread_self(), name));
	pthread_cleanup_push(stays, NULL);
	if (!sigsetjmp(out, 1)) {
		CHECK(!sigwait(&set, &sig));
		CHECK(sig == SIGUSR2);
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static pthread_t asleep(const char *name)
{
	pthread_t t = start(waits, (void *)(uintptr_t)name);

	while (!thread_sleeps(name))
		usleep(100);
	return t;
}

/* main blocks the signal, so only this thread can take it. */
static void *lets_through(void *arg)
{
	sigset_t set = usr2();

	CHECK(!pthread_sigmask(SIG_UNBLOCK, &set, NULL));
	for (int i = 0; i < SENT; i++) {
		CHECK(!kill(getpid(), SIGUSR2));
		wait_for(&handled);
	}
	return arg;
}

/* Two threads wait; one leaves by a jump, and the other takes the signal. */
static void by_a_jump(void)
{
	pthread_t stay;

	left = asleep("left");
	stay = asleep("stays");
	CHECK(!pthread_kill(left, SIGUSR1));
	wait_for(&has_left);
	CHECK(!kill(getpid(), SIGUSR2));
	wait_for(&has_left);
	sem_post(&may_end);
	sem_post(&may_end);
	finish(stay);
	finish(left);
}

static void nobody_waits(bool cancelled)
{
	left = asleep("left");
	CHECK(!(cancelled ? pthread_cancel(left) : pthread_kill(left, SIGUSR1)));
	wait_for(&has_left);
	if (cancelled) { /* it has left by cancellation */
		sem_post(&may_end);
		CHECK(finish(left) == PTHREAD_CANCELED);
	}
	finish(start(lets_through, NULL));
	if (!cancelled) {
		sem_post(&may_end);
		finish(left);
	}
}

/* A time limit beyond the end of time waits; a negative one gives EINVAL. */
static void *has_time(void *name)
{
	struct timespec never = { LONG_MAX, 0 }, before = { -1, 0 };
	sigset_t set = usr2();

	CHECK(!pthread_setname_np(pthread_self(), name));
	CHECK(sigtimedwait(&set, NULL, &before) < 0 && errno == EINVAL);
	CHECK(sigtimedwait(&set, NULL, &never) == SIGUSR2);
	return NULL;
}

static void a_huge_time_limit_waits(void)
{
	char name[] = "has time";
	pthread_t t = start(has_time, name);

	while (!thread_sleeps(name))
		usleep(100);
	CHECK(!pthread_kill(t, SIGUSR2));
	finish(t);
}

int main(void)
{
	struct sigaction a = { .sa_handler = on_usr1 };
	sigset_t set = usr2();

	CHECK(!sem_init(&has_left, 0, 0) && !sem_init(&may_end, 0, 0) &&
	      !sem_init(&handled, 0, 0));
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	a.sa_handler = on_usr2;
	CHECK(!sigaction(SIGUSR2, &a, NULL));
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	RUN(a_huge_time_limit_waits);
	for (int i = 0; i < 5; i++) {
		by_a_jump();
		nobody_waits(false);
		nobody_waits(true);
	}
	puts("no signal is lost");
	return 0;
}

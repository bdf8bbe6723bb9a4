/* SPDX-License-Identifier: Apache-2.0 */
/* Semaphores: the result of each call, and no post is lost, including posts from a
 * signal handler. */
#include <limits.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/time.h>

#include "posix.h"

#define PAIRS 6
#define POSTS 5000

#define TRY(call)                                                                      \
	do {                                                                           \
		int r_ = (call);                                                       \
                                                                                       \
		printf("%s: %d %d\n", #call, r_, r_ ? errno : 0);                      \
	} while (0)

static sem_t s, ping, pong, handled;

static void results(int shared)
{
	struct timespec past = { 1, 0 }, bad = { 1, 1000000000 }, soon;
	int value;

	CHECK(!sem_init(&s, shared, 1));
	TRY(sem_timedwait(&s, &bad));
	TRY(sem_clockwait(&s, CLOCK_BOOTTIME, &past));
	TRY(sem_timedwait(&s, &past));
	TRY(sem_timedwait(&s, &past));
	TRY(sem_trywait(&s));
	soon = in_ms(CLOCK_REALTIME, 20);
	TRY(sem_timedwait(&s, &soon));
	soon = in_ms(CLOCK_MONOTONIC, 20);
	TRY(sem_clockwait(&s, CLOCK_MONOTONIC, &soon));
	TRY(sem_post(&s));
	TRY(sem_getvalue(&s, &value));
	TRY(sem_wait(&s));
	TRY(sem_init(&s, shared, (unsigned)INT_MAX + 1));
	TRY(sem_init(&s, shared, INT_MAX));
	TRY(sem_post(&s));
	TRY(sem_destroy(&s));
}

static void *takes(void *arg)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 100000);

	for (int i = 0; i < POSTS; i++)
		if (i % 2)
			CHECK(!sem_timedwait(&s, &later));
		else
			CHECK(!sem_wait(&s));
	return arg;
}

static void *gives(void *arg)
{
	for (int i = 0; i < POSTS; i++) {
		CHECK(!sem_post(&s));
		if (i % 100 == 0)
			sched_yield();
	}
	return arg;
}

static void crowd(int shared)
{
	pthread_t t[2 * PAIRS];
	int value;

	CHECK(!sem_init(&s, shared, 0));
	for (int i = 0; i < PAIRS; i++) {
		t[i] = start(takes, NULL);
		t[PAIRS + i] = start(gives, NULL);
	}
	gives(NULL);
	takes(NULL);
	for (int i = 0; i < 2 * PAIRS; i++)
		finish(t[i]);
	CHECK(!sem_getvalue(&s, &value) && value == 0);
}

static void *answers(void *arg)
{
	for (int i = 0; i < 2000; i++) {
		CHECK(!sem_wait(&ping));
		CHECK(!sem_post(&pong));
	}
	return arg;
}

static void posts_wake_in_turn(void)
{
	pthread_t t = start(answers, NULL);

	for (int i = 0; i < 2000; i++) {
		CHECK(!sem_post(&ping));
		CHECK(!sem_wait(&pong));
	}
	finish(t);
}

/* -- posts from a handler, whatever it interrupts -- */

static int alarms;

static void on_alarm(int sig)
{
	(void)sig;
	alarms++;
	sem_post(&handled);
}

static void *counts(void *arg)
{
	for (int i = 0; i < 100; i++) {
		while (sem_wait(&handled))
			CHECK(errno == EINTR);
	}
	return arg;
}

static void handlers_post(void)
{
	struct itimerval fast = { { 0, 1000 }, { 0, 1000 } },
			 off = { { 0, 0 }, { 0, 0 } };
	struct sigaction a = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	pthread_t t;

	CHECK(!sigaction(SIGALRM, &a, NULL));
	t = start(counts, NULL);
	CHECK(!setitimer(ITIMER_REAL, &fast, NULL));
	while (__atomic_load_n(&alarms, __ATOMIC_RELAXED) < 100) {
		sem_post(&ping);
		sem_wait(&ping);
	}
	finish(t);
	CHECK(!setitimer(ITIMER_REAL, &off, NULL));
}

static void *waits(void *arg)
{
	sem_wait(arg);
	return NULL;
}

/* A cancelled thread takes no post, although one is available. */
static void *takes_none(void *arg)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 100000);

	pthread_cancel(pthread_self());
	sem_timedwait(&s, &later);
	return arg;
}

int main(void)
{
	pthread_t t;

	results(0);
	results(1);
	crowd(0);
	crowd(1);
	RUN(posts_wake_in_turn);
	RUN(handlers_post);
	CHECK(!sem_init(&s, 0, 0));
	t = start(waits, &s);
	usleep(1000);
	CHECK(!pthread_cancel(t));
	printf("cancelled %d\n", finish(t) == PTHREAD_CANCELED);
	CHECK(!sem_init(&s, 0, 1));
	CHECK(finish(start(takes_none, NULL)) == PTHREAD_CANCELED);
	TRY(sem_trywait(&s));
	puts("no post is lost");
	return 0;
}

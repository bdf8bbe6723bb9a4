/* SPDX-License-Identifier: Apache-2.0 */
/* Answers run.py's questions about itself as a threaded program. The ids of user
 * threads begin at 0x400000, above all ids of the kernel. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static void *whose(void *arg)
{
	(void)arg;
	puts(gettid() >= 0x400000 ? "user" : "kernel");
	return NULL;
}

static void *stack(void *arg)
{
	pthread_attr_t a;
	size_t dflt, real;
	void *low;

	(void)arg;
	pthread_attr_init(&a);
	pthread_attr_getstacksize(&a, &dflt);
	pthread_getattr_np(pthread_self(), &a);
	pthread_attr_getstack(&a, &low, &real);
	printf("%zu %zu\n", dflt, real);
	return NULL;
}

static void *is_named(void *name)
{
	return pthread_setname_np(pthread_self(), name) ? NULL : name;
}

static int named(char **names)
{
	for (; *names; names++) {
		pthread_t t;
		void *r;

		if (pthread_create(&t, NULL, is_named, *names) || pthread_join(t, &r) ||
		    r != *names)
			return 1;
	}
	return 0;
}

#define ROUNDS 1000

static int ends[2];
static int by_read;

static void *answers(void *arg)
{
	int fd = *(int *)arg, first = fd == ends[0];
	char c;

	for (int i = 0; i < ROUNDS; i++) {
		if ((!first || i) &&
		    (by_read ? read(fd, &c, 1) : recv(fd, &c, 1, 0)) != 1)
			return NULL;
		if (send(fd, "x", 1, 0) != 1)
			return NULL;
	}
	return arg;
}

/* Passes one byte to and fro. */
static int echo(void)
{
	pthread_t t[2];
	void *r[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends))
		return 1;
	for (int i = 0; i < 2; i++)
		if (pthread_create(&t[i], NULL, answers, &ends[i]))
			return 1;
	for (int i = 0; i < 2; i++)
		if (pthread_join(t[i], &r[i]) || !r[i])
			return 1;
	return 0;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t woken = PTHREAD_COND_INITIALIZER;
static int waits;

static int is_over(clockid_t clock, const struct timespec *end)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return now.tv_sec > end->tv_sec ||
	       (now.tv_sec == end->tv_sec && now.tv_nsec >= end->tv_nsec);
}

/* Waits 20 ms by this clock, as the program sees it, for a signal that never comes. With
 * other_time.c, each look at the clock takes 10 ms meanwhile. */
static int times_out(clockid_t clock)
{
	long *takes = dlsym(RTLD_DEFAULT, "clock_takes");
	pthread_condattr_t a;
	pthread_cond_t never;
	struct timespec end;
	int r;

	pthread_condattr_init(&a);
	pthread_condattr_setclock(&a, clock);
	pthread_cond_init(&never, &a);
	clock_gettime(clock, &end);
	end.tv_nsec += 20000000;
	end.tv_sec += end.tv_nsec / 1000000000;
	end.tv_nsec %= 1000000000;
	pthread_mutex_lock(&lock);
	if (takes)
		*takes = 10000000;
	while (!(r = pthread_cond_timedwait(&never, &lock, &end)))
		;
	if (takes)
		*takes = 0;
	pthread_mutex_unlock(&lock);
	return r == ETIMEDOUT && is_over(clock, &end);
}

static void *waits_long(void *arg)
{
	struct timespec end;

	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 100;
	pthread_mutex_lock(&lock);
	waits = 1;
	while (waits && !pthread_cond_timedwait(&woken, &lock, &end))
		;
	pthread_mutex_unlock(&lock);
	puts(!waits && times_out(CLOCK_REALTIME) && times_out(CLOCK_MONOTONIC)
		 ? "in time"
		 : "wrong");
	return arg;
}

/* Waits with time limits that expire and that do not. SIGALRM ends a hang. */
static int limits(void)
{
	pthread_t t;
	int done = 0;

	alarm(20);
	if (pthread_create(&t, NULL, waits_long, NULL))
		return 1;
	while (!done) {
		pthread_mutex_lock(&lock);
		done = waits;
		waits = 0;
		pthread_cond_signal(&woken);
		pthread_mutex_unlock(&lock);
		sched_yield();
	}
	return pthread_join(t, NULL) || !times_out(CLOCK_REALTIME) ||
	       !times_out(CLOCK_MONOTONIC);
}

static int in_thread(void *(*fn)(void *))
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, NULL))
		return 1;
	return pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	if (!strcmp(what, "thread"))
		return in_thread(whose);
	if (!strcmp(what, "named"))
		return named(argv + 2);
	if (!strcmp(what, "stack"))
		return in_thread(stack);
	by_read = !strcmp(what, "read");
	if (by_read || !strcmp(what, "recv"))
		return echo();
	if (!strcmp(what, "limits"))
		return limits();
	if (!strcmp(what, "exit"))
		return atoi(argv[2]);
	if (!strcmp(what, "kill"))
		return kill(getpid(), atoi(argv[2]));
	if (!strcmp(what, "pid"))
		return printf("%d\n", getpid()) < 0;
	for (int i = 2; i < argc; i++) {
		if (!strcmp(what, "args"))
			printf("[%s]", argv[i]);
		else
			printf(i > 2 ? " %s" : "%s", getenv(argv[i]) ?: "");
	}
	putchar('\n');
	return 0;
}

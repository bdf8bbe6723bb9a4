/* SPDX-License-Identifier: Apache-2.0 */
/* The program that top.py looks at. It prints "ready" and the engine when its threads
 * do what they are to do, and then obeys the lines of its standard input. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uk/uk.h>

#include "../test.h"

static uk_sem sem = UK_SEM_INIT(0);
static uk_mutex mutex = UK_MUTEX_INIT;
static uk_rwlock rwlock = UK_RWLOCK_INIT;
static int pipe_fd[2], stop, held;
static uk_thread *holder;

static void *waits(void *arg)
{
	uk_sem_wait(&sem);
	return arg;
}

static void *holds(void *arg)
{
	CHECK_EQ(uk_mutex_lock(&mutex), 0);
	CHECK_EQ(uk_rwlock_wrlock(&rwlock), 0);
	STORE(&held, 1);
	uk_sem_wait(&sem);
	return arg;
}

static void *wants_mutex(void *arg)
{
	uk_mutex_lock(&mutex);
	return arg;
}

static void *wants_rwlock(void *arg)
{
	uk_rwlock_rdlock(&rwlock);
	return arg;
}

static void *reads(void *arg)
{
	char c;

	uk_read(pipe_fd[0], &c, 1);
	return arg;
}

static void *sleeps(void *arg)
{
	uk_sleep(UK_SEC * 100000);
	return arg;
}

static void *joins(void *arg)
{
	uk_thread_join(holder, NULL);
	return arg;
}

static void *ends(void *arg)
{
	return arg;
}

static void *computes(void *arg)
{
	while (!LOAD(&stop))
		;
	return arg;
}

static uk_thread *start(const char *name, void *(*fn)(void *), unsigned flags)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.name = name;
	a.flags = flags;
	CHECK_EQ(uk_thread_create(&t, &a, fn, NULL), 0);
	return t;
}

static int parked(const uk_thread_info *i, void *n)
{
	*(int *)n += !strcmp(i->state, "parked");
	return 0;
}

static int count_parked(void)
{
	int n = 0;

	uk_thread_each(parked, &n, sizeof(uk_thread_info));
	return n;
}

static void scene(void)
{
	CHECK_EQ(pipe(pipe_fd), 0);
	holder = start("holder", holds, 0);
	UNTIL(LOAD(&held));
	for (int i = 0; i < 3; i++)
		start("mutex-waiter", wants_mutex, 0);
	start("rwlock-waiter", wants_rwlock, 0);
	start("pipe-reader", reads, 0);
	start("light-waiter", waits, UK_THREAD_LIGHT);
	start("sleeper", sleeps, 0);
	start("joiner", joins, 0);
	start("\033[31mred\xff", waits, 0);
	start("ended", ends, 0);
	start("hog", computes, 0);
	UNTIL(count_parked() == 10);
}

static void many(int n)
{
	char name[16];

	for (int i = 0; i < n; i++) {
		snprintf(name, sizeof(name), "m%d", i);
		start(name, waits, i % 2 ? UK_THREAD_LIGHT : 0);
	}
	UNTIL(count_parked() == n);
}

static void *is_born(void *arg)
{
	uk_mutex_lock(&mutex);
	uk_yield();
	uk_mutex_unlock(&mutex);
	return arg;
}

/* Threads that are born, wait for a lock and end, all the time. */
static void *bears(void *arg)
{
	while (!LOAD(&stop)) {
		uk_thread *t[16];

		for (int i = 0; i < 16; i++)
			t[i] = start("child", is_born, i % 2 ? UK_THREAD_LIGHT : 0);
		for (int i = 0; i < 16; i++)
			uk_thread_join(t[i], NULL);
	}
	return arg;
}

static void churn(void)
{
	for (int i = 0; i < 4; i++)
		start("parent", bears, 0);
}

static void *ends_late(void *arg)
{
	sleep(100000);
	return arg;
}

static void print_stats(void)
{
	uk_stats s;

	uk_stats_get(&s, sizeof(s));
#define X(name, text) printf("\"" #name "\": %llu, ", (unsigned long long)s.name);
	printf("{");
	UK_COUNTERS(X)
	printf("\"threads\": %llu, \"vps\": %llu, \"stacks\": %llu}\n",
	       (unsigned long long)s.threads, (unsigned long long)s.vps,
	       (unsigned long long)s.stacks);
#undef X
}

static void obey(const char *line)
{
	pthread_t t;

	if (!strcmp(line, "stats\n")) {
		print_stats();
	} else if (!strcmp(line, "exec\n")) {
		execlp("sleep", "sleep", "100000", (char *)NULL);
		perror("sleep");
	} else if (!strcmp(line, "leave\n")) {
		/* main ends, the process goes on */
		CHECK_EQ(pthread_create(&t, NULL, ends_late, NULL), 0);
		pthread_exit(NULL);
	} else if (!strcmp(line, "end\n")) {
		_exit(0);
	}
	fflush(stdout);
}

int main(int argc, char **argv)
{
	char line[64];

	CHECK(argc > 1);
	if (!strcmp(uk_reactor_name(), "none"))
		SKIP("this engine does not start here");
	if (!strcmp(argv[1], "scene"))
		scene();
	else if (!strcmp(argv[1], "churn"))
		churn();
	else
		many(atoi(argv[1]));
	printf("ready %s\n", uk_reactor_name());
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin))
		obey(line);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The program that gdb.py and symbolize.py look at. Its threads are known to be parked,
 * suspended or running. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <uk/uk.h>

#include "../test.h"

static uk_sem sem = UK_SEM_INIT(0);
static uk_mutex mutex = UK_MUTEX_INIT;
static int pipe_fd[2], stop;
static long counted;

void *waits_for_a_post(void *arg);
void *reads_a_pipe(void *arg);
void *wants_the_mutex(void *arg);
void *sleeps_for_ever(void *arg);
void *computes(void *arg);
int third_level(long secret);
int second_level(long secret);

__attribute__((noinline)) int third_level(long secret)
{
	int r = uk_sem_wait(&sem);

	counted += secret;
	return r;
}

__attribute__((noinline)) int second_level(long secret)
{
	int r = third_level(secret + 1);

	counted += secret;
	return r;
}

static inline __attribute__((always_inline)) int first_level(long secret)
{
	return second_level(secret + 1);
}

__attribute__((noinline)) void *waits_for_a_post(void *arg)
{
	counted += first_level(40);
	return arg;
}

__attribute__((noinline)) void *reads_a_pipe(void *arg)
{
	char c;

	counted += uk_read(pipe_fd[0], &c, 1);
	return arg;
}

__attribute__((noinline)) void *wants_the_mutex(void *arg)
{
	uk_mutex_lock(&mutex);
	uk_mutex_unlock(&mutex);
	return arg;
}

__attribute__((noinline)) void *sleeps_for_ever(void *arg)
{
	uk_sleep(UK_FOREVER);
	counted++;
	return arg;
}

__attribute__((noinline)) void *computes(void *arg)
{
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
		;
	return arg;
}

static void start(const char *name, void *(*fn)(void *), unsigned flags)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t;

	a.name = name;
	a.flags = flags;
	CHECK_EQ(uk_thread_create(&t, &a, fn, NULL), 0);
}

static int still(const uk_thread_info *i, void *n)
{
	if (!strcmp(i->state, "parked"))
		++*(int *)n;
	return 0;
}

int main(int argc, char **argv)
{
	int n = 0;

	(void)argv;
	CHECK_EQ(pipe(pipe_fd), 0);
	CHECK_EQ(uk_mutex_lock(&mutex), 0);
	start("semaphore-waiter", waits_for_a_post, 0);
	start("light-waiter", waits_for_a_post, UK_THREAD_LIGHT);
	start("pipe-reader", reads_a_pipe, 0);
	start("mutex-waiter", wants_the_mutex, 0);
	start("sleeper", sleeps_for_ever, 0);
	start("hog", computes, 0);
	while (uk_thread_each(still, &n, sizeof(uk_thread_info)) == 0 && n != 5) {
		n = 0;
		uk_sleep(UK_MS);
	}
	if (argc > 1) {
		uk_dump(1);
		_exit(0);
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A post by a signal handler wakes the waiter of the semaphore, whatever the handler
 * interrupts: a carrier that runs a thread, a carrier that sleeps, or a spare. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "tasks.h"

#define PATIENCE HANG_NS

static uk_sem sem;

static void posts(int sig)
{
	(void)sig;
	uk_sem_post(&sem);
}

static uint32_t waiting, posted, woken, stop;

/* Waits for one post after the other. */
static void *waits(void *arg)
{
	while (!LOAD(&stop)) {
		STORE(&waiting, LOAD(&woken) + 1);
		CHECK_EQ(uk_sem_wait_until(&sem, uk_after(PATIENCE)), 0);
		__atomic_fetch_add(&woken, 1, __ATOMIC_SEQ_CST);
	}
	return arg;
}

static void raw_sleep(long ns)
{
	struct timespec ts = { 0, ns };

	syscall(SYS_nanosleep, &ts, NULL);
}

/* Signals all carriers, in several rounds, each time when the waiter sleeps (or nearly
 * so). */
static void signal_all(void)
{
	pid_t tid[64];

	for (int round = 0; round < 8; round++) {
		int n;

		while (!(n = tasks_named("uk-carrier", tid, 64))) /* no name yet */
			raw_sleep(50000);
		for (int i = 0; i < n; i++) {
			while (LOAD(&waiting) <= posted)
				raw_sleep(50000);
			raw_sleep(round % 4 * 200000L);
			posted++;
			CHECK_EQ(syscall(SYS_tgkill, getpid(), tid[i], SIGURG), 0);
		}
	}
	while (LOAD(&waiting) <= posted)
		raw_sleep(50000);
	STORE(&stop, 1);
	CHECK_EQ(uk_sem_post(&sem), 0);
}

static void *signals_all(void *arg)
{
	signal_all();
	return arg;
}

static void reset(void)
{
	CHECK_EQ(uk_sem_init(&sem, 0), 0);
	waiting = posted = woken = stop = 0;
}

static void *ticks(void *arg)
{
	while (!LOAD(&stop)) {
		uk_sleep(UK_MS / 10);
		uk_yield();
	}
	return arg;
}

static void every_post_wakes_a_user_thread(void)
{
	uk_thread *t;

	reset();
	CHECK_EQ(uk_thread_create(&t, NULL, waits, NULL), 0);
	signal_all();
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

static void every_post_wakes_a_user_thread_among_others(void)
{
	uk_thread *t, *o[4];

	reset();
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_create(&o[i], NULL, ticks, NULL), 0);
	CHECK_EQ(uk_thread_create(&t, NULL, waits, NULL), 0);
	signal_all();
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_join(o[i], NULL), 0);
}

static void every_post_wakes_a_kernel_thread(void)
{
	pthread_t th;

	reset();
	CHECK_EQ(pthread_create(&th, NULL, signals_all, NULL), 0);
	waits(NULL);
	CHECK_EQ(pthread_join(th, NULL), 0);
}

/* ---- a child of a user thread: only its carrier takes signals ---- */

static void child(int told)
{
	uk_stats a, b;

	uk_stats_get(&a, sizeof(a));
	do { /* until our carrier has become a spare */
		usleep(5000);
		uk_stats_get(&b, sizeof(b));
	} while (b.handoffs == a.handoffs);
	uk_yield();
	if (write(told, "x", 1) != 1)
		_exit(2);
	_exit(uk_sem_wait_until(&sem, uk_after(PATIENCE)) ? 1 : 0);
}

static void *forks(void *arg)
{
	char c;
	int p[2], st;
	pid_t pid;

	for (int i = 0; i < 5; i++) {
		CHECK_EQ(pipe(p), 0);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			child(p[1]);
		CHECK_EQ(read(p[0], &c, 1), 1);
		raw_sleep(5000000 * (i % 2));
		CHECK_EQ(kill(pid, SIGUSR1), 0);
		while (waitpid(pid, &st, 0) < 0)
			CHECK_EQ(errno, EINTR);
		CHECK_EQ(st, 0);
		close(p[0]);
		close(p[1]);
	}
	return arg;
}

static void a_post_wakes_a_forked_child(void)
{
	uk_thread *t;

	reset();
	CHECK_EQ(uk_thread_create(&t, NULL, forks, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
}

int main(void)
{
	struct sigaction sa = { .sa_handler = posts, .sa_flags = SA_RESTART };

	if (SANITIZED)
		SKIP("the sanitizer delays signals until a call that it intercepts");
	CHECK_EQ(sigaction(SIGURG, &sa, NULL), 0);
	CHECK_EQ(sigaction(SIGUSR1, &sa, NULL), 0);
	RUN(every_post_wakes_a_user_thread);
	RUN(every_post_wakes_a_user_thread_among_others);
	RUN(every_post_wakes_a_kernel_thread);
	RUN(a_post_wakes_a_forked_child);
	return 0;
}

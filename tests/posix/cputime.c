/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread has its own CPU time, whichever threads run on the same vp: by its own
 * clock, by pthread_getcpuclockid, by getrusage and by system calls. No check uses the
 * wall clock: a thread that sleeps while others compute has used no CPU time. */
#include <sched.h>
#include <semaphore.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "asleep.h"
#include "posix.h"

#define MS 1000000L
#define MUCH (200 * MS)
#define LITTLE (100 * MS)

static sem_t goes, gone;
static int asked, spins, stop;

static long ns_of(clockid_t clock)
{
	struct timespec ts;

	CHECK(!clock_gettime(clock, &ts));
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

static long mine(void)
{
	return ns_of(CLOCK_THREAD_CPUTIME_ID);
}

static long by_syscall(void)
{
	struct timespec ts;

	CHECK(!syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &ts));
	return ts.tv_sec * 1000 * MS + ts.tv_nsec;
}

static long usage(void)
{
	struct rusage u;

	CHECK(!getrusage(RUSAGE_THREAD, &u));
	return (u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000 * MS +
	       (u.ru_utime.tv_usec + u.ru_stime.tv_usec) * 1000L;
}

static void wait_for(sem_t *s)
{
	while (sem_wait(s))
		;
}

static void spin(long ns)
{
	long end = mine() + ns;

	while (mine() < end)
		;
}

/* ---- a sleeping thread uses no CPU time ---- */

static void *sleeps(void *arg)
{
	long before[] = { mine(), by_syscall(), usage() }, t;

	__atomic_store_n(&asked, 1, __ATOMIC_SEQ_CST);
	wait_for(&goes);
	CHECK(mine() - before[0] < LITTLE);
	CHECK(by_syscall() - before[1] < LITTLE);
	CHECK(usage() - before[2] < LITTLE);
	spin(MUCH);
	t = usage(); /* in whole microseconds */
	CHECK(t - before[2] >= MUCH - 1000);
	CHECK(mine() - before[0] >= t - before[2] - 1000);
	return arg;
}

static void *spins_much(void *arg)
{
	spin(MUCH);
	return arg;
}

static void sleeping_uses_no_cpu_time(void)
{
	pthread_t t = start(sleeps, NULL);

	while (!__atomic_load_n(&asked, __ATOMIC_SEQ_CST))
		sched_yield();
	run_in_thread(spins_much);
	sem_post(&goes);
	finish(t);
	puts("each thread has its own");
}

/* ---- pthread_getcpuclockid ---- */

static void *spins_and_sleeps(void *name)
{
	pthread_setname_np(pthread_self(), name);
	while (!__atomic_load_n(&stop, __ATOMIC_SEQ_CST))
		;
	__atomic_store_n(&spins, (int)syscall(SYS_gettid), __ATOMIC_SEQ_CST);
	wait_for(&gone);
	return NULL;
}

static bool sleeps_now(const char *name)
{
	char tid[16];

	snprintf(tid, sizeof(tid), "%d", __atomic_load_n(&spins, __ATOMIC_SEQ_CST));
	return __atomic_load_n(&spins, __ATOMIC_SEQ_CST) &&
	       (user_thread_known(name) ? user_thread_parked(name) : task_sleeps(tid));
}

static void others_read_the_clock(void)
{
	static char name[] = "spins";
	pthread_t t = start(spins_and_sleeps, name);
	clockid_t clock;
	struct timespec ts;
	long then;

	CHECK(!pthread_getcpuclockid(t, &clock));
	CHECK(!clock_getres(clock, &ts) && !ts.tv_sec && ts.tv_nsec == 1);
	then = ns_of(clock);
	while (ns_of(clock) < then + LITTLE) /* runs with its thread */
		;
	__atomic_store_n(&stop, 1, __ATOMIC_SEQ_CST);
	while (!sleeps_now(name))
		sched_yield();
	run_in_thread(spins_much); /* by now the thread has left its vp */
	then = ns_of(clock);
	CHECK(then >= LITTLE);
	run_in_thread(spins_much);
	CHECK(ns_of(clock) == then); /* the clock stops while the thread sleeps */
	sem_post(&gone);
	finish(t);
	while (
	    !clock_gettime(clock, &ts)) /* natively it exists a moment after the join */
		sched_yield();
	CHECK(errno == EINVAL);
	puts("seen by others");
}

/* ---- the clock of a forked child begins at 0 ---- */

static void *forks(void *arg)
{
	pid_t pid;

	mine();
	spin(MUCH);
	pid = fork();
	if (!pid)
		_exit(mine() >= LITTLE || usage() >= LITTLE);
	CHECK(end_of(pid) == 0);
	return arg;
}

int main(void)
{
	setenv("UK_VPS", "1", 1);
	CHECK(!sem_init(&goes, 0, 0) && !sem_init(&gone, 0, 0));
	RUN(sleeping_uses_no_cpu_time);
	RUN(others_read_the_clock);
	run_in_thread(forks);
	puts("forked");
	return 0;
}

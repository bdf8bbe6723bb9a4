/* SPDX-License-Identifier: Apache-2.0 */
/* The one thread of a forked child has its process's id as thread id, whichever thread
 * forked. It sees this itself, and so do the kernel and the threads that it creates. */
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

static volatile sig_atomic_t ran;
static pthread_t first, handled_by;
static pthread_mutex_t mutex;

static void on_signal(int sig)
{
	(void)sig;
	handled_by = pthread_self();
	ran++;
}

static void is_its_process(void)
{
	char path[64];

	CHECK(gettid() == getpid() && syscall(SYS_gettid) == getpid());
	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)gettid());
	CHECK(!access(path, F_OK));
	CHECK(mutex.__data.__owner == 0 && !pthread_mutex_lock(&mutex));
	CHECK(mutex.__data.__owner == getpid() && !pthread_mutex_lock(&mutex));
	CHECK(!pthread_mutex_unlock(&mutex) && !pthread_mutex_unlock(&mutex));
}

static void gets(int n)
{
	CHECK(ran == n && pthread_equal(handled_by, first));
}

static void signals_itself(void)
{
	ran = 0;
	CHECK(!tgkill(getpid(), gettid(), SIGUSR1));
	gets(1);
	CHECK(!syscall(SYS_tgkill, getpid(), getpid(), SIGUSR1));
	gets(2);
	CHECK(!syscall(SYS_tkill, getpid(), SIGUSR1));
	gets(3);
	CHECK(!pthread_kill(pthread_self(), SIGUSR1));
	gets(4);
}

static void its_id_works_in_scheduling_calls(void)
{
	struct sched_param p = { .sched_priority = 0 };
	cpu_set_t set;

	CHECK(!sched_setscheduler(getpid(), SCHED_BATCH, &p));
	CHECK(sched_getscheduler(0) == SCHED_BATCH);
	CHECK(sched_getscheduler(gettid()) == SCHED_BATCH);
	CHECK(!sched_getaffinity(getpid(), sizeof(set), &set));
	CHECK(!setpriority(PRIO_PROCESS, (id_t)getpid(), 7));
	CHECK(getpriority(PRIO_PROCESS, 0) == 7);
}

static void has_a_timer(void)
{
	struct itimerspec in = { .it_value.tv_nsec = 1000000 };
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGUSR1 };
	sigset_t set, old;
	timer_t t;

	ev._sigev_un._tid = gettid();
	ran = 0;
	set = only(SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, &old));
	CHECK(!timer_create(CLOCK_MONOTONIC, &ev, &t) &&
	      !timer_settime(t, 0, &in, NULL));
	while (!ran)
		sigsuspend(&old);
	CHECK(!pthread_sigmask(SIG_SETMASK, &old, NULL) && !timer_delete(t));
	gets(1);
}

static void *another(void *arg)
{
	CHECK(gettid() != getpid());
	CHECK(!tgkill(getpid(), getpid(), SIGUSR1));
	while (!ran)
		sched_yield();
	return arg;
}

static void another_signals_it(void)
{
	ran = 0;
	run_in_thread(another);
	gets(1);
}

static void in_child(int generation)
{
	pid_t child = make_child();

	if (child) {
		CHECK(end_of(child) == 0);
		return;
	}
	first = pthread_self();
	is_its_process();
	signals_itself();
	its_id_works_in_scheduling_calls();
	another_signals_it();
	is_its_process();
	signals_itself();
	has_a_timer();
	if (generation)
		in_child(generation - 1);
	printf("generation %d\n", generation);
	exit(0);
}

static void *forks(void *arg)
{
	in_child(1);
	return arg;
}

int main(void)
{
	struct sigaction a = { .sa_handler = on_signal };
	pthread_mutexattr_t type;

	CHECK(!pthread_mutexattr_init(&type));
	CHECK(!pthread_mutexattr_settype(&type, PTHREAD_MUTEX_RECURSIVE));
	CHECK(!pthread_mutex_init(&mutex, &type) && !sigaction(SIGUSR1, &a, NULL));
	in_child(0);
	run_in_thread(forks);
	in_child(1);
	return 0;
}

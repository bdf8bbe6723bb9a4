/* SPDX-License-Identifier: Apache-2.0 */
/* A call about a thread's own gettid(), or about 0, acts on that thread. Its policy,
 * priority, affinity, nice value and name are its own, and it reads what it set. */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#if __has_include(<sys/rseq.h>)
#include <sys/rseq.h>
#endif
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

static void says_policy(pid_t id)
{
	struct sched_param p = { .sched_priority = 0 };
	struct timespec ts;

	CHECK(!sched_setscheduler(id, SCHED_BATCH, &p));
	CHECK(sched_getscheduler(id) == SCHED_BATCH);
	CHECK(sched_getscheduler(0) == sched_getscheduler(gettid()));
	CHECK(!sched_getparam(id, &p) && p.sched_priority == 0);
	CHECK(!sched_setparam(id, &p));
	CHECK(!sched_rr_get_interval(id, &ts));
	CHECK(syscall(SYS_sched_getscheduler, id) == SCHED_BATCH);
	CHECK(!syscall(SYS_sched_setscheduler, id, SCHED_OTHER, &p));
	CHECK(sched_getscheduler(id) == SCHED_OTHER);
	p.sched_priority = 1;
	FAILS(sched_setparam(id, &p), EINVAL);
	FAILS(sched_setscheduler(id, SCHED_OTHER, &p), EINVAL);
	FAILS(sched_setscheduler(id, 77, &p), EINVAL);
	FAILS(sched_setscheduler(id, SCHED_OTHER, NULL), EINVAL);
}

/* The first version of the kernel's struct sched_attr. */
struct attr {
	unsigned size, policy;
	unsigned long long flags;
	int nice;
	unsigned priority;
	unsigned long long deadline[3];
};

#define GET(id, a) syscall(SYS_sched_getattr, id, a, sizeof(*(a)), 0)
#define SET(id, a) syscall(SYS_sched_setattr, id, a, 0)

static void says_policy_and_nice(pid_t id)
{
	struct attr a = { .size = 1 }, b = { .size = 1 };
	struct attr *volatile none = NULL, *volatile bad = (void *)8;

	CHECK(!GET(id, &a) && a.size == sizeof(a) && a.policy == SCHED_OTHER);
	CHECK(a.nice == getpriority(PRIO_PROCESS, 0) && a.priority == 0);
	CHECK(!SET(id, &a));
	a.policy = SCHED_BATCH;
	a.nice++;
	CHECK(!SET(id, &a) && !GET(0, &b));
	CHECK(b.policy == SCHED_BATCH && b.nice == a.nice);
	CHECK(sched_getscheduler(0) == SCHED_BATCH);
	CHECK(getpriority(PRIO_PROCESS, id) == a.nice);
	a.size = 0;
	a.policy = 77;
	a.flags = 0x08; /* SCHED_FLAG_KEEP_POLICY */
	CHECK(!SET(id, &a) && sched_getscheduler(id) == SCHED_BATCH);
	a.flags = 0x18; /* also SCHED_FLAG_KEEP_PARAMS */
	a.nice = 19;
	CHECK(!SET(id, &a) && !GET(id, &b) && b.nice == getpriority(PRIO_PROCESS, id));
	CHECK(b.nice != 19);
	a.flags = 1 << 20;
	FAILS(SET(id, &a), EINVAL);
	a.flags = 0;
	FAILS(SET(id, &a), EINVAL);
	a.policy = SCHED_OTHER;
	a.priority = 3;
	FAILS(SET(id, &a), EINVAL);
	a.size = 10;
	FAILS(SET(id, &a), E2BIG);
	CHECK(a.size >= sizeof(a));
	FAILS(SET(id, none), EINVAL);
	FAILS(SET(id, bad), EFAULT);
	FAILS(syscall(SYS_sched_setattr, id, &b, 1), EINVAL);
	FAILS(GET(id, none), EINVAL);
	FAILS(GET(id, bad), EFAULT);
	FAILS(syscall(SYS_sched_getattr, id, &b, 8, 0), EINVAL);
	FAILS(syscall(SYS_sched_getattr, id, &b, sizeof(b), 1), EINVAL);
	b.policy = SCHED_OTHER;
	CHECK(!SET(id, &b));
}

static void says_affinity(pid_t id)
{
	cpu_set_t all, one, now;
	int cpu = 0;

	CHECK(!sched_getaffinity(id, sizeof(all), &all));
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(!sched_setaffinity(id, sizeof(one), &one));
	CHECK(!sched_getaffinity(0, sizeof(now), &now) && CPU_EQUAL(&now, &one));
	CHECK(!pthread_getaffinity_np(pthread_self(), sizeof(now), &now));
	CHECK(CPU_EQUAL(&now, &one));
	CPU_ZERO(&now);
	CHECK(syscall(SYS_sched_getaffinity, id, sizeof(now), &now) > 0);
	CHECK(CPU_EQUAL(&now, &one));
	CHECK(!pthread_setaffinity_np(pthread_self(), sizeof(all), &all));
	CHECK(!sched_getaffinity(id, sizeof(now), &now) && CPU_EQUAL(&now, &all));
	CPU_ZERO(&now);
	FAILS(sched_setaffinity(id, sizeof(now), &now), EINVAL);
}

static volatile sig_atomic_t said;

static void on_signal(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)context;
	said = info->si_value.sival_int;
}

/* A signal to another process's thread goes through the kernel. A signal to the
 * caller's own id reaches it. */
static void sends_by_id(pid_t other)
{
	siginfo_t info = { .si_code = SI_QUEUE };
	int status;

	info.si_value.sival_int = 7;
	said = 0;
	CHECK(!syscall(SYS_tkill, gettid(), 0));
	CHECK(!syscall(SYS_rt_tgsigqueueinfo, getpid(), gettid(), SIGUSR1, &info));
	CHECK(said == 7);
	CHECK(!syscall(SYS_tkill, other, SIGTERM));
	CHECK(waitpid(other, &status, 0) == other && WIFSIGNALED(status));
	FAILS(syscall(SYS_tkill, other, SIGTERM), ESRCH);
}

static void *sends(void *other)
{
	sends_by_id(*(pid_t *)other);
	return NULL;
}

static pid_t sleeper(void)
{
	pid_t id = fork();

	CHECK(id >= 0);
	if (!id) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	return id;
}

static void *runs(void *arg)
{
	return arg;
}

static void *takes_others(void *arg)
{
	cpu_set_t *others = arg;
	pthread_attr_t a;
	pthread_t t;

	CHECK(!sched_setaffinity(0, sizeof(*others), others));
	CHECK(!pthread_setaffinity_np(pthread_self(), sizeof(*others), others));
	CHECK(!pthread_attr_init(&a));
	CHECK(!pthread_attr_setaffinity_np(&a, sizeof(*others), others));
	CHECK(!pthread_create(&t, &a, runs, NULL));
	finish(t);
	return NULL;
}

/* The affinity that main set for itself does not limit other threads. */
static void affinity_of_main_limits_no_thread(void)
{
	cpu_set_t all, one, now;
	int cpu = 0;

	CHECK(!sched_getaffinity(0, sizeof(all), &all));
	if (CPU_COUNT(&all) < 2)
		return;
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CHECK(!sched_setaffinity(0, sizeof(one), &one));
	CPU_XOR(&now, &all, &one);
	finish(start(takes_others, &now));
	takes_others(&now); /* main may go there, too */
	CHECK(!sched_getaffinity(0, sizeof(one), &one) && CPU_EQUAL(&one, &now));
	CHECK(!sched_setaffinity(0, sizeof(all), &all));
}

static void says_nice(pid_t id)
{
	int was = getpriority(PRIO_PROCESS, id), kernels;

	CHECK(!setpriority(PRIO_PROCESS, id, was + 2));
	CHECK(getpriority(PRIO_PROCESS, 0) == was + 2);
	CHECK(getpriority(PRIO_PROCESS, gettid()) == was + 2);
	kernels = (int)syscall(SYS_getpriority, PRIO_PROCESS, id);
	CHECK(kernels == 20 - (was + 2));
	CHECK(nice(1) == was + 3);
	CHECK(!setpriority(PRIO_PROCESS, id, 100));
	CHECK(getpriority(PRIO_PROCESS, id) == 19);
}

static void says_name(void)
{
	char name[16] = "";

	CHECK(!prctl(PR_SET_NAME, "a name that is too long"));
	CHECK(!prctl(PR_GET_NAME, name) && !strcmp(name, "a name that is "));
	CHECK(!pthread_getname_np(pthread_self(), name, sizeof(name)));
	CHECK(!strcmp(name, "a name that is "));
	CHECK(!pthread_setname_np(pthread_self(), "short"));
	CHECK(!syscall(SYS_prctl, PR_GET_NAME, name) && !strcmp(name, "short"));
}

static void *by_id(void *arg)
{
	CHECK(syscall(SYS_gettid) == gettid() && gettid() != getpid());
	says_policy(gettid());
	says_affinity(gettid());
	says_policy_and_nice(gettid());
	says_nice(gettid());
	says_name();
	return arg;
}

static void *as_zero(void *arg)
{
	says_policy(0);
	says_affinity(0);
	says_policy_and_nice(0);
	says_nice(0);
	return arg;
}

static void *tells_its_id(void *id)
{
	*(pid_t *)id = gettid();
	return NULL;
}

/* Restartable sequences: libc says that each thread has an area, and then it has the
 * CPU in it; or a thread cannot register one of its own. */
static void *has_no_false_rseq(void *arg)
{
#ifdef RSEQ_SIG
	const volatile struct rseq *area =
	    (void *)((char *)__builtin_thread_pointer() + __rseq_offset);
	struct rseq own __attribute__((aligned(32))) = { .cpu_id = 0 };

	for (int i = 0; i < 20; i++) {
		CHECK(!__rseq_size || (int)area->cpu_id >= 0);
		CHECK(sched_getcpu() >= 0 && sched_getcpu() < CPU_SETSIZE);
		usleep(100);
	}
	CHECK(syscall(SYS_rseq, &own, 32, 0, RSEQ_SIG) == -1);
#endif
	return arg;
}

int main(void)
{
	int nice_before = getpriority(PRIO_PROCESS, 0);
	struct sched_param p = { .sched_priority = 0 };
	cpu_set_t set;
	char name[16], now[16];
	pid_t gone = 0x3fffffff; /* no thread has this id */
	struct sigaction act = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO };
	pid_t others[] = { sleeper(), sleeper() };

	CHECK(!sigaction(SIGUSR1, &act, NULL));
	sends_by_id(others[0]);
	finish(start(sends, &others[1]));
	CHECK(!prctl(PR_GET_NAME, name));
	run_in_thread(by_id);
	run_in_thread(as_zero);
	run_in_thread(has_no_false_rseq);
	RUN(affinity_of_main_limits_no_thread);
	for (int i = 0; i < 8; i++) { /* later threads have ids of their own */
		pid_t id;

		finish(start(tells_its_id, &id));
		CHECK(id != getpid());
	}
	CHECK(getpriority(PRIO_PROCESS, 0) == nice_before);
	CHECK(!prctl(PR_GET_NAME, now) && !strcmp(name, now));
	FAILS(sched_getscheduler(gone), ESRCH);
	FAILS(sched_setscheduler(gone, SCHED_OTHER, &p), ESRCH);
	FAILS(sched_getaffinity(gone, sizeof(set), &set), ESRCH);
	FAILS(getpriority(PRIO_PROCESS, gone), ESRCH);
	puts("done");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A handler interrupts a wait of main for a lock. It leaves by a jump, waits itself, or
 * reads the siginfo. Afterwards main is in no queue, even if its old stack frame is
 * overwritten. Each case runs before any thread exists and with some threads. */
#include <linux/futex.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

static sigjmp_buf env;
static pthread_mutex_t mutex, held = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond;
static pthread_rwlock_t rwlock;
static sem_t sem, other;
static uint32_t word;
static pthread_t sleeper;
static volatile int handled, values[4];

static void jumps(int sig)
{
	siglongjmp(env, sig);
}

static void handle(int sig, void (*fn)(int), int flags)
{
	struct sigaction a = { .sa_handler = fn, .sa_flags = flags };

	CHECK(!sigaction(sig, &a, NULL));
}

/* -- signals are sent by a process, so that main may be the only thread -- */

static bool process_sleeps(pid_t pid)
{
	char path[32], line[512] = "";
	const char *end;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "r");
	CHECK(f && fgets(line, sizeof(line), f));
	fclose(f);
	end = strrchr(line, ')');
	return end && !strncmp(end, ") S", 3);
}

static bool to_main(int sig, int value)
{
	siginfo_t info = { .si_signo = sig, .si_code = SI_QUEUE };
	pid_t main = getppid();

	info.si_pid = getpid();
	info.si_uid = getuid();
	info.si_value.sival_int = value;
	return !syscall(SYS_rt_tgsigqueueinfo, main, main, sig, &info);
}

/* Starts a child that sends the signals in order once main sleeps. It waits until main
 * has left this function, as main may also sleep in fork. The value of a signal is its
 * index from 1. */
static pid_t sender(const int *sigs, int n)
{
	int p[2];
	pid_t child;
	char c = 0;

	CHECK(!pipe(p));
	child = fork();
	CHECK(child >= 0);
	if (child) {
		CHECK(write(p[1], &c, 1) == 1 && !close(p[0]) && !close(p[1]));
		return child;
	}
	CHECK(read(p[0], &c, 1) == 1);
	while (!process_sleeps(getppid()))
		usleep(100);
	for (int i = 0; i < n; i++)
		if (!to_main(sigs[i], i + 1))
			_exit(1);
	_exit(0);
}

static void sent(pid_t child)
{
	CHECK(end_of(child) == 0);
}

/* -- waits that do not end by themselves -- */

static void in_mutex(void)
{
	pthread_mutex_lock(&mutex);
}

static void in_timed_mutex(void)
{
	struct timespec far = { .tv_sec = 4000000000 };

	pthread_mutex_timedlock(&mutex, &far);
}

static void in_sem(void)
{
	while (sem_wait(&sem))
		;
}

static void in_cond(void)
{
	CHECK(!pthread_mutex_lock(&held));
	for (;;)
		pthread_cond_wait(&cond, &held);
}

static void in_rwlock(void)
{
	pthread_rwlock_wrlock(&rwlock);
}

static void in_futex(void)
{
	for (;;)
		syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
}

static void in_join(void)
{
	pthread_join(sleeper, NULL);
}

/* -- checks after the jump -- */

static void *locks(void *arg)
{
	CHECK(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
	return arg;
}

static void *posts(void *arg)
{
	CHECK(!sem_post(&sem));
	return arg;
}

static void *wakes(void *arg)
{
	CHECK(!pthread_mutex_lock(&held) && !pthread_cond_broadcast(&cond));
	CHECK(!pthread_mutex_unlock(&held));
	CHECK(syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 9, NULL, NULL, 0) == 0);
	return arg;
}

static void after_mutex(void)
{
	pthread_t t = start(locks, NULL);

	CHECK(!pthread_mutex_unlock(&mutex));
	finish(t);
	locks(NULL);
}

static void after_sem(void)
{
	int value = -1;

	run_in_thread(posts);
	CHECK(!sem_getvalue(&sem, &value) && value == 1);
	CHECK(!sem_trywait(&sem));
}

static void after_futex(void)
{
	run_in_thread(wakes);
}

/* libc locks the mutex again before the handler's jump leaves the wait. */
static void after_cond(void)
{
	CHECK(pthread_mutex_trylock(&held) == EBUSY && !pthread_mutex_unlock(&held));
	run_in_thread(wakes);
}

static void after_rwlock(void)
{
	CHECK(!pthread_rwlock_unlock(&rwlock));
}

static void *sleeps(void *arg)
{
	while (sem_wait(&other))
		;
	return arg;
}

static void after_join(void)
{
	CHECK(!sem_post(&other));
	finish(sleeper);
}

static const struct {
	const char *name;
	void (*waits)(void), (*after)(void);
	bool threads; /* the case needs another thread */
} cases[] = {
	{ "mutex", in_mutex, after_mutex, false },
	{ "timed mutex", in_timed_mutex, after_mutex, false },
	{ "sem", in_sem, after_sem, false },
	{ "cond", in_cond, after_cond, false },
	{ "rwlock", in_rwlock, after_rwlock, false },
	{ "futex", in_futex, after_futex, false },
	{ "join", in_join, after_join, true },
};

static void begin(void)
{
	pthread_mutex_init(&mutex, NULL);
	pthread_cond_init(&cond, NULL);
	pthread_rwlock_init(&rwlock, NULL);
	sem_init(&sem, 0, 0);
	CHECK(!pthread_mutex_lock(&mutex) && !pthread_rwlock_rdlock(&rwlock));
}

/* Overwrites the stack below the caller. */
static __attribute__((noinline)) void spoil(void)
{
	volatile char there[8192];

	for (size_t i = 0; i < sizeof(there); i++)
		there[i] = 0x41;
}

static void jumps_out(int i, int flags, bool threads)
{
	static const int usr1 = SIGUSR1;
	static pid_t child;

	begin();
	if (threads)
		sleeper = start(sleeps, NULL);
	handle(SIGUSR1, jumps, flags);
	if (!sigsetjmp(env, 1)) {
		child = sender(&usr1, 1);
		cases[i].waits();
		CHECK(false);
	}
	spoil();
	sent(child);
	cases[i].after();
	if (threads && cases[i].waits != in_join)
		after_join();
	printf("%s, %d, %d: left\n", cases[i].name, flags != 0, threads);
}

/* -- a handler that waits itself -- */

static void waits_too(int sig)
{
	while (sem_wait(&other))
		;
	handled += sig == SIGUSR1;
}

static void *lets_go(void *arg)
{
	while (!handled) {
		int value;

		CHECK(!sem_getvalue(&other, &value));
		if (value <= 0)
			CHECK(!sem_post(&other));
		sched_yield();
	}
	CHECK(!pthread_mutex_unlock(&mutex));
	return arg;
}

static void handler_waits(void)
{
	static const int usr1 = SIGUSR1;
	pthread_t t;
	pid_t child;

	begin();
	handle(SIGUSR1, waits_too, SA_RESTART);
	t = start(lets_go, NULL);
	child = sender(&usr1, 1);
	CHECK(!pthread_mutex_lock(&mutex));
	finish(t);
	sent(child);
	printf("a handler waits: %d\n", handled);
}

/* -- the siginfo that the handler gets -- */

static void notes(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	if (handled < 4)
		values[handled] = info->si_code == SI_QUEUE ? info->si_value.sival_int
							    : -info->si_code - 100;
	handled++;
	CHECK(info->si_signo == sig && info->si_uid == getuid());
	if (handled == 3)
		CHECK(!pthread_mutex_unlock(&mutex));
}

static void is_told(void)
{
	const int three[] = { SIGRTMIN + 4, SIGRTMIN + 4, SIGRTMIN + 4 };
	struct sigaction a = { .sa_sigaction = notes, .sa_flags = SA_SIGINFO };
	pid_t child;

	begin();
	CHECK(!sigaction(SIGRTMIN + 4, &a, NULL));
	child = sender(three, 3);
	CHECK(!pthread_mutex_lock(&mutex));
	sent(child);
	printf("siginfo: %d, %d %d %d\n", handled, values[0], values[1], values[2]);
}

/* Runs fn in a process of its own. */
static void apart(void (*fn)(int, int, bool), int i, int flags, bool threads)
{
	pid_t child = make_child();
	int status;

	if (!child) {
		fn(i, flags, threads);
		fflush(stdout);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	if (status)
		printf("%s, %d, %d: %x\n", cases[i].name, flags != 0, threads, status);
}

static void *idles(void *arg)
{
	return arg;
}

static void others(int which, int flags, bool threads)
{
	(void)flags;
	if (threads)
		run_in_thread(idles);
	(which ? is_told : handler_waits)();
}

int main(void)
{
	for (int i = 0; i < (int)(sizeof(cases) / sizeof(cases[0])); i++)
		for (int how = cases[i].threads ? 2 : 0; how < 4; how++)
			apart(jumps_out, i, how & 1 ? SA_RESTART : 0, how & 2);
	for (int how = 0; how < 4; how++)
		apart(others, how & 1, 0, how & 2);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* State that Linux keeps for each kernel thread belongs to one thread here: the working
 * directory after unshare(CLONE_FS), and the file system user. Only threads that it
 * creates inherit it. Such a thread still waits, forks, and gets signals; it can be
 * cancelled and joined, and it runs its destructors. */
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "posix.h"

enum { THREADS = 6, TURNS = 20, GENERATIONS = 40 };

static char home_dir[4096];
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void is_in(const char *dir)
{
	char at[4096];

	CHECK(getcwd(at, sizeof(at)) && !strcmp(at, dir));
}

static void goes_to(const char *dir)
{
	CHECK(!unshare(CLONE_FS));
	CHECK(!chdir(dir));
	is_in(dir);
}

/* ---- each thread has its own state, and waits in every way ---- */

static void *wanders(void *arg)
{
	char dir[32];
	int id = (int)(intptr_t)arg;
	pid_t tid = gettid();

	snprintf(dir, sizeof(dir), "/proc/%d", id ? (int)getpid() : 1);
	if (id % 2)
		goes_to(dir);
	for (int i = 0; i < TURNS; i++) {
		CHECK(!pthread_mutex_lock(&m));
		while (turn % THREADS != id)
			CHECK(!pthread_cond_wait(&changed, &m));
		turn++;
		CHECK(!pthread_cond_broadcast(&changed));
		CHECK(!pthread_mutex_unlock(&m));
		usleep(100);
		sched_yield();
		is_in(id % 2 ? dir : home_dir);
	}
	CHECK(gettid() == tid);
	return arg;
}

static void threads_keep_their_directories(void)
{
	pthread_t t[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		t[i] = start(wanders, (void *)i);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	is_in(home_dir);
	puts("each in its own directory");
}

static void *has_its_user(void *arg)
{
	uid_t uid = (uid_t)(uintptr_t)arg;

	if (uid)
		setfsuid(uid);
	for (int i = 0; i < TURNS; i++) {
		usleep(100);
		CHECK((uid_t)setfsuid((uid_t)-1) == uid);
	}
	if (uid) { /* the same by setresuid */
		CHECK(!syscall(SYS_setresuid, -1, uid, -1) && geteuid() == uid);
		usleep(100);
		CHECK(geteuid() == uid);
	} else {
		CHECK(geteuid() == 0);
	}
	return arg;
}

static void threads_keep_their_users(void)
{
	pthread_t t[THREADS];

	if (getuid())
		return;
	for (uintptr_t i = 0; i < THREADS; i++)
		t[i] = start(has_its_user, (void *)(i % 2 * (1000 + i)));
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	CHECK(!geteuid() && !setfsuid((uid_t)-1));
}

/* ---- keyrings and counters, where the system permits them ---- */

static long session_keyring(void)
{
	return syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_SESSION_KEYRING, 0);
}

static void *has_its_keyring(void *arg)
{
	long id = arg ? syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL)
		      : session_keyring();

	for (int i = 0; i < TURNS; i++) {
		usleep(100);
		CHECK(session_keyring() == id);
	}
	return (void *)(intptr_t)id;
}

static long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Computes for some ms, and waits in between. */
static void *counts_itself(void *arg)
{
	struct perf_event_attr attr = { .size = sizeof(attr),
					.type = PERF_TYPE_SOFTWARE,
					.config = PERF_COUNT_SW_TASK_CLOCK };
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0L);
	long begin = cpu_ns(), n;

	if (fd < 0)
		return arg;
	for (int i = 0; i < TURNS; i++) {
		for (long to = cpu_ns() + 1000000; cpu_ns() < to;)
			;
		usleep(100);
	}
	CHECK(read(fd, &n, sizeof(n)) == sizeof(n));
	CHECK(n >= (cpu_ns() - begin) / 4 * 3);
	close(fd);
	return arg;
}

static void threads_keep_keyrings_and_counters(void)
{
	pthread_t t[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		t[i] = start(has_its_keyring, (void *)(i % 2));
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	for (int i = 0; i < THREADS; i++)
		t[i] = start(counts_itself, NULL);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
}

/* ---- threads inherit the state ---- */

static void *inherits(void *arg)
{
	sigset_t now;

	char name[16];

	is_in("/proc");
	CHECK(!pthread_getname_np(pthread_self(), name, sizeof(name)) &&
	      !strcmp(name, "heir"));
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &now));
	CHECK(sigismember(&now, SIGUSR2) == 1 && sigismember(&now, SIGUSR1) == 0);
	if (arg)
		finish(start(inherits, NULL));
	pthread_exit(arg);
}

static void *has_heirs(void *arg)
{
	sigset_t set = only(SIGUSR2);
	void *r = NULL;
	pthread_t t;

	goes_to("/proc");
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	CHECK(!pthread_setname_np(pthread_self(), "heir"));
	t = start(inherits, &set);
	CHECK(!pthread_join(t, &r) && r == &set);
	return arg;
}

/* ---- signals ---- */

static __thread volatile sig_atomic_t got;
static __thread sigjmp_buf back;
static int fds[2];
static sem_t here;

static void on_signal(int sig)
{
	got = sig;
	if (sig == SIGUSR2)
		sem_post(&here);
	if (sig == SIGHUP)
		siglongjmp(back, 1);
}

static void handle(int sig, int flags)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = flags };

	CHECK(!sigaction(sig, &a, NULL));
}

static void *is_signalled(void *arg)
{
	struct pollfd p = { .fd = -1 };
	sigset_t set, none;
	siginfo_t info;
	char c;

	goes_to("/proc");
	sem_post(&here); /* SIGUSR1, without SA_RESTART */
	FAILS(read(fds[0], &c, 1), EINTR);
	CHECK(got == SIGUSR1);
	got = 0;
	sem_post(&here); /* SIGUSR2, with SA_RESTART, then a byte */
	CHECK(read(fds[0], &c, 1) == 1 && got == SIGUSR2);
	got = 0;
	if (!sigsetjmp(back, 1)) {
		sem_post(&here);
		for (;;)
			pause();
	}
	CHECK(got == SIGHUP);
	sigemptyset(&none);
	set = only(SIGUSR1);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	for (int i = 0; i < TURNS; i++) {
		got = 0;
		sem_post(&here);
		if (i % 3 == 0)
			FAILS(ppoll(&p, 1, NULL, &none), EINTR);
		else if (i % 3 == 1)
			FAILS(sigsuspend(&none), EINTR);
		else
			CHECK(sigwaitinfo(&set, &info) == SIGUSR1 &&
			      info.si_code == SI_USER);
		CHECK(i % 3 == 2 ? !got : got == SIGUSR1);
	}
	sigaddset(&set, SIGHUP);
	CHECK(!pthread_sigmask(SIG_BLOCK, &set, NULL));
	if (!sigsetjmp(back, 1)) { /* jumps out of a call with a mask */
		sem_post(&here);
		for (;;)
			ppoll(&p, 1, NULL, &none);
	}
	sem_post(&here);
	FAILS(pselect(0, NULL, NULL, NULL, NULL, &none), EINTR);
	is_in("/proc");
	return arg;
}

static void now(void)
{
	while (sem_wait(&here))
		;
}

/* Waits until some thread sleeps in a read of fd. */
static void reads(int fd)
{
	while (!some_task_in(SYS_read, fd))
		usleep(100);
}

static void *signals(void *arg)
{
	pthread_t t;

	CHECK(!pipe(fds) && !sem_init(&here, 0, 0));
	handle(SIGUSR1, 0);
	handle(SIGUSR2, SA_RESTART);
	handle(SIGHUP, 0);
	t = start(is_signalled, NULL);
	now();
	reads(fds[0]);
	CHECK(!pthread_kill(t, SIGUSR1));
	now();
	reads(fds[0]);
	CHECK(!pthread_kill(t, SIGUSR2));
	now(); /* its handler has posted */
	CHECK(write(fds[1], "x", 1) == 1);
	now();
	CHECK(!pthread_kill(t, SIGHUP));
	for (int i = 0; i < TURNS; i++) {
		now();
		if (i % 2)
			usleep(2000);
		CHECK(!pthread_kill(t, SIGUSR1));
	}
	now();
	CHECK(!pthread_kill(t, SIGHUP));
	now();
	CHECK(!pthread_kill(t, SIGUSR1));
	finish(t);
	puts("signalled");
	return arg;
}

static void on_usr1_goes(int sig)
{
	got = sig;
	goes_to("/proc");
}

/* The thread gets its own working directory in a handler. */
static void *goes_in_a_handler(void *arg)
{
	signal(SIGUSR1, on_usr1_goes);
	CHECK(!pthread_kill(pthread_self(), SIGUSR1));
	CHECK(got == SIGUSR1);
	for (int i = 0; i < TURNS; i++) {
		usleep(100);
		is_in("/proc");
	}
	return arg;
}

/* ---- cancellation ---- */

static void unlocks(void *p)
{
	CHECK(!pthread_mutex_unlock(p));
}

static void *is_cancelled(void *arg)
{
	char c;

	goes_to("/proc");
	sem_post(&here);
	if (arg)
		CHECK(read(fds[0], &c, 1) < 0);
	else {
		CHECK(!pthread_mutex_lock(&m));
		pthread_cleanup_push(unlocks, &m);
		for (;;)
			pthread_cond_wait(&changed, &m);
		pthread_cleanup_pop(1);
	}
	return NULL;
}

static void *cancels(void *arg)
{
	void *r;

	for (intptr_t i = 0; i < 6; i++) {
		pthread_t t = start(is_cancelled, (void *)(i % 2));

		now();
		if (i > 2)
			usleep(10000);
		CHECK(!pthread_cancel(t));
		CHECK(!pthread_join(t, &r) && r == PTHREAD_CANCELED);
	}
	puts("cancelled");
	return arg;
}

/* ---- fork ---- */

static void *is_in_proc(void *arg)
{
	is_in("/proc");
	usleep(100);
	return arg;
}

static void *forks(void *arg)
{
	pid_t pid;

	goes_to("/proc");
	CHECK(!system("test \"$(pwd)\" = /proc"));
	CHECK((pid = fork()) >= 0);
	if (!pid) {
		is_in("/proc");
		finish(start(is_in_proc, NULL));
		is_in("/proc");
		_exit(7);
	}
	CHECK(end_of(pid) == 7);
	return arg;
}

/* The only thread of a child may unshare the user namespace, if the
 * system permits it. */
static void *is_alone_in_a_child(void *arg)
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(unshare(CLONE_NEWUSER) ? errno : 0);
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("user namespace: %d\n", WEXITSTATUS(status));
	return arg;
}

static void *exits(void *arg)
{
	goes_to("/proc");
	syscall(SYS_exit, 0);
	return arg;
}

/* The child of an inheriting thread has another thread, which goes on when the first
 * ends. */
static void *comes_late(void *arg)
{
	usleep(20000);
	_exit(7);
	return arg;
}

static void *heir_forks(void *arg)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		CHECK(!pthread_detach(start(comes_late, NULL)));
		pthread_exit(NULL);
	}
	CHECK(end_of(pid) == 7);
	return arg;
}

static void *has_an_heir_that_forks(void *arg)
{
	goes_to("/proc");
	run_in_thread(heir_forks);
	return arg;
}

/* ---- the threads come and go ---- */

static pthread_key_t key;

static void at_end(void *p)
{
	is_in("/proc");
	(*(int *)p)++;
}

static void *comes_and_goes(void *arg)
{
	CHECK(!pthread_setspecific(key, arg));
	goes_to("/proc");
	return arg;
}

static int kernel_threads(void)
{
	char line[256];
	int n = 0;
	FILE *f = fopen("/proc/self/status", "r");

	CHECK(f != NULL);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "Threads: %d", &n) == 1)
			break;
	fclose(f);
	return n;
}

static void *generations(void *arg)
{
	int ends[THREADS] = { 0 };
	pthread_t t[THREADS];
	int least = 1 << 30;

	CHECK(!pthread_key_create(&key, at_end));
	for (int g = 0; g < GENERATIONS; g++) {
		for (int i = 0; i < THREADS; i++)
			t[i] = start(comes_and_goes, &ends[i]);
		for (int i = 0; i < THREADS; i++)
			finish(t[i]);
		if (g > GENERATIONS / 2 && kernel_threads() < least)
			least = kernel_threads();
	}
	for (int i = 0; i < THREADS; i++)
		CHECK(ends[i] == GENERATIONS);
	CHECK(least < GENERATIONS * THREADS / 2); /* the kernel threads end */
	is_in(home_dir);
	return arg;
}

int main(void)
{
	CHECK(getcwd(home_dir, sizeof(home_dir)));
	RUN(threads_keep_their_directories);
	RUN(threads_keep_their_users);
	RUN(threads_keep_keyrings_and_counters);
	run_in_thread(has_heirs);
	run_in_thread(signals);
	run_in_thread(goes_in_a_handler);
	run_in_thread(cancels);
	run_in_thread(forks);
	run_in_thread(is_alone_in_a_child);
	run_in_thread(has_an_heir_that_forks);
	run_in_thread(exits);
	run_in_thread(generations);
	is_in(home_dir);
	goes_to("/proc"); /* main, too */
	run_in_thread(has_heirs);
	run_in_thread(cancels);
	puts("done");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A thread's CPU-time timer expires although the kernel thread of the library that
 * receives its signals does not run: the thread gets the signal at its next call that
 * waits, or when it reads its CPU clock. A child stops that kernel thread by ptrace.
 * Natively there is no such kernel thread. */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

static int ask[2], answer[2];
static volatile int got;

/* The parent's kernel thread "uk-signals", or 0. */
static pid_t receiver(void)
{
	char path[300], name[32] = "";
	struct dirent *e;
	pid_t found = 0;
	FILE *f;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", getppid());
	CHECK((d = opendir(path)));
	while (!found && (e = readdir(d))) {
		snprintf(path, sizeof(path), "/proc/%d/task/%s/comm", getppid(),
			 e->d_name);
		f = e->d_name[0] == '.' ? NULL : fopen(path, "r");
		if (f && fgets(name, sizeof(name), f) && !strcmp(name, "uk-signals\n"))
			found = atoi(e->d_name);
		if (f)
			fclose(f);
	}
	closedir(d);
	return found;
}

/* Stops it, if it exists and ptrace is permitted. Returns its id or 0. */
static pid_t hold(void)
{
	pid_t tid = receiver();

	if (!tid || ptrace(PTRACE_SEIZE, tid, 0, 0))
		return 0;
	CHECK(!ptrace(PTRACE_INTERRUPT, tid, 0, 0));
	CHECK(waitpid(tid, NULL, __WALL) == tid);
	return tid;
}

static int debugger(void)
{
	pid_t held = 0;
	char c;

	while (read(ask[0], &c, 1) == 1) {
		if (c == 'h')
			held = hold();
		else if (held)
			CHECK(!ptrace(PTRACE_DETACH, held, 0, 0));
		CHECK(write(answer[1], &c, 1) == 1);
	}
	return 0;
}

static void tell_debugger(char c)
{
	CHECK(write(ask[1], &c, 1) == 1 && read(answer[0], &c, 1) == 1);
}

static void on_timer(int sig, siginfo_t *info, void *uc)
{
	(void)uc;
	CHECK(sig == SIGRTMIN + 2 && info->si_code == SI_TIMER &&
	      info->si_overrun >= 0 && info->si_value.sival_int == 7);
	got++;
}

/* raw: use system calls instead of libc's functions. */
static bool raw;

static timer_t make(struct sigevent *ev)
{
	timer_t id;
	int kernels;

	if (!raw) {
		CHECK(!timer_create(CLOCK_THREAD_CPUTIME_ID, ev, &id));
		return id;
	}
	CHECK(!syscall(SYS_timer_create, CLOCK_THREAD_CPUTIME_ID, ev, &kernels));
	return (timer_t)(intptr_t)kernels;
}

static void set(timer_t id, const struct itimerspec *t)
{
	struct itimerspec is;

	if (!raw) {
		CHECK(!timer_settime(id, 0, t, NULL));
		return;
	}
	CHECK(!syscall(SYS_timer_settime, id, 0, t, NULL));
	CHECK(!syscall(SYS_timer_gettime, id, &is));
	CHECK(is.it_interval.tv_nsec == t->it_interval.tv_nsec);
}

static void end(timer_t id)
{
	CHECK(syscall(SYS_timer_getoverrun, id) >= 0);
	CHECK(!(raw ? syscall(SYS_timer_delete, id) : timer_delete(id)));
}

static timer_t every_ms(long ms)
{
	struct itimerspec t = { { 0, ms * 1000000 }, { 0, ms * 1000000 } };
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD_ID,
			       .sigev_signo = SIGRTMIN + 2 };
	timer_t id;

	ev.sigev_value.sival_int = 7;
	ev._sigev_un._tid = gettid();
	id = make(&ev);
	set(id, &t);
	return id;
}

static void computes(void)
{
	for (volatile int i = 0; i < 50000000; i++)
		;
}

static long spent_ms(void)
{
	struct timespec ts;

	CHECK(!clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts));
	return ts.tv_sec * 1000 + ts.tv_nsec / 1000000;
}

/* A thread that waits now must not wait long: natively the signal has
 * arrived before. */
static void at_a_wait(void)
{
	timer_t id = every_ms(1);

	got = 0;
	computes();
	usleep(1000);
	CHECK(got);
	end(id);
}

static void at_its_clock(void)
{
	timer_t id = every_ms(5);
	long until = spent_ms() + 50;

	got = 0;
	while (spent_ms() < until)
		;
	CHECK(got);
	end(id);
}

static void negative_ids_are_refused(void)
{
	struct itimerspec is = { { 0, 0 }, { 1, 0 } };

	FAILS((int)syscall(SYS_timer_settime, -1L, 0, &is, NULL), EINVAL);
	FAILS((int)syscall(SYS_timer_gettime, -1L, &is), EINVAL);
	FAILS((int)syscall(SYS_timer_delete, -1L), EINVAL);
}

static void *spends(void *arg)
{
	timer_t id = every_ms(900);

	tell_debugger('h');
	for (int i = 0; i < 6; i++) {
		raw = i % 2;
		at_a_wait();
		at_its_clock();
	}
	tell_debugger('r');
	raw = false;
	end(id);
	negative_ids_are_refused();
	return arg;
}

int main(void)
{
	struct sigaction a = { .sa_sigaction = on_timer,
			       .sa_flags = SA_SIGINFO | SA_RESTART };
	pid_t child;

	CHECK(!pipe(ask) && !pipe(answer));
	CHECK((child = fork()) >= 0);
	if (!child) {
		close(ask[1]);
		_exit(debugger());
	}
	prctl(PR_SET_PTRACER, child);
	CHECK(!sigaction(SIGRTMIN + 2, &a, NULL));
	run_in_thread(spends);
	close(ask[1]);
	CHECK(end_of(child) == 0);
	puts("timers expired");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What ties a child to the thread that made it: ptrace, the signal at the end of the
 * parent, and waits for the children of one thread. The threads sleep and yield in
 * between, so user threads move to other kernel threads. */
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asleep.h"
#include "posix.h"

enum { THREADS = 6, ROUNDS = 6 };

static void moves(void)
{
	sched_yield();
	usleep(200);
	sched_yield();
}

/* ---- ptrace ---- */

static long word = 1;

static void is_traced(void)
{
	CHECK(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	raise(SIGSTOP);
	for (int i = 0; i < ROUNDS; i++) {
		usleep(100);
		raise(SIGUSR1); /* the tracer leaves it out */
	}
	_exit((int)word);
}

static void stops_by(pid_t pid, int sig)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == sig);
}

static void *traces(void *arg)
{
	long to = (long)(intptr_t)arg + 10;
	pid_t pid = make_child();

	if (!pid)
		is_traced();
	for (int i = 0; i <= ROUNDS; i++) {
		stops_by(pid, i ? SIGUSR1 : SIGSTOP);
		moves();
		CHECK(ptrace(PTRACE_PEEKDATA, pid, &word, NULL) == (i ? to : 1));
		CHECK(!ptrace(PTRACE_POKEDATA, pid, &word, to));
		moves();
		CHECK(!syscall(SYS_ptrace, PTRACE_CONT, (long)pid, 0L, 0L));
	}
	CHECK(end_of(pid) == to);
	FAILS(ptrace(PTRACE_CONT, pid, NULL, NULL), ESRCH);
	return arg;
}

static void many_threads_trace(void)
{
	pthread_t t[THREADS];

	for (intptr_t i = 0; i < THREADS; i++)
		t[i] = start(traces, (void *)i);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
}

/* Its child executes a program. */
static void *traces_a_program(void *arg)
{
	pid_t pid = make_child();

	if (!pid) {
		CHECK(!ptrace(PTRACE_TRACEME, 0, NULL, NULL));
		execl("/bin/true", "true", NULL);
		_exit(9);
	}
	stops_by(pid, SIGTRAP);
	moves();
	CHECK(!ptrace(PTRACE_CONT, pid, NULL, NULL));
	CHECK(end_of(pid) == 0);
	return arg;
}

static int way[2];
static pid_t late;
static volatile int *now;

static void *waits_first(void *arg)
{
	pthread_setname_np(pthread_self(), "waits-first");
	stops_by(late, SIGSTOP);
	return arg;
}

/* Another thread waits already when the child becomes a tracee. */
static void *is_traced_late(void *arg)
{
	pthread_t t;

	now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(now != MAP_FAILED);
	late = make_child();
	if (!late) {
		while (!*now)
			raw_call(SYS_sched_yield, 0, NULL, 0);
		is_traced();
	}
	t = start(waits_first, NULL);
	until_sleeps("waits-first");
	*now = 1;
	finish(t);
	CHECK(!ptrace(PTRACE_KILL, late, NULL, NULL));
	CHECK(end_of(late) == 1000 + SIGKILL);
	return arg;
}

/* ---- the signal at the end of the parent ---- */

static sem_t begun, go;

static void sets(int sig)
{
	int is = -1;

	CHECK(!prctl(PR_SET_PDEATHSIG, sig));
	CHECK(!prctl(PR_GET_PDEATHSIG, &is) && is == sig);
}

/* Forks a child that sets the signal and waits for a byte. */
static pid_t child_with(int sig, int other)
{
	pid_t pid;
	int p[2];
	char c;

	CHECK(!pipe(p));
	pid = make_child();
	if (!pid) {
		if (other)
			sets(other);
		sets(sig);
		CHECK(write(p[1], "", 1) == 1);
		CHECK(read(way[0], &c, 1) == 1);
		_exit(7);
	}
	CHECK(read(p[0], &c, 1) == 1);
	close(p[0]);
	close(p[1]);
	return pid;
}

static void *leaves_one(void *arg)
{
	pid_t *pid = arg;

	pid[0] = child_with(SIGKILL, 0);
	pid[1] = child_with(SIGTERM, SIGKILL);
	pid[2] = child_with(0, SIGKILL);
	moves();
	return arg;
}

static void *leaves_a_program(void *arg)
{
	pid_t pid = vfork();

	CHECK(pid >= 0);
	if (!pid) {
		dup2(way[0], 0);
		close(way[1]);
		if (prctl(PR_SET_PDEATHSIG, SIGKILL))
			_exit(9);
		execl("/bin/cat", "cat", NULL);
		_exit(9);
	}
	*(pid_t *)arg = pid;
	return arg;
}

static void children_get_the_signal(void)
{
	pid_t pid[3];

	CHECK(!pipe(way));
	finish(start(leaves_one, pid));
	SAY(end_of(pid[0]));
	SAY(end_of(pid[1]));
	CHECK(!kill(pid[2], 0) && write(way[1], "", 1) == 1);
	SAY(end_of(pid[2]));
	finish(start(leaves_a_program, pid));
	SAY(end_of(pid[0]));
}

/* ---- the kernel thread that has forked gets state of its own ---- */

static void *lives_on(void *arg)
{
	pid_t pid = child_with(SIGKILL, 0);

	sem_post(&begun);
	while (sem_wait(&go))
		;
	CHECK(write(way[1], "", 1) == 1);
	SAY(end_of(pid));
	return arg;
}

static void *binds(void *arg)
{
	CHECK(!unshare(CLONE_FS));
	return arg;
}

static void *starts_it(void *arg)
{
	pthread_t t = start(lives_on, NULL);

	while (sem_wait(&begun))
		;
	for (int i = 0; i < THREADS; i++)
		run_in_thread(binds);
	sem_post(&go);
	finish(t);
	return arg;
}

static void *binds_and_leaves(void *arg)
{
	binds(NULL);
	return leaves_one(arg);
}

static void bound_threads_end(void)
{
	pid_t pid[3];

	CHECK(!sem_init(&begun, 0, 0) && !sem_init(&go, 0, 0));
	run_in_thread(starts_it);
	finish(start(binds_and_leaves, pid));
	SAY(end_of(pid[0]));
	SAY(end_of(pid[1]));
	CHECK(write(way[1], "", 1) == 1);
	SAY(end_of(pid[2]));
}

/* ---- waits for the caller's own children ---- */

static pid_t short_child(void)
{
	pid_t pid = make_child();

	if (!pid)
		_exit(3);
	moves();
	return pid;
}

static void *waits_for_its_own(void *arg)
{
	siginfo_t info;
	int status;
	pid_t pid = short_child();

	CHECK(waitpid(pid, &status, __WNOTHREAD) == pid && WEXITSTATUS(status) == 3);
	pid = short_child();
	CHECK(wait4(-1, &status, __WNOTHREAD | __WALL, NULL) == pid);
	pid = short_child();
	CHECK(!waitid(P_PID, (id_t)pid, &info, WEXITED | __WNOTHREAD));
	CHECK(info.si_pid == pid && info.si_status == 3);
	FAILS(waitpid(-1, &status, __WNOTHREAD), ECHILD);
	return arg;
}

int main(void)
{
	run_in_thread(waits_for_its_own);
	RUN(children_get_the_signal);
	RUN(bound_threads_end);
	run_in_thread(is_traced_late);
	run_in_thread(traces_a_program);
	RUN(many_threads_trace);
	puts("done");
	return 0;
}

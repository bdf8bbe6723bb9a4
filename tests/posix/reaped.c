/* SPDX-License-Identifier: Apache-2.0 */
/* main blocks SIGCHLD and a thread does not: the handler has run when any of the wait
 * calls returns. If all threads block it, it is pending then, with the siginfo that the
 * kernel sent, however often a child was waited for. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "posix.h"

#define TIMES 40

static volatile int ran;

static void on_child(int sig)
{
	(void)sig;
	ran++;
}

static pid_t by_waitpid(pid_t pid)
{
	return waitpid(pid, NULL, 0);
}

static pid_t by_wait(pid_t pid)
{
	(void)pid;
	return wait(NULL);
}

static pid_t by_wait4(pid_t pid)
{
	struct rusage usage;

	return wait4(pid, NULL, WUNTRACED, &usage);
}

static pid_t by_waitid(pid_t pid)
{
	siginfo_t info;

	return waitid(P_PID, (id_t)pid, &info, WEXITED) ? -1 : info.si_pid;
}

static pid_t by_waitid_all(pid_t pid)
{
	siginfo_t info;

	(void)pid;
	return waitid(P_ALL, 0, &info, WEXITED) ? -1 : info.si_pid;
}

static pid_t by_looking(pid_t pid)
{
	pid_t r;

	while (!(r = waitpid(pid, NULL, WNOHANG)))
		sched_yield();
	return r;
}

static const struct {
	const char *name;
	pid_t (*wait)(pid_t pid);
} way[] = { { "waitpid", by_waitpid }, { "wait", by_wait },
	    { "wait4", by_wait4 },     { "waitid", by_waitid },
	    { "any", by_waitid_all },  { "WNOHANG", by_looking } };

static pid_t short_child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid)
		_exit(0);
	return pid;
}

static void *handles(void *arg)
{
	sigset_t s = only(SIGCHLD);

	CHECK(!pthread_sigmask(SIG_UNBLOCK, &s, NULL));
	for (unsigned w = 0; w < sizeof(way) / sizeof(way[0]); w++) {
		int late = 0;

		for (int i = 0; i < TIMES; i++) {
			int before = ran;
			pid_t pid = short_child();

			CHECK(way[w].wait(pid) == pid);
			late += ran == before;
		}
		printf("%s: late %d\n", way[w].name, late);
	}
	return arg;
}

/* Since Linux 6.15 a process that has taken a signal can queue it again with its
 * siginfo unchanged. */
static bool comes_as_sent(void)
{
	return !syscall(424, -10000, 0, NULL, 2);
}

static void *finds_pending(void *arg)
{
	struct timespec none = { 0, 0 };
	sigset_t s = only(SIGCHLD), now;
	siginfo_t info;

	for (int i = 0; i < TIMES; i++) {
		pid_t pid = short_child();

		CHECK(waitpid(pid, NULL, 0) == pid);
		CHECK(!sigpending(&now) && sigismember(&now, SIGCHLD));
		CHECK(sigtimedwait(&s, &info, &none) == SIGCHLD);
		CHECK(!comes_as_sent() ||
		      (info.si_code == CLD_EXITED && info.si_pid == pid));
		CHECK(sigtimedwait(&s, &info, &none) == -1 && errno == EAGAIN);
	}
	printf("pending\n");
	return arg;
}

int main(void)
{
	struct sigaction a = { .sa_handler = on_child, .sa_flags = SA_RESTART };
	sigset_t s = only(SIGCHLD);

	CHECK(!sigaction(SIGCHLD, &a, NULL));
	CHECK(!pthread_sigmask(SIG_BLOCK, &s, NULL));
	finish(start(finds_pending, NULL));
	finish(start(handles, NULL));
	return 0;
}

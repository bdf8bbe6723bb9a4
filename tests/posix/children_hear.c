/* SPDX-License-Identifier: Apache-2.0 */
/* Signals while a child is created. The child starts with the mask of its creator,
 * whatever arrives at that moment, and its handlers run, whichever call created it
 * (fork, vfork, _Fork, clone). Both main and another thread create children. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

#define ROUNDS 20
#define STACK 65536

static char *self, word[] = "child";
static volatile int over;
static volatile sig_atomic_t ran;
static pthread_t maker;

static void on_signal(int sig)
{
	(void)sig;
	ran++;
}

static void *storm(void *arg)
{
	while (!over) {
		pthread_kill(maker, SIGUSR1);
		sched_yield();
	}
	return arg;
}

/* Whether the program that the child executes starts with SIGUSR1 blocked. */
static int is_clean(void)
{
	sigset_t s;

	CHECK(!sigprocmask(SIG_SETMASK, NULL, &s));
	return sigismember(&s, SIGUSR1);
}

static void ends_with(pid_t pid, int code)
{
	int st;

	CHECK(pid > 0);
	while (waitpid(pid, &st, 0) < 0)
		CHECK(errno == EINTR);
	CHECK(WIFEXITED(st) && WEXITSTATUS(st) == code);
}

static void begins_clean(pid_t (*make)(void))
{
	char *argv[] = { self, word, NULL };
	pthread_t t;

	maker = pthread_self();
	over = 0;
	CHECK(!pthread_create(&t, NULL, storm, NULL));
	for (int i = 0; i < ROUNDS; i++) {
		pid_t pid = make();

		if (!pid) {
			execv(self, argv);
			_exit(9);
		}
		ends_with(pid, 0);
	}
	over = 1;
	CHECK(!pthread_join(t, NULL));
	CHECK(!is_clean());
}

/* In a child: it signals itself, both while the signal is unblocked and while it is
 * blocked. */
static int hears(void *arg)
{
	sigset_t s, old;

	(void)arg;
	ran = 0;
	if (kill(getpid(), SIGUSR1) || ran != 1)
		return 1;
	sigemptyset(&s);
	sigaddset(&s, SIGUSR1);
	if (sigprocmask(SIG_BLOCK, &s, &old) || sigismember(&old, SIGUSR1))
		return 2;
	if (kill(getpid(), SIGUSR1) || ran != 1)
		return 3;
	if (sigprocmask(SIG_SETMASK, &old, NULL) || ran != 2)
		return 4;
	return raise(SIGUSR1) || ran != 3 ? 5 : 0;
}

static pid_t by_syscall(void)
{
	return (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void hear_in(pid_t (*make)(void))
{
	pid_t pid = make();

	if (!pid)
		_exit(hears(NULL));
	ends_with(pid, 0);
}

static void *all(void *arg)
{
	static char stack[STACK] __attribute__((aligned(16)));

	begins_clean(vfork);
	begins_clean(fork);
	begins_clean(_Fork);
	hear_in(fork);
	hear_in(_Fork);
	hear_in(by_syscall);
	hear_in(vfork);
	ends_with(clone(hears, stack + sizeof(stack), SIGCHLD, NULL), 0);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	pthread_t t;

	self = argv[0];
	if (argc > 1)
		return is_clean();
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	CHECK(!pthread_create(&t, NULL, all, NULL) && !pthread_join(t, NULL));
	all(NULL);
	puts("children get their signals");
	return 0;
}

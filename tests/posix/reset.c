/* SPDX-License-Identifier: Apache-2.0 */
/* SA_RESETHAND: after the handler has run in one thread, the default action applies in
 * all threads. */
#include <signal.h>
#include <sys/wait.h>

#include "posix.h"

static volatile int ran;

static void on_signal(int sig)
{
	ran += sig;
}

static void *raises(void *arg)
{
	CHECK(!raise((int)(intptr_t)arg));
	return arg;
}

static void *sends(void *arg)
{
	CHECK(!kill(getpid(), (int)(intptr_t)arg));
	return arg;
}

static void *faults(void *arg)
{
	raises(arg);
	return (void *)(intptr_t) * (volatile int *)arg;
}

static void thread(void *(*fn)(void *), int sig)
{
	finish(start(fn, (void *)(intptr_t)sig));
}

static void once(const char *what, void *(*first)(void *), void *(*then)(void *),
		 int sig)
{
	struct sigaction a = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		CHECK(!sigaction(sig, &a, NULL));
		thread(first, sig);
		CHECK(ran == sig && !sigaction(sig, NULL, &a));
		CHECK(a.sa_handler == SIG_DFL);
		then((void *)(intptr_t)sig);
		_exit(1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("%s: %d\n", what, WIFSIGNALED(status) ? WTERMSIG(status) : -1);
}

static void *raised_again(void *arg)
{
	thread(raises, (int)(intptr_t)arg);
	return arg;
}

static void *fault_after(void *arg)
{
	thread(faults, (int)(intptr_t)arg);
	return arg;
}

int main(void)
{
	once("a thread's, then main's", raises, raises, SIGUSR1);
	once("a thread's, then the process's", raises, sends, SIGUSR1);
	once("a thread's, then another's", raises, raised_again, SIGTERM);
	once("asked for, then a fault", raises, fault_after, SIGSEGV);
	return 0;
}

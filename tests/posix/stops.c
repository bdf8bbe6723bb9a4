/* SPDX-License-Identifier: Apache-2.0 */
/* A thread stops its process by SIGSTOP, SIGTSTP and SIGTTIN. The thread does not go on
 * before the process is continued, the parent learns the signal, and afterwards all
 * threads go on. */
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "posix.h"

static int *step;
static volatile int stop;

static void *stops(void *arg)
{
	CHECK(!raise(SIGSTOP));
	++*step;
	CHECK(!raise(SIGTSTP));
	++*step;
	CHECK(!pthread_kill(pthread_self(), SIGTTIN));
	++*step;
	return arg;
}

static void *ticks(void *arg)
{
	while (!stop)
		sched_yield();
	return arg;
}

static int child(void)
{
	pthread_t t[2];

	setpgid(0, 0);
	for (int i = 0; i < 2; i++)
		t[i] = start(ticks, NULL);
	finish(start(stops, NULL));
	stop = 1;
	for (int i = 0; i < 2; i++)
		finish(t[i]);
	return 5;
}

int main(void)
{
	int status;
	pid_t pid;

	step = mmap(NULL, sizeof(*step), PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(step != MAP_FAILED);
	pid = fork();
	if (!pid)
		_exit(child());
	while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) {
		printf("step %d, stopped by %d\n", *step, WSTOPSIG(status));
		kill(pid, SIGCONT);
	}
	printf("exit %d\n", WEXITSTATUS(status));
	return 0;
}

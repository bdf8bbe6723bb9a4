/* SPDX-License-Identifier: Apache-2.0 */
/* A handler forks. It interrupts a thread that computes or waits in a call. In the
 * handler the child creates threads and starts programs, which inherit its signal mask.
 * The child also returns from the handler and goes on, and signals reach it. */
#include <sched.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "posix.h"

extern char **environ;

#define WANTED "s/^SigBlk:.*\\(....\\)$/\\1/p"

static int (*child)(void);
static volatile int handled, stop, arrived;
static int status;

static volatile int in_child;
static int ends[2], nothing;

static void on_fork(int sig)
{
	pid_t pid;

	(void)sig;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (child)
			_exit(child());
		in_child = 1;
		CHECK(dup2(nothing, ends[0]) == ends[0]); /* so that read returns */
		return;
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	handled++;
}

static void on_usr2(int sig)
{
	(void)sig;
	arrived++;
}

static void *twice(void *arg)
{
	return (void *)(2 * (intptr_t)arg);
}

static int threads(void)
{
	intptr_t sum = 0;

	for (intptr_t i = 0; i < 10; i++)
		sum += (intptr_t)finish(start(twice, (void *)i));
	return (int)sum;
}

static int execs(void)
{
	execlp("sed", "sed", "-n", WANTED, "/proc/self/status", (char *)NULL);
	return 99;
}

static int vforks(void)
{
	int st;
	pid_t pid = vfork();

	if (!pid) {
		execlp("sed", "sed", "-n", WANTED, "/proc/self/status", (char *)NULL);
		_exit(99);
	}
	return waitpid(pid, &st, 0) == pid ? st : 98;
}

static int forks(void)
{
	int st;
	pid_t pid = fork();

	if (!pid)
		_exit(threads());
	return waitpid(pid, &st, 0) == pid ? WEXITSTATUS(st) : 98;
}

/* The child, after it returned from the handler to the interrupted code. */
static _Noreturn void goes_on(void)
{
	kill(getpid(), SIGUSR2);
	for (int i = 0; i < 1000 && !arrived; i++)
		usleep(1000);
	_exit(arrived == 1 && threads() == 90 ? 17 : 97);
}

static void *computes(void *arg)
{
	while (!stop)
		if (in_child)
			goes_on();
	return arg;
}

static void *reads(void *arg)
{
	char c;
	ssize_t n;

	while ((n = read(ends[0], &c, 1)) < 0)
		if (in_child)
			goes_on();
	if (in_child)
		goes_on();
	return arg;
}

static const struct {
	const char *name;
	int (*child)(void);
} what[] = { { "threads", threads },
	     { "exec", execs },
	     { "vfork", vforks },
	     { "forks", forks },
	     { "goes on", NULL } };

static void each(pthread_t t)
{
	for (unsigned i = 0; i < sizeof(what) / sizeof(what[0]); i++)
		for (int n = 0; n < 3; n++) {
			int before = handled;

			child = what[i].child;
			CHECK(!pthread_kill(t, SIGUSR1));
			while (handled == before)
				usleep(100);
			printf("%s: %x\n", what[i].name, (unsigned)status);
			fflush(stdout);
		}
}

int main(void)
{
	struct sigaction a = { .sa_handler = on_fork };
	pthread_t t;

	setvbuf(stdout, NULL, _IOLBF, 0);
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	signal(SIGUSR2, on_usr2);
	CHECK(!pipe(ends) && (nothing = open("/dev/null", O_RDONLY)) >= 0);
	t = start(computes, NULL);
	each(t);
	stop = 1;
	finish(t);

	t = start(reads, NULL);
	usleep(10000);
	each(t);
	CHECK(write(ends[1], "x", 1) == 1);
	finish(t);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* libc's helper kernel threads for SIGEV_THREAD count as threads of the process: it
 * lives on when all other threads have called pthread_exit. A forked child has no
 * helper, so it ends. */
#include <signal.h>
#include <sys/wait.h>

#include "posix.h"

#define AFTER_MS 30 /* without the helper the process ends before this */

static void called(union sigval v)
{
	_exit(v.sival_int);
}

static void arm(long ms)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD,
			       .sigev_value.sival_int = 3,
			       .sigev_notify_function = called };
	struct itimerspec at = { .it_value = { ms / 1000, ms % 1000 * 1000000 } };
	timer_t id;

	CHECK(!timer_create(CLOCK_MONOTONIC, &ev, &id));
	CHECK(!timer_settime(id, 0, &at, NULL));
}

static void *nothing(void *arg)
{
	return arg;
}

static void timer(void)
{
	arm(AFTER_MS);
}

static void timer_and_threads(void)
{
	finish(start(nothing, NULL));
	arm(AFTER_MS);
}

/* The forked child of a process with such a timer has no helper thread. */
static void child(void)
{
	int status;
	pid_t pid;

	arm(1000000); /* never */
	pid = fork();
	if (!pid)
		pthread_exit(NULL);
	CHECK(waitpid(pid, &status, 0) == pid);
	_exit(status ? 1 : 4);
}

static void ends(const char *what, void (*fn)(void))
{
	int status;
	pid_t pid;

	pid = make_child();
	if (!pid) {
		fn();
		pthread_exit(NULL);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("%s: %x\n", what, status);
}

int main(void)
{
	ends("timer", timer);
	ends("timer, after threads", timer_and_threads);
	ends("forked child", child);
	return 0;
}

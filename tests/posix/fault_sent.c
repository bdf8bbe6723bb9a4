/* SPDX-License-Identifier: Apache-2.0 */
/* SIGSEGV and SIGBUS that are sent, not caused by an instruction, end the process or
 * are ignored as they are natively. They are sent in a thread, in its forked child, or
 * by the parent. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "posix.h"

enum way { RAISED, KILLED, QUEUED, IN_CHILD, BY_PARENT, FAULT, WAYS };

static const char *const names[] = {
	"raise", "kill", "sigqueue", "raise in a child", "by the parent", "a fault",
};
static int sig, late, ways;
static void (*wanted)(int);
static int told[2];
static int *volatile nowhere = (int *)8;

static int end_of_child(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 100 + WEXITSTATUS(status);
}

static void in_child(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		raise(sig);
		_exit(7);
	}
	_exit(end_of_child(pid));
}

static void *acts(void *arg)
{
	char c;

	if (late)
		signal(sig, wanted);
	switch (ways) {
	case RAISED:
		raise(sig);
		break;
	case KILLED:
		kill(getpid(), sig);
		break;
	case QUEUED:
		sigqueue(getpid(), sig, (union sigval){ .sival_int = 1 });
		break;
	case IN_CHILD:
		in_child();
		break;
	case BY_PARENT:
		CHECK(write(told[1], "", 1) == 1);
		CHECK(read(told[0], &c, 1) == 0);
		break;
	default:
		*nowhere = 1;
	}
	if (wanted == SIG_DFL && ways != IN_CHILD)
		for (;;) /* another thread may take it a moment later */
			pause();
	_exit(7);
	return arg;
}

static int run(void)
{
	int there[2], go[2], status;
	pid_t pid;
	char c;

	CHECK(!pipe(there) && !pipe(go));
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (!late)
			signal(sig, wanted);
		close(go[1]);
		told[0] = go[0];
		told[1] = there[1];
		finish(start(acts, NULL));
	}
	close(there[1]);
	close(go[0]);
	if (ways == BY_PARENT) {
		CHECK(read(there[0], &c, 1) == 1);
		CHECK(!kill(pid, sig));
	}
	/* a child that is to die of the signal must not end by end-of-file first */
	if (ways != BY_PARENT || wanted != SIG_DFL)
		close(go[1]);
	close(there[0]);
	status = end_of_child(pid);
	close(go[1]);
	return status;
}

int main(void)
{
	static void (*const handlers[])(int) = { SIG_DFL, SIG_IGN };
	static const int sigs[] = { SIGSEGV, SIGBUS };

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (int s = 0; s < 2; s++)
		for (int h = 0; h < 2; h++)
			for (late = 0; late < 2; late++)
				for (ways = 0; ways < WAYS; ways++) {
					sig = sigs[s];
					wanted = handlers[h];
					printf("%d %s %s, %s: %d\n", sig,
					       h ? "ignored" : "default",
					       late ? "late" : "early", names[ways],
					       run());
				}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A background thread reads from the terminal or changes it. The signal stops its
 * process, and the call completes once the process is in the foreground; a handler for
 * the signal runs. If the signal is blocked or ignored, or the process group is
 * orphaned, the call fails or succeeds at once. */
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <termios.h>

#include "posix.h"

static int terminal, ours, mine, ready[2];

static void on_signal(int sig)
{
	(void)sig;
	mine++;
}

static void handle(int sig, void (*fn)(int))
{
	struct sigaction a = { .sa_handler = fn };

	CHECK(!sigaction(sig, &a, NULL));
}

static void say(const char *what, long r, int err)
{
	dprintf(1, "%s: %ld, errno %d, handled %d\n", what, r, r < 0 ? err : 0, mine);
}

static void *reads(void *arg)
{
	char line[16] = "";
	struct iovec v = { line, sizeof(line) - 1 };
	ssize_t r = arg ? readv(ours, &v, 1) : read(ours, line, sizeof(line) - 1);

	say("read", r, errno);
	return arg;
}

static void *reads_blocked(void *arg)
{
	mask(SIG_BLOCK, SIGTTIN);
	return reads(arg);
}

/* Only this thread unblocks it: otherwise the kernel would choose main. */
static void *reads_alone(void *arg)
{
	mask(SIG_UNBLOCK, SIGTTIN);
	return reads(arg);
}

static void *changes(void *arg)
{
	struct termios t;
	int r;

	CHECK(!tcgetattr(ours, &t));
	r = arg ? ioctl(ours, TCSETS, &t) : tcsetattr(ours, TCSANOW, &t);
	say("change", r, errno);
	return arg;
}

/* As shells do. */
static void *takes_the_terminal(void *arg)
{
	int r;

	mask(SIG_BLOCK, SIGTTOU);
	r = tcsetpgrp(ours, getpgrp());
	say("take", r, errno);
	return arg;
}

static void *idles(void *arg)
{
	pause();
	return arg;
}

/* The session leader starts a background job, whose thread calls `what`. */
static void job(void *(*what)(void *), void *arg, int sig, void (*how)(int))
{
	int status;
	pid_t pid;

	CHECK(tcsetpgrp(ours, getpgrp()) == 0);
	pid = fork();
	if (!pid) {
		setpgid(0, 0);
		signal(SIGTTOU, SIG_DFL);
		if (sig)
			handle(sig, how);
		start(idles, NULL);
		finish(start(what, arg));
		_exit(3);
	}
	setpgid(pid, pid);
	while (waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status)) {
		dprintf(1, "stopped by %d\n", WSTOPSIG(status));
		CHECK(!tcsetpgrp(ours, pid));
		CHECK(write(terminal, "line\n", 5) == 5);
		CHECK(!kill(-pid, SIGCONT));
	}
	dprintf(1, "exit %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
	CHECK(!tcflush(ours, TCIFLUSH));
}

/* A job in an orphaned process group. */
static void orphan(void)
{
	char b;

	CHECK(!pipe(ready));
	if (!fork()) {
		if (!fork()) {
			setpgid(0, 0);
			while (getppid() != 1 && usleep(1000) == 0)
				if (write(ready[1], "", 0) < 0)
					break;
			finish(start(reads, NULL));
			_exit(0);
		}
		_exit(0);
	}
	wait(NULL);
	close(ready[1]);
	CHECK(read(ready[0], &b, 1) == 0);
}

int main(void)
{
	CHECK((terminal = posix_openpt(O_RDWR | O_NOCTTY)) >= 0);
	CHECK(!grantpt(terminal) && !unlockpt(terminal));
	if (!fork()) {
		struct termios t;

		CHECK(setsid() > 0);
		CHECK((ours = open(ptsname(terminal), O_RDWR)) >= 0);
		CHECK(!tcgetattr(ours, &t));
		t.c_lflag &= ~(tcflag_t)ECHO;
		CHECK(!tcsetattr(ours, TCSANOW, &t));
		signal(SIGTTOU, SIG_IGN);
		signal(SIGHUP, SIG_IGN);
		job(reads, NULL, 0, NULL);
		job(reads, &mine, 0, NULL);
		mask(SIG_BLOCK, SIGTTIN);
		job(reads_alone, NULL, SIGTTIN, on_signal);
		mask(SIG_UNBLOCK, SIGTTIN);
		job(reads, NULL, SIGTTIN, SIG_IGN);
		job(reads_blocked, NULL, 0, NULL);
		job(changes, NULL, 0, NULL);
		job(changes, &mine, 0, NULL);
		job(changes, NULL, SIGTTOU, SIG_IGN);
		job(takes_the_terminal, NULL, 0, NULL);
		orphan();
		_exit(0);
	}
	wait(NULL);
	return 0;
}

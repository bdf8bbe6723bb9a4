/* SPDX-License-Identifier: Apache-2.0 */
/* A thread that writes to a pipe or stream without a reader gets SIGPIPE itself, at
 * once; one that grows a file beyond its limit gets SIGXFSZ. A handler runs in that
 * thread. If the thread blocks the signal, it is pending for this thread alone,
 * whatever the masks of other threads and the action. Otherwise the process dies. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "posix.h"

static __thread volatile int mine;

static void on_signal(int sig)
{
	(void)sig;
	mine++;
}

static sigset_t both(void)
{
	sigset_t s;

	sigemptyset(&s);
	sigaddset(&s, SIGPIPE);
	sigaddset(&s, SIGXFSZ);
	return s;
}

static void mask(int how)
{
	sigset_t s = both();

	CHECK(!pthread_sigmask(how, &s, NULL));
}

static int is_pending(int sig)
{
	sigset_t s;

	CHECK(!sigpending(&s));
	return sigismember(&s, sig);
}

/* Gives -1 and EPIPE. */
static void break_pipe(void)
{
	int p[2];

	CHECK(!pipe(p) && !close(p[0]));
	CHECK(write(p[1], "x", 1) == -1 && errno == EPIPE);
	close(p[1]);
}

static void break_stream(int flags)
{
	int s[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s) && !close(s[0]));
	CHECK(send(s[1], "x", 1, flags) == -1 && errno == EPIPE);
	close(s[1]);
}

/* A thread takes its own pending signal back, as libraries do that must not let the
 * program die. */
static void *takes_back(void *arg)
{
	struct timespec none = { 0, 0 };
	sigset_t s = both();
	siginfo_t info;

	mask(SIG_BLOCK);
	for (int i = 0; i < 3; i++) {
		SAY(is_pending(SIGPIPE));
		break_pipe();
		break_stream(0);
		SAY(is_pending(SIGPIPE));
		SAY(sigtimedwait(&s, &info, &none));
		printf("code %d, from us %d\n", info.si_code, info.si_pid == getpid());
		CHECK(sigtimedwait(&s, &info, &none) == -1 && errno == EAGAIN);
	}
	break_stream(MSG_NOSIGNAL);
	SAY(is_pending(SIGPIPE));
	mask(SIG_UNBLOCK);
	return arg;
}

static void *lets_through(void *arg)
{
	break_pipe();
	SAY(mine);
	mask(SIG_BLOCK);
	break_pipe();
	break_stream(0);
	SAY(mine);
	SAY(is_pending(SIGPIPE));
	mask(SIG_UNBLOCK);
	SAY(mine);
	SAY(is_pending(SIGPIPE));
	return arg;
}

/* -- during a call that waits -- */

static int ends[2];

static void *closes(void *arg)
{
	struct timespec t = { 0, 20000000 };

	nanosleep(&t, NULL);
	close(ends[0]);
	return arg;
}

static void *fills(void *arg)
{
	static char much[1 << 20];
	pthread_t t = start(closes, NULL);
	ssize_t r;

	do
		r = write(ends[1], much, sizeof(much));
	while (r > 0);
	CHECK(errno == EPIPE);
	finish(t);
	close(ends[1]);
	return arg;
}

static void *waits(void *stream)
{
	if (stream)
		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
	else
		CHECK(!pipe(ends));
	mine = 0;
	fills(NULL);
	printf("ran here: %d\n", mine > 0);
	return NULL;
}

/* -- a file beyond its size limit -- */

static void grow(void)
{
	FILE *f = tmpfile();

	CHECK(f && !ftruncate(fileno(f), 100));
	CHECK(pwrite(fileno(f), "x", 1, 100) == -1 && errno == EFBIG);
	fclose(f);
}

static void *grows(void *arg)
{
	struct timespec none = { 0, 0 };
	sigset_t s = both();

	mine = 0;
	grow();
	SAY(mine);
	mask(SIG_BLOCK);
	grow();
	SAY(is_pending(SIGXFSZ));
	SAY(sigtimedwait(&s, NULL, &none));
	grow();
	SAY(mine);
	mask(SIG_UNBLOCK);
	SAY(mine);
	return arg;
}

static void *grows_blocked(void *arg)
{
	mask(SIG_BLOCK);
	grow();
	return arg;
}

static void *outgrows(void *arg)
{
	grow();
	return arg;
}

/* -- an unblocked signal kills, whatever other threads block -- */

static int blocked;

static void *blocks(void *arg)
{
	mask(SIG_BLOCK);
	__atomic_store_n(&blocked, 1, __ATOMIC_SEQ_CST);
	pause();
	return arg;
}

static void *dies(void *arg)
{
	break_pipe();
	return arg;
}

static void death(void *(*how)(void *), bool others, bool in_main)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		if (others) {
			start(blocks, NULL);
			while (!__atomic_load_n(&blocked, __ATOMIC_SEQ_CST))
				usleep(1000);
		}
		if (in_main)
			how(NULL);
		else
			finish(start(how, NULL));
		_exit(7);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	printf("signal %d, exit %d\n", WIFSIGNALED(status) ? WTERMSIG(status) : 0,
	       WIFEXITED(status) ? WEXITSTATUS(status) : 0);
}

static void *forks(void *arg)
{
	death(dies, false, true);
	death(dies, true, false);
	mask(SIG_BLOCK);
	death(dies, false, true);
	mask(SIG_UNBLOCK);
	return arg;
}

static void large_writes_are_signalled(void)
{
	struct rlimit few = { 100, 100 }, none = { 0, 0 };

	CHECK(!setrlimit(RLIMIT_CORE, &none) && !setrlimit(RLIMIT_FSIZE, &few));
	death(outgrows, false, false);
	death(outgrows, true, false);
	death(outgrows, true, true);
	finish(start(grows_blocked, NULL));
	signal(SIGXFSZ, on_signal);
	finish(start(grows, NULL));
}

int main(void)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	finish(start(takes_back, NULL));
	death(dies, false, false);
	death(dies, true, false);
	death(dies, true, true);
	death(waits, true, false);
	SAY(WTERMSIG(system("kill -PIPE $$")));
	finish(start(forks, NULL));
	signal(SIGPIPE, on_signal);
	finish(start(lets_through, NULL));
	finish(start(waits, NULL));
	finish(start(waits, ends));
	signal(SIGPIPE, SIG_DFL);
	finish(start(takes_back, NULL));
	death(dies, true, true);
	RUN(large_writes_are_signalled);
	return 0;
}

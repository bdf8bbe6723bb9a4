/* SPDX-License-Identifier: Apache-2.0 */
/* A child of _Fork, or of clone without shared memory, has one thread and no runtime.
 * Calls in it go to libc: those that POSIX allows, and others that work natively. */
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

static int s[2]; /* the child uses s[0] */
static volatile sig_atomic_t handled;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void on_signal(int sig)
{
	handled = sig;
}

static void talks(void)
{
	char b[8] = "";
	struct pollfd p = { .fd = s[0], .events = POLLIN };

	CHECK(write(s[0], "hello", 5) == 5);
	CHECK(poll(&p, 1, -1) == 1);
	CHECK(read(s[0], b, 5) == 5 && !strcmp(b, "world"));
	CHECK(send(s[0], "again", 5, 0) == 5);
	CHECK(recv(s[0], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "enoug"));
}

static void opens_and_closes(void)
{
	int p[2], fd;
	char c;

	CHECK(!pipe(p));
	CHECK(write(p[1], "x", 1) == 1 && read(p[0], &c, 1) == 1);
	fd = dup2(p[0], 77);
	CHECK(fd == 77 && !close(77) && !close(p[0]) && !close(p[1]));
}

static void sleeps_and_is_signalled(void)
{
	struct timespec ms = { 0, 1000000 };
	struct sigaction a = { .sa_handler = on_signal };

	CHECK(!nanosleep(&ms, NULL) && !usleep(1000));
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	CHECK(!kill(getpid(), SIGUSR1) && handled == SIGUSR1);
	CHECK(!sigaction(SIGUSR2, &a, NULL));
	CHECK(!raise(SIGUSR2) && handled == SIGUSR2);
}

static void has_its_own(void)
{
	CHECK(gettid() == getpid());
	CHECK(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
	free(malloc(100000));
}

static int child(void *arg)
{
	(void)arg;
	talks();
	opens_and_closes();
	sleeps_and_is_signalled();
	has_its_own();
	_exit(7);
}

/* -- ways to create the child -- */
static pid_t by_fork_only(void)
{
	pid_t pid = _Fork();

	return pid ? pid : child(NULL);
}

static pid_t by_clone(void)
{
	static char stack[256 << 10] __attribute__((aligned(16)));

	return clone(child, stack + sizeof(stack), SIGCHLD, NULL);
}

static pid_t by_system_call(void)
{
	pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);

	return pid ? pid : child(NULL);
}

static void *forks(void *how)
{
	char b[8] = "";
	int status;
	pid_t pid;

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	pid = ((pid_t(*)(void))how)();
	CHECK(pid > 0);
	CHECK(recv(s[1], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "hello"));
	CHECK(write(s[1], "world", 5) == 5);
	CHECK(recv(s[1], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "again"));
	CHECK(write(s[1], "enough", 5) == 5);
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	close(s[0]);
	close(s[1]);
	return NULL;
}

/* The child shares the parent's descriptor table. CLOSE_RANGE_UNSHARE gives it its own
 * before it closes. */
static int has_own_table(void *arg)
{
	int fd = *(int *)arg;

	CHECK(!close_range(fd, fd, CLOSE_RANGE_UNSHARE));
	FAILS(fcntl(fd, F_GETFD), EBADF);
	return 8;
}

static void *shares_files(void *arg)
{
	static char stack[256 << 10] __attribute__((aligned(16)));
	int status, fd = dup(1);
	pid_t pid =
	    clone(has_own_table, stack + sizeof(stack), SIGCHLD | CLONE_FILES, &fd);

	CHECK(pid > 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 8);
	CHECK(fcntl(fd, F_GETFD) >= 0 && !close(fd));
	return arg;
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		finish(start(forks, by_fork_only));
		finish(start(forks, by_clone));
		finish(start(forks, by_system_call));
		puts("forked by a thread");
		forks(by_fork_only);
		forks(by_clone);
		forks(by_system_call);
		puts("forked by main");
	}
	run_in_thread(shares_files);
	shares_files(NULL);
	puts("a descriptor table of its own");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A child of _Fork has one thread and no runtime, and calls what POSIX lets it call, and more
 * that works natively: its calls are libc's. */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "must.h"

static int s[2]; /* the child has s[0] */
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

	MUST(write(s[0], "hello", 5) == 5);
	MUST(poll(&p, 1, -1) == 1);
	MUST(read(s[0], b, 5) == 5 && !strcmp(b, "world"));
	MUST(send(s[0], "again", 5, 0) == 5);
	MUST(recv(s[0], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "enoug"));
}

static void opens_and_closes(void)
{
	int p[2], fd;
	char c;

	MUST(!pipe(p));
	MUST(write(p[1], "x", 1) == 1 && read(p[0], &c, 1) == 1);
	fd = dup2(p[0], 77);
	MUST(fd == 77 && !close(77) && !close(p[0]) && !close(p[1]));
}

static void sleeps_and_is_signalled(void)
{
	struct timespec ms = { 0, 1000000 };
	struct sigaction a = { .sa_handler = on_signal };

	MUST(!nanosleep(&ms, NULL) && !usleep(1000));
	MUST(!sigaction(SIGUSR1, &a, NULL));
	MUST(!kill(getpid(), SIGUSR1) && handled == SIGUSR1);
	MUST(!sigaction(SIGUSR2, &a, NULL));
	MUST(!raise(SIGUSR2) && handled == SIGUSR2);
}

static void has_its_own(void)
{
	MUST(gettid() == getpid());
	MUST(!pthread_mutex_lock(&mutex) && !pthread_mutex_unlock(&mutex));
	free(malloc(100000));
}

static void child(void)
{
	talks();
	opens_and_closes();
	sleeps_and_is_signalled();
	has_its_own();
	_exit(7);
}

static void *forks(void *arg)
{
	char b[8] = "";
	int status;
	pid_t pid;

	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	pid = _Fork();
	MUST(pid >= 0);
	if (!pid)
		child();
	MUST(recv(s[1], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "hello"));
	MUST(write(s[1], "world", 5) == 5);
	MUST(recv(s[1], b, 5, MSG_WAITALL) == 5 && !strcmp(b, "again"));
	MUST(write(s[1], "enough", 5) == 5);
	MUST(waitpid(pid, &status, 0) == pid);
	MUST(WIFEXITED(status) && WEXITSTATUS(status) == 7);
	close(s[0]);
	close(s[1]);
	return arg;
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		run_in_thread(forks);
		puts("of a thread");
		forks(NULL);
		puts("of main");
	}
	return 0;
}

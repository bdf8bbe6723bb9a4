/* SPDX-License-Identifier: Apache-2.0 */
/* A program closes every file descriptor that it may have inherited, as daemons do, at
 * any time and by any call. It and its threads work on. */
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "asleep.h"
#include "posix.h"
#include <unistd.h>

static int opened; /* must be closed by each of the ways */

static void by_loop(void)
{
	for (int fd = 3; fd < sysconf(_SC_OPEN_MAX) && fd < 65536; fd++)
		close(fd);
}

static void by_raw_loop(void)
{
	for (int fd = 3; fd < 65536; fd++)
		syscall(SYS_close, fd);
}

static void by_closefrom(void)
{
	closefrom(3);
}

static void by_range(void)
{
	CHECK(!close_range(3, ~0u, 0));
}

static void by_raw_range(void)
{
	CHECK(!syscall(SYS_close_range, 3, ~0u, 0));
}

static void by_parts(void)
{
	for (unsigned fd = 3; fd < 65536; fd += 7)
		CHECK(!close_range(fd, fd + 6, 0));
	CHECK(!close_range(65536, ~0u, 0));
}

static void by_dup(void)
{
	for (int fd = 3; fd < 1100; fd++)
		if (dup2(1, fd) == fd || syscall(SYS_dup3, 1, fd, 0) == fd)
			close(fd);
	by_loop();
}

static const struct {
	const char *name;
	void (*close_all)(void);
} way[] = { { "loop", by_loop },
	    { "raw loop", by_raw_loop },
	    { "closefrom", by_closefrom },
	    { "close_range", by_range },
	    { "raw range", by_raw_range },
	    { "parts", by_parts },
	    { "dup2", by_dup } };
#define WAYS (int)(sizeof(way) / sizeof(way[0]))

static void open_some(void)
{
	opened = fcntl(1, F_DUPFD, 200);
	CHECK(opened >= 200);
}

static void all_closed(void)
{
	FAILS(fcntl(opened, F_GETFD), EBADF);
	for (int fd = 3; fd < 1024; fd++)
		FAILS(close(fd), EBADF);
}

/* -- what must still work -- */

static void *echo(void *arg)
{
	const int *p = arg;
	char c;

	ssize_t n;

	while ((n = read(p[0], &c, 1)) == 1)
		CHECK(write(p[1], &c, 1) == 1);
	CHECK(n == 0);
	return NULL;
}

static void *works(void *arg)
{
	int there[2], back[2], one[2];
	pthread_t t;
	char c;

	CHECK(!pipe(there) && !pipe(back));
	CHECK(there[0] == 3); /* the lowest free file descriptor */
	one[0] = there[0];
	one[1] = back[1];
	t = start(echo, one);
	for (int i = 0; i < 50; i++) {
		c = (char)i;
		CHECK(write(there[1], &c, 1) == 1);
		CHECK(read(back[0], &c, 1) == 1 && c == i);
	}
	usleep(1000);
	close(there[1]);
	finish(t);
	close(there[0]);
	close(back[0]);
	close(back[1]);
	return arg;
}

static void *closes_and_works(void *arg)
{
	const int *i = arg;

	open_some();
	way[*i].close_all();
	all_closed();
	works(NULL);
	return NULL;
}

/* -- a thread waits meanwhile -- */

static void *reads(void *arg)
{
	char c = 0;

	pthread_setname_np(pthread_self(), "reads");
	CHECK(read(*(int *)arg, &c, 1) == 1 && c == 'x');
	return NULL;
}

static void *under_a_reader(void *arg)
{
	const int *i = arg;
	int p[2], out;
	pthread_t t;

	CHECK(!pipe(p));
	out = dup2(p[1], 0); /* 0 to 2 are kept */
	t = start(reads, &p[0]);
	while (!thread_sleeps("reads"))
		sched_yield();
	way[*i].close_all();
	CHECK(write(out, "x", 1) == 1);
	finish(t);
	return NULL;
}

static void in_child(void *(*fn)(void *), int i)
{
	int status;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		fn(&i);
		finish(start(fn, &i));
		fflush(stdout);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static void *forks(void *arg)
{
	in_child(closes_and_works, *(int *)arg);
	return NULL;
}

/* -- flags of close_range -- */

static void *flags(void *arg)
{
	open_some();
	CHECK(!close_range(3, ~0u, CLOSE_RANGE_CLOEXEC));
	CHECK(fcntl(opened, F_GETFD) == FD_CLOEXEC);
	FAILS(close_range(4, 3, 0), EINVAL);
	FAILS(close_range(3, 4, 1 << 20), EINVAL);
	FAILS(dup3(1, 50, 1), EINVAL);
	close(opened);
	works(NULL);
	return arg;
}

int main(void)
{
	for (int i = 0; i < WAYS; i++) {
		closes_and_works(&i); /* at first before the first thread exists */
		finish(start(closes_and_works, &i));
		finish(start(under_a_reader, &i));
		in_child(closes_and_works, i);
		finish(start(forks, &i));
		works(NULL);
		printf("%s\n", way[i].name);
	}
	run_in_thread(flags);
	CHECK(!close_range(3, ~0u, CLOSE_RANGE_UNSHARE));
	works(NULL);
	printf("ok\n");
	return 0;
}

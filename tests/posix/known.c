/* SPDX-License-Identifier: Apache-2.0 */
/* A thread has waited on a socket. Then the socket gets O_NONBLOCK or a time limit, or
 * its descriptor refers to another file, in every possible way. The next call that
 * finds no data must end with EAGAIN. A call that relies on the old state waits for
 * ever. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "posix.h"

extern char **environ;

static int a, b;         /* threads wait on a; b is its peer */
static int helper;       /* main's socket to a process that holds none of our files */
static const char *self; /* this program */

/* ---- main runs functions for other threads, as it is a kernel thread ---- */

static void (*order)(void);

static void by_main(void (*fn)(void))
{
	__atomic_store_n(&order, fn, __ATOMIC_RELEASE);
	while (__atomic_load_n(&order, __ATOMIC_ACQUIRE))
		usleep(200);
}

static void obey(pthread_t t)
{
	void (*fn)(void);

	while (pthread_tryjoin_np(t, NULL)) {
		fn = __atomic_load_n(&order, __ATOMIC_ACQUIRE);
		if (fn) { /* otherwise a later order would be lost */
			fn();
			__atomic_store_n(&order, NULL, __ATOMIC_RELEASE);
		}
		usleep(200);
	}
}

/* ---- calls that wait ---- */

static ssize_t by_recv(void)
{
	char c[8];

	return recv(a, c, sizeof(c), 0);
}

static ssize_t by_read(void)
{
	char c[8];

	return read(a, c, sizeof(c));
}

static ssize_t by_readv(void)
{
	char c[8];
	struct iovec v = { c, sizeof(c) };

	return readv(a, &v, 1);
}

static ssize_t by_recvfrom(void)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	char c[8];

	return recvfrom(a, c, sizeof(c), 0, (void *)&from, &len);
}

static ssize_t by_recvmsg(void)
{
	char c[8];
	struct iovec v = { c, sizeof(c) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };

	return recvmsg(a, &m, 0);
}

static ssize_t (*const calls[])(void) = { by_recv, by_read, by_readv, by_recvfrom,
					  by_recvmsg };
static const char *const call_names[] = { "recv", "read", "readv", "recvfrom",
					  "recvmsg" };
#define CALLS 5

static void *writes(void *arg)
{
	usleep(3000);
	CHECK(write(b, "x", 1) == 1);
	return arg;
}

/* The call waits until a byte arrives, three times. */
static void waits(ssize_t (*call)(void))
{
	for (int i = 0; i < 3; i++) {
		pthread_t t = start(writes, NULL);

		CHECK(call() == 1);
		finish(t);
	}
}

/* ---- by the same file descriptor ---- */

static void nonblock(int fd)
{
	CHECK(!fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK));
}

static void by_fcntl(void)
{
	nonblock(a);
}

static void by_ioctl(void)
{
	int one = 1;

	CHECK(!ioctl(a, FIONBIO, &one));
}

static const struct timeval soon = { 0, 30000 };

static void by_option(void)
{
	CHECK(!setsockopt(a, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)));
}

static void raw_fcntl(void)
{
	CHECK(!syscall(SYS_fcntl, a, F_SETFL, O_RDWR | O_NONBLOCK));
}

static void raw_ioctl(void)
{
	int one = 1;

	CHECK(!syscall(SYS_ioctl, a, FIONBIO, &one));
}

static void raw_option(void)
{
	CHECK(
	    !syscall(SYS_setsockopt, a, SOL_SOCKET, SO_RCVTIMEO, &soon, sizeof(soon)));
}

/* O_NONBLOCK is set and cleared in turn; the calls follow each time. */
static void to_and_fro(void (*set)(void), void (*clear)(void))
{
	for (int i = 0; i < 3; i++) {
		set();
		for (int c = 0; c < CALLS; c++) {
			FAILS(calls[c](), EAGAIN);
			FAILS(calls[c](), EAGAIN);
		}
		clear();
		for (int c = 0; c < CALLS; c++)
			waits(calls[c]);
	}
	set();
}

static void clear_fcntl(void)
{
	CHECK(!fcntl(a, F_SETFL, fcntl(a, F_GETFL) & ~O_NONBLOCK));
}

static void clear_ioctl(void)
{
	int zero = 0;

	CHECK(!ioctl(a, FIONBIO, &zero));
}

static void clear_raw(void)
{
	CHECK(!syscall(SYS_fcntl, a, F_SETFL, O_RDWR));
}

static void fcntl_to_and_fro(void)
{
	to_and_fro(by_fcntl, clear_fcntl);
}

static void ioctl_to_and_fro(void)
{
	to_and_fro(by_ioctl, clear_ioctl);
}

static void raw_to_and_fro(void)
{
	to_and_fro(by_fcntl, clear_raw);
}

static void main_fcntl(void)
{
	by_main(by_fcntl);
}

/* ---- by a second descriptor that is made after the first wait, or before it ---- */

static int second;

static void set_second(void)
{
	nonblock(second);
	close(second);
}

static void make_dup(void)
{
	second = dup(a);
}

static void make_dup2(void)
{
	second = dup2(a, 100);
}

static void make_dup3(void)
{
	second = dup3(a, 100, O_CLOEXEC);
}

static void make_fcntl(void)
{
	second = fcntl(a, F_DUPFD, 50);
}

static void make_fcntl_cloexec(void)
{
	second = fcntl(a, F_DUPFD_CLOEXEC, 50);
}

static void make_raw(void)
{
	second = (int)syscall(SYS_dup, a);
}

/* ---- by a child ---- */

static pid_t child;
static int *now; /* shared: tells the child to set the flag */

/* Spins until then: after some of these forks the child may call little. */
static void in_child(void)
{
	while (!__atomic_load_n(now, __ATOMIC_ACQUIRE))
		;
	_exit(fcntl(a, F_SETFL, O_RDWR | O_NONBLOCK) != 0);
}

static void is_child(pid_t pid)
{
	if (!pid)
		in_child();
	child = pid;
}

static void make_fork(void)
{
	is_child(fork());
}

static void make__Fork(void)
{
	is_child(_Fork());
}

static void make_raw_fork(void)
{
	is_child((pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0));
}

static int cloned(void *arg)
{
	(void)arg;
	in_child();
	return 0;
}

static void make_clone(void)
{
	static char stack[65536] __attribute__((aligned(16)));

	child = clone(cloned, stack + sizeof(stack), SIGCHLD, NULL);
}

static void reap(pid_t pid)
{
	CHECK(pid > 0 && end_of(pid) == 0);
}

static void set_by_child(void)
{
	__atomic_store_n(now, 1, __ATOMIC_RELEASE);
	reap(child);
	__atomic_store_n(now, 0, __ATOMIC_RELEASE);
}

/* main forks, as it is a kernel thread. */
static void main_make_fork(void)
{
	by_main(make_fork);
}

/* ---- by another program, which is this one with arguments ---- */

static char fd_arg[16];

static void by_vfork(void)
{
	pid_t pid;

	snprintf(fd_arg, sizeof(fd_arg), "%d", a);
	pid = vfork();
	if (!pid) {
		execl(self, self, "set", fd_arg, NULL);
		_exit(1);
	}
	reap(pid);
}

static void by_spawn(void)
{
	char set[] = "set", *argv[] = { (char *)(uintptr_t)self, set, fd_arg, NULL };
	pid_t pid;

	snprintf(fd_arg, sizeof(fd_arg), "%d", a);
	CHECK(!posix_spawn(&pid, self, NULL, NULL, argv, environ));
	reap(pid);
}

static const char *command(void)
{
	static char text[4200];

	snprintf(text, sizeof(text), "'%s' set %d", self, a);
	return text;
}

static void by_system(void)
{
	CHECK(!system(command()));
}

static void main_system(void)
{
	by_main(by_system);
}

static void by_popen(void)
{
	FILE *f = popen(command(), "w");

	CHECK(f && !pclose(f));
}

/* ---- by a process that gets the descriptor in a message ---- */

/* A message for one file descriptor, with its buffers. */
struct passing {
	struct mmsghdr m;
	struct iovec v;
	char c;
	union {
		struct cmsghdr h;
		char room[CMSG_SPACE(sizeof(int))];
	} u;
};

static struct msghdr *pass(struct passing *p, int fd)
{
	memset(p, 0, sizeof(*p));
	p->v = (struct iovec){ &p->c, 1 };
	p->m.msg_hdr = (struct msghdr){ .msg_iov = &p->v,
					.msg_iovlen = 1,
					.msg_control = &p->u,
					.msg_controllen = sizeof(p->u) };
	p->u.h = (struct cmsghdr){ .cmsg_len = CMSG_LEN(sizeof(int)),
				   .cmsg_level = SOL_SOCKET,
				   .cmsg_type = SCM_RIGHTS };
	memcpy(CMSG_DATA(&p->u.h), &fd, sizeof(fd));
	return &p->m.msg_hdr;
}

static int got(int line)
{
	struct passing p;
	int fd;

	if (recvmsg(line, pass(&p, -1), 0) != 1)
		return -1;
	memcpy(&fd, CMSG_DATA(&p.u.h), sizeof(fd));
	return fd;
}

static void helps(int line)
{
	int fd;

	while ((fd = got(line)) >= 0) {
		nonblock(fd);
		close(fd);
		CHECK(write(line, "y", 1) == 1);
	}
	_exit(0);
}

static void until_helped(void)
{
	char c;

	CHECK(read(helper, &c, 1) == 1 && c == 'y');
}

static void by_message(void)
{
	struct passing p;

	CHECK(sendmsg(helper, pass(&p, a), 0) == 1);
	until_helped();
}

static void by_message_elsewhere(void)
{
	struct passing *p = malloc(sizeof(*p));

	CHECK(sendmsg(helper, pass(p, a), 0) == 1);
	until_helped();
	free(p);
}

static void by_messages(void)
{
	struct passing p;

	pass(&p, a);
	CHECK(sendmmsg(helper, &p.m, 1, 0) == 1);
	until_helped();
}

static void raw_message(void)
{
	struct passing p;

	CHECK(syscall(SYS_sendmsg, helper, pass(&p, a), 0) == 1);
	until_helped();
}

static void main_message(void)
{
	by_main(by_message);
}

static void main_messages(void)
{
	by_main(by_messages);
}

/* ---- the descriptor refers to another file ---- */

static void again_pair(void)
{
	int s[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) && s[0] == a);
	close(b);
	b = s[1];
}

static void end_close(void)
{
	close(a);
}

static void end_range(void)
{
	CHECK(!close_range((unsigned)a, (unsigned)a, 0));
}

static void end_stream(void)
{
	CHECK(!fclose(fdopen(a, "r")));
}

static void end_raw(void)
{
	CHECK(!syscall(SYS_close, a));
}

static void again_pipe(void)
{
	int p[2];

	CHECK(!pipe2(p, O_NONBLOCK) && p[0] == a);
	close(b);
	b = p[1];
}

/* Moves the descriptor up, so that the low ones stay free. */
static int above(int fd)
{
	int r = fcntl(fd, F_DUPFD, 60);

	close(fd);
	return r;
}

/* Makes a listener and connects `to` to it. */
static int listens(int *to, const struct timeval *limit)
{
	struct sockaddr_in in = { .sin_family = AF_INET };
	socklen_t len = sizeof(in);
	int l;

	in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	l = above(socket(AF_INET, SOCK_STREAM, 0));
	if (limit) /* its connections inherit the limit */
		CHECK(!setsockopt(l, SOL_SOCKET, SO_RCVTIMEO, limit, sizeof(*limit)));
	CHECK(!bind(l, (void *)&in, len) && !listen(l, 5));
	CHECK(!getsockname(l, (void *)&in, &len));
	*to = above(socket(AF_INET, SOCK_STREAM, 0));
	CHECK(!connect(*to, (void *)&in, len));
	return l;
}

static void accepted(int flags, const struct timeval *limit)
{
	int to, l = listens(&to, limit);

	close(a);
	CHECK(accept4(l, NULL, NULL, flags) == a);
	close(l);
	close(b);
	b = to;
}

static void again_accept(void)
{
	accepted(SOCK_NONBLOCK, NULL);
}

static void again_accept_limit(void)
{
	accepted(0, &soon);
}

/* The message is sent before the descriptor is closed. */
static void again_message(void (*end)(void))
{
	struct passing p;
	int s[2], line[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, line));
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
	CHECK(sendmsg(line[0], pass(&p, s[0]), 0) == 1);
	end();
	CHECK(got(line[1]) == a);
	close(b);
	b = s[1];
	close(s[0]);
	close(line[0]);
	close(line[1]);
}

static void got_close(void)
{
	again_message(end_close);
}

static void got_range(void)
{
	again_message(end_range);
}

static void got_stream(void)
{
	again_message(end_stream);
}

static void got_raw(void)
{
	again_message(end_raw);
}

static void again_dup2(void)
{
	int s[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
	CHECK(dup2(s[0], a) == a);
	close(s[0]);
	close(b);
	b = s[1];
}

static void again_dup3(void)
{
	int s[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s));
	CHECK(dup3(s[0], a, 0) == a);
	close(s[0]);
	close(b);
	b = s[1];
}

/* ---- all ways ---- */

static const struct way {
	const char *name;
	void (*first)(void), (*then)(void);
	bool early; /* also run first before the first wait */
} ways[] = {
	{ "fcntl", NULL, by_fcntl, false },
	{ "ioctl", NULL, by_ioctl, false },
	{ "SO_RCVTIMEO", NULL, by_option, false },
	{ "fcntl, to and fro", NULL, fcntl_to_and_fro, false },
	{ "ioctl, to and fro", NULL, ioctl_to_and_fro, false },
	{ "raw fcntl, to and fro", NULL, raw_to_and_fro, false },
	{ "main's fcntl", NULL, main_fcntl, false },
	{ "raw fcntl", NULL, raw_fcntl, false },
	{ "raw ioctl", NULL, raw_ioctl, false },
	{ "raw setsockopt", NULL, raw_option, false },
	{ "dup", make_dup, set_second, true },
	{ "dup2", make_dup2, set_second, true },
	{ "dup3", make_dup3, set_second, true },
	{ "F_DUPFD", make_fcntl, set_second, true },
	{ "F_DUPFD_CLOEXEC", make_fcntl_cloexec, set_second, true },
	{ "raw dup", make_raw, set_second, true },
	{ "fork", make_fork, set_by_child, true },
	{ "main's fork", main_make_fork, set_by_child, true },
	{ "_Fork", make__Fork, set_by_child, true },
	{ "raw clone", make_raw_fork, set_by_child, true },
	{ "clone", make_clone, set_by_child, true },
	{ "vfork", NULL, by_vfork, false },
	{ "posix_spawn", NULL, by_spawn, false },
	{ "system", NULL, by_system, false },
	{ "main's system", NULL, main_system, false },
	{ "popen", NULL, by_popen, false },
	{ "sendmsg", NULL, by_message, false },
	{ "sendmsg, elsewhere", NULL, by_message_elsewhere, false },
	{ "sendmmsg", NULL, by_messages, false },
	{ "raw sendmsg", NULL, raw_message, false },
	{ "main's sendmsg", NULL, main_message, false },
	{ "main's sendmmsg", NULL, main_messages, false },
	{ "close, pair", end_close, again_pair, false },
	{ "close_range, pair", end_range, again_pair, false },
	{ "fclose, pair", end_stream, again_pair, false },
	{ "raw close, pair", end_raw, again_pair, false },
	{ "close, pipe", end_close, again_pipe, false },
	{ "fclose, pipe", end_stream, again_pipe, false },
	{ "accept4", NULL, again_accept, false },
	{ "accept, SO_RCVTIMEO", NULL, again_accept_limit, false },
	{ "close, got", NULL, got_close, false },
	{ "close_range, got", NULL, got_range, false },
	{ "fclose, got", NULL, got_stream, false },
	{ "raw close, got", NULL, got_raw, false },
	{ "dup2 onto", NULL, again_dup2, false },
	{ "dup3 onto", NULL, again_dup3, false },
};

static bool pipe_now(void)
{
	int n;
	socklen_t len = sizeof(n);

	return getsockopt(a, SOL_SOCKET, SO_TYPE, &n, &len) < 0;
}

static void try(const struct way *w, int c, bool early)
{
	int s[2];

	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
	a = s[0];
	b = s[1];
	if (w->first && early)
		w->first();
	waits(calls[c]);
	if (w->first && !early)
		w->first();
	w->then();
	if (pipe_now() && c != 1 && c != 2)
		FAILS(calls[c](), ENOTSOCK);
	else
		FAILS(calls[c](), EAGAIN);
	close(a);
	close(b);
}

static void *all(void *arg)
{
	for (unsigned i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		for (int c = 0; c < CALLS; c++) {
			printf("%s: %s\n", ways[i].name, call_names[c]);
			fflush(stdout);
			try(&ways[i], c, false);
			if (ways[i].early)
				try(&ways[i], c, true);
		}
	}
	return arg;
}

/* ---- sending ---- */

static void fill(void)
{
	static char much[4096];

	while (send(a, much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	while (send(a, much, 1, MSG_DONTWAIT) > 0)
		;
}

static void *drains(void *arg)
{
	char much[65536];

	usleep(3000);
	while (recv(b, much, sizeof(much), MSG_DONTWAIT) > 0)
		;
	return arg;
}

static void *sends(void *arg)
{
	for (int i = 0; i < 2; i++) {
		int s[2];

		CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, s));
		a = s[0];
		b = s[1];
		for (int n = 0; n < 3; n++) {
			pthread_t t;

			fill();
			t = start(drains, NULL);
			CHECK(send(a, "x", 1, 0) == 1);
			finish(t);
		}
		if (i)
			nonblock(a);
		else
			CHECK(!setsockopt(a, SOL_SOCKET, SO_SNDTIMEO, &soon,
					  sizeof(soon)));
		fill();
		FAILS(send(a, "x", 1, 0), EAGAIN);
		close(a);
		close(b);
		printf("send %d\n", i);
	}
	return arg;
}

int main(int argc, char **argv)
{
	int line[2];

	if (argc > 2) {
		nonblock(atoi(argv[2]));
		return 0;
	}
	self = argv[0];
	now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	CHECK(now != MAP_FAILED);
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, line));
	if (!fork())
		helps(line[close(line[0]) + 1]);
	close(line[1]);
	helper = line[0];
	obey(start(all, NULL));
	run_in_thread(sends);
	close(helper);
	printf("ok\n");
	return 0;
}

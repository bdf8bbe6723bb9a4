/* SPDX-License-Identifier: Apache-2.0 */
/* File descriptors are closed while threads use them. A thread that waits goes on
 * waiting on the old file, whatever the descriptor refers to by then, and only events
 * of the old file end its wait. All transfers of one call use the old file, too: a file
 * that gets the same descriptor meanwhile neither gains nor loses data. A program may
 * also close every file descriptor that it may have inherited, as daemons do, at any
 * time and by any call: it and its threads work on. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "asleep.h"
#include "posix.h"

static int s[2];       /* the tested thread uses s[0] */
static int new[2];     /* new[0] is the same descriptor, reused */
static size_t bytes;   /* to transfer by one call */
static char got[1000]; /* by the reader */

static long by_recv(void)
{
	return recv(s[0], got, 5, 0);
}

static long by_all(void)
{
	return recv(s[0], got, bytes, MSG_WAITALL);
}

/* Reads into untouched memory: the runtime waits first, then the thread reads. */
static long by_read(void)
{
	static char untouched[1 << 20];
	ssize_t n = read(s[0], untouched, sizeof(untouched));

	memcpy(got, untouched, 5);
	return n;
}

static long by_recvfrom(void)
{
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);

	return recvfrom(s[0], got, 5, 0, (void *)&a, &len);
}

static long by_poll(void)
{
	struct pollfd f[2] = { { .fd = s[0], .events = POLLIN }, { .fd = -1 } };

	CHECK(poll(f, 2, -1) == 1 && f[0].revents); /* poll may see the new file */
	return 5;
}

static long by_epoll(void)
{
	struct epoll_event ev;

	CHECK(epoll_wait(s[0], &ev, 1, -1) == 1);
	return 5;
}

/* From here on the thread sleeps only in the tested call. */
static void *waits(void *call)
{
	CHECK(!pthread_setname_np(pthread_self(), "waits"));
	return (void *)((long (*)(void))call)();
}

/* Starts a thread and waits until it sleeps in its call. If it called later it would
 * find the descriptor closed. */
static pthread_t waits_in(long (*call)(void))
{
	pthread_t t = start(waits, (void *)call);

	until_sleeps("waits");
	return t;
}

static void make(int pair[2])
{
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
}

static void close_and_reuse(void)
{
	CHECK(!close(s[0]));
	make(new);
	CHECK(new[0] == s[0]);
}

static void writes_after_close(long (*reader)(void), const char *what)
{
	pthread_t t;
	char c;

	bytes = 5;
	make(s);
	t = waits_in(reader);
	close_and_reuse();
	CHECK(write(new[1], "wrong", 5) == 5);
	usleep(20000);
	CHECK(write(s[1], "right", 5) == 5); /* the old file is still open */
	CHECK(finish(t) == (void *)5l);
	CHECK(reader == by_poll || !memcmp(got, "right", 5));
	CHECK(read(new[0], got, 5) == 5 && !memcmp(got, "wrong", 5));
	/* the old file is closed once its reader has returned */
	if (reader != by_poll)
		CHECK(read(s[1], &c, 1) == 0);
	close(s[1]);
	close(new[0]);
	close(new[1]);
	printf("%s\n", what);
}

static void shut_and_closed(long (*reader)(void), const char *what)
{
	pthread_t t;

	make(s);
	t = waits_in(reader);
	CHECK(!shutdown(s[0], SHUT_RDWR));
	CHECK(!close(s[0]));
	CHECK(finish(t) == (void *)(reader == by_poll ? 5l : 0l));
	close(s[1]);
	printf("shut: %s\n", what);
}

static long accepts(void)
{
	int r;

	while ((r = accept(s[0], NULL, NULL)) >= 0)
		close(r);
	return errno;
}

static void shutdown_ends_accept(void)
{
	for (int i = 0; i < 20; i++) {
		struct sockaddr_in a = { .sin_family = AF_INET };
		pthread_t t;

		s[0] = socket(AF_INET, SOCK_STREAM, 0);
		CHECK(!bind(s[0], (void *)&a, sizeof(a)) && !listen(s[0], 5));
		t = waits_in(accepts);
		shutdown(s[0], SHUT_RDWR);
		close(s[0]);
		CHECK(finish(t) == (void *)(long)EINVAL);
	}
	printf("listener\n");
}

static void replaced(void)
{
	int p[2];
	pthread_t t;
	char c;

	make(s);
	CHECK(!pipe(p));
	t = waits_in(by_recv);
	CHECK(dup2(p[0], s[0]) == s[0]);
	CHECK(write(p[1], "x", 1) == 1 && write(s[1], "right", 5) == 5);
	CHECK(finish(t) == (void *)5l && !memcmp(got, "right", 5));
	CHECK(read(s[0], &c, 1) == 1 && c == 'x');
	FAILS(dup2(9999, s[0]), EBADF);
	CHECK(write(p[1], "y", 1) == 1 && read(s[0], &c, 1) == 1 && c == 'y');
	close(s[0]);
	close(s[1]);
	close(p[0]);
	close(p[1]);
	printf("replaced\n");
}

static void instance(void)
{
	struct epoll_event ev = { .events = EPOLLIN };
	pthread_t t;
	int p[2];

	s[0] = epoll_create1(0);
	CHECK(!pipe(p) && !epoll_ctl(s[0], EPOLL_CTL_ADD, p[0], &ev));
	t = waits_in(by_epoll);
	close(s[0]);
	CHECK(write(p[1], "x", 1) == 1);
	finish(t);
	close(p[0]);
	close(p[1]);
	printf("instance\n");
}

/* The number of open file descriptors, to find leaks. */
static int open_now(void)
{
	int n = 0;

	for (int i = 0; i < 20000; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
}

static void *waits_end(void *arg)
{
	int before;

	writes_after_close(by_recv, "recv");
	before = open_now();
	for (int i = 0; i < 3; i++) {
		writes_after_close(by_recv, "recv");
		writes_after_close(by_all, "recv all");
		writes_after_close(by_read, "read");
		writes_after_close(by_recvfrom, "recvfrom");
		writes_after_close(by_poll, "poll");
		shut_and_closed(by_recv, "recv");
		shut_and_closed(by_read, "read");
		shut_and_closed(by_recvfrom, "recvfrom");
		shut_and_closed(by_poll, "poll");
	}
	shutdown_ends_accept();
	replaced();
	instance();
	CHECK(open_now() == before);
	FAILS(close(9999), EBADF);
	FAILS(close(-1), EBADF);
	return arg;
}

static void waiting_threads_keep_their_file(void)
{
	struct rlimit lim;

	/* the usual limit; the runtime's own file descriptors must fit, too */
	CHECK(!getrlimit(RLIMIT_NOFILE, &lim));
	lim.rlim_cur = 1024;
	CHECK(!setrlimit(RLIMIT_NOFILE, &lim));
	run_in_thread(waits_end);
	/* main is a kernel thread; the waiting threads are not */
	writes_after_close(by_recv, "recv");
	writes_after_close(by_read, "read");
	shut_and_closed(by_read, "read");
	shutdown_ends_accept();
}

/* -- a call takes several transfers -- */

#define MOST ((size_t)4 << 20)

static int file;
static int begun; /* the receiver has got data */
static char out[MOST], in[MOST];

static struct iovec *halves(void)
{
	static struct iovec v[2];

	v[0] = (struct iovec){ out, bytes / 2 };
	v[1] = (struct iovec){ out + bytes / 2, bytes - bytes / 2 };
	return v;
}

static long by_send(void)
{
	return send(s[0], out, bytes, MSG_NOSIGNAL);
}

static long by_write(void)
{
	return write(s[0], out, bytes);
}

static long by_writev(void)
{
	return writev(s[0], halves(), 2);
}

static long by_sendmsg(void)
{
	struct msghdr m = { .msg_iov = halves(), .msg_iovlen = 2 };

	return sendmsg(s[0], &m, 0);
}

static long by_sendfile(void)
{
	off_t at = 0;

	return sendfile(s[0], file, &at, bytes);
}

static void nothing_came(void)
{
	char c;

	CHECK(recv(new[1], &c, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN);
	CHECK(!close(new[0]) && !close(new[1]));
}

/* Reads until end-of-file. */
static void *receives(void *arg)
{
	size_t n = 0;
	ssize_t r;

	(void)arg;
	while ((r = read(s[1], in + n, MOST - n)) > 0) {
		n += (size_t)r;
		__atomic_store_n(&begun, 1, __ATOMIC_RELAXED);
	}
	CHECK(!memcmp(in, out, n));
	return (void *)n;
}

static void goes_on(long (*sender)(void), const char *what)
{
	pthread_t t;

	bytes = MOST;
	make(s);
	t = waits_in(sender);
	close_and_reuse();
	CHECK(receives(NULL) == (void *)bytes);
	CHECK(finish(t) == (void *)bytes);
	nothing_came();
	close(s[1]);
	printf("%s\n", what);
}

static void takes_no_other(void)
{
	char other[5];
	pthread_t t;

	bytes = 10;
	make(s);
	CHECK(write(s[1], "first", 5) == 5);
	t = waits_in(by_all);
	close_and_reuse();
	CHECK(write(new[1], "wrong", 5) == 5);
	usleep(20000);
	CHECK(write(s[1], "right", 5) == 5);
	CHECK(finish(t) == (void *)10l);
	CHECK(!memcmp(got, "firstright", 10));
	CHECK(read(new[0], other, 5) == 5 && !memcmp(other, "wrong", 5));
	nothing_came();
	close(s[1]);
	printf("recv all\n");
}

/* Closes at any moment, also while the sender does not wait. The sender may then send
 * less. */
static void any_moment(long (*sender)(void), unsigned spin)
{
	pthread_t t, r;
	long sent;

	bytes = 700000;
	__atomic_store_n(&begun, 0, __ATOMIC_RELAXED);
	make(s);
	r = start(receives, NULL);
	t = start(waits, (void *)sender);
	while (!__atomic_load_n(&begun, __ATOMIC_RELAXED))
		sched_yield(); /* an earlier close can hit send itself, also natively */
	for (unsigned i = 0; i < spin; i++)
		__asm__ volatile("" ::: "memory");
	CHECK(!close(s[0]));
	make(new);
	sent = (long)finish(t);
	CHECK(sent > 0 && (long)finish(r) == sent);
	nothing_came();
	close(s[1]);
}

static void *transfers(void *arg)
{
	static long (*const senders[])(void) = { by_send, by_write, by_writev,
						 by_sendmsg, by_sendfile };
	static const char *const names[] = { "send", "write", "writev", "sendmsg",
					     "sendfile" };

	for (int i = 0; i < 5; i++)
		goes_on(senders[i], names[i]);
	takes_no_other();
	for (unsigned i = 0; i < 300; i++)
		any_moment(senders[i % 5], i * 1000);
	return arg;
}

static void all_transfers_of_a_call_use_one_file(void)
{
	for (size_t i = 0; i < MOST; i++)
		out[i] = (char)(i * 7 + i / 1000);
	file = memfd_create("out", MFD_CLOEXEC);
	CHECK(file >= 0 && write(file, out, MOST) == (ssize_t)MOST);
	run_in_thread(transfers);
}

/* -- all file descriptors are closed -- */

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

static void *echo(void *arg)
{
	const int *p = arg;
	ssize_t n;
	char c;

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
	int p[2], to;
	pthread_t t;

	CHECK(!pipe(p));
	to = dup2(p[1], 0); /* 0 to 2 are kept */
	t = start(reads, &p[0]);
	until_sleeps("reads");
	way[*i].close_all();
	CHECK(write(to, "x", 1) == 1);
	finish(t);
	return NULL;
}

static void in_child(void *(*fn)(void *), int i)
{
	pid_t pid = make_child();

	if (pid == 0) {
		fn(&i);
		finish(start(fn, &i));
		fflush(stdout);
		_exit(0);
	}
	CHECK(end_of(pid) == 0);
}

static void *forks(void *arg)
{
	in_child(closes_and_works, *(int *)arg);
	return NULL;
}

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

static void all_file_descriptors_may_be_closed(void)
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
}

int main(void)
{
	RUN_ALONE(waiting_threads_keep_their_file);
	RUN_ALONE(all_transfers_of_a_call_use_one_file);
	RUN_ALONE(all_file_descriptors_may_be_closed);
	return 0;
}

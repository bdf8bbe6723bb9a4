/* SPDX-License-Identifier: Apache-2.0 */
/* A file descriptor is closed during a call that takes several transfers. All transfers
 * use the old file. A file that gets the same descriptor meanwhile neither gains nor
 * loses data. */
#include <errno.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "asleep.h"
#include "posix.h"

#define MOST ((size_t)4 << 20)

static int s[2], new[2], file;
static size_t bytes; /* to send */
static int begun;    /* the receiver has got data */
static char out[MOST], in[MOST], got[10];

static void about_to(void)
{
	CHECK(!pthread_setname_np(pthread_self(), "waits"));
}

static struct iovec *halves(void)
{
	static struct iovec v[2];

	v[0] = (struct iovec){ out, bytes / 2 };
	v[1] = (struct iovec){ out + bytes / 2, bytes - bytes / 2 };
	return v;
}

static void *by_send(void *arg)
{
	(void)arg;
	about_to();
	return (void *)send(s[0], out, bytes, MSG_NOSIGNAL);
}

static void *by_write(void *arg)
{
	(void)arg;
	about_to();
	return (void *)write(s[0], out, bytes);
}

static void *by_writev(void *arg)
{
	(void)arg;
	about_to();
	return (void *)writev(s[0], halves(), 2);
}

static void *by_sendmsg(void *arg)
{
	struct msghdr m = { .msg_iov = halves(), .msg_iovlen = 2 };

	(void)arg;
	about_to();
	return (void *)sendmsg(s[0], &m, 0);
}

static void *by_sendfile(void *arg)
{
	off_t at = 0;

	(void)arg;
	about_to();
	return (void *)sendfile(s[0], file, &at, bytes);
}

static void until_it_waits(void)
{
	while (!thread_sleeps("waits"))
		sched_yield();
}

static void make(int pair[2])
{
	CHECK(!socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
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

static void goes_on(void *(*sender)(void *), const char *what)
{
	pthread_t t;

	bytes = MOST;
	make(s);
	t = start(sender, NULL);
	until_it_waits();
	CHECK(!close(s[0]));
	make(new);
	CHECK(new[0] == s[0]);
	CHECK(receives(NULL) == (void *)bytes);
	CHECK(finish(t) == (void *)bytes);
	nothing_came();
	close(s[1]);
	printf("%s\n", what);
}

static void *by_all(void *arg)
{
	(void)arg;
	about_to();
	return (void *)recv(s[0], got, 10, MSG_WAITALL);
}

static void takes_no_other(void)
{
	char other[5];
	pthread_t t;

	make(s);
	CHECK(write(s[1], "first", 5) == 5);
	t = start(by_all, NULL);
	until_it_waits();
	CHECK(!close(s[0]));
	make(new);
	CHECK(new[0] == s[0]);
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
static void any_moment(void *(*sender)(void *), unsigned spin)
{
	pthread_t t, r;
	long sent;

	bytes = 700000;
	__atomic_store_n(&begun, 0, __ATOMIC_RELAXED);
	make(s);
	r = start(receives, NULL);
	t = start(sender, NULL);
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

static void *all(void *arg)
{
	static void *(*const senders[])(void *) = { by_send, by_write, by_writev,
						    by_sendmsg, by_sendfile };
	static const char *const names[] = { "send", "write", "writev", "sendmsg" };

	for (int i = 0; i < 4; i++)
		goes_on(senders[i], names[i]);
	takes_no_other();
	for (unsigned i = 0; i < 300; i++)
		any_moment(senders[i % 5], i * 1000);
	return arg;
}

int main(void)
{
	for (size_t i = 0; i < MOST; i++)
		out[i] = (char)(i * 7 + i / 1000);
	file = memfd_create("out", MFD_CLOEXEC);
	CHECK(file >= 0 && write(file, out, MOST) == (ssize_t)MOST);
	run_in_thread(all);
	printf("ok\n");
	return 0;
}

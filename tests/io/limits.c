/* SPDX-License-Identifier: Apache-2.0 */
/* SO_RCVTIMEO and SO_SNDTIMEO, as programs rely on them that do not use deadlines. A
 * call returns -EAGAIN once the time is over and not before. Bytes that were moved
 * until then count, and a wait that ends in time is not affected. Tested in every call,
 * for user and foreign threads. */
#include "iotest.h"

#include <sys/time.h>

#define TICK (10 * MS)
#define LIMIT (30 * MS)

static void limit(int fd, int what, uk_time ns)
{
	struct timeval tv = { ns / UK_SEC, ns % UK_SEC / 1000 };

	CHECK_EQ(setsockopt(fd, SOL_SOCKET, what, &tv, sizeof(tv)), 0);
}

static void pair_limited(int s[2], int type)
{
	int small = 4096;

	make_unix(s, type);
	limit(s[0], SO_RCVTIMEO, LIMIT);
	limit(s[0], SO_SNDTIMEO, LIMIT);
	setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
}

/* Checks the result r of a call that began at start. The kernel's own limits, for
 * kernel threads, are counted in ticks, and the first tick has already begun. */
static void over(ssize_t r, uk_time start)
{
	CHECK_EQ(r, -EAGAIN);
	CHECK(uk_now() - start >= LIMIT - TICK);
}

#define OVER(call)                                                                     \
	do {                                                                           \
		uk_time start_ = uk_now();                                             \
		over(call, start_);                                                    \
	} while (0)

static void a_receive_ends_at_the_limit_of_its_socket(void)
{
	char b[64], c[64];
	struct iovec v[2] = { { b, 64 }, { c, 64 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	struct sockaddr_storage a;
	socklen_t len = sizeof(a);
	int s[2];

	pair_limited(s, SOCK_STREAM);
	OVER(uk_recv(s[0], b, 1, 0));
	OVER(uk_recv(s[0], b, 64, MSG_WAITALL));
	OVER(uk_recv(s[0], b, 64, MSG_PEEK));
	OVER(uk_recvfrom(s[0], b, 64, 0, (void *)&a, &len));
	OVER(uk_recvmsg(s[0], &m, 0));
	OVER(uk_read(s[0], b, 64));
	OVER(uk_readv(s[0], v, 2));
	OVER(uk_read_all(s[0], b, 64));
	uk_close(s[0]);
	uk_close(s[1]);
}

static void bytes_that_came_before_the_limit_count(void)
{
	char b[64];
	int s[2];

	pair_limited(s, SOCK_STREAM);
	CHECK_EQ(uk_write(s[1], "abc", 3), 3);
	CHECK_EQ(uk_recv(s[0], b, 64, MSG_WAITALL), 3);
	CHECK_EQ(uk_write(s[1], "abc", 3), 3);
	CHECK_EQ(uk_recv(s[0], b, 64, MSG_WAITALL | MSG_PEEK), 3);
	CHECK_EQ(uk_recv(s[0], b, 3, MSG_WAITALL), 3);
	uk_close(s[0]);
	uk_close(s[1]);
}

static void *answer_later(void *arg)
{
	uk_sleep(MS);
	CHECK_EQ(uk_write(*(int *)arg, "x", 1), 1);
	return NULL;
}

static void a_wait_that_ends_in_time_returns_what_came(void)
{
	uk_thread *t;
	char b[4];
	int s[2];

	pair_limited(s, SOCK_STREAM);
	limit(s[0], SO_RCVTIMEO, 30 * UK_SEC);
	t = spawn(answer_later, &s[1]);
	CHECK_EQ(uk_recv(s[0], b, 4, 0), 1);
	join(t);
	uk_close(s[0]);
	uk_close(s[1]);
}

static void a_limit_can_be_set_and_removed_later(void)
{
	uk_thread *t;
	char b[4];
	int s[2];

	make_unix(s, SOCK_STREAM);
	t = spawn(answer_later, &s[1]);
	CHECK_EQ(uk_read(s[0], b, 4), 1);
	join(t);
	limit(s[0], SO_RCVTIMEO, LIMIT);
	OVER(uk_read(s[0], b, 4));
	limit(s[0], SO_RCVTIMEO, 0);
	uk_thread_set_deadline(uk_after(2 * LIMIT));
	CHECK_EQ(uk_read(s[0], b, 4), -ETIMEDOUT);
	limit(s[0], SO_RCVTIMEO, LIMIT);
	uk_thread_set_deadline(uk_after(30 * UK_SEC));
	OVER(uk_recv(s[0], b, 4, 0));
	uk_thread_set_deadline(uk_after(LIMIT / 4));
	limit(s[0], SO_RCVTIMEO, 30 * UK_SEC);
	CHECK_EQ(uk_recv(s[0], b, 4, 0), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	uk_close(s[0]);
	uk_close(s[1]);
}

static void a_send_ends_at_the_limit_of_its_socket(void)
{
	static char big[1 << 20];
	struct iovec v[2] = { { big, sizeof(big) / 2 }, { big, sizeof(big) / 2 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	ssize_t r;
	int s[2];

	pair_limited(s, SOCK_STREAM);
	r = uk_send(s[0], big, sizeof(big), 0);
	CHECK(r > 0 && r < (ssize_t)sizeof(big));
	OVER(uk_send(s[0], big, sizeof(big), 0));
	OVER(uk_sendmsg(s[0], &m, 0));
	OVER(uk_write(s[0], big, sizeof(big)));
	OVER(uk_writev(s[0], v, 2));
	OVER(uk_write_all(s[0], big, sizeof(big)));
	uk_close(s[0]);
	uk_close(s[1]);
}

/* A datagram to a named socket with a full queue. */
static void the_send_of_a_datagram_ends_at_the_limit(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int to = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int from = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	ssize_t r;

	snprintf(a.sun_path + 1, 40, "uk-limits-%d-%d", (int)getpid(), is_user);
	CHECK_EQ(bind(to, (void *)&a, sizeof(a)), 0);
	limit(from, SO_SNDTIMEO, LIMIT);
	do
		r = sendto(from, "x", 1, MSG_DONTWAIT, (void *)&a, sizeof(a));
	while (r == 1);
	OVER(uk_sendto(from, "x", 1, 0, (void *)&a, sizeof(a)));
	uk_close(to);
	uk_close(from);
}

static void sendfile_and_splice_end_at_the_limit(void)
{
	int s[2], f = temp_file(), p[2];
	off_t off = 0;
	ssize_t r;

	CHECK_EQ(ftruncate(f, 4 << 20), 0);
	pair_limited(s, SOCK_STREAM);
	r = uk_sendfile(s[0], f, &off, 4 << 20);
	CHECK(r > 0 && r < 4 << 20);
	OVER(uk_sendfile(s[0], f, &off, 4 << 20));
	make_pipe(p, 0);
	CHECK_EQ(uk_write(p[1], "abc", 3), 3);
	OVER(uk_splice(p[0], NULL, s[0], NULL, 3, 0));
	OVER(uk_splice(s[0], NULL, p[1], NULL, 3, 0));
	uk_close(f);
	uk_close(p[0]);
	uk_close(p[1]);
	uk_close(s[0]);
	uk_close(s[1]);
}

static void accept_and_connect_end_at_the_limit(void)
{
	struct sockaddr_in a;
	struct sockaddr_un u = { .sun_family = AF_UNIX };
	int l = make_listener(&a, 8), n, c[8], k = 0, r;

	limit(l, SO_RCVTIMEO, LIMIT);
	OVER(uk_accept(l, NULL, NULL));
	uk_close(l);
	/* a unix listener with a full queue */
	l = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(u.sun_path + 1, 40, "uk-limits-%d-%d", (int)getpid(), is_user);
	CHECK_EQ(bind(l, (void *)&u, sizeof(u)), 0);
	CHECK_EQ(listen(l, 1), 0);
	do {
		c[k] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		set_nonblock(c[k]);
		r = connect(c[k++], (void *)&u, sizeof(u));
	} while (r == 0 && k < 8);
	n = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	limit(n, SO_SNDTIMEO, LIMIT);
	OVER(uk_connect(n, (void *)&u, sizeof(u)));
	while (k)
		close(c[--k]);
	uk_close(n);
	uk_close(l);
}

static void a_stream_with_a_limit_is_not_received_ahead(void)
{
	char b[4];
	int s[2];

	make_tcp(s, 0);
	limit(s[0], SO_RCVTIMEO, LIMIT);
	CHECK_EQ(uk_recv_ahead(s[0]), 0);
	OVER(uk_recv(s[0], b, 4, 0));
	uk_close(s[0]);
	uk_close(s[1]);
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(a_receive_ends_at_the_limit_of_its_socket);
	BOTH(bytes_that_came_before_the_limit_count);
	BOTH(a_wait_that_ends_in_time_returns_what_came);
	BOTH(a_limit_can_be_set_and_removed_later);
	BOTH(a_send_ends_at_the_limit_of_its_socket);
	BOTH(the_send_of_a_datagram_ends_at_the_limit);
	BOTH(sendfile_and_splice_end_at_the_limit);
	BOTH(accept_and_connect_end_at_the_limit);
	BOTH(a_stream_with_a_limit_is_not_received_ahead);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sending and receiving on sockets. */
#include <pthread.h>

#include "iotest.h"

#define BIG ((size_t)1 << 20)

struct job {
	int fd;
	size_t n;
	int flags;
	ssize_t r;
};

static void *late_sender(void *arg)
{
	struct job *j = arg;

	uk_sleep(5 * MS);
	CHECK_EQ(uk_send(j->fd, "hello", 5, j->flags), 5);
	return NULL;
}

static void recv_waits_for_a_sender(void)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		struct job j = { 0 };
		uk_thread *t;
		char b[64];
		int s[2];

		if (tcp)
			make_tcp(s, 0);
		else
			make_unix(s, SOCK_STREAM);
		for (int i = 0; i < 3; i++) {
			j.fd = s[1];
			t = spawn(late_sender, &j);
			CHECK_EQ(recv_k(s[0], b, sizeof(b), 5), 5);
			CHECK(!memcmp(b, "hello", 5));
			join(t);
		}
		CHECK(flags_untouched(s[0]) && flags_untouched(s[1]));
		uk_close(s[1]);
		CHECK_EQ(uk_recv(s[0], b, sizeof(b), 0), 0);
		CHECK_EQ(uk_recv(s[0], b, sizeof(b), 0), 0);
		uk_close(s[0]);
	}
}

static void *slow_reader(void *arg)
{
	struct job *j = arg;
	unsigned char b[5000];
	uint64_t seed = test_seed();
	size_t at = 0;

	for (unsigned i = 0;; i++) {
		ssize_t r = uk_recv(j->fd, b, 1 + rnd(&seed) % sizeof(b), 0);

		CHECK(r >= 0);
		if (r == 0)
			break;
		check_fill(b, (size_t)r, at);
		at += (size_t)r;
		if (i % 50 == 0)
			uk_sleep(MS);
	}
	j->n = at;
	return NULL;
}

/* way: 0 send, 1 sendmsg of many pieces, 2 write, 3 writev */
static ssize_t send_way(int way, int fd, unsigned char *b, size_t n)
{
	struct iovec v[64];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 64 };
	uint64_t seed = test_seed();
	size_t at = 0;

	for (int i = 0; i < 64; i++) {
		size_t k = i == 63 ? n - at : i % 9 == 4 ? 0 : rnd(&seed) % (n / 40);

		k = at + k > n ? n - at : k;
		v[i] = (struct iovec){ b + at, k };
		at += k;
	}
	switch (way) {
	case 0:
		return uk_send(fd, b, n, 0);
	case 1:
		return uk_sendmsg(fd, &m, 0);
	case 2:
		return uk_write(fd, b, n);
	default:
		return uk_writev(fd, v, 64);
	}
}

static void a_blocking_send_sends_all(void)
{
	unsigned char *b = malloc(BIG);

	fill(b, BIG, 0);
	for (int tcp = 0; tcp < 2; tcp++) {
		for (int way = 0; way < 4; way++) {
			struct job j = { 0 };
			uk_thread *t;
			int s[2];

			if (tcp)
				make_tcp(s, 8192);
			else
				make_unix(s, SOCK_STREAM);
			j.fd = s[1];
			t = spawn(slow_reader, &j);
			CHECK_EQ(send_way(way, s[0], b, BIG), BIG);
			uk_close(s[0]);
			join(t);
			CHECK_EQ(j.n, BIG);
			uk_close(s[1]);
		}
	}
	free(b);
}

static void *dribbler(void *arg)
{
	struct job *j = arg;
	unsigned char b[100];

	for (size_t at = 0; at < j->n; at += 100) {
		fill(b, 100, at);
		CHECK_EQ(uk_send(j->fd, b, 100, 0), 100);
		if (at % 300 == 0)
			uk_sleep(MS);
	}
	uk_shutdown(j->fd, SHUT_WR);
	return NULL;
}

/* The hostile build may report less than there is. */
#define CHECK_PEEK(r, k)                                                               \
	do {                                                                           \
		ssize_t r_ = (r);                                                      \
		CHECK(UK_HOSTILE ? r_ > 0 && r_ <= (k) : r_ == (k));                   \
	} while (0)

static void *rest_and_end(void *arg)
{
	struct job *j = arg;

	while (!__atomic_load_n(&j->flags, __ATOMIC_ACQUIRE))
		;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(send(j->fd, "xxxxx", 5, 0), 5);
	shutdown(j->fd, SHUT_WR);
	return NULL;
}

/* The stream may end after the call has looked at the queue and before it looks for the
 * end. The bytes that came before the end must be there. */
static void a_peek_misses_nothing_before_the_end(void)
{
	for (int i = 0; i < 600; i++) {
		struct job j = { 0 };
		pthread_t t;
		char b[40];
		int s[2];

		make_unix(s, SOCK_STREAM);
		j.fd = s[1];
		CHECK_EQ(send(s[1], "xxxxx", 5, 0), 5);
		CHECK_EQ(pthread_create(&t, NULL, rest_and_end, &j), 0);
		__atomic_store_n(&j.flags, 1, __ATOMIC_RELEASE);
		for (volatile int k = i * 5 % 2000; k > 0; k--)
			;
		CHECK_PEEK(uk_recv(s[0], b, 20, MSG_WAITALL | MSG_PEEK), 20);
		CHECK_EQ(pthread_join(t, NULL), 0);
		uk_close(s[0]);
		uk_close(s[1]);
	}
}

static void waitall_waits_for_all(void)
{
	for (int tcp = 0; tcp < 2; tcp++) {
		unsigned char b[2000];
		struct iovec v[3] = { { b, 10 }, { b + 10, 0 }, { b + 10, 990 } };
		struct msghdr m = { .msg_iov = v, .msg_iovlen = 3 };
		struct job j = { .n = 2500 };
		uk_thread *t;
		int s[2];

		if (tcp)
			make_tcp(s, 0);
		else
			make_unix(s, SOCK_STREAM);
		j.fd = s[1];
		t = spawn(dribbler, &j);
		CHECK_EQ(uk_recv(s[0], b, 1000, MSG_WAITALL), 1000);
		check_fill(b, 1000, 0);
		CHECK_EQ(uk_recvmsg(s[0], &m, MSG_WAITALL), 1000);
		check_fill(b, 1000, 1000);
		CHECK_PEEK(uk_recv(s[0], b, 400, MSG_WAITALL | MSG_PEEK), 400);
		if (!UK_HOSTILE)
			check_fill(b, 400, 2000);
		/* the stream ends before all bytes are there */
		CHECK_EQ(uk_recv(s[0], b, 1000, MSG_WAITALL), 500);
		check_fill(b, 500, 2000);
		CHECK_EQ(uk_recv(s[0], b, 1000, MSG_WAITALL), 0);
		join(t);
		uk_close(s[0]);
		uk_close(s[1]);
	}
}

static void peek_leaves_the_bytes_in_the_socket(void)
{
	struct job j = { 0 };
	uk_thread *t;
	char b[10];
	int s[2];

	make_unix(s, SOCK_STREAM);
	j.fd = s[1];
	t = spawn(late_sender, &j);
	CHECK_PEEK(uk_recv(s[0], b, 10, MSG_PEEK), 5);
	CHECK_PEEK(uk_recv(s[0], b, 3, MSG_PEEK), 3);
	CHECK_EQ(recv_k(s[0], b, 3, 3), 3);
	CHECK_EQ(recv_k(s[0], b, 10, 2), 2);
	CHECK(!memcmp(b, "lo", 2));
	join(t);
	uk_close(s[0]);
	uk_close(s[1]);
}

static void dontwait_does_not_wait(void)
{
	char *b = calloc(1, BIG);
	struct iovec v = { b, BIG };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	ssize_t r;
	int s[2];

	make_unix(s, SOCK_STREAM);
	CHECK_EQ(uk_recv(s[0], b, 10, MSG_DONTWAIT), -EAGAIN);
	CHECK_EQ(uk_recvmsg(s[0], &m, MSG_DONTWAIT), -EAGAIN);
	r = uk_send(s[0], b, BIG, MSG_DONTWAIT);
	CHECK(r > 0 && r < (ssize_t)BIG);
	while ((r = uk_send(s[0], b, 1000, MSG_DONTWAIT)) > 0)
		;
	CHECK_EQ(r, -EAGAIN);
	CHECK_EQ(uk_sendmsg(s[0], &m, MSG_DONTWAIT), -EAGAIN);
	uk_close(s[0]);
	uk_close(s[1]);
	make_tcp(s, 0);
	CHECK_EQ(uk_recvmsg(s[0], &m, MSG_ERRQUEUE), -EAGAIN);
	uk_close(s[0]);
	uk_close(s[1]);
	free(b);
}

static void a_nonblocking_socket_does_not_wait(void)
{
	char *b = calloc(1, BIG);
	struct iovec v[2] = { { b, BIG / 2 }, { b, BIG / 2 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	ssize_t r;
	int s[2];

	for (int way = 0; way < 4; way++) {
		make_tcp(s, 8192);
		set_nonblock(s[0]);
		for (int i = 0; i < 2; i++) {
			CHECK_EQ(uk_recv(s[0], b, 10, 0), -EAGAIN);
			CHECK_EQ(uk_read(s[0], b, 10), -EAGAIN);
			CHECK_EQ(uk_recvmsg(s[0], &m, 0), -EAGAIN);
			CHECK_EQ(uk_recv(s[0], b, 10, MSG_WAITALL), -EAGAIN);
			CHECK_EQ(uk_recv(s[0], b, 10, MSG_WAITALL | MSG_PEEK), -EAGAIN);
		}
		r = send_way(way, s[0], (unsigned char *)b, BIG);
		CHECK(r > 0 && r < (ssize_t)BIG);
		for (int i = 0; i < 100 && r > 0; i++)
			r = send_way(way, s[0], (unsigned char *)b, BIG);
		CHECK_EQ(r, -EAGAIN);
		uk_close(s[0]);
		uk_close(s[1]);
	}
	free(b);
}

static void a_broken_connection_raises_sigpipe_without_msg_nosignal(void)
{
	struct iovec v = { (void *)(uintptr_t) "x", 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int s[2], before = sigpipes;

	make_unix(s, SOCK_STREAM);
	uk_close(s[1]);
	CHECK_EQ(uk_send(s[0], "x", 1, MSG_NOSIGNAL), -EPIPE);
	CHECK_EQ(uk_sendmsg(s[0], &m, MSG_NOSIGNAL), -EPIPE);
	CHECK_EQ(sigpipes, before);
	CHECK_EQ(uk_send(s[0], "x", 1, 0), -EPIPE);
	CHECK_EQ(sigpipes, before + 1);
	CHECK_EQ(uk_sendmsg(s[0], &m, 0), -EPIPE);
	CHECK_EQ(sigpipes, before + 2);
	CHECK_EQ(uk_write(s[0], "x", 1), -EPIPE);
	CHECK_EQ(sigpipes, before + 3);
	uk_close(s[0]);
}

static void *late_resetter(void *arg)
{
	struct job *j = arg;

	uk_sleep(5 * MS);
	reset_on_close(j->fd);
	CHECK_EQ(uk_close(j->fd), 0);
	return NULL;
}

static void a_reset_is_reported(void)
{
	struct job j = { 0 };
	uk_thread *t;
	char b[10];
	int s[2];

	make_tcp(s, 0);
	j.fd = s[1];
	t = spawn(late_resetter, &j);
	CHECK_EQ(uk_recv(s[0], b, 10, 0), -ECONNRESET);
	CHECK_EQ(uk_recv(s[0], b, 10, 0), 0);
	join(t);
	uk_close(s[0]);

	make_tcp(s, 0);
	j.fd = s[1];
	t = spawn(late_resetter, &j);
	CHECK_EQ(uk_read(s[0], b, 10), -ECONNRESET);
	join(t);
	uk_close(s[0]);
}

static void a_reset_ends_a_send_with_the_count(void)
{
	char *b = calloc(1, 8 * BIG);
	struct job j = { 0 };
	uk_thread *t;
	ssize_t r;
	int s[2];

	make_tcp(s, 8192);
	j.fd = s[1];
	t = spawn(late_resetter, &j);
	r = uk_send(s[0], b, 8 * BIG, MSG_NOSIGNAL);
	CHECK(r > 0 && r < (ssize_t)(8 * BIG));
	join(t);
	r = uk_send(s[0], b, 8 * BIG, MSG_NOSIGNAL);
	CHECK(r == -EPIPE || r == -ECONNRESET);
	uk_close(s[0]);
	free(b);
}

static void a_half_closed_connection_goes_on(void)
{
	struct job j = { 0 };
	uk_thread *t;
	char b[10];
	int s[2];

	make_tcp(s, 0);
	CHECK_EQ(uk_shutdown(s[0], SHUT_WR), 0);
	CHECK_EQ(uk_recv(s[1], b, 10, 0), 0);
	j.fd = s[1];
	t = spawn(late_sender, &j);
	CHECK_EQ(recv_k(s[0], b, 10, 5), 5);
	join(t);
	CHECK_EQ(uk_send(s[0], "x", 1, MSG_NOSIGNAL), -EPIPE);
	CHECK_EQ(uk_shutdown(s[0], 77), -EINVAL);
	uk_close(s[0]);
	uk_close(s[1]);
	CHECK_EQ(uk_shutdown(s[0], SHUT_WR), -EBADF);
}

static int udp(struct sockaddr_in *a)
{
	int fd = uk_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = sizeof(*a);

	CHECK(fd >= 0);
	memset(a, 0, sizeof(*a));
	a->sin_family = AF_INET;
	a->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK_EQ(bind(fd, (struct sockaddr *)a, sizeof(*a)), 0);
	CHECK_EQ(getsockname(fd, (struct sockaddr *)a, &len), 0);
	return fd;
}

struct dgram {
	int fd;
	struct sockaddr_in to;
};

static void *late_datagrams(void *arg)
{
	struct dgram *d = arg;
	char b[1000];

	for (int i = 0; i < 6; i++) {
		memset(b, '0' + i, sizeof(b));
		uk_sleep(2 * MS);
		CHECK_EQ(uk_sendto(d->fd, b, sizeof(b), 0, (struct sockaddr *)&d->to,
				   sizeof(d->to)),
			 sizeof(b));
	}
	return NULL;
}

static void a_receive_takes_one_datagram_and_truncates_it(void)
{
	struct sockaddr_in a, c, from;
	struct dgram d;
	socklen_t len = sizeof(from);
	char b[2000], big[70000];
	struct iovec v = { b, 100 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int rx = udp(&a), tx = udp(&c);
	uk_thread *t;

	d = (struct dgram){ tx, a };
	t = spawn(late_datagrams, &d);
	memset(&from, 0, sizeof(from));
	CHECK_EQ(uk_recvfrom(rx, b, sizeof(b), 0, (struct sockaddr *)&from, &len),
		 1000);
	CHECK_EQ(b[0], '0');
	CHECK_EQ(from.sin_port, c.sin_port);
	CHECK_EQ(len, sizeof(from));
	CHECK_EQ(uk_recvfrom(rx, b, 10, 0, NULL, NULL), 10); /* the rest is lost */
	CHECK_EQ(b[0], '1');
	CHECK_EQ(uk_recv(rx, b, 10, MSG_TRUNC), 1000);
	CHECK_EQ(b[0], '2');
	CHECK_EQ(uk_recvmsg(rx, &m, 0), 100);
	CHECK(m.msg_flags & MSG_TRUNC);
	CHECK_EQ(b[0], '3');
	CHECK_EQ(uk_recv(rx, b, sizeof(b), MSG_WAITALL), 1000);
	CHECK_EQ(b[0], '4');
	CHECK_EQ(read_k(rx, b, sizeof(b), 1000), 1000);
	CHECK_EQ(b[0], '5');
	join(t);
	CHECK_EQ(uk_sendto(tx, b, 0, 0, (struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_EQ(uk_recv(rx, b, sizeof(b), 0), 0);
	memset(big, 0, sizeof(big));
	CHECK_EQ(uk_sendto(tx, big, sizeof(big), 0, (struct sockaddr *)&a, sizeof(a)),
		 -EMSGSIZE);
	CHECK_EQ(uk_send(tx, b, 1, 0), -EDESTADDRREQ);
	uk_close(rx);
	uk_close(tx);
}

static void *drain_datagrams(void *arg)
{
	struct job *j = arg;
	char b[200];

	uk_sleep(10 * MS);
	for (size_t i = 0; i < j->n; i++) {
		CHECK_EQ(recv_k(j->fd, b, sizeof(b), 100), 100);
		CHECK_EQ(b[0], (char)i);
	}
	return NULL;
}

/* poll(2) does not report the receiver's queue of a unix datagram socket. */
static void a_sender_waits_for_a_full_receiver(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	struct job j = { .n = 500 };
	char b[100] = { 0 };
	uk_thread *t;
	int tx;

	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "uk-io-%d-%d", getpid(),
		 is_user);
	j.fd = uk_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	tx = uk_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(bind(j.fd, (struct sockaddr *)&a, sizeof(a)), 0);
	t = spawn(drain_datagrams, &j);
	for (size_t i = 0; i < j.n; i++) {
		b[0] = (char)i;
		CHECK_EQ(
		    uk_sendto(tx, b, sizeof(b), 0, (struct sockaddr *)&a, sizeof(a)),
		    100);
	}
	join(t);
	uk_close(j.fd);
	uk_close(tx);
}

static void seqpackets_keep_their_boundaries(void)
{
	char b[100];
	int s[2];

	make_unix(s, SOCK_SEQPACKET);
	CHECK_EQ(uk_send(s[0], "first", 5, 0), 5);
	CHECK_EQ(uk_write(s[0], "second", 6), 6);
	CHECK_EQ(uk_recv(s[1], b, 100, MSG_WAITALL), 5);
	CHECK_EQ(read_k(s[1], b, 3, 3), 3);
	CHECK_EQ(uk_send(s[0], "third", 5, 0), 5);
	CHECK_EQ(read_k(s[1], b, 100, 5), 5);
	CHECK_EQ(b[0], 't');
	uk_close(s[0]);
	CHECK_EQ(uk_recv(s[1], b, 100, 0), 0);
	uk_close(s[1]);
}

struct passed {
	int sock, fd;
	size_t n;
};

static void *late_passer(void *arg)
{
	struct passed *p = arg;
	union {
		char b[CMSG_SPACE(sizeof(int))];
		struct cmsghdr h;
	} u;
	unsigned char *b = malloc(p->n);
	struct iovec v[2] = { { b, 1 }, { b + 1, p->n - 1 } };
	struct msghdr m = { .msg_iov = v,
			    .msg_iovlen = 2,
			    .msg_control = &u,
			    .msg_controllen = sizeof(u) };

	fill(b, p->n, 0);
	u.h.cmsg_level = SOL_SOCKET;
	u.h.cmsg_type = SCM_RIGHTS;
	u.h.cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(&u.h), &p->fd, sizeof(int));
	uk_sleep(3 * MS);
	CHECK_EQ(uk_sendmsg(p->sock, &m, 0), p->n);
	free(b);
	return NULL;
}

/* The message is far larger than the socket's buffer, so it is sent in parts. The fd
 * must come with the first part, and only once. */
static void a_passed_fd_arrives_once(void)
{
	union {
		char b[256];
		struct cmsghdr h;
	} u;
	unsigned char b[4000];
	struct passed p = { .n = 500000 };
	int s[2], pp[2], got = 0, fd = -1;
	uk_thread *t;
	size_t at = 0;

	make_unix(s, SOCK_STREAM);
	make_pipe(pp, 0);
	p.sock = s[0];
	p.fd = pp[1];
	t = spawn(late_passer, &p);
	while (at < p.n) {
		struct iovec v = { b, sizeof(b) };
		struct msghdr m = { .msg_iov = &v,
				    .msg_iovlen = 1,
				    .msg_control = &u,
				    .msg_controllen = sizeof(u) };
		ssize_t r = uk_recvmsg(s[1], &m, MSG_CMSG_CLOEXEC);

		CHECK(r > 0);
		CHECK(!(m.msg_flags & MSG_CTRUNC));
		check_fill(b, (size_t)r, at);
		at += (size_t)r;
		for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c)) {
			CHECK_EQ(c->cmsg_type, SCM_RIGHTS);
			memcpy(&fd, CMSG_DATA(c), sizeof(fd));
			got++;
		}
	}
	join(t);
	CHECK_EQ(got, 1);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK_EQ(uk_write(fd, "!", 1), 1);
	CHECK_EQ(uk_read(pp[0], b, 10), 1);
	uk_close(fd);
	uk_close(pp[0]);
	uk_close(pp[1]);
	uk_close(s[0]);
	uk_close(s[1]);
}

static void socket_calls_on_other_fds_fail_as_in_the_kernel(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	char b[10];
	struct iovec v = { b, 10 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	int p[2], s = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_pipe(p, 0);
	for (int i = 0; i < 2; i++) { /* the library learns that it is a pipe */
		CHECK_EQ(uk_recv(p[0], b, 10, 0), -ENOTSOCK);
		CHECK_EQ(uk_recvmsg(p[0], &m, 0), -ENOTSOCK);
		CHECK_EQ(uk_send(p[1], b, 10, 0), -ENOTSOCK);
		CHECK_EQ(uk_sendmsg(p[1], &m, 0), -ENOTSOCK);
		CHECK_EQ(uk_accept(p[0], NULL, NULL), -ENOTSOCK);
		CHECK_EQ(uk_connect(p[0], (struct sockaddr *)&a, sizeof(a)), -ENOTSOCK);
		CHECK_EQ(uk_shutdown(p[0], SHUT_RD), -ENOTSOCK);
		CHECK_EQ(uk_write(p[1], b, 1), 1);
		CHECK_EQ(uk_read(p[0], b, 1), 1);
	}
	CHECK_EQ(uk_recv(-1, b, 10, 0), -EBADF);
	CHECK_EQ(uk_send(-1, b, 10, 0), -EBADF);
	CHECK_EQ(uk_recvmsg(-1, &m, 0), -EBADF);
	CHECK_EQ(uk_sendmsg(-1, &m, 0), -EBADF);
	CHECK_EQ(uk_accept(-1, NULL, NULL), -EBADF);
	CHECK_EQ(uk_connect(-1, (struct sockaddr *)&a, sizeof(a)), -EBADF);
	CHECK_EQ(uk_recv(s, b, 10, 0), -ENOTCONN);
	CHECK_EQ(uk_send(s, b, 10, MSG_NOSIGNAL), -EPIPE);
	CHECK_EQ(uk_accept(s, NULL, NULL), -EINVAL);
	CHECK_EQ(uk_socket(12345, SOCK_STREAM, 0), -EAFNOSUPPORT);
	CHECK_EQ(uk_socket(AF_UNIX, 99, 0), -EINVAL);
	uk_close(s);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void a_receive_of_urgent_data_does_not_wait(void)
{
	char b[10];
	int s[2];

	make_tcp(s, 0);
	CHECK_EQ(uk_recv(s[1], b, 1, MSG_OOB), -EINVAL);
	CHECK_EQ(uk_send(s[0], "!", 1, MSG_OOB), 1);
	CHECK_EQ(uk_wait_fd(s[1], POLLPRI, uk_after(HANG_NS)), POLLPRI);
	CHECK_EQ(uk_recv(s[1], b, 1, MSG_OOB), 1);
	CHECK_EQ(b[0], '!');
	uk_close(s[0]);
	uk_close(s[1]);
}

#define SOME 8

struct batch {
	struct mmsghdr m[SOME];
	struct iovec v[SOME][2];
	char b[SOME][2][100];
};

/* Each message consists of two parts. */
static void batch(struct batch *t, size_t a, size_t b)
{
	memset(t, 0, sizeof(*t));
	for (int i = 0; i < SOME; i++) {
		t->v[i][0] = (struct iovec){ t->b[i][0], a };
		t->v[i][1] = (struct iovec){ t->b[i][1], b };
		t->m[i].msg_hdr.msg_iov = t->v[i];
		t->m[i].msg_hdr.msg_iovlen = 2;
		memset(t->b[i], '0' + i, sizeof(t->b[i]));
	}
}

static void *sends_a_batch(void *arg)
{
	struct job *j = arg;
	struct batch t;

	batch(&t, 3, 4);
	uk_sleep(2 * MS);
	CHECK_EQ(uk_sendmmsg(j->fd, t.m, SOME, 0), SOME);
	for (int i = 0; i < SOME; i++)
		CHECK_EQ(t.m[i].msg_len, 7);
	return NULL;
}

static void datagrams_are_sent_and_received_many_at_once(void)
{
	struct job j = { 0 };
	struct batch t;
	uk_thread *u;
	int s[2], n;

	make_unix(s, SOCK_DGRAM);
	j.fd = s[1];
	batch(&t, 3, 97);
	CHECK_EQ(uk_recvmmsg(s[0], t.m, SOME, MSG_DONTWAIT), -EAGAIN);
	for (int turn = 0; turn < 3; turn++) {
		u = spawn(sends_a_batch, &j);
		batch(&t, 3, 97);
		if (turn)
			CHECK_EQ(uk_recvmmsg(s[0], t.m, SOME, 0), SOME); /* waits */
		else
			for (n = 0; n < SOME;) {
				int r = uk_recvmmsg(s[0], t.m + n, (unsigned)(SOME - n),
						    MSG_WAITFORONE);

				CHECK(r > 0);
				n += r;
			}
		join(u);
		for (int i = 0; i < SOME; i++) {
			CHECK_EQ(t.m[i].msg_len, 7);
			CHECK(t.b[i][0][2] == '0' + i && t.b[i][1][3] == '0' + i);
		}
	}
	CHECK_EQ(uk_recvmmsg(s[0], t.m, 0, 0), 0);
	CHECK_EQ(uk_sendmmsg(s[0], t.m, 0, 0), 0);
	CHECK_EQ(uk_sendmmsg(-1, t.m, 1, 0), -EBADF);
	CHECK_EQ(uk_recvmmsg(-1, t.m, 1, 0), -EBADF);
	/* what was received is not lost to the deadline */
	CHECK_EQ(uk_send(s[1], "x", 1, 0), 1);
	uk_thread_set_deadline(uk_after(5 * MS));
	CHECK_EQ(uk_recvmmsg(s[0], t.m, 2, 0), 1);
	CHECK_EQ(uk_recvmmsg(s[0], t.m, 2, 0), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	uk_close(s[0]);
	uk_close(s[1]);
}

static void *reads_all(void *arg)
{
	struct job *j = arg;
	char b[333];
	ssize_t r;

	while ((r = uk_recv(j->fd, b, sizeof(b), 0)) > 0)
		j->n += (size_t)r;
	CHECK_EQ(r, 0);
	return NULL;
}

/* A stream takes parts of messages; the call goes on where it stopped. */
static void a_stream_gets_all_of_many_messages(void)
{
	enum { LEN = 300000 };
	struct job j = { 0 };
	char *big = calloc(1, LEN);
	struct batch t;
	uk_thread *u;
	int s[2];

	make_unix(s, SOCK_STREAM);
	j.fd = s[1];
	u = spawn(reads_all, &j);
	batch(&t, 1, 1);
	for (int i = 0; i < SOME; i++)
		t.v[i][i % 2] = (struct iovec){ big, LEN };
	CHECK_EQ(uk_sendmmsg(s[0], t.m, SOME, 0), SOME);
	for (int i = 0; i < SOME; i++)
		CHECK_EQ(t.m[i].msg_len, LEN + 1);
	uk_close(s[0]);
	join(u);
	CHECK_EQ(j.n, SOME * (LEN + 1));
	uk_close(s[1]);
	free(big);
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(recv_waits_for_a_sender);
	BOTH(a_blocking_send_sends_all);
	BOTH(waitall_waits_for_all);
	BOTH(a_peek_misses_nothing_before_the_end);
	BOTH(peek_leaves_the_bytes_in_the_socket);
	BOTH(dontwait_does_not_wait);
	BOTH(a_nonblocking_socket_does_not_wait);
	BOTH(a_broken_connection_raises_sigpipe_without_msg_nosignal);
	BOTH(a_reset_is_reported);
	BOTH(a_reset_ends_a_send_with_the_count);
	BOTH(a_half_closed_connection_goes_on);
	BOTH(a_receive_takes_one_datagram_and_truncates_it);
	BOTH(a_sender_waits_for_a_full_receiver);
	BOTH(seqpackets_keep_their_boundaries);
	BOTH(a_passed_fd_arrives_once);
	BOTH(socket_calls_on_other_fds_fail_as_in_the_kernel);
	BOTH(a_receive_of_urgent_data_does_not_wait);
	BOTH(datagrams_are_sent_and_received_many_at_once);
	BOTH(a_stream_gets_all_of_many_messages);
	return 0;
}

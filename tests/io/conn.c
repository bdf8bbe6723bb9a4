/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: accept and connect. */
#include "iotest.h"

struct server {
	int fd;
	struct sockaddr_in a;
	int accepted; /* atomics */
	int stop;
};

static void *late_client(void *arg)
{
	struct server *s = arg;
	int fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	uk_sleep(5 * MS);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&s->a, sizeof(s->a)), 0);
	CHECK(flags_untouched(fd));
	return (void *)(intptr_t)fd;
}

static void accept_waits_for_a_client(void)
{
	struct server s = { 0 };
	struct sockaddr_in peer, own;
	socklen_t len = sizeof(peer), olen = sizeof(own);
	int fd, c;
	uk_thread *t;

	s.fd = make_listener(&s.a, 8);
	t = spawn(late_client, &s);
	fd = uk_accept(s.fd, (struct sockaddr *)&peer, &len);
	CHECK(fd >= 0);
	c = (int)(intptr_t)join(t);
	CHECK_EQ(getsockname(c, (struct sockaddr *)&own, &olen), 0);
	CHECK_EQ(len, sizeof(peer));
	CHECK_EQ(peer.sin_port, own.sin_port);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, 0);
	uk_close(fd);
	uk_close(c);

	t = spawn(late_client, &s);
	fd = uk_accept4(s.fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	CHECK(fd >= 0);
	CHECK_EQ(fcntl(fd, F_GETFD) & FD_CLOEXEC, FD_CLOEXEC);
	CHECK(fcntl(fd, F_GETFL) & O_NONBLOCK);
	uk_close(fd);
	uk_close((int)(intptr_t)join(t));
	CHECK(flags_untouched(s.fd));
	CHECK_EQ(uk_accept4(s.fd, NULL, NULL, 0x123), -EINVAL);
	set_nonblock(s.fd);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_accept(s.fd, NULL, NULL), -EAGAIN);
	uk_close(s.fd);
}

static void connect_reports_the_error(void)
{
	struct sockaddr_in a, gone;
	struct sockaddr_un u = { .sun_family = AF_UNIX };
	int l = make_listener(&a, 8), fd, g = make_deaf(&gone);

	fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&gone, sizeof(gone)), -ECONNREFUSED);
	uk_close(fd);
	uk_close(g);
	fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&a, sizeof(a)), -EISCONN);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&a, 1), -EINVAL);
	uk_close(fd);
	fd = uk_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	snprintf(u.sun_path, sizeof(u.sun_path), "/tmp/uk-io-nobody-%d", getpid());
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&u, sizeof(u)), -ENOENT);
	uk_close(fd);
	fd = uk_socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	uk_close(fd);
	uk_close(l);
}

static void a_nonblocking_connect_is_in_progress(void)
{
	struct sockaddr_in a;
	int l = make_listener(&a, 8), r;
	int fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	r = uk_connect(fd, (struct sockaddr *)&a, sizeof(a));
	CHECK(r == -EINPROGRESS || r == 0);
	CHECK_EQ(uk_wait_fd(fd, POLLOUT, uk_after(HANG_NS)), POLLOUT);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&a, sizeof(a)),
		 r == 0 ? -EISCONN : 0);
	uk_close(fd);
	uk_close(l);
}

/* A listener with a full queue: the kernel drops SYNs, so a connect hangs. */
struct full {
	int l, n, fd[8];
	struct sockaddr_in a;
};

static void make_full(struct full *f)
{
	f->n = 0;
	f->l = make_listener(&f->a, 0);
	for (int i = 0; i < 2; i++) {
		int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		connect(fd, (struct sockaddr *)&f->a, sizeof(f->a));
		f->fd[f->n++] = fd;
	}
}

static void close_full(struct full *f)
{
	for (int i = 0; i < f->n; i++)
		uk_close(f->fd[i]);
	uk_close(f->l);
}

static void a_hanging_connect_ends_at_the_deadline(void)
{
	struct full f;
	uk_time start = uk_now();
	int fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	make_full(&f);
	uk_thread_set_deadline(start + 50 * MS);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&f.a, sizeof(f.a)), -ETIMEDOUT);
	CHECK(uk_now() - start >= 50 * MS);
	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&f.a, sizeof(f.a)), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	CHECK(flags_untouched(fd));
	uk_close(fd);
	close_full(&f);
}

static void *connects(void *arg)
{
	struct full *f = arg;
	int fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct timeval tv = { 1, 1 };
	socklen_t len = sizeof(tv);
	int r = uk_connect(fd, (struct sockaddr *)&f->a, sizeof(f->a));

	CHECK_EQ(getsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &tv, &len), 0);
	CHECK_EQ(tv.tv_sec + tv.tv_usec, 0);
	if (r == 0) {
		CHECK_EQ(uk_send(fd, "x", 1, 0), 1);
		CHECK_EQ(uk_recv(fd, &tv, 1, 0), 0);
	}
	uk_close(fd);
	return (void *)(intptr_t)r;
}

static void a_hanging_connect_can_be_cancelled(void)
{
	struct full f;
	uk_thread *t;

	make_full(&f);
	t = spawn(connects, &f);
	uk_sleep(20 * MS);
	CHECK_EQ(uk_thread_cancel(t), 0);
	CHECK_EQ((intptr_t)join(t), -ECANCELED);
	close_full(&f);
}

/* The client repeats its SYN after a second. */
static void a_slow_connect_succeeds_in_the_end(void)
{
	struct full f;
	uk_thread *t;

	make_full(&f);
	t = spawn(connects, &f);
	uk_sleep(50 * MS);
	for (int got = 0; !got;) {
		char b;
		int fd = uk_accept(f.l, NULL, NULL);

		CHECK(fd >= 0);
		/* the connections that filled the queue send nothing */
		uk_thread_set_deadline(uk_after(100 * MS));
		got = uk_recv(fd, &b, 1, 0) == 1;
		uk_thread_set_deadline(UK_FOREVER);
		uk_close(fd);
	}
	CHECK_EQ((intptr_t)join(t), 0);
	close_full(&f);
}

static void *unix_client(void *arg)
{
	struct sockaddr_un *a = arg;
	int fd = uk_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char b[10];

	CHECK_EQ(uk_connect(fd, (struct sockaddr *)a, sizeof(*a)), 0);
	CHECK_EQ(uk_send(fd, "hi", 2, 0), 2);
	CHECK_EQ(recv_k(fd, b, 10, 2), 2);
	uk_close(fd);
	return NULL;
}

static void clients_of_a_full_unix_listener_wait(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int l = uk_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uk_thread *t[20];
	char b[10];

	snprintf(a.sun_path + 1, sizeof(a.sun_path) - 1, "uk-conn-%d-%d", getpid(),
		 is_user);
	CHECK_EQ(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 1), 0);
	for (int i = 0; i < 20; i++)
		t[i] = spawn(unix_client, &a);
	uk_sleep(10 * MS);
	for (int i = 0; i < 20; i++) {
		int fd = uk_accept(l, NULL, NULL);

		CHECK(fd >= 0);
		CHECK_EQ(recv_k(fd, b, 10, 2), 2);
		CHECK_EQ(uk_send(fd, b, 2, 0), 2);
		uk_close(fd);
	}
	for (int i = 0; i < 20; i++)
		join(t[i]);

	/* no thread accepts: the deadline ends connect */
	int fd[8], n = 0;
	for (; n < 3; n++) {
		fd[n] = uk_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
		uk_thread_set_deadline(uk_after(20 * MS));
		if (uk_connect(fd[n], (struct sockaddr *)&a, sizeof(a)) == -ETIMEDOUT)
			break;
	}
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(n, 2);
	for (int i = 0; i <= n; i++)
		uk_close(fd[i]);
	uk_close(l);
}

static void *acceptor(void *arg)
{
	struct server *s = arg;
	intptr_t n = 0;

	for (;;) {
		int fd = uk_accept(s->fd, NULL, NULL);
		char b[10];

		if (fd == -EBADF)
			return (void *)n;
		CHECK(fd >= 0);
		n++;
		__atomic_fetch_add(&s->accepted, 1, __ATOMIC_RELAXED);
		CHECK_EQ(recv_k(fd, b, 10, 4), 4);
		CHECK_EQ(uk_send(fd, b, 4, 0), 4);
		CHECK_EQ(uk_recv(fd, b, 10, 0), 0);
		uk_close(fd);
	}
}

static void *caller(void *arg)
{
	struct server *s = arg;
	char b[10];

	for (int i = 0; i < 50; i++) {
		int fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

		CHECK_EQ(uk_connect(fd, (struct sockaddr *)&s->a, sizeof(s->a)), 0);
		CHECK_EQ(uk_send(fd, "ping", 4, 0), 4);
		CHECK_EQ(recv_k(fd, b, 10, 4), 4);
		uk_close(fd);
		if (i % 10 == 3)
			uk_yield();
	}
	return NULL;
}

static void many_threads_accept_on_one_listener(void)
{
	struct server s = { 0 };
	uk_thread *a[16], *c[20];
	intptr_t sum = 0;

	s.fd = make_listener(&s.a, 128);
	for (int i = 0; i < 16; i++)
		a[i] = spawn(acceptor, &s);
	for (int i = 0; i < 20; i++)
		c[i] = spawn(caller, &s);
	for (int i = 0; i < 20; i++)
		join(c[i]);
	CHECK_EQ(uk_close(s.fd), 0);
	for (int i = 0; i < 16; i++)
		sum += (intptr_t)join(a[i]);
	CHECK_EQ(sum, 1000);
	CHECK_EQ(s.accepted, 1000);
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(accept_waits_for_a_client);
	BOTH(connect_reports_the_error);
	BOTH(a_nonblocking_connect_is_in_progress);
	BOTH(a_hanging_connect_ends_at_the_deadline);
	USER(a_hanging_connect_can_be_cancelled);
	BOTH(clients_of_a_full_unix_listener_wait);
	BOTH(many_threads_accept_on_one_listener);
	USER(a_slow_connect_succeeds_in_the_end);
	return 0;
}

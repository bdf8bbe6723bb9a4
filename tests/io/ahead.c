/* SPDX-License-Identifier: Apache-2.0 */
/* uk_recv_ahead: the bytes of a stream arrive in order, none is lost, and none comes
 * from another stream, whatever happens while the runtime holds them. On epoll the hint
 * has no effect, and the same holds. */
#include "iotest.h"

static bool ahead; /* the hint has an effect on this engine */

static unsigned char at(uint64_t seed, size_t i)
{
	uint64_t z = (seed + i / 7) * 0x9e3779b97f4a7c15u;

	return (unsigned char)(z >> (8 * (i % 7) + 3));
}

static void bytes_of(char *b, uint64_t seed, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		b[i] = (char)at(seed, from + i);
}

static void same(const char *b, uint64_t seed, size_t from, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)b[i] != at(seed, from + i)) {
			printf("seed %lu: byte %zu is wrong\n", (unsigned long)seed,
			       from + i);
			CHECK(0);
		}
}

static void send_all(int fd, uint64_t seed, size_t from, size_t n)
{
	char b[8192];

	while (n) {
		size_t k = n < sizeof(b) ? n : sizeof(b);

		bytes_of(b, seed, from, k);
		CHECK_EQ(uk_send(fd, b, k, MSG_NOSIGNAL), (ssize_t)k);
		from += k;
		n -= k;
	}
}

static void recv_all(int fd, uint64_t seed, size_t from, size_t n, size_t piece)
{
	char b[10000];

	while (n) {
		size_t k = n < piece ? n : piece;
		ssize_t r = uk_recv(fd, b, k, 0);

		CHECK(r > 0 && (size_t)r <= k);
		same(b, seed, from, (size_t)r);
		from += (size_t)r;
		n -= (size_t)r;
	}
}

static void pair(int s[2])
{
	make_tcp(s, 0);
	CHECK_EQ(uk_recv_ahead(s[0]), 0);
}

static void finish(int s[2])
{
	CHECK_EQ(uk_close(s[0]), 0);
	CHECK_EQ(uk_close(s[1]), 0);
}

static void only_connected_streams_can_be_received_ahead(void)
{
	struct sockaddr_in a;
	int s[2], l = make_listener(&a, 8), u = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK_EQ(uk_recv_ahead(l), -EINVAL);
	CHECK_EQ(uk_recv_ahead(u), -EINVAL);
	CHECK_EQ(uk_recv_ahead(-1), -EBADF);
	make_pipe(s, 0);
	CHECK_EQ(uk_recv_ahead(s[0]), -ENOTSOCK);
	uk_close(l);
	uk_close(u);
	finish(s);
}

static void bytes_arrive_in_order_in_pieces_of_any_size(void)
{
	static const size_t piece[] = { 1, 3, 100, 2047, 2048, 2049, 5000, 10000 };
	int s[2];

	pair(s);
	for (unsigned i = 0; i < sizeof(piece) / sizeof(piece[0]); i++) {
		size_t n = piece[i] < 50 ? 1000 : 30000;

		send_all(s[1], i, 0, n);
		recv_all(s[0], i, 0, n, piece[i]);
	}
	finish(s);
}

static void *late_sender(void *arg)
{
	int fd = *(int *)arg;

	for (unsigned i = 0; i < 50; i++) {
		uk_sleep((i % 3) * MS / 4);
		send_all(fd, 5, i * 77, 77);
	}
	return NULL;
}

static void a_reader_that_comes_first_waits(void)
{
	char b[77 * 50];
	uk_thread *t;
	int s[2];

	pair(s);
	t = spawn(late_sender, &s[1]);
	recv_all(s[0], 5, 0, 77 * 25, 10000);
	CHECK_EQ(uk_recv(s[0], b, 77 * 25, MSG_WAITALL), 77 * 25);
	same(b, 5, 77 * 25, 77 * 25);
	join(t);
	finish(s);
}

static void a_deadline_loses_nothing(void)
{
	char b[100];
	int s[2];

	pair(s);
	for (unsigned i = 0; i < 20; i++) {
		uk_thread_set_deadline(uk_after(MS));
		CHECK_EQ(uk_recv(s[0], b, sizeof(b), 0), -ETIMEDOUT);
		uk_thread_set_deadline(UK_FOREVER);
		send_all(s[1], i, 0, 3000);
		recv_all(s[0], i, 0, 3000, 1000);
	}
	finish(s);
}

static void *reader(void *arg)
{
	char b[100];

	return (void *)(intptr_t)uk_recv(*(int *)arg, b, sizeof(b), 0);
}

static void a_cancel_and_a_close_end_a_wait(void)
{
	uk_thread *t;
	int s[2];

	pair(s);
	t = spawn(reader, &s[0]);
	uk_sleep(2 * MS);
	uk_thread_cancel(t);
	CHECK_EQ((intptr_t)join(t), -ECANCELED);
	send_all(s[1], 1, 0, 50);
	recv_all(s[0], 1, 0, 50, 50);
	t = spawn(reader, &s[0]);
	uk_sleep(2 * MS);
	CHECK_EQ(uk_close(s[0]), 0);
	CHECK_EQ((intptr_t)join(t), -EBADF);
	CHECK_EQ(uk_recv(s[1], s, 1, 0), 0); /* the peer sees the end */
	uk_close(s[1]);
}

static void *reader_until_told(void *arg)
{
	int fd = *(int *)arg;
	char b[4];
	ssize_t r;

	while ((r = uk_recv(fd, b, sizeof(b), 0)) > 0)
		uk_yield();
	return (void *)(intptr_t)r;
}

/* No thread waits without end, neither a reader that calls during the close nor the
 * closing one. */
static void a_close_ends_all_readers_at_any_moment(void)
{
	uk_thread *t[4];
	int s[2];

	for (unsigned i = 0; i < 300; i++) {
		pair(s);
		for (unsigned k = 0; k < 4; k++)
			t[k] = spawn(reader_until_told, &s[0]);
		send_all(s[1], i, 0, 16 + i % 64);
		for (unsigned k = 0; k < i % 8; k++)
			uk_yield();
		CHECK_EQ(uk_close(s[0]), 0);
		for (unsigned k = 0; k < 4; k++)
			CHECK_EQ((intptr_t)join(t[k]), -EBADF);
		CHECK_EQ(uk_close(s[1]), 0);
	}
}

static void end_of_stream_comes_after_the_bytes_and_is_repeated(void)
{
	char b[10];
	int s[2];

	pair(s);
	send_all(s[1], 2, 0, 5000);
	CHECK_EQ(uk_shutdown(s[1], SHUT_WR), 0);
	recv_all(s[0], 2, 0, 5000, 999);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_recv(s[0], b, sizeof(b), 0), 0);
	CHECK_EQ(uk_send(s[0], b, sizeof(b), 0), 10); /* the other direction is open */
	finish(s);
}

static void a_reset_is_reported_once_after_the_bytes(void)
{
	struct linger now = { 1, 0 };
	char b[100];
	ssize_t r;
	int s[2];

	pair(s);
	send_all(s[1], 3, 0, 10);
	recv_all(s[0], 3, 0, 10, 100);
	CHECK_EQ(setsockopt(s[1], SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	CHECK_EQ(uk_close(s[1]), 0);
	r = uk_recv(s[0], b, sizeof(b), 0);
	CHECK_EQ(r, -ECONNRESET);
	CHECK_EQ(uk_recv(s[0], b, sizeof(b), 0), 0);
	CHECK_EQ(uk_close(s[0]), 0);
}

static void a_reused_fd_gets_only_the_bytes_of_its_own_stream(void)
{
	for (unsigned i = 0; i < 100; i++) {
		int s[2], fd;

		pair(s);
		fd = s[0];
		send_all(s[1], i, 0, 4000);
		if (i % 3)
			recv_all(s[0], i, 0, 10, 10); /* the runtime holds the rest */
		finish(s);
		pair(s);
		if (i == 0)
			CHECK_EQ(s[0], fd); /* the kernel gives the lowest free fd */
		send_all(s[1], 1000 + i, 0, 100);
		recv_all(s[0], 1000 + i, 0, 100, 30);
		finish(s);
	}
}

/* The program breaks its promise by a plain close(2). The new connection must not
 * suffer. */
static void a_plain_close_harms_no_later_socket(void)
{
	struct sockaddr_in a;
	int s[2], l = make_listener(&a, 8), c, d;
	char b[10];

	for (;;) {
		pair(s);
		CHECK(dup(l) < s[0]); /* s[0] will be the lowest free fd */
		send_all(s[1], 1, 0, 4000);
		recv_all(s[0], 1, 0, 10, 10);
		close(s[0]);
		c = uk_socket(AF_INET, SOCK_STREAM, 0);
		if (c == s[0])
			break;
		/* A vp that has just started took the fd for itself. */
		uk_close(c);
		uk_close(s[1]);
	}
	CHECK_EQ(uk_connect(c, (struct sockaddr *)&a, sizeof(a)), 0);
	d = uk_accept(l, NULL, NULL);
	send_all(d, 2, 0, 10);
	CHECK_EQ(uk_recv(c, b, sizeof(b), MSG_WAITALL), 10);
	same(b, 2, 0, 10);
	uk_close(c);
	uk_close(d);
	uk_close(l);
	uk_close(s[1]);
}

static void calls_that_would_miss_bytes_are_refused(void)
{
	struct iovec v = { &(char){ 0 }, 1 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	char b[4];
	int s[2], p[2];

	pair(s);
	make_pipe(p, 0);
	send_all(s[1], 1, 0, 4);
	if (ahead) {
		CHECK_EQ(uk_recvmsg(s[0], &m, 0), -EBUSY);
		CHECK_EQ(uk_recv(s[0], b, 4, MSG_PEEK), -EBUSY);
		CHECK_EQ(uk_recv(s[0], b, 4, MSG_DONTWAIT), -EBUSY);
		CHECK_EQ(uk_read(s[0], b, 4), -EBUSY);
		CHECK_EQ(uk_readv(s[0], &v, 1), -EBUSY);
		CHECK_EQ(uk_wait_fd(s[0], POLLIN, UK_FOREVER), -EBUSY);
		CHECK_EQ(uk_splice(s[0], NULL, p[1], NULL, 4, 0), -EBUSY);
	}
	CHECK(uk_wait_fd(s[0], POLLOUT, UK_FOREVER) & POLLOUT);
	recv_all(s[0], 1, 0, 4, 4);
	finish(s);
	finish(p);
}

/* Bytes that no thread reads fill the TCP window, not the memory. All of them can be
 * read later. */
static void unread_bytes_fill_the_window_and_none_is_lost(void)
{
	int s[2], small = 8192;
	size_t sent = 0;
	char b[4096];
	ssize_t r;

	pair(s);
	setsockopt(s[1], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
	send_all(s[1], 9, 0, 1);
	recv_all(s[0], 9, 0, 1, 1);
	sent = 1;
	for (int quiet = 0; quiet < 20;) {
		bytes_of(b, 9, sent, sizeof(b));
		r = send(s[1], b, sizeof(b), MSG_DONTWAIT);
		if (r > 0) {
			sent += (size_t)r;
			quiet = 0;
		} else {
			quiet++;
			uk_sleep(MS);
		}
		CHECK(sent < ((size_t)64 << 20));
	}
	recv_all(s[0], 9, 1, sent - 1, 10000);
	send_all(s[1], 9, sent, 100);
	recv_all(s[0], 9, sent, 100, 100);
	finish(s);
}

/* The streams hold more bytes than there are buffers; the rest stays in the sockets. */
#define HOARDERS 120
static void holding_all_buffers_is_no_deadlock(void)
{
	static int s[HOARDERS][2];
	int extra[2];

	for (unsigned i = 0; i < HOARDERS; i++) {
		pair(s[i]);
		send_all(s[i][1], i, 0, 1);
		recv_all(s[i][0], i, 0, 1, 1);
	}
	for (unsigned i = 0; i < HOARDERS; i++)
		send_all(s[i][1], i, 1, 30000);
	uk_sleep(2 * MS);
	pair(extra);
	for (unsigned i = 0; i < 100; i++) {
		send_all(extra[1], 7, i * 50, 50);
		recv_all(extra[0], 7, i * 50, 50, 50);
	}
	for (unsigned i = 0; i < HOARDERS; i++) {
		recv_all(s[i][0], i, 1, 30000, 3000);
		finish(s[i]);
	}
	finish(extra);
}

/* -- several readers of a stream -- */

#define SHARED ((size_t)200000)

struct counted {
	int fd;
	size_t piece;
	uint64_t bytes, sum;
};

static void *counts(void *arg)
{
	struct counted *c = arg;
	unsigned char b[64];
	ssize_t r;

	while ((r = uk_recv(c->fd, b, c->piece, 0)) > 0) {
		for (ssize_t i = 0; i < r; i++)
			c->sum += b[i];
		c->bytes += (uint64_t)r;
	}
	return (void *)(intptr_t)r;
}

/* Each byte goes to one of the readers, and the end to all. */
static void many_readers_of_a_stream_lose_nothing(void)
{
	static struct counted c[7];
	uint64_t bytes = 0, sum = 0;
	uk_thread *t[7];
	int s[2];

	pair(s);
	for (unsigned i = 0; i < 7; i++) {
		c[i] = (struct counted){ .fd = s[0], .piece = 1 + i * 9 };
		t[i] = spawn(counts, &c[i]);
	}
	for (size_t pos = 0, n; pos < SHARED; pos += n) {
		n = 1 + pos % 200;
		n = n < SHARED - pos ? n : SHARED - pos;
		send_all(s[1], 8, pos, n);
		uk_yield();
	}
	CHECK_EQ(uk_shutdown(s[1], SHUT_WR), 0);
	for (unsigned i = 0; i < 7; i++) {
		CHECK_EQ((intptr_t)join(t[i]), 0);
		bytes += c[i].bytes;
		sum += c[i].sum;
	}
	CHECK_EQ(bytes, SHARED);
	for (size_t i = 0; i < SHARED; i++)
		sum -= at(8, i);
	CHECK_EQ(sum, 0);
	finish(s);
}

static void *takes_one(void *arg)
{
	unsigned char b = 0;

	CHECK_EQ(uk_recv(*(int *)arg, &b, 1, 0), 1);
	return (void *)(intptr_t)b;
}

static void one_send_serves_all_waiting_readers(void)
{
	uk_thread *t[5];
	int s[2];

	pair(s);
	for (unsigned i = 0; i < 100; i++) {
		intptr_t sum = 0;

		for (unsigned k = 0; k < 5; k++)
			t[k] = spawn(takes_one, &s[0]);
		if (i % 2)
			uk_sleep(MS / 10);
		CHECK_EQ(uk_send(s[1], "\001\002\004\010\020", 5, MSG_NOSIGNAL), 5);
		for (unsigned k = 0; k < 5; k++)
			sum += (intptr_t)join(t[k]);
		CHECK_EQ(sum, 31);
	}
	finish(s);
}

/* -- many streams, on all vps, with hand-offs -- */

#define STREAMS 60
#define TURNS 60

static void *echo(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char b[3000];
	ssize_t r;

	while ((r = uk_recv(fd, b, sizeof(b), 0)) > 0)
		CHECK_EQ(uk_send(fd, b, (size_t)r, MSG_NOSIGNAL), r);
	CHECK_EQ(r, 0);
	CHECK_EQ(uk_close(fd), 0);
	return NULL;
}

static void *asker(void *arg)
{
	uint64_t id = (uint64_t)(intptr_t)arg;
	size_t from = 0;
	uk_thread *t;
	int s[2];

	make_tcp(s, 0);
	CHECK_EQ(uk_recv_ahead(s[0]), 0);
	CHECK_EQ(uk_recv_ahead(s[1]), 0);
	t = spawn(echo, (void *)(intptr_t)s[1]);
	for (unsigned i = 0; i < TURNS; i++) {
		size_t n = 1 + (id * 7919 + i * 104729) % 4000;

		send_all(s[0], id, from, n);
		if ((id + i) % 16 == 0)
			usleep(300); /* blocks the carrier, so the vp is handed off */
		if ((id + i) % 5 == 0)
			uk_yield();
		recv_all(s[0], id, from, n, 1 + (id + i) % 5000);
		from += n;
	}
	CHECK_EQ(uk_close(s[0]), 0);
	join(t);
	return NULL;
}

static void streams_lose_nothing_when_threads_are_stolen_and_vps_handed_off(void)
{
	uk_thread *t[STREAMS];

	for (unsigned i = 0; i < STREAMS; i++)
		t[i] = spawn(asker, (void *)(intptr_t)(i + 1));
	for (unsigned i = 0; i < STREAMS; i++)
		join(t[i]);
}

int main(void)
{
	const char *engine = getenv("UK_REACTOR");

	ahead = engine && !strcmp(engine, "uring");
	USER(only_connected_streams_can_be_received_ahead);
	USER(bytes_arrive_in_order_in_pieces_of_any_size);
	USER(a_reader_that_comes_first_waits);
	USER(a_deadline_loses_nothing);
	USER(a_cancel_and_a_close_end_a_wait);
	USER(a_close_ends_all_readers_at_any_moment);
	USER(end_of_stream_comes_after_the_bytes_and_is_repeated);
	USER(a_reset_is_reported_once_after_the_bytes);
	USER(a_reused_fd_gets_only_the_bytes_of_its_own_stream);
	USER(a_plain_close_harms_no_later_socket);
	USER(calls_that_would_miss_bytes_are_refused);
	USER(unread_bytes_fill_the_window_and_none_is_lost);
	USER(holding_all_buffers_is_no_deadlock);
	USER(many_readers_of_a_stream_lose_nothing);
	USER(one_send_serves_all_waiting_readers);
	USER(streams_lose_nothing_when_threads_are_stolen_and_vps_handed_off);
	return 0;
}

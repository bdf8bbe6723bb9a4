/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads that transfer data at once. */
#include "iotest.h"

#define MANY 1000
#define RING 50
#define MESSAGES 10000

struct end {
	int in, out;
	unsigned id;
};

static void *echo(void *arg)
{
	struct end *e = arg;
	unsigned char b[64];

	for (;;) {
		ssize_t r = uk_read(e->in, b, sizeof(b));

		CHECK(r >= 0);
		if (r == 0)
			return (void *)(uintptr_t)e->id;
		CHECK_EQ(uk_write(e->out, b, (size_t)r), r);
	}
}

/* kind 0: two pipes for each thread; 1: a socket pair for each */
static void a_thousand_threads_echo(int kind)
{
	struct end *e = calloc(MANY, sizeof(*e)), *mine = calloc(MANY, sizeof(*e));
	uk_thread **t = calloc(MANY, sizeof(*t));

	for (unsigned i = 0; i < MANY; i++) {
		int a[2], b[2];

		if (kind) {
			make_unix(a, SOCK_STREAM);
			e[i] = (struct end){ a[0], a[0], i };
			mine[i] = (struct end){ a[1], a[1], i };
		} else {
			make_pipe(a, 0);
			make_pipe(b, 0);
			e[i] = (struct end){ a[0], b[1], i };
			mine[i] = (struct end){ b[0], a[1], i };
		}
		t[i] = spawn(echo, &e[i]);
	}
	for (unsigned round = 0; round < 5; round++) {
		for (unsigned i = 0; i < MANY; i++) {
			unsigned v = i * 31 + round;

			CHECK_EQ(uk_write(mine[i].out, &v, sizeof(v)), sizeof(v));
		}
		for (unsigned i = MANY; i-- > 0;) {
			unsigned v = 0;

			CHECK_EQ(uk_read_all(mine[i].in, &v, sizeof(v)), sizeof(v));
			CHECK_EQ(v, i * 31 + round);
		}
	}
	for (unsigned i = 0; i < MANY; i++) {
		if (kind)
			uk_shutdown(mine[i].out, SHUT_WR);
		else
			uk_close(mine[i].out);
	}
	for (unsigned i = 0; i < MANY; i++) {
		CHECK_EQ((uintptr_t)join(t[i]), i);
		uk_close(e[i].in);
		if (!kind)
			uk_close(e[i].out);
		uk_close(mine[i].in);
	}
	free(e);
	free(mine);
	free(t);
}

static void a_thousand_pipes_echo(void)
{
	a_thousand_threads_echo(0);
}

static void a_thousand_sockets_echo(void)
{
	a_thousand_threads_echo(1);
}

/* The threads of a ring pass on messages of random size, each with its checksum. */
struct head {
	uint32_t len, hops, id;
	uint32_t sum;
};

struct node {
	int in, out;
	uint32_t id;
	uint64_t seen;
};

static uint32_t sum_of(const unsigned char *b, uint32_t n)
{
	uint32_t h = 2166136261u;

	for (uint32_t i = 0; i < n; i++)
		h = (h ^ b[i]) * 16777619u;
	return h;
}

static void *node(void *arg)
{
	struct node *n = arg;
	unsigned char *b = malloc(20000);
	struct head h;

	for (;;) {
		ssize_t r = uk_read_all(n->in, &h, sizeof(h));

		if (r == 0)
			break;
		CHECK_EQ(r, sizeof(h));
		CHECK(h.len <= 20000);
		CHECK_EQ(uk_read_all(n->in, b, h.len), h.len);
		CHECK_EQ(sum_of(b, h.len), h.sum);
		n->seen++;
		h.hops++;
		if (n->id == 0) {
			CHECK_EQ(h.hops, RING);
			continue; /* once around */
		}
		CHECK_EQ(uk_writev(n->out,
				   (struct iovec[2]){ { &h, sizeof(h) }, { b, h.len } },
				   2),
			 sizeof(h) + h.len);
	}
	if (n->id)
		uk_shutdown(n->out, SHUT_WR);
	free(b);
	return NULL;
}

static void a_ring_passes_messages_whole(void)
{
	static struct node n[RING];
	static unsigned char b[20000];
	uk_thread *t[RING];
	uint64_t seed = test_seed(), total = 0;
	int s[RING][2];

	for (int i = 0; i < RING; i++) {
		if (i % 2)
			make_tcp(s[i], 0);
		else
			make_unix(s[i], SOCK_STREAM);
	}
	/* node i reads s[i][1] and writes s[i + 1][0]; messages start at s[1][0] */
	for (uint32_t i = 0; i < RING; i++) {
		n[i] = (struct node){ s[i][1], s[(i + 1) % RING][0], i, 0 };
		t[i] = spawn(node, &n[i]);
	}
	for (uint32_t k = 0; k < MESSAGES / RING; k++) {
		struct head h = { .id = k, .len = (uint32_t)(rnd(&seed) % 20000) };

		for (uint32_t i = 0; i < h.len; i++)
			b[i] = (unsigned char)rnd(&seed);
		h.sum = sum_of(b, h.len);
		CHECK_EQ(uk_write_all(s[1][0], &h, sizeof(h)), sizeof(h));
		CHECK_EQ(uk_write_all(s[1][0], b, h.len), h.len);
	}
	uk_shutdown(s[1][0], SHUT_WR);
	for (int i = 1; i < RING; i++)
		join(t[i]);
	join(t[0]);
	for (int i = 0; i < RING; i++)
		total += n[i].seen;
	CHECK_EQ(total, MESSAGES);
	for (int i = 0; i < RING; i++) {
		uk_close(s[i][0]);
		uk_close(s[i][1]);
	}
}

/* Each client talks to a server thread of its own. */
struct chat {
	int listener;
	struct sockaddr_in a;
	int fds[32];
	int n;
	uk_mutex m;
	uint64_t sent, got; /* atomics: sums of all messages */
};

static void *chat_client(void *arg)
{
	struct chat *c = arg;
	int fd = uk_socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	uint64_t seed = test_seed() ^ (uintptr_t)&fd, v, mine = 0;

	CHECK_EQ(uk_connect(fd, (struct sockaddr *)&c->a, sizeof(c->a)), 0);
	for (int i = 0; i < 300; i++) {
		v = rnd(&seed) >> 8;
		mine += v;
		CHECK_EQ(uk_send(fd, &v, sizeof(v), 0), sizeof(v));
		CHECK_EQ(uk_recv(fd, &v, sizeof(v), MSG_WAITALL), sizeof(v));
		__atomic_fetch_add(&c->got, v, __ATOMIC_RELAXED);
	}
	__atomic_fetch_add(&c->sent, mine, __ATOMIC_RELAXED);
	uk_close(fd);
	return NULL;
}

static void *chat_server(void *arg)
{
	struct chat *c = arg;
	int fd = uk_accept(c->listener, NULL, NULL);
	uint64_t v;

	CHECK(fd >= 0);
	while (uk_recv(fd, &v, sizeof(v), MSG_WAITALL) == sizeof(v)) {
		uk_mutex_lock(&c->m);
		CHECK_EQ(uk_send(fd, &v, sizeof(v), 0), sizeof(v));
		uk_mutex_unlock(&c->m);
	}
	uk_close(fd);
	return NULL;
}

static void a_chat_loses_no_message(void)
{
	struct chat c = { 0 };
	uk_thread *t[32], *u[32];

	c.listener = make_listener(&c.a, 64);
	for (int i = 0; i < 32; i++) {
		t[i] = spawn(chat_server, &c);
		u[i] = spawn(chat_client, &c);
	}
	for (int i = 0; i < 32; i++) {
		join(t[i]);
		join(u[i]);
	}
	CHECK_EQ(c.sent, c.got);
	CHECK(c.sent);
	uk_close(c.listener);
}

static void *echo_bytes(void *arg)
{
	struct end *e = arg;
	char c;

	while (uk_read(e->in, &c, 1) == 1)
		CHECK_EQ(uk_write(e->out, &c, 1), 1);
	return (void *)(uintptr_t)e->id;
}

/* Small messages fill their buffer each time. The runtime must learn that no more bytes
 * follow. A round trip costs two writes, two reads that check O_NONBLOCK first, and two
 * passes of the reactor. */
static void a_ping_pong_makes_few_system_calls(void)
{
	struct end e;
	uk_stats before, after;
	int a[2], b[2], n = 5000;
	uk_thread *t;
	char c = 1;

	make_pipe(a, 0);
	make_pipe(b, 0);
	e = (struct end){ a[0], b[1], 7 };
	t = spawn(echo_bytes, &e);
	uk_stats_get(&before, sizeof(before));
	for (int i = 0; i < n; i++) {
		CHECK_EQ(uk_write(a[1], &c, 1), 1);
		CHECK_EQ(uk_read(b[0], &c, 1), 1);
	}
	uk_stats_get(&after, sizeof(after));
	printf("%.2f system calls per round trip\n",
	       (double)(after.syscalls - before.syscalls) / n);
	if (!UK_HOSTILE && uk_vp_count() == 1 && !strcmp(uk_reactor_name(), "io_uring"))
		CHECK(after.syscalls - before.syscalls <= (uint64_t)n * 13 / 2);
	uk_close(a[1]);
	CHECK_EQ((uintptr_t)join(t), 7);
	uk_close(a[0]);
	uk_close(b[0]);
	uk_close(b[1]);
}

int main(void)
{
	io_test_init(HANG_SEC);
	BOTH(a_thousand_pipes_echo);
	BOTH(a_thousand_sockets_echo);
	BOTH(a_ring_passes_messages_whole);
	BOTH(a_chat_loses_no_message);
	USER(a_ping_pong_makes_few_system_calls);
	return 0;
}

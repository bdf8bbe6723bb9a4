/* SPDX-License-Identifier: Apache-2.0 */
/* Zero-copy sends: the completions are the same on every engine and kind of socket,
 * whether memory was lent or not. Lent memory is not reported free too early. */
#include "../io/iotest.h"

#define LEN (192u << 10)
#define ZC(f, b, n)                                                                    \
	UK_OP(.kind = UK_OP_SEND, .fd = (f), .addr = (b), .len = (n),                  \
	      .options = UK_OP_ZEROCOPY, .tag = 7)

static uk_group *g;
static char *from, *to;
static int s[2]; /* what is sent to s[0] comes out of s[1] */

static void group(unsigned depth)
{
	CHECK_EQ(uk_group_create(&g, depth), 0);
	for (unsigned i = 0; i < LEN; i++)
		from[i] = (char)(i * 2654435761u >> 24);
}

static void done(void)
{
	uk_completion e;

	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 0); /* nothing is left */
	uk_group_destroy(g);
	uk_close(s[0]);
	uk_close(s[1]);
}

/* A connection with a small receive buffer and a large send buffer. */
static void tcp(void)
{
	int little = 65536, much = 4 << 20;
	struct sockaddr_in at;
	int l = make_listener(&at, 8);

	CHECK_EQ(setsockopt(l, SOL_SOCKET, SO_RCVBUF, &little, sizeof(little)), 0);
	s[0] = uk_socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(setsockopt(s[0], SOL_SOCKET, SO_SNDBUF, &much, sizeof(much)), 0);
	CHECK_EQ(uk_connect(s[0], (struct sockaddr *)&at, sizeof(at)), 0);
	s[1] = uk_accept(l, NULL, NULL);
	CHECK(s[1] >= 0);
	uk_close(l);
}

static void submit(uk_op *o, unsigned n)
{
	CHECK_EQ(uk_group_submit(g, o, n), (int)n);
}

static uk_completion end(void)
{
	uk_completion e = { 0 };

	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
	CHECK_EQ(e.tag, 7);
	return e;
}

static void *reads(void *arg)
{
	size_t n = (size_t)(uintptr_t)arg, got = 0;

	while (got < n) {
		ssize_t r = uk_recv(s[1], to + got, n - got, 0);

		CHECK(r > 0);
		got += (size_t)r;
	}
	return NULL;
}

static void read_all(size_t n)
{
	memset(to, 0, n);
	join(spawn(reads, (void *)(uintptr_t)n));
}

/* Checks the two completions of the request in flight, and returns how much was
 * accepted. */
static size_t two_ends(void)
{
	uk_completion e = end();
	size_t n = (size_t)e.res;
	uint64_t id = e.id;

	CHECK(e.res > 0 && e.flags == UK_COMPLETION_MORE);
	read_all(n);
	e = end();
	CHECK(e.res == 0 && e.flags == UK_COMPLETION_FREE && e.id == id);
	return n;
}

static void a_send_has_two_completions(void)
{
	uk_op o = ZC(0, from, LEN);

	group(8);
	tcp();
	o.fd = s[0];
	submit(&o, 1);
	CHECK_EQ(two_ends(), LEN);
	CHECK(!memcmp(from, to, LEN));
	done();
}

static void a_sendmsg_has_two_completions(void)
{
	struct iovec v[2] = { { from, 100 }, { from + 100, LEN - 100 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	uk_op o = UK_OP(.kind = UK_OP_SENDMSG, .addr = &m, .options = UK_OP_ZEROCOPY,
			.tag = 7);

	group(8);
	tcp();
	o.fd = s[0];
	submit(&o, 1);
	CHECK_EQ(two_ends(), LEN);
	CHECK(!memcmp(from, to, LEN));
	done();
}

static void row(const char *name, const char *value, int ok, void *arg)
{
	(void)value;
	if (strstr(name, "SEND_ZC") && ok)
		*(bool *)arg = true;
}

static bool lends(void)
{
	bool can = false;

	uk_doctor(row, &can);
	return can && !strcmp(uk_reactor_name(), "io_uring");
}

/* Sends LEN bytes, which are accepted and not read. */
static uk_op send_it(void)
{
	uk_op o;
	uk_completion e;

	group(8);
	tcp();
	o = ZC(s[0], from, LEN);
	submit(&o, 1);
	e = end();
	CHECK(e.res == LEN && e.flags == UK_COMPLETION_MORE);
	return o;
}

/* The kernel still reads what the peer has not received, unless it has made a copy. */
static void lent_memory_is_not_free(void)
{
	uk_op o = send_it();
	uk_completion e;

	if (lends()) {
		for (int i = 0; i < 50; i++)
			uk_yield();
		CHECK_EQ(uk_group_wait_any(g, &e, 1, 0), -ETIMEDOUT);
		CHECK_EQ(uk_group_cancel(g, o.id), 0); /* a loan cannot be taken back */
		CHECK_EQ(uk_group_wait_any(g, &e, 1, uk_after(5 * MS)), -ETIMEDOUT);
	}
	read_all(LEN);
	CHECK(!memcmp(from, to, LEN));
	e = end();
	CHECK(e.res == 0 && e.flags == UK_COMPLETION_FREE);
	done();
}

/* A linked send follows the bytes of the first one, even if the first memory is not
 * free yet. */
static void a_linked_send_follows_the_bytes_of_the_first(void)
{
	uk_op o[3] = { ZC(0, from, LEN / 2), ZC(0, from + LEN / 2, LEN / 2),
		       UK_OP(.kind = UK_OP_NOP, .tag = 7) };
	unsigned more = 0, freed = 0;

	group(8);
	tcp();
	o[0].fd = o[1].fd = s[0];
	o[0].options |= UK_OP_LINK;
	o[1].options |= UK_OP_LINK;
	submit(o, 3);
	while (more < 2) { /* no thread reads */
		uk_completion e = end();

		CHECK(e.res >= 0);
		more += e.flags == UK_COMPLETION_MORE;
		freed += e.flags == UK_COMPLETION_FREE;
		CHECK(e.flags || e.id == o[2].id);
	}
	read_all(LEN);
	CHECK(!memcmp(from, to, LEN));
	while (freed < 2)
		freed += end().flags == UK_COMPLETION_FREE;
	if (uk_group_wait_any(g, &(uk_completion){ 0 }, 1, UK_FOREVER) ==
	    1) /* the NOP may be the last */
		CHECK_EQ(more, 2);
	done();
}

static void without_a_second_place_a_send_has_one_completion(void)
{
	uk_op o = ZC(0, from, 1000);
	uk_completion e;

	group(1);
	tcp();
	o.fd = s[0];
	submit(&o, 1);
	read_all(1000);
	e = end();
	CHECK(e.res == 1000 && e.flags == UK_COMPLETION_FREE);
	done();
}

static void one_end(uk_op o, int64_t res)
{
	uk_completion e;

	submit(&o, 1);
	e = end();
	CHECK_EQ(e.res, res);
	CHECK_EQ(e.flags, UK_COMPLETION_FREE);
}

static void a_failed_send_has_one_completion(void)
{
	char b;

	group(8);
	tcp();
	one_end(ZC(-1, from, 10), -EBADF);
	one_end(ZC(s[0], (void *)8, 10), -EFAULT);
	one_end(UK_OP(.kind = UK_OP_RECV, .fd = s[0], .addr = &b, .len = 1,
		      .options = UK_OP_ZEROCOPY, .tag = 7),
		-EINVAL);
	one_end(UK_OP(.kind = UK_OP_SEND, .fd = s[0], .addr = "x", .len = 1,
		      .options = UK_OP_ZEROCOPY | UK_OP_POOL, .tag = 7),
		-EINVAL);
	CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
	one_end(ZC(s[0], from, 10), -EPIPE);
	done();
}

/* The kernel does not lend memory to such a socket: it copies. */
static void a_send_on_a_unix_socket_has_two_completions(void)
{
	uk_op o = ZC(0, from, 1000);

	group(8);
	make_unix(s, SOCK_STREAM);
	o.fd = s[0];
	submit(&o, 1);
	CHECK_EQ(two_ends(), 1000);
	CHECK(!memcmp(from, to, 1000));
	done();
}

static size_t before; /* bytes in the buffers */

/* Makes a connection without space, and counts the bytes in its buffers. */
static void full(void)
{
	ssize_t r;

	tcp();
	before = 0;
	while ((r = send(s[0], from, LEN, MSG_DONTWAIT)) > 0)
		before += (size_t)r;
}

/* Acknowledgements still come, so TCP may find space after all. Then the caller tries
 * another connection. */
static bool accepted(uk_completion e)
{
	if (e.res <= 0)
		return false;
	uk_close(s[1]); /* this ends the loan */
	e = end();
	CHECK(e.flags == UK_COMPLETION_FREE);
	uk_close(s[0]);
	full();
	return true;
}

static void it_waits_for_room(bool nonblock)
{
	uk_op o = ZC(0, from, LEN);
	size_t rest;
	uk_completion e;
	int r;

	group(8);
	full();
	do {
		if (nonblock)
			CHECK_EQ(fcntl(s[0], F_SETFL, O_NONBLOCK), 0);
		o.fd = s[0];
		submit(&o, 1);
		r = uk_group_wait_any(g, &e, 1, uk_after(5 * MS));
	} while (r == 1 && accepted(e));
	CHECK_EQ(r, -ETIMEDOUT);
	for (; before; before -= rest) {
		rest = before < LEN ? before : LEN;
		read_all(rest);
	}
	rest = two_ends();
	CHECK(rest <= LEN && !memcmp(from, to, rest));
	done();
}

static void a_send_without_space_waits(void)
{
	it_waits_for_room(false);
	it_waits_for_room(true);
}

/* o finds no space, so it ends with res instead. */
static void ends_otherwise(uk_op o, bool cancel, int64_t res)
{
	int64_t within = o.deadline;
	uk_completion e;

	do {
		o.fd = s[0];
		o.deadline = uk_after(within);
		submit(&o, 1);
		if (cancel) {
			uk_yield();
			uk_group_cancel(g, o.id);
		}
		e = end();
	} while (accepted(e));
	CHECK_EQ(e.res, res);
	CHECK_EQ(e.flags, UK_COMPLETION_FREE);
}

static void a_waiting_send_can_time_out_and_be_cancelled(void)
{
	uk_op o = ZC(0, from, LEN);

	group(8);
	full();
	o.deadline = 5 * MS;
	ends_otherwise(o, false, -ETIMEDOUT);
	o.deadline = UK_FOREVER;
	ends_otherwise(o, true, -ECANCELED);
	o.flags = MSG_DONTWAIT;
	ends_otherwise(o, false, -EAGAIN);
	done();
}

/* The last fd of the connection is closed and reused. The memory stays lent. */
static void the_fd_may_be_reused_while_memory_is_lent(void)
{
	uk_completion e;

	send_it();
	CHECK_EQ(uk_close(s[0]), 0);
	s[0] = dup(s[1]);
	read_all(LEN);
	CHECK(!memcmp(from, to, LEN));
	e = end();
	CHECK(e.res == 0 && e.flags == UK_COMPLETION_FREE);
	done();
}

/* After uk_group_destroy, the memory is not read any more. */
static void *destroys(void *arg)
{
	uk_group_destroy(g);
	memset(from, 'Z', LEN);
	return arg;
}

static void destroying_a_group_waits_for_lent_memory(void)
{
	uk_thread *t;

	send_it();
	t = spawn(destroys, NULL);
	for (int i = 0; i < 20; i++)
		uk_yield();
	read_all(LEN);
	join(t);
	for (unsigned i = 0; i < LEN; i++)
		CHECK_EQ(to[i], (char)(i * 2654435761u >> 24));
	uk_close(s[0]);
	uk_close(s[1]);
}

static void many_sends_can_be_in_flight(void)
{
	enum { N = 64 };
	uk_op o[N];
	unsigned more = 0, freed = 0;
	uk_thread *t;

	group(N * 2);
	tcp();
	for (unsigned i = 0; i < N; i++)
		o[i] = ZC(s[0], from, 8192);
	submit(o, N);
	memset(to, 0, LEN);
	t = spawn(reads, (void *)(uintptr_t)LEN);
	while (freed < N && more < LEN / 8192) {
		uk_completion e = end();

		CHECK(e.res >= 0);
		more += e.flags == UK_COMPLETION_MORE;
		freed += e.flags == UK_COMPLETION_FREE;
	}
	join(t);
	read_all((size_t)N * 8192 - 2 * LEN);
	read_all(LEN);
	while (freed < N)
		freed += end().flags == UK_COMPLETION_FREE;
	done();
}

#ifndef __SANITIZE_THREAD__
static void a_forked_child_gets_the_completion_of_a_waiting_send(void)
{
	uk_op o = ZC(0, from, LEN);
	int status;
	pid_t pid;

	uk_completion e;

	group(8);
	full();
	o.fd = s[0];
	submit(&o, 1);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
		CHECK(e.res > 0 ||
		      (e.res == -ECANCELED && e.flags == UK_COMPLETION_FREE));
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	uk_group_cancel(g, o.id);
	e = end();
	CHECK(accepted(e) || e.res == -ECANCELED);
	done();
}
#endif

int main(void)
{
	from = malloc(LEN);
	to = malloc(LEN);
	USER(a_send_has_two_completions);
	USER(a_sendmsg_has_two_completions);
	USER(lent_memory_is_not_free);
	USER(a_linked_send_follows_the_bytes_of_the_first);
	USER(without_a_second_place_a_send_has_one_completion);
	USER(a_failed_send_has_one_completion);
	USER(a_send_on_a_unix_socket_has_two_completions);
	USER(a_send_without_space_waits);
	USER(a_waiting_send_can_time_out_and_be_cancelled);
	USER(the_fd_may_be_reused_while_memory_is_lent);
	USER(destroying_a_group_waits_for_lent_memory);
	USER(many_sends_can_be_in_flight);
#ifndef __SANITIZE_THREAD__ /* TSan knows no threads in a forked child */
	USER(a_forked_child_gets_the_completion_of_a_waiting_send);
#endif
	free(from);
	free(to);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sends that copy nothing: the same ends on every engine and every kind of socket, whether
 * anything was lent or not; and what was lent is not said to be free before its time. */
#include "../io/iotest.h"

#define LEN (192u << 10)
#define OP(...) ((uk_op){ __VA_ARGS__ })
#define ZC(f, b, n)                                                                    \
	OP(.kind = UK_OP_SEND, .fd = (f), .addr = (b), .len = (n),                     \
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
	uk_end e;

	CHECK_EQ(uk_wait_any(g, &e, 1, UK_FOREVER), 0); /* nothing is left */
	uk_group_destroy(g);
	uk_close(s[0]);
	uk_close(s[1]);
}

/* A connection whose reader takes little before it is read, and whose writer much. */
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
	CHECK_EQ(uk_submitv(g, o, n), (int)n);
}

static uk_end end(void)
{
	uk_end e = { 0 };

	CHECK_EQ(uk_wait_any(g, &e, 1, UK_FOREVER), 1);
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

/* The two ends of the one that is in flight; how much was accepted. */
static size_t two_ends(void)
{
	uk_end e = end();
	size_t n = (size_t)e.res;
	uint64_t id = e.id;

	CHECK(e.res > 0 && e.flags == UK_END_MORE);
	read_all(n);
	e = end();
	CHECK(e.res == 0 && e.flags == UK_END_FREE && e.id == id);
	return n;
}

static void a_send_has_two_ends(void)
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

static void so_has_a_message(void)
{
	struct iovec v[2] = { { from, 100 }, { from + 100, LEN - 100 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	uk_op o =
	    OP(.kind = UK_OP_SENDMSG, .addr = &m, .options = UK_OP_ZEROCOPY, .tag = 7);

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

/* LEN bytes, accepted and not read. */
static uk_op send_it(void)
{
	uk_op o;
	uk_end e;

	group(8);
	tcp();
	o = ZC(s[0], from, LEN);
	submit(&o, 1);
	e = end();
	CHECK(e.res == LEN && e.flags == UK_END_MORE);
	return o;
}

/* What the peer has not is the kernel's to read, unless it has made a copy. */
static void what_is_lent_is_not_free(void)
{
	uk_op o = send_it();
	uk_end e;

	if (lends()) {
		for (int i = 0; i < 50; i++)
			uk_yield();
		CHECK_EQ(uk_wait_any(g, &e, 1, 0), -ETIMEDOUT);
		CHECK_EQ(uk_async_cancel(g, o.id), 0); /* nobody can take it back */
		CHECK_EQ(uk_wait_any(g, &e, 1, uk_after(5 * MS)), -ETIMEDOUT);
	}
	read_all(LEN);
	CHECK(!memcmp(from, to, LEN));
	e = end();
	CHECK(e.res == 0 && e.flags == UK_END_FREE);
	done();
}

/* What is linked goes out behind it, though the first is not free. */
static void what_is_linked_follows_the_bytes(void)
{
	uk_op o[3] = { ZC(0, from, LEN / 2), ZC(0, from + LEN / 2, LEN / 2),
		       OP(.kind = UK_OP_NOP, .tag = 7) };
	unsigned more = 0, freed = 0;

	group(8);
	tcp();
	o[0].fd = o[1].fd = s[0];
	o[0].options |= UK_OP_LINK;
	o[1].options |= UK_OP_LINK;
	submit(o, 3);
	while (more < 2) { /* nobody reads */
		uk_end e = end();

		CHECK(e.res >= 0);
		more += e.flags == UK_END_MORE;
		freed += e.flags == UK_END_FREE;
		CHECK(e.flags || e.id == o[2].id);
	}
	read_all(LEN);
	CHECK(!memcmp(from, to, LEN));
	while (freed < 2)
		freed += end().flags == UK_END_FREE;
	if (uk_wait_any(g, &(uk_end){ 0 }, 1, UK_FOREVER) ==
	    1) /* the NOP, if not yet */
		CHECK_EQ(more, 2);
	done();
}

static void without_room_there_is_one(void)
{
	uk_op o = ZC(0, from, 1000);
	uk_end e;

	group(1);
	tcp();
	o.fd = s[0];
	submit(&o, 1);
	read_all(1000);
	e = end();
	CHECK(e.res == 1000 && e.flags == UK_END_FREE);
	done();
}

static void one_end(uk_op o, int64_t res)
{
	uk_end e;

	submit(&o, 1);
	e = end();
	CHECK_EQ(e.res, res);
	CHECK_EQ(e.flags, UK_END_FREE);
}

static void what_fails_has_one(void)
{
	char b;

	group(8);
	tcp();
	one_end(ZC(-1, from, 10), -EBADF);
	one_end(ZC(s[0], (void *)8, 10), -EFAULT);
	one_end(OP(.kind = UK_OP_RECV, .fd = s[0], .addr = &b, .len = 1,
		   .options = UK_OP_ZEROCOPY, .tag = 7),
		-EINVAL);
	one_end(OP(.kind = UK_OP_SEND, .fd = s[0], .addr = "x", .len = 1,
		   .options = UK_OP_ZEROCOPY | UK_OP_POOL, .tag = 7),
		-EINVAL);
	CHECK_EQ(shutdown(s[0], SHUT_WR), 0);
	one_end(ZC(s[0], from, 10), -EPIPE);
	done();
}

/* No such thing there: it is copied. */
static void a_local_socket_has_both(void)
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

static size_t before; /* what lies in the buffers */

/* A connection that has no room: as much as the buffers hold. */
static void full(void)
{
	ssize_t r;

	tcp();
	before = 0;
	while ((r = send(s[0], from, LEN, MSG_DONTWAIT)) > 0)
		before += (size_t)r;
}

/* Acknowledgements still come, and TCP looks whether there is room: it may have been found after
 * all. Then so with another connection. */
static bool accepted(uk_end e)
{
	if (e.res <= 0)
		return false;
	uk_close(s[1]); /* which ends the loan */
	e = end();
	CHECK(e.flags == UK_END_FREE);
	uk_close(s[0]);
	full();
	return true;
}

static void it_waits_for_room(bool nonblock)
{
	uk_op o = ZC(0, from, LEN);
	size_t rest;
	uk_end e;
	int r;

	group(8);
	full();
	do {
		if (nonblock)
			CHECK_EQ(fcntl(s[0], F_SETFL, O_NONBLOCK), 0);
		o.fd = s[0];
		submit(&o, 1);
		r = uk_wait_any(g, &e, 1, uk_after(5 * MS));
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

static void who_finds_no_room_waits(void)
{
	it_waits_for_room(false);
	it_waits_for_room(true);
}

/* o finds no room, so it ends otherwise. */
static void ends_otherwise(uk_op o, bool cancel, int64_t res)
{
	int64_t within = o.deadline;
	uk_end e;

	do {
		o.fd = s[0];
		o.deadline = within ? uk_after(within) : 0;
		submit(&o, 1);
		if (cancel) {
			uk_yield();
			uk_async_cancel(g, o.id);
		}
		e = end();
	} while (accepted(e));
	CHECK_EQ(e.res, res);
	CHECK_EQ(e.flags, UK_END_FREE);
}

static void its_end_can_be_asked_for(void)
{
	uk_op o = ZC(0, from, LEN);

	group(8);
	full();
	o.deadline = 5 * MS;
	ends_otherwise(o, false, -ETIMEDOUT);
	o.deadline = 0;
	ends_otherwise(o, true, -ECANCELED);
	o.flags = MSG_DONTWAIT;
	ends_otherwise(o, false, -EAGAIN);
	done();
}

/* The last of a connection, and its number: the loan stays a loan. */
static void the_number_may_be_another_file(void)
{
	uk_end e;

	send_it();
	CHECK_EQ(uk_close(s[0]), 0);
	s[0] = dup(s[1]);
	read_all(LEN);
	CHECK(!memcmp(from, to, LEN));
	e = end();
	CHECK(e.res == 0 && e.flags == UK_END_FREE);
	done();
}

/* Nothing of the program's memory is read after that. */
static void *destroys(void *arg)
{
	uk_group_destroy(g);
	memset(from, 'Z', LEN);
	return arg;
}

static void who_destroys_the_group_waits_for_the_loan(void)
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

static void many_at_once(void)
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
		uk_end e = end();

		CHECK(e.res >= 0);
		more += e.flags == UK_END_MORE;
		freed += e.flags == UK_END_FREE;
	}
	join(t);
	read_all((size_t)N * 8192 - 2 * LEN);
	read_all(LEN);
	while (freed < N)
		freed += end().flags == UK_END_FREE;
	done();
}

#ifndef __SANITIZE_THREAD__
static void a_forked_child_hears_of_its_end(void)
{
	uk_op o = ZC(0, from, LEN);
	int status;
	pid_t pid;

	uk_end e;

	group(8);
	full();
	o.fd = s[0];
	submit(&o, 1);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(uk_wait_any(g, &e, 1, UK_FOREVER), 1);
		CHECK(e.res > 0 || (e.res == -ECANCELED && e.flags == UK_END_FREE));
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	uk_async_cancel(g, o.id);
	e = end();
	CHECK(accepted(e) || e.res == -ECANCELED);
	done();
}
#endif

int main(void)
{
	from = malloc(LEN);
	to = malloc(LEN);
	USER(a_send_has_two_ends);
	USER(so_has_a_message);
	USER(what_is_lent_is_not_free);
	USER(what_is_linked_follows_the_bytes);
	USER(without_room_there_is_one);
	USER(what_fails_has_one);
	USER(a_local_socket_has_both);
	USER(who_finds_no_room_waits);
	USER(its_end_can_be_asked_for);
	USER(the_number_may_be_another_file);
	USER(who_destroys_the_group_waits_for_the_loan);
	USER(many_at_once);
#ifndef __SANITIZE_THREAD__ /* which knows no threads in the child of a fork */
	USER(a_forked_child_hears_of_its_end);
#endif
	free(from);
	free(to);
	return 0;
}

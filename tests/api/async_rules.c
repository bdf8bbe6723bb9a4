/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of request that may wait, in every way in which it can end although
 * nothing came: cancelled, at its deadline, its fd closed, its group destroyed, in a
 * forked child. The results are the same on every engine. */
#include "../io/iotest.h"

#include <sys/un.h>
#include <sys/wait.h>

static uk_group *g;
static uk_buf_pool *pool;
static int fd[4]; /* -1: not open */
static char b[16] = "nothing came";
static struct iovec v = { b, sizeof(b) };
static struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
static uint32_t word = 7;

/* -- fds with nothing to receive, and fds without space to send -- */

static int empty(void)
{
	make_pipe(fd, 0);
	return fd[0];
}

static int quiet(void)
{
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fd), 0);
	return fd[0];
}

static int full(void)
{
	make_pipe(fd, 0);
	CHECK_EQ(fcntl(fd[1], F_SETFL, O_NONBLOCK), 0);
	while (write(fd[1], b, sizeof(b)) > 0)
		;
	CHECK_EQ(fcntl(fd[1], F_SETFL, 0), 0);
	return fd[1];
}

static int stuffed(void)
{
	quiet();
	while (send(fd[0], b, sizeof(b), MSG_DONTWAIT) > 0)
		;
	return fd[0];
}

static int lonely(void)
{
	struct sockaddr_in at;

	return fd[0] = make_listener(&at, 8);
}

static struct sockaddr_un at_crowd;

/* A listener with a full queue, and a socket to connect to it. */
static int crowded(void)
{
	socklen_t len = sizeof(sa_family_t);

	at_crowd = (struct sockaddr_un){ .sun_family = AF_UNIX };
	fd[0] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(bind(fd[0], (struct sockaddr *)&at_crowd, len), 0);
	len = sizeof(at_crowd);
	CHECK_EQ(getsockname(fd[0], (struct sockaddr *)&at_crowd, &len), 0);
	CHECK_EQ(listen(fd[0], 0), 0);
	fd[1] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CHECK_EQ(connect(fd[1], (struct sockaddr *)&at_crowd, len), 0);
	fd[2] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	return fd[2];
}

static int two_pipes(void)
{
	make_pipe(fd, 0);
	make_pipe(fd + 2, 0);
	return fd[3];
}

static int nowhere(void)
{
	return -1;
}

static const struct kind {
	const char *name;
	int (*setup)(void);
	uk_op op;
} kinds[] = {
	{ "read", empty,
	  UK_OP(.kind = UK_OP_READ, .addr = b, .len = 1, .off = UK_OP_HERE) },
	{ "readv", empty,
	  UK_OP(.kind = UK_OP_READV, .addr = &v, .len = 1, .off = UK_OP_HERE) },
	{ "write", full,
	  UK_OP(.kind = UK_OP_WRITE, .addr = b, .len = 1, .off = UK_OP_HERE) },
	{ "writev", full,
	  UK_OP(.kind = UK_OP_WRITEV, .addr = &v, .len = 1, .off = UK_OP_HERE) },
	{ "recv", quiet, UK_OP(.kind = UK_OP_RECV, .addr = b, .len = 1) },
	{ "recvmsg", quiet, UK_OP(.kind = UK_OP_RECVMSG, .addr = &m) },
	{ "recv, pool", quiet, UK_OP(.kind = UK_OP_RECV, .options = UK_OP_POOL) },
	{ "recv, stream", quiet,
	  UK_OP(.kind = UK_OP_RECV, .options = UK_OP_POOL | UK_OP_MULTI) },
	{ "send", stuffed, UK_OP(.kind = UK_OP_SEND, .addr = b, .len = 1) },
	{ "sendmsg", stuffed, UK_OP(.kind = UK_OP_SENDMSG, .addr = &m) },
	{ "send, lent", stuffed,
	  UK_OP(.kind = UK_OP_SEND, .addr = b, .len = 1, .options = UK_OP_ZEROCOPY) },
	{ "sendmsg, lent", stuffed,
	  UK_OP(.kind = UK_OP_SENDMSG, .addr = &m, .options = UK_OP_ZEROCOPY) },
	{ "accept", lonely, UK_OP(.kind = UK_OP_ACCEPT) },
	{ "accept, stream", lonely,
	  UK_OP(.kind = UK_OP_ACCEPT, .options = UK_OP_MULTI) },
	{ "connect", crowded,
	  UK_OP(.kind = UK_OP_CONNECT, .addr = &at_crowd, .len = sizeof(at_crowd)) },
	{ "poll", empty, UK_OP(.kind = UK_OP_POLL, .flags = POLLIN) },
	{ "splice", two_pipes,
	  UK_OP(.kind = UK_OP_SPLICE, .len = 1, .off = UK_OP_HERE,
		.off2 = UK_OP_HERE) },
	{ "timeout", nowhere, UK_OP(.kind = UK_OP_TIMEOUT) },
	{ "futex", nowhere, UK_OP(.kind = UK_OP_FUTEX, .addr = &word, .len = 7) },
};

/* Submits a request that waits, and returns its id. */
static uint64_t submit(const struct kind *k, uk_time deadline)
{
	uk_op o = k->op;

	for (int i = 0; i < 4; i++)
		fd[i] = -1;
	o.fd = k->setup();
	if (o.options & UK_OP_POOL)
		o.addr2 = pool;
	if (o.kind == UK_OP_SPLICE)
		o.fd2 = fd[0];
	if (o.kind == UK_OP_CONNECT)
		o.len =
		    offsetof(struct sockaddr_un, sun_path) + 6; /* an abstract name */
	o.deadline = deadline;
	if (o.kind == UK_OP_TIMEOUT && deadline == UK_FOREVER)
		o.deadline = uk_after(3600 * UK_SEC);
	o.tag = 7;
	CHECK_EQ(uk_group_create(&g, 8), 0);
	CHECK_EQ(uk_group_submit(g, &o, 1), 1);
	return o.id;
}

/* Checks the only completion of the request. */
static void ends_with(const struct kind *k, int64_t res)
{
	uk_completion e[2];

	CHECK_EQ(uk_group_wait_any(g, e, 2, UK_FOREVER), 1);
	if (e[0].res != res)
		printf("# %s\n", k->name);
	CHECK_EQ(e[0].res, res);
	CHECK_EQ(e[0].tag, 7);
	CHECK_EQ(e[0].flags, k->op.options & UK_OP_ZEROCOPY ? UK_COMPLETION_FREE : 0);
	CHECK(!e[0].buf);
	CHECK_EQ(uk_group_wait_any(g, e, 1, UK_FOREVER), 0);
}

static void clear(void)
{
	uk_group_destroy(g);
	for (int i = 0; i < 4; i++)
		if (fd[i] >= 0)
			uk_close(fd[i]);
}

#define EACH(k) for (const struct kind *k = kinds; k < kinds + 19; k++)
_Static_assert(sizeof(kinds) / sizeof(kinds[0]) == 19, "EACH");

/* In odd turns, the request gets time to begin. */
static void sometimes_later(unsigned turn)
{
	if (turn & 1)
		CHECK_EQ(uk_sleep(UK_MS), 0);
}

static void a_waiting_request_can_be_cancelled(void)
{
	EACH(k)
	for (unsigned turn = 0; turn < 4; turn++) {
		uint64_t id = submit(k, UK_FOREVER);

		sometimes_later(turn);
		CHECK_EQ(uk_group_cancel(g, id), 0);
		ends_with(k, -ECANCELED);
		CHECK_EQ(uk_group_cancel(g, id), -ENOENT);
		clear();
	}
}

static void a_waiting_request_ends_at_its_deadline(void)
{
	EACH(k)
	{
		int64_t res = k->op.kind == UK_OP_TIMEOUT ? 0 : -ETIMEDOUT;

		submit(k, uk_after(UK_MS));
		ends_with(k, res);
		clear();
		submit(k, 0);
		ends_with(k, res);
		clear();
	}
}

static void a_request_that_may_not_wait_is_tried(void)
{
	uk_completion e;
	char c[2] = "";
	int p[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, p), 0);
	CHECK_EQ(uk_group_create(&g, 1), 0);
	for (int i = 0; i < 40; i++) {
		const int four[] = { UK_OP_WRITE, UK_OP_READ, UK_OP_SEND, UK_OP_RECV };
		int kind = four[i % 4];
		uk_op o = { .kind = kind, .fd = p[i & 1], .addr = c, .len = 1 };

		if (kind == UK_OP_READ || kind == UK_OP_WRITE)
			o.off = UK_OP_HERE;
		CHECK_EQ(uk_group_submit(g, &o, 1), 1);
		CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
		CHECK_EQ(e.res, 1);
	}
	uk_group_destroy(g);
	uk_close(p[0]);
	uk_close(p[1]);
}

static void a_waiting_request_ends_when_its_fd_is_closed(void)
{
	EACH(k)
	for (unsigned turn = 0; turn < 4 && k->setup != nowhere; turn++) {
		int at;

		submit(k, turn & 2 ? uk_after(3600 * UK_SEC) : UK_FOREVER);
		at = k->setup == full        ? 1
		     : k->setup == crowded   ? 2
		     : k->setup == two_pipes ? 3
					     : 0;
		if (k->setup == two_pipes && turn & 1)
			at = 0;
		sometimes_later(turn);
		CHECK_EQ(uk_close(fd[at]), 0);
		fd[at] = -1;
		ends_with(k, -EBADF);
		clear();
	}
}

static void a_waiting_request_ends_with_its_group(void)
{
	EACH(k)
	for (unsigned turn = 0; turn < 2; turn++) {
		submit(k, UK_FOREVER);
		sometimes_later(turn);
		clear();
	}
}

static void a_forked_child_finds_the_request_cancelled(void)
{
	EACH(k)
	{
		uint64_t id = submit(k, UK_FOREVER);
		int status;
		pid_t pid = SANITIZED ? 0 : fork();

		if (SANITIZED) {
			clear();
			continue;
		}
		CHECK(pid >= 0);
		if (!pid) {
			ends_with(k, -ECANCELED);
			_exit(0);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
		CHECK_EQ(uk_group_cancel(g, id), 0);
		ends_with(k, -ECANCELED);
		clear();
	}
}

static void *root(void *arg)
{
	CHECK_EQ(uk_buf_pool_create(&pool, 4, 64), 0);
	RUN(a_waiting_request_can_be_cancelled);
	RUN(a_waiting_request_ends_at_its_deadline);
	RUN(a_request_that_may_not_wait_is_tried);
	RUN(a_waiting_request_ends_when_its_fd_is_closed);
	RUN(a_waiting_request_ends_with_its_group);
	RUN(a_forked_child_finds_the_request_cancelled);
	CHECK(!strcmp(b, "nothing came"));
	uk_buf_pool_destroy(pool);
	return arg;
}

int main(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, root, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	puts("the same on a kernel thread:");
	root(NULL);
	return 0;
}

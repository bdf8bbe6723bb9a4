/* SPDX-License-Identifier: Apache-2.0 */
/* The reactor's contract. Every test runs on each engine and variant: io_uring, with
 * eventfd kicks, with SQPOLL, and epoll (each.h). */
#include "each.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

static void tcp_pair(int fd[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	CHECK(l >= 0);
	CHECK_EQ(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 10), 0);
	CHECK_EQ(getsockname(l, (struct sockaddr *)&a, &len), 0);
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK_EQ(connect(fd[0], (struct sockaddr *)&a, sizeof(a)), 0);
	fd[1] = accept(l, NULL, NULL);
	CHECK(fd[1] >= 0);
	close(l);
}

/* -- tests -- */

static void nops_come_back_in_order(void)
{
	struct io_op op[100], *done;
	unsigned n = 0;

	for (unsigned i = 0; i < 100; i++) {
		op[i] = mk(IO_NOP, -1, NULL, 0);
		submit(&op[i]);
	}
	CHECK_EQ(R.pending, 100);
	while (n < 100) {
		for (done = R.ops->poll(&R, NS_PER_SEC); done; done = done->next) {
			CHECK(done == &op[n]);
			CHECK_EQ(done->res, 0);
			CHECK_EQ(done->state, IO_DONE);
			n++;
		}
	}
	CHECK_EQ(R.pending, 0);
}

static void sockets_carry_bytes_both_ways(void)
{
	struct io_op rx, tx;
	char in[16] = "", more[16] = "";
	struct iovec iov = { more, sizeof(more) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	int sv[2];

	tcp_pair(sv);
	rx = mk(IO_RECV, sv[1], in, sizeof(in));
	submit(&rx);
	stays_pending(&rx);
	tx = mk(IO_SEND, sv[0], "hello", 5);
	CHECK(run_op(&tx) > 0);
	CHECK(wait_op(&rx) == tx.res || (UK_HOSTILE && rx.res > 0));
	if (rx.res < tx.res) /* the hostile build shortened the transfer: drop the
			      * rest */
		CHECK_EQ(recv(sv[1], more, sizeof(more), MSG_DONTWAIT),
			 tx.res - rx.res);
	CHECK(!memcmp(in, "hello", (size_t)rx.res));
	iov = (struct iovec){ (char[]){ "abcdef" }, 6 };
	tx = mk(IO_SENDMSG, sv[1], &m, 0);
	CHECK_EQ(run_op(&tx), 6);
	iov = (struct iovec){ more, sizeof(more) };
	rx = mk(IO_RECVMSG, sv[0], &m, 0);
	CHECK_EQ(run_op(&rx), 6);
	CHECK(!memcmp(more, "abcdef", 6));
	/* read and write work on sockets, too */
	tx = mk(IO_WRITE, sv[0], "xy", 2);
	CHECK_EQ(run_op(&tx), 2);
	rx = mk(IO_READ, sv[1], in, sizeof(in));
	CHECK_EQ(run_op(&rx), 2);
	close(sv[0]);
	rx = mk(IO_RECV, sv[1], in, sizeof(in));
	CHECK_EQ(run_op(&rx), 0);
	close(sv[1]);
}

static void pipes_block_until_there_is_something(void)
{
	struct io_op rd, wr;
	char a[8], b[8];
	struct iovec iov[2] = { { a, 2 }, { b, 8 } };
	int p[2];

	CHECK_EQ(pipe(p), 0);
	rd = mk(IO_READV, p[0], iov, 2);
	submit(&rd);
	stays_pending(&rd);
	wr = mk(IO_WRITEV, p[1], &(struct iovec){ (char[]){ "12345" }, 5 }, 1);
	CHECK_EQ(run_op(&wr), 5);
	CHECK_EQ(wait_op(&rd), 5);
	CHECK(a[0] == '1' && b[2] == '5');
	rd = mk(IO_READ, p[0], a, 8);
	submit(&rd);
	stays_pending(&rd);
	close(p[1]);
	CHECK_EQ(wait_op(&rd), 0);
	close(p[0]);
}

/* What the caller does when the engine answers REACTOR_READY: make the call itself. */
static int or_block(struct io_op *op, long (*call)(struct io_op *))
{
	int res = run_op(op);

	if (res != REACTOR_READY)
		return res;
	CHECK(!is_uring);
	return (int)call(op);
}

static long block_rw(struct io_op *op)
{
	struct iovec iov = { (void *)(uintptr_t)op->addr, op->len };

	return sysn(op->kind == IO_READ ? SYS_preadv2 : SYS_pwritev2, op->fd, &iov, 1,
		    op->off, 0, 0);
}

static void files_read_and_write_at_offsets_and_at_the_position(void)
{
	char name[] = "/tmp/uk-reactor-XXXXXX", buf[64];
	struct io_op op;
	int fd = mkstemp(name), n;

	CHECK(fd >= 0);
	unlink(name);
	for (n = 0; n < 10;) {
		op = mk(IO_WRITE, fd, &"0123456789"[n], (uint32_t)(10 - n));
		n += or_block(&op, block_rw);
	}
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 10);
	op = mk(IO_READ, fd, buf, 3);
	op.off = 4;
	n = or_block(&op, block_rw);
	CHECK(n > 0 && !memcmp(buf, "456", (size_t)n));
	CHECK_EQ(lseek(fd, 0, SEEK_CUR), 10);
	op = mk(IO_READ, fd, buf, 3);
	CHECK_EQ(or_block(&op, block_rw), 0);
	if (R.ops->can(&R, IO_FSYNC)) {
		op = mk(IO_FSYNC, fd, NULL, 0);
		op.flags = 1;
		CHECK_EQ(run_op(&op), 0);
	}
	close(fd);
}

static void poll_reports_what_was_asked(void)
{
	char name[] = "/tmp/uk-reactor-XXXXXX";
	struct io_op op, op2;
	int sv[2], fd;

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	op = mk(IO_POLL, sv[0], NULL, POLLIN | POLLOUT);
	CHECK_EQ(run_op(&op), POLLOUT);
	op = mk(IO_POLL, sv[0], NULL, POLLIN);
	op2 = mk(IO_POLL, sv[0], NULL, POLLOUT);
	submit(&op);
	submit(&op2);
	CHECK_EQ(wait_op(&op2), POLLOUT);
	stays_pending(&op);
	CHECK_EQ(write(sv[1], "x", 1), 1);
	CHECK_EQ(wait_op(&op), POLLIN);
	op = mk(IO_POLL, sv[0], NULL, POLLRDHUP);
	submit(&op);
	stays_pending(&op);
	close(sv[1]);
	CHECK(wait_op(&op) & (POLLRDHUP | POLLHUP));
	close(sv[0]);
	fd = mkstemp(name);
	unlink(name);
	op = mk(IO_POLL, fd, NULL, POLLIN);
	CHECK_EQ(run_op(&op), POLLIN);
	close(fd);
}

static void accept_and_connect_meet(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct sockaddr_in peer;
	socklen_t len = sizeof(a), plen = sizeof(peer);
	struct io_op acc, con;
	int l = socket(AF_INET, SOCK_STREAM, 0), c, s;

	CHECK_EQ(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_EQ(listen(l, 10), 0);
	CHECK_EQ(getsockname(l, (struct sockaddr *)&a, &len), 0);
	for (int nonblock = 0; nonblock < 2; nonblock++) {
		if (nonblock)
			fcntl(l, F_SETFL, fcntl(l, F_GETFL) | O_NONBLOCK);
		acc = mk(IO_ACCEPT, l, &peer, 0);
		acc.addr2 = &plen;
		acc.flags = SOCK_CLOEXEC;
		submit(&acc);
		if (!nonblock ||
		    !(is_uring || UK_HOSTILE)) /* there -EAGAIN is allowed */
			stays_pending(&acc);
		c = socket(AF_INET, SOCK_STREAM | (nonblock ? SOCK_NONBLOCK : 0), 0);
		con = mk(IO_CONNECT, c, &a, sizeof(a));
		submit(&con);
		if (wait_op(&con) == REACTOR_READY) {
			CHECK(!R.ops->can(&R, IO_CONNECT) && (is_uring || !nonblock));
			CHECK(!connect(c, (struct sockaddr *)&a, sizeof(a)) ||
			      (nonblock && errno == EINPROGRESS));
		} else {
			CHECK(con.res == 0 || (nonblock && con.res == -EINPROGRESS));
		}
		s = wait_op(&acc);
		if (s == REACTOR_READY || (nonblock && s == -EAGAIN)) {
			s = accept4(l, (struct sockaddr *)&peer, &plen, SOCK_CLOEXEC);
		}
		CHECK(s >= 0);
		CHECK(fcntl(s, F_GETFD) & FD_CLOEXEC);
		CHECK_EQ(peer.sin_family, AF_INET);
		close(s);
		close(c);
	}
	close(l);
	/* a socket that is bound but does not listen */
	l = socket(AF_INET, SOCK_STREAM, 0);
	a.sin_port = 0;
	CHECK_EQ(bind(l, (struct sockaddr *)&a, sizeof(a)), 0);
	CHECK_EQ(getsockname(l, (struct sockaddr *)&a, &len), 0);
	c = socket(AF_INET, SOCK_STREAM, 0);
	if (R.ops->can(&R, IO_CONNECT)) {
		con = mk(IO_CONNECT, c, &a, sizeof(a));
		CHECK_EQ(run_op(&con), -ECONNREFUSED);
	}
	close(c);
	close(l);
}

static void bad_fds_complete_with_ebadf(void)
{
	struct io_op op = mk(IO_RECV, 987654, NULL, 0), op2 = mk(IO_READ, -1, NULL, 0);

	CHECK_EQ(run_op(&op), -EBADF);
	CHECK_EQ(run_op(&op2), -EBADF);
	op = mk(IO_POLL, 500, NULL, POLLIN);
	CHECK_EQ(run_op(&op), -EBADF);
}

static void cancel_works_in_every_state(void)
{
	struct io_op op;
	char buf[8];
	int sv[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	/* before the kernel has seen the op */
	op = mk(IO_RECV, sv[0], buf, 8);
	submit(&op);
	R.ops->cancel(&R, &op);
	CHECK_EQ(wait_op(&op), -ECANCELED);
	/* pending in the kernel */
	submit(&op);
	stays_pending(&op);
	R.ops->cancel(&R, &op);
	R.ops->cancel(&R, &op); /* a second cancel has no effect */
	CHECK_EQ(wait_op(&op), -ECANCELED);
	/* completed in the kernel, but not reaped */
	submit(&op);
	stays_pending(&op);
	CHECK_EQ(write(sv[1], "now", 3), 3);
	R.ops->cancel(&R, &op);
	wait_op(&op);
	CHECK(op.res == -ECANCELED || op.res > 0);
	/* no byte is lost or doubled: bytes that the op did not get are still there */
	if (op.res == -ECANCELED)
		op.res = 0;
	while (op.res < 3) {
		struct io_op rest = mk(IO_RECV, sv[0], buf, 8);

		CHECK(run_op(&rest) > 0);
		op.res += rest.res;
	}
	CHECK_EQ(op.res, 3);
	/* a poll can be cancelled, too */
	op = mk(IO_POLL, sv[0], NULL, POLLIN);
	submit(&op);
	stays_pending(&op);
	R.ops->cancel(&R, &op);
	CHECK_EQ(wait_op(&op), -ECANCELED);
	/* a cancel after the completion has no effect */
	R.ops->cancel(&R, &op);
	CHECK_EQ(op.state, IO_DONE);
	CHECK_EQ(R.pending, 0);
	close(sv[0]), close(sv[1]);
}

static void cancel_fd_ends_all_and_the_peer_sees_the_close(void)
{
	struct io_op rx[3], other;
	char buf[8];
	int sv[2], sv2[2];

	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv2), 0);
	rx[0] = mk(IO_RECV, sv[0], buf, 8);
	rx[1] = mk(IO_POLL, sv[0], NULL, POLLIN);
	rx[2] = mk(IO_READ, sv[0], buf, 8);
	other = mk(IO_RECV, sv2[0], buf, 8);
	CHECK(!reactor_peek_fd(&R, sv[0]));
	submit(&rx[0]);
	submit(&rx[1]);
	submit(&other);
	stays_pending(&rx[0]);
	submit(&rx[2]); /* this op has not reached the kernel */
	CHECK(reactor_peek_fd(&R, sv[0]));
	CHECK_EQ(R.ops->cancel_fd(&R, sv[0], -1), 3);
	/* in the hostile build cancels miss, and with SQPOLL another thread carries
	 * them out */
	for (int i = 0; i < 3 && (UK_HOSTILE || R.net_cpu); i++)
		wait_op(&rx[i]);
	close(sv[0]);
	CHECK_EQ(recv(sv[1], buf, 8, MSG_DONTWAIT), 0); /* at once */
	for (int i = 0; i < 3; i++)
		CHECK_EQ(wait_op(&rx[i]), -EBADF);
	CHECK_EQ(other.state, IO_PENDING);
	CHECK_EQ(R.ops->cancel_fd(&R, sv[0], -1), 0);
	CHECK(!reactor_peek_fd(&R, sv[0]));
	R.ops->cancel(&R, &other);
	CHECK_EQ(wait_op(&other), -ECANCELED);
	close(sv[1]), close(sv2[0]), close(sv2[1]);
}

static void an_fd_reused_without_a_cancel_fd_works(void)
{
	struct io_op op;
	char buf[8];
	int sv[2], keep, old;

	for (int i = 0; i < 20; i++) {
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
		old = sv[0];
		op = mk(IO_RECV, sv[0], buf, 8);
		submit(&op);
		stays_pending(&op);
		CHECK_EQ(write(sv[1], "1", 1), 1);
		CHECK_EQ(wait_op(&op), 1);
		/* armed again, and then closed without telling the reactor */
		submit(&op);
		stays_pending(&op);
		R.ops->cancel(&R, &op);
		CHECK_EQ(wait_op(&op), -ECANCELED);
		keep = i % 2 ? dup(sv[0]) : -1; /* the old file is kept open, or not */
		close(old);
		if (keep >= 0)
			CHECK_EQ(write(sv[1], "stale", 5), 5);
		close(sv[1]);
		CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sv), 0);
		if (sv[0] != old) {
			CHECK_EQ(dup2(sv[0], old), old);
			close(sv[0]);
		}
		op = mk(i & 2 ? IO_RECV : IO_POLL, old, buf, i & 2 ? 8 : POLLIN);
		submit(&op);
		stays_pending(&op);
		CHECK_EQ(write(sv[1], "2", 1), 1);
		CHECK_EQ(wait_op(&op), 1); /* POLLIN is 1, too */
		close(old), close(sv[1]);
		if (keep >= 0)
			close(keep);
	}
}

static void several_ops_on_one_fd_share_its_events(void)
{
	struct io_op rx[8], tx;
	char buf[8][4], big[1 << 16];
	int sv[2], done = 0, type = SOCK_SEQPACKET;

	CHECK_EQ(socketpair(AF_UNIX, type, 0, sv), 0);
	for (int i = 0; i < 8; i++) {
		rx[i] = mk(IO_RECV, sv[0], buf[i], 4);
		submit(&rx[i]);
	}
	tx = mk(IO_SEND, sv[0], "to1", 3); /* one op that writes beside those that
					    * read */
	submit(&tx);
	CHECK_EQ(wait_op(&tx), 3);
	stays_pending(&rx[0]);
	for (int i = 0; i < 8; i++) {
		CHECK_EQ(send(sv[1], "abc", 3, 0), 3);
		for (int64_t end = sys_now() + HANG_NS;; R.ops->poll(&R, NS_PER_MS)) {
			CHECK(sys_now() < end);
			done = 0;
			for (int k = 0; k < 8; k++)
				done += rx[k].state == IO_DONE;
			CHECK(done <= i + 1);
			if (done == i + 1)
				break;
		}
	}
	(void)big;
	close(sv[0]), close(sv[1]);
}

static void short_writes_resets_and_broken_pipes_are_reported(void)
{
	struct linger lin = { 1, 0 };
	struct io_op tx, rx;
	size_t size = 8u << 20, sent = 0;
	char *big = calloc(1, size), buf[8];
	int sv[2], p[2];

	tcp_pair(sv);
	tx = mk(IO_SEND, sv[0], big, (uint32_t)size);
	CHECK(run_op(&tx) > 0);
	CHECK((size_t)tx.res < size); /* the buffers are full */
	sent = (size_t)tx.res;
	tx = mk(IO_SEND, sv[0], big, (uint32_t)(size - sent));
	submit(&tx);
	for (int i = 0; i < 3; i++)
		R.ops->poll(&R, NS_PER_MS);
	while (tx.state != IO_DONE) {
		recv(sv[1], big, size, MSG_DONTWAIT);
		R.ops->poll(&R, NS_PER_MS);
	}
	CHECK(tx.res > 0);
	rx = mk(IO_RECV, sv[0], buf, 8);
	submit(&rx);
	stays_pending(&rx);
	setsockopt(sv[1], SOL_SOCKET, SO_LINGER, &lin, sizeof(lin));
	close(sv[1]);
	CHECK_EQ(wait_op(&rx), -ECONNRESET);
	tx = mk(IO_SEND, sv[0], "x", 1);
	CHECK_EQ(run_op(&tx), -EPIPE); /* a send raises no SIGPIPE */
	close(sv[0]);
	CHECK_EQ(pipe(p), 0);
	close(p[0]);
	signal(SIGPIPE, SIG_IGN);
	tx = mk(IO_WRITE, p[1], "x", 1);
	CHECK_EQ(run_op(&tx), -EPIPE);
	close(p[1]);
	free(big);
}

static void nonblocking_files_may_say_eagain_and_others_never(void)
{
	struct io_op op;
	char buf[8];
	int fd = eventfd(0, 0);
	uint64_t v = 0;

	op = mk(IO_READ, fd, &v, 8);
	submit(&op);
	if (!is_uring) { /* old eventfds have no RWF_NOWAIT, so READY is allowed after
			  * the event */
		for (int i = 0; i < 3; i++)
			R.ops->poll(&R, NS_PER_MS);
	} else {
		stays_pending(&op);
	}
	CHECK(op.state == IO_PENDING);
	eventfd_write(fd, 5);
	wait_op(&op);
	if (op.res == REACTOR_READY)
		op.res = (int)read(fd, &v, 8);
	CHECK_EQ(op.res, 8);
	CHECK_EQ(v, 5);
	close(fd);
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
	op = mk(IO_RECV, fd, buf, 8);
	op.flags = is_uring ? MSG_DONTWAIT : 0;
	submit(&op);
	for (int i = 0; i < 3; i++)
		R.ops->poll(&R, NS_PER_MS);
	if (op.state == IO_DONE)
		CHECK_EQ(op.res, -EAGAIN);
	else
		R.ops->cancel(&R, &op), wait_op(&op);
	close(fd);
}

static void all(void)
{
	RUN_ON(nops_come_back_in_order);
	RUN_ON(sockets_carry_bytes_both_ways);
	RUN_ON(pipes_block_until_there_is_something);
	RUN_ON(files_read_and_write_at_offsets_and_at_the_position);
	RUN_ON(poll_reports_what_was_asked);
	RUN_ON(accept_and_connect_meet);
	RUN_ON(bad_fds_complete_with_ebadf);
	RUN_ON(cancel_works_in_every_state);
	RUN_ON(cancel_fd_ends_all_and_the_peer_sees_the_close);
	RUN_ON(an_fd_reused_without_a_cancel_fd_works);
	RUN_ON(several_ops_on_one_fd_share_its_events);
	RUN_ON(short_writes_resets_and_broken_pipes_are_reported);
	RUN_ON(nonblocking_files_may_say_eagain_and_others_never);
}

int main(void)
{
	on_each_engine(all);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets: receive, send, accept, connect.
 *
 * A receive goes to the reactor at once unless the last one filled its buffer: right
 * after a thread's own reply there is nothing yet (a try succeeds 2-4 times in 365,000
 * and costs a twentieth of a request). A send is tried first, with MSG_DONTWAIT,
 * because there is nearly always space. If many threads send on streams that are
 * received ahead, the reactor tries for all in one system call (io_wait.c). A blocking
 * send on a stream sends everything, as the kernel's does.
 *
 * connect has no form that does not block. If the reactor has none either (epoll), the
 * socket's send timeout is set to one tick for the time of the call: the kernel then
 * answers -EINPROGRESS after at most a few milliseconds (most connections on one
 * machine are made by then), and the rest is readiness. The send timeout does not
 * matter to other holders of a socket that is not connected yet.
 * Rejected: O_NONBLOCK for the time of the call (reads by other holders see it); a
 * kernel thread that is in connect for minutes and hears neither deadline nor
 * cancellation.
 *
 * uk_recv_ahead is a promise by the program that makes the multishot receive possible
 * (reactor/ahead.c). Bytes that the runtime holds are invisible to other processes, to
 * plain system calls and after a close without our knowledge, so the promise is never
 * assumed. Calls that would miss these bytes return -EBUSY.
 *
 * SO_RCVTIMEO and SO_SNDTIMEO end a wait as they do in the kernel (io_limit). A stream
 * with a time limit at the time of uk_recv_ahead is not received ahead.
 */
#include "io/io.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/time.h>

/* These never wait, whatever the file's flags. */
#define RECV_AT_ONCE (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)
#define PEEK_PAUSE (1 * NS_PER_MS)
#define BOUNCE 1024u

/* -- receiving -- */

static bool is_stream(struct uk_thread *t, int fd)
{
	int type = 0;
	uint32_t len = sizeof(type);
	long r = sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len);

	COUNT(t, syscalls);
	return r == 0 && type == SOCK_STREAM;
}

/* For calls that cannot wait, because of their flags or because of what the fd is. */
static long at_once(struct uk_thread *t, struct io_op *op)
{
	long r;

	do
		r = io_block(t, op, IO_ONCE);
	while (r == -EINTR);
	sched_inline(t, 1);
	return r;
}

static long recv_op(struct uk_thread *t, struct io_op *op)
{
	op->fresh = !(fd_hint(op->fd) & HINT_SOCK);
	return io_wait(t, op);
}

/* MSG_PEEK|MSG_WAITALL: nothing announces that more bytes follow those that stay in the
 * queue, so look again and again. (io_uring would append the result of the second look
 * to the first.) */
static long peek_all(struct uk_thread *t, struct io_op *op, size_t want)
{
	bool end = false;
	long r;

	op->flags &= ~(uint32_t)MSG_WAITALL;
	op->until = io_limit(t, op->fd, POLLIN);
	r = recv_op(t, op);
	while (r > 0 && (size_t)r < want && !end) {
		/* the end is checked first: what was sent before it is there at the
		 * next look */
		end = io_ready(t, op->fd, POLLRDHUP, 0) > 0;
		if (!end && (op->until <= sys_now() || io_pause(t, PEEK_PAUSE) < 0))
			return r;
		op->flags |= MSG_DONTWAIT;
		r = at_once(t, op);
		op->flags &= ~(uint32_t)MSG_DONTWAIT;
		if (r == -EAGAIN) /* another thread has taken them */
			r = recv_op(t, op);
	}
	return r;
}

/* Receives into memory that may not be resident, through a buffer on our stack. Not in
 * the caller's frame, which every idle connection holds. */
static __attribute__((noinline)) long recv_by_way(struct uk_thread *t,
						  const struct io_op *op)
{
	char here[BOUNCE];
	struct io_op by_way = *op;
	long r;

	by_way.addr = here;
	by_way.len = MIN(op->len, BOUNCE);
	r = sched_recv_ahead(t, &by_way, TIME_NEVER);
	if (r > 0) {
		outside_begin(t);
		memcpy((void *)(uintptr_t)op->addr, here, (size_t)r);
		outside_end(t);
	}
	return r;
}

/* The reactor copies what was received ahead inside the runtime: is the memory resident
 * (place.c)? */
static long recv_ahead_once(struct uk_thread *t, struct io_op *op)
{
	if (likely(io_in_memory(t, op->addr, op->len)))
		return sched_recv_ahead(t, op, TIME_NEVER);
	return recv_by_way(t, op);
}

/* Receives on a stream that is received ahead: only through the reactor that the stream
 * lives in. */
static long recv_ahead(struct uk_thread *t, struct io_op *op)
{
	bool all = op->flags & MSG_WAITALL;
	uint32_t want = op->len;
	long done = 0, r;

	if (op->kind != IO_RECV || t->kind != THREAD_USER ||
	    (op->flags & ~(uint32_t)(MSG_WAITALL | MSG_NOSIGNAL)))
		return -EBUSY;
	op->flags = 0;
	do {
		op->kind = IO_RECV_AHEAD;
		op->len = want - (uint32_t)done;
		r = recv_ahead_once(t, op);
		if (r > 0) {
			done += r;
			op->addr = (const char *)op->addr + r;
		} else if (r != -EINTR && r != -EAGAIN) {
			break;
		}
		r = io_check(t);
	} while (r == 0 && (!done || (all && (uint32_t)done < want)));
	return done ? done : r;
}

static long recv_all(struct uk_thread *t, struct io_op *op, const struct iovec *v,
		     size_t n)
{
	uint32_t life = fd_life(op->fd);
	long r;

	if (op->flags & MSG_PEEK)
		return peek_all(t, op, io_iov_len(v, n));
	op->parts = true;
	r = recv_op(t, op);
	if (r >= 0 && (size_t)r < io_iov_len(v, n))
		return io_rest(t, op, v, n, r, life);
	io_settle(op);
	return r;
}

/* For all kinds of receiving; v[0..n) is where the bytes go. */
static long recv_any(struct uk_thread *t, struct io_op *op, const struct iovec *v,
		     size_t n)
{
	long r = io_check(t);
	size_t want;

	if (r)
		return r;
	if (fd_is_ahead(op->fd))
		return recv_ahead(t, op);
	if (op->flags & RECV_AT_ONCE)
		return at_once(t, op);
	if (unlikely(op->flags & MSG_WAITALL)) {
		if (is_stream(t, op->fd))
			return recv_all(t, op, v, n);
		/* a message is whole: the flag means nothing */
		op->flags &= ~(uint32_t)MSG_WAITALL;
	}
	r = recv_op(t, op);
	if (r < 0)
		return r;
	want = io_iov_len(v, n);
	fd_hint_read(op->fd, HINT_STREAM | HINT_SOCK, r, want);
	return r;
}

ssize_t io_recv(int fd, void *buf, size_t n, int flags)
{
	struct iovec one = { buf, MIN(n, IO_MAX_LEN) };
	struct io_op op = { .kind = IO_RECV,
			    .fd = fd,
			    .addr = buf,
			    .len = (uint32_t)one.iov_len,
			    .flags = (uint32_t)flags,
			    .off = IO_CURRENT };

	return io_make(recv_any, &op, &one, 1);
}

ssize_t uk_recvmsg(int fd, struct msghdr *m, int flags)
{
	struct io_op op = { .kind = IO_RECVMSG,
			    .fd = fd,
			    .addr = m,
			    .len = 1,
			    .flags = (uint32_t)flags,
			    .off = IO_CURRENT };

	/* m is read here, outside the runtime, because it may fault */
	return io_make(recv_any, &op, m->msg_iov, m->msg_iovlen);
}

ssize_t uk_recvfrom(int fd, void *buf, size_t n, int flags, struct sockaddr *addr,
		    socklen_t *len)
{
	struct iovec one = { buf, MIN(n, IO_MAX_LEN) };
	struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1 };
	ssize_t r;

	if (!addr)
		return uk_recv(fd, buf, n, flags);
	m.msg_name = addr;
	m.msg_namelen = *len;
	r = uk_recvmsg(fd, &m, flags);
	if (r >= 0)
		*len = m.msg_namelen;
	return r;
}

int uk_recv_ahead(int fd)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	int type = 0, listens = 0;
	uint32_t len = sizeof(type), len2 = sizeof(listens);
	long r = sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &type, &len);

	if (r == 0)
		r = sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_ACCEPTCONN, &listens,
			 &len2);
	if (r == 0 && (type != SOCK_STREAM || listens))
		r = -EINVAL;
	if (r == 0 && !io_nonblock(t, fd) && io_limit(t, fd, POLLIN) == TIME_NEVER &&
	    sched_io_can(t, IO_RECV_AHEAD, IO_CLASS_NET))
		sched_ahead_begin(fd);
	rt_exit();
	return (int)r;
}

/* -- sending -- */

ssize_t io_send(int fd, const void *buf, size_t n, int flags, long done, uint32_t life)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	struct iovec one = { (void *)(uintptr_t)buf, MIN(n, IO_MAX_LEN) };
	struct io_op op = { .kind = IO_SEND,
			    .fd = fd,
			    .addr = buf,
			    .len = (uint32_t)one.iov_len,
			    .flags = (uint32_t)flags,
			    .tried = done == -EAGAIN,
			    .parts = true,
			    .off = IO_CURRENT };
	long r = done;

	io_count_quick(t);
	if (done == 0 || done == -EAGAIN || done == -EINTR)
		r = io_check(t);
	if (r == 0 && flags & MSG_DONTWAIT)
		r = at_once(t, &op);
	else if (r == 0)
		r = io_wait(t, &op);
	if (unlikely(r > 0 && (size_t)r < one.iov_len) && !(flags & MSG_DONTWAIT))
		r = io_rest(t, &op, &one, 1, r, life);
	else
		io_settle(&op);
	rt_exit();
	return r;
}

/* A datagram to a named unix socket whose queue is full: poll(2) reports on our own
 * buffer, not the receiver's, so nothing announces the moment when there is space. */
static bool unannounced(const struct msghdr *m)
{
	const struct sockaddr *sa = m->msg_name;

	return sa && m->msg_namelen >= sizeof(sa->sa_family) &&
	       sa->sa_family == AF_UNIX;
}

static long send_to_unix(struct uk_thread *t, struct io_op *op)
{
	int64_t pause = 100 * NS_PER_US;

	for (;;) {
		long r = io_try(t, op);
		int err;

		if (r != -EAGAIN)
			return r;
		if (io_nonblock(t, op->fd))
			return r;
		if (!op->until)
			op->until = io_limit(t, op->fd, POLLOUT);
		if (op->until <= sys_now())
			return r;
		err = io_pause(t, pause);
		if (err)
			return err;
		pause = MIN(pause * 2, 5 * NS_PER_MS);
	}
}

static long sendmsg_op(struct uk_thread *t, struct io_op *op,
		       const struct iovec *v UNUSED, size_t n UNUSED)
{
	const struct msghdr *m = op->addr;
	uint32_t life = fd_life(op->fd);
	long r = io_check(t);

	if (r)
		return r;
	if (op->flags & MSG_DONTWAIT)
		return at_once(t, op);
	op->parts = true;
	/* m is read after the kernel has accepted it, or if it is on our stack */
	r = io_leaves(t, op) ? -EAGAIN : io_try(t, op);
	op->tried = true;
	if (r != -EAGAIN)
		sched_inline(t, 1);
	else
		r = unannounced(m) ? send_to_unix(t, op) : io_wait(t, op);
	if (r > 0 && (m->msg_iovlen > 1 || (size_t)r < m->msg_iov->iov_len))
		return io_rest(t, op, m->msg_iov, m->msg_iovlen, r, life);
	io_settle(op);
	return r;
}

ssize_t uk_sendmsg(int fd, const struct msghdr *m, int flags)
{
	struct io_op op = { .kind = IO_SENDMSG,
			    .fd = fd,
			    .addr = m,
			    .len = 1,
			    .flags = (uint32_t)flags,
			    .off = IO_CURRENT };

	return io_make(sendmsg_op, &op, NULL, 0);
}

ssize_t uk_sendto(int fd, const void *buf, size_t n, int flags,
		  const struct sockaddr *addr, socklen_t len)
{
	struct iovec one = { (void *)(uintptr_t)buf, MIN(n, IO_MAX_LEN) };
	struct msghdr m = { .msg_iov = &one, .msg_iovlen = 1 };

	if (!addr)
		return uk_send(fd, buf, n, flags);
	m.msg_name = (void *)(uintptr_t)addr;
	m.msg_namelen = len;
	return uk_sendmsg(fd, &m, flags);
}

/* -- many messages -- */

struct messages {
	struct mmsghdr *m;
	unsigned n;
	int flags;
};

static int may_begin(void)
{
	int r = rt_begin();

	if (unlikely(r))
		return r;
	r = io_check(rt_enter());
	rt_exit();
	return r;
}

static long receive_some(void *arg, int fd)
{
	const struct messages *a = arg;

	return sys5(SYS_recvmmsg, fd, a->m, a->n,
		    a->flags | MSG_DONTWAIT | MSG_WAITFORONE, NULL);
}

int uk_recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	struct messages a = { m, n, flags };
	const struct io_function f = { receive_some, &a };
	unsigned done = 0;
	long r = fd_is_ahead(fd) ? -EBUSY : may_begin();

	while (r >= 0 && done < n) {
		a.m = m + done;
		a.n = n - done;
		r = flags & MSG_DONTWAIT ? receive_some(&a, fd)
					 : io_until(fd, POLLIN, 0, &f);
		done += r > 0 ? (unsigned)r : 0;
		if (flags & (MSG_DONTWAIT | MSG_WAITFORONE))
			break;
	}
	return done ? (int)done : (int)r;
}

/* The bytes of m behind the first `done` ones: a stream has taken only these. */
static int send_rest(int fd, struct mmsghdr *m, int flags)
{
	size_t skip = m->msg_len;

	for (size_t i = 0; i < m->msg_hdr.msg_iovlen; i++) {
		const struct iovec *v = &m->msg_hdr.msg_iov[i];
		ssize_t r;

		if (skip >= v->iov_len) {
			skip -= v->iov_len;
			continue;
		}
		r = uk_send(fd, (char *)v->iov_base + skip, v->iov_len - skip, flags);
		if (r < 0)
			return (int)r;
		m->msg_len += (unsigned)r;
		skip = 0;
	}
	return 0;
}

static bool is_whole(const struct mmsghdr *m)
{
	size_t sum = 0;

	for (size_t i = 0; i < m->msg_hdr.msg_iovlen; i++)
		sum += m->msg_hdr.msg_iov[i].iov_len;
	return m->msg_len >= sum;
}

/* All that go at once, then one that waits, and so on. */
int uk_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	unsigned done = 0;
	long r = may_begin();

	while (r >= 0 && done < n) {
		r = sys4(SYS_sendmmsg, fd, m + done, n - done, flags | MSG_DONTWAIT);
		if (r > 0)
			done += (unsigned)r;
		if (flags & MSG_DONTWAIT)
			break;
		if (r > 0 && !is_whole(&m[done - 1])) {
			r = send_rest(fd, &m[done - 1], flags);
		} else if (r == -EAGAIN) {
			r = uk_sendmsg(fd, &m[done].msg_hdr, flags);
			if (r >= 0)
				m[done++].msg_len = (unsigned)r;
		}
	}
	return done ? (int)done : (int)r;
}

/* -- connections -- */

/* A new socket: forget what was known about its fd. (A stream that was received ahead
 * and closed without our knowledge is still in its reactor.) */
static long new_socket(long fd)
{
	if (fd < 0)
		return fd;
	fd_hint_set((int)fd, 0);
	if (unlikely(fd_is_ahead((int)fd))) {
		sched_io_cancel_fd(rt_enter(), (int)fd, -1);
		sched_ahead_end((int)fd);
		rt_exit();
	}
	return fd;
}

int uk_socket(int domain, int type, int protocol)
{
	return (int)new_socket(io_syscall(SYS_socket, domain, type, protocol, 0, 0));
}

int uk_shutdown(int fd, int how)
{
	return (int)io_syscall(SYS_shutdown, fd, how, 0, 0, 0);
}

/* An fd that is no listener fails at once; epoll would wait for its next event first.
 * (HINT_SOCK does not help: a connection is no listener either.) */
static long accept_op(struct uk_thread *t, struct io_op *op,
		      const struct iovec *v UNUSED, size_t n UNUSED)
{
	int listens = 0;
	uint32_t len = sizeof(listens);
	long r = io_check(t);

	if (r)
		return r;
	if (op->flags & ~(uint32_t)(SOCK_CLOEXEC | SOCK_NONBLOCK))
		return -EINVAL;
	COUNT(t, syscalls);
	r = sys5(SYS_getsockopt, op->fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len);
	if (r < 0)
		return r;
	return new_socket(listens ? io_wait(t, op) : at_once(t, op));
}

int uk_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	struct io_op op = { .kind = IO_ACCEPT,
			    .fd = fd,
			    .addr = addr,
			    .addr2 = addr ? len : NULL,
			    .flags = (uint32_t)flags,
			    .off = IO_CURRENT };

	return (int)io_make(accept_op, &op, NULL, 0);
}

int uk_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
	return uk_accept4(fd, addr, len, 0);
}

/* A connection attempt is under way: wait for its result. */
static long connect_result(struct uk_thread *t, int fd, int64_t until)
{
	struct sockaddr_storage peer;
	int err = 0;
	uint32_t len = sizeof(err);
	long r = io_ready(t, fd, POLLOUT, until);

	if (r < 0)
		return io_limit_over(t, until, r) ? -EINPROGRESS : r;
	COUNT(t, syscalls);
	if (sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_ERROR, &err, &len) < 0 || err)
		return err ? -err : -EBADF;
	/* another thread may have taken the error */
	len = sizeof(peer);
	return r & POLLHUP ? sys3(SYS_getpeername, fd, &peer, &len) : 0;
}

static long connect_one_tick(struct uk_thread *t, struct io_op *op)
{
	struct timeval old, tick = { 0, 1 };
	uint32_t len = sizeof(old);
	long r;

	/* otherwise we might save another thread's tick as the old value */
	while (!io_take(op, FD_TICKING)) {
		r = io_pause(t, NS_PER_MS);
		if (r < 0)
			return r;
	}
	COUNT(t, syscalls);
	r = sys5(SYS_getsockopt, op->fd, SOL_SOCKET, SO_SNDTIMEO, &old, &len);
	if (r == 0) {
		sys5(SYS_setsockopt, op->fd, SOL_SOCKET, SO_SNDTIMEO, &tick,
		     sizeof(tick));
		r = io_block(t, op, IO_ONCE);
		sys5(SYS_setsockopt, op->fd, SOL_SOCKET, SO_SNDTIMEO, &old,
		     sizeof(old));
	}
	io_give(op);
	return r;
}

static long connect_once(struct uk_thread *t, struct io_op *op)
{
	long r;

	if (t->kind == THREAD_FOREIGN && t->deadline == TIME_NEVER)
		return io_block(t, op, IO_ONCE);
	if (!sched_io_can(t, IO_CONNECT, IO_CLASS_NET) || !io_in_place(t, op))
		return connect_one_tick(t, op);
	r = sched_io(t, op, IO_CLASS_NET, op->until);
	return r == REACTOR_READY ? -EINPROGRESS : r;
}

/* Until the attempt is decided or under way (-EINPROGRESS). If the queue of a unix
 * listener is full, the result is -EAGAIN (-EINTR after a signal) and no attempt is
 * under way; nothing announces space in its queue either. */
static long connect_start(struct uk_thread *t, struct io_op *op, sa_family_t family,
			  int first)
{
	int64_t pause = 100 * NS_PER_US;

	for (;;) {
		long r = connect_once(t, op);
		int err;

		if (unlikely(r == REACTOR_MOVED)) {
			io_follow(&op->fd, op->fd2, first);
			continue;
		}
		/* an attempt under way goes on */
		if (io_limit_over(t, op->until, r))
			return family == AF_UNIX ? -EAGAIN : -EINPROGRESS;
		/* if an attempt is under way, the next connect returns -EALREADY */
		if (r == -EINTR && t->kind == THREAD_USER && hooks.thread_signals)
			return r;
		if (r == -EINTR && family != AF_UNIX)
			return -EINPROGRESS;
		if ((r != -EAGAIN && r != -EINTR) || op->until <= sys_now())
			return r;
		err = r == -EINTR ? io_check(t) : io_pause(t, pause);
		if (err)
			return err;
		pause = MIN(pause * 2, 5 * NS_PER_MS);
	}
}

/* From the socket, not from the address, which the kernel may still refuse with
 * -EFAULT. */
static sa_family_t family_of(int fd)
{
	int family = AF_UNSPEC;
	uint32_t len = sizeof(family);

	sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &family, &len);
	return (sa_family_t)family;
}

/* After a failed attempt, with r as its error, for which no connect(2) of the kernel
 * waited: the kernel leaves the socket so that a reader sees it as shut down, and
 * aborts its next attempt. A connect(2) that waits would have reset the socket; so does
 * a connect to an address of no family. */
static void connect_undo(struct uk_thread *t, int fd, long r)
{
	static const struct sockaddr none = { .sa_family = AF_UNSPEC };
	struct tcp_info info = { 0 };
	uint32_t len = sizeof(info);

	if (r != -ECONNREFUSED && r != -ETIMEDOUT && r != -ECONNRESET &&
	    r != -EHOSTUNREACH && r != -ENETUNREACH)
		return;
	COUNT(t, syscalls);
	if (!sys5(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &info, &len) &&
	    info.tcpi_state == TCP_CLOSE)
		sys3(SYS_connect, fd, &none, sizeof(none));
}

static long connect_op(struct uk_thread *t, struct io_op *op,
		       const struct iovec *v UNUSED, size_t n UNUSED)
{
	int fd = op->fd;
	long r = io_check(t);

	if (r)
		return r;
	if (io_nonblock(t, fd))
		return at_once(t, op);
	op->until = io_limit(t, fd, POLLOUT);
	r = connect_start(t, op, family_of(fd), fd);
	if (r == -EINPROGRESS || r == -EALREADY)
		r = connect_result(t, op->fd, op->until);
	connect_undo(t, op->fd, r);
	if (unlikely(op->fd != fd))
		io_follow(&op->fd, fd, fd);
	return r;
}

int uk_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	struct io_op op = { .kind = IO_CONNECT,
			    .fd = fd,
			    .addr = addr,
			    .len = len,
			    .off = IO_CURRENT };

	return (int)io_make(connect_op, &op, NULL, 0);
}

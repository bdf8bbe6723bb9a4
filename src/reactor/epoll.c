/* SPDX-License-Identifier: Apache-2.0 */
/* The epoll engine: for kernels and containers that refuse io_uring.
 *
 * epoll reports readiness, but the contract promises completed operations; so the
 * engine makes the call itself (try.c). It runs inside the runtime and may never block.
 * Where no form of the call is sure not to block (a tty; accept and connect without
 * O_NONBLOCK), the op completes with REACTOR_READY, and its thread makes the blocking
 * call under a mark.
 *
 * Arming: an fd is armed, one-shot, for all events that its ops want, in the poll after
 * they were submitted. That is EPOLL_CTL_MOD if the last look found it registered, else
 * EPOLL_CTL_ADD, and the other one if the kernel answers ENOENT or EEXIST. So each time
 * the kernel looks up what the fd is now, and an fd that the program closed and
 * reopened without our knowledge costs a retry, not a hang. The event carries the fd
 * and a generation: a file that remains open under another fd (dup, fork) still reports
 * under the old fd, once, and that event is ignored.
 *
 * Rejected: a permanent edge-triggered registration (one system call less for each op):
 * only a system call can tell whether the registration still exists.
 */
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include "fd/fd.h"
#include "reactor/engine.h"
#include "reactor/hostile.h"
#include "reactor/probe.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define EVENTS 256
#define KICK_DATA (~UINT64_C(0))
/* Longer sleeps are split: the kernel allows itself a slack of 1/1000 of the
 * timeout. */
#define EXACT_SLEEP (5 * NS_PER_MS)

/* io_op.engine; op_begin sets the first */
enum { ENG_WAITS, ENG_FINISHED };

struct ep {
	int fd;
	int kick_fd; /* eventfd, edge-triggered: written, never read */
	bool pwait2;
	unsigned linked; /* ops in the fdtab: pending and not finished */
	/* fds to arm in the next poll, chained by dirty_next */
	int32_t dirty_head;
	struct opq done; /* finished, not yet returned */
	struct waker waker;
	struct epoll_event ev[EVENTS];
};

static struct ep *ep_of(const struct reactor *r)
{
	return r->priv;
}

/* -- completion of an op -- */

static void finish(struct reactor *r, struct io_op *op, int res)
{
	op->res = res;
	op->engine = ENG_FINISHED;
	opq_push(&ep_of(r)->done, op);
}

static void finish_linked(struct reactor *r, struct io_op *op, int res)
{
	fdtab_unlink(r->fds, op);
	ep_of(r)->linked--;
	finish(r, op, res);
}

/* -- arming -- */

static void mark_dirty(struct ep *ep, struct fdent *e, int fd)
{
	if (e->dirty)
		return;
	e->dirty = 1;
	e->dirty_next = ep->dirty_head;
	ep->dirty_head = fd;
}

static long ctl(struct reactor *r, int how, int fd, struct epoll_event *ev)
{
	bump(&r->count.syscalls, 1);
	return sys4(SYS_epoll_ctl, ep_of(r)->fd, how, fd, ev);
}

/* epoll cannot watch fd: complete its ops in another way. */
static void arm_failed(struct reactor *r, struct fdent *e, long err)
{
	list_each_safe(l, tmp, &e->ops)
	{
		struct io_op *op = container_of(l, struct io_op, link);
		uint32_t always =
		    op->len & (POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM);

		if (err == -EBADF)
			finish_linked(r, op, -EBADF);
		else if (err == -EPERM && op->kind == IO_POLL && always)
			/* a regular file is always ready */
			finish_linked(r, op, (int)always);
		else if (err == -EPERM && op->kind == IO_POLL)
			continue; /* no other event ever happens on such a file */
		else
			finish_linked(r, op, REACTOR_READY);
	}
}

static void arm(struct reactor *r, struct fdent *e, int fd)
{
	struct epoll_event ev = { .events = EPOLLONESHOT };
	long err;

	if (!e->n)
		return;
	list_each(l, &e->ops) ev.events |=
	    op_events(container_of(l, struct io_op, link));
	e->gen++;
	ev.data.u64 = (uint64_t)e->gen << 32 | (uint32_t)fd;
	err = ctl(r, e->known ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, fd, &ev);
	if (err == -ENOENT)
		err = ctl(r, EPOLL_CTL_ADD, fd, &ev);
	else if (err == -EEXIST)
		err = ctl(r, EPOLL_CTL_MOD, fd, &ev);
	e->known = err == 0;
	if (err)
		arm_failed(r, e, err);
}

static void arm_dirty(struct reactor *r)
{
	struct ep *ep = ep_of(r);

	while (ep->dirty_head >= 0) {
		int fd = ep->dirty_head;
		struct fdent *e = fdtab_find(r->fds, fd);

		ep->dirty_head = e->dirty_next;
		e->dirty = 0;
		arm(r, e, fd);
	}
}

/* -- events -- */

static void on_event(struct reactor *r, const struct epoll_event *ev)
{
	int fd = (int)(uint32_t)ev->data.u64;
	struct fdent *e;
	uint32_t blocked = 0;

	if (ev->data.u64 == KICK_DATA)
		return;
	e = fdtab_find(r->fds, fd);
	if (!e || e->gen != (uint32_t)(ev->data.u64 >> 32))
		return;
	list_each_safe(l, tmp, &e->ops)
	{
		struct io_op *op = container_of(l, struct io_op, link);
		uint32_t want = op_events(op);
		uint32_t hit = ev->events & (want | POLLERR | POLLHUP);
		long res;

		if (!hit || (op->kind != IO_POLL && (blocked & want)))
			continue;
		res = op->kind == IO_POLL ? (long)hit : op_try(r, op);
		if (res == -EAGAIN)
			blocked |= want; /* ops that want the same event need not try */
		else
			finish_linked(r, op, (int)res);
	}
	if (e->n)
		mark_dirty(ep_of(r), e, fd);
}

static long wait_once(struct reactor *r, int64_t ns)
{
	struct ep *ep = ep_of(r);
	struct timespec ts = sys_timespec(ns);
	int64_t ms = ns < 0 ? -1 : (ns + NS_PER_MS - 1) / NS_PER_MS;

	bump(&r->count.syscalls, 1);
	if (ns > 0 && ep->pwait2)
		return sysn(SYS_epoll_pwait2, ep->fd, ep->ev, EVENTS, &ts, NULL, 8);
	return sysn(SYS_epoll_pwait, ep->fd, ep->ev, EVENTS, MIN(ms, INT32_MAX), NULL,
		    8);
}

static long wait_events(struct reactor *r, int64_t ns)
{
	int64_t deadline;
	long n;

	if (ns <= EXACT_SLEEP)
		return wait_once(r, ns);
	deadline = sys_now() + ns;
	do {
		n = wait_once(r, ns > EXACT_SLEEP ? ns - ns / 512 : ns);
		if (n)
			return n;
		ns = deadline - sys_now();
	} while (ns > 0);
	return 0;
}

/* -- the contract -- */

static void ep_close(struct ep *ep)
{
	fd_drop(ep->fd);
	fd_drop(ep->kick_fd);
}

static int ep_open(struct ep *ep)
{
	struct epoll_event ev = { .events = EPOLLIN | EPOLLET, .data.u64 = KICK_DATA };
	long fd = sys1(SYS_epoll_create1, EPOLL_CLOEXEC), kick;
	int err;

	if (fd < 0)
		return (int)fd;
	kick = sys2(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (kick < 0) {
		sys1(SYS_close, fd);
		return (int)kick;
	}
	ep->fd = fd_move_high((int)fd);
	ep->kick_fd = fd_move_high((int)kick);
	ep->dirty_head = -1;
	ep->linked = 0;
	opq_init(&ep->done);
	store_relaxed(&ep->waker.word, WAKER_AWAKE);
	err = (int)sys4(SYS_epoll_ctl, ep->fd, EPOLL_CTL_ADD, ep->kick_fd, &ev);
	if (err)
		ep_close(ep);
	return err;
}

static int ep_init(struct reactor *r)
{
	struct ep *ep = os_map(sizeof(*ep));
	int err;

	if (!ep)
		return -ENOMEM;
	ep->pwait2 = probe_has(PROBE_EPOLL_PWAIT2);
	err = ep_open(ep);
	if (err < 0) {
		os_unmap(ep, sizeof(*ep));
		return err;
	}
	r->priv = ep;
	return 0;
}

static void ep_fini(struct reactor *r)
{
	ep_close(ep_of(r));
	os_unmap(r->priv, sizeof(struct ep));
	r->priv = NULL;
}

static int ep_take(struct reactor *r UNUSED, int fd UNUSED, void *buf UNUSED,
		   uint32_t len UNUSED)
{
	return -EAGAIN;
}

static bool ep_can(const struct reactor *r UNUSED, enum io_kind kind)
{
	switch (kind) {
	/* every form may block, unless the file has O_NONBLOCK */
	case IO_CONNECT:
	case IO_FSYNC:
	case IO_RECV_AHEAD:
	case IO_SEND_ZC:
	case IO_SENDMSG_ZC:
	case IO_LENT:
	case IO_SHOT:
	case IO_CALL:
	case IO_KINDS:
		return false;
	case IO_NOP:
	case IO_POLL:
	case IO_READ:
	case IO_WRITE:
	case IO_READV:
	case IO_WRITEV:
	case IO_RECV:
	case IO_SEND:
	case IO_RECVMSG:
	case IO_SENDMSG:
	case IO_ACCEPT:
		break;
	}
	return true;
}

/* The caller asks for -EAGAIN, as io_uring would return it. */
static bool asks_dontwait(const struct io_op *op)
{
	return op->kind >= IO_RECV && op->kind <= IO_SENDMSG &&
	       (op->flags & MSG_DONTWAIT);
}

/* Handles ops that need not or cannot wait. True: op is complete. */
static bool start_at_once(struct reactor *r, struct io_op *op)
{
	long res;

	if (op->kind == IO_NOP) {
		finish(r, op, 0);
		return true;
	}
	if (op->kind == IO_CONNECT && fd_nonblock(op->fd)) {
		r->count.syscalls += 2;
		res = sys3(SYS_connect, op->fd, op->addr, op->len);
		if (res == -EINPROGRESS || res == -EALREADY)
			return false;
		finish(r, op, (int)res);
		return true;
	}
	if (!ep_can(r, op->kind)) {
		finish(r, op, REACTOR_READY);
		return true;
	}
	if (asks_dontwait(op)) {
		finish(r, op, (int)op_try(r, op));
		return true;
	}
	return false;
}

static void ep_submit(struct reactor *r, struct io_op *op)
{
	struct ep *ep = ep_of(r);
	int err;

	op_begin(r, op);
	list_init(&op->link);
	bump(&r->count.sqes, 1);
	if (start_at_once(r, op))
		return;
	if (op->fd < 0) {
		finish(r, op, -EBADF);
		return;
	}
	if (hostile_eagain(op)) {
		finish(r, op, -EAGAIN);
		return;
	}
	err = fdtab_link(r->fds, op);
	if (err) {
		finish(r, op, err);
		return;
	}
	ep->linked++;
	mark_dirty(ep, fdtab_find(r->fds, op->fd), op->fd);
}

static void ep_cancel(struct reactor *r, struct io_op *op)
{
	dbg_assert(op->state != IO_IDLE);
	if (op->engine == ENG_FINISHED)
		return;
	bump(&r->count.cancels, 1);
	op->state = IO_CANCELING;
	finish_linked(r, op, op_cut_result(op));
}

static unsigned ep_cancel_fd(struct reactor *r, int fd, int keep)
{
	struct fdent *e = fdtab_find(r->fds, fd);
	unsigned n = 0;

	if (!e || !e->n)
		return 0;
	list_each_safe(l, tmp, &e->ops)
	{
		struct io_op *op = container_of(l, struct io_op, link);

		op_cut_by_fd(op, keep);
		ep_cancel(r, op);
		n++;
	}
	return n;
}

static struct io_op *take_done(struct reactor *r)
{
	struct io_op *all = opq_take_all(&ep_of(r)->done);

	for (struct io_op *op = all; op; op = op->next) {
		op->state = IO_DONE;
		r->pending--;
		bump(&r->count.cqes, 1);
	}
	return all;
}

static struct io_op *ep_poll(struct reactor *r, int64_t timeout_ns)
{
	struct ep *ep = ep_of(r);
	long n = 0;

	bump(&r->count.polls, 1);
	timeout_ns = MIN(timeout_ns, MAX_SLEEP);
	arm_dirty(r);
	if (ep->done.head || hostile_eintr())
		timeout_ns = 0;
	if (timeout_ns && waker_sleep(&ep->waker)) {
		bump(&r->count.waits, 1);
		n = wait_events(r, timeout_ns);
		waker_wake(&ep->waker);
	} else if (ep->linked) {
		n = wait_once(r, 0);
	}
	if (unlikely(n < 0 && n != -EINTR))
		uk_panic("epoll_wait: error %ld%s", n,
			 n == -EPERM || n == -ENOSYS || n == -EACCES
			     ? "; a seccomp filter installed after the start refuses it"
			     : "");
	for (long i = 0; i < n; i++)
		on_event(r, &ep->ev[i]);
	return take_done(r);
}

static void ep_kick(struct reactor *r)
{
	struct ep *ep = ep_of(r);
	uint64_t one = 1;

	if (waker_kick(&ep->waker))
		sys3(SYS_write, ep->kick_fd, &one, sizeof(one));
}

static void ep_fork_leave(struct reactor *r)
{
	struct ep *ep = ep_of(r);

	ep_close(ep);
	ep->fd = ep->kick_fd = -1;
}

static int ep_fork_child(struct reactor *r)
{
	struct ep *ep = ep_of(r);

	fdtab_reset(r->fds);
	r->pending = 0;
	return ep_open(ep);
}

const struct reactor_ops epoll_ops = {
	.name = "epoll",
	.init = ep_init,
	.fini = ep_fini,
	.can = ep_can,
	.submit = ep_submit,
	.take = ep_take,
	.cancel = ep_cancel,
	.cancel_fd = ep_cancel_fd,
	.poll = ep_poll,
	.kick = ep_kick,
	.fork_leave = ep_fork_leave,
	.fork_child = ep_fork_child,
};

/* SPDX-License-Identifier: Apache-2.0 */
/* Requests for which a light thread, a helper, makes the blocking call: those that no
 * reactor carries out, those whose memory is not resident, and those on names (stat,
 * open, rename). A ring would give these to the kernel's worker threads; to wake one and
 * to be told costs more than such a call, which seldom blocks. (Nor would it wait for
 * the other end of a FIFO.) An fsync stays in the ring: it does block, and a worker is
 * cheaper to block than a carrier. So does a write to a file, which only some file
 * systems leave to workers, one at a time for each file.
 *
 * The requests are in a queue of their group. A helper carries out one after the other,
 * without a switch. While any are left, another helper is ready to run. It takes over
 * when this one waits (as a user thread, or in the kernel, where the monitor takes its
 * vp away), when another vp is idle, and after IN_A_ROW chains, so that other threads of
 * the vp have their turn. So all requests of a group can wait at the same time.
 *
 * One helper runs all of a chain: its requests wait for nothing else, and complete in
 * the same way on all engines.
 *
 * Runs on the helper's stack, and inside the runtime only for the group's lock.
 *
 * Rejected: a helper for each request (1,400 more instructions by callgrind); another
 * helper only when one waits (nothing tells it that it waits in the kernel).
 */
#include "async/async.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include "io/io.h"
#include "uk/sync.h"
#include "uk/thread.h"
#include "uk/time.h"

#define IN_A_ROW 32u
#define HELPER_STACK (UK_CHECKS || UK_ASAN || UK_TSAN ? 256u << 10 : 32u << 10)

static void *unconst(const void *p)
{
	return (void *)(uintptr_t)p;
}

static ssize_t transfer(const uk_op *o)
{
	bool here = o->off == UK_OP_HERE;
	int n = (int)MIN(o->len, (size_t)INT32_MAX);

	switch (o->kind) {
	case UK_OP_READ:
		return here ? uk_read(o->fd, unconst(o->addr), o->len)
			    : uk_pread(o->fd, unconst(o->addr), o->len, o->off);
	case UK_OP_WRITE:
		return here ? uk_write(o->fd, o->addr, o->len)
			    : uk_pwrite(o->fd, o->addr, o->len, o->off);
	case UK_OP_READV:
		return here ? uk_readv(o->fd, o->addr, n)
			    : uk_preadv(o->fd, o->addr, n, o->off);
	default:
		return here ? uk_writev(o->fd, o->addr, n)
			    : uk_pwritev(o->fd, o->addr, n, o->off);
	}
}

static off_t *place(off_t *off)
{
	return *off == UK_OP_HERE ? NULL : off;
}

/* A blocking call reads its arguments in its caller's name, and a bad pointer is a
 * signal to the caller. Here there is none, so the arguments are checked first:
 * -EFAULT. */
static int64_t recv_message(const uk_op *o)
{
	const char *m = o->addr;

	if (!sys_readable(m) || !sys_readable(m + sizeof(struct msghdr) - 8))
		return -EFAULT;
	return uk_recvmsg(o->fd, unconst(m), (int)o->flags);
}

static int64_t wait_word(const uk_op *o)
{
	if (!sys_readable((void *)((uintptr_t)o->addr & ~(uintptr_t)7)))
		return -EFAULT;
	return uk_futex_wait(o->addr, (uint32_t)o->len, UK_FOREVER);
}

static int64_t call(const uk_op *o)
{
	int flags = (int)o->flags;
	off_t in = o->off2, out = o->off;

	switch (o->kind) {
	case UK_OP_NOP:
		return 0;
	case UK_OP_READ:
	case UK_OP_WRITE:
	case UK_OP_READV:
	case UK_OP_WRITEV:
		return transfer(o);
	case UK_OP_RECV:
		return uk_recv(o->fd, unconst(o->addr), o->len, flags);
	case UK_OP_SEND:
		return uk_send(o->fd, o->addr, o->len, flags | MSG_NOSIGNAL);
	case UK_OP_RECVMSG:
		return recv_message(o);
	case UK_OP_SENDMSG:
		return uk_sendmsg(o->fd, o->addr, flags | MSG_NOSIGNAL);
	case UK_OP_ACCEPT:
		return uk_accept4(o->fd, unconst(o->addr), o->addr2, flags);
	case UK_OP_CONNECT:
		return uk_connect(o->fd, o->addr, (socklen_t)o->len);
	case UK_OP_POLL:
		return uk_wait_fd(o->fd, flags, UK_FOREVER);
	case UK_OP_FSYNC:
		return flags & 1 ? uk_fdatasync(o->fd) : uk_fsync(o->fd);
	case UK_OP_OPENAT:
		return uk_openat(o->fd, o->addr, flags, (mode_t)o->len);
	case UK_OP_STATX:
		return io_syscall(SYS_statx, o->fd, SYS_ARG(o->addr), flags,
				  (long)o->len, SYS_ARG(o->addr2));
	case UK_OP_RENAME:
		return io_syscall(SYS_renameat2, o->fd, SYS_ARG(o->addr), o->fd2,
				  SYS_ARG(o->addr2), flags);
	case UK_OP_CLOSE:
		return uk_close(o->fd);
	case UK_OP_SPLICE:
		return uk_splice(o->fd2, place(&in), o->fd, place(&out), o->len,
				 o->flags);
	case UK_OP_FUTEX:
		return wait_word(o);
	default:
		return -EINVAL;
	}
}

/* Waits until the socket is connected, even if it is O_NONBLOCK. */
static int64_t connecting(const uk_op *o)
{
	uint32_t len = sizeof(int);
	int err = 0;
	int64_t r;

	while ((r = call(o)) ==
	       -EAGAIN) { /* a listener's queue is full: no event tells */
		r = uk_sleep(UK_MS);
		if (r < 0)
			return r;
	}
	if (r != -EINPROGRESS && r != -EALREADY)
		return r;
	r = uk_wait_fd(o->fd, POLLOUT, UK_FOREVER);
	if (r >= 0)
		r = io_syscall(SYS_getsockopt, o->fd, SOL_SOCKET, SO_ERROR,
			       SYS_ARG(&err), SYS_ARG(&len));
	return r < 0 ? r : -err;
}

static int64_t waiting(const uk_op *o)
{
	int64_t r;

	while ((r = call(o)) == -EAGAIN) {
		uint32_t events = what_events(o->kind, o->off);

		if (!events || what_dontwait(o->kind, o->flags))
			break;
		r = uk_wait_fd(o->fd, (int)events, UK_FOREVER);
		if (r < 0)
			break;
	}
	return r;
}

/* One of the fds is open for the other direction only, and so never ready. */
static bool ends_wrong(const uk_op *o)
{
	long in = io_syscall(SYS_fcntl, o->fd2, F_GETFL, 0, 0, 0);
	long out = io_syscall(SYS_fcntl, o->fd, F_GETFL, 0, 0, 0);

	return (in & O_ACCMODE) == O_WRONLY || (out & O_ACCMODE) == O_RDONLY;
}

/* Waits until one fd has data and the other has space, or the kernel reports an error
 * or a hang-up of one: then *hung. An fd that is ready stays in the poll, without
 * events: otherwise closing it would not end the wait. */
static int64_t both_ready(const uk_op *o, bool *hung)
{
	struct pollfd p[2] = { { o->fd2, POLLIN, 0 }, { o->fd, POLLOUT, 0 } };

	*hung = false;
	for (uk_time until = 0; p[0].events || p[1].events; until = UK_FOREVER) {
		int64_t r = uk_poll(p, 2, until);
		int seen = p[0].revents | p[1].revents;

		if (r < 0 && (until || r != -ETIMEDOUT))
			return r;
		if (seen & POLLNVAL)
			return -EBADF;
		*hung = seen & (POLLERR | POLLHUP);
		if (*hung)
			break;
		for (int i = 0; i < 2; i++)
			if (p[i].revents)
				p[i].events = 0;
		if (!until && (p[0].events || p[1].events) && ends_wrong(o))
			break; /* the call will return the error */
	}
	return 0;
}

/* Waits whether or not the fds are O_NONBLOCK. An fd that has hung up stays ready while
 * the other one is not, and the kernel may look at the other one first. Then the call
 * is repeated each millisecond, as uk_splice does. */
static int64_t splicing(const uk_op *o)
{
	bool waits = !(o->flags & SPLICE_F_NONBLOCK), hung = false;
	int64_t r;

	do {
		r = waits ? both_ready(o, &hung) : 0;
		if (r >= 0)
			r = call(o);
		if (r == -EAGAIN && hung) {
			int e = uk_sleep(UK_MS);

			r = e ? e : r;
		}
	} while (r == -EAGAIN && waits);
	return r;
}

static void unbind(const struct req *q, int n)
{
	if (n > 0)
		fd_unbind(q->what.fd);
	if (n > 1)
		fd_unbind(q->what.fd2);
}

/* True: the fds still mean the files of the submission, and keep that meaning until
 * unbind (fd/fd.c). */
static bool bind_to(const struct req *q, int n)
{
	if (n > 0 && !fd_bind(q->what.fd, q->life[0]))
		return false;
	if (n < 2 || fd_bind(q->what.fd2, q->life[1]))
		return true;
	unbind(q, 1);
	return false;
}

static int64_t on_files(struct req *q, struct io_op *loan)
{
	const uk_op *o = &q->what;
	int64_t r;

	if (o->deadline != UK_FOREVER)
		uk_thread_set_deadline(o->deadline);
	if (loan)
		r = lend_send(o, loan, waiting);
	else if (stream_wanted(o))
		r = stream_run(q, waiting);
	else if (o->kind == UK_OP_CONNECT)
		r = connecting(o);
	else if (o->kind == UK_OP_SPLICE)
		r = splicing(o);
	else
		r = waiting(o);
	if (o->deadline != UK_FOREVER)
		uk_thread_set_deadline(UK_FOREVER);
	return r;
}

/* q is bound to its fd. */
static int64_t lending(struct req *q)
{
	struct io_op loan = { .lends = 0 };
	int64_t r = on_files(q, &loan);

	unbind(q, 1);
	return lend_over(q, &loan, r);
}

static int64_t run(struct req *q)
{
	const uk_op *o = &q->what;
	int n = what_files(o);
	int64_t r;

	if (!what_known(o) || (q->frees && !lend_possible(o)))
		return -EINVAL;
	if (o->kind == UK_OP_TIMEOUT)
		return stream_wanted(o) ? -EINVAL : uk_sleep_until(o->deadline);
	if (!bind_to(q, n))
		return -EBADF;
	if (o->kind == UK_OP_CLOSE) { /* it waits for all that are bound */
		unbind(q, n);
		return on_files(q, NULL);
	}
	if (q->frees)
		return lending(q);
	r = on_files(q, NULL);
	unbind(q, n);
	return r;
}

/* -- the queue -- */

void helper_push(struct uk_group *g, struct req *chain)
{
	chain->next = NULL;
	*g->queue_tail = chain;
	g->queue_tail = &chain->next;
}

static struct req *pop(struct uk_group *g)
{
	struct req *chain = g->queue;

	if (!chain)
		return NULL;
	g->queue = chain->next;
	if (!g->queue)
		g->queue_tail = &g->queue;
	return chain;
}

/* Under the lock. */
static void end(struct req *q, int64_t res, struct group_wake *w)
{
	q->helper = NULL;
	q->res = res;
	q->state = REQ_ENDED;
	group_ended(q->group, q, q, 1, w);
}

struct work {
	struct req *now;
	int64_t res;   /* of now, when it has been run */
	unsigned left; /* how many more chains this helper takes */
};

/* Under the lock: now has ended. What is next? *go: it is to be run. */
static struct req *choose(struct uk_group *g, struct work *w, bool *go,
			  struct group_wake *wake)
{
	struct req *q = NULL;

	*go = true;
	if (w->now) {
		q = w->now->linked;
		*go = !q || w->res >= 0;
		end(w->now, w->res, wake);
		if (unlikely(w->now->asked))
			uk_thread_cancel_clear(); /* it was not meant for the next one */
	} else {
		g->coming = false;
	}
	if (!q && w->left && (q = pop(g)))
		w->left--;
	*go &= q && !q->asked;
	return q;
}

/* Ends what has been run, and takes what is to be run next. False: the helper has left
 * the group. */
static bool step(struct uk_group *g, struct work *w)
{
	struct uk_thread *t = rt_enter();
	struct group_wake wake = { 0 };
	bool go, another = false;

	group_lock(g);
	w->now = choose(g, w, &go, &wake);
	w->res = -ECANCELED;
	if (w->now) {
		if (go)
			w->now->helper = t;
		another = helper_wanted(g);
		lock_release(&g->lock);
	} else {
		g->helpers--;
		group_left(g);
	}
	group_fire(&wake);
	if (another)
		helper_start(g);
	rt_exit();
	return w->now;
}

static void *helper(void *arg)
{
	struct work w = { .left = IN_A_ROW };

	while (step(arg, &w))
		if (w.now->helper)
			w.res = run(w.now);
	return NULL;
}

int helper_thread(uk_thread **out, const char *name, void *(*body)(void *), void *arg)
{
	uk_thread_attr a = { .flags = UK_THREAD_LIGHT | UK_THREAD_NOWAIT |
				      (out ? 0 : UK_THREAD_DETACHED),
			     .stack_size = HELPER_STACK,
			     .name = name };

	return uk_thread_create(out, &a, body, arg);
}

void helper_end(uk_thread *t)
{
	uk_time deadline = uk_thread_set_deadline(UK_FOREVER);
	bool cancelled = false;

	uk_thread_cancel(t);
	while (uk_thread_join(t, NULL) == -ECANCELED)
		cancelled |= uk_thread_cancel_clear();
	if (cancelled)
		uk_thread_cancel(uk_thread_self());
	uk_thread_set_deadline(deadline);
}

void helper_fail(struct req *q, int r)
{
	for (struct req *next; q; q = next) {
		struct uk_group *g = q->group;
		struct group_wake w;

		next = q->linked;
		group_lock(g);
		end(q, r, &w);
		lock_release(&g->lock);
		group_fire(&w);
		r = -ECANCELED;
	}
}

void helper_start(struct uk_group *g)
{
	int r = helper_thread(NULL, "async", helper, g);
	struct req *q;

	if (likely(!r))
		return;
	/* helpers that run now may all wait for one of these */
	group_lock(g);
	while ((q = pop(g))) {
		lock_release(&g->lock);
		helper_fail(q, r);
		group_lock(g);
	}
	g->coming = false;
	g->helpers--;
	group_left(g);
}

void helper_give(struct uk_group *g, struct req *chain)
{
	bool wanted;

	group_lock(g);
	helper_push(g, chain);
	wanted = helper_wanted(g);
	lock_release(&g->lock);
	if (wanted)
		helper_start(g);
}

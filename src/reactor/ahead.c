/* SPDX-License-Identifier: Apache-2.0 */
/* Receiving ahead: bytes that arrive on a stream socket are received before a thread
 * asks for them.
 *
 * A receive that is submitted, waits and completes makes the kernel set up and tear
 * down a poll each time. Here one operation for each stream, the "shot" (a multishot
 * receive; the kernel chooses buffers from a ring that we provide), stays armed and
 * posts a completion whenever bytes arrive. The bytes go straight to the op that waits
 * (U_AHEAD), or are held in their buffers until one comes. Like everything in a
 * reactor, this is touched by the owner only. A stream lives in one reactor (chosen in
 * sched/io.c), so the order of the completions is the order of the bytes.
 *
 *   shot   IDLE/DONE --arm--> PENDING --bytes, more to come--> PENDING
 *          PENDING --error, end of stream, no buffers, refused--> DONE
 *          PENDING --pause, close--> CANCELING --> DONE
 *
 *   why a shot ends      what the waiters get              then
 *   end of stream        0                                 the next op arms it again
 *   -ENOBUFS             it is armed again; if most        the same
 *                        buffers are held: a receive
 *                        of their own
 *   pause                (no waiters, or armed again)
 *   refused              a receive of their own            always so on this stream
 *   error                the error; kept if none waits
 *   close                -EBADF                            the cell is free
 *   -EBADF: fd not open  the same                          the same
 *
 * A shot is paused in two cases. One: HOLD_MAX buffers of its stream are unread. So a
 * stream that no thread reads holds 32 KiB, and the peer sees the window close. Two:
 * the kernel thread that armed it no longer polls this ring. Its completions run in
 * that thread's context and would wake it each time.
 *
 * Rejected: a multishot poll, which holds no bytes (the receive is a system call
 * again); a buffer ring for each stream (memory for each idle connection).
 */
#include <string.h>

#include "reactor/bufs.h"
#include "reactor/hostile.h"
#include "reactor/uring_impl.h"

#define HOLD_MAX 16u
#define CELLS_BYTES 16384u /* allocated at a time; whole pages */

struct ahead {
	struct io_op shot; /* IO_SHOT; first member: completions find the cell by it */
	struct opq waiters;
	struct list rearm;  /* in pool->rearm, or in no list */
	struct ahead *next; /* in the free list */
	int fd;
	int err;      /* for the next receive */
	uint32_t gen; /* poller_gen when it was armed */
	struct held held;
	bool refused;
};

struct ahead_pool {
	struct bufs *bufs;
	struct ahead *free;
	struct list rearm; /* shots that ended with waiters; the next poll arms them */
};

static struct ahead_pool *pool_make(struct uring *u)
{
	struct ahead_pool *p = os_map(sizeof(*p));

	if (!p)
		return NULL;
	list_init(&p->rearm);
	u->pool = p;
	p->bufs = bufs_make(u->fd);
	if (p->bufs)
		return p;
	ahead_fini(u);
	u->no_ahead = true;
	return NULL;
}

/* The cells are never unmapped: a vp lives as long as the program. */
void ahead_fini(struct uring *u)
{
	struct ahead_pool *p = u->pool;

	if (!p)
		return;
	bufs_drop(p->bufs);
	os_unmap(p, sizeof(*p));
	u->pool = NULL;
}

/* -- cells -- */

static struct ahead *cell_of(struct reactor *r, int fd)
{
	struct fdent *e = fdtab_find(r->fds, fd);

	return e ? e->ahead : NULL;
}

static struct ahead *cell_make(struct reactor *r, int fd)
{
	struct uring *u = ring_of(r);
	struct ahead_pool *p = u->pool;
	struct fdent *e = fdtab_find(r->fds, fd); /* exists, because the op is linked */
	struct ahead *a;

	if (!p && (u->no_ahead || !(p = pool_make(u))))
		return NULL;
	if (!p->free) {
		struct ahead *all = os_map(CELLS_BYTES);

		if (!all)
			return NULL;
		for (unsigned i = 0; i < CELLS_BYTES / sizeof(*all); i++) {
			all[i].next = p->free;
			p->free = &all[i];
		}
	}
	a = p->free;
	p->free = a->next;
	*a = (struct ahead){ .fd = fd };
	opq_init(&a->waiters);
	list_init(&a->rearm);
	e->ahead = a;
	store_relaxed(&e->n, e->n + 1); /* so that closers find it by fdtab_peek */
	return a;
}

static void cell_free(struct reactor *r, struct ahead *a)
{
	struct ahead_pool *p = ring_of(r)->pool;
	struct fdent *e = fdtab_find(r->fds, a->fd);

	bufs_forget(p->bufs, &a->held);
	list_del(&a->rearm);
	list_init(&a->rearm);
	e->ahead = NULL;
	store_relaxed(&e->n, e->n - 1);
	ring_of(r)->news = true;
	a->next = p->free;
	p->free = a;
}

/* -- the shot -- */

static bool in_kernel(const struct ahead *a)
{
	return a->shot.state == IO_PENDING || a->shot.state == IO_CANCELING;
}

static void arm(struct reactor *r, struct ahead *a)
{
	struct io_op *op = &a->shot;

	*op = (struct io_op){
		.kind = IO_SHOT, .state = IO_PENDING, .fd = a->fd, .home = r
	};
	a->gen = ring_of(r)->poller_gen;
	r->pending++;
	bump(&r->count.sqes, 1);
	fdtab_link(r->fds, op); /* cannot fail: the entry of fd exists */
	uring_queue(r, op);
}

static void pause_shot(struct reactor *r, struct ahead *a)
{
	dbg_assert(!(a->shot.engine & U_BACKLOG)); /* its completions come */
	uring_begin_cancel(r, &a->shot);
}

static struct io_op *pop_waiter(struct ahead *a)
{
	struct io_op *op = a->waiters.head;

	if (op)
		opq_remove(&a->waiters, op);
	return op;
}

/* Make it a receive of its own, without the shot. */
static void go_alone(struct reactor *r, struct io_op *op)
{
	op->kind = IO_RECV;
	op->engine = 0;
	uring_queue(r, op);
}

/* Bytes have arrived. They go to the waiters in order, and the rest is held. So either
 * bytes are held or threads wait, never both. */
static void arrived(struct reactor *r, struct ahead *a, uint16_t bid, uint16_t n)
{
	struct bufs *b = ring_of(r)->pool->bufs;
	const char *from = bufs_data(b, bid);
	struct io_op *op;
	uint16_t k = 0;

	while (k < n && !a->held.n && (op = pop_waiter(a))) {
		uint32_t m = hostile_len(op);

		m = MIN(m, (uint32_t)(n - k));
		memcpy((void *)(uintptr_t)op->addr, from + k, m);
		uring_finish(r, op, (int)m);
		k = (uint16_t)(k + m);
	}
	if (likely(k == n))
		bufs_give(b, bid);
	else
		bufs_hold(b, &a->held, bid, n, k);
	if (a->held.n >= HOLD_MAX || a->gen != ring_of(r)->poller_gen)
		pause_shot(r, a);
}

void ahead_data(struct reactor *r, struct io_op *op, const struct uring_cqe *cqe)
{
	struct ahead *a = container_of(op, struct ahead, shot);
	uint16_t bid = (uint16_t)(cqe->flags >> URING_CQE_BUFFER_SHIFT);

	if (!(cqe->flags & URING_CQE_F_BUFFER))
		return;
	if (cqe->res > 0)
		arrived(r, a, bid, (uint16_t)cqe->res);
	else
		bufs_give(ring_of(r)->pool->bufs, bid);
}

/* A stream found no free buffer. False: at least half of the buffers are held for
 * streams that have not read them. True: buffers will be free soon, because most of the
 * others are in completions not taken yet; if those are at least half, more buffers are
 * added. */
static bool find_bufs(const struct uring *u)
{
	struct bufs *b = u->pool->bufs;

	if (bufs_out(b) >= bufs_all(b) / 2)
		return false;
	if (uring_untaken(u) >= bufs_all(b) / 2)
		bufs_more(b);
	return true;
}

void ahead_ended(struct reactor *r, struct io_op *shot, int res)
{
	struct ahead *a = container_of(shot, struct ahead, shot);
	struct ahead_pool *p = ring_of(r)->pool;
	struct io_op *op;

	shot->state = IO_DONE;
	r->pending--;
	fdtab_unlink(r->fds, shot);
	switch (shot->ebadf ? -EBADF : res) {
	/* the fd is not open any more: later receives fail likewise */
	case -EBADF:
		while ((op = pop_waiter(a)))
			uring_finish(r, op, -EBADF);
		cell_free(r, a);
		return;
	case 0:
		while ((op = pop_waiter(a)))
			uring_finish(r, op, 0);
		break;
	case -EINVAL:
	case -EOPNOTSUPP:
		a->refused = true;
		/* fall through */
	case -EAGAIN:
	case -ENOBUFS:
		if (res == -ENOBUFS && find_bufs(ring_of(r)))
			break;
		while ((op = pop_waiter(a)))
			go_alone(r, op);
		break;
	default:
		if (res >= 0 || res == -ECANCELED)
			break;
		op = pop_waiter(a);
		if (op)
			uring_finish(r, op, res);
		else
			a->err = res;
	}
	/* not now: completions that are not taken yet return buffers */
	if (a->waiters.head)
		list_push_back(&p->rearm, &a->rearm);
}

bool ahead_rearm_due(const struct uring *u)
{
	return u->pool && !list_empty(&u->pool->rearm);
}

void ahead_rearm(struct reactor *r)
{
	struct ahead_pool *p = ring_of(r)->pool;
	struct list *l, all;

	list_init(&all);
	list_splice_back(&all, &p->rearm);
	while ((l = list_pop_front(&all))) {
		struct ahead *a = container_of(l, struct ahead, rearm);

		list_init(l);
		if (a->waiters.head && !in_kernel(a))
			arm(r, a);
	}
}

/* -- the engine's side -- */

int ahead_take(struct reactor *r, int fd, void *buf, uint32_t len)
{
	struct ahead *a = cell_of(r, fd);
	int err;

	if (!a)
		return -EAGAIN;
	if (a->held.n)
		return len ? (int)bufs_copy(ring_of(r)->pool->bufs, &a->held, buf, len)
			   : 0;
	err = a->err;
	a->err = 0;
	return err ? err : -EAGAIN;
}

void ahead_submit(struct reactor *r, struct io_op *op)
{
	struct ahead *a = cell_of(r, op->fd);
	int res;

	if (!a)
		a = cell_make(r, op->fd);
	if (!a || a->refused || !op->len) {
		go_alone(r, op);
		return;
	}
	if (unlikely(in_kernel(a) && a->shot.ebadf)) {
		uring_finish(r, op, -EBADF); /* fd is being closed */
		return;
	}
	res = ahead_take(r, op->fd, (void *)(uintptr_t)op->addr, op->len);
	if (res != -EAGAIN) {
		uring_finish(r, op, res);
		return;
	}
	op->engine = U_AHEAD;
	opq_push(&a->waiters, op);
	if (!in_kernel(a) && list_empty(&a->rearm))
		arm(r, a);
}

void ahead_leave(struct reactor *r, struct io_op *op)
{
	opq_remove(&cell_of(r, op->fd)->waiters, op);
}

void ahead_drop(struct reactor *r, int fd)
{
	struct ahead *a = cell_of(r, fd);

	if (a && !in_kernel(a))
		cell_free(r, a);
}

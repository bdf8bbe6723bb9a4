/* SPDX-License-Identifier: Apache-2.0 */
/* Receiving ahead: what a stream socket brings is taken before anybody asks for it.
 *
 * A receive that is submitted, waits and ends costs the kernel a poll that is set up and
 * torn down each time. Here one operation per stream (the "shot": multishot, buffers chosen
 * by the kernel from a ring that we provide) stays armed and posts a completion whenever
 * bytes arrive. They go straight to the op that waits (U_AHEAD), or are held in their
 * buffers until one comes. The owner's alone, like everything in a reactor; a stream lives
 * in one reactor (sched/io.c says which), so the order of the bytes is the order of the
 * completions.
 *
 *   shot   IDLE/DONE --arm--> PENDING --bytes, more to come--> PENDING
 *          PENDING --error, end of stream, no buffers, refused--> DONE
 *          PENDING --pause, close--> CANCELING --> DONE
 *
 *   why a shot ends        what the waiters get             then
 *   end of stream          0                                armed anew by the next op
 *   -ENOBUFS               armed again; if most buffers     the same
 *                          are held: a receive of their own
 *   pause                  (there are none, or armed again)
 *   refused                a receive of their own           always so on this stream
 *   error                  the error; held if nobody waits
 *   close                  -EBADF                           the cell is free
 *   -EBADF: nobody's number the same                        the same
 *
 * A shot is paused when HOLD_MAX buffers of its stream wait unread (so a stream that nobody
 * reads holds 32 KiB and the peer feels the window close), and when the kernel thread that
 * armed it no longer polls this ring: its completions run in that thread's context and would
 * wake it each time.
 *
 * Rejected: waiting for the shot's completions without holding bytes (a multishot poll):
 * the receive is a system call again. A buffer ring per stream: memory per idle connection.
 */
#include <string.h>

#include "event/bufs.h"
#include "event/hostile.h"
#include "event/uring_impl.h"

#define HOLD_MAX 16u
#define CELLS_BYTES 16384u /* made at a time; whole pages */

struct ahead {
	struct io_op shot; /* IO_SHOT; first: completions find the cell */
	struct opq waiters;
	struct list rearm;  /* in pool->rearm, or alone */
	struct ahead *next; /* free */
	int fd;
	int err;      /* to be told to the next one */
	uint32_t gen; /* of the poller that armed it */
	struct held held;
	bool refused;
};

struct ahead_pool {
	struct bufs *bufs;
	struct ahead *free;
	struct list rearm; /* ended with waiters; armed by the next poll */
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

/* Cells are leaked with their pages' mapping: a vp lives as long as the program. */
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
	struct fdent *e = fdtab_find(r->fds, fd); /* there: the op is linked */
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
	store_relaxed(&e->n, e->n + 1); /* closers shall ask us */
	return a;
}

/* shot.engine stays: a cancel that is being queued looks at it once more. */
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
	fdtab_link(r->fds, op); /* the table has a place for this fd */
	uring_queue(r, op);
}

static void pause_shot(struct reactor *r, struct ahead *a)
{
	uring_cancel(r, &a->shot);
}

static struct io_op *pop_waiter(struct ahead *a)
{
	struct io_op *op = a->waiters.head;

	if (op)
		opq_remove(&a->waiters, op);
	return op;
}

/* Without us: a receive of its own. */
static void go_alone(struct reactor *r, struct io_op *op)
{
	op->kind = IO_RECV;
	op->engine = 0;
	uring_queue(r, op);
}

/* Bytes have come: to those who wait, in turn; what is left of them is held. So bytes are
 * held or threads wait, never both. */
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

/* None was left for somebody. True: there are again, or will be in a moment: most of them only
 * wait to be taken, and there are more if so many wait. */
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
	switch (shot->ebadf ? -EBADF : res) {
	case -EBADF: /* there is no such stream any more; who comes now comes too late */
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
	/* not now: somebody may be about to cancel the shot that has just ended */
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
		uring_finish(r, op, -EBADF); /* it is being closed */
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

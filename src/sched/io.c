/* SPDX-License-Identifier: Apache-2.0 */
/* io.c - submit an operation and park until it is done; cancel operations.
 *
 * The op lives on the parked thread's stack, and the kernel may write into its buffers
 * until the reactor has returned it. So a thread that times out or is cancelled cancels
 * the op and waits for its completion:
 *
 *   op->token   tok    --dispatcher, done--> 0, fires tok
 *               tok    --waiter, timed out--> ORPHAN
 *               ORPHAN --dispatcher, done--> 0, fires nobody
 *               ORPHAN --waiter, after the cancel was delivered--> tok2
 *               tok2   --dispatcher, done--> 0, fires tok2
 *
 * Several ops may carry one token (sched_io_any): the first that is done fires it, the
 * others fire nobody, and the waiter gets them back in the same way.
 *
 * The op may be pending in another vp's reactor than the one we run on now (we were
 * stolen, or it is a reactive vp's): then requests travel as messages to that vp's
 * dispatcher. Or the op may still be on its way there, in a MSG_SUBMIT that has not
 * been read: then its state is IO_IDLE, and the reactor does not know it and could not
 * cancel it. So the cancel is a message, too, which is read after that one, even if the
 * vp is ours by now. Modelled in tests/model/op.pml.
 *
 * A stream that is received ahead (reactor/ahead.c) lives in one reactor, so that its
 * bytes stay in order. The fd's state (fd/fd.h) says in which:
 *
 *   0         --sched_ahead_begin--> UNPLACED
 *   UNPLACED  --the first receive--> 2 + id of the vp      (CAS; later ones go there)
 *   any       --sched_ahead_end, before the fd is free--> 0
 *
 * A thread that was stolen submits to its stream's vp and wakes there, so it moves back
 * by itself.
 */
#include "base/log.h"
#include "sched/vp.h"

static struct uk_vp *vp_for(struct uk_vp *vp, enum io_class c)
{
	struct uk_vp *r = c == IO_CLASS_NET ? vp->set->net : vp->set->io;

	return likely(!r) ? vp : r;
}

bool sched_io_can(struct uk_thread *t, enum io_kind kind, enum io_class c)
{
	struct uk_vp *vp;

	if (t->kind != THREAD_USER)
		return false;
	vp = vp_for(t->carrier->vp, c);
	return vp->reactor.ops->can(&vp->reactor, kind);
}

bool sched_io_served(const struct uk_thread *t)
{
	return t->kind == THREAD_USER && t->carrier->vp->reactor.served &&
	       !load_relaxed(&reactor_other_ids);
}

/* Asks vp to do something and parks until it is done. */
static void ask(struct uk_thread *t, struct uk_vp *vp, struct vp_msg *m)
{
	m->thread = t;
	m->token = wait_begin_uncancelable(t, WAIT_CLOSE, NULL);
	vp_post(vp, m);
	wait_park(t, m->token, TIME_NEVER);
}

/* Takes our token off op, so that its completion fires no thread. False: it was done
 * meanwhile. */
static bool orphan(struct io_op *op, uint64_t tok)
{
	return cas_acq_rel(&op->token, &tok, OP_ORPHAN);
}

/* Waits until an op that nobody waits for, and that was cancelled, is done. */
static void wait_orphan(struct uk_thread *t, struct io_op *op)
{
	uint64_t tok = wait_begin_uncancelable(t, WAIT_IO, NULL), old = OP_ORPHAN;
	unsigned why;

	store_relaxed(&t->wfd, op->fd);
	if (cas_acq_rel(&op->token, &old, tok))
		wait_park(t, tok, TIME_NEVER);
	else
		wait_abandon(t, tok, &why);
}

/* The wait ended before all of op[0..n) were done: gets them back from the kernel. They
 * were submitted together. */
static void retrieve(struct uk_thread *t, struct io_op *op, unsigned n,
		     struct uk_vp *home, uint64_t tok)
{
	struct vp_msg m = { .kind = MSG_CANCEL, .op = op, .n = n };
	unsigned left = 0;

	for (unsigned i = 0; i < n; i++)
		left += orphan(&op[i], tok);
	if (!left)
		return;
	COUNT(t, io_cancels);
	/* state is the owner's, and we are the owner; IO_IDLE: the submission is still
	 * in the vp's messages */
	if (home == t->carrier->vp && op->state != IO_IDLE) {
		for (unsigned i = 0; i < n; i++)
			if (load_relaxed(&op[i].token))
				home->reactor.ops->cancel(&home->reactor, &op[i]);
	} else {
		ask(t, home, &m);
	}
	for (unsigned i = 0; i < n; i++)
		if (load_acquire(&op[i].token))
			wait_orphan(t, &op[i]);
}

/* While an op is on its way, a closer does not find it in a reactor's fd table. So it
 * looks at the count. */
static void post_submits(struct uk_vp *home, struct vp_msg *newest,
			 struct vp_msg *oldest, unsigned n)
{
	fetch_add_seq_cst(&home->submits, n); /* pairs with sched_io_cancel_fd */
	vp_post_all(home, newest, oldest);
}

static void post_submit(struct uk_vp *home, struct vp_msg *m)
{
	post_submits(home, m, m, 1);
}

/* Submits op[0..n) to home, and parks until one is done or until the deadline. Then it
 * gets the others back. Returns the reason of the wake-up. */
static unsigned submit_all(struct uk_thread *t, struct io_op *op, unsigned n,
			   struct uk_vp *home, int64_t deadline)
{
	struct uk_vp *here = t->carrier->vp;
	struct vp_msg m = { .kind = MSG_SUBMIT, .op = op, .n = n };
	uint64_t tok = wait_begin(t, WAIT_IO, NULL);
	unsigned why;

	store_relaxed(&t->wfd, op->fd);
	for (unsigned i = 0; i < n; i++) {
		fd_named(op[i].fd);
		op[i].thread = t;
		op[i].token = tok;
		op[i].state = IO_IDLE;
	}
	bump(&here->count.io_parked, 1);
	if (likely(home == here)) {
		for (unsigned i = 0; i < n; i++)
			home->reactor.ops->submit(&home->reactor, &op[i]);
	} else {
		post_submit(home, &m);
	}
	why = wait_park(t, tok, deadline);
	if (unlikely(why != WAKE_OK || n > 1))
		retrieve(t, op, n, home, tok);
	return why;
}

/* Submits op to home and parks. */
static int submit_to(struct uk_thread *t, struct io_op *op, struct uk_vp *home,
		     int64_t deadline)
{
	unsigned why = submit_all(t, op, 1, home, deadline);

	if (unlikely(why != WAKE_OK) && op->res == -ECANCELED)
		return wake_error(why);
	return unlikely(op->res == REACTOR_ANEW) ? -EAGAIN : op->res;
}

int sched_io_any(struct uk_thread *t, struct io_op *op, unsigned n, enum io_class c,
		 int64_t deadline)
{
	return wake_error(submit_all(t, op, n, vp_for(t->carrier->vp, c), deadline));
}

int sched_io(struct uk_thread *t, struct io_op *op, enum io_class c, int64_t deadline)
{
	return submit_to(t, op, vp_for(t->carrier->vp, c), deadline);
}

bool sched_io_dense(const struct uk_thread *t)
{
	const struct uk_vp *vp;

	if (t->kind != THREAD_USER)
		return false;
	vp = t->carrier->vp;
	return vp->dense && !vp->set->net;
}

/* Submits op to our own reactor, where it is done soon, and parks. */
static int submit_here(struct uk_thread *t, struct io_op *op,
		       void (*submit)(struct reactor *r, struct io_op *op))
{
	struct uk_vp *here = t->carrier->vp;
	uint64_t tok = wait_begin_uncancelable(t, WAIT_IO, NULL);

	store_relaxed(&t->wfd, op->fd);
	op->thread = t;
	op->token = tok;
	op->state = IO_IDLE;
	bump(&here->count.io_parked, 1);
	submit(&here->reactor, op);
	wait_park(t, tok, TIME_NEVER);
	return op->res;
}

int sched_io_soon(struct uk_thread *t, struct io_op *op)
{
	return submit_here(t, op, t->carrier->vp->reactor.ops->submit);
}

bool sched_io_may_be_late(const struct uk_thread *t)
{
	struct uk_vp *vp;
	const struct reactor *r;

	if (t->kind != THREAD_USER)
		return false;
	vp = t->carrier->vp;
	r = &vp->reactor;
	return vp_for(vp, IO_CLASS_NET) == vp && !r->served &&
	       !(r->ops->together && vp_has_work(vp));
}

int sched_io_late(struct uk_thread *t, struct io_op *op)
{
	fd_named(op->fd);
	return submit_here(t, op, reactor_submit_late);
}

void sched_io_lent(struct uk_thread *t, struct io_op *op)
{
	struct uk_vp *home;
	struct vp_msg m = { .kind = MSG_SUBMIT, .op = op, .n = 1 };

	/* acquire: the reactor does not touch op after it has written 0 */
	if (!load_acquire(&op->lends))
		return;
	home = container_of(op->home, struct uk_vp, reactor);
	op->kind = IO_LENT;
	op->state = IO_IDLE;
	op->thread = t;
	op->token = wait_begin_uncancelable(t, WAIT_IO, NULL);
	m.token = op->token;
	if (home == t->carrier->vp)
		home->reactor.ops->submit(&home->reactor, op);
	else
		post_submit(home, &m);
	wait_park(t, m.token, TIME_NEVER);
}

/* -- operations of a sink -- */

struct uk_vp *sched_io_home(struct uk_thread *t, enum io_kind kind, enum io_class c)
{
	struct uk_vp *vp =
	    t->kind == THREAD_USER ? t->carrier->vp : vpset_next(vpset_default);
	const struct reactor *r;

	vp = vp_for(vp, c);
	r = &vp->reactor;
	return r->ops->collect && r->ops->can(r, kind) ? vp : NULL;
}

void sched_io_sent(struct io_parcel *p)
{
	if (p->n)
		post_submits(p->home, p->newest, p->oldest, p->n);
	p->n = 0;
}

static void put_in(struct io_parcel *p, struct vp_msg *m, struct uk_vp *home)
{
	if (p->n && p->home != home)
		sched_io_sent(p);
	m->next = p->newest;
	p->newest = m;
	if (!p->n++) {
		p->oldest = m;
		p->home = home;
	}
}

void sched_io_send(struct uk_thread *t, struct io_op *op, struct vp_msg *m,
		   struct uk_vp *home, struct io_parcel *p)
{
	fd_named(op->fd);
	op->state = IO_IDLE;
	op->token = OP_SINK;
	if (likely(t->kind == THREAD_USER && home == t->carrier->vp)) {
		bump(&home->count.io_parked, 1);
		home->reactor.ops->submit(&home->reactor, op);
		return;
	}
	COUNT(t, io_parked);
	*m = (struct vp_msg){ .kind = MSG_SUBMIT, .op = op, .n = 1 };
	put_in(p, m, home);
}

void sched_io_again(struct io_op *op, struct reactor *r)
{
	op->token = OP_SINK;
	r->ops->submit(r, op);
}

void sched_io_cancel(struct uk_thread *t, struct io_op *op, struct uk_vp *home)
{
	struct vp_msg m = { .kind = MSG_CANCEL, .op = op, .n = 1 };

	COUNT(t, io_cancels);
	if (t->kind != THREAD_USER || home != t->carrier->vp || op->state == IO_IDLE)
		ask(t, home, &m);
	else if (op->token)
		home->reactor.ops->cancel(&home->reactor, op);
}

#define UNPLACED ((uint16_t)1)

void sched_ahead_begin(int fd)
{
	struct fd_state *s = fd_at(fd);
	uint16_t none = 0;

	if (s)
		cas_acq_rel(&s->ahead, &none, UNPLACED);
}

void sched_ahead_end(int fd)
{
	if (fd_is_ahead(fd))
		store_release(&fd_peek(fd)->ahead, (uint16_t)0);
}

int sched_recv_ahead(struct uk_thread *t, struct io_op *op, int64_t deadline)
{
	struct uk_vp *here = t->carrier->vp, *home = vp_for(here, IO_CLASS_NET);
	uint16_t *word = &fd_peek(op->fd)->ahead, at = load_acquire(word);

	if (unlikely(at == UNPLACED) &&
	    cas_acq_rel(word, &at, (uint16_t)(home->id + 2)))
		at = (uint16_t)(home->id + 2);
	if (unlikely(at <= UNPLACED)) /* closed meanwhile */
		return -EBADF;
	home = vp_all[at - 2];
	if (likely(home == here)) {
		int r = home->reactor.ops->take(&home->reactor, op->fd,
						(void *)(uintptr_t)op->addr, op->len);

		if (r != -EAGAIN) {
			COUNT(t, io_inline);
			return r;
		}
	}
	return submit_to(t, op, home, deadline);
}

/* The count is read first: if it says that all have arrived, the table has them. */
static bool pending_in(struct uk_vp *vp, int fd)
{
	return load_seq_cst(&vp->submits) || reactor_peek_fd(&vp->reactor, fd);
}

void sched_io_cancel_fd(struct uk_thread *t, int fd, int keep)
{
	uint32_t n = load_acquire(&vp_count_all);

	for (uint32_t i = 0; i < n; i++) {
		struct vp_msg m = { .kind = MSG_CANCEL_FD, .fd = fd, .keep = keep };

		/* our message arrives after those submissions (vp_post keeps the
		 * order) */
		if (pending_in(vp_all[i], fd))
			ask(t, vp_all[i], &m);
	}
}

void sched_io_anew(struct uk_thread *t, int fd)
{
	uint32_t n = load_acquire(&vp_count_all);

	for (uint32_t i = 0; i < n; i++) {
		struct vp_msg m = { .kind = MSG_CANCEL_FD,
				    .fd = fd,
				    .keep = KEEP_ANEW };

		if (reactor_peek_fd(&vp_all[i]->reactor, fd))
			ask(t, vp_all[i], &m);
	}
}

bool sched_io_peek(int fd)
{
	uint32_t n = load_acquire(&vp_count_all);

	for (uint32_t i = 0; i < n; i++)
		if (reactor_peek_fd(&vp_all[i]->reactor, fd))
			return true;
	return false;
}

bool sched_io_pending(int fd)
{
	uint32_t n = load_acquire(&vp_count_all);

	for (uint32_t i = 0; i < n; i++)
		if (pending_in(vp_all[i], fd))
			return true;
	return false;
}

bool sched_io_holds(void)
{
	uint32_t n = load_acquire(&vp_count_all);

	for (uint32_t i = 0; i < n; i++)
		if (!vp_all[i]->reactor.ops->holds)
			return false;
	return true;
}

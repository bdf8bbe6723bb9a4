/* SPDX-License-Identifier: Apache-2.0 */
/* The late try: a read that found nothing is tried once more before it is armed.
 *
 * Two threads that talk through a pipe or socket wait for each other in turn. What one
 * waits for, the other often writes before their vp has nothing else to run. To arm
 * such a read and to have the kernel report it costs twice as much as the read itself,
 * on both engines. So a read on an fd where such tries have succeeded before (io.h
 * keeps the score) is kept here, unknown to the engine, until a pass of the dispatcher
 * finds nothing else to do:
 *
 *   submit --> LATE --poll that brought others, the first time--> LEFT
 *   LATE, LEFT --poll that brought nothing, or has left it, or is busy: tried--> ENDED
 *                      (with the result, or with -EAGAIN: then its thread arms it)
 *   LATE, LEFT --cancel_fd--> ENDED
 *
 * The oldest is tried first. If nothing else is to run, the tries stop after one
 * success, because that thread may write what the next one waits for. LEFT exists
 * because the ops that the kernel has just completed were armed ones. Their threads run
 * first and may write, too; so in time the reads of all these threads become late ones.
 *
 * Meanwhile none of the threads is ready, so no thief comes for them. No op is late for
 * longer than two passes, so it need not be cancelled; but its fd may be closed.
 *
 * Rejected: the thread yields and tries by itself. Then it is ready, another vp is
 * woken for it, and the two threads run on different vps (16 us a round trip instead of
 * 4).
 */
#include "reactor/engine.h"

void late_init(struct reactor *r)
{
	opq_init(&r->late);
	opq_init(&r->late_ended);
	r->late_left = false;
}

static void end(struct reactor *r, struct io_op *op, long res)
{
	op->res = (int)res;
	opq_push(&r->late_ended, op);
}

static void end_counted(struct reactor *r, struct io_op *op, long res)
{
	fdtab_uncount(r->fds, op);
	end(r, op, res);
}

void reactor_submit_late(struct reactor *r, struct io_op *op)
{
	int err;

	op_begin(r, op);
	err = fdtab_count(r->fds, op);
	if (unlikely(err))
		end(r, op, err);
	else
		opq_push(&r->late, op);
}

static void try_all(struct reactor *r, bool busy)
{
	long res = -EAGAIN;

	while (r->late.head && (busy || res == -EAGAIN)) {
		struct io_op *op = opq_pop(&r->late);

		res = op_try(r, op);
		end_counted(r, op, res);
	}
}

static struct io_op *take_ended(struct reactor *r, struct io_op *others)
{
	struct io_op *all;

	*r->late_ended.tail = others;
	all = opq_take_all(&r->late_ended);
	for (struct io_op *op = all; op != others; op = op->next) {
		op->state = IO_DONE;
		r->pending--;
	}
	return all;
}

static NOINLINE struct io_op *poll_late(struct reactor *r, bool busy)
{
	struct io_op *others = r->ops->poll(r, 0);
	bool leave = others && !busy && !r->late_left;

	r->late_left = leave;
	if (!leave)
		try_all(r, busy);
	return take_ended(r, others);
}

struct io_op *reactor_poll(struct reactor *r, int64_t timeout_ns, bool busy)
{
	if (likely(!r->late.head) && likely(!r->late_ended.head))
		return r->ops->poll(r, timeout_ns);
	return poll_late(r, busy);
}

unsigned reactor_cancel_fd(struct reactor *r, int fd, int keep)
{
	struct io_op *op = opq_take_all(&r->late), *next;
	unsigned n = 0;

	for (; op; op = next) {
		next = op->next;
		if (op->fd != fd) {
			opq_push(&r->late, op);
			continue;
		}
		op_cut_by_fd(op, keep);
		end_counted(r, op, op_cut_result(op));
		n++;
	}
	return n + r->ops->cancel_fd(r, fd, keep);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The late try: a read that had nothing to take is tried once more before it is armed.
 *
 * Threads that speak with each other through pipes and sockets wait by turns, and what one of them
 * waits for the next one writes before its vp has nothing to run. To arm such a read, and to have
 * the kernel tell of it, costs twice what the read itself does, on both engines. So the read of
 * who has been lucky before (io.h keeps the score) is kept here, unknown to the engine, until a
 * pass of the dispatcher has found nothing else:
 *
 *   submit --> LATE --poll that brought others, the first time--> LEFT
 *   LATE, LEFT --poll that brought nothing, or has left it, or is busy: tried--> ENDED: the result,
 *                                                          or -EAGAIN, and its thread arms it
 *   LATE, LEFT --cancel_fd--> ENDED
 *
 * The oldest first, and where nothing else is to run only until one has succeeded: that one's thread
 * may write what the next one waits for. LEFT is for the first time: what the kernel has told
 * of now is armed, and its thread will write, too. Which is how they all come to be late.
 *
 * No thread is ready meanwhile, so no thief comes for it. Nothing is late for longer than two
 * passes, so nobody needs to cancel it; but its number may be closed.
 *
 * Rejected: the thread yields and tries itself. Then it is ready, another vp is woken for it, and
 * the two that talk are torn apart (16 us a round trip for 4).
 */
#include "event/engine.h"

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

/* SPDX-License-Identifier: Apache-2.0 */
/* The io_uring engine, by raw system calls.
 *
 * Flags: COOP_TASKRUN, because an interrupt for each completion is useless if the owner
 * polls anyway. TASKRUN_FLAG, so that a poll that does not sleep sees in shared memory
 * whether the kernel has anything for it (if not, it makes no system call). Not
 * SINGLE_ISSUER or DEFER_TASKRUN, which bind the ring to one kernel thread: a vp moves
 * between kernel threads, and what waits in a ring must not wait for the one that it
 * left. (Tried on a vp that stayed on its kernel thread: 0, 8 and 10 % less CPU for a
 * web request at 100, 1,000 and 10,000 connections.) That has three consequences:
 * - The kernel completes an op in the context of the kernel thread that submitted it.
 *   If that thread sleeps interruptibly (a parked spare), the kernel wakes it for this.
 *   If it computes in user space, it completes the op at its next kernel entry, at the
 *   latest at its next timer tick; hence reactor.hogs. Known limit: a thread that
 *   sleeps uninterruptibly (a disk that hangs, vfork until the child's exec) holds the
 *   completions of what it submitted until it wakes, even if another carrier has had
 *   the vp for long. Reactive vps, whose carriers run no user code, and epoll are not
 *   affected.
 * - A kick must not depend on another thread. SEND_MSG_RING posts the completion
 *   itself. If the kernel does not have it, a read of an eventfd is armed; it is armed
 *   again if another kernel thread than the one that armed it is about to sleep.
 * - When a kernel thread exits, its ops complete with -ECANCELED. They are submitted
 *   again.
 *
 * The user_data of a completion is the op's address, low bits 0; the same | UD_CANCEL
 * for the result of its cancel; or UD_KICK. An op that was cancelled is returned only
 * after both of its completions came, so a late cancel never hits another op at the
 * same address.
 *
 * In a set with a network processor (sq_thread), one kernel thread reads all rings of
 * the set and carries out their operations (ring.c). Then to submit is to move the
 * tail, and the three points above do not apply. uring_impl.h draws when that thread
 * sleeps.
 *
 * Rejected: a registered ring fd (it belongs to one kernel thread, and saves 50 ns an
 * enter); registered buffers (1 to 4 % of a cached read, for locked memory and a
 * look-up of each buffer) and files (a file stays open when its fd is closed by a call
 * that is not ours); POLL_FIRST (a receive of fewer bytes than SO_RCVLOWAT would wait);
 * prefetching what the next completions lead to (1 % at best); a network processor for
 * each vp, or for every set; linked timeouts (451 ns for each op; timer.c takes 40).
 */
#include <sys/socket.h>

#include "base/membarrier.h"
#include "reactor/hostile.h"
#include "reactor/uring_impl.h"

#define HOG_SLICE (500 * NS_PER_US)

#define KICK_GEN_SHIFT 3

/* Completions that one poll takes; few, so that what they touch is still in the cache
 * when their threads run. */
#define REAP_MOST 64u

/* The kernel's internal codes for "interrupted"; some operations return them. */
#define ERESTART_FIRST 512
#define ERESTART_LAST 516

uint32_t reactor_other_ids, reactor_serves;

/* -- the end of an op -- */

static void finish(struct reactor *r, struct io_op *op, int res)
{
	if (op->kind == IO_SHOT)
		ahead_ended(r, op, res);
	else
		uring_finish(r, op, res);
}

static bool wants_nonblock(const struct io_op *op)
{
	switch ((enum io_kind)op->kind) {
	case IO_RECV:
	case IO_SEND:
	case IO_RECVMSG:
	case IO_SENDMSG:
	case IO_SEND_ZC:
	case IO_SENDMSG_ZC:
		return (op->flags & MSG_DONTWAIT) || fd_nonblock(op->fd);
	default:
		return fd_nonblock(op->fd);
	}
}

/* True if res is a temporary condition that the waiter must not see. Prepares op for
 * the retry. */
static bool must_retry(struct io_op *op, int *res)
{
	switch (*res) {
	/* nobody cancelled op: the kernel thread that submitted it has exited */
	case -ECANCELED:
	case -EINTR:
		return true;
	case -EAGAIN:
		if (op->kind == IO_POLL || !op_events(op) || wants_nonblock(op))
			return false;
		op->engine |= U_POLL;
		return true;
	case -EALREADY:
		if (op->kind != IO_CONNECT || !(op->engine & U_AGAIN))
			return false;
		op->engine |= U_POLL;
		return true;
	case -EISCONN:
		if (op->kind == IO_CONNECT && (op->engine & U_AGAIN))
			*res = 0;
		return false;
	default:
		return false;
	}
}

static void on_result(struct reactor *r, struct io_op *op, int res)
{
	if (unlikely(res <= -ERESTART_FIRST && res >= -ERESTART_LAST))
		res = -EINTR;
	if (op->state == IO_CANCELING) {
		/* its poll came first, or the cancel interrupted a kernel worker */
		if (res == -ECANCELED || res == -EINTR || res == -EAGAIN ||
		    ((op->engine & U_POLL) && res >= 0))
			res = op_cut_result(op);
		if (op->engine & U_LATE_CANCEL) {
			opq_remove(&ring_of(r)->cancels, op);
			op->engine &= (uint8_t)~U_LATE_CANCEL;
		}
		if (!(op->engine & U_CANCEL_CQE)) {
			finish(r, op, res);
			return;
		}
		op->engine |= U_RESULT;
		op->res = res;
		return;
	}
	if ((op->engine & U_POLL) && res >= 0) {
		op->engine = U_AGAIN;
		uring_queue(r, op);
	} else if (unlikely(res < 0) && !ring_of(r)->closing && must_retry(op, &res)) {
		op->engine |= U_AGAIN;
		uring_queue(r, op);
	} else {
		finish(r, op, res);
	}
}

static void on_cancel(struct reactor *r, struct io_op *op, int res)
{
	op->engine &= (uint8_t)~U_CANCEL_CQE;
	if (op->engine & U_RESULT)
		finish(r, op, op->res);
	else if (res == -ENOENT)
		/* Not found: its result is on the way (from another kernel thread,
		 * perhaps a hog), or it is about to wait again and the cancel missed
		 * it */
		uring_cancel_later(r, op);
}

/* -- lent memory --
 *
 * A zero-copy send has two completions. The first says how many bytes were accepted
 * and, by a flag, that the second will come. The second says that the kernel no longer
 * uses the memory, because the peer has the bytes. The op completes with the first. The
 * second is counted in op->lends, so the op must live until then: the thread that
 * submitted it submits it again as IO_LENT. (If the op is made again after a poll, it
 * lends once more.)
 *
 *   lends   0 --accepted--> n --memory released--> n - 1 ... 0
 *           n --IO_LENT--> n | LENT_WAITED --memory released--> ... 0: IO_LENT done
 *
 * Only the owner writes lends. Once it has written 0, the op may be gone. */
#define LENT_WAITED 128u

static void on_let_go(struct reactor *r, struct io_op *op)
{
	uint8_t left = (uint8_t)(op->lends - 1);

	if (left != LENT_WAITED) {
		/* release: pairs with the sender's look (sched_io_lent) */
		store_release(&op->lends, left);
		return;
	}
	op->lends = 0;
	uring_finish(r, op, 0);
}

static void submit_lent(struct reactor *r, struct io_op *op)
{
	list_init(&op->link);
	if (op->lends)
		op->lends |= LENT_WAITED;
	else
		uring_finish(r, op, 0);
}

/* -- */

static void on_op(struct reactor *r, struct io_op *op, const struct uring_cqe *cqe)
{
	if (unlikely(cqe->flags & URING_CQE_F_NOTIF)) {
		on_let_go(r, op);
		return;
	}
	if (op->kind == IO_SHOT) {
		ahead_data(r, op, cqe);
		if (cqe->flags & URING_CQE_F_MORE)
			return;
	} else if (unlikely(cqe->flags & URING_CQE_F_MORE)) {
		op->lends++;
	}
	on_result(r, op, cqe->res);
}

static void on_cqe(struct reactor *r, const struct uring_cqe *cqe)
{
	struct uring *u = ring_of(r);
	struct io_op *op =
	    (struct io_op *)(uintptr_t)(cqe->user_data & ~(uint64_t)UD_MASK);

	switch (cqe->user_data & UD_MASK) {
	case UD_OP:
		on_op(r, op, cqe);
		break;
	case UD_CANCEL:
		on_cancel(r, op, cqe->res);
		break;
	case UD_KICK:
		if (cqe->user_data >> KICK_GEN_SHIFT == u->kick_gen)
			u->kick_armed = false;
		break;
	default:
		uk_panic("io_uring: unknown completion %#lx",
			 (unsigned long)cqe->user_data);
	}
}

/* Takes at most `most` completions; returns how many more it might have taken. The rest
 * waits in the ring for the next poll: if a thousand were taken and touched at once,
 * they would be cold again when their threads run. */
static uint32_t reap_some(struct reactor *r, uint32_t most)
{
	struct uring *u = ring_of(r);

	for (; most && uring_untaken(u); most--) {
		uint32_t head = *u->cq_khead; /* written by us only */
		struct uring_cqe cqe = u->cqes[head & u->cq_mask];

		/* release: the kernel may write the slot again; before on_cqe, which
		 * may enter the kernel */
		store_release(u->cq_khead, head + 1);
		on_cqe(r, &cqe);
	}
	return most;
}

static void reap(struct reactor *r)
{
	while (!reap_some(r, REAP_MOST))
		;
}

/* -- kick -- */

/* Have the read of the eventfd armed by the calling kernel thread. False: no entry is
 * free. */
static bool arm_kick(struct reactor *r)
{
	struct uring *u = ring_of(r);
	struct uring_sqe *sqe;
	int tid;

	if (u->msg_kick)
		return true;
	if (!u->sq_thread)
		bump(&r->count.syscalls, 1);
	tid = u->sq_thread ? 0 : sys_gettid();
	if (u->kick_armed && u->kick_tid == tid)
		return true;
	if (u->kick_armed) {
		sqe = uring_get_sqe(r);
		if (!sqe)
			return false;
		sqe->opcode = URING_OP_ASYNC_CANCEL;
		sqe->addr = (uint64_t)u->kick_gen << KICK_GEN_SHIFT | UD_KICK;
		sqe->user_data = UD_KICK; /* generation 0: never current */
		uring_put_sqe(u);
		u->kick_armed = false;
	}
	sqe = uring_get_sqe(r);
	if (!sqe)
		return false;
	u->kick_gen++;
	u->kick_gen += u->kick_gen == 0;
	sqe->opcode = URING_OP_READ;
	sqe->fd = u->kick_fd;
	sqe->addr = (uintptr_t)&u->kick_buf;
	sqe->len = sizeof(u->kick_buf);
	sqe->user_data = (uint64_t)u->kick_gen << KICK_GEN_SHIFT | UD_KICK;
	uring_put_sqe(u);
	u->kick_armed = true;
	u->kick_tid = tid;
	return true;
}

static void uring_kick(struct reactor *r)
{
	struct uring *u = ring_of(r);
	struct uring_sqe msg = { .opcode = URING_OP_MSG_RING,
				 .fd = u->fd,
				 .off = UD_KICK };
	uint64_t one = 1;
	long err;

	if (!waker_kick(&u->waker))
		return;
	if (!u->msg_kick) {
		sys3(SYS_write, u->kick_fd, &one, sizeof(one));
		return;
	}
	do
		err = sys4(SYS_io_uring_register, -1, URING_REGISTER_SEND_MSG_RING,
			   &msg, 1);
	while (err == -EINTR || err == -EAGAIN || err == -ENOMEM);
	if (unlikely(err < 0))
		uring_check_allowed("io_uring_register", err);
}

/* -- the contract -- */

static int uring_init(struct reactor *r)
{
	struct uring *u = os_map(sizeof(*u));
	int err;

	if (!u)
		return -ENOMEM;
	err = ring_open(u, r->net_cpu);
	if (err) {
		os_unmap(u, sizeof(*u));
		return err;
	}
	r->priv = u;
	r->served = u->sq_thread;
	return 0;
}

/* The network processor has the rights that the process had when the ring was made.
 * This operation checks rights when it begins, and the caller may have given some up
 * since. */
static bool asks_who_calls(enum io_kind kind)
{
	return kind == IO_CONNECT;
}

/* A message may carry its sender's ids, or need the rights that they give. */
static bool tells_who_calls(enum io_kind kind)
{
	return kind == IO_SEND || kind == IO_SENDMSG || kind == IO_SEND_ZC ||
	       kind == IO_SENDMSG_ZC || kind == IO_WRITE || kind == IO_WRITEV;
}

static bool uring_can(const struct reactor *r, enum io_kind kind)
{
	const struct uring *u = ring_of(r);

	if (kind == IO_RECV_AHEAD && u->no_ahead)
		return false;
	if (u->sq_thread &&
	    (asks_who_calls(kind) ||
	     (tells_who_calls(kind) && load_relaxed(&reactor_other_ids))))
		return false;
	return kind < IO_KINDS && (u->ops >> uring_opcode[kind] & 1);
}

static void uring_submit(struct reactor *r, struct io_op *op)
{
	int err;

	op_begin(r, op);
	if (unlikely(op->kind == IO_LENT)) {
		submit_lent(r, op);
		return;
	}
	bump(&r->count.sqes, 1);
	err = fdtab_link(r->fds, op);
	if (unlikely(err)) {
		list_init(&op->link);
		uring_finish(r, op, err);
		return;
	}
	if (op->kind == IO_RECV_AHEAD) {
		ahead_submit(r, op);
		return;
	}
	if (unlikely(ring_of(r)->sq_thread) && asks_who_calls(op->kind)) {
		uring_finish(r, op, REACTOR_READY);
		return;
	}
	if (hostile_eagain(op)) {
		uring_finish(r, op, -EAGAIN);
		return;
	}
	if (hostile_poll_first(op))
		op->engine = U_POLL;
	uring_queue(r, op);
}

static void uring_cancel(struct reactor *r, struct io_op *op)
{
	if (!uring_begin_cancel(r, op))
		return;
	if (op->engine & U_AHEAD)
		ahead_leave(r, op);
	finish(r, op, op_cut_result(op));
}

/* An op on e that is not being cancelled yet. (One at a time, because an op that is not
 * in the kernel is unlinked at once.) */
static struct io_op *pending_on(const struct fdent *e, int keep)
{
	list_each(l, &e->ops)
	{
		struct io_op *op = container_of(l, struct io_op, link);

		if (op->state == IO_PENDING) {
			op_cut_by_fd(op, keep);
			return op;
		}
		if (keep == KEEP_NONE)
			op->ebadf = 1; /* its waiter has already cancelled it */
	}
	return NULL;
}

static unsigned uring_cancel_fd(struct reactor *r, int fd, int keep)
{
	struct fdent *e = fdtab_find(r->fds, fd);
	struct io_op *op;
	unsigned n = 0;

	if (e && e->n) {
		for (; (op = pending_on(e, keep)); n++)
			uring_cancel(r, op);
		ahead_drop(r, fd);
	}
	/* At once: the caller is about to close. Ops still in the kernel would take
	 * bytes and keep the file open. (With a network processor they do so until they
	 * have come back; the closer waits for that.) */
	if (n)
		uring_flush(r);
	return n;
}

static struct io_op *take_done(struct reactor *r)
{
	struct io_op *all = opq_take_all(&ring_of(r)->done);

	for (struct io_op *op = all; op; op = op->next) {
		op->state = IO_DONE;
		r->pending--;
		bump(&r->count.cqes, 1);
	}
	return all;
}

static void pass(struct reactor *r)
{
	struct uring *u = ring_of(r);

	/* what else the kernel has for us can wait until we have taken the completions
	 * that are there */
	if (uring_must_submit(u) || (uring_must_collect(u) && !uring_untaken(u)))
		uring_enter(r, 0, 0);
}

/* Make every running thread of the process enter the kernel for a moment. */
static void poke_hogs(struct reactor *r)
{
	if (!(load_relaxed(ring_of(r)->sq_flags) & URING_SQ_TASKRUN))
		return;
	bump(&r->count.syscalls, 1);
	barrier_everywhere();
}

static void sleep_in_kernel(struct reactor *r, int64_t ns)
{
	struct uring *u = ring_of(r);
	long n;

	if (!waker_sleep(&u->waker)) {
		pass(r);
		return;
	}
	bump(&r->count.waits, 1);
	do
		n = uring_enter(r, 1, ns);
	while (n > 0 && uring_unsubmitted(u) &&
	       *u->cq_khead == load_acquire(u->cq_tail));
	waker_wake(&u->waker);
}

/* -- look before a sleep --
 *
 * The completions of a network processor are visible in memory, while being woken costs
 * an interrupt and a switch. So while that thread is awake, and on another CPU, a vp
 * without work looks for a while before it sleeps: longer and longer while its waits
 * end within LOOK_MOST, not at all after a longer wait. (KVM polls before it halts a
 * virtual CPU by the same rule.) If the set wants batches, the vp sleeps at once.
 * Rejected: looking for 1 ms, or for 0.2 ms from the first short wait on (fewer
 * sleeps, but the server's CPU for a request grows by a quarter). */
#define LOOK_FIRST (10 * NS_PER_US)
#define LOOK_MOST (200 * NS_PER_US)

static bool may_look(const struct uring *u)
{
	uint32_t cpu;

	return u->look && !(load_relaxed(u->sq_flags) & URING_SQ_NEED_WAKEUP) &&
	       !sys3(SYS_getcpu, &cpu, NULL, NULL) && (int)cpu != u->sq_cpu;
}

/* True: a completion, a kick, or a reason to enter the kernel. */
static bool look(struct uring *u, int64_t until)
{
	while (*u->cq_khead == load_acquire(u->cq_tail)) {
		if (load_relaxed(&u->waker.word) == WAKER_KICKED) {
			waker_wake(&u->waker);
			return true;
		}
		if (uring_must_enter(u))
			return true;
		if (sys_now() >= until)
			return false;
		cpu_relax();
	}
	return true;
}

static void wait_for_more(struct reactor *r, int64_t ns)
{
	struct uring *u = ring_of(r);
	int64_t since, took;

	if (u->sq_cpu < 0 || u->batch) {
		sleep_in_kernel(r, ns);
		return;
	}
	since = sys_now();
	if (may_look(u) && look(u, since + (ns < 0 ? u->look : MIN(ns, u->look)))) {
		pass(r);
	} else {
		int64_t left = ns < 0 ? ns : ns - (sys_now() - since);

		if (ns < 0 || left > 0)
			sleep_in_kernel(r, left);
		else
			pass(r);
	}
	took = sys_now() - since;
	if (took > LOOK_MOST)
		u->look = 0;
	else if (took > u->look)
		u->look = MIN(MAX(2 * u->look, LOOK_FIRST), LOOK_MOST);
}

/* Does what must be done before a sleep of ns. Returns how long the sleep may be; 0: no
 * sleep. The caller must see what has completed since the last poll before the vp
 * sleeps, be it an op or a freed stream cell, for which no op is returned. */
static int64_t before_sleep(struct reactor *r, int64_t ns)
{
	struct uring *u = ring_of(r);

	if (unlikely(ahead_rearm_due(u)))
		ahead_rearm(r); /* may add to the backlog */
	if (unlikely(u->backlog.head || u->cancels.head))
		uring_drain(r);
	if (ns && (u->done.head || u->news || !arm_kick(r)))
		ns = 0;
	if (unlikely(u->backlog.head || u->cancels.head) && (ns < 0 || ns > NS_PER_MS))
		ns = NS_PER_MS; /* look again soon */
	return ns;
}

static struct io_op *uring_poll(struct reactor *r, int64_t timeout_ns)
{
	struct uring *u = ring_of(r);
	uint32_t hogs, most;

	bump(&r->count.polls, 1);
	timeout_ns = MIN(timeout_ns, MAX_SLEEP);
	hogs = u->sq_thread ? 0 : load_relaxed(&r->hogs);
	if (unlikely(hogs) && (timeout_ns < 0 || timeout_ns > HOG_SLICE))
		timeout_ns = HOG_SLICE;
	if (unlikely(u->poller != __builtin_thread_pointer()) && !u->sq_thread) {
		u->poller = __builtin_thread_pointer();
		u->poller_gen++;
	}
	most = reap_some(r, REAP_MOST);
	timeout_ns = before_sleep(r, timeout_ns);
	if (timeout_ns && !uring_untaken(u) && !hostile_eintr())
		wait_for_more(r, timeout_ns);
	else
		pass(r);
	if (unlikely(hogs))
		poke_hogs(r);
	reap_some(r, most);
	u->news = false;
	return take_done(r);
}

/* Leaves u->poller alone, because the thread pointer here is a user thread's; leaves
 * u->news set for the next poll. */
static struct io_op *uring_collect(struct reactor *r)
{
	struct uring *u = ring_of(r);

	bump(&r->count.polls, 1);
	if (unlikely(u->backlog.head || u->cancels.head))
		uring_drain(r);
	pass(r);
	reap(r);
	return take_done(r);
}

/* No thread should be waiting any more; but the kernel must not write into buffers
 * later. */
static void uring_fini(struct reactor *r)
{
	struct uring *u = ring_of(r);

	u->closing = true;
	for (int i = 0; r->pending && i < 1000; i++) {
		struct uring_sqe *sqe = uring_get_sqe(r);

		if (sqe) {
			sqe->opcode = URING_OP_ASYNC_CANCEL;
			sqe->op_flags = URING_CANCEL_ALL | URING_CANCEL_ANY;
			sqe->user_data = UD_KICK;
			uring_put_sqe(u);
		}
		uring_poll(r, NS_PER_MS);
	}
	ahead_fini(u);
	ring_close(u);
	os_unmap(u, sizeof(*u));
	r->priv = NULL;
}

static void uring_fork_leave(struct reactor *r)
{
	struct uring *u = ring_of(r);

	u->rings = u->sqe_map = NULL; /* MADV_DONTFORK: not mapped here */
	ahead_fini(u);
	ring_close(u);
	u->fd = u->kick_fd = -1;
	if (r->net_cpu) {
		r->net_cpu->ring = -1; /* it was the parent's */
		r->net_cpu->err = r->net_cpu->napi_err = 0;
	}
}

static int uring_fork_child(struct reactor *r)
{
	struct uring *u = ring_of(r);

	int err;

	fdtab_reset(r->fds);
	r->pending = 0;
	err = ring_open(u, r->net_cpu);
	r->served = !err && u->sq_thread;
	if (err) {
		os_unmap(u, sizeof(*u));
		r->priv = NULL;
	}
	return err;
}

const struct reactor_ops uring_ops = {
	.name = "io_uring",
	.holds = true,
	.together = true,
	.init = uring_init,
	.fini = uring_fini,
	.can = uring_can,
	.submit = uring_submit,
	.take = ahead_take,
	.cancel = uring_cancel,
	.cancel_fd = uring_cancel_fd,
	.poll = uring_poll,
	.collect = uring_collect,
	.kick = uring_kick,
	.fork_leave = uring_fork_leave,
	.fork_child = uring_fork_child,
};

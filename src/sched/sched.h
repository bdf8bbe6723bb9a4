/* SPDX-License-Identifier: Apache-2.0 */
/* sched.h - what the layers above the scheduler use: enter, wait, fire.
 *
 * How to block, in any layer:
 *
 *	struct uk_thread *t = rt_enter();          // in the runtime, holding a vp
 *	uint64_t tok = wait_begin(t, WAIT_X, obj); // from now on wakers may fire tok
 *	... publish (t, tok) under the object's lock ...
 *	unsigned why = wait_park(t, tok, deadline); // WAKE_...: which event won
 *	... if why != WAKE_OK and still published: unpublish under the lock ...
 *	rt_exit();
 *
 * How to wake: wait_fire(t, tok, WAKE_OK) is true if we won; then t runs. Both sides
 * work for user threads and for foreign kernel threads alike.
 *
 * Inside the runtime (between enter and exit) the carrier cannot lose its vp, so per-vp
 * state needs no atomics. The thread must not block in the kernel for long, and no lock
 * may be held across wait_park. After wait_park the thread may be on another vp.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <signal.h>

#include "base/base.h"
#include "base/hooks.h"
#include "fd/fd.h"
#include "reactor/reactor.h"
#include "thread/thread.h"
#include "uk/vp.h"

/* Enter and leave the runtime; the calls nest. rt_enter starts the runtime and adopts a
 * foreign thread when needed. */
struct uk_thread *rt_enter(void);
void rt_exit(void);
/* The part of rt_enter that may fail, for calls that can return an error. They call it
 * before rt_enter, which panics instead. 0, or -errno: the runtime cannot start, or has
 * no descriptor for the caller. */
int rt_begin_slow(void);
static inline int rt_begin(void)
{
	return likely(thread_self_tls) ? 0 : rt_begin_slow();
}

/* For callers that only wait and wake: a kernel thread gets its descriptor and may
 * enter from now on, but the runtime is not started for it. */
int rt_adopt_slow(void);
static inline int rt_adopt(void)
{
	return likely(thread_self_tls) ? 0 : rt_adopt_slow();
}

uint64_t wait_begin(struct uk_thread *t, enum wait_kind kind, const void *obj);
/* Like wait_begin, but cancellation and the thread's own deadline do not end it. */
uint64_t wait_begin_uncancelable(struct uk_thread *t, enum wait_kind kind,
				 const void *obj);
/* Parks until fired, until deadline (TIME_NEVER: none; t->deadline limits it, too),
 * until cancelled, or until a signal asks for the thread. Returns the reason that won;
 * at once if already fired. */
unsigned wait_park(struct uk_thread *t, uint64_t token, int64_t deadline);
/* The same, to join child: child runs at once if it is the youngest thread that is
 * ready here. It may have ended long ago. */
unsigned wait_park_join(struct uk_thread *t, uint64_t token, int64_t deadline,
			struct uk_thread *child);
/* Gives up an armed wait without parking (the condition came true meanwhile). False:
 * the wait was fired; *reason says why. */
bool wait_abandon(struct uk_thread *t, uint64_t token, unsigned *reason);
/* True if this call won; then t is ready. Called by any kernel thread, in or out of the
 * runtime. */
bool wait_fire(struct uk_thread *t, uint64_t token, unsigned reason);
/* The same, but if the dispatcher fires, t runs next: it is not part of a batch. */
bool wait_fire_next(struct uk_thread *t, uint64_t token, unsigned reason);
/* wait_fire with WAKE_OK, by me, the calling user thread: in the runtime, with a vp. */
void wait_fire_by(struct uk_thread *me, struct uk_thread *t, uint64_t token);
/* Asks t to leave its wait, this one or the next, unless the wait is uncancelable: it
 * ends with WAKE_CANCEL or WAKE_SIGNAL. Called in the runtime. */
void wait_cut(struct uk_thread *t, uint8_t ask);
/* Called by t itself, or by a handler on its stack: if t is in a wait, the wait ends
 * with WAKE_SIGNAL. */
void wait_interrupted(struct uk_thread *t);
/* Called in the same way: is t in a wait? Then t is in a queue, which it leaves before
 * any handler runs. */
static inline bool wait_begun(const struct uk_thread *t)
{
	return W_STATE(load_acquire(&t->wait)) != W_IDLE;
}
/* t, the caller, has jumped out of a handler, and so perhaps out of a wait that the
 * handler interrupted. */
void wait_left(struct uk_thread *t);
/* -ETIMEDOUT, -ECANCELED, -EINTR or 0 for a reason */
int wake_error(unsigned reason);

/* The vp of the caller (a user thread in the runtime); NULL for a foreign thread. Read
 * it again after every park. */
struct uk_vp *sched_vp(const struct uk_thread *t);
/* The first vp, while it is the only one; NULL: there are several, or none yet. Never
 * returns another vp. */
struct uk_vp *sched_only_vp(void);
/* Cached clock of that vp, or the real one for a foreign thread: cheap, but may lag by
 * one dispatcher pass. */
int64_t sched_clock_coarse(const struct uk_thread *t);

/* I/O: submits op to the right reactor for this thread (its vp's, or the set's reactive
 * vp for this class), and parks until it is done. Returns op->res; on the deadline
 * -ETIMEDOUT, on cancellation -ECANCELED, for a signal -EINTR, unless the kernel had
 * finished: then its result counts. User threads only. */
enum io_class { IO_CLASS_NET, IO_CLASS_FILE };
int sched_io(struct uk_thread *t, struct io_op *op, enum io_class c, int64_t deadline);
/* op, an IO_SEND_ZC or IO_SENDMSG_ZC, is done and still at its place: parks until the
 * kernel no longer uses its memory. No deadline or cancellation ends that earlier. */
void sched_io_lent(struct uk_thread *t, struct io_op *op);
/* Submits op[0..n) and parks until one of them is done or until the deadline. The
 * others are cancelled, and all are done when it returns. 0, -ETIMEDOUT, -ECANCELED,
 * -EINTR: what ended the wait. */
int sched_io_any(struct uk_thread *t, struct io_op *op, unsigned n, enum io_class c,
		 int64_t deadline);
/* True if an operation that need not wait would reach the kernel in a moment, in one
 * system call together with those of other threads. */
bool sched_io_dense(const struct uk_thread *t);
/* Submits such an operation to the caller's own vp, and parks until it is done. Nothing
 * ends that earlier. */
int sched_io_soon(struct uk_thread *t, struct io_op *op);
/* A read that has just found nothing is tried once more when the calling thread's vp
 * has nothing else to do (reactor/late.c). Returns the reactor's result; -EAGAIN: there
 * is still nothing. sched_io_may_be_late: is that possible? Not where another vp or the
 * kernel's thread would carry it out, nor where other threads are ready and a ring
 * takes the reads of many in one call. */
bool sched_io_may_be_late(const struct uk_thread *t);
int sched_io_late(struct uk_thread *t, struct io_op *op);
/* Can the caller's reactor do this kind of operation? False for foreign threads. */
bool sched_io_can(struct uk_thread *t, enum io_kind kind, enum io_class c);
/* Does the set's network processor carry out the caller's operations? */
bool sched_io_served(const struct uk_thread *t);
/* -- for operations of a sink, which no thread waits for -- */
struct vp_msg;
/* The vp whose reactor takes such an operation of the caller; NULL: it cannot. */
struct uk_vp *sched_io_home(struct uk_thread *t, enum io_kind kind, enum io_class c);
/* Submissions to another vp that are sent together, with one kick. All zero: none. */
struct io_parcel {
	struct vp_msg *newest, *oldest;
	struct uk_vp *home;
	unsigned n;
};
/* Submits op (op->sink is set) to home. If that is not the caller's vp, op goes with
 * the parcel. Neither m nor op moves before op is done. */
void sched_io_send(struct uk_thread *t, struct io_op *op, struct vp_msg *m,
		   struct uk_vp *home, struct io_parcel *p);
/* Sends the parcel. */
void sched_io_sent(struct io_parcel *p);
/* Cancels op, which the caller keeps from being reused meanwhile. May park. */
void sched_io_cancel(struct uk_thread *t, struct io_op *op, struct uk_vp *home);
/* Called by a sink for an op that it has just been given: submits op once more to r,
 * where it was pending. */
void sched_io_again(struct io_op *op, struct reactor *r);
/* Hands over to the kernel what the caller's vp has submitted, and collects
 * completions. */
void sched_collect(struct uk_thread *t);

/* Streams that are received ahead: see sched/io.c. */
void sched_ahead_begin(int fd);
/* Called after sched_io_cancel_fd, before the fd can mean another file. */
void sched_ahead_end(int fd);
/* op: IO_RECV_AHEAD, or IO_RECV if it became that before. As sched_io, of class net. */
int sched_recv_ahead(struct uk_thread *t, struct io_op *op, int64_t deadline);
/* Cancels every op pending on fd, on all vps; returns when all of them are done. keep:
 * an fd of the same file, on which their threads go on (REACTOR_MOVED); -1: they get
 * -EBADF. */
void sched_io_cancel_fd(struct uk_thread *t, int fd, int keep);
/* fd has come to mean another file, or none: ops that were pending on it begin again on
 * whatever fd means now. sched_io_peek: are there any? An op on its way does not count,
 * because it will use the file that fd means now. */
void sched_io_anew(struct uk_thread *t, int fd);
bool sched_io_peek(int fd);
/* Would sched_io_cancel_fd find an op? Any thread; false if there is no vp. */
bool sched_io_pending(int fd);
/* Does every reactor hold the files of its operations (struct reactor_ops)? */
bool sched_io_holds(void);
/* Bracket a call that may block the kernel thread. release false: the call is only
 * marked, so that the monitor finds it (cheap, for calls that seldom block); true: the
 * vp goes to a spare at once if work waits. Both are called in the runtime (after
 * rt_enter) and leave it for the duration: between begin and end, nothing of the
 * runtime may be touched. No effect on the vp for foreign threads. */
void block_begin(struct uk_thread *t, bool release);
void block_end(struct uk_thread *t);
/* Leave the runtime for a call or an access that does not wait, but whose memory is the
 * program's and may fault: on a page that another user thread has to supply
 * (userfaultfd), or on a file system that hangs. Inside the runtime that would keep the
 * vp (law 1, docs/ARCHITECTURE.md). There is no mark, because it is nearly always over
 * at once. The same rules as for block_begin, also for foreign threads. */
void outside_begin(struct uk_thread *t);
void outside_end(struct uk_thread *t);

/* -- signals: guest.c, preload/pt_interrupt.c, preload/pt_signal.c -- */

/* A system call returned -EINTR: has a handler interrupted it? Then the caller of the
 * library is told, and decides. Otherwise, and always without the preload library, the
 * call is made again: to the kernel, the notice that an operation of a ring is done
 * looks like a signal. */
static inline bool sched_eintr_counts(const struct uk_thread *t)
{
	return t->kind == THREAD_USER && hooks.thread_signals &&
	       thread_asked(t, ASK_SIGNAL);
}
/* thread_signals begins: t is no longer asked. A signal that comes from now on asks
 * again. */
static inline void thread_signals_seen(struct uk_thread *t)
{
	fetch_and_acq_rel(&t->asked, (uint8_t)~ASK_SIGNAL);
}
/* The user thread in whose context the caller runs, also in a handler; else NULL. */
struct uk_thread *handler_thread(void);
/* Around a handler that interrupted user code of a user thread: until its end the
 * thread is a foreign one, bound to its carrier, because no context is switched in a
 * handler (law 3). handler_begin returns NULL if the caller is no user thread, or is a
 * guest already. */
struct uk_thread *handler_begin(void);
void handler_end(struct uk_thread *t);
/* Binds the calling user thread and its kernel thread to each other; its calls
 * are then those of a kernel thread. No effect on a kernel thread. In a handler: binds
 * the thread that it interrupted. why: a constant, for dumps. 0, -ENOMEM, or in a
 * handler -EAGAIN: it cannot be done at this instruction. */
int sched_bind(const char *why);
/* Is the caller bound? */
bool sched_bound(void);
/* t is cancelled: if it is bound, its wait as a guest ends, too. Called in the
 * runtime. */
void sched_cancel_bound(struct uk_thread *t);
/* Called when a thread ends; no effect if it is not bound. The thread ends on another
 * carrier, and its kernel thread ends. */
void sched_unbind(void);
/* Async-signal-safe helpers for uk_sem_post. Is the calling kernel thread inside the
 * runtime (so a handler interrupted it)? */
bool rt_in_runtime(void);
/* If not: as rt_enter and rt_exit, but the thread stays on its carrier, if need be
 * without a vp. So it may do nothing but fire. */
void rt_enter_here(void);
void rt_exit_here(void);
/* If so: deferred_wake will be called when this kernel thread leaves the runtime, or
 * before it sleeps in it, or by another one if it sleeps already (enter.c). False: it
 * is not inside; do it yourself. */
bool rt_defer_wake(void);

/* Counters of the current vp, or a shared set for foreign threads, which is lossy:
 * exact counts are added atomically there. */
#define COUNT(t, field) bump(&sched_count(t)->field, 1)
struct vp_count *sched_count(struct uk_thread *t);

struct vp_count {
	uint64_t switches, yields, parks, readies, creates, exits, steals, inbox, kicks,
	    io_inline, io_parked, io_cancels, timers, timer_fires, handoffs_mark,
	    returns, syscalls;
};
extern struct vp_count sched_foreign_count;

/* `calls` I/O calls have ended without parking; no lock is held. A thread that makes
 * only such calls never switches, and no monitor can take its vp away, so after some
 * dozens it yields by itself. (256: with memcached's four event loops on one vp, the
 * latency of the slowest hundredth of requests was 2.4 times native's, with 64 it is
 * below: bench/run posix-loops.) */
#define ROOM_CALLS 64u
void sched_make_room(struct uk_thread *t);
static inline void sched_inline(struct uk_thread *t, unsigned calls)
{
	struct vp_count *c = sched_count(t);
	uint64_t n = load_relaxed(&c->io_inline);

	store_relaxed(&c->io_inline, n + calls);
	if (unlikely(n / ROOM_CALLS != (n + calls) / ROOM_CALLS) &&
	    t->kind == THREAD_USER)
		sched_make_room(t);
}

/* Starts the runtime: 0 or -errno. Idempotent; any thread. */
int sched_start(void);

extern uint32_t sched_forks; /* the number of forks between us and the first process */
/* Rebuilds the runtime of a forked child, if that has not happened yet (not in a signal
 * handler). sched_unsettled: is it still to be rebuilt? */
void sched_settle(void);
bool sched_unsettled(void);

#endif

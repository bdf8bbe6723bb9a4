/* SPDX-License-Identifier: Apache-2.0 */
/* sched.h - what the rooms above the scheduler use: enter, wait, fire.
 *
 * How to block, in any room:
 *
 *	struct uk_thread *t = rt_enter();          // in the runtime, holding a vp
 *	uint64_t tok = wait_begin(t, WAIT_X, obj); // from now on wakers may fire tok
 *	... publish (t, tok) under the object's lock ...
 *	unsigned why = wait_park(t, tok, deadline); // WAKE_...: who won
 *	... if why != WAKE_OK and still published: unpublish under the lock ...
 *	rt_exit();
 *
 * How to wake: wait_fire(t, tok, WAKE_OK) is true if we won; then t runs. Both sides work
 * for user threads and for foreign kernel threads alike.
 *
 * Inside the runtime (between enter and exit) the carrier cannot lose its vp, so per-vp
 * state may be touched without atomics; it must not block in the kernel for long, and no
 * lock may be held across wait_park. After wait_park the thread may be on another vp.
 */
#ifndef SCHED_SCHED_H
#define SCHED_SCHED_H

#include <signal.h>

#include "base/base.h"
#include "event/reactor.h"
#include "thread/thread.h"
#include "uk/vp.h"

/* Enter and leave the runtime. Starts the runtime and adopts a foreign thread when needed.
 * They nest. */
struct uk_thread *rt_enter(void);
void rt_exit(void);
/* The same as far as it may fail, for calls that can tell of an error: before rt_enter, which
 * panics. 0, or -errno: the runtime cannot start, or has no descriptor for the caller. */
int rt_begin_slow(void);
static inline int rt_begin(void)
{
	return likely(thread_self_tls) ? 0 : rt_begin_slow();
}

/* For who only waits and wakes: a kernel thread gets its descriptor, and may enter from now on;
 * the runtime is not started for it. */
int rt_adopt_slow(void);
static inline int rt_adopt(void)
{
	return likely(thread_self_tls) ? 0 : rt_adopt_slow();
}

uint64_t wait_begin(struct uk_thread *t, enum wait_kind kind, const void *obj);
/* Like wait_begin, but cancellation and the thread's own deadline do not end it. */
uint64_t wait_begin_uncancelable(struct uk_thread *t, enum wait_kind kind,
				 const void *obj);
/* Park until fired, until deadline (TIME_NEVER: none; also bounded by t->deadline) or
 * until cancelled, or a signal asks for the thread; returns the winner's reason. Returns at once if already fired. */
unsigned wait_park(struct uk_thread *t, uint64_t token, int64_t deadline);
/* The same, for the end of child: which runs at once if it is the youngest that is ready here. It
 * may have ended long ago. */
unsigned wait_park_join(struct uk_thread *t, uint64_t token, int64_t deadline,
			struct uk_thread *child);
/* Give an armed wait up without parking (the condition came true meanwhile). False: it was
 * fired; *reason tells by what. */
bool wait_abandon(struct uk_thread *t, uint64_t token, unsigned *reason);
/* True if this call won; t is then ready. Any kernel thread, in or out of the runtime. */
bool wait_fire(struct uk_thread *t, uint64_t token, unsigned reason);
/* The same, and of those that the dispatcher wakes it is no part of a batch: it runs next. */
bool wait_fire_next(struct uk_thread *t, uint64_t token, unsigned reason);
/* Ask t to come out of its wait, this one or the next, unless that is uncancelable: it ends with
 * WAKE_CANCEL or WAKE_SIGNAL. In the runtime. */
void wait_cut(struct uk_thread *t, uint8_t ask);
/* t itself, or a handler on its stack: its wait, if it is in one, ends with WAKE_SIGNAL. */
void wait_interrupted(struct uk_thread *t);
/* The same: is it in one? Then it stands in a queue, which it leaves before any handler runs. */
static inline bool wait_begun(const struct uk_thread *t)
{
	return W_STATE(load_acquire(&t->wait)) != W_IDLE;
}
/* t, the caller, has jumped out of a handler, and so perhaps out of a wait that it interrupted. */
void wait_left(struct uk_thread *t);
/* -ETIMEDOUT, -ECANCELED, -EINTR or 0 for a reason */
int wake_error(unsigned reason);

/* The vp of the caller (user thread in the runtime), NULL for a foreign thread. Re-read
 * after every park. */
struct uk_vp *sched_vp(const struct uk_thread *t);
/* The vp that was the only one when the first was made, while it still is; NULL: there are
 * several, or none yet. Never another one than this. */
struct uk_vp *sched_only_vp(void);
/* Cached clock of that vp, or the real one for a foreign thread: cheap, may lag by one
 * dispatcher pass. */
int64_t sched_clock_coarse(const struct uk_thread *t);

/* I/O: submit op to the right reactor for this thread (its vp's, or the set's reactive vp
 * for this class), park until done. Returns op->res; on deadline -ETIMEDOUT, on cancel
 * -ECANCELED, unless the kernel had finished: then its result counts. User threads only. */
enum io_class { IO_CLASS_NET, IO_CLASS_FILE };
int sched_io(struct uk_thread *t, struct io_op *op, enum io_class c, int64_t deadline);
/* op has ended, was IO_SEND_ZC or IO_SENDMSG_ZC, and is still where it was: park until the
 * kernel has let go of its memory. Nothing cuts that short. */
void sched_io_lent(struct uk_thread *t, struct io_op *op);
/* Submit op[0..n) and park until one of them has ended, or by then; the others are ended, and
 * when it returns all have. 0, -ETIMEDOUT, -ECANCELED: what ended the wait. */
int sched_io_any(struct uk_thread *t, struct io_op *op, unsigned n, enum io_class c,
		 int64_t deadline);
/* Would an operation that needs not wait be handed over in a moment, with those of others in one
 * system call? */
bool sched_io_dense(const struct uk_thread *t);
/* Submit such a one, to the caller's own vp, and park until it is done. Nothing cuts that short. */
int sched_io_soon(struct uk_thread *t, struct io_op *op);
/* A read that has just found nothing, tried once more when the calling thread's vp has nothing
 * else to do (event/late.c). A result as of the reactor's; -EAGAIN: there is still nothing. May
 * it be? Where another vp or the kernel's thread carries it out, no; nor where others are ready
 * and a ring will take the reads of many in one call. */
bool sched_io_may_be_late(const struct uk_thread *t);
int sched_io_late(struct uk_thread *t, struct io_op *op);
/* Can the caller's reactor do this kind? False for foreign threads. */
bool sched_io_can(struct uk_thread *t, enum io_kind kind, enum io_class c);
/* Is it carried out by the set's network processor? */
bool sched_io_served(const struct uk_thread *t);
/* -- for operations of a sink, which no thread waits for -- */
struct vp_msg;
/* The vp whose reactor would take such an op of the caller's; NULL: it can't. */
struct uk_vp *sched_io_home(struct uk_thread *t, enum io_kind kind, enum io_class c);
/* What is on its way to another vp, all in one message's time. Zero: nothing. */
struct io_parcel {
	struct vp_msg *newest, *oldest;
	struct uk_vp *home;
	unsigned n;
};
/* Submit op (op->sink is set) to that vp; it goes with the parcel, if that is not the caller's.
 * m, as op, stays where it is until op has ended. */
void sched_io_send(struct uk_thread *t, struct io_op *op, struct vp_msg *m,
		   struct uk_vp *home, struct io_parcel *p);
/* The parcel goes. */
void sched_io_sent(struct io_parcel *p);
/* Ask for op's end, which the caller keeps from being used again meanwhile. May park. */
void sched_io_cancel(struct uk_thread *t, struct io_op *op, struct uk_vp *home);
/* A sink, of an op that it has just been given, where that was pending: once more. */
void sched_io_again(struct io_op *op, struct reactor *r);
/* Hand over to the kernel what the caller's vp has submitted, and see what has ended. */
void sched_collect(struct uk_thread *t);

/* Streams that are received ahead: see sched/io.c. */
#define SCHED_AHEAD_FDS (1u << 20)
extern uint16_t sched_ahead[SCHED_AHEAD_FDS];
static inline bool sched_is_ahead(int fd)
{
	return (unsigned)fd < SCHED_AHEAD_FDS && load_relaxed(&sched_ahead[fd]) != 0;
}
void sched_ahead_begin(int fd);
/* After sched_io_cancel_fd, before the number can mean another file. */
void sched_ahead_end(int fd);
/* op: IO_RECV_AHEAD, or IO_RECV again. As sched_io, of class net. */
int sched_recv_ahead(struct uk_thread *t, struct io_op *op, int64_t deadline);
/* End every op pending on fd, on all vps; returns when they have all ended. keep: a descriptor
 * of the same file on which their threads go on (REACTOR_MOVED); -1: with -EBADF. */
void sched_io_cancel_fd(struct uk_thread *t, int fd, int keep);
/* fd has come to mean another file, or none: those that were pending on it before begin again,
 * by the number. Is there any? What is on its way will ask for the file that it is now. */
void sched_io_anew(struct uk_thread *t, int fd);
bool sched_io_peek(int fd);
/* Would it find one? Any thread; no vp: no. */
bool sched_io_pending(int fd);
/* Do all reactors hold the files of their operations (struct reactor_ops)? */
bool sched_io_holds(void);
/* One more than the highest number that a wait or a request has named: who closes a range need not
 * look for anybody beyond. It grows. Any thread; before it looks up what the number means. */
extern uint32_t sched_io_beyond;
void sched_io_names_slow(int fd);
static inline void sched_io_names(int fd)
{
	if (unlikely((uint32_t)fd >= load_relaxed(&sched_io_beyond)))
		sched_io_names_slow(fd);
}

/* Bracket a call that may block the kernel thread. mark: the monitor finds us (cheap, for
 * calls that seldom block); release: the vp goes to a spare at once if work waits. Both are
 * called in the runtime (after rt_enter) and leave it for the duration: between begin and
 * end nothing of the runtime may be touched. Foreign threads: no effect. */
void block_begin(struct uk_thread *t, bool release);
void block_end(struct uk_thread *t);
/* Leave the runtime for a call or an access that does not wait, but whose memory is the
 * program's and may fault: on a page that another user thread has to bring (userfaultfd), on
 * a file system that hangs. Inside the runtime that would keep the vp (law 1). Unmarked: it
 * is nearly always over at once. The same rules as for block_begin; foreign threads, too. */
void outside_begin(struct uk_thread *t);
void outside_end(struct uk_thread *t);

/* -- signals for user threads: signal.c; the drop-in knows masks and handlers -- */

/* The drop-in sets it: run the handlers of handler_thread(), outside the runtime; or cancel the
 * caller, a kernel thread. context: of the kernel signal that interrupted its user code; NULL:
 * at the end of a call. */
extern void (*thread_signals)(void *context);
/* A system call gave -EINTR: has a handler run in it? Then whoever called the runtime is told, and
 * judges. Else, and without the drop-in, the call is made again: the notice that an operation of a
 * ring is over looks like a signal to the kernel. */
static inline bool sched_eintr_counts(const struct uk_thread *t)
{
	return t->kind == THREAD_USER && thread_signals && thread_asked(t, ASK_SIGNAL);
}
/* Likewise for a foreign thread, which has put a handler off because it was in the runtime: it
 * leaves it. A wait of its that a handler interrupts ends with WAKE_SIGNAL then. */
extern void (*foreign_signals)(void);
/* A kernel thread has its descriptor, to wait and to wake; outside the runtime. NULL: nothing to do. */
extern void (*foreign_adopted)(void);
/* It says the mask of the calling user thread, which is not its carrier's. NULL: there is none. */
extern uint64_t (*thread_mask)(void);
/* t has a signal to handle: it comes out of its wait, or is interrupted where it computes or
 * sleeps in the kernel, and thread_signals is called there; restart: a system call of its that
 * is interrupted goes on. A kernel thread likewise. In the runtime. */
void thread_interrupt(struct uk_thread *t, bool restart);
/* thread_signals begins: t is asked no more. What comes from now on asks again. */
void thread_signals_seen(struct uk_thread *t);
/* What interrupts is installed; carriers exist. */
void thread_signals_init(void);
/* What interrupts the caller in the kernel waits until it is open again. *open, the
 * kernel's part of a sigset_t: the mask with which it is; NULL: only that is changed. */
void interrupts_shut(void *open);
void interrupts_open(const void *open);
/* The user thread in whose context the caller runs, also in a handler; or NULL. */
struct uk_thread *handler_thread(void);
/* Around a handler that interrupted user code of a user thread: for so long the thread is a
 * foreign one, bound to its carrier, since no context is switched in a handler (law 3).
 * begin: NULL: it is none, or is one already. */
struct uk_thread *handler_begin(void);
void handler_end(struct uk_thread *t);
/* A jump is about to leave the caller's handler, if it is in one: what handler_begin gave, or
 * NULL. */
struct uk_thread *handler_left(void);
/* In the drop-in: a carrier answers in a handler, as soon as it runs; context: of what that has
 * interrupted, a system call goes on. False: it is not asked. */
enum carrier_question { QUESTION_FRAMES, QUESTION_MASK, CARRIER_QUESTIONS };
extern void (*carrier_answers[CARRIER_QUESTIONS])(void *context); /* set at load time */
bool carrier_ask(const struct carrier *c, enum carrier_question q);
/* bound.c: the calling user thread and its kernel thread belong to each other from now on, and its
 * calls are those of a kernel thread; nothing for who is one. Of a handler: of the thread that it
 * interrupted. 0 or -ENOMEM. */
int sched_bind(void);
/* Is it? */
bool sched_bound(void);
/* t is cancelled; if it is bound, what it waits for as a guest ends, too. In the runtime. */
void sched_cancel_bound(struct uk_thread *t);
/* At its end, or nothing: it ends on another carrier, and its kernel thread does with it. */
void sched_unbind(void);
/* For setxid.c: a 33 that signal.c has sent. */
bool signal_is_ours(const siginfo_t *info);
void signal_interrupted(const siginfo_t *info, void *context);

/* Async-signal-safe helpers for uk_sem_post. Is the calling kernel thread inside the
 * runtime (so a handler interrupted it)? */
bool rt_in_runtime(void);
/* It is not: rt_enter and rt_exit, not to another carrier, and if need be without a vp, so there
 * is nothing that it may do but to fire. */
void rt_enter_here(void);
void rt_exit_here(void);
/* It is: deferred_wake will be called when this kernel thread leaves the runtime, or before it
 * sleeps in it, or by another one if it sleeps already (enter.c). False: it is not inside, do
 * it yourself. */
bool rt_defer_wake(void);
/* The sync room sets it, and knows by itself what there is to wake. */
extern void (*deferred_wake)(void);

/* Counters of the current vp (or a shared set for foreign threads, lossy: what must be exact
 * is added to atomically there). */
#define COUNT(t, field) bump(&sched_count(t)->field, 1)
struct vp_count *sched_count(struct uk_thread *t);
struct vp_count *sched_foreign_count(void);

struct vp_count {
	uint64_t switches, yields, parks, readies, creates, exits, steals, inbox, kicks,
	    io_inline, io_parked, io_cancels, timers, timer_fires, handoffs_mark,
	    returns, syscalls;
};

/* So many I/O calls have ended without parking; no lock is held. A thread that makes nothing but
 * such calls never switches, and no monitor can take its vp away, so once in a while it
 * yields by itself. */
void sched_make_room(struct uk_thread *t);
static inline void sched_inline(struct uk_thread *t, unsigned calls)
{
	struct vp_count *c = sched_count(t);
	uint64_t n = load_relaxed(&c->io_inline);

	store_relaxed(&c->io_inline, n + calls);
	if (unlikely(n / 256 != (n + calls) / 256) && t->kind == THREAD_USER)
		sched_make_room(t);
}

/* Start the runtime: 0 or -errno. Idempotent, any thread. */
int sched_start(void);

/* In a forked child only the thread that forked goes on. The sync room sets this; it is
 * called in the child, by fork itself, for every other thread that stands in a wait: what
 * that one did to the object that it waits for is to be undone. Then once with NULL. */
extern void (*wait_lost)(struct uk_thread *t);
extern uint32_t sched_forks; /* how many forks lie between us and the first process */
/* A forked child whose runtime has not been rebuilt yet: do it (not in a signal handler). */
void sched_settle(void);
bool sched_unsettled(void);

/* share.c: around what gives other processes our open files, a fork of whatever kind. In a child
 * with memory of its own there need be no end. Async-signal-safe. */
#define SHARE_EPOCH 24
#define SHARE_UNDER_WAY ((1u << SHARE_EPOCH) - 1)
extern uint64_t sched_shares;
void sched_share_begin(void);
void sched_share_end(void);

#endif

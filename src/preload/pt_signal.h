/* SPDX-License-Identifier: Apache-2.0 */
/* pt_signal.h - what the files about signals share: pt_signal.c (the design; handlers),
 * pt_receiver.c (the process's signals, sigwait), pt_signal_calls.c (the program's
 * calls), pt_signal_old.c (old ones), pt_jump.c, pt_timer.c, pt_cpu_timer.c,
 * pt_owner.c. */
#ifndef PRELOAD_PT_SIGNAL_H
#define PRELOAD_PT_SIGNAL_H

#include <string.h>

#include "preload/pt.h"

#ifndef SS_AUTODISARM
#define SS_AUTODISARM (int)(1u << 31)
#endif
#define BIT(sig) (1ull << ((sig)-1))
#define SIGNAL_LAST 64
#define WAKE_RECEIVER __SIGRTMIN
#define OURS (BIT(__SIGRTMIN) | BIT(__SIGRTMIN + 1))
#define NEVER_BLOCKED (OURS | BIT(SIGKILL) | BIT(SIGSTOP))
#define SYNCHRONOUS                                                                    \
	(BIT(SIGSEGV) | BIT(SIGBUS) | BIT(SIGILL) | BIT(SIGFPE) | BIT(SIGTRAP) |       \
	 BIT(SIGSYS))

struct signal_item {
	struct signal_item *next;
	bool process; /* sent to the process; goes back if nobody takes it */
	siginfo_t info;
};

/* A handler that runs, for a jump that leaves it. */
struct handler_frame {
	struct handler_frame *prev;
	uint64_t mask; /* the thread's, before it */
	struct uk_thread *was;
	uintptr_t sp;        /* stack pointer of what it interrupted */
	uintptr_t low, high; /* the alternate stack on which it runs; 0: on none */
	stack_t disarmed;    /* that stack, if it is disarmed meanwhile */
	struct io_op *outer; /* what the calls that it interrupted hold (io/io.h) */
};

/* Is sp on this alternate stack? As in the kernel: never with SS_AUTODISARM. */
static inline bool on_stack(const stack_t *st, uintptr_t sp)
{
	return !(st->ss_flags & (SS_DISABLE | SS_AUTODISARM)) &&
	       sp - (uintptr_t)st->ss_sp - 1 < st->ss_size;
}

static inline uint64_t word_of(const sigset_t *set)
{
	uint64_t w;

	memcpy(&w, set, sizeof(w));
	return w;
}

static inline void word_to(sigset_t *set, uint64_t w)
{
	sigemptyset(set);
	memcpy(set, &w, sizeof(w));
}

static inline struct posix_thread *signals_thread(struct posix_signals *s)
{
	return container_of(s, struct posix_thread, signals);
}

/* -- pt_interrupt.c -- */

/* t has a signal to handle. It comes out of its wait, or is interrupted where it
 * computes or sleeps in the kernel, and thread_signals is called there. restart: a
 * system call of t that is interrupted goes on. The same for a kernel thread. Called in
 * the runtime. */
void thread_interrupt(struct uk_thread *t, bool restart);
/* Installs the handlers that interrupt threads. Carriers exist already. */
void thread_signals_init(void);
/* The signals that interrupt the caller in the kernel are blocked until
 * interrupts_open. *open, the kernel's part of a sigset_t: the mask with which they are
 * open; NULL: only they are changed. */
void interrupts_shut(void *open);
void interrupts_open(const void *open);
/* A jump is about to leave the caller's handler, if it is in one. Returns what
 * handler_begin returned, or NULL. */
struct uk_thread *handler_left(void);

/* -- pt_signal.c -- */

/* Enters the runtime, where handlers are deferred, and takes the lock. Not in a forked
 * child that has not entered the runtime yet (false): it is alone, and fork must stay
 * cheap. */
bool signals_enter(void);
void signals_leave(bool entered);
void signals_lock(void); /* only the lock, to park in between */
void signals_unlock(void);
extern struct list signals_all; /* lock: user threads that live */
/* Under the lock: the living user thread with this gettid(), or NULL. */
struct posix_thread *signals_find(long tid);
static inline bool signals_lives(const struct posix_thread *pt) /* the same */
{
	return pt->signals.all.next != &pt->signals.all;
}
extern uint32_t signals_begun, handlers_begun; /* set once */
extern uint64_t signals_main_mask;             /* lock; all bits, once main has left */
extern struct sigaction
    signal_actions[SIGNAL_LAST + 1]; /* the program's; lock to write */
enum what { IGNORE, DEFAULT, HANDLE };
enum what what_of(const struct sigaction *a, int sig);
/* Under the lock: tells the kernel. */
void signal_install(int sig, const struct sigaction *a);
/* From now on handlers are called through us; the caller has a descriptor. */
void handlers_begin(void);
/* Under the lock: pending signals. */
int item_put(struct posix_signals *s, const siginfo_t *info, bool process);
bool item_take(struct posix_signals *s, uint64_t set, siginfo_t *info);
void item_free(struct signal_item *it);
/* Under the lock: sends a signal to s; 0 or -EAGAIN. */
int signal_post(struct posix_signals *s, const siginfo_t *info, bool process);
/* Outside the lock: a user thread lets these through, or they have a handler now. Acts
 * on TO_RUNNING. */
#define TO_RUNNING BIT(SIGPROF) /* sent to the running thread; open on carriers */
void signals_opened(uint64_t bits);
/* Under the lock: this signal is ignored from now on, so it is pending nowhere. */
void signals_discard(int sig);
/* Under the lock: main has this mask. */
void signals_watch_main(uint64_t mask);
/* Sets the mask of the caller, a user thread. deliver_own handles what it lets through
 * now. */
void mask_set(struct posix_signals *s, uint64_t mask);
void deliver_own(void);

/* -- pt_signal_calls.c -- */

/* The caller, a kernel thread, has this mask, or is about to set it. If it is main, the
 * receiver is told. */
void signals_kernel_mask(uint64_t mask);

/* -- pt_receiver.c -- */

/* Under the lock: one thread more, one thread less with this mask. */
uint16_t group_join(uint64_t mask);
void group_leave(uint16_t group);
/* Under the lock: what the receiver is to wait for. */
uint64_t receiver_set(void);
/* Outside the lock and the runtime: from now on it waits for these, too. */
void receiver_call(uint64_t set);
/* Outside the lock: the caller, s, lets these through from now on. It gets those that
 * are pending for the process before its call returns. */
void receiver_take(struct posix_signals *s, uint64_t set);
extern uint64_t signals_open; /* lock to write: what some user thread lets through */
/* Under the lock: gives a signal of the process to a user thread that may have it.
 * False: none may, or there is no memory. */
bool signal_route(const siginfo_t *info);
/* Gives a signal that was taken from the process back to it. */
void signal_to_process(const siginfo_t *info);
/* Outside the lock and the runtime: returns when the receiver does not wait for this
 * signal, which nobody lets through. */
void receiver_spare(uint64_t bit);
/* Under the lock: if s is parked in sigwait for this signal, it gets it. */
bool hand_to_waiter(struct posix_signals *s, const siginfo_t *info);
/* Under the lock: s waits in sigwait no more. What the receiver gave it, and it did not
 * take, goes back to the process. */
void sigwait_end(struct posix_signals *s);
/* Outside the lock and the runtime: the same, for the caller. */
void sigwait_left(struct posix_signals *s);
/* Under the lock: does a user thread wait in sigwait for one of these? */
bool sigwait_anybody(uint64_t set);
/* Starts the receiver, if there is none. Returns its id, or 0. */
uint32_t receiver_begin(void);
/* In a forked child. */
void receiver_forget(void);

/* -- pt_timer.c -- */

/* Outside the lock: the receiver got this from the kernel. */
void timer_expired(const siginfo_t *kernels);
/* Under the lock: does this timer signal one user thread? Then it expires. own: if that
 * thread is the caller, it checks what is pending next. */
bool timer_signals(timer_t id, bool own);
/* Under the lock: a thread takes this pending signal. */
void timer_taken(const siginfo_t *info);
/* Under the lock: the thread ends. */
void timers_gone(const struct posix_signals *to);
/* A forked child has no timers. */
void timers_forget(void);

/* -- pt_owner.c -- */

/* Outside the lock: the kernel has told the receiver that an fd is ready. */
void owner_told(const siginfo_t *kernels);
/* Under the lock: the thread ends. */
void owners_gone(const struct posix_signals *to);
/* In a forked child, where the parent's threads are still the owners. */
void owners_forget(void);

/* -- pt_cpu_timer.c -- */

/* Outside the lock: from now on libc's timer id, which was never armed, counts the CPU
 * time of the user thread with this gettid(). False: no memory, or no timer for the
 * alarm. */
bool cpu_timer_begin(timer_t id, uint32_t tid);
/* Under the lock: the timer ends, if it is one of these. Returns what to free outside
 * the lock, or NULL. */
void *cpu_timer_end(timer_t id);
/* Under the lock: the overruns of an expiration that is taken now. */
int64_t cpu_timer_overrun(timer_t id);
/* Under the lock: was that signal to the receiver a thread's CPU-time alarm? */
bool cpu_timers_expired(const siginfo_t *kernels);
/* Outside the lock: expires the timers of the caller, a user thread, that are due. */
void cpu_timers_own(void);
/* Under the lock: the thread ends. */
void cpu_timers_gone(struct posix_thread *pt);
/* In a forked child. */
void cpu_timers_forget(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* signal.h - what the files about signals share: signal.c (the essay; handlers), receiver.c
 * (the process's signals, sigwait), signal_calls.c (what the program calls), signal_old.c (what old
 * ones do), jump.c. */
#ifndef POSIX_SIGNAL_H
#define POSIX_SIGNAL_H

#include <string.h>

#include "posix/posix.h"

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
	bool process; /* it was the process's, and is again if nobody takes it */
	siginfo_t info;
};

/* A handler that runs, for who leaves it by a jump. */
struct handler_frame {
	struct handler_frame *prev;
	uint64_t mask; /* before it */
	struct uk_thread *was;
	uintptr_t sp;        /* of what it interrupted */
	uintptr_t low, high; /* the alternate stack on which it runs; 0: on none */
	stack_t disarmed;    /* that stack, if it is none meanwhile */
};

/* Is sp on this alternate stack? As the kernel says: never, if it disarms itself. */
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

/* -- signal.c -- */

/* The lock of all this, and the runtime with it: a handler waits until it is left. Not in a
 * forked child that has not entered the runtime yet: it is alone, and shall stay cheap. */
bool signals_enter(void);
void signals_leave(bool entered);
void signals_lock(void); /* the lock alone, for who parks between */
void signals_unlock(void);
extern struct list signals_all; /* lock: of user threads that live */
/* Under the lock: who has that gettid(), NULL: nobody that lives. */
struct posix_thread *signals_find(long tid);
static inline bool signals_lives(const struct posix_thread *pt) /* under it, too */
{
	return pt->signals.all.next != &pt->signals.all;
}
extern uint32_t signals_begun, handlers_begun; /* set once */
extern uint64_t signals_main_mask;             /* lock; all, once main has left */
extern struct sigaction
    signal_actions[SIGNAL_LAST + 1]; /* the program's; lock to write */
enum what { IGNORE, DEFAULT, HANDLE };
enum what what_of(const struct sigaction *a, int sig);
/* The kernel is told; under the lock. */
void signal_install(int sig, const struct sigaction *a);
/* From now on handlers are called through us; the caller has a descriptor. */
void handlers_begin(void);
/* Under the lock: pending signals. */
int item_put(struct posix_signals *s, const siginfo_t *info, bool process);
bool item_take(struct posix_signals *s, uint64_t set, siginfo_t *info);
void item_free(struct signal_item *it);
/* Under the lock: a signal for s; 0 or -EAGAIN. */
int signal_post(struct posix_signals *s, const siginfo_t *info, bool process);
/* Outside the lock: of TO_RUNNING a user thread lets these through, or they have a handler. */
#define TO_RUNNING BIT(SIGPROF) /* the kernel's, to who runs: carriers let it through */
void signals_opened(uint64_t bits);
/* Under the lock: this signal is ignored from now on, so nowhere is it pending. */
void signals_discard(int sig);
/* Under the lock: main has this mask. */
void signals_watch_main(uint64_t mask);
/* The caller's mask, a user thread's. What it lets through now is handled by deliver_own. */
void mask_set(struct posix_signals *s, uint64_t mask);
void deliver_own(void);

/* -- signal_calls.c -- */

/* The caller, a kernel thread, has this mask, or is about to: if it is main, what that means for
 * the receiver. */
void signals_kernel_mask(uint64_t mask);

/* -- receiver.c -- */

/* Under the lock: one more, one less with this mask. */
uint16_t group_join(uint64_t mask);
void group_leave(uint16_t group);
/* Under the lock: what the receiver is to wait for. */
uint64_t receiver_set(void);
/* Outside the lock and the runtime: it does. */
void receiver_call(uint64_t set);
/* Outside the lock: the caller, s, lets these through from now on. What is pending of them for the
 * process is its own, before its call comes back. */
void receiver_take(struct posix_signals *s, uint64_t set);
extern uint64_t signals_open; /* lock to write: what some user thread lets through */
/* Under the lock: a signal of the process's for one of those who may have it. False: nobody may. */
bool signal_route(const siginfo_t *info);
/* What was taken of the process's is the process's again. */
void signal_to_process(const siginfo_t *info);
/* Outside the lock and the runtime: it does not wait for this signal, which nobody lets through. */
void receiver_spare(uint64_t bit);
/* Under the lock: s is parked in sigwait for it, and gets it. */
bool hand_to_waiter(struct posix_signals *s, const siginfo_t *info);
/* Under the lock: s waits in sigwait no more. What the receiver has given to it, and it did not
 * take, is the process's again. */
void sigwait_end(struct posix_signals *s);
/* Outside the lock and the runtime: the same, for the caller. */
void sigwait_left(struct posix_signals *s);
/* Under the lock: a user thread waits in sigwait for one of these. */
bool sigwait_anybody(uint64_t set);
/* It is there; its id, or 0. */
uint32_t receiver_begin(void);
/* A forked child. */
void receiver_forget(void);

/* -- timer.c -- */

/* Outside the lock: the receiver got this from the kernel. */
void timer_expired(const siginfo_t *kernels);
/* Under the lock: does this timer signal one user thread? Then it has expired. own: that is the
 * caller, who looks what is pending next. */
bool timer_signals(timer_t id, bool own);
/* Under the lock: a thread takes what was pending for it. */
void timer_taken(const siginfo_t *info);
/* Under the lock: it ends. */
void timers_gone(const struct posix_signals *to);
/* A forked child has none. */
void timers_forget(void);

/* -- cpu_timer.c -- */

/* Outside the lock: libc's timer id, which nobody has set, counts the CPU time of the user thread
 * with that gettid(). False: no memory. */
bool cpu_timer_begin(timer_t id, uint32_t tid);
/* Under the lock: it is none any more, if it was one. To free, outside. */
void *cpu_timer_end(timer_t id);
/* Under the lock: it has expired, and is taken for more than this once: so often. */
int64_t cpu_timer_overrun(timer_t id);
/* Under the lock: what the receiver got was the alarm of one's CPU time. */
bool cpu_timers_expired(const siginfo_t *kernels);
/* Outside the lock: those of the caller, a user thread, that are due happen. */
void cpu_timers_own(void);
/* Under the lock: it ends. */
void cpu_timers_gone(struct posix_thread *pt);
/* A forked child. */
void cpu_timers_forget(void);

#endif

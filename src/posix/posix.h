/* SPDX-License-Identifier: Apache-2.0 */
/* posix.h - the drop-in: libc's names on top of the runtime, for programs that nobody here
 * wrote. `uk run` preloads libuk-posix.so, which is the runtime and this room.
 *
 * Who calls decides what a name does:
 *
 *   a user thread, outside the runtime      ours: it parks, and its vp runs another one
 *   a user thread inside the runtime        libc's: a signal handler interrupted the runtime
 *   a child of vfork                        libc's: it borrows a thread that is asleep
 *   a kernel thread (main, libc's helpers)  libc's call; for locks ours, since user threads
 *                                           and kernel threads share them
 *
 * posix_user() tells these apart. The program's first thread stays the kernel thread that it
 * was: its signals, its stack, its id and its waits are the kernel's own. A program that never
 * creates a thread never starts the runtime.
 *
 * A pthread_t is the address of libc's struct pthread, for user threads in a block that
 * the runtime made (law 2), so pthread_self(), errno, keys, the cancellation state and the
 * unwinder's chain are libc's own, unchanged. What the room remembers for a thread lies in
 * its TLS (struct posix_thread): from a pthread_t it is a constant away (posix_of).
 *
 * What is not wrapped still never stalls a vp (law 1): its carrier is handed off. So a
 * name is taken over for one of two reasons: it would be wrong otherwise (identity, signals,
 * locks, whose words the two worlds share), or slow. */
#ifndef POSIX_POSIX_H
#define POSIX_POSIX_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/base.h"
#include "base/libc.h"
#include "base/list.h"
#include "life/life.h"
#include "sched/sched.h"
#include "thread/thread.h"
#include "thread/tls.h"
#include "uk/vp.h"

/* -- libc's own function of a name that we define, past us -- */

/* Aborts if libc has none. dlsym: not in a signal handler that nobody has prepared for, hence
 * posix_start looks up what handlers may call. */
void *posix_libc(const char *name);

/* NEXT(read)(fd, buf, n): looked up once. */
#define NEXT(name)                                                                     \
	({                                                                             \
		static __typeof__(&name) next_;                                        \
		__typeof__(&name) fn_ = load_relaxed(&next_);                          \
                                                                                       \
		if (unlikely(!fn_)) {                                                  \
			fn_ = (__typeof__(&name))posix_libc(#name);                    \
			store_relaxed(&next_, fn_);                                    \
		}                                                                      \
		fn_;                                                                   \
	})

/* -- and its names of one function -- */

/* libc has the function under a second name, or under 64 (the same, where long has 64 bits). */
#if __has_attribute(copy)
#define LIKE(name) copy(name),
#else
#define LIKE(name)
#endif
#define ALSO(name, second)                                                             \
	extern LIBC_API __typeof__(name) second __attribute__((LIKE(name) alias(#name)))

/* -- threads -- */

struct signal_item;
struct handler_frame;

/* What a user thread has of signals; a kernel thread's are the kernel's, but for late. The
 * lock is signal.c's. */
struct posix_signals {
	struct list all;           /* lock; of those that live */
	uint64_t mask;             /* bit sig - 1; itself, under the lock */
	uint64_t pending;          /* lock: what items are about */
	struct signal_item *items; /* lock, oldest first */
	uint64_t waits;            /* lock: sigwait waits for these; 0: it does not */
	uint64_t token;            /* its wait's */
	struct uk_thread *waiter;  /* who waits there: the thread, or as whose guest */
	siginfo_t *got; /* lock: where who finds it waiting leaves what comes */
	uint64_t
	    late; /* came when no handler could run, on its own kernel thread; itself */
	uint32_t ran;  /* handlers that have run; itself, as are the next three */
	uint32_t kept; /* of these: had no SA_RESTART */
	uint32_t ran_before, kept_before; /* when the current call began */
	bool
	    masked; /* in a call that has a mask of its own: from before it is set. Itself */
	/* In a call of the runtime's; a handler has run in it, so it shall not wait any more. Itself */
	bool calling, cut;
	uint64_t unmasked; /* then: the mask that is the thread's after it; itself */
	stack_t stack;     /* sigaltstack's; itself */
	struct handler_frame
	    *frames;    /* of handlers that run, innermost first; itself */
	uint16_t group; /* lock: of those with the same mask */
};

struct posix_thread {
	struct uk_thread *thread; /* NULL: a kernel thread. Creator, then constant */
	void *(*fn)(void *);      /* what it runs; creator */
	void *arg;
	void *result;    /* of pthread_exit; itself */
	uint32_t exited; /* pthread_exit was called; itself */
	uint32_t policy; /* as pthread_setschedparam set it; anyone */
	int32_t priority;
	cpu_set_t *cpus; /* as it was told to run on; NULL: not told (tid.c); anyone */
	int8_t nice;     /* if niced; anyone */
	bool niced;
	struct posix_signals signals;
	uint32_t tid;       /* 0: not asked for yet. Itself; see posix_tid */
	struct list robust; /* robust mutexes that it holds; zero: none yet. Itself */
	struct deputy
	    *deputy;     /* its owner of mutexes between processes (shared.c); itself */
	uint32_t shared; /* how many of these it holds; itself */
	int32_t
	    alarm; /* its alarm of CPU time, 1 + the kernel's number; 0: none. signal.c's
			    lock */
	bool
	    apart; /* it has set what is its kernel thread's, or inherited it; itself */
	bool counted; /* a kernel thread that counts as one of the program's; itself */
};

extern __thread struct posix_thread posix_self_tls
    __attribute__((tls_model("initial-exec")));

/* The caller, if it may use the runtime: it is a user thread outside of it. Else NULL. */
static inline struct uk_thread *posix_user(void)
{
	struct uk_thread *t = thread_self_tls;

	return t && load_relaxed(&t->kind) == THREAD_USER && !t->depth ? t : NULL;
}

/* Are the caller's signals ours, not the kernel's, and may it use the runtime? A user thread's are,
 * also while it is its carrier's guest. */
static inline bool posix_signalled(void)
{
	const struct uk_thread *t = thread_self_tls;

	return t && !t->depth && (load_relaxed(&t->kind) == THREAD_USER || t->carrier);
}

/* Is the caller a child of vfork, with its parent's thread and memory? */
static inline bool posix_borrowed(void)
{
	const struct uk_thread *t = thread_self_tls;

	return unlikely(t && t->depth == DEPTH_VFORK);
}

/* The room's part of a living thread, or one that has ended and was not joined. */
static inline struct posix_thread *posix_of(pthread_t th)
{
	return tls_address_in((void *)th, &posix_self_tls);
}

static inline void posix_call_begins(void)
{
	struct posix_signals *s = &posix_self_tls.signals;

	if (unlikely(s->masked)) /* it has begun already */
		return;
	s->ran_before = s->ran;
	s->kept_before = s->kept;
}

/* What a handler asked of the call that it came in (signals.cut) has been done. */
void posix_cut_done(void);
static inline void posix_call_ends(void)
{
	posix_self_tls.signals.calling = false;
	if (unlikely(posix_self_tls.signals.cut))
		posix_cut_done();
}

/* The user thread that th names; NULL: a kernel thread, or nobody any more. */
static inline struct uk_thread *posix_thread(pthread_t th)
{
	struct uk_thread *t = posix_of(th)->thread;

	return t && t->tp == (void *)th ? t : NULL;
}

/* What a mutex calls its owner: the tid in libc's block, which is the kernel's id of a kernel
 * thread, and one of our own of a user thread. The thread of a forked child has a new one. */
uint32_t posix_tid_slow(void);
static inline uint32_t posix_tid(void)
{
	uint32_t tid = posix_self_tls.tid;

	return likely(tid) ? tid : posix_tid_slow();
}

/* Is it a user thread's gettid()? The one that has forked has the id of its process in the child;
 * posix_forker is that id (0: a kernel thread has forked, or none), set in the child while alone. */
extern uint32_t posix_forker;
static inline bool posix_users_tid(long tid)
{
	return (tid >= TLS_FIRST_TID && tid <= INT32_MAX) ||
	       (tid > 0 && tid == (long)posix_forker);
}

/* lock.c, shared.c: the caller ends, and with it its hold on robust mutexes; it is the one
 * thread of a forked child, and what it held its parent holds. */
void posix_robust_died(void);
void posix_robust_forked(void);
void shared_died(void);
void shared_forked(void);

/* The calling kernel thread's end is noticed: main's counts (the process ends with its last
 * thread), and robust mutexes are given up. False: there is no key for it. */
bool posix_end_counts(void);
/* The program has no other thread. */
bool posix_alone(void);
/* libc has a kernel thread of its own that never ends; each calls a function at times. */
enum posix_helper { HELPER_TIMER = 1, HELPER_QUEUE = 2 };
void posix_helper(enum posix_helper h);

/* -- memory: the kernel is asked; NULL is -- */

bool posix_readable_slow(const void *p, size_t n);
/* May the caller look there? Its own stack it may. */
static inline bool posix_readable(const void *p, size_t n)
{
	const struct uk_thread *t = thread_self_tls;

	return !p || (t && t->kind == THREAD_USER && thread_on_stack(t, p, n)) ||
	       posix_readable_slow(p, n);
}

/* -- results -- */

/* r as a call of the runtime gives it, -errno: as libc does. */
static inline long posix_result(long r)
{
	if (likely(r >= 0))
		return r;
	errno = (int)-r;
	return -1;
}

/* -- cancel.c, signal.c -- */

/* Act upon a cancellation that is pending and enabled: then it does not return. At the begin
 * of each call that is a cancellation point, and after its wait. Outside the runtime. */
void posix_testcancel(void);
/* In a handler that interrupted user code at context, or at the end of a call (NULL): if the
 * thread is cancelled and may be where it stands, it does not return. */
void posix_cancel_now(const void *context);
/* The thread's own code has ended. */
void posix_cancel_end(void);

/* The current call ended with -EINTR: do the handlers that have run let it go on? */
static inline bool posix_handlers_let(bool restarts)
{
	const struct posix_signals *s = &posix_self_tls.signals;

	return s->ran == s->ran_before || (restarts && s->kept == s->kept_before);
}

/* A call of the runtime's gave r, outside the runtime: is it to be made again? -ECANCELED:
 * yes, if posix_testcancel comes back. -EINTR: handlers have run; yes, if all of them were
 * installed with SA_RESTART and the call is one that restarts. A limit must be absolute. */
bool posix_cut(long r, bool restarts);
static inline bool posix_again(long r, bool restarts)
{
	return unlikely(r == -ECANCELED || r == -EINTR) && posix_cut(r, restarts);
}

/* The same for a wait that is no cancellation point and never ends with EINTR. Its deadline must
 * be absolute. */
static inline bool posix_waits_on(long r)
{
	if (unlikely(r == -ECANCELED))
		uk_thread_cancel_clear(); /* libc's word remembers */
	return unlikely(r == -ECANCELED || r == -EINTR);
}

/* A call that handlers may cut short begins; ends. */
static inline void posix_call_begins(void);
static inline void posix_call_ends(void);

/* A blocking call that is a cancellation point, by an expression of the runtime's; what libc
 * would return, with errno. restarts: asked only when handlers have cut it. */
#define POSIX_CALL(restarts, call)                                                     \
	({                                                                             \
		long r_;                                                               \
                                                                                       \
		posix_testcancel();                                                    \
		posix_call_begins();                                                   \
		posix_self_tls.signals.calling = true;                                 \
		do                                                                     \
			r_ = (call);                                                   \
		while (posix_again(r_, r_ == -EINTR && (restarts)));                   \
		posix_call_ends();                                                     \
		posix_result(r_);                                                      \
	})

/* A user thread begins with this signal mask, NULL: its creator's, who calls; and ends itself. */
void signals_born(struct posix_thread *pt, const sigset_t *own);
void signals_gone(struct posix_thread *pt);
/* Before handlers are ours. */
void posix_cancel_begin(void);
/* It has unwound its stack, perhaps in a handler. */
void signals_unwound(void);
/* The first user thread is about to be: handlers are ours from now on. */
void signals_begin(void);
/* main has ended, and the process has not. */
void signals_main_left(void);
/* A call of the caller's has told that a child has ended or stopped: its SIGCHLD is there, and where
 * main blocks it and the caller does not, it is handled before the call comes back. */
void signals_child_ended(void);
/* The user thread with an id of gettid's; 0: none. */
pthread_t posix_by_tid(long tid);
/* Its descriptor, which is there when it has ended, too; its block may go. */
struct uk_thread *posix_thread_by_tid(long tid);
/* tgkill(2) to an id that gettid has given a user thread; 0 or -errno. */
long posix_tgkill(long pid, long tid, int sig);
long posix_tgsigqueueinfo(long pid, long tid, int sig, const void *info);
/* ppoll and its like: the mask is *mask for one call. Signals that it lets through are handled
 * between the two, and say so: true, the call is not to be made (EINTR). */
bool posix_mask_begin(const sigset_t *mask, uint64_t *old);
void posix_mask_end(const sigset_t *mask, uint64_t old);

/* A function of libc's own that may wait in the kernel, and may be where the thread is
 * cancelled. */
static inline bool posix_kernel_begin(void)
{
	bool user = posix_user() != NULL;

	if (user)
		uk_blocking_begin();
	return user;
}
static inline void posix_kernel_end(const bool *user)
{
	if (*user)
		uk_blocking_end();
}
#define POSIX_KERNEL(call)                                                             \
	({                                                                             \
		bool user_ __attribute__((unused, cleanup(posix_kernel_end))) =        \
		    posix_kernel_begin();                                              \
                                                                                       \
		(call);                                                                \
	})

/* -- bound.c: what Linux keeps for each kernel thread -- */

/* The caller is about to set such a thing: a user thread is bound to its kernel thread. False, with
 * ENOMEM: it is not to be set. */
bool posix_apart(void);
/* The same before system call n, if it is one of these; false: it is not to be made. */
bool bound_syscall(long n, long *a);

/* -- close.c: for whoever closes by another name -- */

/* The runtime runs, and may be entered. */
bool posix_runs(void);
/* fd is about to be closed, or to become another file; false: nothing is open there (it is ours). */
bool posix_leave(int fd);
/* It has been. */
void posix_left(int fd);
/* The same for dup2(fd, at), unless that will fail anyway. */
bool posix_may_dup(int fd, int at);
/* 0 or -errno. */
long posix_close_range(unsigned first, unsigned last, unsigned flags);

/* -- time -- */

/* clock_gettime as the program sees it: of who comes after us, libc or a library that shows
 * another time (faketime). The runtime's own is libc's. */
typedef int clock_reader(clockid_t, struct timespec *);
clock_reader *clock_shown(void);

/* Nanoseconds of the runtime's clock (CLOCK_MONOTONIC) at which abs on clock is reached; NULL:
 * TIME_NEVER. -EINVAL: no such clock here, or nanoseconds out of range. A jump of the real-time
 * clock during the wait is not followed. */
int64_t posix_deadline(clockid_t clock, const struct timespec *abs);
/* The same in two steps, as libc looks: is it one at all? */
static inline bool posix_clock_ok(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}
static inline bool posix_time_ok(const struct timespec *abs)
{
	return abs->tv_nsec >= 0 && abs->tv_nsec < NS_PER_SEC;
}
/* A span of time from now; NULL, or more than the clock will ever show: TIME_NEVER. Whether it is
 * one, as the kernel looks. */
int64_t posix_after(const struct timespec *span);
static inline bool posix_span_ok(const struct timespec *span)
{
	return span->tv_sec >= 0 && posix_time_ok(span);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* pt.h - libc's names on top of the runtime, for unmodified programs. `uk run`
 * preloads libuk-posix.so, which is the runtime and this directory.
 *
 * The caller decides what a name does:
 *
 *   a user thread, outside the runtime      ours: it parks, and its vp runs another
 *                                           thread
 *   a user thread inside the runtime        libc's: a signal handler interrupted the
 *                                           runtime
 *   a child of vfork                        libc's: it borrows a thread that is asleep
 *   a kernel thread (main, libc's helpers)  libc's call; for locks ours, because user
 *                                           threads and kernel threads share them
 *
 * posix_user() tells these apart. The program's first thread stays a kernel thread: its
 * signals, its stack, its id and its waits are the kernel's own. A program that never
 * creates a thread never starts the runtime.
 *
 * A pthread_t is the address of libc's struct pthread. For a user thread, this lies in
 * a block that the runtime made (law 2, docs/ARCHITECTURE.md). So pthread_self(),
 * errno, keys, the cancellation state and the unwinder's chain are libc's own,
 * unchanged. What this directory keeps for a thread lies in its TLS (struct
 * posix_thread), at a constant distance from the pthread_t (posix_of).
 *
 * By law 1, a call that is not wrapped never stalls a vp either: the vp is handed off.
 * So a name is replaced for one of two reasons: libc's function would be wrong
 * (identity, signals, locks, whose words user threads and kernel threads share), or
 * slow. */
#ifndef PRELOAD_PT_H
#define PRELOAD_PT_H

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/base.h"
#include "base/libc.h"
#include "base/list.h"
#include "lifecycle/life.h"
#include "sched/sched.h"
#include "thread/thread.h"
#include "thread/tls.h"
#include "uk/vp.h"

/* -- libc's own function of a name that we define -- */

/* Aborts if libc has none. It calls dlsym, which is not safe in a signal handler. So
 * what handlers may call is looked up by AT_LOAD. */
void *posix_libc(const char *name);

/* NEXT(read)(fd, buf, n) calls libc's own read; looked up once. */
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

/* -- second names of a function -- */

/* libc has the function under a second name, or with 64 (the same, where long has 64
 * bits). */
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

/* The signals of a user thread. A kernel thread's signals are the kernel's: it uses
 * only late and the fields about its calls (ran, kept, calling). The lock is
 * pt_signal.c's. "self": only the thread itself uses the field. */
struct posix_signals {
	struct list all;           /* lock: link in signals_all */
	uint64_t mask;             /* bit sig - 1; self, changed under the lock */
	uint64_t pending;          /* lock: the signals that items are about */
	struct signal_item *items; /* lock: oldest first */
	uint64_t waits;            /* lock: sigwait waits for these; 0: none */
	uint64_t token;            /* of that wait */
	struct uk_thread *waiter;  /* what waits there: the thread, or its guest */
	siginfo_t *got; /* lock: in sigwait, where a sender leaves the signal */
	uint64_t late;  /* came when no handler could run; self */
	uint32_t ran;   /* handlers that have run; self, as are the next three */
	uint32_t kept;  /* of these: without SA_RESTART */
	uint32_t ran_before, kept_before; /* when the current call began */
	bool masked; /* in a call with a temporary mask, or about to set it; self */
	/* In a call of the runtime; a handler has run in it, so it must not wait any
	 * more. Both self */
	bool calling, cut;
	/* A handler has returned and its mask is about to go; a signal has come
	 * meanwhile, for which no handler may nest. Both self */
	bool returning, held;
	uint64_t unmasked; /* if masked: the thread's mask after the call; self */
	stack_t stack;     /* sigaltstack's; self */
	struct handler_frame *frames; /* handlers that run, innermost first; self */
	uint16_t group;               /* lock: see group_join */
};

/* The kernel's struct sched_attr, up to the fields that apply to all versions. Some
 * years' headers have none, and others have libc's. */
struct sched_own {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t deadline[3];
};

struct posix_thread {
	struct uk_thread *thread; /* NULL: a kernel thread. Creator, then constant */
	void *(*fn)(void *);      /* what it runs; the creator's */
	void *arg;
	void *result;    /* of pthread_exit; self */
	uint32_t exited; /* pthread_exit was called; self */
	uint32_t policy; /* as it was set, see policy_of; pt_signal.c's lock to write */
	int32_t priority;
	struct sched_own wish; /* if size: what the kernel is to get; the same lock */
	uint8_t binds;         /* it is to be bound (bound_ask); any thread sets */
	cpu_set_t
	    *cpus;   /* affinity that was set, or NULL (pt_tid.c); pt_signal.c's lock */
	int8_t nice; /* if niced; any thread */
	bool niced;
	struct posix_signals signals;
	uint32_t tid;          /* 0: not asked for yet; self. See posix_tid */
	struct list robust;    /* robust mutexes that it holds; zero: none yet; self */
	struct deputy *deputy; /* owns its process-shared mutexes (pt_shared.c); self */
	uint32_t shared;       /* how many of these it holds; self */
	int32_t
	    alarm; /* CPU-time alarm, 1 + the kernel's id; 0: none; pt_signal.c's lock */
	int32_t tracer; /* kernel thread that made its last ptrace request; self */
	bool apart;     /* it or its creator called posix_apart (pt_bound.c); self */
	bool counted;   /* a kernel thread that counts as one of the program's; self */
	bool detached;  /* created or made so; its creator, or who detaches it */
};

extern __thread struct posix_thread posix_self_tls
    __attribute__((tls_model("initial-exec")));

/* The caller, if it is a user thread outside the runtime (and so may use it); or
 * NULL. */
static inline struct uk_thread *posix_user(void)
{
	struct uk_thread *t = thread_self_tls;

	return t && load_relaxed(&t->kind) == THREAD_USER && !t->depth ? t : NULL;
}

/* Are the caller's signals ours, not the kernel's, and may it use the runtime? True of
 * a user thread, also while it is its carrier's guest. */
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

/* Our part of a living thread, or of one that has ended and was not joined. */
static inline struct posix_thread *posix_of(pthread_t th)
{
	return tls_address_in((void *)th, &posix_self_tls);
}

static inline void posix_call_begins(void)
{
	struct posix_signals *s = &posix_self_tls.signals;

	if (unlikely(s->masked)) /* posix_mask_begin has done it */
		return;
	s->ran_before = s->ran;
	s->kept_before = s->kept;
}

/* The call that a handler has cut short (signals.cut) is over. */
void posix_cut_done(void);
static inline void posix_call_ends(void)
{
	posix_self_tls.signals.calling = false;
	if (unlikely(posix_self_tls.signals.cut))
		posix_cut_done();
}

/* The user thread that th names. NULL: a kernel thread, or a thread that is gone. */
static inline struct uk_thread *posix_thread(pthread_t th)
{
	struct uk_thread *t = posix_of(th)->thread;

	return t && t->tp == (void *)th ? t : NULL;
}

/* The id that a mutex stores for its owner: the tid in libc's block. A kernel thread
 * has the kernel's id there, a user thread one of ours. The thread of a forked child
 * has a new one. */
uint32_t posix_tid_slow(void);
static inline uint32_t posix_tid(void)
{
	uint32_t tid = posix_self_tls.tid;

	return likely(tid) ? tid : posix_tid_slow();
}

/* Is tid a user thread's gettid()? In a forked child, the user thread that has forked
 * has the id of its process. posix_forker is that id (0: a kernel thread has forked, or
 * none), set in the child while it is alone. */
extern uint32_t posix_forker;
static inline bool posix_users_tid(long tid)
{
	return (tid >= TLS_FIRST_TID && tid <= INT32_MAX) ||
	       (tid > 0 && tid == (long)posix_forker);
}

/* pt_lock.c, pt_shared.c. died: the caller ends, and gives up its robust mutexes.
 * forked: the caller is the one thread of a forked child; what it held, its parent
 * holds. */
void posix_robust_died(void);
void posix_robust_forked(void);
void shared_died(void);
void shared_forked(void);

/* Makes the end of the calling kernel thread known: main's end counts (the process ends
 * with its last thread), and robust mutexes are given up. False: there is no key for
 * it. */
bool posix_end_counts(void);
/* Is the caller the program's only thread? */
bool posix_alone(void);
/* libc has started a kernel thread of its own for SIGEV_THREAD, which never ends and
 * calls functions of the program. */
enum posix_helper { HELPER_TIMER = 1, HELPER_QUEUE = 2 };
void posix_helper(enum posix_helper h);

/* -- memory: the kernel tells whether it is readable; NULL counts as readable -- */

bool posix_readable_slow(const void *p, size_t n);
/* May the caller read there? Its own stack it may. */
static inline bool posix_readable(const void *p, size_t n)
{
	const struct uk_thread *t = thread_self_tls;

	return !p || (t && t->kind == THREAD_USER && thread_on_stack(t, p, n)) ||
	       posix_readable_slow(p, n);
}

/* -- results -- */

/* r is a result of the runtime, or -errno. Returns it as libc does. */
static inline long posix_result(long r)
{
	if (likely(r >= 0))
		return r;
	errno = (int)-r;
	return -1;
}

/* -- pt_cancel.c, pt_signal.c -- */

/* Acts upon a cancellation that is pending and enabled: then it does not return. Called
 * when a cancellation point begins, and after its wait. Outside the runtime. */
void posix_testcancel(void);
/* In a handler that interrupted user code at context, or at the end of a call (NULL).
 * If the thread is cancelled, and may be at this place, this does not return. */
void posix_cancel_now(const void *context);
/* The thread's own code has ended. */
void posix_cancel_end(void);

/* The current call ended with -EINTR: may it go on, after the handlers that have
 * run? */
static inline bool posix_handlers_let(bool restarts)
{
	const struct posix_signals *s = &posix_self_tls.signals;

	return s->ran == s->ran_before || (restarts && s->kept == s->kept_before);
}

/* A call of the runtime gave r, and the caller is outside the runtime again: repeat the
 * call? -ECANCELED: yes, if posix_testcancel returns. -EINTR: handlers have run; yes,
 * if all of them were installed with SA_RESTART and the call is one that restarts. A
 * timeout must be an absolute deadline. */
bool posix_cut(long r, bool restarts);
static inline bool posix_again(long r, bool restarts)
{
	return unlikely(r == -ECANCELED || r == -EINTR) && posix_cut(r, restarts);
}

/* The same for a wait that is not a cancellation point and never ends with EINTR. Its
 * deadline must be absolute. */
static inline bool posix_waits_on(long r)
{
	if (unlikely(r == -ECANCELED))
		uk_thread_cancel_clear(); /* libc's word still has it */
	return unlikely(r == -ECANCELED || r == -EINTR);
}

/* Around a call that handlers may cut short. */
static inline void posix_call_begins(void);
static inline void posix_call_ends(void);

/* A blocking call that is a cancellation point: the value of an expression that calls
 * the runtime, as libc would return it, with errno. restarts is evaluated only if
 * handlers have cut the call short. */
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

/* A user thread begins with the signal mask *own, or with its creator's if own is NULL
 * (the creator calls signals_born). signals_gone: it ends, and calls this itself. */
void signals_born(struct posix_thread *pt, const sigset_t *own);
void signals_gone(struct posix_thread *pt);
/* Before our handlers are installed. */
void posix_cancel_begin(void);
/* The caller has unwound its stack, perhaps in a handler. */
void signals_unwound(void);
/* The first user thread is about to be made: from now on handlers are called through
 * us. */
void signals_begin(void);
/* main has ended, and the process has not. */
void signals_main_left(void);
/* A call has told the caller that a child has ended or stopped, so the SIGCHLD is
 * there. If main blocks it and the caller does not, it is handled before the call
 * returns. */
void signals_child_ended(void);
/* The user thread with this gettid(); 0: none. */
pthread_t posix_by_tid(long tid);
/* Its descriptor, which is still there after the thread has ended; its block may be
 * gone. */
struct uk_thread *posix_thread_by_tid(long tid);
/* tgkill(2), also to a user thread's gettid(); 0 or -errno. */
long posix_tgkill(long pid, long tid, int sig);
long posix_tgsigqueueinfo(long pid, long tid, int sig, const void *info);
/* For ppoll and the like: the mask is *mask for one call. The signals that it lets
 * through are handled between the two. True: some were, so the call fails with EINTR
 * and must not be made. */
bool posix_mask_begin(const sigset_t *mask, uint64_t *old);
void posix_mask_end(const sigset_t *mask, uint64_t old);

/* Around a function of libc's that may wait in the kernel, and may be a cancellation
 * point. */
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

/* -- pt_bound.c: what Linux keeps for each kernel thread -- */

/* The caller is about to set such state: a user thread is bound to its kernel thread.
 * why: a constant, for dumps. False, with errno: it must not set it. */
bool posix_apart(const char *why);
/* The same for state that threads do not inherit. */
bool posix_bind(const char *why);
/* Under pt_signal.c's lock: pt, a user thread that lives, is to be bound. The caller
 * calls bound_own outside the lock, in case it is pt. */
void bound_ask(struct posix_thread *pt);
/* Outside the lock and the runtime: binds the caller if it was asked to. */
void bound_own(void);
/* Under the lock: the kernel's id of a user thread that is bound, and lives; else 0. */
int bound_tid(const struct posix_thread *pt);
/* Writes which threads were bound, as members of a JSON object; returns the length. */
size_t bound_json(char *to, size_t room);
/* Outside the lock: pt has got this name. UK_BIND may say that it is to be bound. */
void bound_named(struct posix_thread *pt, const char *name);
/* The same before system call n, if it sets such state. False: the call must not be
 * made. */
bool bound_syscall(long n, long *a);

/* -- pt_close.c: for calls that close under another name -- */

/* Does the runtime run, and may it be entered? */
bool posix_runs(void);
/* fd is about to be closed, or to become another file. False: it is the runtime's, so
 * the program must find nothing open there. */
bool posix_leave(int fd);
/* It has been closed, or has become another file. */
void posix_left(int fd);
/* posix_leave(at) before dup2(fd, at), unless that will fail anyway. */
bool posix_may_dup(int fd, int at);
/* 0 or -errno. */
long posix_close_range(unsigned first, unsigned last, unsigned flags);

/* -- time -- */

/* clock_gettime as the program sees it: that of the next library after us, libc or one
 * that fakes the time (faketime). The runtime itself uses libc's. */
typedef int clock_reader(clockid_t, struct timespec *);
clock_reader *clock_shown(void);

/* When abs on clock is reached, in ns of the runtime's clock (CLOCK_MONOTONIC). NULL:
 * TIME_NEVER. -EINVAL: no such clock here, or nanoseconds out of range. If the
 * real-time clock is set during the wait, the deadline does not follow. */
int64_t posix_deadline(clockid_t clock, const struct timespec *abs);
/* The checks of the same one by one, as libc makes them. */
static inline bool posix_clock_ok(clockid_t clock)
{
	return clock == CLOCK_REALTIME || clock == CLOCK_MONOTONIC;
}
static inline bool posix_time_ok(const struct timespec *abs)
{
	return abs->tv_nsec >= 0 && abs->tv_nsec < NS_PER_SEC;
}
/* The deadline at the end of a span from now; NULL, or more than the clock will ever
 * show: TIME_NEVER. Is it a span, as the kernel checks it? */
int64_t posix_after(const struct timespec *span);
static inline bool posix_span_ok(const struct timespec *span)
{
	return span->tv_sec >= 0 && posix_time_ok(span);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - the descriptor of a thread, the central data structure of the runtime.
 *
 * Three kinds share one type, so that every wait queue, the dump and the wait word
 * treat them alike:
 *   USER       a user thread: stack and context of its own
 *   DISPATCHER the context of a carrier itself (embedded in struct carrier)
 *   FOREIGN    a kernel thread that is not ours and called us; parks on a futex
 *
 * Descriptors come from a slab that is never unmapped (type-stable): a waker or a timer
 * may hold a stale pointer, and the token shows that it is stale. A descriptor that has
 * been free for long may become zero (mem/slab_cold.c), which reads as dead in all
 * fields: FREE, IDLE, TAKEN, no vp. The next thread there begins with a token that no
 * stale waker has: thread_born.
 *
 * THE WAIT WORD is the one blocking primitive (law 4, docs/ARCHITECTURE.md).
 *
 *   token:48 | reason:8 | state:8
 *
 *   IDLE   --wait_begin (self)---> ARMED   a new token; wakers may know us from now on
 *   ARMED  --after the switch----> PARKED  context saved; by the successor
 *   ARMED  --wait_fire (anyone)--> FIRED   the switch has not begun or not ended: the
 *                                          successor queues us
 *   PARKED --wait_fire (anyone)--> FIRED   the firing thread queues us
 *   FIRED  --wait_end (self)-----> IDLE
 *   FIRED  --claim_joiner--------> PARKED  it fired a thread that a dump or the keeper
 *                                          looks at, and may not run it; the reaper
 *                                          fires it soon
 *
 * The successor is the thread or dispatcher that runs next on the carrier. Exactly one
 * of event, timer, cancellation and signal wins the CAS to FIRED, and leaves its
 * reason, which is 0 until then.
 *
 * Fields are grouped by use, because with many threads each cache line is a miss. A
 * switch touches the first line, a park and its wake-up two, a wait in a queue three,
 * one with a deadline four. */
#ifndef THREAD_THREAD_H
#define THREAD_THREAD_H

#include "arch/san.h"
#include "base/base.h"
#include "reactor/timer.h"
#include "mem/slab.h"
#include "mem/stack.h"
#include "uk/thread.h"

enum thread_kind { THREAD_FREE, THREAD_USER, THREAD_DISPATCHER, THREAD_FOREIGN };

/* For the dump; written by the code that makes the transition, read racily. Text in
 * thread_state_name(). */
enum thread_state {
	T_NEW,
	T_READY,
	T_RUNNING,
	T_PARKED,
	T_SUSPENDED,
	T_EXITED,
	T_STATES
};

/* What a parked thread waits for; text in thread_wait_name(). */
enum wait_kind {
	WAIT_NONE,
	WAIT_IO,
	WAIT_SLEEP,
	WAIT_MUTEX,
	WAIT_COND,
	WAIT_RWLOCK,
	WAIT_SEM,
	WAIT_BARRIER,
	WAIT_ONCE,
	WAIT_JOIN,
	WAIT_FUTEX,
	WAIT_CHAN,
	WAIT_SELECT,
	WAIT_STACK,
	WAIT_CLOSE,
	WAIT_PTHREAD_MUTEX, /* preload library: the word of libc's object */
	WAIT_KINDS
};

/* state byte of the wait word */
#define W_IDLE 0u
#define W_ARMED 1u
#define W_PARKED 2u
#define W_FIRED 3u
#define W_STATE(w) ((unsigned)((w)&0xff))
#define W_REASON(w) ((unsigned)(((w) >> 8) & 0xff))
#define W_TOKEN_SHIFT 16
#define W_TOKEN(w) ((w) >> W_TOKEN_SHIFT)
#define W_MAKE(token, reason, state)                                                   \
	(((uint64_t)(token) << W_TOKEN_SHIFT) | ((reason) << 8) | (state))

/* reasons; 64 and up are free for the primitive that waits */
#define WAKE_OK 0u
#define WAKE_TIMEOUT 1u
#define WAKE_CANCEL 2u
#define WAKE_SIGNAL 3u /* a signal handler is to run; preload library only */

/* Why a thread is asked to leave its waits. With ASK_SIGNAL it also calls
 * thread_signals, when it next leaves the runtime or where it is
 * (preload/pt_interrupt.c). With ASK_HOME it returns to its own carrier when it leaves
 * (sched/guest.c). */
#define ASK_CANCEL ((uint8_t)1)
#define ASK_SIGNAL ((uint8_t)2)
#define ASK_HOME ((uint8_t)4)

/* Suspension, bits of t->susp: BIRTH by the creator, which has not finished
 * (birth.held), LOOK by a dump or the keeper, which use the thread's stack. While one
 * of them is set, code that would queue the thread sets HELD instead. The code that
 * clears the last of them and finds HELD queues it (suspend_end). */
#define SUSP_BIRTH ((uint8_t)1)
#define SUSP_LOOK ((uint8_t)2)
#define SUSP_HELD ((uint8_t)4)

/* t->depth while a child of vfork runs on the thread's stack: nothing there may
 * enter the runtime. */
#define DEPTH_VFORK 255

#define STACK_UNIT 64 /* libc's, too: the alignment of its thread blocks */

struct carrier;
struct uk_vp;

struct cleanup {
	struct cleanup *next;
	void (*fn)(void *);
	void *arg;
};

/* What only few threads need: made at first use, owner only. */
struct thread_ext {
	char name[32];
	struct cleanup *cleanups;
	void **keys;
	uint32_t *key_gen;
	unsigned nkeys;
	size_t own_stack; /* size of a stack that the program provided */
	/* the carrier that it is bound to, or NULL, and for what: sched/guest.c */
	struct carrier *bound;
	const char *bound_for;
};

/* The CPU time that carriers have spent with a thread: preload/pt_cputime.c. */
struct cputime {
	int64_t spent;  /* until it was last switched out; all under that file's lock */
	int64_t from;   /* its carrier's CPU time when it was switched in */
	int32_t tid;    /* of that carrier; 0: it does not run, or is not counted */
	uint32_t asked; /* it is counted; anyone reads */
	int64_t told;   /* the last answer; anyone reads */
	int64_t due;    /* CPU time when its alarm is due; 0: none; the thread reads */
	int32_t timer;  /* the kernel's timer, of that alarm */
	bool sleeps;    /* the alarm is to be set when it next runs */
};

struct uk_thread {
	/* -- line 0: the switch and the queues -- */
	void *sp; /* context; valid while not running; NULL = never ran */
	void *tp; /* own thread pointer; NULL = light. Fixed from its first run */
	struct carrier *carrier; /* runs it; written by the switching carrier */
	uint64_t wait;           /* the wait word: owner arms, anyone fires by CAS */
	struct uk_thread *next;  /* link of the queue that it is in; else unused */
	struct uk_vp *vp; /* the vp that last ran it; where foreign wakers queue it */
	/* vp clock at the last change of state; written by the code that changes it */
	int64_t since;
	uint8_t kind;  /* enum thread_kind */
	uint8_t state; /* enum thread_state */
	uint8_t susp;  /* SUSP_... bits; atomics */
	/* ASK_... bits; anyone sets, owner clears; pairs with wait_begin */
	uint8_t asked;
	uint8_t depth;    /* nesting of rt_enter; owner */
	uint8_t wkind;    /* enum wait_kind; owner writes */
	uint8_t blocking; /* depth of uk_blocking_begin; owner */
	uint8_t stays;    /* pinned is not NULL; owner writes */
	/* -- line 1: a wait -- */
	int64_t deadline;     /* of every blocking call; owner */
	struct uk_vp *pinned; /* fixed vp or NULL; owner writes */
	union {
		const void *wobj;    /* what it waits for; owner, for the dump */
		void *(*fn)(void *); /* before its first run: what to run */
	};
	/* owner: where its last buffer lay, and whether it was resident (io/place.c) */
	uint64_t place;
	uint64_t join; /* JOIN_... or joiner | token << 48; atomics */
	union {
		void *stack; /* lowest address; NULL before its first run */
		long ktid;   /* foreign: the kernel's id */
	};
	uint64_t id;
	int32_t wfd;   /* fd of an I/O wait, else -1; foreign: see io/raw.c */
	uint8_t light; /* no TLS block of its own; constant */
	/* 1: its stack was trimmed in this wait; written by the keeper, and by the
	 * owner when it begins a wait */
	uint8_t trimmed;
	uint8_t quick;        /* calls outside the runtime, not counted yet; owner */
	uint8_t uncancelable; /* this wait ignores cancel; owner, while ARMED */
	/* -- line 2: a wait in the futex table -- */
	char node[CACHE_LINE]; /* sync/futex.h */
	/* -- line 3: a wait with a deadline -- */
	/* the wheel's, while armed. Before the first run, token holds the creator's
	 * floating-point environment */
	struct timer timer;
	struct thread_ext *ext;
	uint64_t creator;
	/* -- line 4: birth and death -- */
	void *arg; /* argument, later the return value */
	struct cputime cpu;
	uint32_t unused;  /* of the stack's top, in units of STACK_UNIT */
	uint8_t deferred; /* foreign: a signal handler on it left a wake-up to do */
	uint8_t terminal; /* slot + 1 of the terminal it writes to (io/file.c); owner */
	uint8_t lasting;  /* its block stays until it is joined or detached; constant */
	uint8_t kind_of_stack; /* mem/stack.h */
#if UK_SAN
	struct san_fiber san;
#endif
} LINE_ALIGNED;

/* t->join
 *   OPEN     --join----> joiner | token << 48   (low token bits: a re-join differs)
 *   OPEN     --detach--> DETACHED
 *   OPEN     --exit----> EXITED
 *   joiner   --timeout, cancel (the joiner)--> OPEN
 *   joiner   --exit----> EXITED, and the joiner is fired
 *   DETACHED --exit----> descriptor freed by the reaper
 *   EXITED   --join, detach--> TAKEN: descriptor freed by the caller
 * In a forked child, for a thread that was not copied (lifecycle/fork.c):
 *   OPEN, joiner --rebuild--> LOST
 *   LOST         --join, detach--> TAKEN: descriptor freed by the caller
 */
#define JOIN_TAKEN ((uint64_t)0) /* also of memory that was given back */
#define JOIN_DETACHED ((uint64_t)1)
#define JOIN_EXITED ((uint64_t)2)
#define JOIN_OPEN ((uint64_t)3)
#define JOIN_LOST ((uint64_t)4)
#define JOIN_LAST JOIN_LOST /* above: a joiner */

static inline bool thread_asked(const struct uk_thread *t, uint8_t what)
{
	return load_relaxed(&t->asked) & what;
}

/* The running thread; NULL on a kernel thread that never called us. One initial-exec
 * word: correct for full threads by law 2, rewritten at the switch for light ones. */
extern __thread struct uk_thread *thread_self_tls
    __attribute__((tls_model("initial-exec")));
/* Never inlined, so a caller cannot keep the TLS address across a park. */
struct uk_thread *thread_self(void);
struct uk_thread **thread_self_slot(void);

extern struct slab thread_slab, thread_ext_slab, cleanup_slab;
/* At least as high as any token of a descriptor whose memory may be gone; the keeper
 * raises it. */
extern uint64_t thread_token_floor;

/* For a t that comes out of the slab: its tokens continue where they stopped, or above
 * all that were forgotten. (A raise by the keeper is visible: the slab's lock is
 * between, or nothing was forgotten.) */
static inline void thread_born(struct uk_thread *t)
{
	if (unlikely(!load_relaxed(&t->wait)))
		store_relaxed(&t->wait,
			      W_MAKE(load_relaxed(&thread_token_floor), 0, W_IDLE));
}

/* The keeper's round over descriptors and what belongs to them; as slab_keep_... */
void thread_keep_begin(void);
bool thread_keep_step(void);
bool thread_keep_more(void);

int thread_init(void); /* once */
/* The descriptor of the calling foreign thread, made on first use. */
struct uk_thread *thread_foreign(void);
/* A second one for the calling kernel thread, a carrier: see sched/guest.c. NULL: no
 * memory. */
struct uk_thread *thread_guest(void);
uint64_t thread_new_ids(unsigned n); /* first of n fresh ids */
/* slab_walk over all descriptors, for layers that do not know slabs. */
int thread_walk(int (*fn)(void *t, void *arg), void *arg);
struct thread_ext *thread_ext(struct uk_thread *t); /* self only; NULL = no memory */
static inline struct carrier *thread_bound(const struct uk_thread *t)
{
	const struct thread_ext *e = load_acquire(&t->ext);

	return e ? load_acquire(&e->bound) : NULL;
}
void thread_run_cleanups(struct uk_thread *t); /* self; cleanups, then keys */
void thread_free_ext(struct uk_thread *t);
extern const char *const thread_wait_names[WAIT_KINDS],
    *const thread_state_names[T_STATES];
const char *thread_wait_name(unsigned wkind);
const char *thread_state_name(unsigned state);
const char *thread_name(const struct uk_thread *t); /* "" if none */

/* With the part at the top that it does not use. Reads line 1 alone. */
static inline size_t thread_stack_room(const struct uk_thread *t)
{
	return likely(t->kind_of_stack) ? stack_size(t->kind_of_stack)
	       : t->ext                 ? t->ext->own_stack
					: 0;
}

static inline size_t thread_stack_size(const struct uk_thread *t)
{
	return thread_stack_room(t) - (size_t)t->unused * STACK_UNIT;
}

/* Does p[0..n) lie on t's stack? Only for user threads; false before t's first run. */
static inline bool thread_on_stack(const struct uk_thread *t, const void *p, size_t n)
{
	size_t at = (size_t)((uintptr_t)p - (uintptr_t)t->stack);

	return at < thread_stack_room(t) && n <= thread_stack_room(t) - at;
}

#endif

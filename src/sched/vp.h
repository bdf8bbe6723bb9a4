/* SPDX-License-Identifier: Apache-2.0 */
/* vp.h - what a virtual processor and a carrier consist of, and which thread may touch
 * which field.
 *
 * A vp is the right to run user threads. vp->owner holds the address of the carrier
 * that has it: handoff.h. Fields marked "owner" are touched only by that carrier,
 * inside the runtime; a hand-off's release/acquire on owner passes them on. In struct
 * carrier, "itself" means that only its own kernel thread touches the field.
 */
#ifndef SCHED_VP_H
#define SCHED_VP_H

#include <pthread.h>

#include "base/membarrier.h"
#include "base/env.h"
#include "reactor/reactor.h"
#include "reactor/timer.h"
#include "mem/slab.h"
#include "mem/stack.h"
#include "sched/runq.h"
#include "sched/sched.h"
#include "thread/thread.h"
#include "thread/tls.h"

#define SET_MOST 256u             /* vps in a set, the two reactive ones not counted */
#define VP_MAX 1024               /* vps in all sets; several sets of SET_MOST fit */
#define CPUS_MOST 8192u           /* the kernel's own limit */
#define SLICE_NS (10 * NS_PER_MS) /* the default */
#define VP_BUDGET 64              /* switches between two looks at the reactor */
#define LIFO_STREAK 16
#define VP_BURST 64 /* passes after a hand-off in which woken threads go first */

/* op->token, what happens when op is done:
 *   the token of a wait   WAITER: op->thread is fired with it
 *   OP_ORPHAN             WAITER, which has timed out and cancelled op: nothing
 *   OP_SINK               SINK: no thread waits, op itself goes to op->sink
 *   0                     it is done (the dispatcher's last touch, but of a sink's op)
 */
#define OP_SINK ((uint64_t)1 << 62)
#define OP_ORPHAN ((uint64_t)1 << 63)

/* A small request that a vp's dispatcher carries out. It stays where it is until its
 * token is fired (MSG_SUBMIT: until its ops are done), for example on the sender's
 * stack. */
enum msg_kind { MSG_SUBMIT, MSG_CANCEL, MSG_CANCEL_FD, MSG_STOP };
struct vp_msg {
	struct vp_msg *next;
	enum msg_kind kind;
	int fd;
	int keep;         /* of CANCEL_FD */
	struct io_op *op; /* of SUBMIT and CANCEL: op[0..n) */
	unsigned n;
	struct uk_thread *thread; /* fired when done (not for SUBMIT) */
	uint64_t token;
};

/* What the monitor remembers of a vp; the monitor alone uses it. */
struct vp_watch {
	uint64_t switches;
	uint64_t ran;     /* switches at the last look */
	uint64_t inlined; /* calls that had ended without a switch, at the last look */
	struct carrier *carrier; /* NULL: it was an orphan */
	/* one thread has run since then, or vp has been an orphan since then */
	int64_t since;
	int64_t cpu;    /* its carrier's CPU time at that moment */
	int64_t warned; /* stall watchdog */
	int64_t seen;   /* time of this look */
	int64_t taken;  /* when it was last taken from a blocked carrier */
	long stat;      /* if stat_of: the monitor's fd of the state of that tid */
	int stat_of;
	bool idle; /* at the last look */
};

enum vp_idle {
	VP_BUSY,
	VP_SLEEPS, /* in its reactor, or is about to */
	VP_RESTS   /* has no carrier and needs none (handoff.h) */
};

struct uk_vp {
	/* -- owner, hot -- */
	uintptr_t owner; /* the carrier that has it (handoff.h); CAS */
	int32_t budget;  /* owner */
	uint32_t nudge;  /* anyone sets: go to the dispatcher soon; owner clears */
	/* anyone sets: caches are to be given to the pools; owner clears */
	uint32_t flush;
	bool shared;   /* thieves exist: the set has several vps; constant */
	bool reactive; /* runs no threads, only a reactor; constant */
	bool starved;  /* owner: a thread found no memory for its stack */
	/* passes in which threads that the dispatcher wakes go before the queue; owner,
	 * and the monitor sets it */
	uint8_t burst;
	uint8_t lifo_streak;
	/* limit of lifo_streak: LIFO_STREAK, or 0 (look_at_turn); owner */
	uint8_t lifo_most;
	/* owner: many threads ran in the last pass, each for a short time */
	bool dense;
	uint8_t lonely; /* owner: short sleeps in a row that ended for one thread */
	bool polled;    /* owner: idle has just polled the reactor */
	bool sleepy;    /* owner: that poll slept */
	uint32_t seen_switches; /* owner: at the last sched_make_room */
	struct vp_count count;  /* owner; kicks: the thread that kicks */
	int64_t clock;          /* owner writes once a pass */
	int64_t slept;          /* owner: clock before the last sleep, 0 = ran since */
	struct runq rq;
	struct slab_cache threads; /* owner, as are the next eight */
	struct stack_cache stacks;
	struct tls_cache tls;
	uint64_t next_id, end_id;
	uint32_t steal_seed;
	uint32_t turn_end, deep; /* see look_at_turn; owner, all three */
	int64_t turn_at;
	struct vp_msg *closers; /* MSG_CANCEL_FD not yet done */
	struct reactor reactor;
	struct wheel wheel;
	/* -- written by others -- */
	/* Treiber stack: anyone pushes, owner or a thief takes all */
	struct uk_thread *inbox LINE_ALIGNED;
	struct uk_thread *pinbox; /* the same for pinned threads: owner takes */
	struct vp_msg *msgs;      /* the same for requests */
	/* MSG_STOP, for a fork; the thread that sets stop_sent to 1 posts it */
	struct vp_msg stop;
	uint32_t stop_sent; /* the dispatcher that serves it sets it back to 0 */
	/* MSG_SUBMITs on their way: the sender adds, the dispatcher subtracts */
	uint32_t submits;
	/* enum vp_idle; owner sets, the thread that wakes or takes it clears by xchg or
	 * CAS */
	uint32_t idle;
	/* -- rarely changes -- */
	struct uk_vpset *set LINE_ALIGNED;
	unsigned id, index;
	uint64_t handoffs, handoffs_hog, stalls; /* monitor */
	uint64_t takes;                          /* by spares; handoff.c's lock */
	struct uk_vp *next_orphan; /* the thread that offers it; handoff.c's lock */
	/* for a tracer: which carrier lost it last, and when; 0: no tracer looked. The
	 * thread that takes it away, and the next carrier */
	int lost_by;
	int64_t lost_at;
	cpu_set_t cpus; /* binding; set lock */
	uint32_t bound; /* generation of cpus, 0 = not bound */
	struct vp_watch watch;
	uint64_t crowd_seen; /* the keeper: births and deaths at its last visit */
} LINE_ALIGNED;

struct uk_vpset {
	char name[32];
	unsigned n, flags;
	/* a thread that computes for longer loses its vp; anyone, the monitor reads */
	int64_t slice;
	uint32_t next;  /* round robin; anyone, relaxed add */
	uint32_t nidle; /* idle vps, if they steal; relaxed */
	/* 1: one vp was woken to steal and has not found anything or given up yet */
	uint32_t waking;
	/* with UK_VPSET_SQPOLL; constant except in forked children */
	struct net_cpu net_cpu;
	struct uk_vp *net; /* reactive vps or NULL */
	struct uk_vp *io;
	struct uk_vp *vps[SET_MOST];
};

/* What the successor does about the thread that it left behind (finish_switch).
 * POST_EXIT_JOINED: the joiner is the successor, already fired. */
enum post {
	POST_NONE,
	POST_YIELD,
	POST_PARK,
	POST_EXIT,
	POST_EXIT_JOINED,
	POST_RETURN,
	POST_MIGRATE,
	POST_HOME
};

struct carrier {
	uint32_t in_rt;       /* itself, plain; the monitor reads after membarrier */
	uint32_t post_action; /* enum post; itself */
	/* itself, or the thread that gives it a vp while it is parked */
	struct uk_vp *vp;
	struct uk_thread *post;       /* the thread that the last switch left; itself */
	struct uk_thread *current;    /* for monitor and dump (racy) */
	void *tp_now;                 /* the running %fs; itself */
	void *tp;                     /* its own %fs */
	struct uk_thread **self_slot; /* thread_self_tls in its own TLS */
	uint32_t deferred; /* a signal handler on this carrier left a wake-up to do
				    (table in enter.c); itself */
	uint32_t mark; /* != 0: the running thread is inside a bracketed call; itself */
	struct uk_thread disp; /* its own context */
	int tid;
	uint32_t wake; /* futex: 1 = a vp was given; giver sets */
	/* the vp that it lost as a hog, or NULL; the monitor sets, carrier_no_hog
	 * clears */
	struct uk_vp *hog;
	/* for a tracer: when it lost its vp; itself, or the monitor before it takes
	 * the vp */
	int64_t lost_at;
	bool niced; /* as a hog it has lost priority; the monitor alone */
	/* its kernel thread has ended: the program made the kernel end it (the monitor
	 * sets it), or it was retired (itself) */
	bool ended;
	int64_t hog_since; /* when it became a hog; the monitor */
	uint32_t bound;    /* generation of its affinity; itself */
	/* it waits at the gate (gate.c), or is a spare; itself, or under the spares
	 * lock the thread that gives it a vp */
	uint32_t stopped;
	bool renew;     /* after a fork: needs a new stack and thread block */
	bool newborn;   /* made as a spare and not parked yet; handoff.c's lock */
	bool masked;    /* has carrier_mask; itself */
	uint32_t shut;  /* blocks SIGPROF, too, for now (preload/pt_signal.c); atomic */
	bool dedicated; /* runs one thread, and ends then (guest.c); itself; atomic */
	/* of a dedicated one: its kernel thread had children before, and outlives them
	 * (preload/pt_children.c); itself */
	bool lingers;
	/* ptrace requests that it is to make (preload/pt_children.c); anyone pushes,
	 * itself takes */
	struct request *requests;
	bool listed; /* it is in carriers_all; itself */
	/* the thread that it is dedicated to, until that ends; itself */
	struct uk_thread *bound_to;
	/* that thread, when it comes back to it; handoff.c's lock */
	struct uk_thread *comes;
	/* its perf ring (mute.h), or ordinary memory in its place; NULL: none was made.
	 * The monitor sets the pointer once; itself and the monitor write there */
	struct perf_event_mmap_page *perf;
	int perf_fd; /* of the ring, in the monitor's table; the monitor */
	/* monitor/detect.c: the start of detection for which a seat was asked; the
	 * monitor */
	uint32_t seat;
	/* no events until then, after one for nothing; the monitor */
	int64_t deaf_until;
	void *sigstack;
	/* the thread as which a signal handler that interrupted user code runs
	 * (signal.c); itself */
	struct uk_thread *guest;
	struct carrier *next_spare; /* spares lock */
	struct carrier *next_all;   /* push-only list */
} LINE_ALIGNED;

extern struct uk_vp
    *vp_all[VP_MAX]; /* [0, vp_count_all); entries never change once set */
/* written with release by the creator, read with acquire */
extern uint32_t vp_count_all;
extern struct carrier *carriers_all; /* read with acquire */
extern struct uk_vpset *vpset_default;
struct uk_vp *vpset_next(struct uk_vpset *s); /* round robin */
extern uint64_t carriers_count, spares_count; /* gauges, racy reads */
/* how many of these carriers are dedicated; likewise */
extern uint64_t carriers_dedicated;
/* how often a retired carrier got another kernel thread */
extern uint32_t carriers_reborn;
/* made as spares, not parked yet; atomic add */
extern uint32_t carriers_newborn;
extern uint64_t spares_made;
extern uint64_t carrier_mask; /* signals that carriers block; constant */
/* signals that carriers block in addition; set before the start */
extern uint64_t carrier_shuts;
/* c, the calling carrier, gets its alternate signal stack (again). */
void carrier_sigstack(const struct carrier *c);
bool carrier_on_sigstack(const struct carrier *c, const void *p);

/* crew.c: kernel threads that begin together, or not at all; set lock */
struct crew;
struct crew *crew_call(unsigned most); /* NULL: no memory */
int crew_add(struct crew *w, void *(*fn)(void *), void *arg, size_t stack);
void crew_begin(struct crew *w);
void crew_dismiss(struct crew *w); /* none has begun; when it returns, none is left */

/* dispatch.c */
void dispatch(struct carrier *c); /* until c has lost its vp */
void enqueue(struct uk_vp *vp, struct uk_thread *t, bool lifo); /* owner of vp */
void enqueue_woken(struct uk_vp *vp, struct uk_thread *t);      /* vp's dispatcher */
void inbox_push(struct uk_vp *vp, struct uk_thread *t);         /* anyone */
void vp_post(struct uk_vp *vp, struct vp_msg *m);               /* anyone */
/* Anyone: a list, in one step and with one kick. */
void vp_post_all(struct uk_vp *vp, struct vp_msg *newest, struct vp_msg *oldest);
/* Anyone: wakes vp if it is idle. True: the caller did. */
bool vp_kick(struct uk_vp *vp);
void queue_anywhere(struct uk_thread *t); /* to its vp's inbox, honouring suspension */
void suspend_end(struct uk_thread *t, uint8_t bit); /* async-signal-safe */
/* Does another vp of the set have something to steal? The set has several. Racy. */
bool set_has_work(const struct uk_vp *vp);
/* racy, any thread */
INLINE bool vp_has_work(const struct uk_vp *vp)
{
	return runq_len(&vp->rq) || load_relaxed(&vp->rq.lifo) ||
	       load_relaxed(&vp->inbox) || load_relaxed(&vp->pinbox) ||
	       load_relaxed(&vp->msgs);
}

/* vp.c */
struct set_plan {
	const char *name;
	unsigned n, flags;
	bool bind;
	cpu_set_t cpus;
	struct net_cpu net_cpu;
};
int set_plan(struct set_plan *p, const uk_vpset_attr *a);
unsigned set_carriers(const struct set_plan *p);
/* Makes everything of the set, which no other thread knows yet. On failure *out is what
 * was made, for set_drop, after w was dismissed. */
int set_make(struct uk_vpset **out, const struct set_plan *p, struct crew *w);
void set_drop(struct uk_vpset *s);
void set_publish(struct uk_vpset *s);

/* start.c */
/* nice value at the start of the runtime; a hog's carrier returns to it */
extern int process_nice;

/* cpus.c */
struct cpus {
	uint64_t bits[CPUS_MOST / 64];
	/* bits that are set; 0: not asked yet, or the kernel does not tell */
	unsigned n;
};
extern struct cpus process_cpus; /* allowed when the runtime started; constant then */
void cpus_learn(void);           /* at the start of the runtime */
void slack_learn(void);          /* likewise */
/* process_cpus; before the start, what is allowed now, in *room. */
const struct cpus *cpus_allowed(struct cpus *room);
void cpus_named(const struct cpus *c, cpu_set_t *set); /* the first 1024 */
/* What the control groups allow, in thousandths of a CPU; -1: no limit. */
int64_t cpus_quota(void);
/* How many vps a set has by default if it may use so many CPUs. */
unsigned cpus_vps(unsigned cpus);

/* carrier.c */
/* adds a new carrier that will own vp */
int carrier_call(struct uk_vp *vp, struct crew *w);
void carrier_drop(struct uk_vp *vp); /* frees it, after w was dismissed */
int maker_call(struct crew *w);      /* adds the maker of spares */
void carriers_init(void); /* sets how many spares are made ahead, and the cap */
void carrier_no_hog(struct carrier *c);
/* guest.c; called by c itself. NULL: no memory */
struct uk_thread *carrier_guest(struct carrier *c);
/* t, a bound thread, is in the runtime as the user thread that it was. It goes on on
 * another carrier. */
void guest_away(struct uk_thread *t);
/* t, bound and outside the runtime, is a guest again when this returns. guest_send: its
 * context is saved; called on the carrier that it leaves. guest_wait: c's dispatcher
 * waits for it, runs it, and returns when it is away again or has ended. */
void guest_home(struct uk_thread *t);
void guest_send(struct uk_thread *t);
void guest_wait(struct carrier *c);
/* called by c itself, in the runtime, without a lock */
void run_deferred(struct carrier *c);
void maker_defer(void); /* in a signal handler: asks the maker to call deferred_wake */
void maker_wake(void);  /* asks the maker to check whether spares are wanted */
bool want_spare(void);  /* are spares wanted? */
void carrier_grown(struct carrier *c); /* c, a spare, parks; under handoff.c's lock */
void spares_ran_out(void); /* more spares are wanted; under handoff.c's lock */
/* Asks the maker to kick vp, for the monitor: it has an fd table of its own
 * (monitor/file_table.c), without the fds of vp's reactor. */
void maker_kick(struct uk_vp *vp);
/* asks the maker to call fn; one such call at a time */
void maker_job(void (*fn)(void));
/* A kernel thread of the runtime's own, with all signals blocked; detached if joinable
 * is NULL. 0 or -errno. */
int kernel_thread(void *(*fn)(void *), void *arg, size_t stack, pthread_t *joinable);
int maker_failed(void); /* error of the maker's last try to make a spare; 0: made */
void carrier_bind(struct carrier *c, struct uk_vp *vp);
/* called by c itself, on a user thread's stack; false: no memory */
bool carrier_renew(struct carrier *c);
/* Around fork (lifecycle/fork.c). */
/* the child: only this carrier exists, or none (NULL) */
void carriers_forget(struct carrier *only);
int carriers_rebuild(void); /* the child: all vps are orphans */

/* scarce.c */
/* anyone: vp's dispatcher is to give its caches to the pools */
void vp_ask_flush(struct uk_vp *vp);
void memory_ask(void); /* no memory for a thread: asks all vps to give their caches */
/* The same, but t, the caller, in the runtime, waits for it. False: they were asked
 * before, and there is none. */
bool memory_gather(struct uk_thread *t);
void memory_gave(void);   /* a vp has given its caches */
void memory_forked(void); /* the child: the waiting threads are gone */

/* cap.c */
void cap_init(void);  /* at the start: what can be known without opening files */
void cap_learn(void); /* the rest; the monitor, once, and the doctor */
unsigned carriers_cap(void);
const char *carriers_cap_origin(void); /* where it comes from, as text */
unsigned carriers_ahead(void); /* from so many on, only one spare is made ahead */
/* The end of the watchdog's message about a vp that has no carrier: names the threads
 * that have the carriers. */
void cap_explain(char *buf, size_t n);

/* gate.c */
extern uint32_t world_gate; /* enum gate; not 0: no thread may enter the runtime */
void gate_wait(void); /* waits; called outside the runtime, or while stopped is set */
/* in the runtime, between two steps: waits at the gate */
void carrier_stop(struct carrier *c);
void set_lock_acquire(void);
void set_lock_release(void);

/* setxid.c */
void setxid_init(void); /* before any full thread; again when thread_signals is set */

/* start.c */
/* Higher layers register, by AT_LOAD, functions that run once the runtime runs; and
 * functions that run in a forked child when the runtime is rebuilt. */
void sched_on_start(void (*fn)(void));
void sched_on_child(void (*fn)(void));
/* A kernel thread without which the runtime does not start. It begins after the
 * functions of sched_on_start. */
void sched_needs_thread(void *(*fn)(void *), size_t stack);
void sched_run_on_child(void);
/* What the monitor does. It sets ASLEEP or DEEP when it goes to sleep because all vps
 * do, and AWAKE when it wakes up. The first vp that wakes up and runs threads sets its
 * alarm: ASLEEP becomes ARMED, DEEP becomes AWAKE. The last one that becomes idle stops
 * the alarm: ARMED becomes ASLEEP. Modelled in tests/model/alarm.pml. */
enum {
	MONITOR_AWAKE,  /* or DEEP was, and its alarm comes */
	MONITOR_ARMED,  /* asleep, its alarm is set */
	MONITOR_ASLEEP, /* no alarm is set */
	MONITOR_DEEP    /* the same, and the next alarm must come */
};
extern uint32_t monitor_state;
bool vps_idle(void); /* are all vps idle? */
/* anyone: a vp that runs threads is awake now, or the keeper may give something back */
void monitor_notice(void);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* vp.h - what a virtual processor and a carrier are made of, and who may touch what of them.
 *
 * A vp is the right to run; whoever's address stands in vp->owner has it: handoff.h.
 * Fields marked "owner" are touched only by the carrier that holds the vp, inside the
 * runtime; a hand-off's release/acquire on owner passes them on.
 */
#ifndef SCHED_VP_H
#define SCHED_VP_H

#include <pthread.h>

#include "base/barrier.h"
#include "base/env.h"
#include "event/reactor.h"
#include "event/timer.h"
#include "mem/slab.h"
#include "mem/stack.h"
#include "sched/runq.h"
#include "sched/sched.h"
#include "thread/thread.h"
#include "thread/tls.h"

#define SET_MOST 256u   /* vps in a set, the two reactive ones not counted */
#define VP_MAX 1024     /* in all sets: where a set has the most, others have room */
#define CPUS_MOST 8192u /* the kernel's own limit */
#define SLICE_NS (10 * NS_PER_MS) /* if nobody says otherwise */
#define VP_BUDGET 64              /* switches between two looks at the reactor */
#define LIFO_STREAK 16
#define VP_BURST 64 /* passes after a hand-off for which a wake-up goes first */

/* op->token, who hears of the op's end:
 *   the token of a wait   WAITER: op->thread is fired with it
 *   OP_ORPHAN             WAITER, who has timed out and asks for the op's end: nobody
 *   OP_SINK               SINK: nobody waits, the op itself goes to op->sink
 *   0                     it is done (the dispatcher's last touch, but of a sink's op) */
#define OP_SINK ((uint64_t)1 << 62)
#define OP_ORPHAN ((uint64_t)1 << 63)

/* A small request that a vp's dispatcher executes; lives on the sender's stack until its
 * token is fired. */
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

/* What the monitor remembers of a vp; the monitor alone. */
struct vp_watch {
	uint64_t switches;
	uint64_t ran;     /* switches at the last look */
	uint64_t inlined; /* calls that had ended without a switch, at the last look */
	struct carrier *carrier; /* NULL: it was an orphan */
	int64_t
	    since;   /* the same thread has run since then; or it has been an orphan */
	int64_t cpu; /* its carrier's CPU time at that moment */
	int64_t warned; /* stall watchdog */
	int64_t seen;   /* this look */
	int64_t taken;  /* when it was last taken from a blocked carrier */
	bool idle;      /* it was, at the last look */
};

struct uk_vp {
	/* -- owner, hot -- */
	uintptr_t owner; /* handoff.h; CAS */
	int32_t budget;  /* owner */
	uint32_t nudge;  /* anyone sets: go to the dispatcher soon; owner clears */
	uint32_t
	    flush;     /* anyone sets: what is cached goes to the pools; owner clears */
	bool shared;   /* thieves exist: the set has several vps; constant */
	bool reactive; /* runs no threads, only a reactor; constant */
	bool starved;  /* owner: a thread found no memory for its stack */
	uint8_t burst; /* passes for which whom the dispatcher wakes goes before the
			    queue; owner, and the monitor sets it */
	uint8_t lifo_streak;
	uint8_t lifo_most; /* of it: LIFO_STREAK, or 0 (look_at_turn); owner */
	bool dense;     /* owner: many threads ran in the last pass, each but shortly */
	uint8_t lonely; /* owner: short sleeps in a row that ended for one thread */
	uint32_t seen_switches; /* owner: at the last sched_make_room */
	struct vp_count count;  /* owner; kicks: whoever kicks */
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
	struct uk_thread *inbox
	    LINE_ALIGNED;         /* Treiber stack: anyone pushes, owner or a
						 thief takes all */
	struct uk_thread *pinbox; /* the same for pinned threads: owner takes */
	struct vp_msg *msgs;      /* the same for requests */
	struct vp_msg stop; /* MSG_STOP, a fork's; who turns stop_sent to 1 posts it */
	uint32_t stop_sent; /* the dispatcher that serves it turns it back to 0 */
	uint32_t
	    submits; /* MSG_SUBMITs on their way: the sender adds, the server subtracts */
	uint32_t idle; /* 1: sleeps or is about to; owner sets, kicker clears by xchg */
	/* -- rarely changes -- */
	struct uk_vpset *set LINE_ALIGNED;
	unsigned id, index;
	uint64_t handoffs, handoffs_hog, stalls; /* monitor */
	uint64_t takes;                          /* by spares; handoff.c's lock */
	struct uk_vp *next_orphan;               /* handoff.c's lock, as is the next */
	bool rests;                              /* an orphan that had nothing to do */
	cpu_set_t cpus;                          /* binding; set lock */
	uint32_t bound;                          /* generation of cpus, 0 = not bound */
	struct vp_watch watch;
	uint64_t crowd_seen; /* the keeper: births and deaths when it last came by */
} LINE_ALIGNED;

struct uk_vpset {
	char name[32];
	unsigned n, flags;
	int64_t
	    slice; /* who computes for longer loses his vp; anyone, the monitor reads */
	uint32_t next;  /* round robin; anyone, relaxed add */
	uint32_t nidle; /* vps asleep; relaxed */
	uint32_t
	    waking; /* 1: one vp was woken to steal and has not yet found or given up */
	struct net_cpu
	    net_cpu;       /* with UK_VPSET_SQPOLL; constant but for forked children */
	struct uk_vp *net; /* reactive vps or NULL */
	struct uk_vp *io;
	struct uk_vp *vps[SET_MOST];
};

/* What the successor does about the thread that it left behind (finish_switch). EXIT_JOINED:
 * its joiner is the successor, already fired. */
enum post {
	POST_NONE,
	POST_YIELD,
	POST_PARK,
	POST_EXIT,
	POST_EXIT_JOINED,
	POST_RETURN,
	POST_MIGRATE
};

struct carrier {
	uint32_t in_rt;         /* itself, plain; the monitor reads after membarrier */
	uint32_t post_action;   /* enum post; itself */
	struct uk_vp *vp;       /* itself, or who gives it a vp while it is parked */
	struct uk_thread *post; /* whom the last switch left; itself */
	struct uk_thread *current;    /* for monitor and dump (racy) */
	void *tp_now;                 /* the running %fs; itself */
	void *tp;                     /* its own */
	struct uk_thread **self_slot; /* thread_self_tls in its own TLS */
	uint32_t deferred; /* a signal handler on this carrier left a wake-up to do
				    (table in enter.c); itself */
	uint32_t mark; /* != 0: the running thread is inside a bracketed call; itself */
	struct uk_thread disp; /* its own context */
	int tid;
	uint32_t wake; /* futex: 1 = a vp was given; giver sets */
	struct uk_vp
	    *hog;   /* it computes on without this one, or NULL; the monitor sets,
			    itself clears (carrier_no_hog) */
	bool niced; /* the monitor alone: as a hog it has lost priority */
	bool ended; /* the monitor: the program has made the kernel end it; or itself,
			    retired */
	int64_t hog_since; /* likewise */
	uint32_t bound;    /* generation of its affinity; itself */
	uint32_t stopped;  /* it stands at the gate, or is a spare (gate.c); itself, or
				    who gives it a vp, under the spares lock */
	bool renew;        /* after a fork: needs a stack and a block of its own */
	bool newborn;      /* made as a spare and not parked yet; handoff.c's lock */
	bool masked;       /* has carrier_mask; itself */
	uint32_t shut;     /* and blocks SIGPROF for now (posix/signal.c); atomic */
	bool dedicated;    /* runs one thread, and ends then (bound.c); itself */
	bool listed;       /* in carriers_all, and was before; itself */
	struct uk_thread *bound_to; /* that one, until it ends; itself */
	struct perf_event_mmap_page
	    *bell; /* bell.h: the monitor sets it; itself and the monitor write there */
	struct perf_event_mmap_page *
	    old_bell; /* of its kernel thread that has ended; itself, the monitor takes it */
	uint32_t
	    seat; /* detect.c: the start of which it has been asked for; the monitor */
	int64_t deaf_until; /* it rang for nothing; the monitor */
	void *sigstack;
	struct uk_thread
	    *guest; /* as which a signal handler runs that interrupted user code
				    (signal.c); itself */
	struct carrier *next_spare; /* spares lock */
	struct carrier *next_all;   /* push-only list */
} LINE_ALIGNED;

extern struct uk_vp
    *vp_all[VP_MAX];          /* [0, vp_count_all); entries never change once set */
extern uint32_t vp_count_all; /* release by the creator, acquire by readers */
extern struct carrier *carriers_all; /* acquire */
extern struct uk_vpset *vpset_default;
extern uint64_t carriers_count, spares_count; /* gauges, racy reads */
extern uint64_t carriers_dedicated;           /* of these, likewise */
extern uint32_t carriers_reborn; /* times that one of them got another kernel thread */
extern uint64_t spares_made;
extern uint64_t carrier_mask; /* signals that carriers block; constant */
extern uint64_t
    carrier_shuts; /* set before the start: these, too, though else they are open */
/* The calling carrier has its alternate signal stack (again). */
void carrier_sigstack(const struct carrier *c);
bool carrier_on_sigstack(const struct carrier *c, const void *p);

/* crew.c: kernel threads that begin together, or not at all; set lock */
struct crew;
struct crew *crew_call(unsigned most); /* NULL: no memory */
int crew_add(struct crew *w, void *(*fn)(void *), void *arg, size_t stack);
void crew_begin(struct crew *w);
void crew_dismiss(
    struct crew *w); /* none has begun, and when it returns none is left */

/* dispatch.c */
void dispatch(struct carrier *c); /* until c has lost its vp */
void enqueue(struct uk_vp *vp, struct uk_thread *t, bool lifo); /* owner of vp */
void enqueue_woken(struct uk_vp *vp, struct uk_thread *t);      /* its dispatcher */
void inbox_push(struct uk_vp *vp, struct uk_thread *t);         /* anyone */
void vp_post(struct uk_vp *vp, struct vp_msg *m);               /* anyone */
/* Anyone: a list, in one step and with one kick. */
void vp_post_all(struct uk_vp *vp, struct vp_msg *newest, struct vp_msg *oldest);
void vp_kick(struct uk_vp *vp);           /* anyone, if it sleeps */
void queue_anywhere(struct uk_thread *t); /* to its vp's inbox, honouring suspension */
void suspend_end(struct uk_thread *t, uint8_t bit); /* async-signal-safe */
bool vp_has_work(const struct uk_vp *vp);           /* racy, any thread */
bool vp_awaits(const struct uk_vp *vp); /* it, or who steals for it, may have soon */

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
/* Everything of the set, known to nobody yet. On failure what there is of it, for set_drop,
 * after w was dismissed. */
int set_make(struct uk_vpset **out, const struct set_plan *p, struct crew *w);
void set_drop(struct uk_vpset *s);
void set_publish(struct uk_vpset *s);

/* start.c */
extern int process_nice; /* when the runtime started; what a hog's carrier returns to */

/* cpus.c */
struct cpus {
	uint64_t bits[CPUS_MOST / 64];
	unsigned
	    n; /* of them set; 0: nobody has asked yet, or the kernel does not tell */
};
extern struct cpus process_cpus; /* allowed when the runtime started; constant then */
void cpus_learn(void);           /* the runtime starts */
void slack_learn(void);          /* likewise */
/* process_cpus, or before the start what is allowed now, into room. */
const struct cpus *cpus_allowed(struct cpus *room);
void cpus_named(const struct cpus *c, cpu_set_t *set); /* the first 1024 */
/* What the control groups allow, in thousandths of a CPU; -1: no limit. */
int64_t cpus_quota(void);
/* How many vps a set has that may use so many CPUs. */
unsigned cpus_vps(unsigned cpus);

/* carrier.c */
int carrier_call(struct uk_vp *vp, struct crew *w); /* a new one that will own vp */
void carrier_drop(struct uk_vp *vp);                /* and that was dismissed */
int maker_call(struct crew *w);                     /* of spares */
void carriers_init(void); /* how many spares, and how many there may be */
void carrier_no_hog(struct carrier *c);
struct uk_thread *
carrier_guest(struct carrier *c);     /* signal.c; itself. NULL: no memory */
void run_deferred(struct carrier *c); /* itself, in the runtime, without a lock */
void maker_defer(void); /* a signal handler: the maker shall call deferred_wake */
void maker_wake(void);  /* it shall look whether spares are wanted */
bool want_spare(void);  /* are they? */
void carrier_grown(struct carrier *c); /* a spare parks; that lock, too */
void spares_ran_out(void);             /* more of them are; the lock of handoff.c */
/* It shall kick vp: the monitor has a table of descriptors of its own (act/files.c), where
 * a vp's reactor is not. */
void maker_kick(struct uk_vp *vp);
void maker_job(void (*fn)(void)); /* it shall call fn; one such call at a time */
/* A kernel thread of the runtime's own, with all signals blocked, detached if nobody will
 * join it. 0 or -errno. */
int kernel_thread(void *(*fn)(void *), void *arg, size_t stack, pthread_t *joinable);
int maker_failed(void); /* error of its last try to make one, 0 = it was made */
void carrier_bind(struct carrier *c, struct uk_vp *vp);
bool carrier_renew(
    struct carrier *c); /* itself, on a user thread's stack; or no memory */
/* Around fork (life/fork.c). */
void carriers_forget(
    struct carrier *only);  /* the child: no other one exists (may be NULL) */
int carriers_rebuild(void); /* the child: all vps are orphans */

/* scarce.c */
void vp_ask_flush(struct uk_vp *vp); /* anyone: what it has cached goes to the pools */
void memory_ask(void); /* there is none for a thread: who has some shall give it */
/* The same for t, the caller, in the runtime, who waits for it. False: it was asked for
 * before, there is none. */
bool memory_gather(struct uk_thread *t);
void memory_gave(void);   /* a vp has */
void memory_forked(void); /* the child: who waited is gone */

/* cap.c */
void cap_init(void);  /* the runtime starts: what can be known without opening files */
void cap_learn(void); /* the rest; the monitor, once */
unsigned carriers_cap(void);
/* The end of the watchdog's message about a vp that has no carrier: who has them all. */
void cap_explain(char *buf, size_t n);

/* gate.c */
extern uint32_t world_gate; /* enum gate; not 0: nobody may come into the runtime */
void gate_wait(void);       /* outside the runtime, or as good as */
void carrier_stop(
    struct carrier *c); /* in the runtime, between two things: wait there */
void set_lock_acquire(void);
void set_lock_release(void);

/* setxid.c */
void setxid_init(void); /* before any full thread; again when thread_signals is set */

/* signal.c */
void foreign_asked(struct uk_thread *t); /* itself, outside the runtime, SIGNAL asked */
void signals_deliver(
    struct uk_thread *t); /* itself, outside the runtime, SIGNAL asked */
/* Constructors of the rooms above register what shall run once the runtime runs; and what
 * shall run again in a forked child, when the runtime is rebuilt. */
void sched_on_start(void (*fn)(void));
void sched_on_child(void (*fn)(void));
/* A kernel thread without which the runtime does not start. It runs after on_start. */
void sched_needs_thread(void *(*fn)(void *), size_t stack);
void sched_run_on_child(void);
/* set by the act room: 1 while the monitor sleeps as long as all vps do; a vp that leaves
 * idleness, and runs threads, takes it away and calls */
extern uint32_t monitor_asleep;
extern void (*monitor_call)(void);
extern void (*carrier_born)(
    void);                 /* likewise; NULL, or a new carrier in carriers_all calls */
void monitor_notice(void); /* anyone: a vp that runs threads is awake now, or there is
			      something to give back */

#endif

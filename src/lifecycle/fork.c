/* SPDX-License-Identifier: Apache-2.0 */
/* fork.c - fork: the child has a runtime with one thread alive, the one that called
 * fork.
 *
 * THE GATE. Before fork copies the address space, every other thread is brought to a
 * place where the runtime's data is at rest. So the child finds each list whole, and
 * each waiting thread's descriptor says what it waits for. Pairs of locks cannot give
 * that: a run queue has no lock, and one page is copied while others still write to the
 * next one.
 *
 *   OPEN  --prepare-----------> SHUT      threads that enter the runtime wait here
 *   SHUT  --fork, the parent--> OPEN
 *   SHUT  --fork, the child---> CHILD     only the caller is left; nothing rebuilt yet
 *   CHILD --prepare, parent---> SHUT, CHILD   it forks again before any thread entered
 *   CHILD --first to enter----> REBUILD --> OPEN
 *   OPEN  --child of a fork by a handler that interrupted the runtime--> LOST
 *
 * A carrier counts as stopped in three cases. It is outside the runtime (in_rt == 0)
 * and its vp's owner word is marked REVOKING, so that entering takes the slow path,
 * which ends at the gate (the same protocol, and the same membarrier, as the monitor's
 * hand-off; hence the monitor is locked out meanwhile). Or it waits at the gate, where
 * its dispatcher goes when a message asks it to (MSG_STOP). Or it is a spare. A foreign
 * thread counts as stopped if its depth is 0. No thread waits at the gate with a lock.
 * User code goes on running all the time.
 *
 * Then prepare takes the few locks that are also used outside the runtime, in the order
 * of their ranks in base/lock.h.
 *
 * THE CHILD does at once what cannot wait. It closes the parent's reactors. It undoes
 * what the lost threads' waits did to mutexes, channels and so on (later the program
 * may have freed those). And it gives the caller back its thread block, which libc took
 * for a kernel thread's. The first call that enters the runtime does all the rest
 * (rebuild), because most children call exec: the lost threads' stacks and descriptors
 * go back to their pools, queues, wheels and reactors start anew, all vps are orphans,
 * and the maker makes carriers for them. Thread blocks of lost threads that ran user
 * code are not reused: libc's keys have values in them, and malloc may have been at
 * work in one. libc takes back the carriers' own stacks.
 *
 * The handlers are registered when the library is loaded: so prepare runs after the
 * program's own handlers, and the child's part before them.
 *
 * Rejected: locks instead of a gate (above); a child that may only exec (as it was);
 * rebuilding in the child at once (some 100 us for each fork and exec).
 */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <dlfcn.h>

#include "arch/arch.h"
#include "base/at_load.h"
#include "base/log.h"
#include "base/sys.h"
#include "fd/fd.h"
#include "lifecycle/keeper.h"
#include "lifecycle/life.h"
#include "lifecycle/limit.h"
#include "sched/enter.h"

/* What prepare did, for the parent's and the child's handler. */
enum how { FORK_NOTHING, FORK_INSIDE, FORK_LOCKED, FORK_UNSETTLED, FORK_STOPPED };

#define STOP_SPINS 20

static struct lock fork_lock = LOCK_INIT(RANK_FORK);
static __thread uint8_t how_tls;   /* read and written out of line: entering may park */
static bool started;               /* written under the set lock */
static uint64_t process_mask;      /* signal mask when the runtime started */
static struct uk_thread *survivor; /* in the child: the thread that called fork */
static uint64_t first_id;          /* ids from here on are the child's own */
static struct {
	void (*lock)(void), (*unlock)(void), (*reset)(void);
} files; /* the lock of libc's list of all FILEs; NULL: unknown */

/* ---- for starting programs ---- */

bool sched_child_mask(uint64_t *mask)
{
	const struct uk_thread *t = handler_thread();
	uint64_t now = 0;

	if (!t || !t->carrier->masked)
		return false;
	if (hooks.thread_mask) {
		*mask = hooks.thread_mask();
		return true;
	}
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &now, sizeof(now));
	/* Carriers leave a signal open and it is blocked now: the thread has blocked
	 * it. They block it and it is open now: the thread has opened it. */
	*mask = (now & ~carrier_mask) | (process_mask & (now | ~carrier_mask));
	return true;
}

void sched_vfork_begin(void)
{
	struct uk_thread *t = thread_self();

	if (!t && load_acquire(&started))
		t = thread_foreign(); /* otherwise the child would make one */
	if (t && !t->depth)
		store_release(&t->depth, DEPTH_VFORK);
}

void sched_vfork_end(void)
{
	struct uk_thread *t = thread_self();

	if (!t || t->depth != DEPTH_VFORK)
		return;
	store_release(&t->depth, 0);
	fence_compiler();
	if (t->kind == THREAD_FOREIGN) {
		run_deferred_foreign(t);
	} else if (load_relaxed(&t->carrier->deferred)) {
		/* set by a handler meanwhile */
		rt_enter();
		rt_exit();
	}
}

void sched_fork_lost(const uint64_t *mask)
{
	struct uk_thread *t = thread_self();

	if (!load_acquire(&started))
		return;
	world_gate = GATE_LOST;
	if (t && !t->depth) {
		/* from here on, the preload library's calls are libc's */
		if (hooks.thread_mask)
			store_release(&t->depth, DEPTH_VFORK);
		else if (load_relaxed(&t->kind) == THREAD_USER)
			/* enters by the slow path, which ends at the gate */
			t->carrier->vp = NULL;
	}
	if (mask)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, sizeof(*mask));
}

/* ---- prepare: all other threads stop ---- */

static NOINLINE void set_how(enum how h)
{
	how_tls = (uint8_t)h;
}

static NOINLINE enum how get_how(void)
{
	return (enum how)how_tls;
}

static int foreign_inside(void *obj, void *me)
{
	const struct uk_thread *t = obj;
	uint8_t depth;

	/* kind first: a user thread's depth belongs to that thread alone */
	if (t == me || load_acquire(&t->kind) != THREAD_FOREIGN)
		return 0;
	depth = load_acquire(&t->depth);
	return depth && depth != DEPTH_VFORK;
}

/* True, with handoff.c's lock held: no other thread is in the runtime or can enter
 * it. */
static bool all_stand(struct uk_thread *me, const struct carrier *mine)
{
	if (!handoff_stop(mine))
		return false;
	if (!slab_walk(&thread_slab, foreign_inside, me))
		return true;
	handoff_unlock();
	return false;
}

static void stop_all(struct uk_thread *me)
{
	const struct carrier *mine = me->kind == THREAD_USER ? me->carrier : NULL;
	struct timespec ts = { 0, 20 * NS_PER_US };

	gate_set(GATE_SHUT);
	for (unsigned n = 0; !all_stand(me, mine); n++) {
		if (n < STOP_SPINS)
			sys0(SYS_sched_yield);
		else
			sys2(SYS_nanosleep, &ts, NULL);
	}
}

static void locks_take(void)
{
	stack_fork_lock(); /* and the slab of their slabs */
	lock_acquire_nested(&thread_slab.lock);
	lock_acquire_nested(&thread_ext_slab.lock);
	lock_acquire_nested(&cleanup_slab.lock);
	tls_fork_lock();
}

static void locks_give(void)
{
	tls_fork_unlock();
	lock_release_nested(&cleanup_slab.lock);
	lock_release_nested(&thread_ext_slab.lock);
	lock_release_nested(&thread_slab.lock);
	stack_fork_unlock();
}

/* A thread may stop at the gate while it holds the lock of libc's list of FILEs, if it
 * flushes all of them and one writes by our calls. So we take that lock first. libc's
 * fork takes it once more. The lock counts for each kernel thread, so a light thread
 * must not change its kernel thread in between. */
static void enter_with_files(void)
{
	struct uk_thread *t = thread_self();
	struct carrier *c;

	if (!files.reset) {
		rt_enter();
		return;
	}
	for (;;) {
		c = t ? t->carrier : NULL;
		files.lock(); /* may sleep, so not inside the runtime */
		t = rt_enter();
		if (t->kind != THREAD_USER || !t->light || t->carrier == c)
			return;
		files.unlock();
		rt_exit();
	}
}

static void prepare(void)
{
	uint32_t unsettled = GATE_CHILD, ranks;

	/* a handler; the runtime that it interrupted may hold any lock */
	if (rt_in_runtime()) {
		set_how(FORK_INSIDE);
		return;
	}
	lock_acquire(&fork_lock);
	set_lock_acquire();
	set_how(FORK_LOCKED);
	if (!started)
		return;
	if (cas_acq_rel(&world_gate, &unsettled, GATE_SHUT)) {
		set_how(FORK_UNSETTLED);
		handoff_lock();
		locks_take();
		return;
	}
	set_lock_release(); /* entering may take locks, and may wait for a vp */
	ranks = lock_ranks_put();
	enter_with_files();
	lock_ranks_take(ranks);
	set_how(FORK_STOPPED);
	lock_acquire(&keep_lock);
	lock_acquire(&watch_lock);
	set_lock_acquire();
	stop_all(thread_self());
	locks_take();
}

static void parent(void)
{
	uint32_t ranks;

	switch (get_how()) {
	case FORK_STOPPED:
		locks_give();
		handoff_go();
		gate_set(GATE_OPEN);
		set_lock_release();
		lock_release(&watch_lock);
		lock_release(&keep_lock);
		lock_release(&fork_lock);
		if (files.reset)
			files.unlock();
		/* leaving may move to another vp and carrier */
		ranks = lock_ranks_put();
		rt_exit();
		lock_ranks_take(ranks);
		break;
	case FORK_UNSETTLED:
		locks_give();
		handoff_unlock();
		gate_set(GATE_CHILD);
		set_lock_release();
		lock_release(&fork_lock);
		break;
	case FORK_LOCKED:
		set_lock_release();
		lock_release(&fork_lock);
		break;
	case FORK_INSIDE:
	case FORK_NOTHING:
		break;
	}
}

/* ---- the child, at once ---- */

static int undo_wait(void *obj, void *arg)
{
	struct uk_thread *t = obj;
	uint8_t kind = load_acquire(&t->kind);

	if (t != arg && (kind == THREAD_USER || kind == THREAD_FOREIGN) &&
	    W_STATE(load_relaxed(&t->wait)) != W_IDLE)
		hooks.wait_lost(t);
	return 0;
}

/* The kernel writes into this thread's rseq area, which is in the stack that libc will
 * give to another thread. */
static void rseq_leave(const struct carrier *c)
{
	const ptrdiff_t *off = dlsym(RTLD_DEFAULT, "__rseq_offset");

	for (uint32_t len = 32; off && len <= 256; len += 32)
		if (!sys4(SYS_rseq, (char *)c->tp + *off, len, 1 /* UNREGISTER */,
			  0x53053053))
			return;
}

static void user_survives(struct uk_thread *t)
{
	struct carrier *c = t->carrier;
	uint64_t mask;

	c->tid = sys_gettid();
	c->vp = NULL;
	c->hog = NULL;
	c->deferred = 0; /* for waiters that no longer exist */
	if (c->guest == thread_self())
		c->guest->ktid = c->tid;
	else
		c->guest = NULL; /* freed with the others (bury) */
	if (t->tp) {
		if (!c->renew)
			rseq_leave(c);
		c->renew = true;
	}
	t->susp = 0;
	if (t->join > JOIN_LAST)
		t->join = JOIN_OPEN; /* its joiner is lost */
	/* There is no other kernel thread to take signals. */
	if (sched_child_mask(&mask))
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, sizeof(mask));
	c->masked = false;
}

/* Leaves what only the parent's runtime has. */
static void leave_parent(struct uk_thread *t)
{
	slab_walk(&thread_slab, undo_wait, t);
	hooks.wait_lost(NULL);
	for (uint32_t i = 0; i < vp_count_all; i++) {
		struct reactor *r = &vp_all[i]->reactor;

		r->ops->fork_leave(r);
		vp_all[i]->idle = 0;
	}
	fd_drop_all();
}

/* The thread that called fork lives on: in a handler, the user thread that the handler
 * interrupted, and its guest; or a kernel thread, which may never have called the
 * library. */
static void survive(void)
{
	struct uk_thread *t = handler_thread();
	bool user = t != NULL;

	if (!t)
		t = thread_self();
	survivor = t;
	first_id = thread_new_ids(1);
	sched_forks++;
	carriers_forget(user ? t->carrier : NULL);
	keeper_forget();
	limit_rebuild(user);
	tls_fork_child(user && t->tp);
	if (user)
		user_survives(t);
	else if (t) {
		t->ktid = sys_gettid();
		t->deferred = 0;
	}
	locks_give();
	handoff_unlock();
	/* now, because setuid() must find the kernel thread; if there is no memory,
	 * again when it enters the runtime */
	if (user && t->carrier->renew)
		carrier_renew(t->carrier);
	gate_set(GATE_CHILD);
	set_lock_release();
	lock_release(&fork_lock);
}

static void child(void)
{
	struct uk_thread *t;

	switch (get_how()) {
	case FORK_STOPPED:
		t = thread_self();
		leave_parent(t);
		survive();
		lock_release(&watch_lock);
		lock_release(&keep_lock);
		if (files.reset)
			files.reset();
		/* as in rt_exit, but there is no vp */
		store_release(&t->depth, t->depth - 1);
		if (t->kind == THREAD_USER)
			store_release(&t->carrier->in_rt, 0);
		break;
	case FORK_UNSETTLED:
		survive();
		break;
	case FORK_LOCKED:
		/* kernel threads waited, without a runtime */
		if (thread_self() && hooks.wait_lost)
			hooks.wait_lost(NULL);
		set_lock_release();
		lock_release(&fork_lock);
		break;
	case FORK_INSIDE:
		gate_set(GATE_LOST);
		break;
	case FORK_NOTHING:
		break;
	}
}

/* ---- the child, when it enters the runtime ---- */

static void end_wait(struct uk_thread *t)
{
	store_relaxed(&t->wait, W_MAKE(W_TOKEN(t->wait) + 1, 0, W_IDLE));
}

/* A user thread that no longer exists. True: it was alive in the parent. */
static bool bury_user(struct uk_thread *t)
{
	struct cleanup *k;

	if (t->state == T_EXITED) {
		/* its joiner may be lost, its result is not */
		t->join = JOIN_EXITED;
		return false;
	}
	if (t->stack && t->kind_of_stack)
		stack_put_from(NULL, t->stack, (char *)t->stack + thread_stack_size(t),
			       t->kind_of_stack);
	if (t->tp && t->state == T_NEW) /* else libc's keys have values in it */
		tls_put(NULL, t->tp);
	t->stack = NULL;
	t->tp = NULL;
	while (t->ext && (k = t->ext->cleanups)) { /* POSIX: not run */
		t->ext->cleanups = k->next;
		slab_put(&cleanup_slab, NULL, k);
	}
	thread_free_ext(t);
	end_wait(t);
	t->timer.wheel = NULL;
	t->state = T_EXITED;
	store_release(&t->kind, (uint8_t)THREAD_FREE);
	if (t->join != JOIN_DETACHED)
		t->join = JOIN_LOST;
	else
		slab_put(&thread_slab, NULL, t);
	return true;
}

static int bury(void *obj, void *arg)
{
	struct uk_thread *t = obj;
	uint64_t *lost = arg;

	if (t == survivor || t->id >= first_id)
		return 0;
	if (survivor && survivor->carrier && t == survivor->carrier->guest)
		return 0; /* its handler may have forked */
	if (load_acquire(&t->kind) == THREAD_USER) {
		*lost += bury_user(t);
	} else if (load_acquire(&t->kind) == THREAD_FOREIGN) {
		end_wait(t);
		thread_free_ext(t);
		store_release(&t->kind, (uint8_t)THREAD_FREE);
		slab_put(&thread_slab, NULL, t);
	}
	return 0;
}

static void vp_renew(struct uk_vp *vp)
{
	struct runq *q = &vp->rq;
	int r;

	q->lifo = NULL;
	q->head = q->tail = 0;
	q->over = q->pinned = (struct tqueue){ 0 };
	vp->inbox = vp->pinbox = NULL;
	vp->msgs = vp->closers = NULL;
	vp->stop_sent = 0;
	vp->submits = 0;
	vp->nudge = 0;
	vp->starved = false;
	/* turn_end was a position in the parent's queue */
	vp->lifo_most = LIFO_STREAK;
	vp->deep = 0;
	vp->watch = (struct vp_watch){ 0 };
	vp->clock = sys_now();
	wheel_init(&vp->wheel, vp->clock);
	vp->reactor.hogs = 0;
	vp->set->nidle = vp->set->waking = 0;
	r = reactor_again(&vp->reactor);
	if (r)
		uk_panic(
		    "cannot restart vp %u's reactor in this forked child: error %d",
		    vp->id, -r);
}

static void rebuild(void)
{
	uint64_t lost = 0;
	int r;

	memory_forked();
	if (hooks.child_thread)
		hooks.child_thread(survivor);
	barrier_init();
	slab_walk(&thread_slab, bury, &lost);
	for (uint32_t i = 0; i < vp_count_all; i++)
		vp_renew(vp_all[i]);
	vp_all[0]->count.exits += lost;
	if (survivor)
		survivor->timer.wheel = NULL; /* it rested in one of them */
	monitor_state = MONITOR_AWAKE;
	r = carriers_rebuild();
	if (r)
		uk_panic("cannot create kernel threads in this forked child: error %d",
			 -r);
	sched_run_on_child();
	gate_set(GATE_OPEN);
}

static void fork_start(void)
{
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, NULL, &process_mask,
	     sizeof(process_mask));
	started = true;
}

AT_LOAD(fork_register)
{
	*(void **)(void *)&files.lock = dlsym(RTLD_DEFAULT, "_IO_list_lock");
	*(void **)(void *)&files.unlock = dlsym(RTLD_DEFAULT, "_IO_list_unlock");
	if (files.lock && files.unlock)
		*(void **)(void *)&files.reset =
		    dlsym(RTLD_DEFAULT, "_IO_list_resetlock");
	hooks.gate_rebuild = rebuild;
	sched_on_start(fork_start);
	pthread_atfork(prepare, parent, child);
}

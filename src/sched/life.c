/* SPDX-License-Identifier: Apache-2.0 */
/* life.c - create, exit, join, suspend, cancel.
 *
 * A thread exits on its own stack, so the last steps (stack, TLS block and descriptor go
 * back to their pools) are its successor's: thread_reap, from finish_switch. A join
 * therefore returns only when the stack is free again: the next create finds it hot.
 *
 * The stack limit (uk_stack_limit) counts live threads only where one is set; creators wait
 * on it in FIFO order, as in the founding model.
 */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "arch/arch.h"
#include "base/list.h"
#include "base/panic.h"
#include "base/sys.h"
#include "sched/switch.h"
#include "sched/vp.h"
#include "thread/tls.h"
#include "uk/stat.h"
#include "uk/thread.h"
#include "uk/time.h"

#define ID_BATCH 1024u
#define LIGHT_ONLY UK_SAN

size_t sched_stack_size = (size_t)256 << 10;
static bool eager_stacks; /* set once, before any thread exists */

/* ---- the limit of the stack pool ---- */

struct limit_waiter {
	struct list link;
	struct uk_thread *t;
	uint64_t token;
};

static struct {
	struct lock lock;
	uint64_t max;  /* 0 = none; written under the lock, read racily */
	uint64_t live; /* lock; counted while max != 0 */
	uint64_t
	    heirs; /* lock to write; not 0: a forked child without main: its threads */
	struct list waiters;
} limit = { LOCK_INIT(RANK_THREADS), 0, 0, 0, LIST_INIT(limit.waiters) };

#define NO_LIMIT ((uint64_t)INT64_MAX) /* counted nevertheless */

/* Under the lock. */
static void heir_born(void)
{
	if (unlikely(limit.heirs))
		store_relaxed(&limit.heirs, limit.heirs + 1);
}

/* 0, -EAGAIN (nowait), -ECANCELED, -ETIMEDOUT. */
static int limit_take(struct uk_thread *t, bool nowait)
{
	struct limit_waiter w = { .t = t };
	unsigned why;

	lock_acquire(&limit.lock);
	if (!limit.max || (limit.live < limit.max && list_empty(&limit.waiters))) {
		limit.live++;
		heir_born();
		lock_release(&limit.lock);
		return 0;
	}
	if (nowait) {
		lock_release(&limit.lock);
		return -EAGAIN;
	}
	w.token = wait_begin(t, WAIT_STACK, NULL);
	list_push_back(&limit.waiters, &w.link);
	lock_release(&limit.lock);
	why = wait_park(t, w.token, TIME_NEVER);
	if (why == WAKE_OK)
		return 0; /* who fired us counted us */
	lock_acquire(&limit.lock);
	list_del(&w.link);
	lock_release(&limit.lock);
	return wake_error(why);
}

/* Under the lock: as many waiters as there is room for, first come first served. */
static void limit_serve(void)
{
	while (!list_empty(&limit.waiters) && (!limit.max || limit.live < limit.max)) {
		struct limit_waiter *w = container_of(list_pop_front(&limit.waiters),
						      struct limit_waiter, link);

		if (wait_fire(w->t, w->token, WAKE_OK)) {
			limit.live++;
			heir_born();
		}
	}
}

/* unborn: its creation failed, so it won't come by limit_leave. */
static void limit_put(bool unborn)
{
	lock_acquire(&limit.lock);
	if (limit.live)
		limit.live--;
	if (unborn && limit.heirs)
		store_relaxed(&limit.heirs, limit.heirs - 1);
	limit_serve();
	lock_release(&limit.lock);
}

/* Nobody waits any more, and of the user threads one lives at most. Where that one forked,
 * no main is there to end the process: its last thread does (POSIX has it so), and they are
 * counted for that. */
void limit_rebuild(bool heir)
{
	lock_init(&limit.lock, RANK_THREADS);
	list_init(&limit.waiters);
	limit.live = limit.heirs = heir;
	if (heir ? !limit.max : limit.max == NO_LIMIT)
		store_relaxed(&limit.max, heir ? NO_LIMIT : 0);
}

void limit_leave(void)
{
	bool last = false;

	lock_acquire(&limit.lock);
	if (limit.heirs) {
		store_relaxed(&limit.heirs, limit.heirs - 1);
		last = !limit.heirs;
	}
	lock_release(&limit.lock);
	if (last)
		exit(0);
}

static int count_alive(void *obj, void *arg)
{
	const struct uk_thread *t = obj;

	*(uint64_t *)arg += load_relaxed(&t->kind) == THREAD_USER &&
			    load_relaxed(&t->state) != T_EXITED;
	return 0;
}

/* Can an mmap without reservation fail long before memory is used up? */
static bool memory_is_rationed(void)
{
	struct rlimit rl;
	char c = '0';
	long fd;

	if (!sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &rl) &&
	    rl.rlim_cur != RLIM_INFINITY)
		return true;
	fd = sys4(SYS_openat, AT_FDCWD, "/proc/sys/vm/overcommit_memory",
		  O_RDONLY | O_CLOEXEC, 0);
	if (fd >= 0) {
		sys3(SYS_read, fd, &c, 1);
		sys1(SYS_close, fd);
	}
	return c == '2';
}

void stack_limit_init(uint64_t max)
{
	limit.max = max;
	bool rationed = memory_is_rationed();
	size_t guard = env_size("UK_GUARD_SIZE", 1u << 30);

	eager_stacks = stack_guard_kind()[0] != 'M' || rationed;
	if (guard || rationed) /* where address space counts, a page must do */
		stack_set_guard(guard);
}

UK_API int uk_stack_limit(size_t max_threads)
{
	uint64_t live = 0;
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	rt_enter();
	slab_walk(&thread_slab, count_alive, &live);
	lock_acquire(&limit.lock);
	if (!limit.max)
		limit.live = live;
	store_relaxed(&limit.max, max_threads || !limit.heirs ? max_threads : NO_LIMIT);
	limit_serve();
	lock_release(&limit.lock);
	rt_exit();
	return 0;
}

/* ---- birth ---- */

UK_API void uk_attr_init(uk_attr *a)
{
	memset(a, 0, sizeof(*a));
}

static uint64_t new_id(struct uk_vp *vp)
{
	if (!vp)
		return thread_new_ids(1);
	if (unlikely(vp->next_id == vp->end_id)) {
		vp->next_id = thread_new_ids(ID_BATCH);
		vp->end_id = vp->next_id + ID_BATCH;
	}
	return vp->next_id++;
}

/* Where a new thread goes: pinned; else its set's next vp, or, created inside the set, the
 * creator's own vp (thieves spread the load; a set without stealing goes round robin). */
static struct uk_vp *place(const uk_attr *a, struct uk_vp *here)
{
	struct uk_vpset *s;

	if (a->vp)
		return a->vp;
	s = a->set ? a->set : here ? here->set : vpset_default;
	if (here && here->set == s && !(s->flags & UK_VPSET_NOSTEAL))
		return here;
	return uk_vpset_next_vp(s);
}

static void thread_main(void *arg);

/* A new block needs libc's malloc, which gives each thread that calls it a cache and an
 * arena of its own (672 bytes). Whoever parks starts the next thread, so each thread would
 * pay for its successor's block: the carrier's TLS is put on for the call. A signal handler
 * that comes meanwhile finds the dispatcher in there, inside the runtime.
 *
 * me: the drop-in's creator. The program's malloc may be one that waits for our own locks, so
 * it is called outside the runtime; then vp may be another one's. */
static void *block_get(struct uk_vp *vp, struct uk_thread *me, void *stack, size_t size)
{
	struct carrier *c;
	void *mine, *tp;

	if (!vp)
		return tls_get(NULL, stack, size);
	if (me && !tls_cache_holds(&vp->tls)) {
		outside_begin(me);
		tp = tls_get(NULL, stack, size);
		outside_end(me);
		return tp;
	}
	c = (struct carrier *)(load_relaxed(&vp->owner) & ~VP_REVOKING);
	mine = c->tp_now;
	if (likely(tls_cache_holds(&vp->tls)) || mine == c->tp)
		return tls_get(&vp->tls, stack, size);
	*c->self_slot = &c->disp;
	arch_set_tp(c->tp);
	tp = tls_get(&vp->tls, stack, size);
	arch_set_tp(mine);
	return tp;
}

/* A stack of the program's goes back to nobody. */
static void give_stack(struct uk_vp *vp, struct uk_thread *t, void *stack)
{
	if (likely(t->kind_of_stack))
		stack_put(vp ? &vp->stacks : NULL, stack, t->kind_of_stack);
}

static bool start_thread(struct uk_vp *vp, struct uk_thread *me, struct uk_thread *t)
{
	size_t size = thread_stack_size(t);
	unsigned color = 0;
	char *stack = t->kind_of_stack
			  ? stack_get(vp ? &vp->stacks : NULL, t->kind_of_stack, &color)
			  : t->stack;

	if (unlikely(!stack))
		return false;
	if (!t->light) {
		t->tp = block_get(vp, me, stack, size);
		if (unlikely(!t->tp)) {
			give_stack(me ? vp_of(me) : vp, t, stack);
			return false;
		}
		*(struct uk_thread **)tls_address_in(t->tp, thread_self_slot()) = t;
	}
	store_relaxed(&t->stack, (void *)stack);
#if UK_SAN
	san_create(&t->san, stack, size);
#endif
	t->sp = arch_context_init(stack + size - color, thread_main, t, t->timer.token);
	return true;
}

bool thread_start(struct uk_vp *vp, struct uk_thread *t)
{
	return start_thread(vp, NULL, t);
}

/* For the drop-in: the stack is the program's. */
static bool make_own(struct uk_thread *t, const struct birth *b)
{
	struct thread_ext *e;

	if (!b->stack)
		return true;
	e = thread_ext(t);
	if (!e)
		return false;
	e->own_stack = b->size;
	t->kind_of_stack = 0;
	store_relaxed(&t->stack, b->stack);
	return true;
}

/* A descriptor. Its stack comes when it first runs, except where memory may really run out
 * (guards that split mappings), or its block is to be known (b): then now, so that the
 * creator gets the error. */
static struct uk_thread *make(struct uk_thread *me, unsigned kind, bool light,
			      const struct birth *b)
{
	struct uk_vp *here = vp_of(me);
	struct uk_thread *t = slab_get(&thread_slab, here ? &here->threads : NULL);

	if (unlikely(!t))
		return NULL;
	thread_born(t);
	t->sp = NULL;
	t->tp = NULL;
	t->stack = NULL;
	t->kind_of_stack = (uint8_t)kind;
	t->light = light;
	t->lasting = b != NULL;
	t->ext = NULL;
	t->timer.token = arch_fp_env();
	if (unlikely(eager_stacks || b) &&
	    ((b && !make_own(t, b)) || !start_thread(here, b ? me : NULL, t))) {
		thread_free_ext(t);
		t->lasting = 0;
		here = vp_of(me);
		slab_put(&thread_slab, here ? &here->threads : NULL, t);
		return NULL;
	}
	return t;
}

static int check_attr(const uk_attr *a, unsigned *kind)
{
	size_t size = a->stack_size ? a->stack_size : sched_stack_size;
	uint32_t reserved = a->reserved0;

	if (a->flags &
	    ~(UK_ATTR_DETACHED | UK_ATTR_SUSPENDED | UK_ATTR_LIGHT | UK_ATTR_NOWAIT))
		return -EINVAL;
	for (unsigned i = 0; i < array_size(a->reserved); i++)
		reserved |= a->reserved[i];
	if (reserved)
		return -EINVAL;
	if (a->vp && (a->vp->reactive || (a->set && a->set != a->vp->set)))
		return -EINVAL;
	*kind = stack_kind(size, a->guard_size);
	return *kind ? 0 : -EINVAL;
}

/* What its attributes say, and what all begin with. */
INLINE void fill(struct uk_thread *t, const uk_attr *a, struct uk_vp *here,
		 struct uk_vp *to)
{
	t->carrier = NULL;
	t->vp = to;
	t->pinned = a->vp;
	t->susp = a->flags & UK_ATTR_SUSPENDED ? SUSP_ASKED | SUSP_HELD : 0;
	t->asked = 0;
	t->depth = 1;
	t->wkind = WAIT_NONE;
	t->blocking = 0;
	t->uncancelable = 0;
	t->deadline = TIME_NEVER;
	store_relaxed(&t->since, here ? here->clock : sys_now());
	t->join = a->flags & UK_ATTR_DETACHED ? JOIN_DETACHED : JOIN_OPEN;
	t->id = new_id(here);
	t->wfd = -1;
	t->timer.wheel = NULL;
	if (unlikely(a->name))
		uk_thread_set_name(t, a->name);
}

static int create(uk_thread **out, const uk_attr *a, const struct birth *b,
		  void *(*fn)(void *), void *arg)
{
	bool light = (a->flags & UK_ATTR_LIGHT) || LIGHT_ONLY;
	struct uk_thread *me, *t;
	struct uk_vp *here, *to;
	unsigned kind;
	int r;

	if (!fn || (!out && !(a->flags & UK_ATTR_DETACHED)))
		return -EINVAL;
	r = sched_start(); /* who was adopted has not started it */
	if (!r)
		r = rt_begin();
	if (unlikely(r))
		return r;
	me = enter_any();
	light |= !arch_full_threads();
	if (unlikely(!light && tls_method()[0] == 'n')) {
		r = -ENOTSUP;
		goto out;
	}
	r = check_attr(a, &kind);
	if (unlikely(r))
		goto out;
	if (unlikely(load_relaxed(&limit.max))) {
		r = limit_take(me, a->flags & UK_ATTR_NOWAIT);
		if (r)
			goto out;
	}
	t = make(me, kind, light, b);
	if (unlikely(!t)) {
		if (load_relaxed(&limit.max))
			limit_put(true);
		r = -ENOMEM;
		goto out;
	}
	here = vp_of(me);
	to = place(a, here);
	fill(t, a, here, to);
	t->arg = arg;
	t->fn = fn;
	t->creator = me->id;
	store_relaxed(&t->state, (uint8_t)(t->susp ? T_SUSPENDED : T_NEW));
	store_release(&t->kind, THREAD_USER);
	if (likely(here))
		bump(&here->count.creates, 1);
	else /* many write it, and what lives is counted by it */
		fetch_add_relaxed(&sched_foreign_count()->creates, 1);
	if (out)
		*out = t;
	if (b)
		*b->block = t->tp;
	if (!t->susp) {
		/* next on this vp, which walks a tree of threads in depth and keeps few of them
		 * alive; where a vp of the set sleeps, within the reach of thieves */
		if (here == to)
			enqueue(here, t,
				!here->shared || !load_relaxed(&here->set->nidle));
		else
			queue_anywhere(t);
	}
	r = 0;
out:
	exit_any(me);
	return r;
}

UK_API int uk_thread_create(uk_thread **out, const uk_attr *attr, void *(*fn)(void *),
			    void *arg)
{
	static const uk_attr defaults = UK_ATTR_INIT;

	return create(out, attr ? attr : &defaults, NULL, fn, arg);
}

int thread_bear(uk_thread **out, const uk_attr *attr, const struct birth *b,
		void *(*fn)(void *), void *arg)
{
	return create(out, attr, b, fn, arg);
}

/* ---- death ---- */

/* The joiner that waits for t, taken out of its wait, if this vp may run it at once: then
 * t's exit is one switch, and its stack goes from hand to hand. The reaper finds it fired. */
static struct uk_thread *claim_joiner(struct uk_vp *vp, struct uk_thread *t)
{
	uint64_t j = load_acquire(&t->join), token, w;
	struct uk_thread *joiner = (struct uk_thread *)(j & 0xffffffffffff);
	struct uk_vp *his;

	if (j <= JOIN_LAST || joiner->kind != THREAD_USER)
		return NULL;
	/* the token first: while it stays, so does what we read of him */
	token = W_TOKEN(load_acquire(&joiner->wait));
	w = W_MAKE(token, 0, W_PARKED);
	his = load_relaxed(
	    &joiner->vp); /* NULL: dead since long, his memory was given back */
	if ((token & 0xffff) != j >> 48 || !his || his->set != vp->set ||
	    load_relaxed(&joiner->pinned) || load_relaxed(&joiner->susp) ||
	    --vp->budget < 0)
		return NULL;
	if (!cas_seq_cst(&joiner->wait, &w, W_MAKE(token, WAKE_OK, W_FIRED)))
		return NULL;
	/* who looks at his stack sees him fired, or we see that somebody looks (keeper.c) */
	if (unlikely(load_seq_cst(&joiner->susp))) {
		store_release(&joiner->wait, W_MAKE(token, 0, W_PARKED));
		return NULL;
	}
	bump(&vp->count.readies, 1);
	return joiner;
}

/* The end of t, the caller, outside of the runtime. */
INLINE NORETURN void leave(struct uk_thread *t, void *ret)
{
	struct uk_thread *next;
	struct carrier *c;
	enum post action = POST_EXIT_JOINED;

	if (unlikely(t->ext))
		thread_run_cleanups(t);
	if (t->tp)
		tls_run_destructors();
	if (unlikely(load_relaxed(&limit.heirs)))
		limit_leave();
	c = enter_user(t);
	t->arg = ret;
	store_relaxed(&t->since, c->vp->clock);
	store_relaxed(&t->state, (uint8_t)T_EXITED);
	timer_del(&t->timer);
	bump(&c->vp->count.exits, 1);
	next = claim_joiner(c->vp, t);
	if (unlikely(!next)) {
		next = next_thread(c);
		action = POST_EXIT;
	}
	switch_now(c, t, next, action);
	uk_panic("thread %lu ran after its exit", (unsigned long)t->id);
}

UK_API void uk_thread_exit(void *ret)
{
	struct uk_thread *t = thread_self();

	if (!t || t->kind != THREAD_USER)
		uk_panic("uk_thread_exit on a kernel thread that is not a user thread");
	leave(t, ret);
}

static void thread_main(void *arg)
{
	struct uk_thread *t = arg;
	struct carrier *c = t->carrier;
	void *(*fn)(void *) = t->fn;

#if UK_SAN
	san_arrive(&t->san, &c->post->san);
#endif
	signals_arrived(t);
	finish_switch(c);
	t->wobj = NULL;
	exit_user(t);
	leave(t, fn(t->arg));
}

static void descriptor_put(struct uk_vp *vp, struct uk_thread *t)
{
	if (unlikely(t->lasting) && t->tp) {
		tls_put(vp ? &vp->tls : NULL, t->tp);
		t->tp = NULL;
	}
	store_release(&t->kind, THREAD_FREE);
	slab_put(&thread_slab, vp ? &vp->threads : NULL, t);
}

void thread_reap(struct uk_vp *vp, struct uk_thread *t, bool joined)
{
	struct uk_thread *joiner;
	uint64_t j, token;

#if UK_SAN
	san_destroy(&t->san);
#endif
	give_stack(vp, t, t->stack);
	store_relaxed(&t->stack, NULL);
	if (t->tp && likely(!t->lasting)) {
		tls_put(&vp->tls, t->tp);
		t->tp = NULL;
	}
	if (unlikely(t->ext))
		thread_free_ext(t);
	if (unlikely(load_relaxed(&limit.max)))
		limit_put(false);
	if (likely(
		joined)) /* the joiner is already out of its wait: nobody else writes join */
		return;
	j = load_acquire(&t->join);
	do {
		if (j == JOIN_DETACHED) {
			descriptor_put(vp, t);
			return;
		}
		joiner =
		    j > JOIN_LAST ? (struct uk_thread *)(j & 0xffffffffffff) : NULL;
		token = joiner ? W_TOKEN(load_acquire(&joiner->wait)) : 0;
	} while (!cas_acq_rel(&t->join, &j, JOIN_EXITED));
	/* Another token: he has timed out, and will find EXITED when he takes himself out. */
	if (joiner && (token & 0xffff) == j >> 48)
		wait_fire(joiner, token, WAKE_OK);
}

/* A thread that a fork left behind: free its descriptor. */
static bool lost_take(struct uk_thread *me, struct uk_thread *t, uint64_t j)
{
	if (j != JOIN_LOST || !cas_acq_rel(&t->join, &j, JOIN_TAKEN))
		return false;
	descriptor_put(vp_of(me), t);
	return true;
}

static int join(struct uk_thread *t, void **ret, int64_t deadline)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *me = enter_any();
	uint64_t j = load_acquire(&t->join), mine, tok;
	unsigned why;
	int r = 0;

	if (t == me) {
		r = -EDEADLK;
		goto out;
	}
	while (j != JOIN_EXITED) {
		if (j != JOIN_OPEN) { /* detached, taken, or somebody else joins */
			r = lost_take(me, t, j) ? -ESRCH : -EINVAL;
			goto out;
		}
		tok = wait_begin(me, WAIT_JOIN, t);
		mine = (uintptr_t)me | (tok & 0xffff) << 48;
		if (!cas_acq_rel(&t->join, &j, mine)) {
			if (!wait_abandon(me, tok, &why) && why == WAKE_CANCEL &&
			    j != JOIN_EXITED) {
				r = -ECANCELED;
				goto out;
			}
			continue;
		}
		why = wait_park(me, tok, deadline);
		if (likely(why == WAKE_OK && load_relaxed(&t->join) == mine))
			goto take; /* t handed itself to us: nobody else may join it */
		j = mine;
		if (why != WAKE_OK && cas_acq_rel(&t->join, &j, JOIN_OPEN)) {
			r = wake_error(why);
			goto out;
		}
		j = JOIN_EXITED; /* fired by the reaper, or it came first anyway */
	}
	if (!cas_acq_rel(&t->join, &j, JOIN_TAKEN)) {
		r = -EINVAL;
		goto out;
	}
take:
	if (ret)
		*ret = t->arg;
	descriptor_put(vp_of(me), t);
out:
	exit_any(me);
	return r;
}

UK_API int uk_thread_join_until(uk_thread *t, void **ret, uk_time deadline)
{
	return join(t, ret, deadline);
}

UK_API int uk_thread_join(uk_thread *t, void **ret)
{
	return join(t, ret, UK_FOREVER);
}

UK_API int uk_thread_detach(uk_thread *t)
{
	struct uk_thread *me = rt_enter();
	uint64_t j = JOIN_OPEN;
	int r = 0;

	if (!cas_acq_rel(&t->join, &j, JOIN_DETACHED)) {
		if (j == JOIN_EXITED && cas_acq_rel(&t->join, &j, JOIN_TAKEN))
			descriptor_put(sched_vp(me), t);
		else if (!lost_take(me, t, j))
			r = -EINVAL;
	}
	rt_exit();
	return r;
}

/* ---- while it lives ---- */

UK_API uk_thread *uk_thread_self(void)
{
	struct uk_thread *t = thread_self_tls;

	return t && t->kind == THREAD_USER ? t : NULL;
}

UK_API uint64_t uk_thread_id(const uk_thread *t)
{
	return t->id;
}

UK_API int uk_sleep_until(uk_time deadline)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	uint64_t tok = wait_begin(t, WAIT_SLEEP, NULL);
	bool own = t->deadline < deadline;
	unsigned why = wait_park(t, tok, deadline);

	rt_exit();
	return why == WAKE_TIMEOUT && !own ? 0 : wake_error(why);
}

UK_API int uk_sleep(uk_time ns)
{
	return uk_sleep_until(uk_after(ns < 0 ? 0 : ns));
}

UK_API int uk_thread_suspend(uk_thread *t)
{
	struct uk_thread *me = rt_enter();
	int r = 0;

	if (t->kind != THREAD_USER || load_relaxed(&t->state) == T_EXITED) {
		r = -ESRCH;
	} else {
		fetch_or_acq_rel(&t->susp, SUSP_ASKED);
		if (t ==
		    me) /* whoever finishes the switch holds us instead of queueing */
			switch_to(t->carrier, t, next_thread(t->carrier), POST_YIELD);
	}
	rt_exit();
	return r;
}

UK_API int uk_thread_resume(uk_thread *t)
{
	int r = 0;

	rt_enter();
	if (t->kind != THREAD_USER || load_relaxed(&t->state) == T_EXITED)
		r = -ESRCH;
	else
		suspend_end(t, SUSP_ASKED);
	rt_exit();
	return r;
}

UK_API int uk_thread_cancel(uk_thread *t)
{
	int r = 0;

	rt_enter();
	if ((t->kind != THREAD_USER && t->kind != THREAD_FOREIGN) ||
	    load_relaxed(&t->state) == T_EXITED)
		r = -ESRCH;
	else
		wait_cut(t, ASK_CANCEL);
	rt_exit();
	return r;
}

UK_API int uk_thread_cancelled(void)
{
	struct uk_thread *t = thread_self_tls;

	return t ? thread_asked(t, ASK_CANCEL) : 0;
}

UK_API int uk_thread_cancel_clear(void)
{
	struct uk_thread *t = thread_self_tls;

	return t ? !!(fetch_and_acq_rel(&t->asked, (uint8_t)~ASK_CANCEL) & ASK_CANCEL)
		 : 0;
}

UK_API uk_time uk_thread_set_deadline(uk_time deadline)
{
	struct uk_thread *t = rt_enter();
	uk_time old = t->deadline;

	t->deadline = deadline;
	rt_exit();
	return old;
}

UK_API int uk_cleanup_push(void (*fn)(void *), void *arg)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	struct thread_ext *e = thread_ext(t);
	struct cleanup *c = e ? slab_get(&cleanup_slab, NULL) : NULL;

	if (c) {
		*c = (struct cleanup){ e->cleanups, fn, arg };
		e->cleanups = c;
	}
	rt_exit();
	return c ? 0 : -ENOMEM;
}

UK_API int uk_cleanup_pop(int execute)
{
	struct uk_thread *t = rt_enter();
	struct cleanup *c = t->ext ? t->ext->cleanups : NULL, copy;

	if (c) {
		copy = *c;
		t->ext->cleanups = c->next;
		slab_put(&cleanup_slab, NULL, c);
	}
	rt_exit();
	if (!c)
		return -EINVAL;
	if (execute)
		copy.fn(copy.arg);
	return 0;
}

/* The extension is made by the thread itself or by its creator, before it runs. */
UK_API int uk_thread_set_name(uk_thread *t, const char *name)
{
	struct thread_ext *e;
	int r = 0;

	rt_enter();
	e = thread_ext(t);
	if (!e)
		r = -ENOMEM;
	else
		fmt_to(e->name, sizeof(e->name), "%s", name ? name : "");
	rt_exit();
	return r;
}

UK_API int uk_thread_get_name(const uk_thread *t, char *buf, size_t n)
{
	return (int)fmt_to(buf, n, "%s", thread_name(t));
}

UK_API int uk_thread_pin(uk_vp *vp)
{
	struct uk_thread *t = rt_enter();
	int r = 0;

	if (t->kind != THREAD_USER)
		r = -EPERM;
	else if (vp && vp->reactive)
		r = -EINVAL;
	else {
		store_relaxed(&t->pinned, vp);
		if (vp && vp != t->carrier->vp)
			switch_to(t->carrier, t, next_thread(t->carrier), POST_MIGRATE);
	}
	rt_exit();
	return r;
}

UK_API int uk_thread_stack(const uk_thread *t, void **base, size_t *size)
{
	void *stack =
	    load_relaxed(&t->stack); /* perhaps another's, who begins or ends */

	if (t->kind != THREAD_USER || !stack)
		return -ESRCH;
	*base = stack;
	*size = thread_stack_size(t);
	return 0;
}

UK_API void uk_blocking_begin(void)
{
	struct uk_thread *t = rt_enter();

	if (t->blocking++ || t->kind != THREAD_USER) {
		rt_exit();
		return;
	}
	block_begin(t, true);
}

UK_API void uk_blocking_end(void)
{
	struct uk_thread *t = thread_self();

	if (!t || !t->blocking || --t->blocking || t->kind != THREAD_USER)
		return;
	block_end(t);
	rt_exit();
}

UK_API uk_time uk_now(void)
{
	return sys_now();
}

UK_API uk_time uk_after(uk_time span)
{
	uk_time now = sys_now();

	return span >= UK_FOREVER - now ? UK_FOREVER : now + span;
}

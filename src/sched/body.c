/* SPDX-License-Identifier: Apache-2.0 */
/* body.c - what a thread gets before its first run and gives back after its last.
 *
 * The vp that takes a thread from a queue for the first time gives it a stack and a
 * thread block (thread_start). A thread exits on its own stack, so its successor takes
 * the last steps (thread_reap, called by finish_switch): the stack and the thread block
 * go back to their pools, and so does the descriptor of a detached thread. A join
 * therefore returns only when the stack is free again, and the next create finds it
 * hot.
 */
#include "sched/body.h"

#include <fcntl.h>
#include <sys/resource.h>

#include "arch/arch.h"
#include "base/log.h"
#include "base/sys.h"
#include "sched/switch.h"
#include "thread/tls.h"
#include "uk/thread.h"

size_t sched_stack_size = (size_t)256 << 10;
bool stacks_eager;

/* ---- at the start ---- */

/* Can mmap without a reservation fail long before memory is used up? */
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

void stacks_init(void)
{
	bool rationed = memory_is_rationed();
	size_t guard = env_size("UK_GUARD_SIZE", STACK_MAX_GUARD);

	stacks_eager = stack_guard_kind()[0] != 'M' || rationed;
	/* where address space is limited, a guard is one page */
	if (guard || rationed)
		stack_set_guard(guard);
	if (rationed)
		stack_ration();
}

/* ---- the first run ---- */

static void thread_main(void *arg);

/* Returns a thread block for a thread with this stack; NULL: no memory.
 *
 * A new block needs libc's malloc, which gives each thread that calls it a cache and an
 * arena of its own (672 bytes). A thread that parks starts the next thread, so each
 * thread would get these for its successor's block. Therefore the carrier's TLS is
 * active during the call. A signal handler that interrupts it finds the dispatcher as
 * the current thread, inside the runtime.
 *
 * me: the creator, if the preload library creates the thread; else NULL. The program's
 * malloc may wait for locks of ours, so it is called outside the runtime. Afterwards vp
 * may belong to another carrier.
 */
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
	c = vp_carrier(vp);
	mine = c->tp_now;
	if (likely(tls_cache_holds(&vp->tls)) || mine == c->tp)
		return tls_get(&vp->tls, stack, size);
	*c->self_slot = &c->disp;
	arch_set_tp(c->tp);
	tp = tls_get(&vp->tls, stack, size);
	arch_set_tp(mine);
	return tp;
}

/* A stack that the program supplied (kind_of_stack is 0) goes to no pool. */
static void give_stack(struct uk_vp *vp, struct uk_thread *t, void *stack)
{
	if (likely(t->kind_of_stack))
		stack_put_from(vp ? &vp->stacks : NULL, stack,
			       (char *)stack + thread_stack_size(t), t->kind_of_stack);
}

bool thread_prepare(struct uk_vp *vp, struct uk_thread *me, struct uk_thread *t)
{
	size_t size = thread_stack_size(t);
	char *stack = t->kind_of_stack
			  ? stack_get(vp ? &vp->stacks : NULL, t->kind_of_stack)
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
	/* relaxed: runq_foresee may read it at the same time */
	store_relaxed(&t->sp,
		      arch_context_init(stack + size, thread_main, t, t->timer.token));
	return true;
}

bool thread_start(struct uk_vp *vp, struct uk_thread *t)
{
	return thread_prepare(vp, NULL, t);
}

/* ---- the exit ---- */

/* Takes the joiner of t out of its wait and returns it, if this vp may run it at once;
 * else NULL. Then t's exit is one switch, and the joiner can reuse t's stack at once.
 * thread_reap finds the joiner fired. */
static struct uk_thread *claim_joiner(struct uk_vp *vp, struct uk_thread *t)
{
	uint64_t j = load_acquire(&t->join), token, w;
	struct uk_thread *joiner = (struct uk_thread *)(j & 0xffffffffffff);
	struct uk_vp *his;

	if (j <= JOIN_LAST || joiner->kind != THREAD_USER)
		return NULL;
	/* the token first: as long as it is unchanged, so are the fields that we read
	 * below */
	token = W_TOKEN(load_acquire(&joiner->wait));
	w = W_MAKE(token, 0, W_PARKED);
	/* NULL: the joiner died long ago, and its memory was given back */
	his = load_relaxed(&joiner->vp);
	if ((token & 0xffff) != j >> 48 || !his || his->set != vp->set ||
	    load_relaxed(&joiner->stays) || load_relaxed(&joiner->susp) ||
	    --vp->budget < 0)
		return NULL;
	if (!cas_seq_cst(&joiner->wait, &w, W_MAKE(token, WAKE_OK, W_FIRED)))
		return NULL;
	/* Either the thread that looks at the joiner's stack sees FIRED, or we see its
	 * bit in susp (lifecycle/keeper.c). Then thread_reap fires the joiner. */
	if (unlikely(load_seq_cst(&joiner->susp))) {
		store_release(&joiner->wait, W_MAKE(token, 0, W_PARKED));
		return NULL;
	}
	bump(&vp->count.readies, 1);
	return joiner;
}

/* t, the caller, exits. Called outside the runtime. */
INLINE NORETURN void leave(struct uk_thread *t, void *ret)
{
	struct uk_thread *next;
	struct carrier *c;
	void (*leaves)(void);
	enum post action = POST_EXIT_JOINED;

	if (unlikely(t->ext))
		thread_run_cleanups(t);
	if (t->tp)
		tls_run_destructors();
	leaves = load_relaxed(&hooks.thread_leaves);
	if (unlikely(leaves))
		leaves();
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
	t = switch_now(c, t, next, action);
	uk_panic("thread %lu ran after its exit", (unsigned long)t->id);
}

UK_API void uk_thread_exit(void *ret)
{
	struct uk_thread *t = thread_self();

	if (!t || t->kind != THREAD_USER)
		uk_panic(
		    "uk_thread_exit called by a kernel thread: only user threads may");
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

void thread_reap(struct uk_vp *vp, struct uk_thread *t, bool joined)
{
	struct uk_thread *joiner;
	void (*dead)(void);
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
	dead = load_relaxed(&hooks.thread_dead);
	if (unlikely(dead))
		dead();
	/* the joiner is already out of its wait: no other thread writes join */
	if (likely(joined))
		return;
	j = load_acquire(&t->join);
	do {
		if (j == JOIN_DETACHED) {
			thread_put(vp, t);
			return;
		}
		joiner =
		    j > JOIN_LAST ? (struct uk_thread *)(j & 0xffffffffffff) : NULL;
		token = joiner ? W_TOKEN(load_acquire(&joiner->wait)) : 0;
	} while (!cas_acq_rel(&t->join, &j, JOIN_EXITED));
	/* A different token: the joiner has timed out, and finds EXITED when it
	 * withdraws. */
	if (joiner && (token & 0xffff) == j >> 48)
		wait_fire_next(joiner, token, WAKE_OK);
}

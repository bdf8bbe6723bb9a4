/* SPDX-License-Identifier: Apache-2.0 */
/* keeper.c - the kernel thread that gives unused memory back to the kernel.
 *
 * It makes rounds, UK_DEBUG=trim=MS apart, while there may be something to find:
 *
 *   parked threads   The stack of a thread that has been parked for that long gives back
 *                    what lies below its frames, once for each wait: 10,000 threads
 *                    that had used 64 KiB and then waited kept 736 MB, trimmed 96 MB.
 *                    It costs 7-10 us where there is something to give, 0.2 us where
 *                    not. The thread pays for new pages when it goes as deep again
 *                    (40 us for the 64 KiB), so it happens only after seconds
 *   free stacks,     what no thread has needed since the last round: mem/cold.c,
 *   thread blocks,   thread/tls_cold.c, mem/slab_cold.c; and what a vp that has needed
 *   descriptors      none has cached
 *
 * It works in portions with a pause after each, so a thread that needs a lock of ours
 * (a fork), or that is woken while its stack is trimmed, waits for one portion at most.
 * A thread is held while its stack is trimmed, as the dump holds it: a thread that
 * would queue it sees SUSP_LOOK and leaves that to the keeper (suspend_end).
 *
 *   NONE    --monitor (keeper_call)--> CALLED   the maker is asked to make the keeper
 *   IDLE    --monitor----------------> CALLED   and it is woken
 *   CALLED  --keeper, the round is over--> IDLE
 *   any     --a forked child---------> NONE
 *
 * The maker makes it when it is first called, because most programs end before that.
 *
 * Rejected: the monitor does the work (as it did: 30,000 long-parked stacks at once
 * took 0.9 s, in which no blocked carrier was rescued); the maker (its spares would be
 * late).
 */
#include "lifecycle/keeper.h"

#include <sys/prctl.h>

#include "base/log.h"
#include "base/sys.h"
#include "sched/vp.h"
#include "thread/tls.h"

#define LOOKS 4096u /* descriptors visited in a portion */
#define CUTS 32u    /* stacks trimmed in a portion */
#define PAUSE NS_PER_MS
#define KEEPER_STACK ((size_t)64 << 10)

enum keeper { KEEPER_NONE, KEEPER_IDLE, KEEPER_CALLED };

struct lock keep_lock = LOCK_INIT(RANK_KEEP);
uint64_t keeper_portions, keeper_cuts; /* written by the keeper; tests read */
static uint32_t state;                 /* enum keeper, as above */
static bool more;       /* written by the keeper: the last round left something */
static int64_t keep_ns; /* UK_DEBUG=trim; set before the first call */

struct trim {
	int64_t before;
	unsigned cuts;
	bool more;
};

static bool cut(struct uk_thread *t, uint64_t w)
{
	bool mine;

	fetch_or_acq_rel(&t->susp, SUSP_LOOK);
	/* pairs with the CAS that fires t: either we see that t was fired, or its waker
	 * sees SUSP_LOOK */
	fence_seq_cst();
	mine = load_acquire(&t->wait) == w;
	if (mine) {
		/* not on a stack that the program switched to */
		if (thread_on_stack(t, t->sp, 1))
			stack_trim(t->stack, t->sp);
		store_relaxed(&t->trimmed, 1); /* it cannot begin another wait now */
	}
	suspend_end(t, SUSP_LOOK);
	return mine;
}

static int trim_one(void *obj, void *arg)
{
	struct uk_thread *t = obj;
	struct trim *trim = arg;
	uint64_t w = load_acquire(&t->wait);

	if (load_acquire(&t->kind) != THREAD_USER || load_relaxed(&t->trimmed))
		return 0;
	if (W_STATE(w) != W_PARKED) {
		/* a thread counts its switch before it parks, so the switch may be in
		 * the monitor's sum of this round (may_keep), and nothing else would
		 * ever ask for another round */
		trim->more |= W_STATE(w) == W_ARMED;
		return 0;
	}
	if (load_relaxed(&t->since) > trim->before) {
		trim->more = true;
		return 0;
	}
	bump(&keeper_cuts, 1);
	if (!cut(t, w))
		trim->more = true;
	return ++trim->cuts >= CUTS;
}

/* fn works on one portion and says whether there is another. */
static void in_portions(bool (*fn)(void *), void *arg)
{
	struct timespec ts = sys_timespec(PAUSE);
	bool again;

	do {
		lock_acquire(&keep_lock);
		again = fn(arg);
		bump(&keeper_portions, 1);
		lock_release(&keep_lock);
		if (again)
			sys4(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0, &ts, NULL);
	} while (again);
}

struct parked {
	struct slab_cursor at;
	struct trim trim;
};

static bool trim_portion(void *arg)
{
	struct parked *p = arg;

	p->trim.cuts = 0;
	return slab_step(&thread_slab, &p->at, LOOKS, trim_one, &p->trim);
}

static bool free_portion(void *arg UNUSED)
{
	return stack_keep_step() || tls_keep_step() || thread_keep_step();
}

static bool free_left(void)
{
	return stack_keep_more() || tls_keep_more() || thread_keep_more();
}

/* A vp where no thread has begun or ended since the last round gives its caches to the
 * pools, by its dispatcher; the next rounds find them there. True: a vp was asked, or
 * has yet to be. */
static bool flush_vps(void)
{
	uint32_t n = load_acquire(&vp_count_all);
	bool asked = false;

	for (uint32_t i = 0; i < n; i++) {
		struct uk_vp *vp = vp_all[i];
		/* an exit fills the caches, too */
		uint64_t crowd =
		    load_relaxed(&vp->stacks.maps) + load_relaxed(&vp->stacks.reuses) +
		    load_relaxed(&vp->count.creates) + load_relaxed(&vp->count.exits);

		/* The low bit: it was asked already. What it has not given yet needs
		 * another round (pairs with flush_caches), and nothing else would ask
		 * for one, because giving is not a switch. */
		if (vp->crowd_seen == (crowd << 1 | 1)) {
			asked |= load_acquire(&vp->flush) != 0;
			continue;
		}
		if (vp->crowd_seen != crowd << 1) {
			vp->crowd_seen = crowd << 1;
			asked |= crowd != 0;
			continue;
		}
		vp->crowd_seen |= 1;
		if (!crowd)
			continue;
		asked = true;
		vp_ask_flush(vp);
	}
	return asked;
}

static void *keeper_main(void *arg UNUSED)
{
	sys2(SYS_prctl, PR_SET_NAME, "uk-keeper");
	for (;;) {
		struct parked p = { .trim.before = sys_now() - load_relaxed(&keep_ns) };
		uint32_t called = KEEPER_CALLED;

		in_portions(trim_portion, &p);
		stack_keep_begin();
		tls_keep_begin();
		thread_keep_begin();
		in_portions(free_portion, NULL);
		store_relaxed(&more, flush_vps() || p.trim.more || free_left());
		/* release: a thread that sees IDLE sees more (pairs with
		 * keeper_left) */
		cas_acq_rel(&state, &called, KEEPER_IDLE);
		while (load_acquire(&state) == KEEPER_IDLE)
			sys_futex_wait(&state, KEEPER_IDLE, TIME_NEVER);
	}
	return NULL;
}

/* Called by the maker. If it fails, the next call tries again. */
static void keeper_start(void)
{
	if (!kernel_thread(keeper_main, NULL, KEEPER_STACK, NULL))
		return;
	store_relaxed(&more, true);
	store_release(&state, KEEPER_NONE);
}

bool keeper_call(int64_t every)
{
	uint32_t old = load_acquire(&state);

	store_relaxed(&keep_ns, every);
	/* a round under way has passed some threads that come to rest only now */
	if (old == KEEPER_CALLED || !cas_acq_rel(&state, &old, KEEPER_CALLED))
		return false;
	if (old == KEEPER_IDLE)
		sys_futex_wake(&state, 1);
	else
		maker_job(keeper_start);
	return true;
}

bool keeper_left(void)
{
	return load_acquire(&state) == KEEPER_CALLED || load_relaxed(&more) ||
	       /* freed by threads that join and never switch */
	       free_left();
}

void keeper_forget(void)
{
	state = KEEPER_NONE;
}

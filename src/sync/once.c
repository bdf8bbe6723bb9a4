/* SPDX-License-Identifier: Apache-2.0 */
/* Once: the first caller runs fn, the others wait for its end.
 *
 *   NEW --first caller--> RUNNING --another caller--> RUNNING_WAITED
 *                            |                             |
 *                            +-------- fn returned --------+--> DONE
 *
 * RUNNING carries the number of forks behind us: in a forked child a runner of the parent
 * does not exist, so its RUNNING counts as NEW (as pthread_once has it).
 *
 * Waiting is uncancelable and without deadline: whoever returns may rely on fn's work.
 * Cancelling the thread inside fn makes its blocking calls return -ECANCELED, but nothing
 * is unwound, so fn completes. In the drop-in it may be unwound: then all is NEW again, and
 * of those who wait the first to come runs fn.
 */
#include "sync/once.h"

#define STATE(s) ((s)&3u)
#define FORKS_SHIFT 2

static uint32_t running(enum once_state s)
{
	return s | sched_forks << FORKS_SHIFT;
}

void once_end(uk_once *o, bool completed)
{
	struct futex_bucket *b;
	uint32_t to = completed ? ONCE_DONE : ONCE_NEW;

	/* release: a caller that sees DONE sees what fn did */
	if (STATE(xchg_acq_rel(&o->state, to)) != ONCE_RUNNING_WAITED)
		return;
	rt_enter();
	b = futex_lock(o);
	for (struct futex_node *n; (n = futex_first(b, o));) {
		futex_take(n, FUTEX_TAKEN);
		wait_fire(n->thread, n->token, WAKE_OK);
	}
	futex_unlock(b);
	rt_exit();
}

/* One sleep at most; until whoever runs fn now has ended. */
static int once_wait(uk_once *o, bool cut)
{
	struct uk_thread *t = rt_enter();
	uint32_t seen = running(ONCE_RUNNING);
	struct futex_bucket *b = futex_lock(o);
	unsigned why = WAKE_OK;
	struct futex_node *n = futex_node_of(t);

	cas_acq_rel(&o->state, &seen, running(ONCE_RUNNING_WAITED));
	if (load_acquire(&o->state) == running(ONCE_RUNNING_WAITED)) {
		futex_push(b, n, o, t,
			   cut ? wait_begin(t, WAIT_ONCE, o)
			       : wait_begin_uncancelable(t, WAIT_ONCE, o),
			   false);
		futex_unlock(b);
		why = wait_park(t, n->token, TIME_NEVER);
		if (why != WAKE_OK)
			futex_leave(n);
	} else {
		futex_unlock(b);
	}
	rt_exit();
	return wake_error(why);
}

int once_begin(uk_once *o, bool cut)
{
	uint32_t s;
	int r = 0;

	/* acquire: pairs with the release of DONE */
	while (!r && (s = load_acquire(&o->state)) != ONCE_DONE) {
		if (s == running(ONCE_RUNNING) || s == running(ONCE_RUNNING_WAITED))
			r = once_wait(o, cut);
		else if (cas_acq_rel(&o->state, &s, running(ONCE_RUNNING)))
			return 1;
	}
	return r;
}

int uk_once_run(uk_once *o, void (*fn)(void))
{
	if (likely(load_acquire(&o->state) == ONCE_DONE) || !once_begin(o, false))
		return 0;
	fn();
	once_end(o, true);
	return 0;
}

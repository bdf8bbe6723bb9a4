/* SPDX-License-Identifier: Apache-2.0 */
/* Once: the first caller runs fn, the others wait until it has returned.
 *
 *   NEW --first caller--> RUNNING --another caller--> RUNNING_WAITED
 *                            |                             |
 *                            +-------- fn returned --------+--> DONE
 *
 * RUNNING includes the count of forks (sched_forks): in a forked child a runner of the
 * parent does not exist, so its RUNNING counts as NEW (as in pthread_once).
 *
 * Waiting is uncancelable and without a deadline: a caller that returns may rely on
 * fn's work. Cancelling the thread inside fn makes its blocking calls return
 * -ECANCELED, but nothing is unwound, so fn completes. In the preload library fn may be
 * unwound: then the state is NEW again, and the first waiter to run calls fn.
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

/* Until the thread that runs fn now is done with it; at most one sleep. */
static int once_wait(uk_once *o, bool cut)
{
	struct uk_thread *t = rt_enter();
	uint32_t seen = running(ONCE_RUNNING);
	struct futex_node *n = futex_node_of(t);
	struct futex_bucket *b = futex_lock(o);
	unsigned why = WAKE_OK;

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

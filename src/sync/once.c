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
 * is unwound, so fn completes.
 */
#include "sync/futex.h"
#include "uk/sync.h"

enum once_state { ONCE_NEW, ONCE_RUNNING, ONCE_RUNNING_WAITED, ONCE_DONE };

#define STATE(s) ((s)&3u)
#define FORKS_SHIFT 2

static uint32_t running(enum once_state s)
{
	return s | sched_forks << FORKS_SHIFT;
}

static void once_run(uk_once *o, void (*fn)(void))
{
	struct futex_bucket *b;

	fn();
	/* release: a caller that sees DONE sees what fn did */
	if (STATE(xchg_acq_rel(&o->state, ONCE_DONE)) != ONCE_RUNNING_WAITED)
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

static void once_wait(uk_once *o)
{
	struct uk_thread *t = rt_enter();

	while (load_acquire(&o->state) != ONCE_DONE) {
		uint32_t seen = running(ONCE_RUNNING);
		struct futex_bucket *b = futex_lock(o);
		struct futex_node n;

		cas_acq_rel(&o->state, &seen, running(ONCE_RUNNING_WAITED));
		if (load_acquire(&o->state) == ONCE_DONE) {
			futex_unlock(b);
			break;
		}
		futex_push(b, &n, o, t, wait_begin_uncancelable(t, WAIT_ONCE, o),
			   false);
		futex_unlock(b);
		if (wait_park(t, n.token, TIME_NEVER) != WAKE_OK)
			futex_leave(&n);
	}
	rt_exit();
}

int uk_once_run(uk_once *o, void (*fn)(void))
{
	uint32_t s = load_acquire(&o->state);

	/* acquire: pairs with the release of DONE */
	if (likely(s == ONCE_DONE))
		return 0;
	while (s == ONCE_NEW ||
	       (s != ONCE_DONE && s != running((enum once_state)STATE(s))))
		if (cas_acq_rel(&o->state, &s, running(ONCE_RUNNING))) {
			once_run(o, fn);
			return 0;
		}
	once_wait(o);
	return 0;
}

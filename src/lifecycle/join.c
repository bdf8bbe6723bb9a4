/* SPDX-License-Identifier: Apache-2.0 */
/* join.c - joins a thread. The thread's result lies in its descriptor until then; the
 * thread that changes join from EXITED to TAKEN frees the descriptor. */
#include "sched/body.h"
#include "sched/enter.h"
#include "uk/thread.h"

/* t was lost in a fork: frees its descriptor. False: t was not lost. */
static bool lost_take(struct uk_thread *me, struct uk_thread *t, uint64_t j)
{
	if (j != JOIN_LOST || !cas_acq_rel(&t->join, &j, JOIN_TAKEN))
		return false;
	thread_put(vp_of(me), t);
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
		if (j != JOIN_OPEN) { /* detached, taken, or another thread joins it */
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
		why = wait_park_join(me, tok, deadline, t);
		if (likely(why == WAKE_OK && load_relaxed(&t->join) == mine))
			/* t handed itself to us: no other thread may join it */
			goto take;
		j = mine;
		if (why != WAKE_OK && cas_acq_rel(&t->join, &j, JOIN_OPEN)) {
			r = wake_error(why);
			goto out;
		}
		j = JOIN_EXITED; /* thread_reap fired us, or t had already exited */
	}
	if (!cas_acq_rel(&t->join, &j, JOIN_TAKEN)) {
		r = -EINVAL;
		goto out;
	}
take:
	if (ret)
		*ret = t->arg;
	thread_put(vp_of(me), t);
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
			thread_put(sched_vp(me), t);
		else if (!lost_take(me, t, j))
			r = -EINVAL;
	}
	rt_exit();
	return r;
}

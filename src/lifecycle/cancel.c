/* SPDX-License-Identifier: Apache-2.0 */
/* cancel.c - cancellation, the thread's own deadline, and cleanup handlers. */
#include "base/log.h"
#include "sched/vp.h"
#include "uk/thread.h"

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

UK_API int uk_thread_is_cancelled(void)
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

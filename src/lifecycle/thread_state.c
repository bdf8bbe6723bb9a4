/* SPDX-License-Identifier: Apache-2.0 */
/* thread_state.c - what a thread, or another one, reads and sets while it lives: name
 * and place. */
#include "base/log.h"
#include "sched/switch.h"
#include "uk/thread.h"

UK_API uk_thread *uk_thread_self(void)
{
	struct uk_thread *t = thread_self_tls;

	return t && t->kind == THREAD_USER ? t : NULL;
}

UK_API uint64_t uk_thread_id(const uk_thread *t)
{
	return t->id;
}

/* The extension is made by the thread itself, or by its creator before the thread
 * runs. */
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
		store_relaxed(&t->stays, (uint8_t)(vp != NULL));
		if (vp && vp != t->carrier->vp)
			switch_to(t->carrier, t, next_thread(t->carrier), POST_MIGRATE);
	}
	rt_exit();
	return r;
}

UK_API int uk_thread_stack(const uk_thread *t, void **base, size_t *size)
{
	/* may be another thread's by now, if t begins or ends */
	void *stack = load_relaxed(&t->stack);

	if (t->kind != THREAD_USER || !stack)
		return -ESRCH;
	*base = stack;
	*size = thread_stack_size(t);
	return 0;
}

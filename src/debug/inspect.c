/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.c - what a thread does, seen from another thread that does not stop it. */
#include "debug/inspect.h"

#include <sys/uio.h>

#include "base/log.h"
#include "base/sys.h"
#include "debug/layout.h"
#include "sched/vp.h"

bool inspect_read(void *dst, const void *src, size_t n)
{
	struct iovec to = { dst, n }, from = { (void *)(uintptr_t)src, n };

	return sysn(SYS_process_vm_readv, sys0(SYS_getpid), &to, 1UL, &from, 1UL,
		    0UL) == (long)n;
}

/* The object may be gone meanwhile. */
static uint64_t holder_of(unsigned wkind, const void *obj)
{
	const struct layout_holder *h =
	    &uk_layout.holders[wkind < WAIT_KINDS ? wkind : WAIT_NONE];
	const struct uk_thread *t = obj;
	const char *o = obj;
	uint64_t id = 0;
	uint32_t bits = 0;

	if (h->how == LAYOUT_NO_HOLDER)
		return 0;
	if (h->bits &&
	    (!inspect_read(&bits, o + h->unless, sizeof(bits)) || bits & h->bits))
		return 0;
	if (h->how == LAYOUT_OWNER && !inspect_read(&t, o + h->owner, sizeof(t)))
		return 0;
	return t && inspect_read(&id, &t->id, sizeof(id)) ? id : 0;
}

bool inspect_thread(const struct uk_thread *t, uk_thread_info *i)
{
	uint8_t kind = load_acquire(&t->kind);
	const struct uk_vp *vp = load_relaxed(&t->vp);

	if (kind != THREAD_USER && kind != THREAD_FOREIGN)
		return false;
	i->id = t->id;
	i->creator = t->creator;
	fmt_to(i->name, sizeof(i->name), "%s", thread_name(t));
	i->state = thread_state_name(load_relaxed(&t->state));
	i->waits = "";
	i->object = NULL;
	i->holder = 0;
	i->fd = -1;
	if (load_relaxed(&t->state) == T_PARKED) {
		i->waits = thread_wait_name(load_relaxed(&t->wkind));
		i->object = load_relaxed(&t->wobj);
		i->fd = load_relaxed(&t->wfd);
		if (i->object)
			i->holder = holder_of(load_relaxed(&t->wkind), i->object);
	}
	i->vp = vp ? vp->id : 0;
	i->since = load_relaxed(&t->since);
	i->light = kind == THREAD_USER && t->light;
	i->stack_size = kind == THREAD_USER ? thread_stack_size(t) : 0;
	return true;
}

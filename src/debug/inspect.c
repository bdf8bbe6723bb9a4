/* SPDX-License-Identifier: Apache-2.0 */
/* inspect.c - what a thread does, seen from another thread that does not stop it. */
#include "debug/inspect.h"

#include <pthread.h>
#include <sys/uio.h>

#include "base/log.h"
#include "base/sys.h"
#include "sched/vp.h"
#include "uk/sync.h"

#define PTHREAD_MUTEX_ROBUST_KIND 16

bool inspect_read(void *dst, const void *src, size_t n)
{
	struct iovec to = { dst, n }, from = { (void *)(uintptr_t)src, n };

	return sysn(SYS_process_vm_readv, sys0(SYS_getpid), &to, 1UL, &from, 1UL,
		    0UL) == (long)n;
}

/* A lock's owner field holds the descriptor's address. */
static uint64_t id_of_owner(const uint64_t *owner)
{
	const struct uk_thread *t;
	uint64_t id = 0, addr = 0;

	if (!inspect_read(&addr, owner, sizeof(addr)) || !addr)
		return 0;
	t = (const struct uk_thread *)(uintptr_t)addr;
	return inspect_read(&id, &t->id, sizeof(id)) ? id : 0;
}

/* A mutex of the preload library, in libc's object: the owner is where libc links
 * robust mutexes. */
static uint64_t holder_of_pthread(const pthread_mutex_t *m)
{
	int kind = 0;

	if (!inspect_read(&kind, &m->__data.__kind, sizeof(kind)) ||
	    kind & PTHREAD_MUTEX_ROBUST_KIND)
		return 0;
	return id_of_owner((const uint64_t *)(const void *)&m->__data.__list);
}

static uint64_t holder_of(const struct uk_thread *t, const void *obj)
{
	switch ((enum wait_kind)t->wkind) {
	case WAIT_MUTEX:
		return id_of_owner(&((const uk_mutex *)obj)->owner);
	case WAIT_PTHREAD_MUTEX:
		return holder_of_pthread(obj);
	case WAIT_RWLOCK:
		return id_of_owner(&((const uk_rwlock *)obj)->owner);
	case WAIT_JOIN:
		return ((const struct uk_thread *)obj)
		    ->id; /* descriptors are never unmapped */
	default:
		return 0;
	}
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
			i->holder = holder_of(t, i->object);
	}
	i->vp = vp ? vp->id : 0;
	i->since = load_relaxed(&t->since);
	i->light = kind == THREAD_USER && t->light;
	i->stack_size = kind == THREAD_USER ? thread_stack_size(t) : 0;
	return true;
}

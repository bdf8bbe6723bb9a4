/* SPDX-License-Identifier: Apache-2.0 */
/* create.c - creates a thread: fills a descriptor and queues it. The stack comes when
 * the thread first runs (sched/body.c). */
#include <string.h>

#include "arch/arch.h"
#include "base/log.h"
#include "lifecycle/life.h"
#include "lifecycle/limit.h"
#include "sched/body.h"
#include "sched/enter.h"
#include "thread/tls.h"
#include "uk/stat.h"
#include "uk/thread.h"

#define ID_BATCH 1024u
#define LIGHT_ONLY UK_SAN

UK_API void uk_thread_attr_init(uk_thread_attr *a)
{
	memset(a, 0, sizeof(*a));
}

static uint64_t new_id(struct uk_vp *vp)
{
	if (!vp)
		return thread_new_ids(1);
	if (unlikely(vp->next_id == vp->end_id)) {
		vp->next_id = thread_new_ids(ID_BATCH);
		vp->end_id = vp->next_id + ID_BATCH;
	}
	return vp->next_id++;
}

/* Where a new thread goes: to the vp that it is pinned to; else to the next vp of its
 * set; or, if it is created inside the set, to the creator's own vp (thieves spread the
 * load; a set without stealing goes round robin). */
static struct uk_vp *place(const uk_thread_attr *a, struct uk_vp *here)
{
	struct uk_vpset *s;

	if (a->vp)
		return a->vp;
	s = a->set ? a->set : here ? here->set : vpset_default;
	if (here && here->set == s && !(s->flags & UK_VPSET_NOSTEAL))
		return here;
	return vpset_next(s);
}

/* For the preload library: the program supplies the stack, or its exact size. */
static bool make_own(struct uk_thread *t, const struct birth *b)
{
	struct thread_ext *e;

	if (!b->stack) {
		size_t more = stack_size(t->kind_of_stack) - b->size;

		more = (more + STACK_UNIT - 1) / STACK_UNIT;
		t->unused = (uint32_t)MIN(more, (size_t)UINT32_MAX);
		return true;
	}
	e = thread_ext(t);
	if (!e)
		return false;
	e->own_stack = b->size;
	t->kind_of_stack = 0;
	store_relaxed(&t->stack, b->stack);
	return true;
}

/* Makes a descriptor. Its stack comes when it first runs, with two exceptions: where
 * memory may really run out (guards that split mappings), and where the caller needs
 * the thread block (b). Then it comes now, so that the creator gets the error. */
static struct uk_thread *make(struct uk_thread *me, unsigned kind, bool light,
			      const struct birth *b)
{
	struct uk_vp *here = vp_of(me);
	struct uk_thread *t = slab_get(&thread_slab, here ? &here->threads : NULL);

	if (unlikely(!t))
		return NULL;
	thread_born(t);
	store_relaxed(&t->sp, NULL); /* runq_foresee may read it at the same time */
	t->tp = NULL;
	t->stack = NULL;
	t->kind_of_stack = (uint8_t)kind;
	t->unused = 0;
	t->light = light;
	t->lasting = b != NULL;
	t->ext = NULL;
	t->timer.token = arch_fp_env();
	if (unlikely(stacks_eager || b) &&
	    ((b && !make_own(t, b)) || !thread_prepare(here, b ? me : NULL, t))) {
		thread_free_ext(t);
		t->lasting = 0;
		here = vp_of(me);
		slab_put(&thread_slab, here ? &here->threads : NULL, t);
		return NULL;
	}
	return t;
}

static int check_attr(const uk_thread_attr *a, unsigned *kind)
{
	size_t size = a->stack_size ? a->stack_size : sched_stack_size;
	uint32_t reserved = a->reserved0;

	if (a->flags & ~(UK_THREAD_DETACHED | UK_THREAD_LIGHT | UK_THREAD_NOWAIT))
		return -EINVAL;
	for (unsigned i = 0; i < array_size(a->reserved); i++)
		reserved |= a->reserved[i];
	if (reserved)
		return -EINVAL;
	if (a->vp && (a->vp->reactive || (a->set && a->set != a->vp->set)))
		return -EINVAL;
	*kind = stack_kind(size, a->guard_size);
	return *kind ? 0 : -EINVAL;
}

/* Sets what the attributes say, and what all threads begin with. */
INLINE void fill(struct uk_thread *t, const uk_thread_attr *a, const struct birth *b,
		 struct uk_vp *here, struct uk_vp *to)
{
	t->carrier = NULL;
	t->vp = to;
	t->pinned = a->vp;
	t->stays = a->vp != NULL;
	t->susp = b ? SUSP_BIRTH | SUSP_HELD : 0;
	t->asked = 0;
	t->depth = 1;
	t->wkind = WAIT_NONE;
	t->blocking = 0;
	t->uncancelable = 0;
	t->deadline = TIME_NEVER;
	store_relaxed(&t->since, here ? here->clock : sys_now());
	t->join = a->flags & UK_THREAD_DETACHED ? JOIN_DETACHED : JOIN_OPEN;
	t->id = new_id(here);
	t->wfd = -1;
	t->timer.wheel = NULL;
	store_relaxed(&t->cpu.asked, 0);
	if (unlikely(a->name))
		uk_thread_set_name(t, a->name);
}

/* Memory was refused. Other vps may have what is needed in their caches, or free stacks
 * of other sizes have the address space. */
static COLD struct uk_thread *make_again(struct uk_thread *me, unsigned kind,
					 bool light, const struct birth *b)
{
	struct uk_thread *t = memory_gather(me) ? make(me, kind, light, b) : NULL;

	return !t && stack_release() ? make(me, kind, light, b) : t;
}

static int create(uk_thread **out, const uk_thread_attr *a, const struct birth *b,
		  void *(*fn)(void *), void *arg)
{
	bool light = (a->flags & UK_THREAD_LIGHT) || LIGHT_ONLY;
	struct uk_thread *me, *t;
	struct uk_vp *here, *to;
	unsigned kind;
	int r;

	if (!fn || (!out && !(a->flags & UK_THREAD_DETACHED)))
		return -EINVAL;
	r = sched_start(); /* a caller that was adopted (rt_adopt) has not started it */
	if (!r)
		r = rt_begin();
	if (unlikely(r))
		return r;
	me = enter_any();
	light |= !arch_full_threads();
	if (unlikely(!light && tls_method()[0] == 'n')) {
		r = -ENOTSUP;
		goto out;
	}
	r = check_attr(a, &kind);
	if (unlikely(r))
		goto out;
	if (unlikely(limit_on())) {
		r = limit_take(me, a->flags & UK_THREAD_NOWAIT);
		if (r)
			goto out;
	}
	t = make(me, kind, light, b);
	if (unlikely(!t))
		t = make_again(me, kind, light, b);
	if (unlikely(!t)) {
		if (limit_on())
			limit_put(true);
		r = -ENOMEM;
		goto out;
	}
	here = vp_of(me);
	to = place(a, here);
	fill(t, a, b, here, to);
	t->arg = arg;
	t->fn = fn;
	t->creator = me->id;
	store_relaxed(&t->state, (uint8_t)(b ? T_SUSPENDED : T_NEW));
	store_release(&t->kind, THREAD_USER);
	if (likely(here))
		bump(&here->count.creates, 1);
	else
		/* several threads write it, and the number of live threads is computed
		 * from it */
		fetch_add_relaxed(&sched_foreign_count.creates, 1);
	if (out)
		*out = t;
	if (b)
		*b->block = t->tp;
	if (!b) {
		/* Next on this vp, which walks a tree of threads depth-first and keeps
		 * few of them alive; but where thieves can take it if a vp of the set
		 * sleeps. */
		if (here == to)
			enqueue(here, t,
				!here->shared || !load_relaxed(&here->set->nidle));
		else
			queue_anywhere(t);
	}
	r = 0;
out:
	exit_any(me);
	return r;
}

UK_API int uk_thread_create(uk_thread **out, const uk_thread_attr *attr,
			    void *(*fn)(void *), void *arg)
{
	static const uk_thread_attr defaults = UK_THREAD_ATTR_INIT;

	return create(out, attr ? attr : &defaults, NULL, fn, arg);
}

int thread_bear(uk_thread **out, const uk_thread_attr *attr, const struct birth *b,
		void *(*fn)(void *), void *arg)
{
	return create(out, attr, b, fn, arg);
}

void thread_begin(uk_thread *t)
{
	rt_enter();
	suspend_end(t, SUSP_BIRTH);
	rt_exit();
}

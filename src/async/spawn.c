/* SPDX-License-Identifier: Apache-2.0 */
/* User threads of a group: what a thread returns is the completion of a request. While
 * it runs, the request's helper is that thread, so it is cancelled as a helper is.
 *
 * A thread may fork: the request has ended in the child (group_child), and the thread
 * must not complete it once more. So a thread knows the id of its request, and what it
 * says counts only while that runs.
 *
 * Runs on the thread's own stack, and inside the runtime only for the group's lock.
 */
#include "async/async.h"
#include "uk/thread.h"

struct member {
	struct uk_group *g;
	struct req *q;
	uint64_t id;
};

/* Under the lock. */
static bool belongs(const struct member *m)
{
	return load_relaxed(&m->q->state) == REQ_RUNNING && m->q->id == m->id;
}

/* False: it was cancelled before it began. */
static bool begin(struct member *m, struct uk_thread *t)
{
	bool go;

	group_lock(m->g);
	m->id = m->q->id;
	go = !m->q->asked;
	m->q->helper = t;
	lock_release(&m->g->lock);
	return go;
}

/* Also if the thread calls uk_thread_exit: then res is still -ECANCELED. */
static void end(void *arg)
{
	struct member *m = arg;
	struct group_wake wake = { 0 };

	rt_enter();
	group_lock(m->g);
	if (belongs(m)) {
		m->q->helper = NULL;
		m->q->state = REQ_ENDED;
		group_ended(m->g, m->q, m->q, 1, &wake);
		m->g->helpers--;
		group_left(m->g);
	} else {
		lock_release(&m->g->lock);
	}
	group_fire(&wake);
	rt_exit();
}

static void *body(void *arg)
{
	struct member m = { .q = arg, .g = ((struct req *)arg)->group };
	bool go = begin(&m, rt_enter());
	int64_t r;

	rt_exit();
	m.q->res = -ECANCELED;
	if (!go) {
		end(&m);
	} else if (uk_cleanup_push(end, &m)) {
		m.q->res = -ENOMEM;
		end(&m);
	} else {
		r = m.q->run(m.q->arg);
		m.q->res = r;
		uk_cleanup_pop(1);
	}
	return NULL;
}

int uk_group_spawn(uk_group *g, uint64_t *id, const uk_thread_attr *a,
		   int64_t (*fn)(void *), void *arg)
{
	uk_op o = { .kind = UK_OP_NOP, .tag = (uintptr_t)arg };
	uk_thread_attr attr = UK_THREAD_ATTR_INIT;
	struct req *q = NULL;
	int r = sched_start();

	if (!r)
		r = rt_begin();
	if (unlikely(r))
		return r;
	if (!fn)
		return -EINVAL;
	if (a)
		attr = *a;
	attr.flags |= UK_THREAD_DETACHED;
	rt_enter();
	group_lock(g);
	if (group_room(g)) {
		q = req_make(g, &o);
		q->helper = NULL;
		q->linked = NULL;
		q->run = fn;
		q->arg = arg;
		g->helpers++;
	}
	lock_release(&g->lock);
	rt_exit();
	if (!q)
		return -EAGAIN;
	if (id)
		*id = o.id;
	r = uk_thread_create(NULL, &attr, body, q);
	if (unlikely(r)) {
		rt_enter();
		group_take_back(g, q);
		rt_exit();
	}
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Descriptors: where they come from, foreign threads, ids, rarely needed parts. */
#include "thread/thread.h"

#include <pthread.h>
#include <sys/mman.h>

#include "base/log.h"
#include "base/sys.h"
#include "thread/keys.h"

__thread struct uk_thread *thread_self_tls __attribute__((tls_model("initial-exec")));

struct slab thread_slab, thread_ext_slab, cleanup_slab;
uint64_t thread_token_floor;
static struct slab *const kept[] = { &thread_slab, &thread_ext_slab, &cleanup_slab };
static uint64_t next_id = 1;
static pthread_key_t foreign_key;

NOINLINE struct uk_thread *thread_self(void)
{
	return thread_self_tls;
}

struct uk_thread **thread_self_slot(void)
{
	return &thread_self_tls;
}

int thread_walk(int (*fn)(void *t, void *arg), void *arg)
{
	return slab_walk(&thread_slab, fn, arg);
}

uint64_t thread_new_ids(unsigned n)
{
	return fetch_add_relaxed(&next_id, n);
}

/* t is free, but a stale waker may still have its token. */
static void raise_floor(const void *obj)
{
	const struct uk_thread *t = obj;
	uint64_t token = W_TOKEN(load_relaxed(&t->wait));

	dbg_assert(load_relaxed(&t->kind) == THREAD_FREE);
	if (token > thread_token_floor)
		store_relaxed(&thread_token_floor, token);
}

void thread_keep_begin(void)
{
	for (unsigned i = 0; i < array_size(kept); i++)
		slab_keep_begin(kept[i]);
}

bool thread_keep_step(void)
{
	for (unsigned i = 0; i < array_size(kept); i++)
		if (slab_keep_step(kept[i],
				   kept[i] == &thread_slab ? raise_floor : NULL))
			return true;
	return false;
}

bool thread_keep_more(void)
{
	for (unsigned i = 0; i < array_size(kept); i++)
		if (slab_keep_more(kept[i]))
			return true;
	return false;
}

/* A foreign kernel thread ends: its descriptor may be reused. */
static void foreign_gone(void *arg)
{
	struct uk_thread *t = arg;

	thread_run_cleanups(t);
	thread_free_ext(t);
	thread_self_tls = NULL;
	store_release(&t->kind, (uint8_t)THREAD_FREE);
	slab_put(&thread_slab, NULL, t);
}

/* Runs once; again if it failed. */
int thread_init(void)
{
	static bool done;
	int r;

	if (done)
		return 0;
	_Static_assert(sizeof(struct uk_thread) % CACHE_LINE == 0, "whole lines");
	_Static_assert(offsetof(struct uk_thread, deadline) == CACHE_LINE &&
			   offsetof(struct uk_thread, node) == 2 * CACHE_LINE &&
			   offsetof(struct uk_thread, timer) == 3 * CACHE_LINE,
		       "a park touches two lines");
	slab_init(&thread_slab, sizeof(struct uk_thread));
	slab_init(&thread_ext_slab, sizeof(struct thread_ext));
	slab_init(&cleanup_slab, sizeof(struct cleanup));
	r = pthread_key_create(&foreign_key, foreign_gone);
	done = !r;
	return -r;
}

struct uk_thread *thread_guest(void)
{
	struct uk_thread *t = slab_get(&thread_slab, NULL);

	if (!t)
		return NULL;
	thread_born(t);
	t->tp = NULL;
	t->carrier = NULL;
	t->vp = NULL;
	t->pinned = NULL;
	t->stays = 0;
	t->susp = 0;
	t->asked = 0;
	t->depth = 0;
	t->deferred = 0;
	t->blocking = 0;
	t->deadline = TIME_NEVER;
	t->ext = NULL;
	t->id = thread_new_ids(1);
	t->creator = 0;
	t->join = JOIN_DETACHED;
	t->wfd = -1;
	t->wkind = WAIT_NONE;
	t->ktid = sys_gettid();
	t->since = sys_now();
	t->state = T_RUNNING;
	store_release(&t->kind, THREAD_FOREIGN);
	return t;
}

struct uk_thread *thread_foreign(void)
{
	struct uk_thread *t = thread_self_tls;

	if (t)
		return t;
	t = thread_guest();
	if (!t)
		return NULL;
	if (pthread_setspecific(foreign_key, t)) { /* no destructor would free t */
		store_release(&t->kind, (uint8_t)THREAD_FREE);
		slab_put(&thread_slab, NULL, t);
		return NULL;
	}
	thread_self_tls = t;
	return t;
}

struct thread_ext *thread_ext(struct uk_thread *t)
{
	if (!t->ext) {
		struct thread_ext *e = slab_get(&thread_ext_slab, NULL);

		if (!e)
			return NULL;
		e->name[0] = 0;
		e->cleanups = NULL;
		e->keys = NULL;
		e->key_gen = NULL;
		e->nkeys = 0;
		e->own_stack = 0;
		store_release(&t->ext, e);
	}
	return t->ext;
}

void thread_free_ext(struct uk_thread *t)
{
	struct thread_ext *e = t->ext;

	if (!e)
		return;
	store_release(&t->ext, (struct thread_ext *)NULL);
	keys_free(e);
	slab_put(&thread_ext_slab, NULL, e);
}

void thread_run_cleanups(struct uk_thread *t)
{
	struct cleanup *c;

	if (!t->ext)
		return;
	while ((c = t->ext->cleanups)) {
		void (*fn)(void *) = c->fn;
		void *arg = c->arg;

		t->ext->cleanups = c->next;
		slab_put(&cleanup_slab, NULL, c);
		fn(arg);
	}
	keys_run_destructors(t);
}

const char *const thread_wait_names[WAIT_KINDS] = {
	[WAIT_NONE] = "",          [WAIT_IO] = "io",
	[WAIT_SLEEP] = "sleep",    [WAIT_MUTEX] = "mutex",
	[WAIT_COND] = "condition", [WAIT_RWLOCK] = "rwlock",
	[WAIT_SEM] = "semaphore",  [WAIT_BARRIER] = "barrier",
	[WAIT_ONCE] = "once",      [WAIT_JOIN] = "join",
	[WAIT_FUTEX] = "futex",    [WAIT_CHAN] = "channel",
	[WAIT_SELECT] = "select",  [WAIT_STACK] = "stack",
	[WAIT_CLOSE] = "close",    [WAIT_PTHREAD_MUTEX] = "pthread mutex",
};

const char *const thread_state_names[T_STATES] = {
	[T_NEW] = "new",       [T_READY] = "ready",         [T_RUNNING] = "running",
	[T_PARKED] = "parked", [T_SUSPENDED] = "suspended", [T_EXITED] = "exited",
};

const char *thread_wait_name(unsigned k)
{
	return k < WAIT_KINDS ? thread_wait_names[k] : "?";
}

const char *thread_state_name(unsigned s)
{
	return s < T_STATES ? thread_state_names[s] : "?";
}

const char *thread_name(const struct uk_thread *t)
{
	const struct thread_ext *e = load_acquire(&t->ext);

	return e ? e->name : "";
}

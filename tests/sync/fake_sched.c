/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of sched.h on plain kernel threads, to test the directory sync without
 * the scheduler. Each "user thread" is a pthread that parks on a futex, its wait word. It
 * has a carrier and a vp of its own, for the inline functions of sched/enter.h.
 * So src/sync runs with true parallelism and under TSan, and a fault that a test finds
 * here is in src/sync itself.
 *
 * The same test sources are linked with the real runtime, too (tests/sync/meson.build).
 * At each begin, park and fire a random choice (UK_DEBUG=seed=N) may yield the CPU.
 * Descriptors are never freed, as in the real scheduler. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/at_load.h"
#include "base/env.h"
#include "base/log.h"
#include "base/sys.h"
#include "sched/enter.h"
#include "thread/keys.h"
#include "uk/time.h"

struct fake {
	struct uk_thread t;
	struct carrier carrier;
	pthread_t pthread;
	uint32_t ended; /* futex */
	uint64_t rng;
	struct fake *next; /* in the list `unused` */
};

__thread struct uk_thread *thread_self_tls __attribute__((tls_model("initial-exec")));
uint32_t sched_forks;

static struct fake *unused;
static pthread_mutex_t unused_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t ids, seed;

static struct fake *fake_of(struct uk_thread *t)
{
	return container_of(t, struct fake, t);
}

static void fuzz(void)
{
	struct fake *f = thread_self_tls ? fake_of(thread_self_tls) : NULL;

	if (!f)
		return;
	f->rng ^= f->rng << 13;
	f->rng ^= f->rng >> 7;
	f->rng ^= f->rng << 17;
	if (f->rng % 16 == 0)
		sched_yield();
	else if (f->rng % 1024 == 1)
		usleep((unsigned)(f->rng >> 32) % 300);
}

static struct fake *fake_new(enum thread_kind kind)
{
	struct fake *f;

	pthread_mutex_lock(&unused_lock);
	f = unused;
	if (f)
		unused = f->next;
	pthread_mutex_unlock(&unused_lock);
	if (!f)
		f = aligned_alloc(CACHE_LINE, (sizeof(*f) + 63) & ~63ul);
	else
		goto reuse; /* the wait word is kept: old tokens stay invalid */
	*f = (struct fake){ 0 };
	f->t.vp = f->carrier.vp = calloc(1, sizeof(*f->t.vp));
	f->t.vp->owner = (uintptr_t)&f->carrier;
	f->t.carrier = &f->carrier;
reuse:
	if (!seed)
		seed = env_key_number(ENV_SEED, 1);
	f->t.id = fetch_add_relaxed(&ids, 1) + 1;
	f->rng = (f->t.id + seed) * 0x9e3779b97f4a7c15ULL | 1;
	f->t.kind = (uint8_t)kind;
	f->t.deadline = TIME_NEVER;
	store_relaxed(&f->t.state, T_RUNNING);
	store_relaxed(&f->t.asked, 0);
	store_relaxed(&f->ended, 0);
	return f;
}

static void fake_put(struct fake *f)
{
	pthread_mutex_lock(&unused_lock);
	f->next = unused;
	unused = f;
	pthread_mutex_unlock(&unused_lock);
}

static void end_ext(struct uk_thread *t)
{
	keys_run_destructors(t);
	if (t->ext) {
		keys_free(t->ext);
		free(t->ext);
		t->ext = NULL;
	}
}

/* -- thread.h -- */

struct uk_thread *thread_self(void)
{
	return thread_self_tls;
}

static pthread_key_t foreign_key;

static void foreign_end(void *arg)
{
	struct fake *f = arg;

	end_ext(&f->t);
	thread_self_tls = NULL;
	fake_put(f);
}

static void foreign_init(void)
{
	pthread_key_create(&foreign_key, foreign_end);
}

struct uk_thread *thread_foreign(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	if (!thread_self_tls) {
		struct fake *f = fake_new(THREAD_FOREIGN);

		pthread_once(&once, foreign_init);
		pthread_setspecific(foreign_key, f);
		thread_self_tls = &f->t;
	}
	return thread_self_tls;
}

struct thread_ext *thread_ext(struct uk_thread *t)
{
	if (!t->ext)
		t->ext = calloc(1, sizeof(*t->ext));
	return t->ext;
}

/* -- sched.h -- */

int rt_begin_slow(void)
{
	return 0;
}

struct uk_thread *rt_enter(void)
{
	struct uk_thread *t = thread_foreign();

	store_relaxed(&t->depth, t->depth + 1);
	return t;
}

void rt_exit(void)
{
	struct uk_thread *t = thread_self_tls;

	uk_assert(t->depth > 0);
	if (!--t->depth && t->carrier->deferred)
		exit_slow(t);
}

void exit_slow(struct uk_thread *t)
{
	while (t->carrier->deferred) {
		t->carrier->deferred = 0;
		t->depth = 1;
		hooks.deferred_wake();
		t->depth = 0;
	}
}

void enter_slow(struct uk_thread *t, struct carrier *c UNUSED)
{
	uk_panic("thread %lu has lost its vp", (unsigned long)t->id);
}

void rt_enter_here(void)
{
	rt_enter();
}

void rt_exit_here(void)
{
	rt_exit();
}

bool rt_in_runtime(void)
{
	return thread_self_tls && thread_self_tls->depth;
}

bool rt_defer_wake(void)
{
	thread_self_tls->carrier->deferred = 1;
	return true;
}

static uint64_t begin(struct uk_thread *t, enum wait_kind kind, const void *obj)
{
	uint64_t token = (W_TOKEN(load_relaxed(&t->wait)) + 1) & 0xffffffffffff;

	uk_assert(t == thread_self_tls && t->depth > 0);
	uk_assert(W_STATE(load_relaxed(&t->wait)) == W_IDLE);
	t->wkind = (uint8_t)kind;
	t->wobj = obj;
	store_seq_cst(&t->wait, W_MAKE(token, 0, W_ARMED));
	return token;
}

uint64_t wait_begin(struct uk_thread *t, enum wait_kind kind, const void *obj)
{
	uint64_t token;

	store_relaxed(&t->uncancelable, 0);
	token = begin(t, kind, obj);
	if (load_seq_cst(&t->asked))
		wait_fire(t, token, WAKE_CANCEL);
	return token;
}

uint64_t wait_begin_uncancelable(struct uk_thread *t, enum wait_kind kind,
				 const void *obj)
{
	store_relaxed(&t->uncancelable, 1);
	return begin(t, kind, obj);
}

static unsigned wait_end(struct uk_thread *t)
{
	uint64_t w = load_acquire(&t->wait);

	uk_assert(W_STATE(w) == W_FIRED);
	store_relaxed(&t->wait, W_MAKE(W_TOKEN(w), 0, W_IDLE));
	return W_REASON(w);
}

unsigned wait_park(struct uk_thread *t, uint64_t token, int64_t deadline)
{
	uint64_t w;

	uk_assert(t == thread_self_tls && t->depth == 1);
	fuzz();
	if (!t->uncancelable)
		deadline = MIN(deadline, t->deadline);
	store_relaxed(&t->state, T_PARKED);
	while (W_STATE(w = load_acquire(&t->wait)) != W_FIRED) {
		uk_assert(W_TOKEN(w) == token);
		if (sys_futex_wait(&t->wait, (uint32_t)w,
				   deadline < 0 ? 0 : deadline) == -ETIMEDOUT)
			wait_fire(t, token, WAKE_TIMEOUT);
	}
	store_relaxed(&t->state, T_RUNNING);
	fuzz();
	return wait_end(t);
}

bool wait_abandon(struct uk_thread *t, uint64_t token, unsigned *reason)
{
	uint64_t w = W_MAKE(token, 0, W_ARMED);

	if (cas_acq_rel(&t->wait, &w, W_MAKE(token, 0, W_IDLE)))
		return true;
	*reason = wait_end(t);
	return false;
}

bool wait_fire(struct uk_thread *t, uint64_t token, unsigned reason)
{
	uint64_t w = load_acquire(&t->wait);

	fuzz();
	while (W_TOKEN(w) == token && W_STATE(w) == W_ARMED) {
		if (!cas_acq_rel(&t->wait, &w, W_MAKE(token, reason, W_FIRED)))
			continue;
		sys_futex_wake(&t->wait, 1);
		return true;
	}
	return false;
}

void wait_fire_by(struct uk_thread *me UNUSED, struct uk_thread *t, uint64_t token)
{
	wait_fire(t, token, WAKE_OK);
}

int wake_error(unsigned reason)
{
	return reason == WAKE_TIMEOUT  ? -ETIMEDOUT
	       : reason == WAKE_CANCEL ? -ECANCELED
				       : 0;
}

struct uk_vp *sched_vp(const struct uk_thread *t)
{
	return t->kind == THREAD_USER ? t->vp : NULL;
}

struct uk_vp *sched_only_vp(void)
{
	return NULL;
}

int64_t sched_clock_coarse(const struct uk_thread *t UNUSED)
{
	return sys_now();
}

/* -- the public calls that the tests use -- */

uk_time uk_now(void)
{
	return sys_now();
}

uk_time uk_after(uk_time span)
{
	return sys_now() + span;
}

uk_thread *uk_thread_self(void)
{
	struct uk_thread *t = thread_self_tls;

	return t && t->kind == THREAD_USER ? t : NULL;
}

uint64_t uk_thread_id(const uk_thread *t)
{
	return t->id;
}

static void *fake_main(void *arg)
{
	struct fake *f = arg;

	thread_self_tls = &f->t;
	f->t.arg = f->t.fn(f->t.arg);
	end_ext(&f->t);
	uk_assert(f->t.depth == 0);
	return NULL;
}

int uk_thread_create(uk_thread **out, const uk_thread_attr *a UNUSED,
		     void *(*fn)(void *), void *arg)
{
	struct fake *f = fake_new(THREAD_USER);
	pthread_attr_t attr;

	f->t.fn = fn;
	f->t.arg = arg;
	*out = &f->t;
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 256 << 10);
	uk_assert(pthread_create(&f->pthread, &attr, fake_main, f) == 0);
	pthread_attr_destroy(&attr);
	return 0;
}

int uk_thread_join(uk_thread *t, void **ret)
{
	struct fake *f = fake_of(t);

	pthread_join(f->pthread, NULL);
	if (ret)
		*ret = t->arg;
	fake_put(f);
	return 0;
}

/* (In a static library, a file that nothing calls is left out.) */
__attribute__((constructor)) static void loaded(void)
{
	at_load();
}

int uk_yield(void)
{
	sched_yield();
	return 0;
}

int uk_sleep_until(uk_time deadline)
{
	struct uk_thread *t = rt_enter();
	unsigned why = wait_park(t, wait_begin(t, WAIT_SLEEP, NULL), deadline);

	rt_exit();
	return why == WAKE_TIMEOUT ? 0 : wake_error(why);
}

int uk_sleep(uk_time ns)
{
	return uk_sleep_until(sys_now() + ns);
}

int uk_thread_cancel(uk_thread *t)
{
	uint64_t w;

	store_seq_cst(&t->asked, 1);
	w = load_seq_cst(&t->wait);
	/* acquire of ARMED above: either uncancelable belongs to that wait, or the CAS
	 * in wait_fire fails */
	if (W_STATE(w) == W_ARMED && !load_relaxed(&t->uncancelable))
		wait_fire(t, W_TOKEN(w), WAKE_CANCEL);
	return 0;
}

int uk_thread_is_cancelled(void)
{
	return load_relaxed(&thread_foreign()->asked);
}

int uk_thread_cancel_clear(void)
{
	return __atomic_exchange_n(&thread_foreign()->asked, 0, __ATOMIC_SEQ_CST);
}

uk_time uk_thread_set_deadline(uk_time deadline)
{
	struct uk_thread *t = thread_foreign();
	uk_time old = t->deadline;

	t->deadline = deadline;
	return old;
}

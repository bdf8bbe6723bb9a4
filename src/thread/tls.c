/* SPDX-License-Identifier: Apache-2.0 */
/* Thread blocks: made by a method, pooled, renewed for each life.
 *
 * Renewing does what start_thread would do for a newborn thread, by plain stores into a
 * block that no thread runs on: TLS images of all modules but libc, errno, h_errno,
 * locale, the robust list and cancellation words of struct pthread, the bounds of the
 * stack, a fresh tid. What stays: malloc's cache and the rest of libc's TLS
 * (tls_exit.c), the canary and the pointer guard (the same in all threads of a
 * process).
 *
 * Invariant: a block is in one magazine, or handed out, or held by the keeper
 * (tls_cold.c).
 *
 * The methods are tried in order. Each is checked by a self-test, in which a real
 * thread moves onto a block and lives two lives there. With a glibc version that has
 * not been tested yet, the test first runs in a child process, where a crash is a
 * result too. */
#include "thread/tls.h"

#include <ctype.h>
#include <gnu/libc-version.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "arch/arch.h"
#include "base/env.h"
#include "base/log.h"
#include "base/sys.h"
#include "mem/stack.h"
#include "thread/tls_block.h"

static const char *method = "none";
static void *(*make)(void);
struct mag_pool tls_pool = { .lock = LOCK_INIT(RANK_TLS) };
uint32_t tls_forks;
static struct list all = LIST_INIT(all); /* the pool's lock */

const char *tls_method(void)
{
	return method;
}

void *tls_current(void)
{
	return arch_get_tp();
}

bool tls_use_main_arena(void)
{
	void *tp = arch_get_tp();

	if (glibc.arena == NOWHERE || glibc_word(tp, glibc.arena))
		return false;
	glibc_use_main_arena(tp, true);
	return true;
}

void tls_leave_main_arena(void)
{
	glibc_use_main_arena(arch_get_tp(), false);
}

int tls_tid(const void *tp)
{
	return *(const int *)(const void *)((const char *)tp + glibc.tid);
}

void *tls_address_in(void *tp, const void *addr)
{
	return (char *)tp + ((const char *)addr - (const char *)arch_get_tp());
}

bool tls_are_templates(void)
{
	return make == template_make;
}

void tls_remember(struct tls_block *b)
{
	lock_acquire(&tls_pool.lock);
	list_push_back(&all, &b->all);
	lock_release(&tls_pool.lock);
}

void tls_forget(struct tls_block *b)
{
	lock_acquire(&tls_pool.lock);
	list_del(&b->all);
	lock_release(&tls_pool.lock);
}

/* Under the pool's lock. */
static void each_block(void (*fn)(void *tp, void *arg), void *arg)
{
	for (struct list *l = all.next; l != &all; l = l->next)
		fn(tls_tp_of(container_of(l, struct tls_block, all)), arg);
}

void tls_each_block(void (*fn)(void *tp, void *arg), void *arg)
{
	lock_acquire(&tls_pool.lock);
	each_block(fn, arg);
	lock_release(&tls_pool.lock);
}

static COLD void *new_block(void)
{
	void *tp = make ? make() : NULL;

	if (!tp) {
		mem_refused();
		return NULL;
	}
	tls_block_of(tp)->forks = tls_forks;
	tls_remember(tls_block_of(tp));
	return tp;
}

static inline void renew_pd(char *tp, void *stack, size_t size)
{
	const char *snap = glibc.snap + glibc.below;

	if (glibc.reset != NOWHERE) {
		memcpy(tp + glibc.reset, snap + glibc.reset,
		       (size_t)(glibc.reset_end - glibc.reset));
		for (unsigned i = glibc.reset_relocs; i < glibc.reset_relocs_end; i++) {
			ptrdiff_t o = glibc.relocs[i];

			glibc_set_word(
			    tp, o, tp + ((char *)glibc_word(snap, o) - glibc.snap_tp));
		}
	}
	if (glibc.stackblock != NOWHERE) {
		glibc_set_word(tp, glibc.stackblock, stack);
		glibc_set_word(tp, glibc.stackblock + 8, (void *)size);
		glibc_set_word(tp, glibc.stackblock + 16, NULL);
		glibc_set_word(tp, glibc.stackblock + 24, NULL);
	}
}

void *tls_get(struct tls_cache *c, void *stack, size_t size)
{
	struct mag_node *x = mag_get(c ? &c->free : NULL, &tls_pool);
	struct tls_block *b;
	char *tp = x ? tls_tp_of(container_of(x, struct tls_block, node)) : new_block();

	if (unlikely(!tp))
		return NULL;
	modules_reset(tp);
	*(int *)(void *)(tp + glibc.err) = 0;
	*(int *)(void *)(tp + glibc.herr) = 0;
	tls_renew_locale(tp);
	renew_pd(tp, stack, size);
	b = tls_block_of(tp);
	b->tid = tid_fresh(c ? &c->tids : NULL);
	*(uint32_t *)(void *)(tp + glibc.tid) = b->tid;
	store_relaxed(&b->live, 1);
	return tp;
}

void tls_put(struct tls_cache *c, void *tp)
{
	struct tls_block *b = tls_block_of(tp);

	dbg_assert(b->live);
	store_relaxed(&b->live, 0);
	mag_put(c ? &c->free : NULL, &tls_pool, &b->node);
}

void tls_cache_flush(struct tls_cache *c)
{
	mag_flush(&c->free, &tls_pool);
}

/* --- fork --- */

void tls_fork_lock(void)
{
	modules_fork_lock();
	tid_fork_lock();
	lock_acquire(&tls_pool.lock);
	template_fork_lock();
	threads_list_fork_lock();
}

void tls_fork_unlock(void)
{
	threads_list_fork_unlock();
	template_fork_unlock();
	lock_release(&tls_pool.lock);
	tid_fork_unlock();
	modules_fork_unlock();
}

static void is_block(void *tp, void *arg)
{
	if (tp == *(void **)arg)
		*(void **)arg = NULL;
}

/* This kernel thread will run other threads: at its end the kernel must not write into
 * this block. */
static void leave_kernel_thread(void)
{
	static struct {
		void *next;
		long offset;
		void *pending;
	} robust;
	static uint32_t ended;

	robust.next = &robust.next;
	sys2(SYS_set_robust_list, &robust, sizeof(robust));
	sys1(SYS_set_tid_address, &ended);
}

bool tls_child_is_process;

void tls_fork_child(bool user)
{
	char *tp = arch_get_tp();
	void *found = tp;

	tls_forks++;
	tid_fork_child();
	each_block(is_block, &found); /* the fork holds its lock */
	if (make != template_make)    /* each is in libc's list by itself */
		threads_list_fork_child(NULL);
	else
		threads_list_fork_child(found ? NULL : tp);
	if (found || !user) /* the block of some kernel thread */
		return;
	if (tls_child_is_process)
		tls_block_of(tp)->tid = (uint32_t)sys_gettid();
	*(uint32_t *)(void *)(tp + glibc.tid) = tls_block_of(tp)->tid;
	leave_kernel_thread();
}

void tls_adopt(void *tp)
{
	*(int *)(void *)((char *)tp + glibc.tid) = sys_gettid();
}

/* --- the self-test --- */

struct check {
	const char *failed; /* NULL: all is well */
	pthread_key_t key;
	char stack[8 * 4096];
};

static int key_seen;

static void on_key(void *value)
{
	key_seen += *(int *)value;
}

#define EXPECT(c)                                                                      \
	do {                                                                           \
		if (!(c))                                                              \
			return #c;                                                     \
	} while (0)

static const char no_memory[] = "no memory";

/* libc asks the kernel for the affinity of the tid in the block, so pthread_getattr_np
 * returns ESRCH unless the preload library interposes it. For the test the block has a
 * real tid for a moment. */
static const char *check_stack(struct check *k, char *tp)
{
	int *tid = (int *)(void *)(tp + glibc.tid), mine = *tid, err;
	pthread_attr_t attr;
	size_t size = 0;
	void *at = NULL;

	*tid = sys_gettid();
	err = glibc.getattr_np(pthread_self(), &attr);
	*tid = mine;
	if (err == ENOMEM)
		return no_memory;
	EXPECT(!err);
	pthread_attr_getstack(&attr, &at, &size);
	pthread_attr_destroy(&attr);
	EXPECT((char *)at == k->stack);
	EXPECT(size == sizeof(k->stack));
	return NULL;
}

static const char *check_identity(char *tp)
{
	EXPECT((char *)pthread_self() == tp + glibc.pd);
	EXPECT(tls_tid(tp) >= 0x400000);
	EXPECT((char *)&errno == tp + glibc.err);
	EXPECT(errno == 0);
	errno = 77;
	return NULL;
}

static const char *check_libc(void)
{
	char text[64];
	void *p[20];
	locale_t c;

	for (size_t i = 0; i < array_size(p); i++) {
		p[i] = malloc(i * 100 + 1);
		if (!p[i])
			return no_memory; /* and the earlier ones are lost */
	}
	for (size_t i = 0; i < array_size(p); i++)
		free(p[i]);
	EXPECT(isalpha('x') && !isalpha('1') && toupper('x') == 'X');
	EXPECT(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
	c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	EXPECT(c);
	uselocale(c); /* the next life must not see it */
	EXPECT(snprintf(text, sizeof(text), "%d %.2f", 7, 1.5) == 6);
	EXPECT(strerror(EINVAL)[0] != 0);
	return NULL;
}

static const char *check_life(struct check *k, void *tp)
{
	static int one = 1;
	const char *bad = check_identity(tp);

	if (!bad && glibc.stackblock != NOWHERE)
		bad = check_stack(k, tp);
	if (!bad)
		bad = check_libc();
	if (bad)
		return bad;
	EXPECT(!glibc.getspecific(k->key));
	if (glibc.setspecific(k->key, &one))
		return no_memory;
	EXPECT(glibc.getspecific(k->key) == &one);
	key_seen = 0;
	tls_run_destructors();
	EXPECT(key_seen == 1);
	EXPECT(!glibc.getspecific(k->key));
	return NULL;
}

static void live_twice(struct check *k, void *mine)
{
	void *first = NULL;

	for (int life = 0; life < 2; life++) {
		void *tp = tls_get(NULL, k->stack, sizeof(k->stack));

		k->failed = !tp ? no_memory : "the pooled block was not used again";
		if (!tp || (first && first != tp))
			return;
		first = tp;
		arch_set_tp(tp);
		glibc_use_main_arena(tp, true);
		k->failed = check_life(k, tp);
		glibc_use_main_arena(tp, false);
		arch_set_tp(mine);
		tls_put(NULL, tp);
		if (k->failed)
			return;
	}
}

static void *check_thread(void *arg)
{
	void *mine = arch_get_tp();

	glibc_use_main_arena(mine, true);
	live_twice(arg, mine);
	glibc_use_main_arena(mine, false);
	return NULL;
}

static int self_test(bool quiet)
{
	static struct check k;
	pthread_t id;
	int err;

	k.failed = NULL;
	err = glibc.key_create(&k.key, on_key);
	if (err)
		return -err;
	err = glibc_run(check_thread, &k, NULL, (size_t)256 << 10, &id);
	if (!err)
		glibc.join(id, NULL);
	glibc.key_delete(k.key);
	if (!err && k.failed == no_memory)
		return -ENOMEM;
	if (!err && k.failed) {
		if (!quiet)
			uk_warn("self-test of thread blocks, method %s, failed: %s",
				method, k.failed);
		err = -ENOSYS;
	}
	return err;
}

/* The same in a child, without effects on this process: a plain clone runs no atfork
 * handlers and sends no signal when it ends. */
static int self_test_apart(void)
{
	int status = -1;
	long pid = sysn(SYS_clone, 0, 0, 0, 0, 0, 0), got = 0;
	int64_t deadline = sys_now() + 2 * NS_PER_SEC;

	if (pid < 0)
		return 0; /* not allowed here: the test in this process must do */
	if (pid == 0)
		for (;;)
			sys1(SYS_exit_group, self_test(true) ? 1 : 0);
	while (sys_now() < deadline) {
		struct timespec ms = { 0, NS_PER_MS };

		got = sys4(SYS_wait4, pid, &status, WNOHANG | __WALL, NULL);
		if (got)
			break;
		sys2(SYS_nanosleep, &ms, NULL);
	}
	if (!got) {
		sys2(SYS_kill, pid, SIGKILL);
		sys4(SYS_wait4, pid, &status, __WALL, NULL);
	}
	return got == pid && status == 0 ? 0 : -ENOSYS;
}

/* The versions with which the tests have been run. */
static bool known_glibc(void)
{
	static const char *const known[] = { "2.36", "2.41", "2.43" };

	for (size_t i = 0; i < array_size(known); i++)
		if (!strcmp(gnu_get_libc_version(), known[i]))
			return true;
	return false;
}

/* Memory or a kernel thread was missing: the method may be right all the same. */
static bool no_verdict(int err)
{
	return err == -ENOMEM || err == -EAGAIN;
}

static int try_method(const char *name, int (*init)(void), void *(*m)(void))
{
	int err = init();

	if (err)
		return err;
	method = name;
	make = m;
	if (!known_glibc())
		err = self_test_apart();
	if (!err)
		err = self_test(false);
	if (err) {
		method = "none";
		make = NULL;
	}
	/* the blocks that the test made are of no use to the next method */
	if (err && !no_verdict(err)) {
		tls_pool.batches = NULL;
		tls_pool.n = tls_pool.low = 0;
		list_init(&all);
	}
	return err;
}

static int learn(void)
{
	static bool done;
	int err;

	if (done)
		return 0;
	err = glibc_learn();
	if (!err)
		err = modules_init();
	done = !err;
	return err;
}

int tls_init(void)
{
	bool template = env_key_is(ENV_TLS, "template");
	bool harvest = env_key_is(ENV_TLS, "harvest");
	int err;

	if (!arch_full_threads() || env_key_is(ENV_TLS, "none"))
		return 0;
	err = learn();
	if (err)
		return err == -ENOSYS ? 0 : err;
	if (!harvest)
		err = try_method("template", template_init, template_make);
	if (no_verdict(err))
		return err;
	if (harvest || (err && !template))
		err = try_method("harvest", harvest_init, harvest_make);
	return err == -ENOSYS ? 0 : err;
}

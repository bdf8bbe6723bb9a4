/* SPDX-License-Identifier: Apache-2.0 */
#include "fibers.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/env.h"
#include "base/sys.h"
#include "mem/stack.h"
#include "test.h"
#include "thread/tls.h"

#define ORDER 17

struct fiber {
	void *sp, *tp, *stack;
	void *home_sp, *home_tp; /* the context that runs this fiber */
	int last_tid;
	bool done;
	void (*fn)(void *);
	void *arg;
	struct fiber *next;
};

/* Initial-exec and read only right before it is used, so each fiber reads its own
 * TLS. */
static __thread struct fiber *self __attribute__((tls_model("initial-exec")));

static struct fiber *first, *last;
static unsigned alive;
static unsigned long migrations;
static pthread_mutex_t queue = PTHREAD_MUTEX_INITIALIZER;

static void __attribute__((noinline)) leave(struct fiber *f)
{
	arch_switch(&f->sp, f->home_sp, f->home_tp, arch_has_fsgsbase());
}

static void fiber_main(void *arg)
{
	struct fiber *f = arg;

	f->fn(f->arg);
	tls_run_destructors();
	f->done = true;
	leave(f);
}

static struct fiber *fiber_make(struct tls_cache *c, void (*fn)(void *), void *arg)
{
	struct fiber *f = calloc(1, sizeof(*f));
	size_t size = (size_t)1 << ORDER;

	CHECK(f);
	f->fn = fn;
	f->arg = arg;
	f->stack = stack_get(NULL, ORDER);
	CHECK(f->stack);
	f->tp = tls_get(c, f->stack, size);
	CHECK(f->tp);
	f->sp =
	    arch_context_init((char *)f->stack + size, fiber_main, f, arch_fp_env());
	*(struct fiber **)tls_address_in(f->tp, &self) = f;
	return f;
}

static void fiber_free(struct tls_cache *c, struct fiber *f)
{
	tls_put(c, f->tp);
	stack_put(NULL, f->stack, ORDER);
	free(f);
}

static void resume(struct fiber *f)
{
	int tid = sys_gettid();

	if (f->last_tid && f->last_tid != tid)
		__atomic_fetch_add(&migrations, 1, __ATOMIC_RELAXED);
	f->last_tid = tid;
	f->home_tp = tls_current();
	arch_switch(&f->home_sp, f->sp, f->tp, arch_has_fsgsbase());
}

void fiber_yield(void)
{
	leave(self);
}

int fiber_tid(void)
{
	return tls_tid(tls_current());
}

void *fiber_stack(size_t *size)
{
	*size = (size_t)1 << ORDER;
	return self->stack;
}

unsigned long fibers_migrations(void)
{
	return migrations;
}

static void enqueue(struct fiber *f)
{
	f->next = NULL;
	if (last)
		last->next = f;
	else
		first = f;
	last = f;
}

static void *worker(void *arg)
{
	struct tls_cache c = { 0 };

	(void)arg;
	pthread_mutex_lock(&queue);
	while (alive) {
		struct fiber *f = first;

		if (!f) {
			pthread_mutex_unlock(&queue);
			sched_yield();
			pthread_mutex_lock(&queue);
			continue;
		}
		first = f->next;
		if (!first)
			last = NULL;
		pthread_mutex_unlock(&queue);
		resume(f);
		pthread_mutex_lock(&queue);
		if (f->done) {
			alive--;
			fiber_free(&c, f);
		} else {
			enqueue(f);
		}
	}
	pthread_mutex_unlock(&queue);
	tls_cache_flush(&c);
	return NULL;
}

void fibers_run(unsigned workers, unsigned n, void (*fn)(void *), void *const *args)
{
	pthread_t t[16];

	CHECK(workers <= 16);
	alive = n;
	for (unsigned i = 0; i < n; i++)
		enqueue(fiber_make(NULL, fn, args ? args[i] : NULL));
	for (unsigned i = 0; i < workers; i++)
		CHECK(!pthread_create(&t[i], NULL, worker, NULL));
	for (unsigned i = 0; i < workers; i++)
		pthread_join(t[i], NULL);
}

void fiber_run_one(void (*fn)(void *), void *arg)
{
	struct fiber *f = fiber_make(NULL, fn, arg);

	while (!f->done)
		resume(f);
	fiber_free(NULL, f);
}

void fibers_init(void)
{
	if (UK_ASAN || UK_TSAN)
		SKIP("sanitizers keep their state in the TLS of kernel threads");
	CHECK_EQ(tls_init(), 0);
#if defined(__x86_64__) && defined(__GLIBC__)
	CHECK(strcmp(tls_method(), "none") != 0); /* must exist on this platform */
#else
	if (!strcmp(tls_method(), "none"))
		SKIP("no thread blocks with this C library");
#endif
	if (env_key_is(ENV_TLS, "template") || env_key_is(ENV_TLS, "harvest"))
		CHECK(env_key_is(ENV_TLS, tls_method()));
	printf("method: %s\n", tls_method());
}

int fibers_each_method(int argc, char **argv)
{
	static const char *const methods[] = { "template", "harvest" };
	int worst = 0, status;

	if (argc > 1)
		return -1;
	for (size_t i = 0; i < array_size(methods); i++) {
		pid_t pid = fork();

		if (!pid) {
			set_debug("tls", methods[i]);
			execl("/proc/self/exe", argv[0], methods[i], (char *)NULL);
			_exit(2);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		if (!WIFEXITED(status))
			worst = 1;
		else if (WEXITSTATUS(status) && worst != 1)
			worst = WEXITSTATUS(status);
	}
	return worst;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* What a program may expect of its thread-local state on a user thread, with both
 * methods of making thread blocks (UK_DEBUG=tls). */
#include "thread/tls.h"

#include <ctype.h>
#include <dlfcn.h>
#include <limits.h>
#include <locale.h>
#include <math.h>
#include <netdb.h>
#include <pthread.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/auxv.h>
#include <sys/rseq.h>
#include <sys/single_threaded.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "base/sys.h"
#include "fibers.h"
#include "mem/stack.h"
#include "test.h"

#define YIELDS 50

static __thread int with_value = 4711;
static __thread char with_zeros[300];
static __thread _Alignas(64) int aligned = 3;

static bool harvest(void)
{
	return !strcmp(tls_method(), "harvest");
}

/* --- one fiber --- */

static void check_new(void *arg)
{
	(void)arg;
	CHECK_EQ(errno, 0);
	CHECK_EQ(h_errno, 0);
	CHECK_EQ(with_value, 4711);
	CHECK_EQ(aligned, 3);
	CHECK_EQ((uintptr_t)&aligned % 64, 0);
	for (size_t i = 0; i < sizeof(with_zeros); i++)
		CHECK_EQ(with_zeros[i], 0);
	CHECK(uselocale((locale_t)0) == LC_GLOBAL_LOCALE);
	CHECK((void *)pthread_self() == tls_current());
	CHECK(fiber_tid() >= 0x400000);
	CHECK(!dlerror());
	with_value = -1;
	aligned = -1;
	memset(with_zeros, 1, sizeof(with_zeros));
	errno = EBADF;
	h_errno = 2;
	uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
	CHECK(!dlopen("/nonexistent.so", RTLD_NOW)); /* leaves an error message */
}

static void a_reused_block_is_as_good_as_new(void)
{
	for (int i = 0; i < 300; i++)
		fiber_run_one(check_new, NULL);
}

static void check_stack_bounds(void *arg)
{
	pthread_attr_t attr;
	size_t size, want, guard;
	char *at, *stack = fiber_stack(&want);
	int *tid = (int *)(void *)((char *)tls_current() + *(size_t *)arg), mine = *tid;

	/* libc asks the kernel for the affinity of the tid; only src/preload can
	 * interpose that call */
	*tid = sys_gettid();
	CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
	*tid = mine;
	CHECK_EQ(pthread_attr_getstack(&attr, (void **)&at, &size), 0);
	CHECK_EQ(pthread_attr_getguardsize(&attr, &guard), 0);
	CHECK(at == stack);
	CHECK(at + size == stack + want);
	CHECK_EQ(guard, 0);
	CHECK((char *)&attr > at && (char *)&attr < at + size);
	pthread_attr_destroy(&attr);
}

static void getattr_np_returns_the_bounds_of_the_stack(void)
{
	const uint32_t *d = dlsym(RTLD_DEFAULT, "_thread_db_pthread_tid");
	size_t off;

	CHECK(d);
	off = d[2];
	for (int i = 0; i < 3; i++)
		fiber_run_one(check_stack_bounds, &off);
}

static void check_rseq(void *arg)
{
	const struct rseq *r;

	(void)arg;
	if (!__rseq_size)
		return;
	r = (const void *)((const char *)tls_current() + __rseq_offset);
	CHECK((int)r->cpu_id < 0);
	CHECK(sched_getcpu() >= 0); /* libc asks the kernel instead */
}

static void rseq_says_unregistered(void)
{
	fiber_run_one(check_rseq, NULL);
}

static void check_canary(void *arg)
{
	uintptr_t *other = arg, mine[2];

	memcpy(mine, (char *)tls_current() + 0x28, sizeof(mine));
	CHECK_EQ(mine[0], other[0]); /* stack canary */
	CHECK_EQ(mine[1], other[1]); /* pointer guard */
}

static void canary_is_the_same_in_all_threads(void)
{
#if defined(__x86_64__)
	uintptr_t mine[2];

	memcpy(mine, (char *)tls_current() + 0x28, sizeof(mine));
	CHECK(mine[0] && mine[1]);
	fiber_run_one(check_canary, mine);
#else
	(void)check_canary;
#endif
}

static void libc_takes_the_process_for_multithreaded(void)
{
	CHECK(!__libc_single_threaded);
}

static void check_setlocale(void *arg)
{
	CHECK_EQ(!!isalpha(0xe4), *(int *)arg);
	CHECK(
	    !strcmp(setlocale(LC_CTYPE, NULL), *(int *)arg ? "de_DE.ISO-8859-1" : "C"));
}

static void setlocale_reaches_new_threads(void)
{
	int latin = 0;

	fiber_run_one(check_setlocale, &latin);
	if (!setlocale(LC_CTYPE, "de_DE.ISO-8859-1"))
		return; /* not installed */
	latin = 1;
	fiber_run_one(check_setlocale, &latin);
	setlocale(LC_CTYPE, "C");
}

/* --- keys --- */

static pthread_key_t keys[100];
static unsigned long destroyed, rounds_seen;

static void on_key(void *value)
{
	__atomic_fetch_add(&destroyed, (uintptr_t)value, __ATOMIC_RELAXED);
}

static void set_keys(void *arg)
{
	(void)arg;
	for (size_t i = 0; i < array_size(keys); i++) {
		CHECK(!pthread_getspecific(keys[i]));
		CHECK_EQ(pthread_setspecific(keys[i], (void *)(i + 1)), 0);
	}
	fiber_yield();
	for (size_t i = 0; i < array_size(keys); i++)
		CHECK(pthread_getspecific(keys[i]) == (void *)(i + 1));
}

static void key_destructors_run_once_per_value(void)
{
	const unsigned n = array_size(keys);

	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(pthread_key_create(&keys[i], on_key), 0);
	destroyed = 0;
	fibers_run(2, 200, set_keys, NULL);
	CHECK_EQ(destroyed, 200ul * n * (n + 1) / 2);
	for (unsigned i = 0; i < n; i++)
		pthread_key_delete(keys[i]);
}

static void set_deleted_key(void *arg)
{
	pthread_key_t k;

	(void)arg;
	CHECK_EQ(pthread_key_create(&k, on_key), 0);
	pthread_setspecific(k, (void *)1000000);
	pthread_key_delete(k);
	CHECK_EQ(pthread_key_create(&k, on_key),
		 0); /* the same slot, a new generation */
	pthread_key_delete(k);
}

static void deleted_keys_run_no_destructor(void)
{
	destroyed = 0;
	fiber_run_one(set_deleted_key, NULL);
	CHECK_EQ(destroyed, 0);
}

static pthread_key_t stubborn_key;

static void stubborn(void *value)
{
	rounds_seen++;
	pthread_setspecific(stubborn_key, value);
}

static void set_stubborn(void *arg)
{
	CHECK(!pthread_getspecific(stubborn_key));
	pthread_setspecific(stubborn_key, arg);
}

static void key_destructors_stop_after_four_rounds(void)
{
	CHECK_EQ(pthread_key_create(&stubborn_key, stubborn), 0);
	rounds_seen = 0;
	fiber_run_one(set_stubborn, &rounds_seen);
	CHECK_EQ(rounds_seen, PTHREAD_DESTRUCTOR_ITERATIONS);
	fiber_run_one(set_stubborn, &rounds_seen); /* also checks that no value is
						    * left */
	CHECK_EQ(rounds_seen, 2 * PTHREAD_DESTRUCTOR_ITERATIONS);
	pthread_key_delete(stubborn_key);
}

static void parking_destructor(void *value)
{
	fiber_yield();
	on_key(value);
}

static void set_parking(void *arg)
{
	pthread_setspecific(stubborn_key, arg);
}

static void destructors_may_park_and_migrate(void)
{
	void *args[100];

	for (size_t i = 0; i < array_size(args); i++)
		args[i] = (void *)1;
	CHECK_EQ(pthread_key_create(&stubborn_key, parking_destructor), 0);
	destroyed = 0;
	fibers_run(3, array_size(args), set_parking, args);
	CHECK_EQ(destroyed, array_size(args));
	pthread_key_delete(stubborn_key);
}

/* --- ownership --- */

static pthread_mutex_t recursive = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static FILE *shared_file;
static int stage, lock_owner;

static void hold(void *arg)
{
	(void)arg;
	CHECK_EQ(pthread_mutex_lock(&recursive), 0);
	CHECK_EQ(pthread_mutex_lock(&recursive), 0);
	lock_owner = recursive.__data.__owner;
	CHECK_EQ(lock_owner, fiber_tid());
	flockfile(shared_file);
	stage = 1;
	while (stage != 2)
		fiber_yield();
	funlockfile(shared_file);
	CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
	CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
	stage = 3;
}

static void intrude(void *arg)
{
	(void)arg;
	while (stage != 1)
		fiber_yield();
	/* the same kernel thread, but another user thread */
	CHECK_EQ(pthread_mutex_trylock(&recursive), EBUSY);
	CHECK(ftrylockfile(shared_file) != 0);
	stage = 2;
	while (stage != 3)
		fiber_yield();
	CHECK_EQ(pthread_mutex_trylock(&recursive), 0);
	CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
	CHECK_EQ(ftrylockfile(shared_file), 0);
	funlockfile(shared_file);
}

static void hold_or_intrude(void *arg)
{
	if (arg)
		hold(arg);
	else
		intrude(arg);
}

static void locks_belong_to_user_threads(void)
{
	void *args[2] = { &stage, NULL };

	shared_file = tmpfile();
	CHECK(shared_file);
	stage = 0;
	fibers_run(1, 2, hold_or_intrude, args);
	CHECK_EQ(stage, 3);
	fclose(shared_file);
}

static void abandon(void *arg)
{
	(void)arg;
	CHECK_EQ(pthread_mutex_lock(&recursive), 0);
}

static void find_abandoned(void *arg)
{
	(void)arg;
	CHECK_EQ(pthread_mutex_trylock(&recursive), EBUSY);
}

static void a_new_thread_does_not_own_locks_of_an_ended_one(void)
{
	fiber_run_one(abandon, NULL); /* the next fiber gets the same block */
	fiber_run_one(find_abandoned, NULL);
	recursive = (pthread_mutex_t)PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
}

/* --- other libc calls --- */

static volatile sig_atomic_t signalled;

static void on_signal(int sig)
{
	signalled = sig;
}

static void use_services(void *arg)
{
	struct addrinfo *ai = NULL;
	char line[64] = "";
	FILE *p;

	(void)arg;
	CHECK_EQ(WEXITSTATUS(system("exit 3")), 3);
	p = popen("echo out", "r");
	CHECK(p && fgets(line, sizeof(line), p) && !strcmp(line, "out\n"));
	CHECK_EQ(pclose(p), 0);
	CHECK_EQ(getaddrinfo("127.0.0.1", "80", NULL, &ai), 0);
	freeaddrinfo(ai);
	CHECK_EQ(getaddrinfo("localhost", NULL, NULL, &ai), 0); /* resolver state */
	freeaddrinfo(ai);
	CHECK(getpwuid(0) && !strcmp(getpwuid(0)->pw_name, "root"));
	signalled = 0;
	CHECK_EQ(raise(SIGUSR1), 0);
	CHECK_EQ(signalled, SIGUSR1);
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL), 0);
}

static void check_cancel_state(void *arg)
{
	int was;

	(void)arg;
	CHECK_EQ(pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &was), 0);
	CHECK_EQ(was, PTHREAD_CANCEL_ENABLE); /* not the state that the last fiber of
					       * this block left */
}

static void libc_services_work(void)
{
	signal(SIGUSR1, on_signal);
	for (int i = 0; i < 3; i++) {
		fiber_run_one(use_services, NULL);
		fiber_run_one(check_cancel_state, NULL);
	}
}

/* --- many fibers, in parallel, across kernel threads --- */

static void stir(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	int tid = fiber_tid(), number = (int)(uintptr_t)arg;
	pthread_t me = pthread_self();
	char text[64], want[64], *save, *list, *chunk = NULL;
	size_t size = 0;

	for (int i = 0; i < YIELDS; i++) {
		size = 1 + (size_t)rand_r(&seed) % 3000;
		chunk = malloc(size);
		CHECK(chunk);
		memset(chunk, number & 0xff, size);
		errno = number;
		with_value = number + i;
		CHECK(close(-1) == -1 && errno == EBADF);
		errno = number;
		snprintf(want, sizeof(want), "%d:%.3f:%s", number, number / 7.0,
			 strerror(number % 30));
		fiber_yield();
		CHECK_EQ(errno, number);
		CHECK_EQ(with_value, number + i);
		CHECK_EQ(fiber_tid(), tid);
		CHECK(pthread_self() == me);
		for (size_t k = 0; k < size; k += 97)
			CHECK_EQ(chunk[k], (char)(number & 0xff));
		free(chunk); /* usually allocated on another kernel thread */
		snprintf(text, sizeof(text), "%d:%.3f:%s", number, number / 7.0,
			 strerror(number % 30));
		CHECK(!strcmp(text, want));
		list = strdup("a,b,c");
		CHECK(!strcmp(strtok_r(list, ",", &save), "a"));
		fiber_yield();
		CHECK(!strcmp(strtok_r(NULL, ",", &save), "b"));
		free(list);
		CHECK(isalpha('q') && !isdigit('q') && tolower('Q') == 'q');
	}
}

static void state_moves_with_the_thread_across_kernel_threads(void)
{
	static void *args[1000];
	unsigned long before = fibers_migrations();

	for (size_t i = 0; i < array_size(args); i++)
		args[i] = (void *)(i + 1);
	fibers_run(4, array_size(args), stir, args);
	printf("%lu migrations\n", fibers_migrations() - before);
	CHECK(fibers_migrations() - before > 1000);
}

static char unknown_text[2][80];

static void keep_locale(void *arg)
{
	int number = (int)(uintptr_t)arg;
	locale_t own = newlocale(LC_ALL_MASK, "C.UTF-8", (locale_t)0);
	char *msg;

	CHECK(own);
	uselocale(own);
	msg = strerror(100000 + number); /* the text is in a buffer of the thread */
	fiber_yield();
	CHECK(uselocale((locale_t)0) == own);
	CHECK(strstr(msg, "100") &&
	      atoi(strpbrk(msg, "0123456789")) == 100000 + number);
	if (number < 2)
		snprintf(unknown_text[number], sizeof(unknown_text[number]), "%s", msg);
	uselocale(LC_GLOBAL_LOCALE);
	freelocale(own);
}

static void locale_and_strerror_are_per_thread(void)
{
	static void *args[100];

	for (size_t i = 0; i < array_size(args); i++)
		args[i] = (void *)i;
	fibers_run(2, array_size(args), keep_locale, args);
	CHECK(strcmp(unknown_text[0], unknown_text[1]) != 0);
}

static void write_lines(void *arg)
{
	for (int i = 0; i < 20; i++) {
		fprintf(shared_file, "line %zu %d\n", (size_t)(uintptr_t)arg, i);
		fiber_yield();
	}
}

static void stdio_lines_stay_whole(void)
{
	static void *args[100];
	char line[100];
	int n = 0, v;
	size_t who;

	shared_file = tmpfile();
	CHECK(shared_file);
	for (size_t i = 0; i < array_size(args); i++)
		args[i] = (void *)i;
	fibers_run(4, array_size(args), write_lines, args);
	rewind(shared_file);
	while (fgets(line, sizeof(line), shared_file)) {
		CHECK(sscanf(line, "line %zu %d\n", &who, &v) == 2);
		n++;
	}
	CHECK_EQ(n, 2000);
	fclose(shared_file);
}

/* --- modules that are opened late --- */

static int *(*late_counter)(void);
static char *(*late_zeros)(void);
static int late_stage;

/* Runs fn in n fibers, with no module open at first. The fiber of args[0] opens it. */
static void run_before_late(unsigned n, void (*fn)(void *), void *const *args)
{
	late_stage = 0;
	late_counter = NULL;
	late_zeros = NULL;
	fibers_run(2, n, fn, args);
}

static void use_late(void *arg)
{
	(void)arg;
	CHECK_EQ(*late_counter(), 42);
	CHECK_EQ(late_zeros()[50], 0);
	*late_counter() = fiber_tid();
	late_zeros()[50] = 7;
	fiber_yield();
	CHECK_EQ(*late_counter(), fiber_tid());
	CHECK_EQ(late_zeros()[50], 7);
}

static void live_before_late(void *arg)
{
	while (late_stage == 0)
		fiber_yield();
	use_late(arg);
}

static void *open_late(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	int (*saw)(void);

	if (!lib)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(lib);
	*(void **)(void *)&late_counter = dlsym(lib, "late_counter");
	*(void **)(void *)&late_zeros = dlsym(lib, "late_zeros");
	CHECK(late_counter && late_zeros);
	*(void **)(void *)&saw = dlsym(lib, "late_constructor_saw");
	CHECK(saw);
	CHECK_EQ(saw(), 42);
	return lib;
}

static char late_dynamic[] = LATE_DYNAMIC, late_static[] = LATE_STATIC;

static void open_in_fiber(void *arg)
{
	fiber_yield();
	open_late(arg);
	late_stage = 1;
	use_late(NULL);
}

static void open_or_live(void *arg)
{
	if (arg)
		open_in_fiber(arg);
	else
		live_before_late(arg);
}

static void dynamic_tls_is_new_in_each_thread(void)
{
	for (int round = 0; round < 3; round++) {
		void *lib = open_late(LATE_DYNAMIC);

		fibers_run(3, 300, use_late, NULL);
		fibers_run(3, 300, use_late, NULL);
		CHECK_EQ(dlclose(lib), 0);
	}
}

static void many_late_modules_grow_the_dtv(void)
{
	/* more modules than a DTV has spare slots for, so ld.so reallocates the DTV */
	char path[300];
	void *lib[40];

	for (size_t i = 0; i < array_size(lib); i++) {
		FILE *in = fopen(LATE_DYNAMIC, "r"), *out;
		char buf[4096];
		size_t n;

		snprintf(path, sizeof(path), "/tmp/uk-late-%d-%zu.so", (int)getpid(),
			 i);
		out = fopen(path, "w");
		CHECK(in && out);
		while ((n = fread(buf, 1, sizeof(buf), in)) > 0)
			fwrite(buf, 1, n, out);
		fclose(in);
		fclose(out);
		lib[i] = open_late(path);
		unlink(path);
		if (i % 8 == 0 || i == array_size(lib) - 1) {
			fibers_run(2, 50, use_late, NULL);
			fibers_run(2, 50, use_late, NULL);
		}
	}
	for (size_t i = 0; i < array_size(lib); i++)
		dlclose(lib[i]);
	fiber_run_one(check_new, NULL);
}

static void live_threads_see_a_module_opened_later(void)
{
	void *args[50] = { late_dynamic };

	run_before_late(array_size(args), open_or_live, args);
}

/* A variable that a thread has set to zero does not get its initial value again. */
static void zero_stays(void *arg)
{
	if (arg) {
		fiber_yield();
		open_late(arg);
		late_stage = 1;
	}
	while (late_stage == 0)
		fiber_yield();
	CHECK_EQ(*late_counter(), 42);
	*late_counter() = 0;
	for (int i = 0; i < YIELDS; i++) {
		fiber_yield();
		CHECK_EQ(*late_counter(), 0);
	}
}

static void live_threads_see_static_tls_of_a_late_module(void)
{
	void *args[50] = { late_static };
	void *zero[300] = { late_static };

	run_before_late(array_size(zero), zero_stays, zero);
	run_before_late(array_size(args), open_or_live, args);
	fibers_run(2, 200, use_late, NULL); /* new threads see it, too */
}

/* --- fork --- */

static void fork_and_go_on(void *arg)
{
	int status, tid = fiber_tid();
	pid_t pid;

	(void)arg;
	CHECK_EQ(pthread_mutex_lock(&recursive), 0);
	stack_fork_lock();
	tls_fork_lock();
	pid = _Fork(); /* without the fork handlers of src/sched, which would lock
		        * everything */
	tls_fork_unlock();
	stack_fork_unlock();
	if (pid) {
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_EQ(status, 0);
		CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
		return;
	}
	tls_fork_child(true);
	CHECK_EQ(fiber_tid(), tid);
	CHECK_EQ(pthread_mutex_lock(&recursive), 0); /* this thread still holds it */
	CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
	CHECK_EQ(pthread_mutex_unlock(&recursive), 0);
	with_value = 5;
}

static void a_forked_child_of_a_user_thread_works(void)
{
	pid_t parent = getpid();

	fiber_run_one(fork_and_go_on, NULL);
	if (getpid() == parent)
		return;
	/* the child recycles the block, libc walks its lists, and all works as
	 * before */
	for (int i = 0; i < 10; i++)
		fiber_run_one(check_new, NULL);
	for (int i = 0; i < 3; i++) {
		void *args[20] = { late_static };

		run_before_late(array_size(args), open_or_live, args);
		fibers_run(2, 200, stir, NULL);
	}
	fflush(NULL);
	_exit(0);
}

/* --- thread ids --- */

extern uint64_t tid_counter;

static int by_value(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static void tids_are_unique_after_the_counter_wraps(void)
{
	enum { N = 3000 };
	const uint64_t span = 0x40000000 - 0x400000;
	static void *tp[2 * N];
	static int tid[2 * N];
	struct tls_cache c = { 0 };
	char stack[64];
	uint64_t was;

	for (int i = 0; i < N; i++)
		CHECK((tp[i] = tls_get(i & 1 ? &c : NULL, stack, sizeof(stack))));
	/* nearly a whole round later: the next ids are those in use */
	was = tid_counter;
	tid_counter = was + span - 2 * N;
	for (int i = N; i < 2 * N; i++)
		CHECK((tp[i] = tls_get(i & 1 ? &c : NULL, stack, sizeof(stack))));
	for (int i = 0; i < 2 * N; i++) {
		tid[i] = tls_tid(tp[i]);
		CHECK(tid[i] >= 0x400000 && tid[i] < 0x40000000);
	}
	CHECK(tid_counter > span);
	qsort(tid, 2 * N, sizeof(tid[0]), by_value);
	for (int i = 1; i < 2 * N; i++)
		CHECK(tid[i - 1] != tid[i]);
	for (int i = 0; i < 2 * N; i++)
		tls_put(i & 1 ? &c : NULL, tp[i]);
	tls_cache_flush(&c);
}

static size_t rss_kb(void)
{
	char line[256];
	size_t kb = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Rss:", 4))
			kb = strtoul(line + 4, NULL, 10);
	fclose(f);
	return kb;
}

static void a_hundred_thousand_blocks_take_little_memory(void)
{
	unsigned n = harvest() ? 10000 : 100000;
	void **tp = calloc(n, sizeof(*tp)), **stack = calloc(n, sizeof(*stack));
	size_t before = rss_kb(), with_blocks, size = (size_t)1 << 14;

	CHECK(tp && stack);
	memset(tp, 0, n * sizeof(*tp));
	memset(stack, 0, n * sizeof(*stack));
	for (unsigned i = 0; i < n; i++) {
		stack[i] = stack_get(NULL, 14);
		CHECK(stack[i]);
		tp[i] = tls_get(NULL, stack[i], size);
		CHECK(tp[i]);
	}
	with_blocks = rss_kb();
	for (unsigned i = 0; i < n; i++)
		((volatile char *)stack[i])[size - 2000] = 1; /* the first frames use
							       * the stack */
	printf("%u blocks: %zu bytes each, %zu with a page of stack\n", n,
	       (with_blocks - before) * 1024 / n, (rss_kb() - before) * 1024 / n);
	CHECK((rss_kb() - before) * 1024 / n < 13000);
	for (unsigned i = 0; i < n; i++) {
		tls_put(NULL, tp[i]);
		stack_put(NULL, stack[i], 14);
	}
	free(tp);
	free(stack);
}

/* --- blocks are returned to the kernel --- */

static uint32_t enough;

static void *returns_blocks(void *arg)
{
	while (!__atomic_load_n(&enough, __ATOMIC_SEQ_CST)) {
		tls_keep_begin();
		while (tls_keep_step())
			;
		sched_yield();
	}
	return arg;
}

static void while_blocks_are_returned(void (*fn)(void))
{
	pthread_t id;

	enough = 0;
	CHECK_EQ(pthread_create(&id, NULL, returns_blocks, NULL), 0);
	fn();
	__atomic_store_n(&enough, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(pthread_join(id, NULL), 0);
}

static void all_works_while_blocks_are_returned(void)
{
	static void (*const tests[])(void) = {
		a_reused_block_is_as_good_as_new,
		setlocale_reaches_new_threads,
		locks_belong_to_user_threads,
		libc_services_work,
		state_moves_with_the_thread_across_kernel_threads,
		locale_and_strerror_are_per_thread,
		dynamic_tls_is_new_in_each_thread,
		live_threads_see_a_module_opened_later,
		live_threads_see_static_tls_of_a_late_module,
		many_late_modules_grow_the_dtv,
	};
	uint64_t was = tls_buried;

	for (size_t i = 0; i < array_size(tests); i++)
		while_blocks_are_returned(tests[i]);
	if (!strcmp(tls_method(), "template"))
		CHECK(tls_buried > was);
}

int main(int argc, char **argv)
{
	int ret = fibers_each_method(argc, argv);

	if (ret >= 0)
		return ret;
	fibers_init();
	RUN(a_reused_block_is_as_good_as_new);
	RUN(getattr_np_returns_the_bounds_of_the_stack);
	RUN(rseq_says_unregistered);
	RUN(canary_is_the_same_in_all_threads);
	RUN(libc_takes_the_process_for_multithreaded);
	RUN(setlocale_reaches_new_threads);
	RUN(key_destructors_run_once_per_value);
	RUN(deleted_keys_run_no_destructor);
	RUN(key_destructors_stop_after_four_rounds);
	RUN(destructors_may_park_and_migrate);
	RUN(locks_belong_to_user_threads);
	RUN(a_new_thread_does_not_own_locks_of_an_ended_one);
	RUN(libc_services_work);
	RUN(state_moves_with_the_thread_across_kernel_threads);
	RUN(locale_and_strerror_are_per_thread);
	RUN(stdio_lines_stay_whole);
	RUN(dynamic_tls_is_new_in_each_thread);
	RUN(live_threads_see_a_module_opened_later);
	RUN(a_forked_child_of_a_user_thread_works);
	RUN(all_works_while_blocks_are_returned);
	RUN(live_threads_see_static_tls_of_a_late_module);
	RUN(many_late_modules_grow_the_dtv);
	RUN(a_hundred_thousand_blocks_take_little_memory);
	RUN(tids_are_unique_after_the_counter_wraps);
	return 0;
}

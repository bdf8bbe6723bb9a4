/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks: guards that fault, reuse of the last freed stack, memory that is returned to
 * the kernel, and a million stacks in a process with default limits. Without arguments,
 * the program runs all tests for each kind of guard, each in a child. */
#include "test.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "mem/stack_impl.h"

#define ORDER 14
#define SIZE ((size_t)1 << ORDER)

static sigjmp_buf after_fault;
static void *found_base;
static size_t found_size;
static int found;

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	(void)sig;
	(void)uc;
	found = stack_find_guard(si->si_addr, &found_base, &found_size);
	siglongjmp(after_fault, 1);
}

/* Two rounds of the keeper: the first counts unused stacks, the second returns their
 * memory. */
static unsigned keep(void)
{
	unsigned n = 0;

	stack_keep_begin();
	while (stack_keep_step())
		;
	stack_keep_begin();
	while (stack_keep_step())
		n++;
	return n;
}

/* Does a store to p fault? */
static bool faults(volatile char *p)
{
	struct sigaction old, sa = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	bool did = true;

	sigaction(SIGSEGV, &sa, &old);
	if (!sigsetjmp(after_fault, 1)) {
		*p = 1;
		did = false;
	}
	sigaction(SIGSEGV, &old, NULL);
	return did;
}

static size_t status_kb(const char *key)
{
	char line[256];
	size_t kb = 0;
	/* the counters in status are sums of batches; those of the page walk are
	 * exact */
	FILE *f = fopen(
	    strcmp(key, "Rss") ? "/proc/self/status" : "/proc/self/smaps_rollup", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, key, strlen(key)))
			kb = strtoul(line + strlen(key) + 1, NULL, 10);
	fclose(f);
	return kb;
}

static void guard_kind_is_the_requested_one(void)
{
	if (env_key_is(ENV_GUARD, "mprotect"))
		CHECK(!strcmp(stack_guard_kind(), "PROT_NONE"));
	else if (env_key_is(ENV_GUARD, "none"))
		CHECK(!strcmp(stack_guard_kind(), "none"));
	else
		printf("guard: %s\n", stack_guard_kind());
}

static void only_the_guard_faults(void)
{
	for (unsigned order = STACK_MIN_ORDER; order <= 23; order++) {
		struct stack_cache c;
		size_t size = (size_t)1 << order;

		stack_cache_init(&c);
		for (int i = 0; i < 40; i++) {
			char *s = stack_get(&c, order);
			bool none = !strcmp(stack_guard_kind(), "none");

			CHECK(s);
			CHECK(!faults(s + size - 1));
			CHECK(!faults(s));
			found = 0;
			CHECK(faults(s - PAGE) == !none);
			CHECK(faults(s - 1) == !none);
			CHECK(found == !none);
			CHECK(none || (found_base == s && found_size == size));
			stack_put(i & 1 ? NULL : &c, s, order);
		}
		stack_cache_flush(&c);
	}
}

static void only_guards_are_found(void)
{
	void *base;
	size_t size;
	char *s = stack_get(NULL, ORDER);
	int local;

	CHECK(!stack_find_guard(s, &base, &size));
	CHECK(!stack_find_guard(s + SIZE - 1, &base, &size));
	CHECK(!stack_find_guard(&local, &base, &size));
	CHECK(!stack_find_guard(NULL, &base, &size));
	CHECK(!stack_find_guard((void *)-1L, &base, &size));
	stack_put(NULL, s, ORDER);
}

static void the_stack_freed_last_is_reused_first(void)
{
	struct stack_cache c;
	void *s[200];

	stack_cache_init(&c);
	for (int i = 0; i < 200; i++)
		s[i] = stack_get(&c, ORDER);
	for (int i = 0; i < 200; i++)
		stack_put(&c, s[i], ORDER);
	for (int i = 199; i >= 0; i--)
		CHECK(stack_get(&c, ORDER) == s[i]);
	for (int i = 0; i < 200; i++)
		stack_put(NULL, s[i], ORDER);
	for (int i = 199; i >= 199 - 8; i--)
		CHECK(stack_get(NULL, ORDER) == s[i]);
	for (int i = 199; i >= 199 - 8; i--)
		stack_put(NULL, s[i], ORDER);
}

static void pool_serves_other_caches_before_new_stacks(void)
{
	struct stack_cache a, b;
	static void *s[1000];
	uint64_t made;

	stack_cache_init(&a);
	stack_cache_init(&b);
	for (int i = 0; i < 1000; i++)
		s[i] = stack_get(&a, ORDER);
	for (int i = 0; i < 1000; i++)
		stack_put(&a, s[i], ORDER);
	stack_cache_flush(&a);
	made = stack_mapped();
	for (int i = 0; i < 1000; i++)
		CHECK((s[i] = stack_get(&b, ORDER)));
	CHECK_EQ(stack_mapped(), made);
	CHECK_EQ(b.maps, 0);
	CHECK_EQ(b.reuses, 1000);
	for (int i = 0; i < 1000; i++)
		stack_put(&b, s[i], ORDER);
	stack_cache_flush(&b);
}

static void trim_keeps_what_is_above_sp(void)
{
	char *s = stack_get(NULL, 21);
	size_t size = (size_t)1 << 21, rss;

	memset(s, 7, size);
	rss = status_kb("Rss");
	stack_trim(s, s + size - 1000);
	CHECK(status_kb("Rss") + 1800 < rss);
	for (size_t i = size - 1000 - 128; i < size; i++)
		CHECK_EQ(s[i], 7);
	CHECK_EQ(s[0], 0);
	if (strcmp(stack_guard_kind(), "none") != 0)
		CHECK(faults(s - 1));
	stack_put(NULL, s, 21);
}

enum { CROWD = 3000 };
static char *crowd[CROWD];

static void fill(unsigned kind)
{

	for (int i = 0; i < CROWD; i++) {
		CHECK((crowd[i] = stack_get(NULL, kind)));
		memset(crowd[i], 1, stack_size(kind));
	}
}

static void empty(unsigned kind)
{
	for (int i = 0; i < CROWD; i++)
		stack_put(NULL, crowd[i], kind);
}

static void memory_of_unused_stacks_is_returned(void)
{
	size_t before, rss;

	keep();
	before = status_kb("Rss");
	fill(15);
	empty(15);
	rss = status_kb("Rss");
	CHECK(rss > before + 80000);
	CHECK(keep() >= CROWD / MAG_BATCH);
	CHECK(!stack_keep_more());
	CHECK(status_kb("Rss") < before + (UK_ASAN ? 30000 : 1000)); /* the shadow
								      * memory stays */
	for (int i = 0; i < CROWD; i++) {
		CHECK((crowd[i] = stack_get(NULL, 15)));
		CHECK_EQ(crowd[i][32767], 0);
		if (i % 100 == 0 && strcmp(stack_guard_kind(), "none"))
			CHECK(faults(crowd[i] - 1) && faults(crowd[i] - PAGE));
	}
	empty(15);
}

static void memory_of_needed_stacks_stays(void)
{
	size_t rss;

	fill(15);
	stack_keep_begin();
	empty(15);
	stack_keep_begin(); /* the pool was empty at some time since the last round, so
			     * all of it was needed */
	CHECK(!stack_keep_step());
	rss = status_kb("Rss");
	fill(15);
	CHECK(status_kb("Rss") < rss + 10000);
	empty(15);
	keep();
}

/* One stack of each slab stays in use. The others of the slab may become cold, but are
 * not unmapped. The memory of the one in use is not touched. */
static void cold_stacks_do_not_affect_others_in_the_slab(void)
{

	fill(15);
	for (int i = 0; i < CROWD; i++)
		if (i % 50)
			stack_put(NULL, crowd[i], 15);
	keep();
	for (int i = 0; i < CROWD; i += 50)
		for (size_t k = 0; k < stack_size(15); k += 997)
			CHECK_EQ(crowd[i][k], 1);
	for (int i = 0; i < CROWD; i++)
		if (i % 50) {
			CHECK((crowd[i] = stack_get(NULL, 15)));
			CHECK_EQ(crowd[i][stack_size(15) - 1], 0);
			crowd[i][stack_size(15) - 1] = 1;
		}
	for (int i = 0; i < CROWD; i++)
		crowd[i][0] = (char)i;
	for (int i = 0; i < CROWD; i++)
		CHECK_EQ(crowd[i][0], (char)i); /* no two stacks overlap */
	empty(15);
	keep();
}

static void page_tables_are_returned_too(void)
{
	size_t before = status_kb("VmPTE"), full;

	fill(16);
	empty(16);
	full = status_kb("VmPTE");
	CHECK(full > before + 400);
	keep();
	CHECK(status_kb("VmPTE") < before + (full - before) / 4);
}

static void a_guard_is_at_least_as_large_as_requested(void)
{
	static const size_t sizes[] = {
		1, 4096, 4097, 65536, 100000, 1 << 20, 16 << 20
	};
	bool none = !strcmp(stack_guard_kind(), "none");
	void *base;
	size_t size;

	for (size_t i = 0; i < array_size(sizes); i++) {
		unsigned kind = stack_kind(30000, sizes[i]);
		char *s = stack_get(NULL, kind), *next;

		CHECK(s);
		CHECK_EQ(stack_size(kind), 32768);
		CHECK(stack_guard_size(kind) >= sizes[i]);
		CHECK(stack_guard_size(kind) < 4 * MAX(sizes[i], PAGE));
		next = s - stack_guard_size(kind);
		for (char *p = next; p < s; p += PAGE) {
			CHECK(faults(p) == !none);
			CHECK(none || (stack_find_guard(p, &base, &size) && base == s));
		}
		CHECK(!faults(s));
		stack_put(NULL, s, kind);
	}
	CHECK_EQ(stack_kind(30000, STACK_MAX_GUARD + 1), 0);
	CHECK_EQ(stack_kind(((size_t)1 << STACK_MAX_ORDER) + 1, 0), 0);
	CHECK_EQ(stack_kind(30000, 0), stack_order(30000));
	for (unsigned order = STACK_MIN_ORDER; order <= STACK_MAX_ORDER; order++)
		for (size_t guard = 0; guard <= PAGE; guard += PAGE)
			CHECK_EQ(stack_size(stack_kind((size_t)1 << order, guard)),
				 (size_t)1 << (order == 32 ? 33 : order));
}

static void stack_order_is_the_smallest_that_fits(void)
{
	CHECK_EQ(stack_order(0), STACK_MIN_ORDER);
	CHECK_EQ(stack_order(8192), 13);
	CHECK_EQ(stack_order(8193), 14);
	CHECK_EQ(stack_order(256 << 10), 18);
	CHECK_EQ(stack_order((size_t)1 << 30), 30);
	CHECK_EQ(stack_order(((size_t)1 << 30) + 1), 31);
	CHECK_EQ(stack_order((size_t)1 << 32), 33);
	CHECK_EQ(stack_order(((size_t)1 << STACK_MAX_ORDER) + 1), 0);
	CHECK_EQ(stack_order(SIZE_MAX), 0);
	CHECK(!stack_get(NULL, STACK_MIN_ORDER - 1));
	CHECK(!stack_get(NULL, STACK_MAX_ORDER + 1));
}

static void guard_survives_fork(void)
{
	char *s = stack_get(NULL, ORDER);
	int status;
	pid_t pid;

	s[SIZE - 1] = 1;
	pid = fork();
	if (!pid) {
		bool ok = strcmp(stack_guard_kind(), "none") ? faults(s - 1) : true;

		_Exit(ok && s[SIZE - 1] == 1 ? 0 : 1);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_EQ(status, 0);
	stack_put(NULL, s, ORDER);
}

static void locked_memory_has_guards_too(void)
{
	bool none = !strcmp(stack_guard_kind(), "none");
	char *s;

	struct rlimit rl;

	CHECK_EQ(getrlimit(RLIMIT_MEMLOCK, &rl), 0);
	if (geteuid() && rl.rlim_cur < ((rlim_t)64 << 20))
		return; /* a stack is larger than the limit of locked memory */
	/* locked memory refuses guard markers (MADV_GUARD_INSTALL) */
	if (mlockall(MCL_FUTURE | MCL_ONFAULT))
		return;
	s = stack_get(NULL, 24);
	munlockall();
	CHECK(s);
	CHECK(faults(s - 1) == !none);
	CHECK(!faults(s));
	stack_put(NULL, s, 24);
}

static void what_is_locked_is_not_reserved_ahead(void)
{
	enum { BIG = 22 };
	size_t kb = 1024 << (BIG - 20), size;
	char *s, *t;

	CHECK((s = stack_get(NULL, BIG)));
	s[0] = 42;
	size = status_kb("VmSize");
	stack_lock_all();
	CHECK(status_kb("VmSize") < size - 8 * kb);
	size = status_kb("VmSize");
	CHECK((t = stack_get(NULL, BIG)));
	CHECK(status_kb("VmSize") < size + 2 * kb);
	stack_locked_all();
	CHECK(s[0] == 42 && !faults(s) && !faults(t));
	CHECK_EQ(faults(s - 1), strcmp(stack_guard_kind(), "none") != 0);
	stack_put(NULL, s, BIG);
	stack_put(NULL, t, BIG);
	stack_locked = 0;
}

/* Except the slabs in which a stack is in use. */
static void free_stacks_leave_the_address_space(void)
{
	enum { BIG = 24, MANY = 100, ALONE = 16 };
	size_t kb = 1024 << (BIG - 20), size;
	char *s[MANY];

	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			CHECK((s[i] = stack_get(NULL, BIG)));
		s[0][PAGE] = 42;
		size = status_kb("VmSize");
		for (int i = 1; i < MANY; i++)
			stack_put(NULL, s[i], BIG);
		CHECK(stack_release());
		CHECK(status_kb("VmSize") < size - (MANY - 2 * ALONE) * kb);
		CHECK(!stack_release() && s[0][PAGE] == 42);
		CHECK_EQ(faults(s[0] - 1), strcmp(stack_guard_kind(), "none") != 0);
		stack_put(NULL, s[0], BIG);
		CHECK(stack_release());
		CHECK(status_kb("VmSize") < size - (MANY - 1) * kb);
	}
}

#define WORKERS 4
static uint64_t owned_twice;

static void *churn(void *arg)
{
	struct stack_cache c;
	void *mine[150];
	unsigned seed = (unsigned)(uintptr_t)arg;

	stack_cache_init(&c);
	for (int round = 0; round < 1500; round++) {
		int n = 1 + rand_r(&seed) % 150;

		for (int i = 0; i < n; i++) {
			uint64_t *mark;

			mine[i] = stack_get(seed & 1 ? &c : NULL, ORDER);
			CHECK(mine[i]);
			mark = (void *)((char *)mine[i] + SIZE / 2);
			if (xchg_acq_rel(mark, 1))
				fetch_add_relaxed(&owned_twice, 1);
		}
		for (int i = 0; i < n; i++) {
			uint64_t *mark = (void *)((char *)mine[i] + SIZE / 2);

			store_release(mark, 0);
			stack_put(seed & 2 ? &c : NULL, mine[i], ORDER);
		}
		if (round % 100 == 99)
			stack_cache_flush(&c);
	}
	stack_cache_flush(&c);
	return NULL;
}

static void no_stack_has_two_owners(void)
{
	pthread_t t[WORKERS];

	for (uintptr_t i = 0; i < WORKERS; i++)
		pthread_create(&t[i], NULL, churn, (void *)(i + 1));
	for (int i = 0; i < 20; i++) {
		usleep(5000);
		keep();
		stack_release();
	}
	for (int i = 0; i < WORKERS; i++)
		pthread_join(t[i], NULL);
	CHECK_EQ(owned_twice, 0);
}

static void rationed_stacks_keep_little_memory(void)
{
	enum { BIG = 24, MANY = 50 };
	size_t size = status_kb("VmSize");
	struct stack_cache c;
	void *s[MANY];

	if (!strcmp(stack_guard_kind(), "PROT_NONE"))
		return; /* the process may make no more mappings at this point */
	stack_ration();
	stack_cache_init(&c);
	for (int i = 0; i < MANY; i++)
		CHECK((s[i] = stack_get(&c, BIG)));
	for (int i = 0; i < MANY; i++)
		stack_put(&c, s[i], BIG);
	CHECK(status_kb("VmSize") <= size + (64 << 10));
	no_stack_has_two_owners();
}

/* If the kernel can do that (process_madvise). Each guard must fault all the same. */
static void many_guards_are_installed_by_few_calls(void)
{
	char *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct iovec v = { page, PAGE };
	unsigned kind = stack_kind(16384, 16384), calls = 0;
	uint64_t before;

	CHECK(page != MAP_FAILED);
	if (strcmp(stack_guard_kind(), "MADV_GUARD_INSTALL") != 0 ||
	    syscall(SYS_process_madvise, -10000, &v, 1, 102, 0) != (long)PAGE) {
		munmap(page, PAGE);
		return;
	}
	munmap(page, PAGE);
	for (int i = 0; i < 500; i++)
		CHECK(stack_get(NULL, kind));
	for (int i = 0; i < 160; i++) {
		char *s;

		before = stack_mapped();
		s = stack_get(NULL, kind);
		CHECK(s);
		calls += stack_mapped() != before;
		CHECK(faults(s - stack_guard_size(kind)));
		CHECK(faults(s - 1));
		CHECK(!faults(s));
	}
	printf("160 guards by %u calls\n", calls);
	CHECK(calls <= 20);
}

static void a_million_stacks_need_no_tuning(void)
{
	struct stack_cache c;
	size_t n, rss = status_kb("Rss"), pt = status_kb("VmPTE");
	uint64_t before = stack_mapped();

	if (strcmp(stack_guard_kind(), "MADV_GUARD_INSTALL") != 0)
		return;
	stack_cache_init(&c);
	while (stack_get(NULL, ORDER))
		if (stack_mapped() - before >= 1000)
			break; /* no stacks are left to reuse */
	for (n = 0; n < 1000000; n++)
		if (!stack_get(&c, ORDER))
			break;
	CHECK_EQ(n, 1000000);
	printf("1,000,000 stacks of 16 KiB: resident +%zu KiB, page tables +%zu KiB\n",
	       status_kb("Rss") - rss, status_kb("VmPTE") - pt);
	CHECK(status_kb("Rss") - rss < 10000);
}

static void prot_none_guards_end_in_null_and_a_hint(void)
{
	struct stack_cache c;
	size_t n = 0;

	if (strcmp(stack_guard_kind(), "PROT_NONE") != 0)
		return;
	stack_cache_init(&c);
	while (n < 70000 && stack_get(&c, ORDER))
		n++;
	printf("%zu stacks with PROT_NONE guards\n", n);
	CHECK(n < 70000);
	CHECK(stack_mapped() > 32000);
}

static void a_full_address_space_gives_null(void)
{
	struct rlimit rl, old;
	size_t n = 0;

	getrlimit(RLIMIT_AS, &old);
	rl = old;
	rl.rlim_cur = (status_kb("VmSize") << 10) + (100 << 20);
	setrlimit(RLIMIT_AS, &rl);
	while (n < 100000 && stack_get(NULL, 20))
		n++;
	setrlimit(RLIMIT_AS, &old);
	CHECK(n >= 60 && n <= 200); /* it also uses slabs smaller than the usual ones */
	CHECK(stack_get(NULL, 20));
}

static int all(void)
{
	RUN(guard_kind_is_the_requested_one);
	RUN(only_the_guard_faults);
	RUN(only_guards_are_found);
	RUN(the_stack_freed_last_is_reused_first);
	RUN(pool_serves_other_caches_before_new_stacks);
	RUN(trim_keeps_what_is_above_sp);
	RUN(memory_of_unused_stacks_is_returned);
	RUN(memory_of_needed_stacks_stays);
	RUN(cold_stacks_do_not_affect_others_in_the_slab);
	RUN(page_tables_are_returned_too);
	RUN(a_guard_is_at_least_as_large_as_requested);
	RUN(stack_order_is_the_smallest_that_fits);
	RUN(guard_survives_fork);
	RUN(locked_memory_has_guards_too);
	RUN(free_stacks_leave_the_address_space);
	RUN(what_is_locked_is_not_reserved_ahead);
	RUN(no_stack_has_two_owners);
	RUN(many_guards_are_installed_by_few_calls);
	RUN(a_full_address_space_gives_null);
	RUN(a_million_stacks_need_no_tuning);
	RUN(prot_none_guards_end_in_null_and_a_hint);
	RUN(rationed_stacks_keep_little_memory); /* last: rationing stays on */
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const kinds[] = { "madvise", "mprotect", "none" };
	int status;

	if (argc > 1) {
		int ret = all();

		fflush(NULL);
		_Exit(ret); /* not exit: the leak checker needs mappings, and no more
			     * can be made */
	}
	for (size_t i = 0; i < array_size(kinds); i++) {
		pid_t pid;

		printf("UK_DEBUG=guard=%s\n", kinds[i]);
		fflush(stdout);
		pid = fork();
		if (!pid) {
			set_debug("guard", kinds[i]);
			execl("/proc/self/exe", argv[0], "all", (char *)NULL);
			_Exit(2);
		}
		CHECK(waitpid(pid, &status, 0) == pid);
		CHECK_EQ(status, 0);
	}
	return 0;
}

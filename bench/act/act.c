/* SPDX-License-Identifier: Apache-2.0 */
/* act.c - what happens to other threads when a thread blocks in a call that the library
 * does not wrap, or computes. The same source serves user threads (default) and kernel
 * threads (-DKERNEL_THREADS). act WORKLOAD ARGS... FILE */
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include "bench.h"

#ifdef KERNEL_THREADS
typedef pthread_t thread;
static int create(thread *t, void *(*fn)(void *), void *arg)
{
	return pthread_create(t, NULL, fn, arg);
}
#define join(t) pthread_join(t, NULL)
#define yield() sched_yield()
#define rest(ns) nanosleep(&(struct timespec){ 0, ns }, NULL)
#define prepare() (void)0
#else
#include <uk/uk.h>
typedef uk_thread *thread;
static int create(thread *t, void *(*fn)(void *), void *arg)
{
	return uk_thread_create(t, NULL, fn, arg);
}
#define join(t) uk_thread_join(t, NULL)
#define yield() uk_yield()
#define rest(ns) uk_sleep(ns)

/* The event mechanism is loaded when a thread blocks for the first time. */
static void *blocks_once(void *arg)
{
	for (int i = 0; i < 50; i++) {
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
		uk_yield();
	}
	return arg;
}

static void compare(const char *name, const char *value, int ok, void *want)
{
	(void)ok;
	if (!strcmp(name, "activations") && strncmp(value, want, strlen(want)))
		die(value, 95);
}

static void prepare(void)
{
	char *want = getenv("ACT_FORCE"); /* what uk doctor must report */
	thread t;

	if (!create(&t, blocks_once, NULL))
		join(t);
	if (want)
		uk_doctor(compare, want);
}
#endif

static long arg1, arg2;

static thread spawn(void *(*fn)(void *), void *arg)
{
	thread t;
	int e = create(&t, fn, arg);

	if (e)
		die("create", e);
	return t;
}

static void run_all(long n, void *(*fn)(void *))
{
	thread *t = malloc((size_t)n * sizeof(*t));

	for (long i = 0; i < n; i++)
		t[i] = spawn(fn, (void *)(intptr_t)i);
	for (long i = 0; i < n; i++)
		join(t[i]);
	free(t);
}

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void tell_late(int64_t *late, long n, long long proof)
{
	qsort(late, (size_t)n, sizeof(*late), by_value);
	result("p50", (double)late[n / 2] / 1e3);
	result("p99", (double)late[n * 99 / 100] / 1e3);
	result("max", (double)late[n - 1] / 1e3);
	check(proof);
}

/* ---- latency N: a thread blocks; how soon does another one run? ---- */

static int64_t blocked_at; /* 0: the last block has been seen */
static int over;

static void *who_blocks(void *arg)
{
	for (long i = 0; i < arg1; i++) {
		yield();
		while (__atomic_load_n(&blocked_at, __ATOMIC_ACQUIRE))
			yield();
		__atomic_store_n(&blocked_at, now_ns(), __ATOMIC_RELEASE);
		nanosleep(&(struct timespec){ 0, 4000000 }, NULL);
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	return arg;
}

static void *who_is_ready(void *arg)
{
	int64_t *late = arg;
	long n = 0;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		int64_t at = __atomic_load_n(&blocked_at, __ATOMIC_ACQUIRE);

		if (at) {
			late[n++] = now_ns() - at;
			__atomic_store_n(&blocked_at, 0, __ATOMIC_RELEASE);
		}
		yield();
	}
	tell_late(late, n, n);
	return arg;
}

static void latency(void)
{
	int64_t *late = calloc((size_t)arg1 + 1, sizeof(*late));
	thread a = spawn(who_is_ready, late), b = spawn(who_blocks, NULL);

	join(b);
	join(a);
}

/* ---- es N, esyield N: two threads, one pipe; each reads a byte and writes one ---- */

static int ends[2], yields;

static void *reads_and_writes(void *arg)
{
	char c;

	for (long i = 0; i < arg1; i++) {
		if (read(ends[0], &c, 1) != 1)
			die("read", 5);
		if (yields)
			yield();
		if (write(ends[1], &c, 1) != 1)
			die("write", 5);
	}
	return arg;
}

static void es(void)
{
	int64_t t0;

	if (pipe(ends) || write(ends[1], "x", 1) != 1)
		die("pipe", 24);
	t0 = now_ns();
	run_all(2, reads_and_writes);
	result("turn", (double)(now_ns() - t0) / (double)(2 * arg1));
	check(2 * arg1);
}

/* ---- sum N: 1 + ... + N, a thread for each half of each range ---- */

struct range {
	long from, to, sum;
};

static void *sums(void *arg)
{
	struct range *r = arg, half[2];
	thread t[2];

	r->sum = r->from;
	if (r->from == r->to)
		return arg;
	half[0] = (struct range){ r->from, (r->from + r->to) / 2, 0 };
	half[1] = (struct range){ half[0].to + 1, r->to, 0 };
	for (int i = 0; i < 2; i++)
		t[i] = spawn(sums, &half[i]);
	for (int i = 0; i < 2; i++)
		join(t[i]);
	r->sum = half[0].sum + half[1].sum;
	return arg;
}

/* Runs once, and then for half a second. */
static void synchronisation(void)
{
	struct range r = { 1, arg1, 0 };
	int64_t t0, t;
	long n = 0;

	join(spawn(sums, &r));
	t0 = now_ns();
	do {
		join(spawn(sums, &r));
		t = now_ns();
		n++;
	} while (t - t0 < 500000000);
	result("thread", (double)(t - t0) / (double)(n * (2 * arg1 - 1)));
	check(r.sum);
}

/* ---- yields N: two threads that never block ---- */

static void *yields_on(void *arg)
{
	for (long i = 0; i < arg1; i++)
		yield();
	return arg;
}

static void uncontended(void)
{
	int64_t t0 = now_ns();

	run_all(2, yields_on);
	result("turn", (double)(now_ns() - t0) / (double)(2 * arg1));
	check(2 * arg1);
}

/* ---- switches N: two processes take turns at two pipes: a kernel switch each ---- */

static int by_turns(int from, int to)
{
	char c;

	for (long i = 0; i < arg1; i++)
		if (read(from, &c, 1) != 1 || write(to, &c, 1) != 1)
			return 0;
	return 1;
}

static void switches(void)
{
	int there[2], back[2];
	int64_t t0;
	pid_t child;

	if (pipe(there) || pipe(back) || write(there[1], "x", 1) != 1)
		die("pipe", 24);
	t0 = now_ns();
	child = fork();
	if (!child)
		_exit(!by_turns(there[0], back[1]));
	if (child < 0 || !by_turns(back[0], there[1]))
		die("switches", 5);
	result("switch", (double)(now_ns() - t0) / (double)(2 * arg1));
	check(2 * arg1);
}

/* ---- sleeps THREADS ROUNDS; wall THREADS; faults THREADS PAGES; direct THREADS READS ---- */

static void *sleeps_on(void *arg)
{
	for (long i = 0; i < arg2; i++)
		nanosleep(&(struct timespec){ 0, 1000000 }, NULL);
	return arg;
}

static pthread_barrier_t wall;

static void *at_the_wall(void *arg)
{
	pthread_barrier_wait(&wall);
	return arg;
}

static char *mapped;
static uint64_t sum;

static void *touches(void *arg)
{
	long first = (long)(intptr_t)arg * arg2;

	for (long i = 0; i < arg2; i++)
		__atomic_fetch_add(&sum, (uint64_t)mapped[(first + i) * 4096],
				   __ATOMIC_RELAXED);
	return arg;
}

/* A page for each read of each thread, on the disk and not in the page cache. */
static int cold_file(const char *path, int flags)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600), again;
	char *page = calloc(1, 4096);

	if (fd < 0)
		die(path, 2);
	memset(page, 1, 4096);
	for (long i = 0; i < arg1 * arg2; i++)
		if (write(fd, page, 4096) != 4096)
			die("write", 28);
	free(page);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	again = open(path, O_RDONLY | flags);
	unlink(path);
	close(fd);
	if (again < 0)
		die("open", 22);
	return again;
}

static void map_cold(const char *path)
{
	size_t n = (size_t)(arg1 * arg2) * 4096;

	mapped = mmap(NULL, n, PROT_READ, MAP_SHARED, cold_file(path, 0), 0);
	madvise(mapped, n, MADV_RANDOM);
}

static int direct;

static void *reads_past_the_cache(void *arg)
{
	long first = (long)(intptr_t)arg * arg2;
	char *page = aligned_alloc(4096, 4096);

	for (long i = 0; i < arg2; i++) {
		if (pread(direct, page, 4096, (first + i) * 4096) != 4096)
			die("pread", 5);
		__atomic_fetch_add(&sum, (uint64_t)page[0], __ATOMIC_RELAXED);
	}
	free(page);
	return arg;
}

static void timed(long n, void *(*fn)(void *), long long proof)
{
	int64_t t0 = now_ns();

	run_all(n, fn);
	result("all", (double)(now_ns() - t0) / 1e6);
	check(proof < 0 ? (long long)sum : proof);
}

/* ---- hogs HOGS MS: a ticker of 1 ms beside threads that compute ---- */

static uint64_t work;

static void *computes(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		for (int i = 0; i < 1000; i++)
			__asm__ volatile("" : "+r"(i));
	__atomic_fetch_add(&work, 1, __ATOMIC_RELAXED);
	return arg;
}

static void *ticks(void *arg)
{
	int64_t *late = arg;

	for (long i = 0; i < arg2; i++) {
		int64_t due = now_ns() + 1000000;

		rest(1000000);
		late[i] = now_ns() - due;
	}
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	tell_late(late, arg2, arg2);
	return arg;
}

static void hogs(void)
{
	int64_t *late = calloc((size_t)arg2, sizeof(*late));
	thread t[64], ticker;

	for (long i = 0; i < arg1; i++)
		t[i] = spawn(computes, NULL);
	ticker = spawn(ticks, late);
	join(ticker);
	for (long i = 0; i < arg1; i++)
		join(t[i]);
}

/* ---- burst THREADS TURNS, burstlock: a ticker of 1 ms while THREADS threads block at
 * one moment, and are released at one moment ---- */

#define TICKS 100000
#define BETWEEN 50000000 /* ns, until all have blocked; no figure depends on it */

static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;

static void *waits_behind(void *arg)
{
	pthread_mutex_lock(&held);
	pthread_mutex_unlock(&held);
	return arg;
}

static void *ticks_on(void *arg)
{
	int64_t *late = calloc(TICKS, sizeof(*late));
	long n = 0;

	while (n < TICKS && !__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		int64_t due = now_ns() + 1000000;

		rest(1000000);
		late[n++] = now_ns() - due;
	}
	tell_late(late, n, arg1 * arg2);
	free(late);
	return arg;
}

static void turn(thread *t, int lock)
{
	pthread_mutex_lock(&held);
	rest(BETWEEN);
	for (long i = 0; i < arg1; i++)
		t[i] = spawn(lock ? waits_behind : at_the_wall, NULL);
	rest(BETWEEN);
	pthread_mutex_unlock(&held);
	if (!lock)
		pthread_barrier_wait(&wall);
	for (long i = 0; i < arg1; i++)
		join(t[i]);
}

static void burst(int lock)
{
	thread *t = calloc((size_t)arg1, sizeof(*t)), ticker = spawn(ticks_on, NULL);

	pthread_barrier_init(&wall, NULL, (unsigned)arg1 + 1);
	for (long i = 0; i < arg2; i++)
		turn(t, lock);
	__atomic_store_n(&over, 1, __ATOMIC_RELEASE);
	join(ticker);
	free(t);
}

int main(int argc, char **argv)
{
	const char *w = argc > 1 ? argv[1] : "";

	arg1 = argc > 2 ? atol(argv[2]) : 0;
	arg2 = argc > 3 ? atol(argv[3]) : 0;
	prepare();
	yields = !strcmp(w, "esyield");
	if (!strcmp(w, "latency")) {
		latency();
	} else if (!strncmp(w, "es", 2)) {
		es();
	} else if (!strcmp(w, "sleeps")) {
		timed(arg1, sleeps_on, arg1);
	} else if (!strcmp(w, "wall")) {
		pthread_barrier_init(&wall, NULL, (unsigned)arg1);
		timed(arg1, at_the_wall, arg1);
	} else if (!strcmp(w, "faults")) {
		map_cold(argc > 4 ? argv[4] : "cold-pages");
		timed(arg1, touches, -1);
	} else if (!strcmp(w, "direct")) {
		direct = cold_file(argc > 4 ? argv[4] : "cold-pages", O_DIRECT);
		timed(arg1, reads_past_the_cache, -1);
	} else if (!strcmp(w, "sum")) {
		synchronisation();
	} else if (!strcmp(w, "yields")) {
		uncontended();
	} else if (!strcmp(w, "switches")) {
		switches();
	} else if (!strcmp(w, "hogs") && arg1 <= 64) {
		hogs();
	} else if (!strncmp(w, "burst", 5)) {
		burst(!strcmp(w, "burstlock"));
	} else {
		die("act: no such workload", 22);
	}
	return 0;
}

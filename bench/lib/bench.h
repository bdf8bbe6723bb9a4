/* SPDX-License-Identifier: Apache-2.0 */
/* bench.h - what every C and C++ program of the comparison needs: clocks, the output
 * protocol, and the small random generator that all languages share.
 *
 * Protocol, one record a line on stdout, read by bench/lib/harness.py:
 *      result METRIC VALUE: a figure
 *      check VALUE: proof that the work was done; the harness knows the answer
 *      note TEXT: e.g. where a system stopped */
#ifndef BENCH_H
#define BENCH_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static inline int64_t now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t cpu_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline void result(const char *metric, double value)
{
	printf("result %s %.3f\n", metric, value);
	fflush(stdout);
}

static inline void check(long long value)
{
	printf("check %lld\n", value);
	fflush(stdout);
}

static inline void die(const char *what, int err)
{
	fprintf(stderr, "%s: %s\n", what, strerror(err < 0 ? -err : err));
	exit(1);
}

/* xorshift64*: the sleepers are the same in every language. */
static inline uint64_t rng_next(uint64_t *s)
{
	*s ^= *s >> 12;
	*s ^= *s << 25;
	*s ^= *s >> 27;
	return *s * 0x2545F4914F6CDD1DULL;
}

static inline uint64_t rng_seed(uint64_t i)
{
	return (i + 1) * 0x9E3779B97F4A7C15ULL;
}

/* 1 ms ... 100 ms, in ns */
static inline int64_t rng_sleep(uint64_t *s)
{
	return 1000000 + (int64_t)(rng_next(s) % 99000001);
}

/* A random sleep such that n sleepers together wake as often as 10,000 that sleep 1 ms
 * to 100 ms. */
static inline int64_t rng_span(uint64_t *s, long n)
{
	return rng_sleep(s) * n / 10000;
}

/* Bytes from /proc: VmRSS + VmPTE of this process (workload memory). */
static inline long long mem_own(void)
{
	char line[256];
	long long sum = 0, kb;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmRSS: %lld", &kb) == 1 ||
		    sscanf(line, "VmPTE: %lld", &kb) == 1)
			sum += kb * 1024;
	if (f)
		fclose(f);
	return sum;
}

/* Kernel stacks and slabs of the whole machine: an estimate of the kernel's memory. */
static inline long long mem_kernel(void)
{
	char line[256];
	long long sum = 0, kb;
	FILE *f = fopen("/proc/meminfo", "r");
	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "KernelStack: %lld", &kb) == 1 ||
		    sscanf(line, "Slab: %lld", &kb) == 1)
			sum += kb * 1024;
	if (f)
		fclose(f);
	return sum;
}

/* What n threads on one CPU count together, from when the last of them has arrived
 * until the first has done its part. It contains no thread's creation or end, so it can
 * be compared from two threads to a million. */
struct lap {
	long n;              /* threads that take part */
	long count;          /* of what is measured; each thread adds what it does */
	long in, out;        /* threads that have arrived; threads that are done */
	long from, to;       /* the count at the beginning and end of the lap */
	int64_t begun, done; /* the time at the beginning and end of the lap */
};

/* Is this thread the last? */
static inline int lap_arrive(struct lap *l)
{
	if (__atomic_add_fetch(&l->in, 1, __ATOMIC_RELAXED) != l->n)
		return 0;
	l->from = __atomic_load_n(&l->count, __ATOMIC_RELAXED);
	l->begun = now_ns();
	return 1;
}

static inline int lap_all_in(const struct lap *l)
{
	return __atomic_load_n(&l->in, __ATOMIC_RELAXED) >= l->n;
}

static inline void lap_leave(struct lap *l)
{
	if (__atomic_add_fetch(&l->out, 1, __ATOMIC_RELAXED) != 1)
		return;
	l->to = __atomic_load_n(&l->count, __ATOMIC_RELAXED);
	l->done = now_ns();
}

static inline double lap_cost(const struct lap *l)
{
	return (double)(l->done - l->begun) / (double)(l->to - l->from);
}

/* A deadline that is never reached (the ring with deadlines). */
#define FAR_NS (300 * (int64_t)1000000000)

static inline int cmp_i64(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	return x < y ? -1 : x > y;
}

static inline double p99_us(int64_t *v, size_t n)
{
	qsort(v, n, sizeof *v, cmp_i64);
	return (double)v[n * 99 / 100] / 1000.0;
}

/* timers-steady N WAKES: n sleepers. A sleep that ended while they were created is late. So
 * when all exist, n wake-ups are skipped; then WAKES are counted, and each sleeper ends
 * at its next wake-up. Their CPU time is measured, because between wake-ups the machine
 * idles. */
struct dozers {
	long n, wakes, in, woken; /* woken: since all exist */
	int64_t *late, from,
	    to; /* lateness of each counted wake-up; CPU time at begin and end */
	int over;
};

static inline void dozers_init(struct dozers *d, long n, long wakes)
{
	d->n = n;
	d->wakes = wakes;
	d->late = (int64_t *)calloc((size_t)wakes, sizeof *d->late);
	if (!d->late)
		die("calloc", 12);
}

static inline void dozers_arrive(struct dozers *d)
{
	__atomic_fetch_add(&d->in, 1, __ATOMIC_RELAXED);
}

static inline void dozers_woke(struct dozers *d, int64_t late)
{
	if (__atomic_load_n(&d->in, __ATOMIC_RELAXED) < d->n)
		return;
	long i = __atomic_fetch_add(&d->woken, 1, __ATOMIC_RELAXED) - d->n;
	if (i == 0)
		d->from = cpu_ns();
	if (i >= 0 && i < d->wakes)
		d->late[i] = late;
	if (i != d->wakes - 1)
		return;
	d->to = cpu_ns();
	__atomic_store_n(&d->over, 1, __ATOMIC_RELAXED);
}

static inline int dozers_over(const struct dozers *d)
{
	return __atomic_load_n(&d->over, __ATOMIC_RELAXED);
}

static inline void dozers_tell(struct dozers *d)
{
	result("late", p99_us(d->late, (size_t)d->wakes));
	result("cpu", (double)(d->to - d->from) / (double)d->wakes / 1000.0);
	check(d->over ? d->wakes : d->woken - d->n);
	free(d->late);
}

#endif

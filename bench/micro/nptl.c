/* SPDX-License-Identifier: Apache-2.0 */
/* nptl.c - workloads w1..w8 on kernel threads (glibc). nptl WORKLOAD N [M].
 * Where the kernel refuses another thread the program says at how many and goes on. */
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include "bench.h"

static long arg1, arg2, counter;
static pthread_attr_t attr;

static int try_spawn(pthread_t *t, void *(*fn)(void *), void *arg)
{
	return pthread_create(t, &attr, fn, arg);
}

static pthread_t spawn(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	int e = try_spawn(&t, fn, arg);
	if (e) {
		printf("note the kernel refused a thread: %s\n", strerror(e));
		fflush(stdout);
		_exit(3);
	}
	return t;
}

static void *xmalloc(size_t n)
{
	void *p = calloc(1, n);
	if (!p)
		die("malloc", ENOMEM);
	return p;
}

static pthread_mutex_t gate_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t gate_cond = PTHREAD_COND_INITIALIZER;
static int gate;
static long arrived;

static void gate_wait(void)
{
	pthread_mutex_lock(&gate_lock);
	arrived++;
	while (!gate)
		pthread_cond_wait(&gate_cond, &gate_lock);
	pthread_mutex_unlock(&gate_lock);
}

static void gate_open(long n)
{
	for (;;) {
		pthread_mutex_lock(&gate_lock);
		int all = arrived == n;
		if (all) {
			gate = 1;
			pthread_cond_broadcast(&gate_cond);
		}
		pthread_mutex_unlock(&gate_lock);
		if (all)
			return;
		sched_yield();
	}
}

static void run_all(long n, void *(*fn)(void *))
{
	pthread_t *t = xmalloc((size_t)n * sizeof *t);
	for (long i = 0; i < n; i++)
		t[i] = spawn(fn, (void *)(intptr_t)i);
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	free(t);
}

/* Here anybody may be preempted, so all wait for the last that is made, which would have to
 * share the processor with those that yield. */
static pthread_barrier_t start;
static struct lap lap;
static long yields_each;

static void yield_once(void)
{
	sched_yield();
	__atomic_fetch_add(&lap.count, 1, __ATOMIC_RELAXED);
}

static void *w1_thread(void *p)
{
	pthread_barrier_wait(&start);
	lap_arrive(&lap);
	while (!lap_all_in(&lap))
		yield_once();
	for (long i = 0; i < yields_each; i++)
		yield_once();
	lap_leave(&lap);
	__atomic_fetch_add(&counter, yields_each, __ATOMIC_RELAXED);
	return p;
}

static void w1(void)
{
	yields_each = arg2 / arg1;
	lap.n = arg1;
	pthread_barrier_init(&start, NULL, (unsigned)arg1);
	run_all(arg1, w1_thread);
	result("yield", lap_cost(&lap));
	check(counter);
}

/* ring N TURNS; timed */
struct seat {
	_Alignas(64) sem_t turn;
};
static struct seat *seats;
static int with_deadline;

static void seat_wait(struct seat *s)
{
	struct timespec ts;
	if (with_deadline) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		ts.tv_sec += FAR_NS / 1000000000;
	}
	if (with_deadline ? sem_clockwait(&s->turn, CLOCK_MONOTONIC, &ts)
			  : sem_wait(&s->turn))
		die("sem_wait", errno);
}

static void *ring_thread(void *p)
{
	long id = (long)(intptr_t)p;
	struct seat *own = &seats[id], *next = &seats[(id + 1) % arg1];
	if (lap_arrive(&lap))
		sem_post(&seats[0].turn);
	for (long i = 0; i < arg2 / arg1; i++) {
		seat_wait(own);
		__atomic_fetch_add(&lap.count, 1, __ATOMIC_RELAXED);
		sem_post(&next->turn);
	}
	lap_leave(&lap);
	return p;
}

static void ring_with(int deadline)
{
	with_deadline = deadline;
	lap.n = arg1;
	seats = xmalloc((size_t)arg1 * sizeof *seats);
	for (long i = 0; i < arg1; i++)
		sem_init(&seats[i].turn, 0, 0);
	run_all(arg1, ring_thread);
	result("wake", lap_cost(&lap));
	check(lap.count);
	free(seats);
}

static void *count_thread(void *p)
{
	__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
	return p;
}

static void w2one(void)
{
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++)
		pthread_join(spawn(count_thread, NULL), NULL);
	result("one", (double)(now_ns() - t0) / (double)arg1);
	check(counter);
}

static void *gate_thread(void *p)
{
	gate_wait();
	return count_thread(p);
}

static void w2many_round(pthread_t *t)
{
	gate = 0;
	arrived = 0;
	for (long i = 0; i < arg1; i++) {
		int e = try_spawn(&t[i], gate_thread, NULL);
		if (e) {
			printf("note fails at %ld threads: %s\n", i, strerror(e));
			fflush(stdout);
			_exit(3);
		}
	}
	gate_open(arg1);
	for (long i = 0; i < arg1; i++)
		pthread_join(t[i], NULL);
}

static void w2many(void)
{
	pthread_t *t = xmalloc((size_t)arg1 * sizeof *t);
	long again = arg2 > 2 ? arg2 - 1 : 1;
	int64_t t0 = now_ns();
	w2many_round(t);
	int64_t t1 = now_ns();
	for (long i = 0; i < again; i++)
		w2many_round(t);
	result("again", (double)(now_ns() - t1) / (double)(again * arg1));
	result("first", (double)(t1 - t0) / (double)arg1);
	check(counter);
	free(t);
}

struct range {
	long lo, hi, sum;
};

static void *w3_thread(void *p)
{
	struct range *r = p;
	if (r->lo == r->hi) {
		r->sum = r->lo;
		return NULL;
	}
	long mid = (r->lo + r->hi) / 2;
	struct range a = { r->lo, mid, 0 }, b = { mid + 1, r->hi, 0 };
	pthread_t ta = spawn(w3_thread, &a);
	pthread_t tb = spawn(w3_thread, &b);
	pthread_join(ta, NULL);
	pthread_join(tb, NULL);
	r->sum = a.sum + b.sum;
	return NULL;
}

static void w3(void)
{
	struct range r = { 1, arg1, 0 };
	const char *names[2] = { "first", "again" };
	for (int round = 0; round < 2; round++) {
		int64_t t0 = now_ns();
		w3_thread(&r);
		result(names[round], (double)(now_ns() - t0) / (double)(2 * arg1 - 2));
	}
	check(r.sum);
}

static int pipes[2][2];

static void *w4_echo(void *p)
{
	unsigned char c;
	while (read(pipes[0][0], &c, 1) == 1)
		if (write(pipes[1][1], &c, 1) != 1)
			break;
	return p;
}

static void w4(void)
{
	if (pipe(pipes[0]) || pipe(pipes[1]))
		die("pipe", errno);
	pthread_t e = spawn(w4_echo, NULL);
	long sum = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++) {
		unsigned char c = (unsigned char)(i & 0x7f), d = 0;
		if (write(pipes[0][1], &c, 1) != 1 || read(pipes[1][0], &d, 1) != 1)
			die("pipe", errno);
		sum += d == c;
	}
	result("round", (double)(now_ns() - t0) / (double)arg1 / 1000.0);
	close(pipes[0][1]);
	pthread_join(e, NULL);
	check(sum);
}

/* Goes as far as the kernel lets it: the check is the number that it reached, the note
 * says so. */
static void w5(void)
{
	pthread_t *t = xmalloc((size_t)arg1 * sizeof *t);
	long long m0 = mem_own(), k0 = mem_kernel();
	long n = 0;
	int e = 0;
	while (n < arg1 && !(e = try_spawn(&t[n], gate_thread, NULL)))
		n++;
	if (n < arg1) {
		printf("note fails at %ld threads: %s\n", n, strerror(e));
		fflush(stdout);
	}
	for (long seen = 0; seen < n;) {
		usleep(1000);
		pthread_mutex_lock(&gate_lock);
		seen = arrived;
		pthread_mutex_unlock(&gate_lock);
	}
	long long m1 = mem_own(), k1 = mem_kernel();
	result("bytes", (double)(m1 - m0) / (double)n);
	result("kernel", (double)(k1 - k0) / (double)n);
	gate_open(n);
	for (long i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	check(counter);
	free(t);
}

/* A rendezvous cell: mutex and condition, the textbook way. */
struct cell {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	int full;
	long value;
};
static struct cell cells[2] = {
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 },
	{ PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 0 },
};

static void cell_put(struct cell *c, long v)
{
	pthread_mutex_lock(&c->lock);
	while (c->full)
		pthread_cond_wait(&c->cond, &c->lock);
	c->value = v;
	c->full = 1;
	pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->lock);
}

static long cell_take(struct cell *c)
{
	pthread_mutex_lock(&c->lock);
	while (!c->full)
		pthread_cond_wait(&c->cond, &c->lock);
	long v = c->value;
	c->full = 0;
	pthread_cond_signal(&c->cond);
	pthread_mutex_unlock(&c->lock);
	return v;
}

static void *w6_echo(void *p)
{
	for (long i = 0; i < arg1; i++)
		cell_put(&cells[1], cell_take(&cells[0]));
	return p;
}

static void w6chan(void)
{
	pthread_t e = spawn(w6_echo, NULL);
	long sum = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++) {
		cell_put(&cells[0], i);
		sum += cell_take(&cells[1]) == i;
	}
	result("round", (double)(now_ns() - t0) / (double)arg1);
	pthread_join(e, NULL);
	check(sum);
}

/* pairs N TRIPS */
static struct cell *pair_cells;

static void *pairs_thread(void *p)
{
	long id = (long)(intptr_t)p;
	struct cell *there = &pair_cells[id & ~1L], *back = there + 1;
	pthread_barrier_wait(&start);
	lap_arrive(&lap);
	while (!lap_all_in(&lap))
		sched_yield();
	for (long i = 0; i < arg2 / (arg1 / 2); i++) {
		if (id & 1) {
			cell_put(back, cell_take(there));
			continue;
		}
		cell_put(there, i);
		if (cell_take(back) != i)
			die("cell", EIO);
		yield_once();
	}
	lap_leave(&lap);
	return p;
}

static void pairs(void)
{
	lap.n = arg1;
	pthread_barrier_init(&start, NULL, (unsigned)arg1);
	pair_cells = xmalloc((size_t)arg1 * sizeof *pair_cells);
	for (long i = 0; i < arg1; i++)
		pair_cells[i] = (struct cell){ PTHREAD_MUTEX_INITIALIZER,
					       PTHREAD_COND_INITIALIZER, 0, 0 };
	run_all(arg1, pairs_thread);
	result("trip", lap_cost(&lap));
	check(lap.count);
	free(pair_cells);
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *w6_lock(void *p)
{
	for (long i = 0; i < arg2; i++) {
		pthread_mutex_lock(&mutex);
		counter++;
		pthread_mutex_unlock(&mutex);
	}
	return p;
}

static void *w6_lock_held(void *p)
{
	for (long i = 0; i < arg2; i++) {
		pthread_mutex_lock(&mutex);
		counter++;
		sched_yield();
		pthread_mutex_unlock(&mutex);
	}
	return p;
}

static void w6mutex_with(void *(*fn)(void *))
{
	int64_t t0 = now_ns();
	run_all(arg1, fn);
	result("lock", (double)(now_ns() - t0) / (double)(arg1 * arg2));
	check(counter);
}

static int64_t *late;

static void *w8_thread(void *p)
{
	long id = (long)(intptr_t)p;
	uint64_t seed = rng_seed((uint64_t)id);
	for (long i = 0; i < arg2; i++) {
		int64_t due = now_ns() + rng_sleep(&seed);
		struct timespec ts = { due / 1000000000, due % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		late[id * arg2 + i] = now_ns() - due;
	}
	return NULL;
}

static void w8(void)
{
	size_t n = (size_t)(arg1 * arg2);
	late = xmalloc(n * sizeof *late);
	memset(late, 0xff, n * sizeof *late);
	int64_t c0 = cpu_ns();
	run_all(arg1, w8_thread);
	int64_t c1 = cpu_ns();
	long done = 0;
	for (size_t i = 0; i < n; i++)
		done += late[i] >= 0;
	result("late", p99_us(late, n));
	result("cpu", (double)(c1 - c0) / (double)n / 1000.0);
	check(done);
	free(late);
}

/* timers N WAKES */
static struct dozers dozers;

static void *timers_thread(void *p)
{
	uint64_t seed = rng_seed((uint64_t)(intptr_t)p);
	dozers_arrive(&dozers);
	while (!dozers_over(&dozers)) {
		int64_t due = now_ns() + rng_span(&seed, arg1);
		struct timespec ts = { due / 1000000000, due % 1000000000 };
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		dozers_woke(&dozers, now_ns() - due);
	}
	return p;
}

static void timers(void)
{
	dozers_init(&dozers, arg1, arg2);
	run_all(arg1, timers_thread);
	dozers_tell(&dozers);
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	const char *w = argv[1];
	arg1 = atol(argv[2]);
	arg2 = argc > 3 ? atol(argv[3]) : 0;
	pthread_attr_init(&attr);
	/* The smallest stack that glibc allows: the kernel threads' best case. */
	pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN);
	if (!strcmp(w, "w1"))
		w1();
	else if (!strcmp(w, "w2one"))
		w2one();
	else if (!strcmp(w, "w2many"))
		w2many();
	else if (!strcmp(w, "w3"))
		w3();
	else if (!strcmp(w, "w4"))
		w4();
	else if (!strcmp(w, "w5"))
		w5();
	else if (!strcmp(w, "w6chan"))
		w6chan();
	else if (!strcmp(w, "w6mutex"))
		w6mutex_with(w6_lock);
	else if (!strcmp(w, "w6held"))
		w6mutex_with(w6_lock_held);
	else if (!strcmp(w, "pairs"))
		pairs();
	else if (!strcmp(w, "timers"))
		timers();
	else if (!strcmp(w, "ring"))
		ring_with(0);
	else if (!strcmp(w, "timed"))
		ring_with(1);
	else if (!strcmp(w, "w8"))
		w8();
	else
		die(w, EINVAL);
	return 0;
}

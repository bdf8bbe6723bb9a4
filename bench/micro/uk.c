/* SPDX-License-Identifier: Apache-2.0 */
/* uk.c - workloads w1..w8 on ukthreads, public API only.
 *
 * uk light|full WORKLOAD ARGS... ; UK_VPS chooses the vps. The kernel thread that runs
 * main() is foreign to the runtime, so everything measured runs in a root user thread. */
#include <uk/uk.h>
#include "bench.h"

#define SMALL_STACK ((size_t)16 << 10)

static unsigned base_flags; /* UK_ATTR_LIGHT or 0 */
static long arg1, arg2;

static uk_thread *spawn_size(void *(*fn)(void *), void *arg, size_t stack)
{
	uk_attr a = UK_ATTR_INIT;
	a.flags = base_flags;
	a.stack_size = stack;
	uk_thread *t = NULL;
	int e = uk_thread_create(&t, &a, fn, arg);
	if (e < 0)
		die("uk_thread_create", e);
	return t;
}

static uk_thread *spawn(void *(*fn)(void *), void *arg)
{
	return spawn_size(fn, arg, 0);
}

static void join(uk_thread *t)
{
	int e = uk_thread_join(t, NULL);
	if (e < 0)
		die("uk_thread_join", e);
}

static void *checked_malloc(size_t n)
{
	void *p = malloc(n);
	if (!p)
		die("malloc", 12);
	return p;
}

/* n threads, each told its number; where thousands are alive on small stacks. */
static void run_all(long n, void *(*fn)(void *))
{
	size_t stack = n > 1000 ? SMALL_STACK : 0;
	uk_thread **t = checked_malloc((size_t)n * sizeof *t);
	for (long i = 0; i < n; i++)
		t[i] = spawn_size(fn, (void *)(intptr_t)i, stack);
	for (long i = 0; i < n; i++)
		join(t[i]);
	free(t);
}

/* A gate that n threads wait at until it is opened. */
static _Alignas(64) uint32_t gate;
static _Alignas(64) uint32_t arrived;

static void gate_wait(void)
{
	while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
		uk_futex_wait(&gate, 0, UK_FOREVER);
}

static void gate_open(void)
{
	__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
	uk_futex_wake(&gate, INT32_MAX);
}

static long counter;
static struct lap lap; /* one vp: nobody else is here */

/* w1 THREADS YIELDS: yields in all, shared among the threads */
static long yields_each;

static void *w1_thread(void *p)
{
	lap_arrive(&lap);
	while (!lap_all_in(&lap)) {
		uk_yield();
		lap.count++;
	}
	for (long i = 0; i < yields_each; i++) {
		uk_yield();
		lap.count++;
	}
	lap_leave(&lap);
	counter += yields_each;
	return p;
}

static void w1(void)
{
	yields_each = arg2 / arg1;
	lap.n = arg1;
	run_all(arg1, w1_thread);
	result("yield", lap_cost(&lap));
	check(counter);
}

/* ring N TURNS: a baton goes round; each thread wakes the next and waits for its own turn.
 * timed: each wait has a deadline, which is never met. */
struct seat {
	_Alignas(64) uk_sem turn;
};
static struct seat *seats;
static int with_deadline;

static void seat_wait(struct seat *s)
{
	int e = with_deadline ? uk_sem_wait_until(&s->turn, uk_now() + FAR_NS)
			      : uk_sem_wait(&s->turn);
	if (e < 0)
		die("uk_sem_wait", e);
}

static void *ring_thread(void *p)
{
	long id = (long)(intptr_t)p;
	struct seat *own = &seats[id], *next = &seats[(id + 1) % arg1];
	if (lap_arrive(&lap))
		uk_sem_post(&seats[0].turn);
	for (long i = 0; i < arg2 / arg1; i++) {
		seat_wait(own);
		lap.count++;
		uk_sem_post(&next->turn);
	}
	lap_leave(&lap);
	return p;
}

static void ring_with(int deadline)
{
	with_deadline = deadline;
	lap.n = arg1;
	seats = aligned_alloc(64, (size_t)arg1 * sizeof *seats);
	if (!seats)
		die("aligned_alloc", 12);
	for (long i = 0; i < arg1; i++)
		uk_sem_init(&seats[i].turn, 0);
	run_all(arg1, ring_thread);
	result("wake", lap_cost(&lap));
	check(lap.count);
	free(seats);
}

static void ring(void)
{
	ring_with(0);
}

static void timed(void)
{
	ring_with(1);
}

/* w2one N: create, start, exit, join, one at a time */
static void *count_thread(void *p)
{
	(void)p;
	__atomic_fetch_add(&counter, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void w2one(void)
{
	for (long i = 0; i < 1000; i++)
		join(spawn(count_thread, NULL));
	counter = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++)
		join(spawn(count_thread, NULL));
	result("one", (double)(now_ns() - t0) / (double)arg1);
	check(counter);
}

/* w2many N [ROUNDS]: N alive at once, then all end and are joined; once more, or more often,
 * with what the first round left in the pools */
static void *gate_thread(void *p)
{
	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
	gate_wait();
	return count_thread(p);
}

static void w2many_round(uk_thread **t)
{
	gate = arrived = 0;
	for (long i = 0; i < arg1; i++)
		t[i] = spawn_size(gate_thread, NULL, SMALL_STACK);
	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) != (uint32_t)arg1)
		uk_yield();
	gate_open();
	for (long i = 0; i < arg1; i++)
		join(t[i]);
}

static void w2many(void)
{
	uk_thread **t = checked_malloc((size_t)arg1 * sizeof *t);
	memset(t, 0, (size_t)arg1 * sizeof *t);
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

/* w3 N: sum of 1..N, a thread for each half of each range: 2N-2 threads */
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
	uk_thread *ta = spawn_size(w3_thread, &a, SMALL_STACK);
	uk_thread *tb = spawn_size(w3_thread, &b, SMALL_STACK);
	join(ta);
	join(tb);
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

/* w4 ROUNDS: a byte goes out through one pipe and comes back through the other */
static int pipes[2][2];

static void *w4_echo(void *p)
{
	unsigned char c;
	while (uk_read(pipes[0][0], &c, 1) == 1)
		if (uk_write(pipes[1][1], &c, 1) != 1)
			break;
	return p;
}

static void *w4_main(void *p)
{
	long sum = 0;
	for (long i = 0; i < arg1; i++) {
		unsigned char c = (unsigned char)(i & 0x7f), d = 0;
		if (uk_write(pipes[0][1], &c, 1) != 1 ||
		    uk_read(pipes[1][0], &d, 1) != 1)
			die("pipe", 5);
		sum += d == c;
	}
	counter = sum;
	uk_close(pipes[0][1]);
	return p;
}

static void w4(void)
{
	if (pipe(pipes[0]) || pipe(pipes[1]))
		die("pipe", 24);
	uk_thread *e = spawn(w4_echo, NULL);
	int64_t t0 = now_ns();
	uk_thread *m = spawn(w4_main, NULL);
	join(m);
	result("round", (double)(now_ns() - t0) / (double)arg1 / 1000.0);
	join(e);
	check(counter);
}

/* w5 N: bytes of a parked thread */
static void w5(void)
{
	uk_thread **t = checked_malloc((size_t)arg1 * sizeof *t);
	memset(t, 0, (size_t)arg1 * sizeof *t);
	long long m0 = mem_own(), k0 = mem_kernel();
	for (long i = 0; i < arg1; i++) {
		t[i] = spawn_size(gate_thread, NULL, SMALL_STACK);
		if (i % 1024 == 0)
			uk_yield();
	}
	while (__atomic_load_n(&arrived, __ATOMIC_RELAXED) != (uint32_t)arg1)
		uk_sleep(UK_MS);
	long long m1 = mem_own(), k1 = mem_kernel();
	result("bytes", (double)(m1 - m0) / (double)arg1);
	result("kernel", (double)(k1 - k0) / (double)arg1);
	gate_open();
	for (long i = 0; i < arg1; i++)
		join(t[i]);
	check(counter);
	free(t);
}

/* w6chan ROUNDS: ping-pong over two rendezvous channels */
static uk_chan *chans[2];

static void *w6_echo(void *p)
{
	long v;
	while (uk_chan_recv(chans[0], &v) >= 0)
		if (uk_chan_send(chans[1], &v) < 0)
			break;
	return p;
}

static void w6chan(void)
{
	for (int i = 0; i < 2; i++)
		if (uk_chan_create(&chans[i], sizeof(long), 0) < 0)
			die("uk_chan_create", 12);
	uk_thread *e = spawn(w6_echo, NULL);
	long sum = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++) {
		long v = i, w = -1;
		if (uk_chan_send(chans[0], &v) < 0 || uk_chan_recv(chans[1], &w) < 0)
			die("chan", 5);
		sum += w == i;
	}
	result("round", (double)(now_ns() - t0) / (double)arg1);
	uk_chan_close(chans[0]);
	join(e);
	check(sum);
}

/* pairs N TRIPS: N threads in pairs, each with two channels; after each trip there and back
 * a pair stands behind the others. */
static uk_chan **pair_chans;

static void *pairs_thread(void *p)
{
	long id = (long)(intptr_t)p;
	uk_chan **c = &pair_chans[id & ~1L], *there = c[0], *back = c[1];
	lap_arrive(&lap);
	while (!lap_all_in(&lap))
		uk_yield();
	for (long i = 0, v = i; i < arg2 / (arg1 / 2); i++) {
		if (id & 1) {
			if (uk_chan_recv(there, &v) < 0 || uk_chan_send(back, &v) < 0)
				die("chan", 5);
			continue;
		}
		if (uk_chan_send(there, &i) < 0 || uk_chan_recv(back, &v) < 0 || v != i)
			die("chan", 5);
		lap.count++;
		uk_yield();
	}
	lap_leave(&lap);
	return p;
}

static void pairs(void)
{
	lap.n = arg1;
	pair_chans = checked_malloc((size_t)arg1 * sizeof *pair_chans);
	for (long i = 0; i < arg1; i++)
		if (uk_chan_create(&pair_chans[i], sizeof(long), 0) < 0)
			die("uk_chan_create", 12);
	run_all(arg1, pairs_thread);
	result("trip", lap_cost(&lap));
	check(lap.count);
	for (long i = 0; i < arg1; i++)
		uk_chan_destroy(pair_chans[i]);
	free(pair_chans);
}

/* w6mutex THREADS ROUNDS, w6held: the same, but the holder yields inside */
static uk_mutex mutex = UK_MUTEX_INIT;

static void *w6_lock(void *p)
{
	for (long i = 0; i < arg2; i++) {
		uk_mutex_lock(&mutex);
		counter++;
		uk_mutex_unlock(&mutex);
	}
	return p;
}

static void *w6_lock_held(void *p)
{
	for (long i = 0; i < arg2; i++) {
		uk_mutex_lock(&mutex);
		counter++;
		uk_yield();
		uk_mutex_unlock(&mutex);
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

/* w7 LEAVES: skynet, every thread starts ten, the leaves send their number up */
struct sky {
	uk_chan *up;
	long num, size;
};

static void *w7_thread(void *p)
{
	struct sky s = *(struct sky *)p;
	long sum = 0;
	if (s.size == 1) {
		sum = s.num;
	} else {
		struct sky kid[10];
		uk_chan *c;
		if (uk_chan_create(&c, sizeof(long), 0) < 0)
			die("uk_chan_create", 12);
		uk_attr a = UK_ATTR_INIT;
		a.flags = base_flags | UK_ATTR_DETACHED;
		a.stack_size = SMALL_STACK;
		for (int i = 0; i < 10; i++) {
			kid[i] =
			    (struct sky){ c, s.num + i * (s.size / 10), s.size / 10 };
			int e = uk_thread_create(NULL, &a, w7_thread, &kid[i]);
			if (e < 0)
				die("uk_thread_create", e);
		}
		for (int i = 0; i < 10; i++) {
			long v;
			if (uk_chan_recv(c, &v) < 0)
				die("uk_chan_recv", 32);
			sum += v;
		}
		uk_chan_destroy(c);
	}
	if (uk_chan_send(s.up, &sum) < 0)
		die("uk_chan_send", 32);
	return NULL;
}

static void w7(void)
{
	const char *names[2] = { "first", "again" };
	long sum = 0;
	for (int round = 0; round < 2; round++) {
		uk_chan *c;
		if (uk_chan_create(&c, sizeof(long), 0) < 0)
			die("uk_chan_create", 12);
		struct sky top = { c, 0, arg1 };
		int64_t t0 = now_ns();
		uk_thread *t = spawn(w7_thread, &top);
		if (uk_chan_recv(c, &sum) < 0)
			die("uk_chan_recv", 32);
		result(names[round], (double)(now_ns() - t0) / (double)arg1);
		join(t);
		uk_chan_destroy(c);
	}
	check(sum);
}

/* w8 SLEEPERS ROUNDS: lateness of each wake-up and the CPU time of all of them */
static int64_t *late;

static void *w8_thread(void *p)
{
	long id = (long)(intptr_t)p;
	uint64_t seed = rng_seed((uint64_t)id);
	for (long i = 0; i < arg2; i++) {
		int64_t due = uk_now() + rng_sleep(&seed);
		uk_sleep_until(due);
		late[id * arg2 + i] = uk_now() - due;
	}
	return NULL;
}

static void w8(void)
{
	size_t n = (size_t)(arg1 * arg2);
	late = checked_malloc(n * sizeof *late);
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
		int64_t due = uk_now() + rng_span(&seed, arg1);
		uk_sleep_until(due);
		dozers_woke(&dozers, uk_now() - due);
	}
	return p;
}

static void timers(void)
{
	dozers_init(&dozers, arg1, arg2);
	run_all(arg1, timers_thread);
	dozers_tell(&dozers);
}

static const char *workload;

static void *root(void *p)
{
	static const struct {
		const char *name;
		void (*fn)(void);
	} table[] = { { "w1", w1 },         { "w2one", w2one }, { "w2many", w2many },
		      { "w3", w3 },         { "w4", w4 },       { "w5", w5 },
		      { "w6chan", w6chan }, { "w7", w7 },       { "w8", w8 },
		      { "ring", ring },     { "timed", timed }, { "pairs", pairs },
		      { "timers", timers } };
	if (!strcmp(workload, "w6mutex")) {
		w6mutex_with(w6_lock);
		return p;
	}
	if (!strcmp(workload, "w6held")) {
		w6mutex_with(w6_lock_held);
		return p;
	}
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (!strcmp(workload, table[i].name)) {
			table[i].fn();
			return p;
		}
	die(workload, 22);
	return p;
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: uk light|full WORKLOAD N [M]\n");
		return 2;
	}
	base_flags = strcmp(argv[1], "light") ? 0 : UK_ATTR_LIGHT;
	workload = argv[2];
	arg1 = atol(argv[3]);
	arg2 = argc > 4 ? atol(argv[4]) : 0;
	int e = uk_init();
	if (e < 0)
		die("uk_init", e);
	join(spawn(root, NULL));
	return 0;
}

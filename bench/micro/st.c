/* SPDX-License-Identifier: Apache-2.0 */
/* st.c - workloads w1..w8 on State Threads 1.9 (one processor only). st WORKLOAD N [M].
 * ST 1.9 has no yield; st_usleep(0) is its documented way. It has no channels: a cell
 * with a condition stands in, as its own examples do. */
#include <errno.h>
#include <st.h>
#include "bench.h"

#define SMALL_STACK (16 << 10)

static long arg1, arg2, counter;

static st_thread_t spawn_size(void *(*fn)(void *), void *arg, int stack)
{
	st_thread_t t = st_thread_create(fn, arg, 1, stack);
	if (!t)
		die("st_thread_create", errno);
	return t;
}

static st_thread_t spawn(void *(*fn)(void *), void *arg)
{
	return spawn_size(fn, arg, 0);
}

static void *xmalloc(size_t n)
{
	void *p = calloc(1, n);
	if (!p)
		die("malloc", ENOMEM);
	return p;
}

static st_cond_t gate_cond;
static int gate;
static long arrived;

static void gate_open(long n)
{
	while (arrived != n)
		st_usleep(0);
	gate = 1;
	st_cond_broadcast(gate_cond);
}

static void run_all(long n, void *(*fn)(void *))
{
	st_thread_t *t = xmalloc((size_t)n * sizeof *t);
	for (long i = 0; i < n; i++)
		t[i] = spawn_size(fn, (void *)(intptr_t)i, SMALL_STACK);
	for (long i = 0; i < n; i++)
		st_thread_join(t[i], NULL);
	free(t);
}

static struct lap lap;
static long yields_each;

static void *w1_thread(void *p)
{
	lap_arrive(&lap);
	while (!lap_all_in(&lap)) {
		st_usleep(0);
		lap.count++;
	}
	for (long i = 0; i < yields_each; i++) {
		st_usleep(0);
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

/* ring N TURNS; timed */
struct seat {
	_Alignas(64) st_cond_t cond;
	int turn;
};
static struct seat *seats;
static int with_deadline;

static void seat_wait(struct seat *s)
{
	while (!s->turn)
		if (with_deadline ? st_cond_timedwait(s->cond, FAR_NS / 1000)
				  : st_cond_wait(s->cond))
			die("st_cond_wait", errno);
	s->turn = 0;
}

static void seat_call(struct seat *s)
{
	s->turn = 1;
	st_cond_signal(s->cond);
}

static void *ring_thread(void *p)
{
	long id = (long)(intptr_t)p;
	struct seat *own = &seats[id], *next = &seats[(id + 1) % arg1];
	if (lap_arrive(&lap))
		seat_call(&seats[0]);
	for (long i = 0; i < arg2 / arg1; i++) {
		seat_wait(own);
		lap.count++;
		seat_call(next);
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
		seats[i].cond = st_cond_new();
	run_all(arg1, ring_thread);
	result("wake", lap_cost(&lap));
	check(lap.count);
	free(seats);
}

static void *count_thread(void *p)
{
	counter++;
	return p;
}

static void w2one(void)
{
	for (long i = 0; i < 1000; i++)
		st_thread_join(spawn(count_thread, NULL), NULL);
	counter = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++)
		st_thread_join(spawn(count_thread, NULL), NULL);
	result("one", (double)(now_ns() - t0) / (double)arg1);
	check(counter);
}

static void *gate_thread(void *p)
{
	arrived++;
	while (!gate)
		st_cond_wait(gate_cond);
	return count_thread(p);
}

static void w2many_round(st_thread_t *t)
{
	gate = 0;
	arrived = 0;
	for (long i = 0; i < arg1; i++)
		t[i] = spawn_size(gate_thread, NULL, SMALL_STACK);
	gate_open(arg1);
	for (long i = 0; i < arg1; i++)
		st_thread_join(t[i], NULL);
}

static void w2many(void)
{
	st_thread_t *t = xmalloc((size_t)arg1 * sizeof *t);
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
	st_thread_t ta = spawn_size(w3_thread, &a, SMALL_STACK);
	st_thread_t tb = spawn_size(w3_thread, &b, SMALL_STACK);
	st_thread_join(ta, NULL);
	st_thread_join(tb, NULL);
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

static st_netfd_t ends[4];

static void *w4_echo(void *p)
{
	unsigned char c;
	while (st_read(ends[0], &c, 1, ST_UTIME_NO_TIMEOUT) == 1)
		if (st_write(ends[3], &c, 1, ST_UTIME_NO_TIMEOUT) != 1)
			break;
	return p;
}

static void w4(void)
{
	int p[4];
	if (pipe(p) || pipe(p + 2))
		die("pipe", errno);
	for (int i = 0; i < 4; i++)
		if (!(ends[i] = st_netfd_open(p[i])))
			die("st_netfd_open", errno);
	st_thread_t e = spawn(w4_echo, NULL);
	long sum = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++) {
		unsigned char c = (unsigned char)(i & 0x7f), d = 0;
		if (st_write(ends[1], &c, 1, ST_UTIME_NO_TIMEOUT) != 1 ||
		    st_read(ends[2], &d, 1, ST_UTIME_NO_TIMEOUT) != 1)
			die("pipe", errno);
		sum += d == c;
	}
	result("round", (double)(now_ns() - t0) / (double)arg1 / 1000.0);
	st_netfd_close(ends[1]);
	st_thread_join(e, NULL);
	check(sum);
}

static void w5(void)
{
	st_thread_t *t = xmalloc((size_t)arg1 * sizeof *t);
	memset(t, 1, (size_t)arg1 * sizeof *t);
	long long m0 = mem_own(), k0 = mem_kernel();
	for (long i = 0; i < arg1; i++)
		t[i] = spawn_size(gate_thread, NULL, SMALL_STACK);
	while (arrived != arg1)
		st_usleep(1000);
	long long m1 = mem_own(), k1 = mem_kernel();
	result("bytes", (double)(m1 - m0) / (double)arg1);
	result("kernel", (double)(k1 - k0) / (double)arg1);
	gate_open(arg1);
	for (long i = 0; i < arg1; i++)
		st_thread_join(t[i], NULL);
	check(counter);
	free(t);
}

struct cell {
	st_cond_t cond;
	int full;
	long value;
};
static struct cell cells[2];

static void cell_put(struct cell *c, long v)
{
	while (c->full)
		st_cond_wait(c->cond);
	c->value = v;
	c->full = 1;
	st_cond_signal(c->cond);
}

static long cell_take(struct cell *c)
{
	while (!c->full)
		st_cond_wait(c->cond);
	c->full = 0;
	st_cond_signal(c->cond);
	return c->value;
}

static void *w6_echo(void *p)
{
	for (long i = 0; i < arg1; i++)
		cell_put(&cells[1], cell_take(&cells[0]));
	return p;
}

static void w6chan(void)
{
	cells[0].cond = st_cond_new();
	cells[1].cond = st_cond_new();
	st_thread_t e = spawn(w6_echo, NULL);
	long sum = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++) {
		cell_put(&cells[0], i);
		sum += cell_take(&cells[1]) == i;
	}
	result("round", (double)(now_ns() - t0) / (double)arg1);
	st_thread_join(e, NULL);
	check(sum);
}

/* pairs N TRIPS */
static struct cell *pair_cells;

static void *pairs_thread(void *p)
{
	long id = (long)(intptr_t)p;
	struct cell *there = &pair_cells[id & ~1L], *back = there + 1;
	lap_arrive(&lap);
	while (!lap_all_in(&lap))
		st_usleep(0);
	for (long i = 0; i < arg2 / (arg1 / 2); i++) {
		if (id & 1) {
			cell_put(back, cell_take(there));
			continue;
		}
		cell_put(there, i);
		if (cell_take(back) != i)
			die("cell", EIO);
		lap.count++;
		st_usleep(0);
	}
	lap_leave(&lap);
	return p;
}

static void pairs(void)
{
	lap.n = arg1;
	pair_cells = xmalloc((size_t)arg1 * sizeof *pair_cells);
	for (long i = 0; i < arg1; i++)
		pair_cells[i].cond = st_cond_new();
	run_all(arg1, pairs_thread);
	result("trip", lap_cost(&lap));
	check(lap.count);
	free(pair_cells);
}

static st_mutex_t mutex;

static void *w6_lock(void *p)
{
	for (long i = 0; i < arg2; i++) {
		st_mutex_lock(mutex);
		counter++;
		st_mutex_unlock(mutex);
	}
	return p;
}

static void *w6_lock_held(void *p)
{
	for (long i = 0; i < arg2; i++) {
		st_mutex_lock(mutex);
		counter++;
		st_usleep(0);
		st_mutex_unlock(mutex);
	}
	return p;
}

static void w6mutex_with(void *(*fn)(void *))
{
	mutex = st_mutex_new();
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
		int64_t span = rng_sleep(&seed), due = now_ns() + span;
		st_usleep((st_utime_t)((span + 999) / 1000));
		late[id * arg2 + i] = now_ns() - due;
	}
	return NULL;
}

static void w8(void)
{
	size_t n = (size_t)(arg1 * arg2);
	late = xmalloc(n * sizeof *late);
	for (size_t i = 0; i < n; i++)
		late[i] = INT64_MIN; /* -1 is a lateness here */
	int64_t c0 = cpu_ns();
	run_all(arg1, w8_thread);
	int64_t c1 = cpu_ns();
	long done = 0;
	for (size_t i = 0; i < n; i++)
		done += late[i] != INT64_MIN;
	result("late", p99_us(late, n));
	result("cpu", (double)(c1 - c0) / (double)n / 1000.0);
	check(done);
	free(late);
}

/* w7: skynet; up is the parent's cell */
struct sky {
	struct cell *up;
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
		struct cell c = { st_cond_new(), 0, 0 };
		for (int i = 0; i < 10; i++) {
			kid[i] =
			    (struct sky){ &c, s.num + i * (s.size / 10), s.size / 10 };
			if (!st_thread_create(w7_thread, &kid[i], 0, SMALL_STACK))
				die("st_thread_create", errno);
		}
		for (int i = 0; i < 10; i++) {
			while (!c.full)
				st_cond_wait(c.cond);
			sum += c.value;
			c.full = 0;
			st_cond_broadcast(c.cond);
		}
		st_cond_destroy(c.cond);
	}
	while (s.up->full)
		st_cond_wait(s.up->cond);
	s.up->value = sum;
	s.up->full = 1;
	st_cond_broadcast(s.up->cond);
	return NULL;
}

static void w7(void)
{
	const char *names[2] = { "first", "again" };
	long sum = 0;
	for (int round = 0; round < 2; round++) {
		struct cell c = { st_cond_new(), 0, 0 };
		struct sky top = { &c, 0, arg1 };
		int64_t t0 = now_ns();
		st_thread_t t = spawn(w7_thread, &top);
		sum = cell_take(&c);
		result(names[round], (double)(now_ns() - t0) / (double)arg1);
		st_thread_join(t, NULL);
	}
	check(sum);
}

/* timers N WAKES */
static struct dozers dozers;

static void *timers_thread(void *p)
{
	uint64_t seed = rng_seed((uint64_t)(intptr_t)p);
	dozers_arrive(&dozers);
	while (!dozers_over(&dozers)) {
		int64_t span = rng_span(&seed, arg1), due = now_ns() + span;
		st_usleep((st_utime_t)(span / 1000));
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
	st_set_eventsys(ST_EVENTSYS_ALT);
	if (st_init())
		die("st_init", errno);
	gate_cond = st_cond_new();
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
	else if (!strcmp(w, "w7"))
		w7();
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

/* SPDX-License-Identifier: Apache-2.0 */
/* workloads.c - the C workloads of bench/run: PROGRAM [light|full] WORKLOAD N [M].
 * Compiled once for each API: -DAPI='"api_NAME.h"' names the header that has what differs:
 *
 *	thread, try_spawn, join, yield_now	stack 0: the default; thread NULL: detached
 *	add, tally				add for any vp; tally for workloads of one vp
 *	line_up_init, line_up			a barrier, where threads are preempted
 *	gate_close, gate_wait, gate_arrived, gate_open
 *	seat_init, seat_wait, seat_call		where a thread waits for its turn
 *	chan_new, chan_send, chan_recv, chan_free	a channel of longs
 *	mutex_init, mutex_lock, mutex_unlock
 *	pipe_open, pipe_read, pipe_write, pipe_close	one byte at a time
 *	oversleep				sleeps for some ns; returns how late it woke
 *	run					calls a function where threads can be created
 *	FEW, SMALL_STACK			more than FEW threads get small stacks
 *	KERNEL_THREADS				the kernel limits their number
 *	OWN_WORDS, USAGE			arguments before WORKLOAD */
#include <errno.h>
#include API

static long arg1, arg2, counter;
static struct lap lap;

static void refused(long n, int e)
{
	printf("note fails at %ld threads: %s\n", n, strerror(e));
	fflush(stdout);
}

static inline thread spawn(void *(*fn)(void *), void *arg, size_t stack)
{
	thread t;
	int e = try_spawn(&t, fn, arg, stack);
	if (e)
		die("no further thread", e);
	return t;
}

/* Touched, so that its page faults are not measured. It is not zeroed. */
static void *xmalloc(size_t n)
{
	void *p = aligned_alloc(64, (n + 63) & ~(size_t)63);
	if (!p)
		die("aligned_alloc", ENOMEM);
	return memset(p, 1, n);
}

/* Each thread gets its number. */
static void spawn_all(thread *t, long n, void *(*fn)(void *), size_t stack)
{
	for (long i = 0; i < n; i++) {
		int e = try_spawn(&t[i], fn, (void *)(intptr_t)i, stack);
		if (e) {
			refused(i, e);
			_exit(3);
		}
	}
}

static void join_all(thread *t, long n)
{
	for (long i = 0; i < n; i++)
		join(t[i]);
}

static void run_all(void *(*fn)(void *))
{
	thread *t = xmalloc((size_t)arg1 * sizeof *t);
	spawn_all(t, arg1, fn, arg1 > FEW ? SMALL_STACK : 0);
	join_all(t, arg1);
	free(t);
}

/* yield THREADS YIELDS: yields in all, shared among the threads */
static long yields_each;

static void *yield_thread(void *p)
{
	line_up();
	lap_arrive(&lap);
	while (!lap_all_in(&lap)) {
		yield_now();
		tally(&lap.count);
	}
	for (long i = 0; i < yields_each; i++) {
		yield_now();
		tally(&lap.count);
	}
	lap_leave(&lap);
	add(&counter, yields_each);
	return p;
}

static void run_yield(void)
{
	yields_each = arg2 / arg1;
	lap.n = arg1;
	line_up_init(arg1);
	run_all(yield_thread);
	result("yield", lap_cost(&lap));
	check(counter);
}

/* ring THREADS TURNS: a baton goes round; each thread wakes the next and waits for its own
 * turn. timed: each wait has a deadline, which is never met. */
static struct seat *seats;
static int with_deadline;

static void *ring_thread(void *p)
{
	long id = (long)(intptr_t)p;
	struct seat *own = &seats[id], *next = &seats[(id + 1) % arg1];
	if (lap_arrive(&lap))
		seat_call(&seats[0]);
	for (long i = 0; i < arg2 / arg1; i++) {
		seat_wait(own, with_deadline);
		tally(&lap.count);
		seat_call(next);
	}
	lap_leave(&lap);
	return p;
}

static void run_ring(void)
{
	lap.n = arg1;
	seats = xmalloc((size_t)arg1 * sizeof *seats);
	for (long i = 0; i < arg1; i++)
		seat_init(&seats[i]);
	run_all(ring_thread);
	result("wake", lap_cost(&lap));
	check(lap.count);
	free(seats);
}

static void run_timed(void)
{
	with_deadline = 1;
	run_ring();
}

/* spawn THREADS: create, start, exit, join, one at a time */
static void *count_thread(void *p)
{
	add(&counter, 1);
	return p;
}

static void spawn_each(long n)
{
	for (long i = 0; i < n; i++)
		join(spawn(count_thread, NULL, 0));
}

static void run_spawn(void)
{
	spawn_each(1000);
	counter = 0;
	int64_t t0 = now_ns();
	spawn_each(arg1);
	result("one", (double)(now_ns() - t0) / (double)arg1);
	check(counter);
}

/* spawn-many THREADS [ROUNDS]: all alive at once, then all end and are joined; once more,
 * or more often, with what the first round left in the pools */
static void *gate_thread(void *p)
{
	gate_wait();
	return count_thread(p);
}

static void spawn_many(thread *t)
{
	gate_close();
	spawn_all(t, arg1, gate_thread, SMALL_STACK);
	while (gate_arrived() != arg1)
		yield_now();
	gate_open();
	join_all(t, arg1);
}

static void run_spawn_many(void)
{
	thread *t = xmalloc((size_t)arg1 * sizeof *t);
	long again = arg2 > 2 ? arg2 - 1 : 1;
	int64_t t0 = now_ns();
	spawn_many(t);
	int64_t t1 = now_ns();
	for (long i = 0; i < again; i++)
		spawn_many(t);
	result("again", (double)(now_ns() - t1) / (double)(again * arg1));
	result("first", (double)(t1 - t0) / (double)arg1);
	check(counter);
	free(t);
}

/* tree N: sum of 1..N, a thread for each half of each range: 2N-2 threads */
struct range {
	long lo, hi, sum;
};

static void *tree_thread(void *p)
{
	struct range *r = p;
	if (r->lo == r->hi) {
		r->sum = r->lo;
		return NULL;
	}
	long mid = (r->lo + r->hi) / 2;
	struct range a = { r->lo, mid, 0 }, b = { mid + 1, r->hi, 0 };
	thread ta = spawn(tree_thread, &a, SMALL_STACK);
	thread tb = spawn(tree_thread, &b, SMALL_STACK);
	join(ta);
	join(tb);
	r->sum = a.sum + b.sum;
	return NULL;
}

static const char *const rounds[] = { "first", "again" };

static void run_tree(void)
{
	struct range r = { 1, arg1, 0 };
	for (int i = 0; i < 2; i++) {
		int64_t t0 = now_ns();
		tree_thread(&r);
		result(rounds[i], (double)(now_ns() - t0) / (double)(2 * arg1 - 2));
	}
	check(r.sum);
}

/* pipe TRIPS: a byte goes out through one pipe and comes back through the other */
static pipe_end out[2], back[2];

static void *pipe_echo(void *p)
{
	unsigned char c;
	while (pipe_read(out[0], &c) == 1)
		if (pipe_write(back[1], &c) != 1)
			break;
	return p;
}

static void run_pipe(void)
{
	pipe_open(out);
	pipe_open(back);
	thread echo = spawn(pipe_echo, NULL, 0);
	long sum = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++) {
		unsigned char c = (unsigned char)(i & 0x7f), d = 0;
		if (pipe_write(out[1], &c) != 1 || pipe_read(back[0], &d) != 1)
			die("pipe", EIO);
		sum += d == c;
	}
	result("round", (double)(now_ns() - t0) / (double)arg1 / 1000.0);
	pipe_close(out[1]);
	join(echo);
	check(sum);
}

/* memory THREADS: bytes of a parked thread. If the kernel refuses a kernel thread, those
 * that exist are measured: a note says so, and the check is their number. */
static void run_memory(void)
{
	thread *t = xmalloc((size_t)arg1 * sizeof *t);
	long long m0 = mem_own(), k0 = mem_kernel();
	long n = 0;
	int e = 0;
	while (n < arg1 && !(e = try_spawn(&t[n], gate_thread, NULL, SMALL_STACK)))
		if (n++ % 1024 == 0)
			yield_now();
	if (e) {
		refused(n, e);
		if (!KERNEL_THREADS)
			_exit(3);
	}
	while (gate_arrived() != n)
		oversleep(1000000);
	long long m1 = mem_own(), k1 = mem_kernel();
	result("bytes", (double)(m1 - m0) / (double)n);
	result("kernel", (double)(k1 - k0) / (double)n);
	gate_open();
	join_all(t, n);
	check(counter);
	free(t);
}

/* chan TRIPS: ping-pong over two channels */
static chan there_and_back[2];

static void *chan_echo(void *p)
{
	chan there = there_and_back[0], home = there_and_back[1];
	for (long i = 0; i < arg1; i++)
		chan_send(home, chan_recv(there));
	return p;
}

static void run_chan(void)
{
	chan there = there_and_back[0] = chan_new(),
	     home = there_and_back[1] = chan_new();
	thread echo = spawn(chan_echo, NULL, 0);
	long sum = 0;
	int64_t t0 = now_ns();
	for (long i = 0; i < arg1; i++) {
		chan_send(there, i);
		sum += chan_recv(home) == i;
	}
	result("round", (double)(now_ns() - t0) / (double)arg1);
	join(echo);
	check(sum);
}

/* pairs THREADS TRIPS: threads in pairs, each with two channels; after each trip there and
 * back a pair stands behind the others */
static chan *chans;

static void *pairs_thread(void *p)
{
	long id = (long)(intptr_t)p;
	chan there = chans[id & ~1L], home = chans[id | 1];
	line_up();
	lap_arrive(&lap);
	while (!lap_all_in(&lap))
		yield_now();
	for (long i = 0; i < arg2 / (arg1 / 2); i++) {
		if (id & 1) {
			chan_send(home, chan_recv(there));
			continue;
		}
		chan_send(there, i);
		if (chan_recv(home) != i)
			die("channel", EIO);
		tally(&lap.count);
		yield_now();
	}
	lap_leave(&lap);
	return p;
}

static void run_pairs(void)
{
	lap.n = arg1;
	line_up_init(arg1);
	chans = xmalloc((size_t)arg1 * sizeof *chans);
	for (long i = 0; i < arg1; i++)
		chans[i] = chan_new();
	run_all(pairs_thread);
	result("trip", lap_cost(&lap));
	check(lap.count);
	for (long i = 0; i < arg1; i++)
		chan_free(chans[i]);
	free(chans);
}

/* mutex THREADS TURNS: a mutex under all; mutex-held: the holder yields inside */
static mutex shared;

static void *mutex_thread(void *p)
{
	for (long i = 0; i < arg2; i++) {
		mutex_lock(&shared);
		counter++;
		mutex_unlock(&shared);
	}
	return p;
}

static void *mutex_held_thread(void *p)
{
	for (long i = 0; i < arg2; i++) {
		mutex_lock(&shared);
		counter++;
		yield_now();
		mutex_unlock(&shared);
	}
	return p;
}

static void mutex_with(void *(*fn)(void *))
{
	mutex_init(&shared);
	int64_t t0 = now_ns();
	run_all(fn);
	result("lock", (double)(now_ns() - t0) / (double)(arg1 * arg2));
	check(counter);
}

static void run_mutex(void)
{
	mutex_with(mutex_thread);
}

static void run_mutex_held(void)
{
	mutex_with(mutex_held_thread);
}

/* skynet LEAVES: every thread starts ten, the leaves send their number up */
struct sky {
	chan up;
	long num, size;
};

static void *skynet_thread(void *p)
{
	struct sky s = *(struct sky *)p;
	long sum = 0;
	if (s.size == 1) {
		sum = s.num;
	} else {
		struct sky kid[10];
		chan c = chan_new();
		for (int i = 0; i < 10; i++) {
			kid[i] =
			    (struct sky){ c, s.num + i * (s.size / 10), s.size / 10 };
			int e = try_spawn(NULL, skynet_thread, &kid[i], SMALL_STACK);
			if (e)
				die("no further thread", e);
		}
		for (int i = 0; i < 10; i++)
			sum += chan_recv(c);
		chan_free(c);
	}
	chan_send(s.up, sum);
	return NULL;
}

static void run_skynet(void)
{
	long sum = 0;
	for (int i = 0; i < 2; i++) {
		struct sky top = { chan_new(), 0, arg1 };
		int64_t t0 = now_ns();
		thread t = spawn(skynet_thread, &top, 0);
		sum = chan_recv(top.up);
		result(rounds[i], (double)(now_ns() - t0) / (double)arg1);
		join(t);
		chan_free(top.up);
	}
	check(sum);
}

/* timers SLEEPERS ROUNDS: lateness of each wake-up and the CPU time of all of them */
static int64_t *late;

static void *timers_thread(void *p)
{
	long id = (long)(intptr_t)p;
	uint64_t seed = rng_seed((uint64_t)id);
	for (long i = 0; i < arg2; i++)
		late[id * arg2 + i] = oversleep(rng_sleep(&seed));
	return NULL;
}

static void run_timers(void)
{
	size_t n = (size_t)(arg1 * arg2);
	late = xmalloc(n * sizeof *late);
	for (size_t i = 0; i < n; i++)
		late[i] = INT64_MIN; /* -1 may be a lateness */
	int64_t c0 = cpu_ns();
	run_all(timers_thread);
	int64_t c1 = cpu_ns();
	long done = 0;
	for (size_t i = 0; i < n; i++)
		done += late[i] != INT64_MIN;
	result("late", p99_us(late, n));
	result("cpu", (double)(c1 - c0) / (double)n / 1000.0);
	check(done);
	free(late);
}

/* timers-steady SLEEPERS WAKES: as many wake in a second, however many SLEEPERS are */
static struct dozers dozers;

static void *timers_steady_thread(void *p)
{
	uint64_t seed = rng_seed((uint64_t)(intptr_t)p);
	dozers_arrive(&dozers);
	while (!dozers_over(&dozers))
		dozers_woke(&dozers, oversleep(rng_span(&seed, arg1)));
	return p;
}

static void run_timers_steady(void)
{
	dozers_init(&dozers, arg1, arg2);
	run_all(timers_steady_thread);
	dozers_tell(&dozers);
}

static const struct {
	const char *name, *alias;
	void (*fn)(void);
} workloads[] = {
	{ "yield", "w1", run_yield },
	{ "spawn", "w2one", run_spawn },
	{ "spawn-many", "w2many", run_spawn_many },
	{ "tree", "w3", run_tree },
	{ "pipe", "w4", run_pipe },
	{ "memory", "w5", run_memory },
	{ "chan", "w6chan", run_chan },
	{ "mutex", "w6mutex", run_mutex },
	{ "mutex-held", "w6held", run_mutex_held },
	{ "skynet", "w7", run_skynet },
	{ "timers", "w8", run_timers },
	{ "timers-steady", "timers-steady", run_timers_steady },
	{ "ring", "ring", run_ring },
	{ "timed", "timed", run_timed },
	{ "pairs", "pairs", run_pairs },
};

int main(int argc, char **argv)
{
	char **words = argv + 1 + OWN_WORDS;
	if (argc < OWN_WORDS + 3) {
		fprintf(stderr, "usage: %s " USAGE "WORKLOAD N [M]\n", argv[0]);
		return 2;
	}
	arg1 = atol(words[1]);
	arg2 = words[2] ? atol(words[2]) : 0;
	for (size_t i = 0; i < sizeof workloads / sizeof *workloads; i++)
		if (!strcmp(words[0], workloads[i].name) ||
		    !strcmp(words[0], workloads[i].alias)) {
			run(argv + 1, workloads[i].fn);
			return 0;
		}
	die(words[0], EINVAL);
	return 0;
}

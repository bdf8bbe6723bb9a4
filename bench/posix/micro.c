/* SPDX-License-Identifier: Apache-2.0 */
/* micro.c - what single pthread calls cost. A plain pthread program that
 * bench/lib/posix_programs.py runs natively and under `uk run`.
 *
 * micro create N | nested N | crowd ROUNDS N | mutex N | contend THREADS N | cond N |
 * sem N | yield THREADS N | sleepers N [KB] | refusal MOST
 *
 * All threads have default attributes, except that sleepers may have stacks of KB. main
 * is a kernel thread in both runs, so it takes part in no contest. `create` measures
 * what main pays to create and join threads, `nested` what another thread pays. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

#include "../lib/bench.h"

#define SLEEP_NS 500000000 /* the shortest sleep; the longest is twice that */
#define WATCH_S 3

static long arg1, arg2, done;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t together;
static long turn;
static sem_t sems[2];
static int stop;
static pthread_attr_t attributes;

static pthread_t start(void *(*fn)(void *), long arg, long n)
{
	pthread_t th;
	int err = pthread_create(&th, &attributes, fn, (void *)arg);

	if (err) {
		printf("note pthread_create fails at thread %ld: %s\n", n,
		       strerror(err));
		fflush(stdout);
		_exit(3);
	}
	return th;
}

static void *count_one(void *arg)
{
	__atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
	return arg;
}

static void *create(void *arg)
{
	int64_t t0 = now_ns();

	for (long i = 0; i < arg1; i++)
		pthread_join(start(count_one, 0, i), NULL);
	result("each", (double)(now_ns() - t0) / (double)arg1);
	check(done);
	return arg;
}

static void crowd(void)
{
	pthread_t *th = calloc((size_t)arg2, sizeof(*th));
	int64_t t0 = now_ns();

	for (long r = 0; r < arg1; r++) {
		for (long i = 0; i < arg2; i++)
			th[i] = start(count_one, 0, i);
		for (long i = 0; i < arg2; i++)
			pthread_join(th[i], NULL);
	}
	result("each", (double)(now_ns() - t0) / (double)(arg1 * arg2));
	check(done);
	free(th);
}

/* Runs fn in n threads that begin together. Returns the ns until all have ended,
 * divided by `each`. */
static void contest(void *(*fn)(void *), long n, long each)
{
	pthread_t *th = calloc((size_t)n, sizeof(*th));
	int64_t t0;

	pthread_barrier_init(&together, NULL, (unsigned)n + 1);
	for (long i = 0; i < n; i++)
		th[i] = start(fn, i, i);
	t0 = now_ns();
	pthread_barrier_wait(&together);
	for (long i = 0; i < n; i++)
		pthread_join(th[i], NULL);
	result("each", (double)(now_ns() - t0) / (double)each);
	check(done);
	free(th);
}

static void *lock_often(void *arg)
{
	pthread_barrier_wait(&together);
	for (long i = 0; i < arg2; i++) {
		pthread_mutex_lock(&lock);
		done++;
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *take_turns(void *arg)
{
	pthread_barrier_wait(&together);
	for (long i = 0; i < arg1; i++) {
		pthread_mutex_lock(&lock);
		while (turn != (long)arg)
			pthread_cond_wait(&turned, &lock);
		turn = !turn;
		done++;
		pthread_cond_signal(&turned);
		pthread_mutex_unlock(&lock);
	}
	return arg;
}

static void *post_and_wait(void *arg)
{
	long me = (long)arg;

	pthread_barrier_wait(&together);
	for (long i = 0; i < arg1; i++) {
		while (sem_wait(&sems[me]))
			;
		done++;
		sem_post(&sems[!me]);
	}
	return arg;
}

static void *yield_often(void *arg)
{
	pthread_barrier_wait(&together);
	for (long i = 0; i < arg2; i++)
		sched_yield();
	__atomic_fetch_add(&done, arg2, __ATOMIC_RELAXED);
	return arg;
}

static void *lock_once(void *arg)
{
	pthread_mutex_lock(&lock);
	done++;
	pthread_mutex_unlock(&lock);
	return arg;
}

/* As many threads as the system allows, at most `arg1`, all of which wait for one mutex
 * that is then unlocked. */
static void refusal(void)
{
	pthread_t *th = calloc((size_t)arg1, sizeof(*th));
	long n = 0;
	int64_t t0 = now_ns();

	pthread_mutex_lock(&lock);
	while (n < arg1 && !pthread_create(&th[n], &attributes, lock_once, NULL))
		n++;
	result("threads", (double)n);
	result("create", (double)(now_ns() - t0) / (double)n);
	t0 = now_ns();
	pthread_mutex_unlock(&lock);
	for (long i = 0; i < n; i++)
		pthread_join(th[i], NULL);
	result("join", (double)(now_ns() - t0) / (double)n);
	check(done == n);
	free(th);
}

static long sleepers_up, wakes;

static void *sleep_on(void *arg)
{
	uint64_t seed = rng_seed((uint64_t)(long)arg);

	__atomic_fetch_add(&sleepers_up, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct timespec t = { .tv_nsec = SLEEP_NS +
						 (long)(rng_next(&seed) % SLEEP_NS) };

		while (nanosleep(&t, &t) && errno == EINTR)
			;
		__atomic_fetch_add(&wakes, 1, __ATOMIC_RELAXED);
	}
	return arg;
}

static void pause_s(int s)
{
	struct timespec t = { .tv_sec = s };

	while (nanosleep(&t, &t) && errno == EINTR)
		;
}

static void sleepers(void)
{
	long long own = mem_own(), kernel = mem_kernel();
	pthread_t *th = calloc((size_t)arg1, sizeof(*th));
	int64_t t0 = now_ns(), cpu;
	long woken;

	if (arg2)
		pthread_attr_setstacksize(&attributes, (size_t)arg2 << 10);
	for (long i = 0; i < arg1; i++)
		th[i] = start(sleep_on, i, i);
	while (__atomic_load_n(&sleepers_up, __ATOMIC_RELAXED) < arg1)
		pause_s(1);
	result("start", (double)(now_ns() - t0) / 1e9);
	result("bytes",
	       (double)(mem_own() - own + mem_kernel() - kernel) / (double)arg1);
	cpu = cpu_ns();
	woken = -__atomic_load_n(&wakes, __ATOMIC_RELAXED);
	pause_s(WATCH_S);
	cpu = cpu_ns() - cpu;
	woken += __atomic_load_n(&wakes, __ATOMIC_RELAXED);
	result("wake", (double)cpu / 1e3 / (double)(woken ? woken : 1));
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	for (long i = 0; i < arg1; i++)
		done += !pthread_join(th[i], NULL);
	check(done);
	free(th);
}

static int run(const char *what)
{
	pthread_attr_init(&attributes);
	sem_init(&sems[0], 0, 1);
	sem_init(&sems[1], 0, 0);
	if (!strcmp(what, "create"))
		create(NULL);
	else if (!strcmp(what, "nested"))
		pthread_join(start(create, 0, 0), NULL);
	else if (!strcmp(what, "crowd"))
		crowd();
	else if (!strcmp(what, "mutex"))
		arg2 = arg1, contest(lock_often, 1, arg1);
	else if (!strcmp(what, "contend"))
		contest(lock_often, arg1, arg1 * arg2);
	else if (!strcmp(what, "cond"))
		contest(take_turns, 2, arg1);
	else if (!strcmp(what, "sem"))
		contest(post_and_wait, 2, arg1);
	else if (!strcmp(what, "yield"))
		contest(yield_often, arg1, arg1 * arg2);
	else if (!strcmp(what, "sleepers"))
		sleepers();
	else if (!strcmp(what, "refusal"))
		refusal();
	else
		return 2;
	return 0;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: micro WHAT N [M]\n");
		return 2;
	}
	arg1 = atol(argv[2]);
	arg2 = argc > 3 ? atol(argv[3]) : 0;
	return run(argv[1]);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The C11 threads of <threads.h>: mutexes, conditions, thread-specific storage, sleeps,
 * joins. */
#include <signal.h>
#include <threads.h>

#include "asleep.h"
#include "posix.h"

#define THREADS 8

static mtx_t m;
static cnd_t c;
static tss_t key;
static int turn, gone;

static void on_key(void *value)
{
	__atomic_fetch_add(&gone, *(int *)value, __ATOMIC_RELAXED);
}

static int passes(void *arg)
{
	static int one = 1;
	int me = (int)(intptr_t)arg;

	CHECK(tss_set(key, &one) == thrd_success);
	CHECK(mtx_lock(&m) == thrd_success);
	for (int i = 0; i < 100; i++) {
		while (turn % THREADS != me)
			CHECK(cnd_wait(&c, &m) == thrd_success);
		turn++;
		CHECK(cnd_broadcast(&c) == thrd_success);
	}
	CHECK(mtx_unlock(&m) == thrd_success);
	if (me % 2)
		thrd_exit(-me);
	return -me;
}

static int others(void *arg)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 20);

	(void)arg;
	SAY(mtx_trylock(&m) == thrd_busy);
	SAY(mtx_timedlock(&m, &soon) == thrd_timedout);
	return 7;
}

static int told;

static int tells(void *arg)
{
	__atomic_store_n((int *)arg, 1, __ATOMIC_RELEASE);
	return 0;
}

static void on_signal(int sig)
{
	(void)sig;
}

static int is_woken(void *arg)
{
	struct timespec long_one = { 1000, 0 }, left = { 0, 0 };
	int r;

	pthread_setname_np(pthread_self(), "naps");
	r = thrd_sleep(&long_one, &left);
	return r == -1 && left.tv_sec > 0 && left.tv_sec <= 1000 ? *(int *)arg : 0;
}

static void signal_ends_thrd_sleep(void)
{
	struct timespec bad = { 0, -1 };
	int value = 3, r;
	thrd_t t;

	CHECK(signal(SIGUSR1, on_signal) != SIG_ERR);
	CHECK(thrd_create(&t, is_woken, &value) == thrd_success);
	until_sleeps("naps");
	CHECK(!pthread_kill(t, SIGUSR1));
	CHECK(thrd_join(t, &r) == thrd_success);
	printf("woken: %d\n", r);
	SAY(thrd_sleep(&bad, NULL));
}

int main(void)
{
	struct timespec soon = in_ms(CLOCK_REALTIME, 20), nap = { 0, 1000000 };
	thrd_t t[THREADS];
	mtx_t deep;
	int r;

	CHECK(mtx_init(&m, mtx_timed) == thrd_success);
	CHECK(cnd_init(&c) == thrd_success);
	CHECK(tss_create(&key, on_key) == thrd_success);
	for (int i = 0; i < THREADS; i++)
		CHECK(thrd_create(&t[i], passes, (void *)(intptr_t)i) == thrd_success);
	for (int i = 0; i < THREADS; i++) {
		CHECK(thrd_join(t[i], &r) == thrd_success);
		CHECK(r == -i);
	}
	printf("turns %d, gone %d\n", turn, gone);
	CHECK(mtx_lock(&m) == thrd_success);
	CHECK(thrd_create(&t[0], others, NULL) == thrd_success);
	CHECK(thrd_join(t[0], &r) == thrd_success && r == 7);
	SAY(cnd_timedwait(&c, &m, &soon) == thrd_timedout);
	SAY(cnd_signal(&c));
	CHECK(mtx_unlock(&m) == thrd_success);
	CHECK(mtx_init(&deep, mtx_plain | mtx_recursive) == thrd_success);
	CHECK(mtx_lock(&deep) == thrd_success);
	SAY(mtx_trylock(&deep) == thrd_success);
	SAY(mtx_unlock(&deep));
	SAY(mtx_unlock(&deep));
	mtx_destroy(&deep);
	SAY(thrd_sleep(&nap, NULL));
	RUN(signal_ends_thrd_sleep);
	thrd_yield();
	CHECK(thrd_create(&t[0], tells, &told) == thrd_success);
	SAY(thrd_detach(t[0]));
	while (!__atomic_load_n(&told, __ATOMIC_ACQUIRE))
		thrd_yield();
	cnd_destroy(&c);
	tss_delete(key);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Condition variables: the results of the calls, no lost signal, and a cancelled waiter
 * holds the mutex. */
#include <sched.h>
#include <semaphore.h>
#include <signal.h>

#include "asleep.h"
#include "posix.h"

#define ITEMS 20000
#define SLOTS 8
#define SIDE 6

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;

/* ---- results of the calls ---- */

static void results(clockid_t clock)
{
	struct timespec past = { 1, 0 }, bad = { 1, 1000000000 }, soon, old = { -1, 0 };
	pthread_mutex_t checked = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
	pthread_condattr_t a;
	pthread_cond_t x;

	CHECK(!pthread_condattr_init(&a));
	CHECK(!pthread_condattr_setclock(&a, clock));
	CHECK(!pthread_cond_init(&x, &a));
	SAY(pthread_cond_signal(&x));
	SAY(pthread_cond_broadcast(&x));
	SAY(pthread_cond_wait(&x, &checked));
	CHECK(!pthread_mutex_lock(&checked));
	SAY(pthread_cond_timedwait(&x, &checked, &past));
	SAY(pthread_cond_timedwait(&x, &checked, &old));
	SAY(pthread_cond_timedwait(&x, &checked, &bad));
	soon = in_ms(clock, 20);
	SAY(pthread_cond_timedwait(&x, &checked, &soon));
	soon = in_ms(CLOCK_MONOTONIC, 20);
	SAY(pthread_cond_clockwait(&x, &checked, CLOCK_MONOTONIC, &soon));
	soon = in_ms(CLOCK_REALTIME, 20);
	SAY(pthread_cond_clockwait(&x, &checked, CLOCK_REALTIME, &soon));
	SAY(pthread_cond_clockwait(&x, &checked, CLOCK_BOOTTIME, &soon));
	SAY(pthread_mutex_lock(&checked)); /* EDEADLK: it holds the mutex */
	SAY(pthread_mutex_unlock(&checked));
	SAY(pthread_cond_destroy(&x));
}

/* ---- a small ring buffer between producers and consumers ---- */

static pthread_cond_t not_full = PTHREAD_COND_INITIALIZER,
		      not_empty = PTHREAD_COND_INITIALIZER;
static int used;
static long made, eaten, sum;

static void *produce(void *arg)
{
	for (;;) {
		pthread_mutex_lock(&m);
		while (used == SLOTS)
			pthread_cond_wait(&not_full, &m);
		if (made == ITEMS) {
			pthread_mutex_unlock(&m);
			pthread_cond_broadcast(&not_empty);
			pthread_cond_broadcast(&not_full);
			return arg;
		}
		made++;
		used++;
		pthread_cond_signal(&not_empty);
		pthread_mutex_unlock(&m);
	}
}

static void *consume(void *arg)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 100000);

	for (;;) {
		pthread_mutex_lock(&m);
		while (!used && made < ITEMS)
			CHECK(!pthread_cond_timedwait(&not_empty, &m, &later));
		if (!used) {
			pthread_mutex_unlock(&m);
			return arg;
		}
		used--;
		sum += ++eaten;
		pthread_mutex_unlock(&m);
		pthread_cond_signal(&not_full);
	}
}

static void ring_loses_no_item(void)
{
	pthread_t t[2 * SIDE];

	for (int i = 0; i < SIDE; i++) {
		t[i] = start(produce, NULL);
		t[SIDE + i] = start(consume, NULL);
	}
	consume(NULL);
	for (int i = 0; i < 2 * SIDE; i++)
		finish(t[i]);
	printf("eaten %ld\n", eaten);
}

/* ---- a baton goes round: one signal for each turn ---- */

static int turn;

static void *passes(void *arg)
{
	int me = (int)(intptr_t)arg;

	pthread_mutex_lock(&m);
	for (int i = 0; i < 200; i++) {
		while (turn % (SIDE + 1) != me)
			pthread_cond_wait(&c, &m);
		turn++;
		pthread_cond_broadcast(&c);
	}
	pthread_mutex_unlock(&m);
	return NULL;
}

static void baton_goes_round(void)
{
	pthread_t t[SIDE];

	for (int i = 0; i < SIDE; i++)
		t[i] = start(passes, (void *)(intptr_t)(i + 1));
	passes((void *)0);
	for (int i = 0; i < SIDE; i++)
		finish(t[i]);
	printf("turns %d\n", turn);
}

/* ---- cancellation ---- */

static pthread_mutex_t held = PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP;
static int waiting, had_it;

static void has_it(void *arg)
{
	(void)arg;
	had_it += pthread_mutex_unlock(&held) == 0;
}

static void *waits(void *timed)
{
	struct timespec later = in_ms(CLOCK_REALTIME, 100000);

	pthread_mutex_lock(&held);
	pthread_cleanup_push(has_it, NULL);
	waiting++;
	for (;;)
		if (timed)
			pthread_cond_timedwait(&c, &held, &later);
		else
			pthread_cond_wait(&c, &held);
	pthread_cleanup_pop(0);
	return NULL;
}

static void cancelled_waiters_hold_the_mutex(void)
{
	pthread_t t[SIDE];

	for (int i = 0; i < SIDE; i++)
		t[i] = start(waits, i % 2 ? &waiting : NULL);
	for (int in = 0; in < SIDE;) {
		pthread_mutex_lock(&held);
		in = waiting;
		pthread_mutex_unlock(&held);
		sched_yield();
	}
	pthread_mutex_lock(&held); /* no waiter returns before we unlock */
	for (int i = 0; i < SIDE; i++)
		CHECK(!pthread_cancel(t[i]));
	usleep(1000);
	CHECK(!had_it);
	pthread_mutex_unlock(&held);
	for (int i = 0; i < SIDE; i++)
		CHECK(finish(t[i]) == PTHREAD_CANCELED);
	printf("held the mutex %d\n", had_it);
}

/* ---- a condition variable that is destroyed and freed after one use ---- */

static void *signals(void *arg)
{
	pthread_cond_t *x = arg;

	pthread_mutex_lock(&m);
	turn = -1;
	pthread_cond_signal(x);
	pthread_mutex_unlock(&m);
	return NULL;
}

static void cond_is_freed_after_one_use(void)
{
	for (int i = 0; i < 200; i++) {
		pthread_cond_t *x = malloc(sizeof(*x));
		pthread_t t;

		turn = 0;
		pthread_cond_init(x, NULL);
		t = start(signals, x);
		pthread_mutex_lock(&m);
		while (!turn)
			pthread_cond_wait(x, &m);
		pthread_mutex_unlock(&m);
		CHECK(!pthread_cond_destroy(x));
		memset(x, 0xff, sizeof(*x));
		free(x);
		finish(t);
	}
	puts("once");
}

/* ---- a handler interrupts a wait ---- */

static pthread_cond_t h;
static sem_t goes_on;
static int tells, in_handler;
static bool told, returned;

static void on_usr1(int sig)
{
	(void)sig;
	__atomic_store_n(&in_handler, 1, __ATOMIC_SEQ_CST);
	while (sem_wait(&goes_on))
		;
}

static void on_usr2(int sig)
{
	(void)sig;
	pthread_exit(&h);
}

static void *waits_for_word(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&held);
	pthread_cleanup_push(has_it, NULL);
	tells = (int)syscall(SYS_gettid);
	while (!told)
		pthread_cond_wait(&h, &held);
	pthread_cleanup_pop(1);
	return NULL;
}

/* Whether the thread sleeps, with user threads also whether it waits for `what`. */
static bool sleeps_for(const char *name, const char *what, int task)
{
	char tid[16];

	if (user_thread_known(name))
		return user_thread_waits(name, what);
	snprintf(tid, sizeof(tid), "%d", task);
	return task_sleeps(tid);
}

static pthread_t waiter(const char *name)
{
	pthread_t t;

	tells = told = 0;
	CHECK(!pthread_cond_init(&h, NULL));
	t = start(waits_for_word, (void *)(uintptr_t)name);
	for (bool in = false; !in; sched_yield()) {
		pthread_mutex_lock(&held);
		in = tells && sleeps_for(name, "condition", tells);
		pthread_mutex_unlock(&held);
	}
	return t;
}

/* The wait does not return: the cleanup handlers hold the mutex, and the condition can
 * be destroyed. */
static void handler_ends_it(const char *name, int sig, void *result)
{
	pthread_t t = waiter(name);
	int had = had_it;

	CHECK(!pthread_mutex_lock(&held));
	if (result == PTHREAD_CANCELED)
		CHECK(!pthread_cancel(t));
	else
		CHECK(!pthread_kill(t, sig));
	CHECK(!pthread_mutex_unlock(&held));
	CHECK(finish(t) == result);
	CHECK(had_it == had + 1);
	CHECK(!pthread_cond_destroy(&h));
}

static void *destroys(void *name)
{
	pthread_setname_np(pthread_self(), name);
	pthread_mutex_lock(&m);
	turn = (int)syscall(SYS_gettid);
	pthread_mutex_unlock(&m);
	CHECK(!pthread_cond_destroy(&h));
	returned = true;
	return NULL;
}

/* The woken thread is still in its handler: pthread_cond_destroy sleeps until the
 * handler returns. */
static void destroyed_meanwhile(void)
{
	pthread_t t = waiter("has a handler"), d;
	int task;

	returned = false;
	turn = 0;
	CHECK(!pthread_kill(t, SIGUSR1));
	while (!__atomic_load_n(&in_handler, __ATOMIC_SEQ_CST))
		sched_yield();
	CHECK(!pthread_mutex_lock(&held));
	told = true;
	CHECK(!pthread_cond_broadcast(&h));
	CHECK(!pthread_mutex_unlock(&held));
	d = start(destroys, (void *)(uintptr_t) "destroys");
	do {
		sched_yield();
		pthread_mutex_lock(&m);
		task = turn;
		pthread_mutex_unlock(&m);
	} while (!task || !sleeps_for("destroys", "futex", task));
	CHECK(!returned);
	CHECK(!sem_post(&goes_on));
	finish(d);
	finish(t);
}

static void handlers_interrupt_waits(void)
{
	struct sigaction a = { .sa_handler = on_usr1 };

	CHECK(!sem_init(&goes_on, 0, 0));
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	a.sa_handler = on_usr2;
	CHECK(!sigaction(SIGUSR2, &a, NULL));
	handler_ends_it("is to end", SIGUSR2, &h);
	handler_ends_it("is cancelled", 0, PTHREAD_CANCELED);
	destroyed_meanwhile();
	puts("handlers");
}

int main(void)
{
	results(CLOCK_REALTIME);
	results(CLOCK_MONOTONIC);
	RUN(ring_loses_no_item);
	RUN(baton_goes_round);
	RUN(cancelled_waiters_hold_the_mutex);
	RUN(cond_is_freed_after_one_use);
	RUN(handlers_interrupt_waits);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Private priority-inheritance futexes (FUTEX_LOCK_PI), used by a program with its own
 * locks: the futex word holds the owner's gettid(). */
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>

#include "asleep.h"
#include "posix.h"

enum { THREADS = 8, ROUNDS = 2000 };

static uint32_t word;
static long in, total;
static int tid_of_waiter;

static uint32_t me(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

static long pi(int op, const struct timespec *end)
{
	return syscall(SYS_futex, &word, op | FUTEX_PRIVATE_FLAG, 0, end, NULL, 0);
}

static void lock(void)
{
	uint32_t none = 0;

	if (__atomic_compare_exchange_n(&word, &none, me(), 0, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return;
	while (pi(FUTEX_LOCK_PI, NULL))
		CHECK(errno == EAGAIN || errno == EINTR);
	CHECK((__atomic_load_n(&word, __ATOMIC_RELAXED) & FUTEX_TID_MASK) == me());
}

static void unlock(void)
{
	uint32_t mine = me();

	if (!__atomic_compare_exchange_n(&word, &mine, 0, 0, __ATOMIC_RELEASE,
					 __ATOMIC_RELAXED))
		CHECK(!pi(FUTEX_UNLOCK_PI, NULL));
}

static void *takes_turns(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		lock();
		CHECK(!in++);
		if (i % 16 == 0)
			sched_yield();
		in--;
		total++;
		unlock();
	}
	return arg;
}

static void pi_locks_exclude(void)
{
	pthread_t t[THREADS];

	for (int i = 0; i < THREADS; i++)
		t[i] = start(takes_turns, NULL);
	takes_turns(NULL); /* main takes turns, too */
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	CHECK(!word);
	printf("total %ld\n", total);
}

static void *results(void *arg)
{
	struct timespec past = { 1, 0 }, bad = { 1, 1000000000 };

	FAILS(pi(FUTEX_UNLOCK_PI, NULL), EPERM);
	FAILS(pi(FUTEX_LOCK_PI, &bad), EINVAL);
	if (arg) { /* main holds the lock */
		FAILS(pi(FUTEX_TRYLOCK_PI, NULL), EAGAIN);
		FAILS(pi(FUTEX_LOCK_PI, &past), ETIMEDOUT);
		return NULL;
	}
	CHECK(!pi(FUTEX_TRYLOCK_PI, NULL) && word == me());
	FAILS(pi(FUTEX_TRYLOCK_PI, NULL), EDEADLK);
	FAILS(pi(FUTEX_LOCK_PI, NULL), EDEADLK);
	CHECK(!pi(FUTEX_UNLOCK_PI, NULL) && !word);
	return NULL;
}

static void *waits(void *name)
{
	pthread_setname_np(pthread_self(), name);
	__atomic_store_n(&tid_of_waiter, (int)me(), __ATOMIC_SEQ_CST);
	CHECK(!pi(FUTEX_LOCK_PI, NULL));
	CHECK((word & FUTEX_TID_MASK) == me());
	CHECK(!pi(FUTEX_UNLOCK_PI, NULL));
	return NULL;
}

static bool sleeps(const char *name)
{
	char tid[16];
	int id = __atomic_load_n(&tid_of_waiter, __ATOMIC_SEQ_CST);

	snprintf(tid, sizeof(tid), "%d", id);
	return id && (user_thread_known(name) ? user_thread_waits(name, "futex")
					      : task_sleeps(tid));
}

/* FUTEX_UNLOCK_PI hands the lock to the waiter. */
static void unlock_hands_over(void)
{
	static char name[] = "waits";
	pthread_t t;

	lock();
	finish(start(results, &word));
	t = start(waits, name);
	while (!sleeps(name) ||
	       !(__atomic_load_n(&word, __ATOMIC_SEQ_CST) & FUTEX_WAITERS))
		sched_yield();
	unlock();
	finish(t);
	CHECK(!word);
	puts("handed on");
}

int main(void)
{
	run_in_thread(results);
	RUN(pi_locks_exclude);
	RUN(unlock_hands_over);
	return 0;
}

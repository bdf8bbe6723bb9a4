/* SPDX-License-Identifier: Apache-2.0 */
/* Locks: an account under a mutex, a condition that reports its growth, a barrier at
 * the start, a semaphore that admits three threads at a time. User threads and main, a
 * kernel thread, share them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <uk/uk.h>

#define WORKERS 20
#define ROUNDS 50

static uk_mutex m = UK_MUTEX_INIT;
static uk_cond grown = UK_COND_INIT;
static uk_sem places = UK_SEM_INIT(3);
static uk_barrier start;
static int account;
static int inside, most; /* threads that hold a place of the semaphore; atomics */

static void in_the_narrow_place(void)
{
	int n = __atomic_add_fetch(&inside, 1, __ATOMIC_SEQ_CST), seen = most;

	while (n > seen && !__atomic_compare_exchange_n(
			       &most, &seen, n, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
		;
	uk_yield();
	__atomic_sub_fetch(&inside, 1, __ATOMIC_SEQ_CST);
}

static void *worker(void *arg)
{
	uk_barrier_wait(&start);
	for (int i = 0; i < ROUNDS; i++) {
		uk_sem_wait(&places);
		in_the_narrow_place();
		uk_sem_post(&places);
		uk_mutex_lock(&m);
		account++;
		uk_cond_signal(&grown);
		uk_mutex_unlock(&m);
	}
	return arg;
}

int main(void)
{
	uk_thread *t[WORKERS];
	int r;

	uk_barrier_init(&start, WORKERS + 1);
	for (int i = 0; i < WORKERS; i++)
		if (uk_thread_create(&t[i], NULL, worker, NULL) < 0)
			return 1;
	uk_barrier_wait(&start);
	uk_mutex_lock(&m);
	while (account < WORKERS * ROUNDS)
		uk_cond_wait(&grown, &m);
	printf("account: %d\n", account);
	r = uk_cond_wait_until(&grown, &m, uk_after(10 * UK_MS));
	printf("nobody signals any more: %s\n", r == -ETIMEDOUT ? "timed out" : "?");
	uk_mutex_unlock(&m);
	for (int i = 0; i < WORKERS; i++)
		uk_thread_join(t[i], NULL);
	printf("never more than three inside: %s\n",
	       most >= 1 && most <= 3 ? "yes" : "no");
	return 0;
}

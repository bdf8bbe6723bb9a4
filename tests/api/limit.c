/* SPDX-License-Identifier: Apache-2.0 */
/* The limit of stacks: a creator waits for one, as in the founding documents, or gets
 * -EAGAIN. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

static uint32_t alive, peak, total;

static void *body(void *arg)
{
	uint32_t n = __atomic_add_fetch(&alive, 1, __ATOMIC_SEQ_CST);

	if (n > __atomic_load_n(&peak, __ATOMIC_SEQ_CST))
		__atomic_store_n(&peak, n, __ATOMIC_SEQ_CST);
	uk_sleep(UK_MS / 2);
	__atomic_sub_fetch(&alive, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&total, 1, __ATOMIC_SEQ_CST);
	return arg;
}

static void *creator(void *arg)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;

	a.flags = UK_THREAD_DETACHED;
	for (int i = 0; i < 100; i++)
		CHECK_EQ(uk_thread_create(NULL, &a, body, NULL), 0);
	return arg;
}

static void creators_wait_for_a_free_stack(void)
{
	uk_thread *t[4];

	CHECK_EQ(uk_thread_limit(0), 0);
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, creator, NULL), 0);
	CHECK_EQ(uk_thread_limit(12), 0); /* the four creators count */
	for (int i = 0; i < 4; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	while (__atomic_load_n(&total, __ATOMIC_SEQ_CST) < 400)
		uk_sleep(UK_MS);
}

static uint32_t go;

static void *fills(void *arg)
{
	while (!__atomic_load_n(&go, __ATOMIC_SEQ_CST))
		uk_sleep(UK_MS);
	return arg;
}

static void *opens_the_door(void *arg)
{
	(void)arg;
	usleep(20000);
	__atomic_store_n(&go, 1, __ATOMIC_SEQ_CST);
	return NULL;
}

static void nowait_returns_eagain(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	uk_thread *t[3], *u;
	pthread_t door;

	while (uk_sleep(UK_MS), __atomic_load_n(&alive, __ATOMIC_SEQ_CST))
		;
	CHECK_EQ(uk_thread_limit(0), 0);
	uk_sleep(5 * UK_MS);
	CHECK_EQ(uk_thread_limit(3), 0);
	a.flags = UK_THREAD_NOWAIT;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_thread_create(&t[i], &a, fills, NULL), 0);
	CHECK_EQ(uk_thread_create(&u, &a, fills, NULL), -EAGAIN);
	uk_thread_set_deadline(uk_after(2 * UK_MS));
	CHECK_EQ(uk_thread_create(&u, NULL, fills, NULL), -ETIMEDOUT);
	uk_thread_set_deadline(UK_FOREVER);
	CHECK_EQ(pthread_create(&door, NULL, opens_the_door, NULL), 0);
	CHECK_EQ(uk_thread_create(&u, NULL, fills, NULL), 0); /* this call waits */
	CHECK_EQ(__atomic_load_n(&go, __ATOMIC_SEQ_CST), 1);
	pthread_join(door, NULL);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	CHECK_EQ(uk_thread_join(u, NULL), 0);
	CHECK_EQ(uk_thread_limit(0), 0);
}

int main(void)
{
	RUN(creators_wait_for_a_free_stack);
	RUN(nowait_returns_eagain);
	return 0;
}

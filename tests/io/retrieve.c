/* SPDX-License-Identifier: Apache-2.0 */
/* A deadline or a cancellation comes while an operation is on its way to the reactor of
 * another vp. The thread may by then run on that very vp. The wait ends all the same.
 * (The hostile build makes this moment longer.) */
#include "iotest.h"

#define THREADS 16
#define ROUNDS (UK_HOSTILE ? 300 : 100)

static uk_vp *home, *away;
static int over;  /* atomic */
static int alive; /* atomic: pollers that have not ended */
static int pairs[THREADS][2];

/* A thief that keeps the home vp passing its dispatcher, idle in between. */
static void *ticker(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED))
		uk_sleep(30 * UK_US);
	return arg;
}

/* Keeps the other vp busy, so that threads wait in its queue to be stolen. */
static void *spinner(void *arg)
{
	while (!__atomic_load_n(&over, __ATOMIC_RELAXED)) {
		uk_time end = uk_now() + 200 * UK_US;

		while (uk_now() < end)
			;
		uk_yield();
	}
	return arg;
}

/* Its stream belongs to the home vp. It receives from the other vp, without being
 * pinned. */
static void *poller(void *arg)
{
	int fd = *(int *)arg;
	uint64_t seed = (uint64_t)(uintptr_t)arg | 1;
	char b[8];

	CHECK_EQ(uk_recv_ahead(fd), 0);
	uk_thread_pin(home);
	uk_thread_set_deadline(uk_now() + MS);
	CHECK_EQ(uk_recv(fd, b, sizeof(b), 0), -ETIMEDOUT);
	for (int i = 0; i < ROUNDS; i++) {
		uk_thread_pin(away);
		uk_thread_pin(NULL);
		uk_thread_set_deadline(uk_now() + 10 * UK_US +
				       (uk_time)(rnd(&seed) % 100000));
		CHECK_EQ(uk_recv(fd, b, sizeof(b), 0), -ETIMEDOUT);
		uk_thread_set_deadline(UK_FOREVER);
	}
	__atomic_fetch_sub(&alive, 1, __ATOMIC_RELAXED);
	return NULL;
}

static uk_thread *start(void *(*fn)(void *), uk_vp *vp, void *arg)
{
	uk_thread *t = NULL;
	uk_thread_attr a;

	uk_thread_attr_init(&a);
	a.vp = vp;
	CHECK_EQ(uk_thread_create(&t, &a, fn, arg), 0);
	return t;
}

static void a_deadline_ends_an_operation_that_is_not_submitted_yet(void)
{
	uk_thread *t[THREADS], *helper[3];

	alive = THREADS;
	helper[0] = start(ticker, home, NULL);
	helper[1] = start(spinner, away, NULL);
	helper[2] = start(spinner, away, NULL);
	for (int i = 0; i < THREADS; i++) {
		make_unix(pairs[i], SOCK_STREAM);
		t[i] = spawn(poller, pairs[i]);
	}
	for (int i = 0; i < THREADS; i++)
		join(t[i]);
	__atomic_store_n(&over, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 3; i++)
		join(helper[i]);
	CHECK_EQ(alive, 0);
}

int main(void)
{
	io_test_init(HANG_SEC);
	CHECK_EQ(uk_init(), 0);
	home = uk_vpset_vp(uk_vpset_default(), 0);
	away = uk_vpset_vp(uk_vpset_default(), 1);
	if (!away) {
		puts("needs two vps");
		return 77;
	}
	USER(a_deadline_ends_an_operation_that_is_not_submitted_yet);
	return 0;
}

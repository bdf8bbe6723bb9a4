/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of a group: their results are completions, the first error is found, and
 * cancellation reaches them. */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

enum { MANY = 200 };

static uk_group *g;
static uk_sem go, begun;

static void group(unsigned depth)
{
	uk_sem_init(&go, 0);
	uk_sem_init(&begun, 0);
	CHECK_EQ(uk_group_create(&g, depth), 0);
}

static uint64_t spawn(int64_t (*fn)(void *), intptr_t arg)
{
	uint64_t id = 0;

	CHECK_EQ(uk_group_spawn(g, &id, NULL, fn, (void *)arg), 0);
	CHECK(id);
	return id;
}

static int64_t returns(void *arg)
{
	return (intptr_t)arg;
}

static int64_t waits(void *arg)
{
	int r;

	uk_sem_post(&begun);
	r = uk_sem_wait(&go);
	return r ? r : (intptr_t)arg;
}

static void a_result_is_a_completion(void)
{
	uk_completion e[MANY];
	uint64_t sum = 0;

	group(MANY);
	for (intptr_t i = 0; i < MANY; i++)
		spawn(returns, i);
	CHECK_EQ(uk_group_wait_all(g, e, MANY, UK_FOREVER), MANY);
	for (int i = 0; i < MANY; i++) {
		CHECK_EQ((uint64_t)e[i].res, e[i].tag);
		sum += e[i].tag;
	}
	CHECK_EQ(sum, MANY * (MANY - 1) / 2);
	CHECK_EQ(uk_group_wait_any(g, e, 1, 0), 0);
	uk_group_destroy(g);
}

static void threads_and_operations_share_a_group(void)
{
	uk_op o = UK_OP(.kind = UK_OP_TIMEOUT, .deadline = uk_after(UK_MS), .tag = 9);
	uk_completion e[2];

	group(2);
	spawn(waits, 5);
	CHECK_EQ(uk_group_submit(g, &o, 1), 1);
	CHECK_EQ(uk_group_spawn(g, NULL, NULL, returns, NULL), -EAGAIN);
	CHECK_EQ(uk_group_wait_any(g, e, 2, UK_FOREVER), 1);
	CHECK_EQ(e[0].tag, 9);
	CHECK_EQ(uk_group_wait_any(g, e, 2, 0), -ETIMEDOUT);
	uk_sem_post(&go);
	CHECK_EQ(uk_group_wait_all(g, e, 2, UK_FOREVER), 1);
	CHECK_EQ(e[0].res, 5);
	uk_group_destroy(g);
}

static void join_returns_the_first_error(void)
{
	group(MANY);
	CHECK_EQ(uk_group_join(g, 0, UK_FOREVER), 0); /* nothing is in flight */
	for (int i = 0; i < MANY; i++)
		spawn(returns, i);
	CHECK_EQ(uk_group_join(g, 0, UK_FOREVER), 0);
	spawn(waits, 1);
	spawn(returns, -EDOM);
	/* the error is kept until the last one has ended */
	CHECK_EQ(uk_group_join(g, 0, uk_after(20 * UK_MS)), -ETIMEDOUT);
	uk_sem_post(&go);
	CHECK_EQ(uk_group_join(g, 0, UK_FOREVER), -EDOM);
	CHECK_EQ(uk_group_join(g, 0, UK_FOREVER), 0);
	CHECK_EQ(uk_group_join(g, 2, UK_FOREVER), -EINVAL);
	uk_group_destroy(g);
}

static void the_first_error_cancels_the_rest_if_asked(void)
{
	group(MANY);
	for (int i = 0; i < MANY - 1; i++)
		spawn(waits, i);
	spawn(returns, -EDOM);
	CHECK_EQ(uk_group_join(g, UK_GROUP_CANCEL, UK_FOREVER), -EDOM);
	uk_group_destroy(g);
}

static void threads_are_cancelled_one_by_one_and_together(void)
{
	uk_completion e;
	uint64_t id;

	group(MANY);
	for (int i = 0; i < 20; i++) {
		id = spawn(waits, 1);
		if (i & 1) /* it has begun; else it perhaps never runs */
			uk_sem_wait(&begun);
		CHECK_EQ(uk_group_cancel(g, id), 0);
		CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
		CHECK_EQ(e.res, -ECANCELED);
		CHECK_EQ(e.id, id);
		CHECK_EQ(uk_group_cancel(g, id), -ENOENT);
	}
	for (int i = 0; i < MANY; i++)
		spawn(waits, 1);
	CHECK_EQ(uk_group_cancel(g, UK_GROUP_ALL), 0);
	CHECK_EQ(uk_group_join(g, 0, UK_FOREVER), -ECANCELED);
	for (int i = 0; i < MANY; i++)
		spawn(waits, 1);
	uk_group_destroy(g); /* cancels them */
}

static int64_t exits(void *arg)
{
	uk_thread_exit(arg);
	return 0;
}

static void a_thread_may_exit(void)
{
	uk_completion e;

	group(1);
	spawn(exits, 0);
	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
	CHECK_EQ(e.res, -ECANCELED);
	uk_group_destroy(g);
}

static void attributes_hold_and_bad_ones_take_no_place(void)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;

	group(1);
	a.flags = 1u << 20;
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_group_spawn(g, NULL, &a, returns, NULL), -EINVAL);
	CHECK_EQ(uk_group_spawn(g, NULL, NULL, NULL, NULL), -EINVAL);
	a.flags = UK_THREAD_LIGHT;
	CHECK_EQ(uk_group_spawn(g, NULL, &a, returns, (void *)3), 0);
	CHECK_EQ(uk_group_join(g, 0, UK_FOREVER), 0);
	uk_group_destroy(g);
}

static void *spawns(void *arg)
{
	(void)arg;
	CHECK_EQ(uk_sem_wait(&begun), 0);
	return (void *)(intptr_t)uk_group_spawn(g, NULL, NULL, returns, NULL);
}

static void *waits_for_any(void *arg)
{
	uk_completion e;

	CHECK_EQ(uk_sem_wait(&go), 0);
	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 0);
	return arg;
}

static int waits_on(const uk_thread_info *i, void *what)
{
	return !strcmp(i->waits, what);
}

/* A thread that is being made counts as in flight. When it cannot be made, a thread
 * that waits for it is told. */
static void a_thread_that_cannot_be_made_is_not_waited_for(void)
{
	char limit[] = "stack", completion[] = "io";
	uk_thread *maker, *waiter;
	void *r;

	group(2);
	CHECK_EQ(uk_thread_create(&maker, NULL, spawns, NULL), 0);
	CHECK_EQ(uk_thread_create(&waiter, NULL, waits_for_any, NULL), 0);
	CHECK_EQ(uk_thread_limit(2), 0);
	CHECK_EQ(uk_sem_post(&begun), 0);
	UNTIL(uk_thread_each(waits_on, limit, sizeof(uk_thread_info)));
	CHECK_EQ(uk_sem_post(&go), 0);
	UNTIL(uk_thread_each(waits_on, completion, sizeof(uk_thread_info)));
	CHECK_EQ(uk_thread_cancel(maker), 0);
	CHECK_EQ(uk_thread_join(maker, &r), 0);
	CHECK_EQ((intptr_t)r, -ECANCELED);
	CHECK_EQ(uk_thread_join(waiter, NULL), 0);
	CHECK_EQ(uk_thread_limit(0), 0);
	uk_group_destroy(g);
}

/* In the child its request has ended, and the thread must not end it again. */
static int64_t forks(void *arg)
{
	uk_completion e;
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
		CHECK_EQ(e.res, -ECANCELED);
		CHECK_EQ(uk_group_spawn(g, NULL, NULL, returns, (void *)4), 0);
		CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
		CHECK_EQ(e.res, 4);
		return 8;
	}
	CHECK_EQ(uk_waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
	return (intptr_t)arg;
}

static void a_thread_may_fork(void)
{
	uk_completion e;

	group(2);
	spawn(forks, 7);
	CHECK_EQ(uk_group_wait_any(g, &e, 1, UK_FOREVER), 1);
	CHECK_EQ(e.res, 7);
	uk_group_destroy(g);
}

static void *root(void *arg)
{
	RUN(a_result_is_a_completion);
	RUN(threads_and_operations_share_a_group);
	RUN(join_returns_the_first_error);
	RUN(the_first_error_cancels_the_rest_if_asked);
	RUN(threads_are_cancelled_one_by_one_and_together);
	RUN(a_thread_may_exit);
	RUN(attributes_hold_and_bad_ones_take_no_place);
	if (!SANITIZED)
		RUN(a_thread_may_fork);
	return arg;
}

int main(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, root, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	puts("the same on a kernel thread:");
	root(NULL);
	RUN(a_thread_that_cannot_be_made_is_not_waited_for);
	return 0;
}

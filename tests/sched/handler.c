/* SPDX-License-Identifier: Apache-2.0 */
/* Law 3: a handler that interrupted user code of a user thread is switched nowhere, and what it
 * waits for holds up nobody. tests/model/signal.pml has the proof. */
#include <signal.h>
#include <unistd.h>
#include <uk/uk.h>

#include "base/sys.h"
#include "sched/handoff.h"
#include "test.h"

static uk_vpset *set; /* one vp */
static uk_sem sem;
static int gate[2];
static uint32_t runs, stop, posts_done;

static uk_thread *start(void *(*fn)(void *))
{
	uk_attr a = UK_ATTR_INIT;
	uk_thread *t;

	a.set = set;
	CHECK_EQ(uk_thread_create(&t, &a, fn, NULL), 0);
	return t;
}

static void *has_the_vp(void *arg)
{
	store_release(&runs, 1);
	while (!load_acquire(&stop))
		;
	return arg;
}

static void on_signal(int sig UNUSED)
{
	int tid = sys_gettid();

	for (int i = 0; i < 3; i++) {
		/* or a post has nobody to wake, and does not enter */
		while (!(load_acquire((const uint64_t *)(const void *)&sem) >> 32))
			;
		CHECK_EQ(uk_sem_post(&sem), 0);
		CHECK_EQ(sys_gettid(), tid);
	}
	store_release(&posts_done, 1);
}

/* Its vp is gone, and somebody computes there. */
static void *is_interrupted(void *arg)
{
	char c;

	CHECK_EQ(sys3(SYS_read, gate[0], &c, 1), 1);
	CHECK_EQ(raise(SIGURG), 0);
	return arg;
}

static void a_handler_stays_on_its_carrier(void)
{
	struct sigaction sa = { .sa_handler = on_signal };
	uk_thread *t, *o;

	CHECK_EQ(sigaction(SIGURG, &sa, NULL), 0);
	store_release(&runs, 0);
	CHECK_EQ(uk_sem_init(&sem, 0), 0);
	/* nobody takes the vp from o: who waits for it in the handler waits for us */
	CHECK_EQ(uk_set_slice(set, 3600 * NS_PER_SEC), 0);
	t = start(is_interrupted);
	o = start(has_the_vp);
	while (!load_acquire(&runs)) /* so t has lost the vp */
		usleep(100);
	CHECK_EQ(write(gate[1], "x", 1), 1);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_sem_wait(&sem), 0);
	store_release(&stop, 1);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK(load_acquire(&posts_done));
	CHECK_EQ(uk_thread_join(o, NULL), 0);
}

/* It has said that it is outside (depth), but not yet its carrier (exit_user). */
static void *waits_in_a_handler(void *arg)
{
	struct timespec ms = { 0, NS_PER_MS };
	struct uk_thread *t = rt_enter(), *was;

	t->depth = 0;
	was = handler_begin();
	CHECK(was == t);
	while (!load_acquire(&runs))
		sys2(SYS_nanosleep, &ms, NULL);
	handler_end(was);
	handoff_out(t->carrier);
	return arg;
}

static void *runs_meanwhile(void *arg)
{
	store_release(&runs, 1);
	return arg;
}

static void who_waits_in_one_that_came_at_the_door_loses_the_vp(void)
{
	uk_thread *t, *o;

	t = start(waits_in_a_handler);
	o = start(runs_meanwhile);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK_EQ(uk_thread_join(o, NULL), 0);
}

int main(void)
{
	CHECK_EQ(pipe(gate), 0);
	CHECK_EQ(uk_vpset_create(&set, "one", 1, NULL, 0), 0);
	RUN(who_waits_in_one_that_came_at_the_door_loses_the_vp);
	if (SANITIZED)
		SKIP("the sanitizer holds signals back until a call that it knows");
	RUN(a_handler_stays_on_its_carrier);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A signal handler that interrupts user code stays on its kernel thread, and a handler
 * that waits delays no other thread. Modelled in tests/model/signal.pml. */
#include <signal.h>
#include <unistd.h>
#include <uk/uk.h>

#include "base/sys.h"
#include "sched/handoff.h"
#include "test.h"

static uk_vpset *set; /* has one vp */
static uk_sem sem;
static int gate[2];
static uint32_t runs, stop, posts_done;

static uk_thread *start(void *(*fn)(void *))
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
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
		/* without a waiter, uk_sem_post would not enter the runtime */
		while (!(load_acquire((const uint64_t *)(const void *)&sem) >> 32))
			;
		CHECK_EQ(uk_sem_post(&sem), 0);
		CHECK_EQ(sys_gettid(), tid);
	}
	store_release(&posts_done, 1);
}

/* Before the signal comes, the thread loses its vp to a thread that computes. */
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
	/* nothing takes the vp from o, so a handler that waits for it waits for us */
	CHECK_EQ(uk_vpset_set_slice(set, 3600 * NS_PER_SEC), 0);
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

/* The handler interrupts a thread that leaves the runtime: depth is 0 already, but the
 * carrier is still marked as inside (exit_user). */
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

static void a_handler_that_waits_while_its_thread_leaves_the_runtime_loses_the_vp(void)
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
	RUN(a_handler_that_waits_while_its_thread_leaves_the_runtime_loses_the_vp);
	if (SANITIZED)
		SKIP("the sanitizer delays signals until a call that it intercepts");
	RUN(a_handler_stays_on_its_carrier);
	return 0;
}

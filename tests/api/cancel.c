/* SPDX-License-Identifier: Apache-2.0 */
/* Cancellation and the thread's own deadline end every kind of wait. Nothing leaks. */
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <uk/uk.h>

#include "test.h"

static uk_mutex held = UK_MUTEX_INIT, m2 = UK_MUTEX_INIT;
static uk_cond cond = UK_COND_INIT;
static uk_sem sem = UK_SEM_INIT(0);
static uk_barrier barrier;
static uk_rwlock rw = UK_RWLOCK_INIT;
static uk_chan *chan;
static uint32_t word = 7;
static int pipe_fd[2], sock_fd[2];
static uk_thread *sleeper;

static int w_sleep(void)
{
	return uk_sleep(UK_FOREVER / 4);
}
static int w_mutex(void)
{
	return uk_mutex_lock(&held);
}
static int w_cond(void)
{
	int r;

	uk_mutex_lock(&m2);
	r = uk_cond_wait(&cond, &m2);
	CHECK_EQ(uk_mutex_unlock(&m2), 0); /* it holds the mutex in any case */
	return r;
}
static int w_sem(void)
{
	return uk_sem_wait(&sem);
}
static int w_barrier(void)
{
	return uk_barrier_wait(&barrier);
}
static int w_rd(void)
{
	return uk_rwlock_rdlock(&rw);
}
static int w_wr(void)
{
	return uk_rwlock_wrlock(&rw);
}
static int w_futex(void)
{
	return uk_futex_wait(&word, 7, UK_FOREVER);
}
static int w_chan(void)
{
	int v;

	return uk_chan_recv(chan, &v);
}
static int w_read(void)
{
	char c;

	return (int)uk_read(pipe_fd[0], &c, 1);
}
static int w_recv(void)
{
	char c;

	return (int)uk_recv(sock_fd[0], &c, 1, 0);
}
static int w_join(void)
{
	return uk_thread_join(sleeper, NULL);
}

static int (*const waits[])(void) = { w_sleep,   w_mutex, w_cond, w_sem,
				      w_barrier, w_rd,    w_wr,   w_futex,
				      w_chan,    w_read,  w_recv, w_join };
#define NWAITS (sizeof(waits) / sizeof(waits[0]))

static void *run_wait(void *arg)
{
	return (void *)(intptr_t)waits[(intptr_t)arg]();
}

static void *run_wait_with_deadline(void *arg)
{
	CHECK_EQ(uk_thread_set_deadline(uk_after(10 * UK_MS)), UK_FOREVER);
	return (void *)(intptr_t)waits[(intptr_t)arg]();
}

/* The inner deadline does not extend the outer one. */
static void a_deadline_holds_to_the_end_of_its_block(void)
{
	uk_time far = uk_after(3600 * UK_SEC);

	{
		UK_DEADLINE(uk_after(5 * UK_MS));
		{
			UK_DEADLINE(far);
			CHECK_EQ(w_sem(), -ETIMEDOUT);
		}
		CHECK_EQ(w_sem(), -ETIMEDOUT);
	}
	{
		UK_DEADLINE(far);
		{
			UK_DEADLINE(uk_after(UK_MS));
			CHECK_EQ(w_sem(), -ETIMEDOUT);
		}
		CHECK_EQ(uk_thread_set_deadline(far), far);
	}
	CHECK_EQ(uk_thread_set_deadline(UK_FOREVER), UK_FOREVER);
}

static void *run_wait_cancelled_before(void *arg)
{
	int r;

	CHECK_EQ(uk_thread_cancel(uk_thread_self()), 0);
	CHECK(uk_thread_is_cancelled());
	r = waits[(intptr_t)arg]();
	CHECK_EQ(r, -ECANCELED);
	CHECK_EQ(waits[(intptr_t)arg](), -ECANCELED); /* each later call, too */
	CHECK_EQ(uk_thread_cancel_clear(), 1);
	CHECK(!uk_thread_is_cancelled());
	CHECK_EQ(uk_sleep(UK_MS / 10), 0);
	return (void *)(intptr_t)r;
}

static void cancel_ends_every_wait(void)
{
	for (size_t i = 0; i < NWAITS; i++) {
		uk_thread *t;
		void *r;

		CHECK_EQ(uk_thread_create(&t, NULL, run_wait, (void *)i), 0);
		uk_sleep(3 * UK_MS);
		CHECK_EQ(uk_thread_cancel(t), 0);
		CHECK_EQ(uk_thread_join(t, &r), 0);
		if ((intptr_t)r != -ECANCELED)
			fprintf(stderr, "wait %zu: %ld\n", i, (long)(intptr_t)r);
		CHECK_EQ((intptr_t)r, -ECANCELED);
	}
}

static void deadline_ends_every_wait(void)
{
	for (size_t i = 0; i < NWAITS; i++) {
		uk_thread *t;
		void *r;

		CHECK_EQ(uk_thread_create(&t, NULL, run_wait_with_deadline, (void *)i),
			 0);
		CHECK_EQ(uk_thread_join(t, &r), 0);
		if ((intptr_t)r != -ETIMEDOUT)
			fprintf(stderr, "wait %zu: %ld\n", i, (long)(intptr_t)r);
		CHECK_EQ((intptr_t)r, -ETIMEDOUT);
	}
}

/* A call that need not wait succeeds, one that would wait times out. */
static void *run_without_waiting(void *self)
{
	struct sockaddr_un name = { .sun_family = AF_UNIX };
	int l = socket(AF_UNIX, SOCK_STREAM, 0), c = socket(AF_UNIX, SOCK_STREAM, 0);
	int file = memfd_create("deadline", 0), a;
	char b[2] = "x";

	CHECK_EQ(bind(l, (struct sockaddr *)&name, sizeof(sa_family_t)), 0);
	CHECK_EQ(listen(l, 1), 0);
	CHECK_EQ(getsockname(l, (struct sockaddr *)&name, &(socklen_t){ sizeof(name) }),
		 0);
	CHECK_EQ(uk_thread_set_deadline(0), UK_FOREVER);
	for (size_t i = 0; i < NWAITS; i++)
		if (self ||
		    (waits[i] != w_mutex && waits[i] != w_wr && waits[i] != w_rd))
			CHECK_EQ(waits[i](), -ETIMEDOUT);
	CHECK_EQ(uk_accept(l, NULL, NULL), -ETIMEDOUT);
	CHECK_EQ(uk_connect(c, (struct sockaddr *)&name, sizeof(sa_family_t) + 6), 0);
	a = uk_accept(l, NULL, NULL);
	CHECK(a >= 0);
	CHECK_EQ(uk_read(a, b, 1), -ETIMEDOUT);
	for (int i = 0; i < 20; i++) {
		CHECK_EQ(uk_send(c, b, 1, 0), 1);
		CHECK_EQ(uk_wait_fd(a, POLLIN, UK_FOREVER), POLLIN);
		CHECK_EQ(uk_recv(a, b, 2, 0), 1);
		CHECK_EQ(uk_write(c, b, 1), 1);
		CHECK_EQ(uk_read(a, b, 2), 1);
		CHECK_EQ(uk_pwrite(file, b, 1, i), 1);
		CHECK_EQ(uk_pread(file, b, 1, i), 1);
	}
	CHECK_EQ(uk_fsync(file), 0);
	CHECK_EQ(uk_close(a) + uk_close(c) + uk_close(l) + uk_close(file), 0);
	CHECK_EQ(uk_thread_set_deadline(UK_FOREVER), 0);
	return self;
}

static void a_deadline_of_0_lets_no_call_wait(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, run_without_waiting, &t), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	run_without_waiting(NULL); /* main, which holds two of the locks */
}

static void a_cancelled_thread_does_not_begin_to_wait(void)
{
	for (size_t i = 0; i < NWAITS; i++) {
		uk_thread *t;

		CHECK_EQ(
		    uk_thread_create(&t, NULL, run_wait_cancelled_before, (void *)i),
		    0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
	}
}

/* A canceller races with the waker. Each wait ends once, with a valid result. */
static uint32_t rounds_done;
static void *race_wait(void *arg)
{
	(void)arg;
	for (int i = 0; i < 2000; i++) {
		int r = uk_sem_wait(&sem);

		CHECK(r == 0 || r == -ECANCELED);
		uk_thread_cancel_clear();
		__atomic_fetch_add(&rounds_done, 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}

static void cancel_races_with_wake(void)
{
	uk_thread *t;

	CHECK_EQ(uk_thread_create(&t, NULL, race_wait, NULL), 0);
	for (uint32_t i = 0; __atomic_load_n(&rounds_done, __ATOMIC_SEQ_CST) < 2000;
	     i++) {
		if (i & 1)
			uk_thread_cancel(t);
		else
			uk_sem_post(&sem);
		if ((i & 63) == 0)
			uk_yield();
	}
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	while (uk_sem_trywait(&sem) == 0)
		;
}

static void *long_sleep(void *arg)
{
	uk_sleep(UK_FOREVER / 4);
	return arg;
}

int main(void)
{
	uk_stats a, b;

	CHECK_EQ(pipe(pipe_fd), 0);
	CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, sock_fd), 0);
	CHECK_EQ(uk_chan_create(&chan, sizeof(int), 1), 0);
	CHECK_EQ(uk_barrier_init(&barrier, 2), 0);
	CHECK_EQ(uk_mutex_lock(&held), 0);
	CHECK_EQ(uk_rwlock_wrlock(&rw), 0);
	CHECK_EQ(uk_thread_create(&sleeper, NULL, long_sleep, NULL), 0);
	RUN(cancel_ends_every_wait);
	RUN(deadline_ends_every_wait);
	RUN(a_deadline_of_0_lets_no_call_wait);
	RUN(a_deadline_holds_to_the_end_of_its_block);
	RUN(a_cancelled_thread_does_not_begin_to_wait);
	RUN(cancel_races_with_wake);
	CHECK_EQ(uk_thread_cancel(sleeper), 0);
	CHECK_EQ(uk_thread_join(sleeper, NULL), 0);
	CHECK_EQ(uk_mutex_unlock(&held), 0);
	CHECK_EQ(uk_rwlock_unlock(&rw), 0);
	/* nothing leaks: the same waits again need few new stacks */
	CHECK_EQ(uk_mutex_lock(&held), 0);
	CHECK_EQ(uk_rwlock_wrlock(&rw), 0);
	CHECK_EQ(uk_thread_create(&sleeper, NULL, long_sleep, NULL), 0);
	uk_stats_get(&a, sizeof(a));
	for (int i = 0; i < 3; i++)
		cancel_ends_every_wait();
	uk_stats_get(&b, sizeof(b));
	CHECK(b.stacks <= a.stacks + 64);
	return 0;
}

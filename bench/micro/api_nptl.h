/* SPDX-License-Identifier: Apache-2.0 */
/* api_nptl.h - workloads.c on kernel threads (glibc): nptl WORKLOAD N [M]. */
#ifndef API_NPTL_H
#define API_NPTL_H

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include "bench.h"

#define OWN_WORDS 0
#define USAGE ""
#define KERNEL_THREADS 1
#define FEW 0
#define SMALL_STACK 0 /* run() sets the size for all */

typedef pthread_t thread;
typedef pthread_mutex_t mutex;
typedef int pipe_end;
struct seat {
	_Alignas(64) sem_t turn;
};
struct condition {
	pthread_mutex_t lock;
	pthread_cond_t cond;
};

#define condition_enter(c) pthread_mutex_lock(&(c)->lock)
#define condition_wait(c) pthread_cond_wait(&(c)->cond, &(c)->lock)
#define condition_wake_all(c) pthread_cond_broadcast(&(c)->cond)
#define condition_leave(c) pthread_mutex_unlock(&(c)->lock)
#define yield_now sched_yield
#define join(t) pthread_join(t, NULL)
#define tally(count) add(count, 1)
/* Threads wait until the last one exists: it would have to share the processor with those
 * that already yield. */
#define line_up_init(n) pthread_barrier_init(&start, NULL, (unsigned)(n))
#define line_up() pthread_barrier_wait(&start)
#define seat_init(s) sem_init(&(s)->turn, 0, 0)
#define seat_call(s) sem_post(&(s)->turn)
#define mutex_init(m) pthread_mutex_init(m, NULL)
#define mutex_lock pthread_mutex_lock
#define mutex_unlock pthread_mutex_unlock
#define pipe_read(p, c) read(p, c, 1)
#define pipe_write(p, c) write(p, c, 1)
#define pipe_close close

static pthread_attr_t attr;
static pthread_barrier_t start;

static inline void condition_init(struct condition *c)
{
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->cond, NULL);
}

static inline void condition_fini(struct condition *c)
{
	pthread_cond_destroy(&c->cond);
	pthread_mutex_destroy(&c->lock);
}

#include "api_cells.h"

static inline int try_spawn(thread *t, void *(*fn)(void *), void *arg, size_t stack)
{
	thread detached;
	(void)stack;
	int e = pthread_create(t ? t : &detached, &attr, fn, arg);
	if (!e && !t)
		pthread_detach(detached);
	return e;
}

static inline void add(long *count, long n)
{
	__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
}

static inline void seat_wait(struct seat *s, int with_deadline)
{
	struct timespec ts;
	if (with_deadline) {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		ts.tv_sec += FAR_NS / 1000000000;
	}
	if (with_deadline ? sem_clockwait(&s->turn, CLOCK_MONOTONIC, &ts)
			  : sem_wait(&s->turn))
		die("sem_wait", errno);
}

static inline void pipe_open(pipe_end p[2])
{
	if (pipe(p))
		die("pipe", errno);
}

static inline int64_t oversleep(int64_t ns)
{
	int64_t due = now_ns() + ns;
	struct timespec ts = { due / 1000000000, due % 1000000000 };
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
	return now_ns() - due;
}

static inline void run(char **own, void (*fn)(void))
{
	(void)own;
	pthread_attr_init(&attr);
	/* The smallest stack that glibc allows: the kernel threads' best case. */
	pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN);
	condition_init(&gate_condition);
	fn();
}

#endif

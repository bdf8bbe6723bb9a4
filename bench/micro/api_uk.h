/* SPDX-License-Identifier: Apache-2.0 */
/* api_uk.h - workloads.c on ukthreads, public API only: uk light|full WORKLOAD N [M].
 *
 * UK_VPS chooses the vps. The kernel thread that runs main() is foreign to the runtime, so
 * everything measured runs in a root user thread. */
#ifndef API_UK_H
#define API_UK_H

#include <errno.h>
#include <uk/uk.h>
#include "bench.h"

#define OWN_WORDS 1
#define USAGE "light|full "
#define KERNEL_THREADS 0
#define FEW 1000
#define SMALL_STACK ((size_t)16 << 10)

typedef uk_thread *thread;
typedef uk_chan *chan;
typedef uk_mutex mutex;
typedef int pipe_end;
struct seat {
	_Alignas(64) uk_sem turn;
};

#define yield_now uk_yield
#define line_up_init(n) (void)(n) /* no thread is preempted */
#define line_up() (void)0
#define seat_init(s) uk_sem_init(&(s)->turn, 0)
#define seat_call(s) uk_sem_post(&(s)->turn)
#define chan_free uk_chan_destroy
#define mutex_init(m) (*(m) = (mutex)UK_MUTEX_INIT)
#define mutex_lock uk_mutex_lock
#define mutex_unlock uk_mutex_unlock
#define pipe_open(p) must("pipe", pipe(p) ? -errno : 0)
#define pipe_read(p, c) uk_read(p, c, 1)
#define pipe_write(p, c) uk_write(p, c, 1)
#define pipe_close uk_close

static unsigned base_flags; /* UK_THREAD_LIGHT or 0 */

static inline void must(const char *call, int e)
{
	if (e < 0)
		die(call, e);
}

static inline int try_spawn(thread *t, void *(*fn)(void *), void *arg, size_t stack)
{
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	a.flags = t ? base_flags : base_flags | UK_THREAD_DETACHED;
	a.stack_size = stack;
	return -uk_thread_create(t, &a, fn, arg);
}

static inline void join(thread t)
{
	must("uk_thread_join", uk_thread_join(t, NULL));
}

static inline void add(long *count, long n)
{
	__atomic_fetch_add(count, n, __ATOMIC_RELAXED);
}

static inline void tally(long *count)
{
	++*count;
}

static _Alignas(64) uint32_t gate;
static _Alignas(64) uint32_t arrived;

static inline void gate_close(void)
{
	gate = arrived = 0;
}

static inline void gate_wait(void)
{
	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
		uk_futex_wait(&gate, 0, UK_FOREVER);
}

static inline long gate_arrived(void)
{
	return __atomic_load_n(&arrived, __ATOMIC_RELAXED);
}

static inline void gate_open(void)
{
	__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
	uk_futex_wake(&gate, INT32_MAX);
}

static inline void seat_wait(struct seat *s, int with_deadline)
{
	must("uk_sem_wait", with_deadline
				? uk_sem_wait_until(&s->turn, uk_now() + FAR_NS)
				: uk_sem_wait(&s->turn));
}

static inline chan chan_new(void)
{
	chan c;
	must("uk_chan_create", uk_chan_create(&c, sizeof(long), 0));
	return c;
}

static inline void chan_send(chan c, long v)
{
	must("uk_chan_send", uk_chan_send(c, &v));
}

static inline long chan_recv(chan c)
{
	long v;
	must("uk_chan_recv", uk_chan_recv(c, &v));
	return v;
}

static inline int64_t oversleep(int64_t ns)
{
	int64_t due = uk_now() + ns;
	uk_sleep_until(due);
	return uk_now() - due;
}

static void (*root_fn)(void);

static void *root(void *p)
{
	root_fn();
	return p;
}

static inline void run(char **own, void (*fn)(void))
{
	thread t;
	base_flags = strcmp(own[0], "light") ? 0 : UK_THREAD_LIGHT;
	root_fn = fn;
	must("uk_init", uk_init());
	must("uk_thread_create", -try_spawn(&t, root, NULL, 0));
	join(t);
}

#endif

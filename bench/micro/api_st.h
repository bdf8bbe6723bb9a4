/* SPDX-License-Identifier: Apache-2.0 */
/* api_st.h - workloads.c on State Threads 1.9 (one processor only): st WORKLOAD N [M].
 * ST 1.9 has no yield; st_usleep(0) is its documented way. It has no channels: a cell
 * with a condition variable replaces them, as in its own examples. */
#ifndef API_ST_H
#define API_ST_H

#include <errno.h>
#include <st.h>
#include "bench.h"

#define OWN_WORDS 0
#define USAGE ""
#define KERNEL_THREADS 0
#define FEW 0
#define SMALL_STACK ((size_t)16 << 10)

typedef st_thread_t thread;
typedef st_mutex_t mutex;
typedef st_netfd_t pipe_end;
struct seat {
	_Alignas(64) st_cond_t cond;
	int turn;
};
/* No thread is preempted, so there is nothing to lock. */
struct condition {
	st_cond_t cond;
};

#define condition_init(c) ((c)->cond = st_cond_new())
#define condition_enter(c) (void)(c)
#define condition_wait(c) st_cond_wait((c)->cond)
#define condition_wake_all(c) st_cond_broadcast((c)->cond)
#define condition_leave(c) (void)(c)
#define condition_fini(c) st_cond_destroy((c)->cond)
#define join(t) st_thread_join(t, NULL)
#define yield_now() st_usleep(0)
#define add(count, n) (void)(*(count) += (n))
#define tally(count) (void)++*(count)
#define line_up_init(n) (void)(n)
#define line_up() (void)0
#define mutex_init(m) (*(m) = st_mutex_new())
#define mutex_lock(m) st_mutex_lock(*(m))
#define mutex_unlock(m) st_mutex_unlock(*(m))
#define pipe_read(p, c) st_read(p, c, 1, ST_UTIME_NO_TIMEOUT)
#define pipe_write(p, c) st_write(p, c, 1, ST_UTIME_NO_TIMEOUT)
#define pipe_close st_netfd_close

#include "api_cells.h"

static inline int try_spawn(thread *t, void *(*fn)(void *), void *arg, size_t stack)
{
	thread made = st_thread_create(fn, arg, t != NULL, (int)stack);
	if (t)
		*t = made;
	return made ? 0 : errno;
}

static inline void seat_init(struct seat *s)
{
	s->cond = st_cond_new();
	s->turn = 0;
}

static inline void seat_wait(struct seat *s, int with_deadline)
{
	while (!s->turn)
		if (with_deadline ? st_cond_timedwait(s->cond, FAR_NS / 1000)
				  : st_cond_wait(s->cond))
			die("st_cond_wait", errno);
	s->turn = 0;
}

static inline void seat_call(struct seat *s)
{
	s->turn = 1;
	st_cond_signal(s->cond);
}

static inline void pipe_open(pipe_end p[2])
{
	int fd[2];
	if (pipe(fd))
		die("pipe", errno);
	for (int i = 0; i < 2; i++)
		if (!(p[i] = st_netfd_open(fd[i])))
			die("st_netfd_open", errno);
}

static inline int64_t oversleep(int64_t ns)
{
	int64_t due = now_ns() + ns;
	st_usleep((st_utime_t)((ns + 999) / 1000));
	return now_ns() - due;
}

static inline void run(char **own, void (*fn)(void))
{
	(void)own;
	st_set_eventsys(ST_EVENTSYS_ALT);
	if (st_init())
		die("st_init", errno);
	condition_init(&gate_condition);
	fn();
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* stat.h - counters and the dump: what the runtime is doing. */
#ifndef UK_STAT_H
#define UK_STAT_H

#include <uk/types.h>

UK_BEGIN

/* Counters only grow. X(name, what it counts). New ones go to the end. */
#define UK_COUNTERS(X)                                                                 \
	X(switches, "context switches between user threads")                           \
	X(yields, "uk_yield calls that switched")                                      \
	X(parks, "threads that parked")                                                \
	X(readies, "parked threads made ready")                                        \
	X(creates, "threads created")                                                  \
	X(exits, "threads ended")                                                      \
	X(steals, "threads taken from another vp")                                     \
	X(inbox, "threads that came through an inbox")                                 \
	X(polls, "reactor passes")                                                     \
	X(waits, "reactor passes that slept in the kernel")                            \
	X(kicks, "wake-ups sent to an idle vp")                                        \
	X(syscalls, "system calls made by the runtime")                                \
	X(sqes, "operations submitted to the reactor")                                 \
	X(cqes, "completions reaped from the reactor")                                 \
	X(io_inline, "I/O calls that finished without parking")                        \
	X(io_parked, "I/O calls that parked")                                          \
	X(io_cancels, "operations cancelled")                                          \
	X(timers, "timers armed")                                                      \
	X(timer_fires, "timers fired")                                                 \
	X(handoffs, "vps moved away from a blocked or hogging carrier")                \
	X(handoffs_hog, "of these, taken from a hog")                                  \
	X(handoffs_mark, "of these, given up by the carrier itself")                   \
	X(returns, "threads that came back without a vp")                              \
	X(spares_made, "spare carriers created")                                       \
	X(monitor_wakes, "monitor passes")                                             \
	X(stack_maps, "stack slabs mapped")                                            \
	X(stack_reuses, "stacks reused from a pool")                                   \
	X(stalls, "stalls seen by the watchdog")                                       \
	X(spotted, "blocked carriers of which the kernel told (UK_ACTIVATION)")        \
	X(takes, "vps that a spare carrier took")

/* Grows at its end. size in the calls is sizeof(uk_stats) of the program: they never
 * write past it, and counters that an older library does not have are 0. */
typedef struct uk_stats {
	uint64_t threads;  /* gauge: alive now */
	uint64_t ready;    /* gauge: in run queues now (approximate) */
	uint64_t vps;      /* gauge */
	uint64_t carriers; /* gauge: kernel threads that run or may run user threads */
	uint64_t spares;   /* gauge: parked carriers */
	uint64_t stacks;   /* gauge: ever handed out, in use or pooled */
#define X(name, text) uint64_t name;
	UK_COUNTERS(X)
#undef X
} uk_stats;

/* Sum over all vps, which are not stopped. */
UK_API void uk_stats_get(uk_stats *s, size_t size);
/* Those of one vp. */
UK_API int uk_vp_stats(const uk_vp *vp, uk_stats *s, size_t size);
/* "io_uring", "epoll", or "none" if the runtime cannot start. */
UK_API const char *uk_reactor_name(void);

/* Print every thread (state, what it waits for, which thread holds that, since when,
 * creator, frames) to fd. Also on SIGQUIT, unless UK_DUMP=0. Async-signal-safe. */
UK_API void uk_dump(int fd);

/* Call fn for every thread until it returns non-zero. The info is a snapshot; its
 * strings live until fn returns. It grows at its end, like uk_stats; size is
 * sizeof(uk_thread_info); -EINVAL: above 512. */
typedef struct uk_thread_info {
	uint64_t id, creator;
	char name[32];
	const char *state;  /* "running", "ready", "parked", "suspended", ... */
	const char *waits;  /* "mutex", "io", "sleep", ... or "" */
	const void *object; /* the lock, channel or thread waited for, or NULL */
	uint64_t holder;    /* id of the thread that holds object, or 0 */
	int fd;             /* of an I/O wait, else -1 */
	unsigned vp;
	uk_time since; /* when its state began, to one dispatcher pass */
	int light;
	size_t stack_size;
} uk_thread_info;
UK_API int uk_thread_each(int (*fn)(const uk_thread_info *, void *), void *arg,
			  size_t size);

/* Call fn for each row that `uk doctor` prints; returns how many are missing. */
UK_API int uk_doctor(void (*fn)(const char *name, const char *value, int ok, void *),
		     void *arg);

UK_API const char *uk_version(void);

UK_END
#endif

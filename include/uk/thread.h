/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - user threads: create, join, cancel, look at. */
#ifndef UK_THREAD_H
#define UK_THREAD_H

#include <uk/types.h>

UK_BEGIN

/* Thread attributes: all zero (UK_THREAD_ATTR_INIT, uk_thread_attr_init) = defaults. */
typedef struct uk_thread_attr {
	size_t stack_size; /* bytes, to a power of two; 0 = UK_STACK or 256 KiB */
	uk_vpset *set;     /* where it runs; NULL = the creator's, or the default set */
	uk_vp *vp;         /* not NULL: pinned to this vp, until uk_thread_pin */
	const char *name;  /* copied, cut to 31 bytes; NULL = none */
	unsigned flags;    /* UK_THREAD_... */
	unsigned reserved0;
	size_t guard_size; /* bytes below the stack that fault, up to 16 MiB; rounded up
			      to 4, 16, 64 KiB ...; 0 = UK_GUARD_SIZE or 128 KiB */
	unsigned reserved[2];
} uk_thread_attr;

#define UK_THREAD_ATTR_INIT                                                            \
	{                                                                              \
		0, UK_NULL, UK_NULL, UK_NULL, 0, 0, 0,                                 \
		{                                                                      \
			0                                                              \
		}                                                                      \
	}
#define UK_THREAD_DETACHED 1u /* it is not joined */
/* No TLS block of its own: a call that blocks may lose what is in __thread or errno. */
#define UK_THREAD_LIGHT 2u
#define UK_THREAD_NOWAIT 4u /* at the limit of uk_thread_limit: -EAGAIN, do not wait */

UK_API void uk_thread_attr_init(uk_thread_attr *a);

/* Start fn(arg) as a new user thread. *out (may be NULL if detached): its handle,
 * given up by one join or detach. -EINVAL, -ENOMEM, -ENOTSUP, -EAGAIN (NOWAIT). */
UK_API int uk_thread_create(uk_thread **out, const uk_thread_attr *a,
			    void *(*fn)(void *), void *arg);
/* End the calling user thread; cleanups and TLS destructors run. Foreign: panic. */
UK_API void uk_thread_exit(void *ret) __attribute__((noreturn));
/* Wait until t has ended, and free it; *ret (or NULL): what it returned. -EDEADLK: t is
 * the caller; -EINVAL: detached, or being joined; -ESRCH: lost in a fork, and freed. */
UK_API int uk_thread_join(uk_thread *t, void **ret);
UK_API int uk_thread_join_until(uk_thread *t, void **ret, uk_time deadline);
UK_API int uk_thread_detach(uk_thread *t);        /* -EINVAL, -ESRCH */
UK_API uk_thread *uk_thread_self(void);           /* NULL on a foreign thread */
UK_API uint64_t uk_thread_id(const uk_thread *t); /* never reused in the process */

/* Let other threads run. 0 always. */
UK_API int uk_yield(void);
/* Sleep: 0, -ECANCELED, or -ETIMEDOUT for the thread's own deadline. */
UK_API int uk_sleep(uk_time ns);
UK_API int uk_sleep_until(uk_time deadline);

/* The call in which t waits and all later ones that would wait return -ECANCELED, until
 * t calls uk_thread_cancel_clear. Nothing is unwound. -ESRCH: t has ended. */
UK_API int uk_thread_cancel(uk_thread *t);
UK_API int uk_thread_is_cancelled(void); /* 1: the caller is cancelled */
UK_API int uk_thread_cancel_clear(void); /* forget it; returns whether it was set */
/* Bound every later blocking call of the caller (-ETIMEDOUT); ns, uk_now(); 0: they do
 * not wait; UK_FOREVER: none. Returns the previous deadline. */
UK_API uk_time uk_thread_set_deadline(uk_time deadline);
/* The same for the rest of the enclosing block, and never later than the deadline
 * outside it: UK_DEADLINE(uk_after(5 * UK_SEC)); */
#define UK_DEADLINE(t) UK_DEADLINE_AT_(t, __LINE__)
#define UK_DEADLINE_AT_(t, line) UK_DEADLINE_IN_(t, line)
#define UK_DEADLINE_IN_(t, line)                                                       \
	uk_time uk_deadline_##line __attribute__((cleanup(uk_deadline_end))) =         \
	    uk_deadline_begin(t)
static inline uk_time uk_deadline_begin(uk_time t)
{
	uk_time before = uk_thread_set_deadline(t);

	if (before < t)
		uk_thread_set_deadline(before);
	return before;
}
static inline void uk_deadline_end(const uk_time *before)
{
	uk_thread_set_deadline(*before);
}

/* fn(arg) is called when the calling thread exits, last pushed first. */
UK_API int uk_cleanup_push(void (*fn)(void *), void *arg); /* -ENOMEM */
UK_API int uk_cleanup_pop(int execute); /* -EINVAL: nothing is pushed */

/* By t itself. Cut to 31 bytes; NULL: none. -ENOMEM. */
UK_API int uk_thread_set_name(uk_thread *t, const char *name);
/* Copies at most n bytes with the NUL; returns the length. */
UK_API int uk_thread_get_name(const uk_thread *t, char *buf, size_t n);
/* Pin the caller to vp, where it continues. NULL: unpin. -EPERM, -EINVAL */
UK_API int uk_thread_pin(uk_vp *vp);
/* Lowest address and size of t's stack. -ESRCH: t has not run yet, or has ended. */
UK_API int uk_thread_stack(const uk_thread *t, void **base, size_t *size);

/* Bracket a call that may block the kernel thread (I/O of a library, a computation):
 * the vp is handed off at once. Never needed for correctness. The pairs nest. */
UK_API void uk_blocking_begin(void);
UK_API void uk_blocking_end(void);
/* fn(arg) inside such a pair; returns what fn returns. A C++ exception may leave fn. */
static inline void uk_blocking_leave(const char *unused)
{
	(void)unused;
	uk_blocking_end();
}
static inline void *uk_run_blocking(void *(*fn)(void *), void *arg)
{
	const char inside __attribute__((cleanup(uk_blocking_leave))) = 0;

	(void)inside;
	uk_blocking_begin();
	return fn(arg);
}

/* Limit of user threads alive in the process; 0 = none (UK_THREAD_LIMIT). */
UK_API int uk_thread_limit(size_t max_threads);

/* Thread-local keys, for light, full and foreign threads; dtor may be NULL. -EAGAIN:
 * all 1024 are in use; -EINVAL: k is no key; -ENOMEM. */
typedef unsigned uk_key;
UK_API int uk_key_create(uk_key *k, void (*dtor)(void *));
UK_API int uk_key_delete(uk_key k);
UK_API void *uk_key_get(uk_key k);
UK_API int uk_key_set(uk_key k, const void *value);

UK_END
#endif

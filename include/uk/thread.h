/* SPDX-License-Identifier: Apache-2.0 */
/* thread.h - user threads: create, join, cancel, look at. */
#ifndef UK_THREAD_H
#define UK_THREAD_H

#include <uk/types.h>

UK_BEGIN

/* Thread attributes. Initialise with UK_ATTR_INIT or uk_attr_init; all zero = defaults. */
typedef struct uk_attr {
	size_t
	    stack_size; /* bytes; rounded up to a power of two; 0 = UK_STACK or 256 KiB */
	uk_vpset
	    *set;  /* where it runs; NULL = the creator's set, else the default set */
	uk_vp *vp; /* not NULL: pinned to this vp for life */
	const char *name; /* copied, cut to 31 bytes; NULL = none */
	unsigned flags;   /* UK_ATTR_... */
	unsigned reserved0;
	size_t guard_size; /* bytes below the stack that fault, up to 16 MiB; rounded up
				to 4, 16, 64 KiB ...; 0 = UK_GUARD_SIZE or 128 KiB */
	unsigned reserved[2];
} uk_attr;

#define UK_ATTR_INIT                                                                   \
	{                                                                              \
		0, UK_NULL, UK_NULL, UK_NULL, 0, 0, 0,                                 \
		{                                                                      \
			0                                                              \
		}                                                                      \
	}
#define UK_ATTR_DETACHED 1u  /* nobody joins it */
#define UK_ATTR_SUSPENDED 2u /* does not run before uk_thread_resume */
#define UK_ATTR_LIGHT                                                                  \
	4u                /* no TLS block of its own: keep nothing in __thread or errno
				across a call that may block */
#define UK_ATTR_NOWAIT 8u /* stack pool at its limit: -EAGAIN instead of waiting */

UK_API void uk_attr_init(uk_attr *a);

/* Start fn(arg) as a new user thread; *out (may be NULL if detached) receives it.
 * Errors: -EINVAL (bad attribute), -ENOMEM, -EAGAIN (limit of the stack pool reached with
 * UK_ATTR_NOWAIT; without it the creator waits, as in the founding model). */
UK_API int uk_thread_create(uk_thread **out, const uk_attr *a, void *(*fn)(void *),
			    void *arg);
/* End the calling user thread; cleanups and TLS destructors run. Not for foreign threads. */
UK_API void uk_thread_exit(void *ret) __attribute__((noreturn));
/* Wait for t's end and free it. Errors: -EDEADLK (self), -EINVAL (detached or already
 * being joined), -ESRCH (lost in a fork), -ETIMEDOUT, -ECANCELED. */
UK_API int uk_thread_join(uk_thread *t, void **ret);
UK_API int uk_thread_join_until(uk_thread *t, void **ret, uk_time deadline);
UK_API int uk_thread_detach(uk_thread *t);
/* The calling user thread; NULL on a foreign kernel thread. */
UK_API uk_thread *uk_thread_self(void);
UK_API uint64_t
uk_thread_id(const uk_thread *t); /* unique in the process, never reused */

/* Let others run. 0 always. */
UK_API int uk_yield(void);
/* Sleep; 0, or -ECANCELED. */
UK_API int uk_sleep(uk_time ns);
UK_API int uk_sleep_until(uk_time deadline);

/* A suspended thread does not run until it is resumed. Suspending another thread takes
 * effect at its next park, yield or runtime call that blocks; suspends do not nest.
 * -ESRCH if it has ended. */
UK_API int uk_thread_suspend(uk_thread *t);
UK_API int uk_thread_resume(uk_thread *t);

/* Request cancellation: t's present or next blocking call returns -ECANCELED, once, and
 * every later one too until t calls uk_thread_cancel_clear. Nothing is unwound by force. */
UK_API int uk_thread_cancel(uk_thread *t);
UK_API int uk_thread_cancelled(void);    /* 1 if the caller is cancelled */
UK_API int uk_thread_cancel_clear(void); /* forget it; returns whether it was set */
/* Bound every later blocking call of the calling thread; UK_FOREVER lifts it. Returns the
 * previous value. */
UK_API uk_time uk_thread_set_deadline(uk_time deadline);

/* fn(arg) is called when the calling thread exits, last pushed first. */
UK_API int uk_cleanup_push(void (*fn)(void *), void *arg);
UK_API int uk_cleanup_pop(int execute);

UK_API int uk_thread_set_name(uk_thread *t, const char *name);
UK_API int uk_thread_get_name(const uk_thread *t, char *buf, size_t n);
/* Pin the calling thread to vp (NULL: unpin); it continues there. */
UK_API int uk_thread_pin(uk_vp *vp);
/* Stack of the calling thread. */
UK_API int uk_thread_stack(const uk_thread *t, void **base, size_t *size);

/* Bracket a call that may block the kernel thread (a library that does its own I/O, a
 * long computation): the vp moves on at once if others are ready. Not needed for
 * correctness. They nest. */
UK_API void uk_blocking_begin(void);
UK_API void uk_blocking_end(void);

/* Limit of live stacks in the process; 0 = none (UK_STACK_LIMIT). */
UK_API int uk_stack_limit(size_t max_threads);

/* Thread-local keys for light and full threads (and foreign ones). */
typedef unsigned uk_key;
UK_API int uk_key_create(uk_key *k, void (*dtor)(void *));
UK_API int uk_key_delete(uk_key k);
UK_API void *uk_key_get(uk_key k);
UK_API int uk_key_set(uk_key k, const void *value);

UK_END
#endif

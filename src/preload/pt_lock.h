/* SPDX-License-Identifier: Apache-2.0 */
/* pt_lock.h - the mutex, as pt_cond.c and pt_shared.c use it. */
#ifndef PRELOAD_PT_LOCK_H
#define PRELOAD_PT_LOCK_H

#include "preload/pt.h"
#include "sync/mutex.h"

/* libc's bits in __kind. Static initialisers make them part of its ABI. */
#define KIND_TYPE 3
#define KIND_ROBUST 16
#define KIND_INHERIT 32
#define KIND_PROTECT 64
#define KIND_SHARED 128

static inline uint32_t *mutex_word(pthread_mutex_t *m)
{
	return (uint32_t *)&m->__data.__lock;
}

static inline bool lock_is_ours(const pthread_mutex_t *m)
{
	return !(m->__data.__kind & KIND_SHARED);
}

/* What a condition does with a mutex of ours. May the caller wait with it? EPERM: the
 * caller does not hold it. *goes: the mutex becomes free meanwhile (a recursive one
 * perhaps not, because libc undoes only one level). */
int lock_leaves(const pthread_mutex_t *m, bool *goes);
/* In the runtime, after the caller was queued. */
void lock_leave(pthread_mutex_t *m);
/* Outside the runtime. woken: the caller holds the word's WOKEN bit; handed: it holds
 * the word. 0, EOWNERDEAD, ENOTRECOVERABLE. */
int lock_return(pthread_mutex_t *m, bool woken, bool handed);

/* pt_shared.c: process-shared mutexes and conditions. */
int shared_lock(pthread_mutex_t *m, clockid_t clock, const struct timespec *abs);
int shared_trylock(pthread_mutex_t *m);
int shared_unlock(pthread_mutex_t *m);
int shared_consistent(pthread_mutex_t *m);
int shared_wait(pthread_cond_t *c, pthread_mutex_t *m, clockid_t clock,
		const struct timespec *abs);

#endif

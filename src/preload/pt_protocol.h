/* SPDX-License-Identifier: Apache-2.0 */
/* pt_protocol.h - priority inheritance and priority ceilings. */
#ifndef PRELOAD_PT_PROTOCOL_H
#define PRELOAD_PT_PROTOCOL_H

#include "preload/pt.h"

/* A thread that waits for an inheriting mutex; on its stack. */
struct protocol_wait {
	struct list link;
	const pthread_mutex_t *m;
	uint32_t tid;
	int priority;
};

/* In the runtime, around the wait of the caller for m. */
void protocol_waits(struct protocol_wait *w, const pthread_mutex_t *m);
void protocol_waited(struct protocol_wait *w);
/* The caller has become the owner of an inheriting mutex, or is not the owner any more. */
void protocol_owned(void);
void protocol_freed(void);
/* The caller is about to take a mutex with this ceiling, or has released it. As natively,
 * EINVAL if its priority is above the ceiling, and EPERM. A thread without a real-time
 * policy is not raised (natively the first call fails, and later ones succeed). */
int protocol_enter(int ceiling);
void protocol_leave(int ceiling);
/* Under pt_signal.c's lock: this thread was given this policy. */
void protocol_policy(uint32_t tid, const struct sched_own *a);
/* The same for a kernel thread, without the lock. */
void protocol_kernels(uint32_t tid, int policy, int priority);
/* Is this thread's priority raised? Then what it has itself. */
bool protocol_own(uint32_t tid, int *policy, int *priority);
/* The caller is the only thread of a forked child. */
void protocol_forked(void);

#endif

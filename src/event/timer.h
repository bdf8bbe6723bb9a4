/* SPDX-License-Identifier: Apache-2.0 */
/* timer.h - hierarchical timing wheel (Varghese & Lauck 1987), one per vp.
 *
 * Any kernel thread of the runtime may add and delete; each call takes the wheel's own
 * lock. A timer belongs to one thread and is in at most one wheel. Expiry copies
 * (thread, token) out under the lock, so that a timer may be reused the moment it has left
 * the wheel. Late, never early: a hit is reported when now >= when.
 */
#ifndef EVENT_TIMER_H
#define EVENT_TIMER_H

#include "base/base.h"
#include "base/list.h"
#include "base/lock.h"

struct timer {
	struct list link;
	int64_t when;         /* ns, CLOCK_MONOTONIC */
	struct wheel *wheel;  /* the wheel it is in, NULL if none; under that wheel's lock */
	uint64_t token;
	void *thread;
};

struct timer_hit {
	void *thread;
	uint64_t token;
};

struct wheel; /* below; 9 KiB */

void wheel_init(struct wheel *w, int64_t now);
/* when in the past: due at once; TIME_NEVER: t stays out of the wheel. */
void wheel_add(struct wheel *w, struct timer *t, int64_t when);
/* True if it was still in a wheel. Finds the wheel by itself. */
bool timer_del(struct timer *t);
/* Up to max timers due at now, earliest bucket first; call again while it returns max. */
unsigned wheel_expire(struct wheel *w, int64_t now, struct timer_hit *out, unsigned max);
/* When poll must wake at the latest: never later than the earliest timer, TIME_NEVER if
 * there is none. Exact, but for a deleted timer's time that may linger once. Lock-free
 * (seq_cst) read of a cached value: any thread. */
int64_t wheel_next(const struct wheel *w);
unsigned wheel_count(const struct wheel *w);

#include "event/timer_impl.h" /* struct wheel */

#endif

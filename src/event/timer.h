/* SPDX-License-Identifier: Apache-2.0 */
/* timer.h - hierarchical timing wheel (Varghese & Lauck 1987), one per vp.
 *
 * Any kernel thread of the runtime may add and delete; each call takes the wheel's own
 * lock. A timer belongs to one thread and is in at most one wheel. Expiry copies
 * (timer, token) out under the lock, so that a timer may be reused the moment it has left
 * the wheel. Late, never early: a hit is reported when now >= due.
 *
 * Nearly every time-out is armed again before it expires (the next receive of a
 * connection), and to unlink a timer is to touch two cold neighbours. So a timer whose wait
 * is over rests where it is, and the next wait puts it off:
 *
 *   (out)    --timer_arm----> when = due, linked           under the lock
 *   armed    --timer_rest---> due = TIME_NEVER, linked     the wheel's owner, no lock
 *   resting  --timer_arm----> due >= when, linked          the wheel's owner, no lock
 *   armed    --expiry, due in the future--> filed anew at due
 *   resting  --expiry-------> (out)
 *   armed    --expiry-------> (out), a hit
 *   any      --timer_del----> (out)                        any thread, under the lock
 *
 * "The wheel's owner" is who may call wheel_expire; on another wheel, or for an earlier
 * time, arm and rest go through timer_del. The price is one vain expiry per resting timer.
 */
#ifndef EVENT_TIMER_H
#define EVENT_TIMER_H

#include "base/base.h"
#include "base/list.h"
#include "base/lock.h"

struct timer {
	struct list link;
	int64_t when; /* ns, CLOCK_MONOTONIC; where it is filed */
	int64_t due;  /* >= when; TIME_NEVER: it rests */
	struct wheel
	    *wheel; /* the wheel it is in, NULL if none; under that wheel's lock */
	uint64_t token;
};

struct timer_hit {
	struct timer *timer;
	uint64_t token;
};

struct wheel; /* below; 28 KiB */

void wheel_init(struct wheel *w, int64_t now);
/* when in the past: due at once; TIME_NEVER: t stays out of the wheel. t is in none. */
void wheel_add(struct wheel *w, struct timer *t, int64_t when);
/* Fire token at when (not TIME_NEVER). The owner of w; t may rest in any wheel. */
void timer_arm(struct wheel *w, struct timer *t, uint64_t token, int64_t when);
/* The wait is over, whether t has fired or not. The owner of w. */
void timer_rest(struct wheel *w, struct timer *t);
/* True if it was still in a wheel. Finds the wheel by itself. */
bool timer_del(struct timer *t);
/* Up to max timers due at now, earliest bucket first; call again while it returns max. */
unsigned wheel_expire(struct wheel *w, int64_t now, struct timer_hit *out,
		      unsigned max);
/* When poll must wake at the latest: never later than the earliest timer, TIME_NEVER if
 * there is none. Exact, but for a deleted timer's time that may linger once. Lock-free
 * (seq_cst) read of a cached value: any thread. */
int64_t wheel_next(const struct wheel *w);
/* The same for who is about to sleep: where more timers are due within slack of the first, the
 * last of them; beyond half a millisecond, the last that is first in its slot. A lone timer is
 * met exactly, a crowd by one sleep. The owner of w. */
int64_t wheel_next_crowd(struct wheel *w, int64_t slack);
unsigned wheel_count(const struct wheel *w); /* resting ones, too */

#include "event/timer_impl.h" /* struct wheel */

#endif

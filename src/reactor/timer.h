/* SPDX-License-Identifier: Apache-2.0 */
/* timer.h - hierarchical timing wheel (Varghese & Lauck 1987), one per vp.
 *
 * Any kernel thread of the runtime may add and delete; each call takes the wheel's own
 * lock. A timer belongs to one thread and is in at most one wheel. Expiry copies
 * (timer, token) out under the lock, so that a timer may be reused as soon as it has
 * left the wheel. A hit is reported when now >= due: perhaps late, never early.
 *
 * Nearly every timeout is armed again before it expires (the next receive of a
 * connection), and unlinking a timer touches two cold neighbours. So a timer whose wait
 * is over rests where it is, and the next wait only moves its due time:
 *
 *   (out)    --timer_arm----> when = due, linked           under the lock
 *   armed    --timer_rest---> due = TIME_NEVER, linked     the wheel's owner, no lock
 *   resting  --timer_arm----> due >= when, linked          the wheel's owner, no lock
 *   armed    --expiry, due in the future--> filed again at due
 *   resting  --expiry-------> (out)
 *   armed    --expiry-------> (out), a hit
 *   any      --timer_del----> (out)                        any thread, under the lock
 *
 * The wheel's owner is the thread that may call wheel_expire. On another wheel, or for
 * an earlier time, arm and rest go through timer_del. The cost is one expiry without a
 * hit for each resting timer.
 */
#ifndef REACTOR_TIMER_H
#define REACTOR_TIMER_H

#include "base/base.h"
#include "base/list.h"
#include "base/lock.h"

struct timer {
	struct list link;
	int64_t when; /* ns, CLOCK_MONOTONIC; the time at which it is filed */
	int64_t due;  /* >= when; TIME_NEVER: it is resting */
	/* NULL: in no wheel; written under that wheel's lock */
	struct wheel *wheel;
	uint64_t token;
};

struct timer_hit {
	struct timer *timer;
	uint64_t token;
};

struct wheel; /* in timer_impl.h; 28 KiB */

void wheel_init(struct wheel *w, int64_t now);
/* t is in no wheel. If when is in the past, t is due at once; if TIME_NEVER, t is not
 * added. */
void wheel_add(struct wheel *w, struct timer *t, int64_t when);
/* Fire token at when (not TIME_NEVER). For the owner of w; t may rest in any wheel. */
void timer_arm(struct wheel *w, struct timer *t, uint64_t token, int64_t when);
/* The wait is over, whether or not t has fired. For the owner of w. */
void timer_rest(struct wheel *w, struct timer *t);
/* Removes t from its wheel, which it finds by itself. True if t was in one. */
bool timer_del(struct timer *t);
/* Returns up to max timers due at now, earliest slot first; call again while it returns
 * max. */
unsigned wheel_expire(struct wheel *w, int64_t now, struct timer_hit *out,
		      unsigned max);
/* When poll must wake at the latest: never later than the earliest timer; TIME_NEVER if
 * there is none. Exact, except that the time of a deleted timer may remain once. A
 * lock-free (seq_cst) read of a cached value: any thread. */
int64_t wheel_next(const struct wheel *w);
/* The same for a thread that is about to sleep, which may sleep up to slack longer: if
 * more timers are due within slack of the first, the time of the last of them (only
 * timers that are the earliest of their slot count, which matters beyond half a
 * millisecond). So a lone timer fires exactly, and many share one sleep. For the owner
 * of w. */
int64_t wheel_next_crowd(struct wheel *w, int64_t slack);

#include "reactor/timer_impl.h" /* struct wheel */

/* Resting timers included; any thread. */
static inline unsigned wheel_count(const struct wheel *w)
{
	return load_relaxed(&w->count);
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* bell.h - detection by perf: the kernel tells the monitor that a carrier has left its processor.
 * The contract is spot.h's. */
#ifndef ACT_BELL_H
#define ACT_BELL_H

#include "sched/vp.h"

/* Events come as signals with a descriptor (alarm_wait). -ETIME: the kernel is too old. */
int bell_start(void);
const char *bell_error(int r);
/* 0, or -errno: no memory or descriptors for it. */
int bell_seat(struct carrier *c);
/* No more events; who has still seen his ring may write there. */
void bell_stop(void);
/* The monitor: who has blocked, by the event that came by fd; NULL: it was preempted, or has come
 * back, or is mute. */
struct carrier *bell_heard(int fd);
/* The monitor: c blocked and has no vp now. It is not heard until it has one again. */
void bell_rest(const struct carrier *c);
/* The monitor: one was found who had blocked; so it is worth to listen. */
void bell_worth(void);

#endif

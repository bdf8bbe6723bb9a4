/* SPDX-License-Identifier: Apache-2.0 */
/* bell.h - detection by perf: the kernel tells the monitor that a carrier has left its
 * CPU. The contract is that of spot.h. */
#ifndef MONITOR_BELL_H
#define MONITOR_BELL_H

#include "sched/vp.h"

/* Events come as signals with an fd (alarm_wait). -ETIME: the kernel is too old. */
int bell_start(void);
const char *bell_error(int r);
/* 0, or -errno: no memory or no fd for it. */
int bell_seat(struct carrier *c);
/* No more events; a carrier that has still seen its ring may write there. */
void bell_stop(void);
/* The monitor: the carrier that has blocked, by the event on fd. NULL: it was
 * preempted, has come back, or is mute. */
struct carrier *bell_heard(int fd);
/* The monitor: c blocked and has no vp now. It is not heard until it has one again. */
void bell_rest(const struct carrier *c);
/* The monitor: a blocked carrier was found, so listening is worth its cost. */
void bell_worth(void);

#endif

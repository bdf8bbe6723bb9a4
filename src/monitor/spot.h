/* SPDX-License-Identifier: Apache-2.0 */
/* spot.h - detection by event: the kernel tells the monitor that a carrier has
 * blocked. */
#ifndef MONITOR_SPOT_H
#define MONITOR_SPOT_H

#include "sched/vp.h"

/* The monitor, with a table of files of its own: from now on events come as signals
 * (alarm_wait) from the carriers that have a seat. 0 or -errno; -EINPROGRESS: a broker
 * has been asked, and peer_answers will tell. All ends with the kernel thread that
 * called. */
int spot_start(void);
/* Is it a broker's program, not our own? */
bool spot_brokered(void);
/* For people: what an error of spot_start means and what would help. -EACCES comes from
 * the caller, which did not try under a seccomp filter. */
const char *spot_error(int r);
/* The monitor: 0: c is watched, or will be (peer_answers). -EAGAIN: try again later;
 * other -errno: it cannot be watched, or has ended. */
int spot_seat(struct carrier *c);
/* The thread that called spot_start: no more events. */
void spot_stop(void);

#endif

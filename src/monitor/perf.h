/* SPDX-License-Identifier: Apache-2.0 */
/* perf.h - the kernel tells the monitor, by perf's events, that a carrier has left its
 * CPU. */
#ifndef MONITOR_PERF_H
#define MONITOR_PERF_H

#include "sched/vp.h"

/* Is all that the following need there? 0, or -errno. -ETIME: the kernel is too old. */
int perf_try(void);
/* For people: what an error of perf_try means and what would help. -EACCES and -ENOSYS
 * come from detect.c. */
const char *perf_error(int r);
/* From now on the kernel tells of c; events come as signals with an fd (alarm_wait). 0,
 * or -errno: no memory or no fd for it. */
int perf_seat(struct carrier *c);
/* No more events of any carrier. */
void perf_stop(void);
/* The same for good, without a system call: their cost stays. */
void perf_silence(void);
/* The monitor: the carrier that has blocked, by the event on fd. NULL: it was
 * preempted, has come back, or is mute. */
struct carrier *perf_heard(int fd);
/* The monitor: c blocked and has no vp now. It is not heard until it has one again. */
void perf_rest(const struct carrier *c);
/* The monitor: a blocked carrier was found, so listening is worth its cost. */
void perf_worth(void);

#endif

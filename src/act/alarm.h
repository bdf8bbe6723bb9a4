/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACT_ALARM_H
#define ACT_ALARM_H

#include "base/base.h"

#define ALARM_SIGNAL 32

/* The calling kernel thread, the monitor, is who will be woken. */
void alarm_init(void);
/* Anyone, in the runtime: wake the monitor a while from now. */
void alarm_set(void);
/* The monitor: how long that is, ns. */
void alarm_after(int64_t ns);
/* Anyone: wake it now, if alarm_hears. */
void alarm_ring(void);
/* The monitor: does it wait for signals, or had the kernel no timer for it? */
bool alarm_hears(void);
/* The monitor: what happens at this descriptor of its own rings, and says so. 0, or -errno. */
int alarm_by(int fd);
/* The monitor: sleep until an alarm, until deadline. It may end early. Not NULL: the carrier of
 * which spot.bpf.c says that it has blocked; *fd not -1: something happened there (alarm_by).
 * More may be waiting. */
void *alarm_wait(int64_t deadline, int *fd);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MONITOR_ALARM_H
#define MONITOR_ALARM_H

#include "base/base.h"

#define ALARM_SIGNAL 32

/* The calling kernel thread, the monitor, is the one to be woken. */
void alarm_init(void);
/* Any thread, in the runtime: wake the monitor a while from now, or do not. */
void alarm_call(bool set);
/* The monitor: sets how long that is, ns. */
void alarm_after(int64_t ns);
/* Any thread: wake the monitor now, if alarm_hears. */
void alarm_ring(void);
/* The monitor: true if it waits for signals, false if the kernel had no timer for
 * it. */
bool alarm_hears(void);
/* The monitor: from now on an event on fd, of its own table, wakes it. 0 or -errno. */
int alarm_by(int fd);
/* The monitor: sleep until an alarm or the deadline; may return early. Returns -1, or
 * the fd where something happened (alarm_by). There may be more events. */
int alarm_wait(int64_t deadline);

#endif

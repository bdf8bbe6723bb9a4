/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.h - what the monitor does at each of its times; for tests, which hold the watch lock
 * meanwhile. */
#ifndef ACT_MONITOR_H
#define ACT_MONITOR_H

#include "sched/vp.h"

/* Under the watch lock: one look at one vp, which may take it from its carrier. True: it found something to do or
 * to watch closely. */
bool monitor_look(struct uk_vp *vp, int64_t now);
/* Among the first n vps: one sleeps while another one of its set has more than it can run,
 * for the wake-up raced. */
void monitor_balance(uint32_t n);
/* Before the runtime starts: hogs keep their priority. */
extern bool monitor_no_nice;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.h - what the monitor does in each round; also for tests, which hold the watch
 * lock meanwhile. */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include "sched/vp.h"

/* Under the watch lock: one look at one vp, which may be taken from its carrier. True:
 * it found something to do or to watch closely. */
bool monitor_look(struct uk_vp *vp, int64_t now);
/* Wake an idle vp if another one of its set, among the first n vps, has more than it
 * can run: a wake-up may have been missed by a race. */
void monitor_balance(uint32_t n);
/* Before the runtime starts: hogs keep their priority. */
extern bool monitor_no_nice;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.h - what the monitor does in each round; also for tests, which hold the watch
 * lock meanwhile. */
#ifndef MONITOR_MONITOR_H
#define MONITOR_MONITOR_H

#include "sched/vp.h"

/* What a look found, by urgency. */
enum look {
	LOOK_LATER, /* the vp is idle, or its carrier waits for a CPU */
	LOOK_NOTHING,
	LOOK_NEAR, /* a thread computes: its slice ends before long */
	LOOK_SOON, /* a thread seems to sleep: the next look decides */
	LOOK_FOUND /* a vp was taken, or just was, and may be again */
};

/* Under the watch lock: one look at one vp, which may be taken from its carrier. */
enum look monitor_look(struct uk_vp *vp, int64_t now);
/* Wake an idle vp if another one of its set, among the first n vps, has more than it
 * can run: a wake-up may have been missed by a race. True: some vp is idle beside a
 * busy one. */
bool monitor_balance(uint32_t n);
/* Before the runtime starts: hogs keep their priority. */
extern bool monitor_no_nice;

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* detect.h - how the monitor learns that a carrier has blocked. */
#ifndef MONITOR_DETECT_H
#define MONITOR_DETECT_H

#include "sched/vp.h"

enum detector { DETECT_OFF, DETECT_SAMPLES, DETECT_PERF };
extern uint32_t detector; /* what is in force; written by the monitor, read by others */

/* The monitor: does the kernel tell? Then detect_wait is to be called. */
static inline bool detect_tells(void)
{
	return detector == DETECT_PERF;
}

/* At the start of the runtime, or of a forked child's. */
void detect_init(void);
/* In a forked child that could not make a monitor. */
void detect_none(void);
/* The monitor starts; does it have a table of files of its own? */
void detect_begin(bool own_files);
/* The monitor, after each round of samples: so many blocked carriers were found since
 * the last one, by samples and events. */
void detect_round(uint32_t blocks, int64_t now);
/* The monitor: does the kernel tell of every carrier? */
bool detect_all(void);
/* The monitor: sleep until an alarm or the deadline; may return early. Not NULL: the
 * carrier that the kernel says has blocked. There may be more. */
struct carrier *detect_wait(int64_t deadline);
/* The monitor: when detect_round is to be called even if all vps sleep. */
int64_t detect_until(void);
/* True if a thread waits in detect_explain, and the monitor must not sleep for long. */
bool detect_wanted(void);
/* For people: what is in force, and why nothing better. Makes the monitor try. Any
 * thread, outside the runtime. */
void detect_explain(char *buf, size_t n);

#endif

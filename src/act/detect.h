/* SPDX-License-Identifier: Apache-2.0 */
/* detect.h - by what the monitor learns that a carrier has blocked. */
#ifndef ACT_DETECT_H
#define ACT_DETECT_H

#include "sched/vp.h"

enum detector { DETECT_OFF, DETECT_LOOKS, DETECT_BPF, DETECT_PERF, DETECT_END };
extern uint32_t detector; /* what is in force; the monitor, others read */

/* The monitor: does the kernel tell? */
static inline bool detect_tells(void)
{
	return detector >= DETECT_BPF;
}

/* Or may it be about to? Then detect_wait is to be called. */
bool detect_hears(void);
/* The runtime starts, or a forked child's. */
void detect_init(void);
/* There is no monitor, in a forked child that could not make one. */
void detect_none(void);
/* The monitor begins, has a table of files of its own or not. */
void detect_begin(bool own_files);
/* The monitor, after each round of looks; blocked: it found somebody who was. The first one
 * makes it worth to load what tells sooner of the next. Carriers that were born meanwhile are
 * made known to it. */
void detect_round(bool blocked);
/* The monitor: the kernel tells of each carrier. */
bool detect_all(void);
/* The monitor: sleep until an alarm, until deadline; it may end early. Not NULL: the kernel told
 * that this one blocked, and more may be waiting. */
struct carrier *detect_wait(int64_t deadline);
/* The monitor, when it is about to sleep for long: somebody waits for detect_explain. */
bool detect_wanted(void);
/* For people: what is in force, and why nothing better. Makes the monitor try. Any kernel
 * thread, once the runtime runs. */
void detect_explain(char *buf, size_t n);

#endif

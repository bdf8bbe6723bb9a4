/* SPDX-License-Identifier: Apache-2.0 */
/* mute.h - when the kernel tells the monitor that a carrier has left its CPU, and how
 * the carrier suppresses that.
 *
 * With the perf detector (monitor/perf.c), the kernel writes a record into the
 * carrier's ring when the carrier leaves its CPU, and another when it comes back. All
 * records have the same size. Each record of leaving wakes the monitor. Most sleeps do
 * not concern the monitor: those of a vp that has nothing to do, of a spare, of a
 * carrier that gave its vp away itself. A system call each time, to tell the kernel so,
 * would cost more than all the rest. But the ring is in shared memory. The kernel drops
 * a record that does not fit, without notice and without a wake-up. How much fits
 * depends on data_tail, up to which the reader has read, and a plain store sets it.
 *
 *    data_tail                  space in the ring
 *    data_head - RECORD         armed: all but two records
 *    data_head + 1              mute: none
 *    data_head + RECORD + 1     rests: one, for the record of coming back; then mute
 *
 * The kernel wakes the monitor once for every two records. That these wake-ups come
 * with the records of leaving depends on the count, so records must be kept or dropped
 * in pairs. The carrier itself writes data_tail while it runs, between two pairs. The
 * monitor writes it only as described in monitor/perf.c.
 */
#ifndef SCHED_MUTE_H
#define SCHED_MUTE_H

#include <linux/perf_event.h>

#include "sched/vp.h"

#define PERF_RECORD 16u /* struct perf_event_header, and one field of sample_id_all */

/* Called by carrier c: it has no vp, or is about to sleep inside the runtime, and the
 * monitor need not know. */
INLINE void perf_mute(const struct carrier *c)
{
	struct perf_event_mmap_page *b = load_acquire(&c->perf);

	if (unlikely(b))
		store_relaxed(&b->data_tail, load_relaxed(&b->data_head) + 1);
}

/* Called by carrier c: it has a vp and runs. No effect until deaf_until, which the
 * monitor sets after an event for nothing. */
INLINE void perf_arm(const struct carrier *c)
{
	struct perf_event_mmap_page *b = load_acquire(&c->perf);

	if (unlikely(b) && load_relaxed(&c->deaf_until) <= load_relaxed(&c->vp->clock))
		store_relaxed(&b->data_tail, load_relaxed(&b->data_head) - PERF_RECORD);
}

#endif

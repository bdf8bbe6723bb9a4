/* SPDX-License-Identifier: Apache-2.0 */
/* bell.h - when the kernel rings for a carrier that leaves its processor, and when it need not.
 *
 * Where perf is in force (act/bell.c) the kernel writes a record into the carrier's ring when
 * it leaves its processor and one when it comes back, all of the same size, and wakes the
 * monitor with each one that left. Most sleeps are not the monitor's business: of a vp that
 * has nothing to do, of a spare, of who gave his vp away himself. To tell the kernel by a
 * call each time would cost more than all the rest. But the ring is in shared memory, and
 * what does not fit is dropped, in silence and without a wake-up; how much fits is what
 * the reader says that it has read, a plain store.
 *
 *   data_tail                  room
 *   data_head - RECORD         armed: all but two records of the ring
 *   data_head + 1              mute: none
 *   data_head + RECORD + 1     rests: one, with which it comes back; then mute
 *
 * That every second record wakes, and that it is those that left, is a matter of counting
 * (a wake-up for each two records): so they are to be kept, or dropped, in pairs. The carrier
 * itself writes here while it runs, between two pairs; the monitor only as bell.c says.
 */
#ifndef SCHED_BELL_H
#define SCHED_BELL_H

#include <linux/perf_event.h>

#include "sched/vp.h"

#define BELL_RECORD 16u /* struct perf_event_header, and one field by sample_id_all */

/* c itself: it has no vp, or is about to sleep inside the runtime, and nobody shall be told. */
INLINE void bell_mute(const struct carrier *c)
{
	struct perf_event_mmap_page *b = load_acquire(&c->bell);

	if (unlikely(b))
		store_relaxed(&b->data_tail, load_relaxed(&b->data_head) + 1);
}

/* c itself: it has one, and runs. Not yet, if it has rung in vain just now. */
INLINE void bell_arm(const struct carrier *c)
{
	struct perf_event_mmap_page *b = load_acquire(&c->bell);

	if (unlikely(b) && load_relaxed(&c->deaf_until) <= load_relaxed(&c->vp->clock))
		store_relaxed(&b->data_tail, load_relaxed(&b->data_head) - BELL_RECORD);
}

#endif

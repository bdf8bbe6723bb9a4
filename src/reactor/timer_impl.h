/* SPDX-License-Identifier: Apache-2.0 */
/* Layout of the timing wheel, public so that a vp can embed it. Use it only in timer.c.
 *
 * Time is cut into ticks of 2^13 ns (8.2 us). The number of a tick is read as digits of
 * 6 bits. A timer is kept at the level of the highest digit in which its tick differs
 * from `cur`, in the slot that this digit names:
 *
 *   level   slot width   reach            level   slot width   reach
 *     0       8.2 us     524 us             3       2.1 s      137 s
 *     1       524 us      34 ms             4       137 s      2.4 h
 *     2        34 ms     2.1 s              5       2.4 h      6.5 d     then: far
 *
 * Therefore no slot index wraps, every timer of a level is earlier than all those of
 * the levels above, and the earliest timer is in the first used slot of the lowest used
 * level: two bit scans.
 *
 * The timers of a slot are in several lists, filled and emptied in turn. Emptying a
 * slot touches cold thread descriptors, and with several lists these cache misses
 * overlap (10,000 sleepers: 785 cycles each with one list).
 */
#ifndef REACTOR_TIMER_IMPL_H
#define REACTOR_TIMER_IMPL_H

#define WHEEL_TICK_BITS 13
#define WHEEL_BITS 6
#define WHEEL_SLOTS (1u << WHEEL_BITS)
#define WHEEL_LEVELS 6

#define WHEEL_WAYS 4u /* power of two */

struct wheel_slot {
	struct list way[WHEEL_WAYS];
	int64_t min; /* none of its timers is earlier (exact until one is deleted) */
};

struct wheel {
	/* RANK_WHEEL; guards all below and the wheel field of its timers */
	struct lock lock;
	unsigned count; /* read without the lock by wheel_count */
	int64_t next;   /* = first slot's min; read without the lock by wheel_next */
	/* The tick that levels are relative to. No timer is before it, except those
	 * that were past due when added; they are in its slot. */
	uint64_t cur;
	uint32_t turn; /* the list that is filled next */
	/* bit l: level l is not empty; bit WHEEL_LEVELS: far is not empty */
	uint32_t levels;
	uint64_t used[WHEEL_LEVELS + 1]; /* bit s: slot s is not empty */
	/* the last level is one slot, `far`: for ticks that differ above all digits */
	struct wheel_slot slot[WHEEL_LEVELS * WHEEL_SLOTS + 1];
};

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* layout.h - where the library keeps what `uk ps` and `uk top` show, for readers in
 * another process. tool/target.c reads this table, tool/uk-gdb.py too; nothing here
 * runs. So this header needs no other one of the library.
 *
 * A reader finds the table in the memory of a process: an ELF note of the library, or
 * of the program that contains it, holds the version and the distance to the table:
 *
 *   note "ukthreads", type 1:  | version | table - address of this word |
 *
 * The note lies in a loaded segment, so it is there in stripped, static and preloaded
 * forms, and after the file was replaced. The table has pointers, which the loader
 * relocates: until `self` is its own address, it is not ready.
 *
 * LAYOUT_VERSION changes with this table, and with the meaning of what it points to. A
 * reader accepts its own version only. */
#ifndef DEBUG_LAYOUT_H
#define DEBUG_LAYOUT_H

#include <stdint.h>

#define LAYOUT_VERSION 1
#define LAYOUT_MAGIC "ukthread"
#define LAYOUT_NOTE "ukthreads"
#define LAYOUT_NOTE_TYPE 1

/* A field: its offset and its size. */
struct layout_at {
	uint32_t at, size;
};

/* How to find the holder of an object that a thread waits for. */
enum { LAYOUT_NO_HOLDER, LAYOUT_OWNER, LAYOUT_ITSELF };
struct layout_holder {
	uint32_t how;    /* OWNER: as below; ITSELF: the object is the descriptor */
	uint32_t owner;  /* offset of a word with the address of a descriptor, or 0 */
	uint32_t unless; /* offset of an int; there is no holder ... */
	uint32_t bits;   /* ... if one of these bits is set in it */
};

/* A counter of uk_stats (offset `stat`), and the 64 bits to add to it: at `vp` in each
 * vp, and at foreign - 1 in the counts of foreign threads, unless foreign is 0. */
struct layout_sum {
	uint16_t stat, foreign;
	uint32_t vp;
};

/* A value of uk_stats that is in a variable. */
struct layout_value {
	uint32_t stat;
	uint32_t size; /* 4 or 8 */
	const void *at;
};

struct layout {
	char magic[8];
	uint32_t version;
	uint32_t size; /* of this structure */
	const void *self;
	const char *library; /* its version, UK_VERSION */

	/* -- variables -- */
	const void *slab;     /* of the descriptors */
	const void *vps;      /* array of pointers */
	const void *vp_count; /* uint32_t: how many */
	const void *carriers; /* pointer to the first */
	const void *foreign;  /* the counts of foreign threads */
	const void *gate; /* uint32_t; gate_child: a forked child, not rebuilt yet */

	/* -- names and rules -- */
	const char *const *states, *const *waits;
	const struct layout_holder *holders; /* one for each of `waits` */
	const struct layout_sum *sums;
	const struct layout_value *values;
	uint32_t nstates, nwaits, nsums, nvalues;

	/* -- constants -- */
	uint32_t foreign_size; /* of the counts of foreign threads */
	uint32_t gate_child;
	uint32_t kind_user, kind_foreign; /* of a descriptor; others are not shown */
	uint32_t state_running, state_parked, state_exited;
	uint32_t token_shift;         /* of the wait word */
	uint32_t vp_sleeps, vp_rests; /* of idle; 0: busy */
	uint32_t owner_mask;          /* bits of a vp's owner that are no address */
	uint32_t ring;                /* most threads in the ring of a run queue */
	uint32_t least_order, unit;   /* of stacks: mem/stack.h, STACK_UNIT */
	/* of a saved context: offsets from its stack pointer, and its size (arch.h) */
	uint32_t frame_fp, frame_ip, frame_size;

	/* -- structures: size, then fields -- */
	uint32_t chunk_objs; /* offset of the objects in a chunk */
	uint32_t slab_size, chunk_size, thread_size, ext_size, vp_size, set_size,
	    engine_size, carrier_size;
	struct {
		struct layout_at size, chunks;
	} in_slab;
	struct {
		struct layout_at next, bytes, used;
	} in_chunk;
	struct {
		struct layout_at sp, carrier, wait, vp, since, kind, state, wkind, wobj,
		    stack, ktid, id, wfd, light, ext, creator, unused, kind_of_stack;
	} in_thread;
	struct {
		struct layout_at name, own_stack, bound, bound_for;
	} in_ext;
	struct {
		struct layout_at owner, idle, set, id, index, reactive, clock, head,
		    tail, lifo, over, pinned, engine, pending, timers;
	} in_vp;
	struct {
		struct layout_at name;
	} in_set;
	struct {
		struct layout_at name;
	} in_engine;
	struct {
		struct layout_at tid, vp, current, ended, dedicated, next;
	} in_carrier;
};

extern const struct layout uk_layout;

#endif

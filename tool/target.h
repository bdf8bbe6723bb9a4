/* SPDX-License-Identifier: Apache-2.0 */
/* target.h - another process that uses the library: finding its runtime, and looking at
 * its threads, vps and carriers without stopping it. */
#ifndef TOOL_TARGET_H
#define TOOL_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <uk/uk.h>

#include "../src/debug/layout.h"

/* They end the tool if there is no memory. room: zeroed, also for 0 elements. */
void *must(void *p);
void *room(size_t n, size_t size);

/* Exit statuses of `uk ps` and `uk top`. */
enum {
	TARGET_OK,
	TARGET_REFUSED, /* it cannot be looked at; also: output could not be written */
	TARGET_USAGE,
	TARGET_LOST /* it ended, or executed another program, meanwhile */
};

/* A loaded file: the program or a library. */
struct image {
	uint64_t start, end, bias;
	uint64_t frame_header; /* of the call-frame information, or 0 */
	char build_id[65];     /* in hex, or "none" */
	char *path;
};

#define TARGET_NAME 32

struct target {
	pid_t pid;
	pid_t tid; /* of a kernel thread of it that lives: for its memory */
	int fd;    /* of the process; readable when it has ended. -1: old kernel */
	char command[64];
	char why[256]; /* after a failure: the message */
	uint64_t at;   /* of the table */
	struct layout table;
	char library[TARGET_NAME];
	char (*states)[TARGET_NAME], (*waits)[TARGET_NAME];
	struct layout_holder *holders;
	struct layout_sum *sums;
	struct layout_value *values;
	struct image *images;
	size_t nimages;
};

/* Bytes of its memory. Adjacent spans are read as one. */
struct span {
	uint64_t at;
	void *to;
	size_t size;
	bool ok;
};

struct seen_thread {
	uint64_t id, address, token, creator;
	char name[TARGET_NAME];    /* as it is: out_clean before a terminal */
	char bound[TARGET_NAME];   /* why it is bound to its carrier, or "" */
	const char *state, *waits; /* waits: "" unless it is parked */
	uint64_t object;
	int64_t holder;           /* index of the holder in the threads, or -1 */
	int fd;                   /* of an I/O wait, else -1 */
	int64_t age;              /* ns since the state began */
	long vp;                  /* -1: none yet */
	long kernel;              /* the kernel thread that runs it, or 0 */
	bool has_vp;              /* with kernel: that has a vp */
	bool ended;               /* and not joined yet */
	bool user, light, parked; /* user: false for a kernel thread of the program */
	uint64_t sp, top; /* of a user thread that does not run; 0: no stack yet */
	uint64_t stack_size;
};

struct seen_vp {
	uint64_t address;
	long id, index;
	char set[TARGET_NAME], engine[TARGET_NAME];
	bool reactive;
	uint32_t idle; /* 0: busy, else vp_sleeps or vp_rests */
	long carrier;  /* tid, or 0 */
	unsigned ready, pending, timers;
	uk_stats stats;
};

struct seen_carrier {
	uint64_t address;
	long tid;
	int64_t thread; /* index of the thread that it runs, or -1 */
	long vp;        /* or -1 */
	bool dedicated;
};

struct view {
	int64_t now;
	struct seen_thread *threads; /* by id */
	size_t nthreads, nuser;      /* nuser: without those that ended */
	struct seen_vp *vps;
	size_t nvps;
	struct seen_carrier *carriers;
	size_t ncarriers;
	uk_stats stats;
};

/* These return TARGET_OK, or the exit status, and set why. */
int target_open(struct target *t, pid_t pid);
int target_look(struct target *t, struct view *v);
/* It has ended, or executed another program: says which. */
int target_lost(struct target *t);
void view_free(struct view *v);
void target_close(struct target *t);

/* Which spans could be read is in them. TARGET_LOST, TARGET_REFUSED: none can. */
int target_read(struct target *t, struct span *spans, size_t n);
/* Of each vp of v, whether it is busy: idle == 0 and a carrier has it. */
int target_busy(struct target *t, const struct view *v, bool *busy);
/* Does s still wait as it did? */
bool target_unchanged(struct target *t, const struct seen_thread *s);
const char *target_state_text(const struct seen_thread *s, char *buf, size_t n);

#endif

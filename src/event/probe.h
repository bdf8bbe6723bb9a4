/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel (and the seccomp filter around us) lets the event room use. Found out by
 * asking, once per process, never from a version number. */
#ifndef EVENT_PROBE_H
#define EVENT_PROBE_H

#include "event/reactor.h"
#include "event/uring_abi.h"

enum probe {
	PROBE_URING,      /* io_uring, with all that the engine cannot do without */
	PROBE_URING_COOP, /* COOP_TASKRUN and TASKRUN_FLAG */
	PROBE_URING_SUBMIT_ALL,
	PROBE_URING_MSG_KICK, /* SEND_MSG_RING without a ring of one's own */
	PROBE_URING_FILES,    /* openat, openat2, statx, fsync, splice */
	PROBE_URING_SQPOLL,   /* a kernel thread that reads rings */
	PROBE_URING_ZC,       /* sends that copy nothing */
	PROBE_EPOLL_PWAIT2,   /* time-outs in nanoseconds */
	PROBE_COUNT
};

struct uring_caps {
	int err;              /* 0, or why there is no ring: -ENOSYS, -EPERM, ... */
	uint32_t setup_flags; /* accepted ones */
	uint64_t ops;         /* bit per opcode */
	bool msg_kick;
	bool sqpoll;
};

bool probe_has(enum probe p);
/* Asked once, then remembered (also by forked children). */
const struct uring_caps *probe_uring(void);

/* A new ring with what was granted, and what the kernel says of it; or -errno. Only after
 * probe_uring() said that there are rings. */
int probe_ring(struct uring_params *p);
/* The same with a thread of the kernel's: n->ring's, or, if that is none, a new one. */
int probe_sq_ring(const struct net_cpu *n, struct uring_params *p);

/* A row for `uk doctor`. */
struct probe_row {
	const char *name;
	const char *instead; /* what is used where it is absent */
	bool present;
};
struct probe_row probe_row(enum probe p);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* What this kernel (and a seccomp filter of the process) lets this directory use. Found
 * out by trying, once for each process, never from a version number. */
#ifndef REACTOR_PROBE_H
#define REACTOR_PROBE_H

#include "reactor/reactor.h"
#include "reactor/uring_abi.h"

enum probe {
	PROBE_URING,      /* io_uring, with all that the engine needs */
	PROBE_URING_COOP, /* COOP_TASKRUN and TASKRUN_FLAG */
	PROBE_URING_SUBMIT_ALL,
	PROBE_URING_MSG_KICK, /* SEND_MSG_RING without a ring of the caller's */
	PROBE_URING_FSYNC,
	PROBE_URING_SQPOLL, /* a kernel thread that reads rings */
	PROBE_URING_ZC,     /* zero-copy sends */
	PROBE_EPOLL_PWAIT2, /* timeouts in nanoseconds */
	PROBE_COUNT
};

struct uring_caps {
	int err; /* 0, or why io_uring cannot be used: -ENOSYS, -EPERM, ... */
	uint32_t setup_flags; /* those accepted */
	uint64_t ops;         /* one bit for each opcode */
	bool msg_kick;
	bool sqpoll;
};

bool probe_has(enum probe p);
/* Probed once, then remembered (also by forked children). */
const struct uring_caps *probe_uring(void);

/* Make a new ring with the accepted flags; p: what the kernel returned. Returns its fd
 * or -errno. Only if probe_uring() says that io_uring can be used. */
int probe_ring(struct uring_params *p);
/* The same, served by a network processor: that of n->ring, or a new one if there is
 * none. */
int probe_sq_ring(const struct net_cpu *n, struct uring_params *p);

/* A row for `uk doctor`. */
struct probe_row {
	const char *name;
	const char *instead; /* what is used if it is missing */
	bool present;
};
struct probe_row probe_row(enum probe p);

#endif

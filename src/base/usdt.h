/* SPDX-License-Identifier: Apache-2.0 */
/* usdt.h - static probes (USDT) for bpftrace, perf, SystemTap and gdb: which threads
 * lose their vp, and how long vp and thread are without each other. The provider is
 * `ukthreads`, in both libraries; for their use see Tracing in docs/HACKING.md.
 *
 *   probe    fires when                   arguments
 *   block    a carrier that waits in the  vp, tid of the carrier, thread, its name,
 *            kernel loses its vp          why: enum block_why
 *   hog      a carrier that computes      vp, tid of the carrier, thread, its name,
 *            loses its vp                 ns of CPU time that it has used
 *   handoff  a carrier has got a vp and   vp, tid of the last carrier, tid of this one,
 *            is about to run its threads  ns since the last one lost the vp
 *   unblock  a thread that lost its vp    thread, its name, tid of its carrier, ns
 *            enters the runtime           since it lost the vp, 1: it has got a vp at
 *                                         once, 0: it waits in a queue
 *
 * A vp and a thread are the numbers of a dump; a name is a char * and may be empty. In
 * `handoff`, the ns are 0 if the vp had nothing to run meanwhile (it rested); in both
 * probes with a time, that is 0 if no tracer was attached when the vp was lost. `block`
 * and `hog` fire before the vp's `handoff`, in the thread that takes it away: the
 * monitor, or the carrier itself.
 *
 * This uses the macros of <sys/sdt.h>, if the compiler found it. A probe is a nop, and
 * a note with its address and where its arguments are. A tracer also increments the
 * semaphore that the note names. All probes share one, so one load says whether anyone
 * looks: only then are arguments computed and clocks read. An argument has 4 bytes or
 * 8: gdb does not know the names of parts of registers. */
#ifndef BASE_USDT_H
#define BASE_USDT_H

#include "base/sys.h"

/* How it was noticed that a thread has blocked. */
enum block_why {
	BLOCK_TOLD,    /* the kernel told the monitor */
	BLOCK_SAMPLED, /* the monitor saw it */
	BLOCK_LEFT     /* the thread gave the vp away before its call */
};

#if UK_HAVE_SDT
#define SDT_USE_VARIADIC
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

/* tracers increment it */
extern unsigned short usdt_readers __attribute__((visibility("hidden")));
/* the names that the macros look for */
#define ukthreads_block_semaphore usdt_readers
#define ukthreads_hog_semaphore usdt_readers
#define ukthreads_handoff_semaphore usdt_readers
#define ukthreads_unblock_semaphore usdt_readers

#define usdt_on() unlikely(load_relaxed(&usdt_readers))
#else
static inline void usdt_none(uint64_t first UNUSED, ...) {}
#define STAP_PROBEV(provider, name, ...) usdt_none(__VA_ARGS__)
#define usdt_on() false
#endif

#define USDT(name, ...)                                                                \
	do {                                                                           \
		if (usdt_on())                                                         \
			STAP_PROBEV(ukthreads, name, __VA_ARGS__);                     \
	} while (0)

/* 0 if `then` is 0: it was not noted. */
static inline int64_t usdt_since(int64_t then)
{
	return then ? sys_now() - then : 0;
}

#endif

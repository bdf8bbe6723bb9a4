/* SPDX-License-Identifier: Apache-2.0 */
/* layout.c - the table of layout.h, and the note that leads to it. stat.c and inspect.c
 * use its sums and its rules for holders, so that these exist once. */
#include "debug/layout.h"

#include <pthread.h>

#include "arch/arch.h"
#include "debug/inspect.h"
#include "mem/slab_impl.h"
#include "mem/stack_impl.h"
#include "reactor/timer_impl.h"
#include "sched/gate.h"
#include "sched/handoff.h"
#include "uk/sync.h"

#define PTHREAD_MUTEX_ROBUST_KIND 16

#define AT(type, field)                                                                \
	{                                                                              \
		offsetof(type, field), sizeof(((type *)0)->field)                      \
	}
#define SUM(name, from)                                                                \
	{                                                                              \
		offsetof(uk_stats, name), 0, offsetof(struct uk_vp, from)              \
	}
#define COUNTED(name) SUM(name, count.name)
#define COUNTED_FOREIGN(name)                                                          \
	{                                                                              \
		offsetof(uk_stats, name), offsetof(struct vp_count, name) + 1,         \
		    offsetof(struct uk_vp, count.name)                                 \
	}
#define VALUE(name, variable)                                                          \
	{                                                                              \
		offsetof(uk_stats, name), sizeof(variable), &(variable)                \
	}

static const struct layout_sum sums[] = {
	COUNTED(switches),
	COUNTED(yields),
	COUNTED(parks),
	COUNTED_FOREIGN(readies),
	COUNTED_FOREIGN(creates),
	COUNTED(exits),
	COUNTED(steals),
	COUNTED(inbox),
	COUNTED_FOREIGN(io_inline),
	COUNTED(io_parked),
	COUNTED(io_cancels),
	COUNTED(timers),
	COUNTED(timer_fires),
	COUNTED(handoffs_mark),
	COUNTED(returns),
	COUNTED(kicks),
	COUNTED_FOREIGN(syscalls),
	SUM(syscalls, reactor.count.syscalls),
	SUM(polls, reactor.count.polls),
	SUM(waits, reactor.count.waits),
	SUM(sqes, reactor.count.sqes),
	SUM(cqes, reactor.count.cqes),
	SUM(handoffs, handoffs),
	SUM(handoffs, count.handoffs_mark),
	SUM(handoffs_hog, handoffs_hog),
	SUM(takes, takes),
	SUM(stalls, stalls),
	SUM(stack_maps, stacks.maps),
	SUM(stack_reuses, stacks.reuses),
};

static const struct layout_value values[] = {
	VALUE(spares_made, spares_made), VALUE(monitor_wakes, monitor_passes),
	VALUE(spotted, monitor_events),  VALUE(vps, vp_count_all),
	VALUE(carriers, carriers_count), VALUE(spares, spares_count),
	VALUE(stacks, stack_handed),
};

/* A lock's owner field holds the descriptor's address. A mutex of the preload library
 * is libc's object, with the owner where libc links robust mutexes. */
static const struct layout_holder holders[WAIT_KINDS] = {
	[WAIT_MUTEX] = { LAYOUT_OWNER, offsetof(uk_mutex, owner), 0, 0 },
	[WAIT_RWLOCK] = { LAYOUT_OWNER, offsetof(uk_rwlock, owner), 0, 0 },
	[WAIT_JOIN] = { LAYOUT_ITSELF, 0, 0, 0 },
	[WAIT_PTHREAD_MUTEX] = { LAYOUT_OWNER, offsetof(pthread_mutex_t, __data.__list),
				 offsetof(pthread_mutex_t, __data.__kind),
				 PTHREAD_MUTEX_ROBUST_KIND },
};

const struct layout uk_layout = {
	.magic = { 'u', 'k', 't', 'h', 'r', 'e', 'a', 'd' },
	.version = LAYOUT_VERSION,
	.size = sizeof(struct layout),
	.self = &uk_layout,
	.library = UK_VERSION,

	.slab = &thread_slab,
	.vps = vp_all,
	.vp_count = &vp_count_all,
	.carriers = &carriers_all,
	.foreign = &sched_foreign_count,
	.gate = &world_gate,

	.states = thread_state_names,
	.waits = thread_wait_names,
	.holders = holders,
	.sums = sums,
	.values = values,
	.nstates = T_STATES,
	.nwaits = WAIT_KINDS,
	.nsums = array_size(sums),
	.nvalues = array_size(values),

	.foreign_size = sizeof(struct vp_count),
	.gate_child = GATE_CHILD,
	.kind_user = THREAD_USER,
	.kind_foreign = THREAD_FOREIGN,
	.state_running = T_RUNNING,
	.state_parked = T_PARKED,
	.state_exited = T_EXITED,
	.token_shift = W_TOKEN_SHIFT,
	.vp_sleeps = VP_SLEEPS,
	.vp_rests = VP_RESTS,
	.owner_mask = VP_REVOKING,
	.ring = RUNQ_SIZE,
	.least_order = STACK_MIN_ORDER,
	.unit = STACK_UNIT,
	.frame_fp = ARCH_FRAME_FP,
	.frame_ip = ARCH_FRAME_IP,
	.frame_size = ARCH_FRAME_SIZE,

	.chunk_objs = offsetof(struct slab_chunk, objs),
	.slab_size = sizeof(struct slab),
	.chunk_size = sizeof(struct slab_chunk),
	.thread_size = sizeof(struct uk_thread),
	.ext_size = sizeof(struct thread_ext),
	.vp_size = sizeof(struct uk_vp),
	.set_size = sizeof(struct uk_vpset),
	.engine_size = sizeof(struct reactor_ops),
	.carrier_size = sizeof(struct carrier),
	.in_slab = {
		.size = AT(struct slab, size),
		.chunks = AT(struct slab, chunks),
	},
	.in_chunk = {
		.next = AT(struct slab_chunk, next),
		.bytes = AT(struct slab_chunk, bytes),
		.used = AT(struct slab_chunk, used),
	},
	.in_thread = {
		.sp = AT(struct uk_thread, sp),
		.carrier = AT(struct uk_thread, carrier),
		.wait = AT(struct uk_thread, wait),
		.vp = AT(struct uk_thread, vp),
		.since = AT(struct uk_thread, since),
		.kind = AT(struct uk_thread, kind),
		.state = AT(struct uk_thread, state),
		.wkind = AT(struct uk_thread, wkind),
		.wobj = AT(struct uk_thread, wobj),
		.stack = AT(struct uk_thread, stack),
		.ktid = AT(struct uk_thread, ktid),
		.id = AT(struct uk_thread, id),
		.wfd = AT(struct uk_thread, wfd),
		.light = AT(struct uk_thread, light),
		.ext = AT(struct uk_thread, ext),
		.creator = AT(struct uk_thread, creator),
		.unused = AT(struct uk_thread, unused),
		.kind_of_stack = AT(struct uk_thread, kind_of_stack),
	},
	.in_ext = {
		.name = AT(struct thread_ext, name),
		.own_stack = AT(struct thread_ext, own_stack),
		.bound = AT(struct thread_ext, bound),
		.bound_for = AT(struct thread_ext, bound_for),
	},
	.in_vp = {
		.owner = AT(struct uk_vp, owner),
		.idle = AT(struct uk_vp, idle),
		.set = AT(struct uk_vp, set),
		.id = AT(struct uk_vp, id),
		.index = AT(struct uk_vp, index),
		.reactive = AT(struct uk_vp, reactive),
		.clock = AT(struct uk_vp, clock),
		.head = AT(struct uk_vp, rq.head),
		.tail = AT(struct uk_vp, rq.tail),
		.lifo = AT(struct uk_vp, rq.lifo),
		.over = AT(struct uk_vp, rq.over.n),
		.pinned = AT(struct uk_vp, rq.pinned.n),
		.engine = AT(struct uk_vp, reactor.ops),
		.pending = AT(struct uk_vp, reactor.pending),
		.timers = AT(struct uk_vp, wheel.count),
	},
	.in_set = { .name = AT(struct uk_vpset, name) },
	.in_engine = { .name = AT(struct reactor_ops, name) },
	.in_carrier = {
		.tid = AT(struct carrier, tid),
		.vp = AT(struct carrier, vp),
		.current = AT(struct carrier, current),
		.ended = AT(struct carrier, ended),
		.dedicated = AT(struct carrier, dedicated),
		.next = AT(struct carrier, next_all),
	},
};

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
__asm__(".pushsection .note.ukthreads, \"a\", %note\n"
	"	.balign	4\n"
	"	.long	2f - 1f, 4f - 3f, " TEXT(
	    LAYOUT_NOTE_TYPE) "\n"
			      "1:	.asciz	\"" LAYOUT_NOTE "\"\n"
			      "2:	.balign	4\n"
			      "3:	.long	" TEXT(
				  LAYOUT_VERSION) "\n"
						  "	.long	uk_layout - .\n"
						  "4:	.balign	4\n"
						  "	.popsection\n");

/* SPDX-License-Identifier: Apache-2.0 */
/* gate.c - where threads wait while a fork copies the address space. The design and the
 * table of states are in lifecycle/fork.c, which shuts the gate. */
#include "sched/gate.h"

#include <limits.h>

#include "base/log.h"
#include "base/sys.h"
#include "sched/vp.h"

uint32_t world_gate;
uint32_t sched_forks;

void gate_wait(void)
{
	uint32_t g;

	while ((g = load_acquire(&world_gate))) {
		if (g == GATE_LOST)
			uk_panic(
			    "this process was forked by a signal handler that "
			    "interrupted the runtime, or by _Fork: it can only exec");
		if (g == GATE_CHILD && cas_acq_rel(&world_gate, &g, GATE_REBUILD))
			hooks.gate_rebuild();
		else
			sys_futex_wait(&world_gate, g, TIME_NEVER);
	}
}

void gate_set(uint32_t g)
{
	store_seq_cst(&world_gate, g);
	if (g == GATE_OPEN)
		sys_futex_wake(&world_gate, INT_MAX);
}

void carrier_stop(struct carrier *c)
{
	do {
		/* release: a fork that sees stopped 1 sees everything that we did;
		 * seq_cst: after stopped is 0 again, either the fork sees that or we
		 * see the gate */
		store_seq_cst(&c->stopped, 1);
		gate_wait();
		store_seq_cst(&c->stopped, 0);
	} while (load_seq_cst(&world_gate));
}

bool sched_unsettled(void)
{
	return load_acquire(&world_gate) == GATE_CHILD;
}

void sched_settle(void)
{
	if (sched_unsettled()) {
		rt_enter();
		rt_exit();
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* gate.h - the gate that a fork shuts: see lifecycle/fork.c. */
#ifndef SCHED_GATE_H
#define SCHED_GATE_H

#include "sched/vp.h"

enum gate { GATE_OPEN, GATE_SHUT, GATE_CHILD, GATE_REBUILD, GATE_LOST };

void gate_set(uint32_t g);

#endif

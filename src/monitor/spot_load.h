/* SPDX-License-Identifier: Apache-2.0 */
/* spot_load.h - spot.bpf.c in the kernel, for a monitor (spot.c) or for the broker
 * (tool/broker): one kernel thread of a process. All ends with the caller's fds. 0 or
 * -errno. */
#ifndef MONITOR_SPOT_LOAD_H
#define MONITOR_SPOT_LOAD_H

#include "monitor/spot_view.h"
#include "base/base.h"

/* The program and its maps; -ENOSYS: not built in. Only this needs a capability. */
int spot_load(void);
/* From now on the program runs at each switch. */
int spot_attach(void);
void spot_detach(void);
void spot_unload(void);

/* Adds the process number `home`, told as user uid or SPOT_ANYONE. */
int spot_home(uint64_t home, unsigned uid);
/* Removes it; its seats are void. */
void spot_no_home(uint64_t home);
/* A seat for the thread of this pidfd: the carrier at that address, or 0: the
 * watcher. */
int spot_give_seat(int pidfd, uint64_t home, uint64_t carrier);
/* A pidfd of the thread tid, for spot_give_seat. */
int spot_thread(int tid);

#endif

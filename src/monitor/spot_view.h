/* SPDX-License-Identifier: Apache-2.0 */
/* spot_view.h - what the kernel's half (spot.bpf.c) and ours (spot_load.c) tell each
 * other. Plain C for both compilers, which includes no header of either. */
#ifndef MONITOR_SPOT_VIEW_H
#define MONITOR_SPOT_VIEW_H

#define SPOT_SIGNAL 32 /* ALARM_SIGNAL */
#define SPOT_HOMES 4096
#define SPOT_ANYONE (~0u)

/* The beginning of struct carrier, as in the process. */
struct spot_carrier {
	unsigned in_rt, post_action;
	unsigned long long vp;
};

/* In the storage of a task: the process (home) to whose runtime it belongs, and the
 * address of its struct carrier; 0: the task is the watcher, which gets the signals. */
struct spot_seat {
	unsigned long long home, carrier;
};

/* A process's runtime. We write uid, the kernel's half all else. */
struct spot_home {
	unsigned uid; /* the only user that the watcher may run as, or SPOT_ANYONE */
	unsigned watcher; /* its id in the first pid namespace; 0: not seen yet */
	unsigned long long born;       /* watcher's start time: its id may be reused */
	unsigned long long sent, lost; /* events; for people, by `bpftool map dump` */
};

#endif

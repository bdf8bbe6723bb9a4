/* SPDX-License-Identifier: Apache-2.0 */
/* spot_view.h - what the kernel's half (spot.bpf.c) and ours (spot_load.c) tell each other. Plain
 * C for both compilers: no header of either. */
#ifndef ACT_SPOT_VIEW_H
#define ACT_SPOT_VIEW_H

#define SPOT_SIGNAL 32 /* ALARM_SIGNAL */
#define SPOT_HOMES 4096
#define SPOT_ANYONE (~0u)

/* The beginning of struct carrier, as it lies in the process. */
struct spot_carrier {
	unsigned in_rt, post_action;
	unsigned long long vp;
};

/* In the storage of a task: to which process's runtime it belongs, the address of its struct
 * carrier; 0: it is the watcher, who gets the signals. */
struct spot_seat {
	unsigned long long home, carrier;
};

/* A process's runtime. We write uid, the kernel's half all else. */
struct spot_home {
	unsigned
	    uid; /* the watcher must be this user's and nobody else's, or SPOT_ANYONE */
	unsigned watcher;        /* in the first pid namespace; 0: not seen yet */
	unsigned long long born; /* watcher's start: its number may become another's */
	unsigned long long sent, lost; /* events; for people, by `bpftool map dump` */
};

#endif

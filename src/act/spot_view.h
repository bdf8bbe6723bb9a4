/* SPDX-License-Identifier: Apache-2.0 */
/* spot_view.h - what the kernel's half (spot.bpf.c) and ours (spot.c) tell each other. Plain C
 * for both compilers: no header of either. */
#ifndef ACT_SPOT_VIEW_H
#define ACT_SPOT_VIEW_H

#define SPOT_SIGNAL 32 /* ALARM_SIGNAL */

/* The beginning of struct carrier, as it lies in the process. */
struct spot_carrier {
	unsigned in_rt, post_action;
	unsigned long long vp;
};

/* Whose the program is; numbers of the first pid namespace. */
struct spot_home {
	unsigned tgid, watcher;
	unsigned long long sent, lost; /* events; for people, by `bpftool map dump` */
};

#endif

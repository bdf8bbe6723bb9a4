/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - what is to be written, and why. */
#ifndef NET_PLAN_H
#define NET_PLAN_H

#include "see.h"

/* From the best down. */
enum rung { SQPOLL, EPOLL, THREADED, RPS, ADVISE, RUNGS };
extern const char *const rung_names[RUNGS];

struct change {
	char key[192]; /* a path, or "napi-thread ID": that kernel thread's CPUs */
	char old[VALUE], new[VALUE];
	const char *why, *needs;
	bool may; /* the kernel may refuse it, and the rest is of use without */
};

struct wish {
	const char *dev; /* NULL: see_default_device */
	long cpu;        /* -1: chosen */
	int rung;        /* -1: the best there is */
	bool alone;      /* no other interrupts on the network CPU */
};

struct plan {
	const struct device *dev; /* NULL: there is none */
	long cpu;                 /* -1: none */
	enum rung rung;
	struct change *change;
	size_t n;
	char **advice;
	size_t n_advice;
};

/* NULL, or why this machine can't have that. */
const char *plan_make(struct plan *p, const struct machine *m, const struct wish *w);

/* A change's key, read and written. "-": there is no such kernel thread. */
int setting_read(const char *key, char value[VALUE]);
int setting_write(const char *key, const char *value);
/* 0, or -errno: it can't be written by this process. */
int setting_access(const char *key);

#endif

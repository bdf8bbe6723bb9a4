/* SPDX-License-Identifier: Apache-2.0 */
/* plan.h - the settings to write, and why. */
#ifndef NET_PLAN_H
#define NET_PLAN_H

#include "see.h"

/* The best first. */
enum rung { SQPOLL, EPOLL, THREADED, RPS, ADVISE, RUNGS };
extern const char *const rung_names[RUNGS];

struct change {
	char key[192]; /* a path, or "napi-thread ID": that kernel thread's CPUs */
	char old[VALUE], new[VALUE];
	const char *why, *needs;
	bool may; /* the kernel may refuse it; the rest is useful without it */
};

struct wish {
	const char *dev; /* NULL: see_default_device */
	long cpu;        /* -1: plan_make chooses */
	int rung;        /* -1: the best available */
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

/* NULL, or why this machine does not support the wish. */
const char *plan_make(struct plan *p, const struct machine *m, const struct wish *w);

/* Read and write a change's key. The value "-": there is no such kernel thread. */
int setting_read(const char *key, char value[VALUE]);
int setting_write(const char *key, const char *value);
/* 0, or -errno if this process can't write it. */
int setting_access(const char *key);

#endif

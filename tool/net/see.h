/* SPDX-License-Identifier: Apache-2.0 */
/* see.h - the machine as `uk net` found it; read-only after see(). */
#ifndef NET_SEE_H
#define NET_SEE_H

#include <net/if.h>

#include "ask.h"

struct irq {
	unsigned n;
	char name[128];
	char cpus[VALUE]; /* that it may go to; "": unreadable */
	bool banned;      /* irqbalance leaves it alone */
};

/* A value is "" if the kernel has no such file. */
struct device {
	char name[IFNAMSIZ], driver[64], state[16];
	unsigned ifindex;
	long node; /* -1: none */
	char threaded[VALUE], defer[VALUE], flush[VALUE];
	char **rx, **tx; /* names of queues */
	size_t n_rx, n_tx;
	struct napi *napi;
	size_t n_napi;
	struct irq *irq;
	size_t n_irq;
	bool has_napi;
};

struct machine {
	char kernel[VALUE];
	cpu_set_t online, isolated;
	struct features can;
	struct device *dev;
	size_t n_dev;
	struct irq *irq; /* all of them */
	size_t n_irq;
	char busy_poll[VALUE], busy_read[VALUE];
	bool irqbalance, tuned, root;
	char profile[VALUE];   /* tuned's */
	const char *other_sys; /* why /sys must not be used, or NULL */
};

void see(struct machine *m);
struct device *see_device(const struct machine *m, const char *name);
/* The device of the default route, or the first that is up and has NAPI, or NULL. */
struct device *see_default_device(const struct machine *m);

/* `uk net discover` */
void discover(const struct machine *m);

#endif

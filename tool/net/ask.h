/* SPDX-License-Identifier: Apache-2.0 */
/* ask.h - what no file says: NAPIs, features of io_uring and epoll, kernel threads. */
#ifndef NET_ASK_H
#define NET_ASK_H

#include <stdbool.h>
#include <stddef.h>

#include "tree.h"

struct napi {
	unsigned ifindex, id, irq; /* irq 0: unknown */
	long defer, flush;
	char cpus[VALUE]; /* of its kernel thread; "" if it has none */
};

struct features {
	bool netlink; /* NAPIs can be listed */
	bool sqpoll; /* a kernel thread that polls for submissions, without privilege */
	bool uring_napi; /* ... and polls the device's queue, too */
	bool epoll_poll; /* EPIOCSPARAMS: busy-polling for one epoll instance */
};

void ask_features(struct features *f);
/* All NAPIs of this network namespace. 0, or -errno if the kernel can't list them. */
int ask_napis(struct napi **all, size_t *n);

/* The CPUs of a NAPI's kernel thread. "-": there is no thread; "": unreadable. */
void ask_thread_cpus(unsigned napi, char cpus[VALUE]);
int set_thread_cpus(unsigned napi, const char *cpus);

/* Does this device name mean the same device in /sys and in our network namespace? */
bool ask_same_device(const char *name, unsigned ifindex);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - what was there before, so that undo finds it whatever happened between. */
#ifndef NET_JOURNAL_H
#define NET_JOURNAL_H

#include "plan.h"

#define JOURNAL "/run/uk-net/journal"

struct journal {
	char boot[64], netns[64];
	char dev[IFNAMSIZ], rung[16];
	unsigned ifindex;
	long cpu;
	int alone;
	struct change *change; /* without why and needs */
	size_t n;
};

/* Nobody else applies or undoes until this process ends. 0, or -errno: -EWOULDBLOCK if
 * somebody does. */
int journal_lock(void);
/* 0: there is none; 1; or -errno, -EBADMSG if it is not one of ours. */
int journal_load(struct journal *j);
int journal_store(const struct journal *j);
int journal_remove(void);
/* Of this plan. */
void journal_begin(struct journal *j, const struct plan *p, bool alone);
/* What keeps it from being used here and now, or NULL. */
const char *journal_strange(const struct journal *j);
bool journal_of_last_boot(const struct journal *j);

#endif

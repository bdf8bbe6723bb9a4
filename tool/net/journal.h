/* SPDX-License-Identifier: Apache-2.0 */
/* journal.h - the old values, saved so that undo finds them whatever happens. */
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

/* Locks out other processes that apply or undo, until this process ends. 0, or -errno:
 * -EWOULDBLOCK if another process has the lock. */
int journal_lock(void);
/* 1; 0: there is none; or -errno, -EBADMSG if the file is not a whole journal. */
int journal_load(struct journal *j);
int journal_store(const struct journal *j);
int journal_remove(void);
/* Fill j from the plan. */
void journal_begin(struct journal *j, const struct plan *p, bool alone);
/* Why this process can't use it, or NULL. */
const char *journal_strange(const struct journal *j);
bool journal_of_last_boot(const struct journal *j);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* apply.h - writes, reads back, takes back. */
#ifndef NET_APPLY_H
#define NET_APPLY_H

#include "journal.h"

enum outcome {
	WRITTEN,
	AS_IT_WAS, /* undo: nothing to do */
	REFUSED,   /* by the kernel; the rest is of use without */
	GONE,      /* the device, its thread or its interrupt is not there any more */
	CHANGED,   /* undo: by somebody else since: left so */
	FAILED,
	SKIPPED, /* apply: not reached */
};
extern const char *const outcome_names[];

struct step {
	enum outcome outcome;
	int err;         /* of FAILED and REFUSED */
	char now[VALUE]; /* what is there after it */
	char at[256];    /* where: the key, unless the device has been renamed */
};

/* step has room for all changes. 0, or the number of those that failed: what was written
 * before is taken back, and in undone. */
size_t apply_changes(const struct journal *j, struct step *step);
size_t undo_changes(const struct journal *j, struct step *step);
/* As it was applied? Reads only. */
bool change_holds(const struct journal *j, const struct change *c, struct step *step);

#endif

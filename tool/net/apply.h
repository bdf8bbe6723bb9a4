/* SPDX-License-Identifier: Apache-2.0 */
/* apply.h - writes settings, reads them back, and undoes them. */
#ifndef NET_APPLY_H
#define NET_APPLY_H

#include "journal.h"

enum outcome {
	WRITTEN,
	AS_IT_WAS, /* undo: nothing to do */
	REFUSED,   /* by the kernel; the rest is useful without it */
	GONE,      /* the device, its thread or its interrupt does not exist any more */
	CHANGED,   /* undo: somebody else changed it since apply: not touched */
	FAILED,
	SKIPPED, /* apply: not reached */
};
extern const char *const outcome_names[];

struct step {
	enum outcome outcome;
	int err;         /* of FAILED and REFUSED */
	char now[VALUE]; /* the value read last */
	char at[256];    /* the key, with a renamed device's new name */
};

/* step has an element for each change. Returns how many failed. apply stops at the
 * first failure, and the caller undoes the changes written before it. */
size_t apply_changes(const struct journal *j, struct step *step);
size_t undo_changes(const struct journal *j, struct step *step);
/* Does the setting still have the value that apply wrote? Only reads. */
bool change_holds(const struct journal *j, const struct change *c, struct step *step);

#endif

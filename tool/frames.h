/* SPDX-License-Identifier: Apache-2.0 */
/* frames.h - the frames of a parked thread of another process. */
#ifndef TOOL_FRAMES_H
#define TOOL_FRAMES_H

#include "target.h"

#define FRAMES_MOST 64

/* What is missing to find frames, or NULL. */
const char *frames_missing(void);
/* The addresses at which the frames of s go on, the innermost first; *more: there are
 * others. Returns how many; 0: s runs now or has no frames; -1: *t is lost. */
int frames_of(struct target *t, const struct seen_thread *s, uint64_t ip[FRAMES_MOST],
	      bool *more);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* target_impl.h - shared by target.c and view.c. */
#ifndef TOOL_TARGET_IMPL_H
#define TOOL_TARGET_IMPL_H

#include "target.h"

/* Sets why, and returns status. */
int target_fails(struct target *t, int status, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* These do nothing if *status is set, and set it if nothing at all can be read. */
/* One piece. False: it is not there, or *status is set. */
bool target_peek(struct target *t, uint64_t at, void *to, size_t n, int *status);
/* 0 if it is not there. */
uint32_t target_word(struct target *t, const void *at, int *status);
/* The caller frees it, in any case. It is an error if it is not there. */
void *target_array(struct target *t, const void *at, size_t n, size_t size,
		   int *status);

/* A text in the target's memory, without what a terminal might obey; "?" if there is
 * none. */
int target_text(struct target *t, uint64_t at, char to[TARGET_NAME]);
/* The field f of a structure that was copied to `from`. */
uint64_t target_get(const void *from, struct layout_at f);

#endif

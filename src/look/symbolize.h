/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize.h - file and line of code, for dumps. Async-signal-safe; see
 * symbolize.c. */
#ifndef LOOK_SYMBOLIZE_H
#define LOOK_SYMBOLIZE_H

#include "base/base.h"

#define SYMBOLIZE_MAX 1024 /* bytes of an answer */

void symbolize_learn(void); /* once, at the start: reads the environment */
/* Around the lines of one report; the helper starts at the first question. False: there
 * is another report, whose answers can be used as long as it lasts. */
bool symbolize_begin(void);
void symbolize_end(bool begun);
/* Looks up code at `addr` of the file `object` (addresses as in the file; "": the
 * program). For each function inlined there, innermost first, and then for the one that
 * it is in, *out gets a line with the function's name and a line "file:line". False:
 * there is no answer, or not in time. */
bool symbolize(const char *object, uintptr_t addr, char out[SYMBOLIZE_MAX]);

#endif

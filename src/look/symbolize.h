/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize.h - file and line of code, for dumps. Async-signal-safe; see symbolize.c. */
#ifndef LOOK_SYMBOLIZE_H
#define LOOK_SYMBOLIZE_H

#include "base/base.h"

#define SYMBOLIZE_MAX 1024 /* bytes of an answer */

void symbolize_learn(void); /* once, at the start: what the environment says */
/* Around the lines of one report; nothing is started before it is needed. False: there is
 * another report, whose answers may be had as long as it lasts. */
bool symbolize_begin(void);
void symbolize_end(bool begun);
/* Code at `addr` of the file `object` (addresses as in the file; "": the program): for each
 * function inlined there, innermost first, and then for the one that it is in: a line with
 * the function's name, and a line "file:line". False: nobody knows, or not in time. */
bool symbolize(const char *object, uintptr_t addr, char out[SYMBOLIZE_MAX]);

#endif

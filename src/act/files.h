/* SPDX-License-Identifier: Apache-2.0 */
#ifndef ACT_FILES_H
#define ACT_FILES_H

#include "base/base.h"

/* The calling kernel thread leaves the process's table of files for an empty one. False: it
 * cannot, and must open nothing. Its messages still come out (panic.h). */
bool files_own(void);
/* There is nobody who will. */
void files_none(void);
/* He who will has, or cannot. Outside the runtime. */
void files_await(void);

#endif

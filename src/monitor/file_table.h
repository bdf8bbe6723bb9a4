/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MONITOR_FILE_TABLE_H
#define MONITOR_FILE_TABLE_H

#include "base/base.h"

/* The calling kernel thread leaves the process's table of files for an empty one.
 * False: it cannot, and must open nothing. Its messages still come out (log.h). */
bool files_own(void);
/* No thread of this process will call files_own, or the call is done. */
void files_none(void);
/* Outside the runtime: wait for either. */
void files_await(void);

#endif

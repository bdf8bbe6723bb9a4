/* SPDX-License-Identifier: Apache-2.0 */
/* fds.h - which file table a kernel thread has.
 *
 * The monitor has a file table of its own (monitor/file_table.c). The program's fds,
 * including the reactors', are invalid there or refer to other files, so the monitor
 * must not write to an eventfd or enter a ring. A debug build asserts that where a
 * reactor is kicked. */
#ifndef BASE_FDS_H
#define BASE_FDS_H

#include "base/sys.h"

/* Kernel id of the thread that has its own table, 0: none. That thread writes it,
 * anyone reads. */
extern int files_apart;

static inline bool files_are_the_programs(void)
{
	return load_relaxed(&files_apart) != sys_gettid();
}

#endif

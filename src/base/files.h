/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - whose table of files a kernel thread has. The monitor has one of its own
 * (act/files.c), where the program's numbers, and the reactors' among them, mean nothing or
 * another file: it must not write to an eventfd or enter a ring. A debug build asserts that
 * where a reactor is kicked. */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include "base/sys.h"

/* The kernel id of who has a table of its own, 0: nobody. It writes, anyone reads. */
extern int files_apart;

static inline bool files_are_the_programs(void)
{
	return load_relaxed(&files_apart) != sys_gettid();
}

#endif

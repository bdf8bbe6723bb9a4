/* SPDX-License-Identifier: Apache-2.0 */
/* files.h - whose table of files a kernel thread has, and which numbers in the program's are ours.
 *
 * The monitor has a table of its own (act/files.c), where the program's numbers, and the
 * reactors' among them, mean nothing or another file: it must not write to an eventfd or
 * enter a ring. A debug build asserts that where a reactor is kicked.
 *
 * In the program's table some numbers are the runtime's: reactors, the dead descriptor of
 * io/close.c, the file of who waits on a number that was closed. They are claimed here, so
 * that a program that closes all numbers from 3 on, as daemons do, can be kept from these
 * (posix/close.c). A forked child has none at first.
 *
 * Rejected: to find out that one is gone and make it again (the number may be a file of the
 * program's by then, and what was armed on the old one has waiters). */
#ifndef BASE_FILES_H
#define BASE_FILES_H

#include "base/sys.h"

/* The kernel id of who has a table of its own, 0: nobody. It writes, anyone reads. */
extern int files_apart;

static inline bool files_are_the_programs(void)
{
	return load_relaxed(&files_apart) != sys_gettid();
}

#define FILES_MOST                                                                     \
	(1u << 20)      /* numbers that we know of: the kernel's default, fs.nr_open */
#define FILES_HIGH 1024 /* out of the way of programs that expect the lowest numbers */

/* A duplicate of fd, closed on exec; -errno. It is ours. From FILES_HIGH on, or in the upper
 * half of what the program may have, if there is room. */
int files_dup(int fd);
/* fd is open, and ours from now on. */
void files_claim(int fd);
/* It is not, and is closed. -1: there is none. */
void files_drop(int fd);
/* A forked child: all are. */
void files_fork_child(void);
bool files_claimed(int fd);
/* The first number from fd on that is ours, if it is not beyond last; else last + 1. */
unsigned files_next(unsigned fd, unsigned last);

#endif

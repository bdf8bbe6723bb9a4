/* SPDX-License-Identifier: Apache-2.0 */
/* fds.h - which file table a kernel thread has, and which of the program's fds are
 * ours.
 *
 * The monitor has a file table of its own (monitor/file_table.c). The program's fds,
 * including the reactors', are invalid there or refer to other files, so the monitor
 * must not write to an eventfd or enter a ring. A debug build asserts that where a
 * reactor is kicked.
 *
 * In the program's table some fds belong to the runtime: those of the reactors, the
 * dead fd of io/close.c, and the duplicates for threads that wait on a closed fd. They
 * are claimed here, so that they can be protected from a program that closes all fds
 * from 3 on, as daemons do (preload/pt_close.c). A forked child begins with none.
 *
 * Rejected: to detect that such an fd is gone and make it again. By then it may be a
 * file of the program, and whatever was armed on the old one has waiters. */
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

#define FILES_MOST                                                                     \
	(1u << 20) /* fds that are tracked: the kernel's default of fs.nr_open */
#define FILES_LOW (1u << 14) /* fds whose elements lie in the tables themselves */
#define FILES_HIGH 1024      /* out of the way of programs that expect the lowest fds */

/* A table with an element for each fd that is tracked, zero at first. The elements of
 * high fds are mapped when one of them is first needed, because mlockall(2) locks, and
 * counts, all that is mapped. */
#define FILES_TABLE(name, type)                                                        \
	struct name {                                                                  \
		type low[FILES_LOW];                                                   \
		void *high; /* NULL until then */                                      \
	}
FILES_TABLE(files_u16, uint16_t);
FILES_TABLE(files_u32, uint32_t);
FILES_TABLE(files_u64, uint64_t);
/* The element of fd; NULL: it is not tracked (or there was no memory, once for all). */
#define files_at(t, fd)                                                                \
	(likely((unsigned)(fd) < FILES_LOW)                                            \
	     ? &(t)->low[fd]                                                           \
	     : (typeof(&(t)->low[0]))files_high(&(t)->high, (unsigned)(fd),            \
						sizeof((t)->low[0])))
void *files_high(void **high, unsigned fd, size_t size);
/* Makes all elements zero, and gives their memory back. The table is page-aligned. */
#define files_zero(t) files_zeroed((t)->low, sizeof((t)->low), &(t)->high)
void files_zeroed(void *low, size_t bytes, void **high);

/* Around the start of the runtime: meanwhile the process may have as many fds as the
 * hard limit allows. So the runtime gets its fds even if the program has used up all
 * that it may have, and takes none of these. *was: the limit before. */
struct rlimit;
bool files_raise(struct rlimit *was);
void files_lower(const struct rlimit *was);

/* Claims and returns a duplicate of fd, closed on exec; -errno. It is FILES_HIGH or
 * above if possible, else in the upper half of the fds that the program may have, else
 * the lowest free one. */
int files_dup(int fd);
/* fd is open, and belongs to the runtime from now on. */
void files_claim(int fd);
/* fd no longer belongs to the runtime: closes it. -1: does nothing. */
void files_drop(int fd);
/* In a forked child: drops all but files_kept. */
void files_fork_child(void);
extern int files_kept; /* preload/pt_children.c; -1: none */
bool files_claimed(int fd);
/* The first claimed fd from fd to last, or last + 1. */
unsigned files_next(unsigned fd, unsigned last);

#endif

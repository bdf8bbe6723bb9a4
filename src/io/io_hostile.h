/* SPDX-License-Identifier: Apache-2.0 */
/* Fault injection for the hostile build, at the system calls of this directory: -EAGAIN
 * where a call might not have blocked, -EINTR where it blocks, short transfers where
 * the kernel may make them (streams and files, but no pipe write that must be atomic).
 * UK_DEBUG=seed=N seeds it.
 *
 * In every other build these functions do nothing. */
#ifndef IO_IO_HOSTILE_H
#define IO_IO_HOSTILE_H

#include "base/base.h"

struct io_op;

#if UK_HOSTILE
bool hostile_io_again(const struct io_op *op);
bool hostile_io_intr(void);
/* The length to use instead of len. */
size_t hostile_io_len(const struct io_op *op, size_t len);
/* The same for a call that continues with the rest. */
size_t hostile_part(size_t len);
#else
static inline bool hostile_io_again(const struct io_op *op UNUSED)
{
	return false;
}
static inline bool hostile_io_intr(void)
{
	return false;
}
static inline size_t hostile_io_len(const struct io_op *op UNUSED, size_t len)
{
	return len;
}
static inline size_t hostile_part(size_t len)
{
	return len;
}
#endif

#endif

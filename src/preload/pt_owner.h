/* SPDX-License-Identifier: Apache-2.0 */
/* pt_owner.h - user threads that own an fd (pt_owner.c). */
#ifndef PRELOAD_PT_OWNER_H
#define PRELOAD_PT_OWNER_H

#include <fcntl.h>
#include <stdbool.h>

/* Is the command about an fd's owner? */
static inline bool owner_is(int cmd)
{
	return (cmd >= F_SETOWN && cmd <= F_GETSIG) || cmd == F_SETOWN_EX ||
	       cmd == F_GETOWN_EX;
}
/* Is it about a user thread? Then *r is the result of fcntl(2). Otherwise *arg is what
 * the kernel is to get. */
bool owner_fcntl(int fd, int cmd, void **arg, long *r);
/* Does the request name a user thread? Then the kernel is to get *process instead. */
bool owner_ioctl(int fd, unsigned long request, const void *arg, int *process);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* spot_skel.h - the skeleton that bpftool made of spot.bpf.c, with our own system
 * calls. It uses no function of libc that the preload library defines, and no memory
 * from libc, because the monitor may run while a thread that it rescues holds the
 * allocator's lock. */
#ifndef MONITOR_SPOT_SKEL_H
#define MONITOR_SPOT_SKEL_H

#pragma GCC system_header /* others' code and their warnings */

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/os.h"

static int spot_error_number; /* the monitor's */

static inline long spot_errno(long r)
{
	if (r >= 0)
		return r;
	spot_error_number = (int)-r;
	return -1;
}

#undef errno
#define errno spot_error_number

#define syscall(n, a, b, c) spot_errno(sys3(n, a, b, c))
#define close(fd) spot_errno(sys1(SYS_close, fd))
#define calloc(n, size) os_map((n) * (size))
#define free(p) ((void)(p)) /* ours is static */
#include "monitor/spot_bpf.lskel.h"
#undef errno
#undef syscall
#undef close
#undef calloc
#undef free

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Readiness, for programs that make the call themselves (a TLS library, say). */
#include "io/io.h"

int uk_wait(int fd, int events, uk_time deadline)
{
	struct uk_thread *t = rt_enter();
	int r = -EBUSY;

	/* what has been received ahead is not in the socket */
	if (!(events & (POLLIN | POLLRDNORM)) || !sched_is_ahead(fd))
		r = io_ready(t, fd, (unsigned)events & 0xffff, deadline);

	rt_exit();
	return r;
}

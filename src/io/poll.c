/* SPDX-License-Identifier: Apache-2.0 */
/* Readiness, for programs that make the call themselves (a TLS library, say). */
#include "io/io.h"

int uk_wait(int fd, int events, uk_time deadline)
{
	struct uk_thread *t = rt_enter();
	int r = io_ready(t, fd, (unsigned)events & 0xffff, deadline);

	rt_exit();
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* accept(2) on a listener without O_NONBLOCK, such that it does not block because
 * another vp was faster. See accept.c. */
#ifndef REACTOR_ACCEPT_H
#define REACTOR_ACCEPT_H

#include "base/base.h"

struct sockaddr;

/* Returns a new fd or -errno. -EAGAIN: no connection is waiting, or another of our
 * threads is just taking it; wait for readiness again. Call it under a mark: it does
 * block if something outside the runtime (another process, a foreign call) takes the
 * connection first. */
int accept_try(int fd, struct sockaddr *addr, uint32_t *len, int flags);
/* In a forked child: clears the locks of threads that were in accept_try. */
void accept_fork_child(void);

#endif

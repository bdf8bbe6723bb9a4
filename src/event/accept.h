/* SPDX-License-Identifier: Apache-2.0 */
/* accept(2) on a listener without O_NONBLOCK that does not block because another vp was
 * faster. See accept.c. */
#ifndef EVENT_ACCEPT_H
#define EVENT_ACCEPT_H

#include "base/base.h"

struct sockaddr;

/* A new descriptor, or -errno; -EAGAIN: nobody is there (or another of our threads is just
 * taking him): wait for readiness again. Call it under a mark: it does block when somebody
 * outside the runtime (another process, a foreign call) takes the connection first. */
int accept_try(int fd, struct sockaddr *addr, uint32_t *len, int flags);
/* In a forked child: nobody is taking one. */
void accept_fork_child(void);

#endif

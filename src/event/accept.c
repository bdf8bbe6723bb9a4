/* SPDX-License-Identifier: Apache-2.0 */
/* The race of two vps for one connection, settled without touching the listener's flags
 * (they are shared with other processes): look and take are one step under a process-wide
 * try-lock per listener. Who does not get the lock does not wait for it, because its holder
 * may block in the kernel (a sibling process took the connection); he goes back to the
 * reactor.
 *
 * Runs under a mark, on the thread that accepts. Only for the epoll engine: a ring's accept
 * has no race.
 * Rejected: O_NONBLOCK for a moment (other processes see it); SO_RCVTIMEO (likewise).
 */
#include "event/accept.h"

#include <poll.h>
#include <string.h>

#include "base/sys.h"

#define LOCKS 256u

static uint8_t busy[LOCKS]; /* by descriptor; whoever exchanges 0 for 1 */

void accept_fork_child(void)
{
	memset(busy, 0, sizeof(busy));
}

int accept_try(int fd, struct sockaddr *addr, uint32_t *len, int flags)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec zero = { 0 };
	uint8_t *lock = &busy[(uint32_t)fd % LOCKS];
	long r;

	if (xchg_acquire(lock, 1)) /* acquire: the previous holder's accept is over */
		return -EAGAIN;
	r = sys5(SYS_ppoll, &p, 1, &zero, NULL, 8);
	if (r > 0)
		r = sys4(SYS_accept4, fd, addr, len, flags);
	else if (r == 0 || r == -EINTR)
		r = -EAGAIN;
	store_release(lock, 0); /* pairs with the exchange */
	return (int)r;
}

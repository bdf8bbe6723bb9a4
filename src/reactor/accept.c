/* SPDX-License-Identifier: Apache-2.0 */
/* Settles the race of two vps for one connection without a change of the listener's
 * flags, which other processes share. The check for a connection and the accept are one
 * step under a process-wide try-lock for each listener. A thread that does not get the
 * lock does not wait for it, because the holder may block in the kernel (if another
 * process took the connection); it goes back to the reactor.
 *
 * Runs under a mark, on the thread that accepts. Only for the epoll engine: accept by
 * io_uring has no such race.
 * Rejected: O_NONBLOCK for the time of the call (other processes see it); SO_RCVTIMEO
 * (likewise).
 */
#include "reactor/accept.h"

#include <poll.h>
#include <string.h>

#include "base/sys.h"

#define LOCKS 256u

static uint8_t busy[LOCKS]; /* by fd; the thread that exchanges 0 for 1 holds it */

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

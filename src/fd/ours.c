/* SPDX-License-Identifier: Apache-2.0 */
/* ours.c - the fds of the runtime itself.
 *
 * In the program's table some fds belong to the runtime: those of the reactors, the
 * dead fd of io/close.c, and the duplicates for threads that wait on a closed fd. They
 * are claimed here, so that they can be protected from a program that closes all fds
 * from 3 on, as daemons do (preload/pt_close.c). A forked child begins with none.
 *
 * Rejected: to detect that such an fd is gone and make it again. By then it may be a
 * file of the program, and whatever was armed on the old one has waiters. */
#include <fcntl.h>
#include <sys/resource.h>

#include "fd/fd.h"

int fd_kept = -1;
/* By chunk. Only bounds searches: a claim counts before it sets the bit. Atomics. */
static uint16_t claimed[FD_MOST / FD_CHUNK];

void fd_claim(int fd)
{
	struct fd_state *s = fd_at(fd);

	if (!s || load_relaxed(&s->word) & FD_OURS)
		return;
	fetch_add_acq_rel(&claimed[(unsigned)fd / FD_CHUNK], 1);
	fetch_or_acq_rel(&s->word, FD_OURS);
}

/* The bit first: once closed, the fd may be the program's. */
void fd_drop(int fd)
{
	struct fd_state *s;

	if (fd < 0)
		return;
	s = fd_peek(fd);
	if (s && fetch_and_acq_rel(&s->word, ~FD_OURS) & FD_OURS)
		fetch_sub_acq_rel(&claimed[(unsigned)fd / FD_CHUNK], 1);
	sys1(SYS_close, fd);
}

bool fd_limit_raise(struct rlimit *was)
{
	struct rlimit most;

	if (sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, was) ||
	    was->rlim_cur >= was->rlim_max)
		return false;
	most = (struct rlimit){ was->rlim_max, was->rlim_max };
	return !sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, &most, NULL);
}

void fd_limit_restore(const struct rlimit *was)
{
	sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, was, NULL);
}

int fd_dup(int fd)
{
	long r = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, FD_HIGH);
	struct rlimit lim;

	if (r == -EINVAL && !sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &lim))
		r = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, lim.rlim_cur / 2);
	if (r < 0)
		r = sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 0);
	if (r >= 0)
		fd_claim((int)r);
	return (int)r;
}

void fd_drop_all(void)
{
	unsigned fd = 0;

	for (; (fd = fd_next_ours(fd, FD_MOST - 1)) < FD_MOST; fd++)
		if ((int)fd != fd_kept)
			fd_drop((int)fd);
}

bool fd_is_ours(int fd)
{
	const struct fd_state *s = fd_peek(fd);

	return s && load_relaxed(&s->word) & FD_OURS;
}

unsigned fd_next_ours(unsigned fd, unsigned last)
{
	while (fd <= last && fd < FD_MOST) {
		if (!load_relaxed(&claimed[fd / FD_CHUNK]))
			fd = (fd / FD_CHUNK + 1) * FD_CHUNK;
		else if (fd_is_ours((int)fd))
			return fd;
		else
			fd++;
	}
	return last + 1;
}

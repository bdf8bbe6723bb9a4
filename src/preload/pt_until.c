/* SPDX-License-Identifier: Apache-2.0 */
/* pt_until.c - makes a non-blocking call of the program's own until it does not have to
 * wait.
 *
 * For calls that carry more than bytes (addresses, messages, lists of both). The kernel
 * reads and writes the program's memory by the program's own pointers, so the kernel
 * refuses bad ones, and the runtime never has to look at them. The cost is one system
 * call more for each wait than for an operation of the reactor.
 *
 * Runs on the calling thread; the call itself outside the runtime. */
#include <fcntl.h>

#include "preload/pt_calls.h"

#define PAUSE (NS_PER_MS / 2)
#define AGAIN_MAX 8

/* What limits the wait: 0, or the call's result if it must not wait. */
static long limits(struct uk_thread *t, const struct io_until *u, int64_t *until)
{
	long flags;

	*until = TIME_NEVER;
	if (!u->mode)
		return 0;
	flags = io_flags(t, u->fd);
	if (flags < 0)
		return flags;
	if (flags & O_NONBLOCK)
		return -EAGAIN;
	if (u->mode == IO_AS_SOCKET)
		*until = io_limit(t, u->fd, u->events);
	return 0;
}

static long once_ready(struct uk_thread *t, const struct io_until *u, int64_t until,
		       int *fd)
{
	bool counted = *fd == u->fd;
	int at = counted ? io_left_for(*fd) : -EBADF;
	long r = REACTOR_MOVED;

	if (likely(at < 0)) {
		at = *fd;
		r = io_ready_or_moved(t, &at, u->events, MIN(until, u->deadline),
				      IO_CLASS_NET);
	}
	if (r >= 0) {
		COUNT(t, syscalls);
		outside_begin(t);
		r = u->call(u->arg, *fd);
		outside_end(t);
	}
	if (unlikely(r == REACTOR_MOVED)) {
		if (counted)
			fd_unuse(*fd);
		io_follow(fd, at, u->fd);
	}
	return r;
}

static long until(struct uk_thread *t, const struct io_until *u)
{
	int64_t end;
	int fd = u->fd;
	long r = limits(t, u, &end);

	fd_use(fd);
	for (unsigned again = 0; r == 0; again++) {
		r = io_check(t);
		if (r == 0)
			r = once_ready(t, u, end, &fd);
		if (io_limit_over(t, end, r)) {
			r = -EAGAIN;
			break;
		}
		if (r == -EAGAIN)
			r = again > AGAIN_MAX ? io_pause(t, PAUSE) : 0;
		else if (r == REACTOR_MOVED)
			r = 0;
		else
			break;
	}
	if (likely(fd == u->fd))
		fd_unuse(fd);
	else
		fd_drop(fd);
	return r;
}

long io_until(const struct io_until *u)
{
	long r = u->call(u->arg, u->fd);
	struct uk_thread *t;
	int unable;

	if (r != -EAGAIN)
		return r;
	unable = rt_begin();
	if (unlikely(unable))
		return unable;
	t = rt_enter();
	r = until(t, u);
	rt_exit();
	return r;
}

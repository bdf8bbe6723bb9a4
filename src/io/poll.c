/* SPDX-License-Identifier: Apache-2.0 */
/* Readiness, for programs that make the call themselves (a TLS library, a DNS library).
 *
 * uk_poll looks first, by ppoll(2) without waiting. If nothing is ready, each fd
 * becomes an operation of the reactor, all with one token: the first event wakes the
 * thread, which ends the other operations and looks once more. So thousands of threads
 * may wait on many fds each without a carrier each. It costs what poll(2) costs, a few
 * steps for each fd and wait.
 *
 * Rejected: an epoll instance for each waiting thread (three system calls for each fd
 * and wait, and one more fd).
 */
#include "base/os.h"
#include "io/io.h"

#include <string.h>

#define INLINE_OPS 16u
#define VAIN_MAX 4 /* wake-ups with nothing ready before it pauses */

int uk_wait_fd(int fd, int events, uk_time deadline)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	int r = -EBUSY;

	/* what has been received ahead is not in the socket */
	if (!(events & (POLLIN | POLLRDNORM)) || !fd_is_ahead(fd))
		r = io_ready(t, fd, (unsigned)events & 0xffff, deadline);

	rt_exit();
	return r;
}

/* ppoll(2) of all, for at most ns (0: no wait; TIME_NEVER). Outside the runtime,
 * because the list is in the program's memory. */
static int look(struct uk_thread *t, struct pollfd *fds, unsigned n, int64_t ns)
{
	struct timespec ts = sys_timespec(ns == TIME_NEVER ? 0 : ns);
	long r;

	COUNT(t, syscalls);
	block_begin(t, false);
	r = sys5(SYS_ppoll, fds, n, ns == TIME_NEVER ? NULL : &ts, NULL, 8);
	block_end(t);
	return r == -EINTR ? 0 : (int)r;
}

/* Fills in an operation for each fd and returns their count. -EBUSY: a stream is
 * received ahead, whose bytes the operation would not see. */
static int fill(struct io_op *op, const struct pollfd *fds, unsigned n)
{
	unsigned k = 0;

	for (unsigned i = 0; i < n; i++) {
		if (fds[i].fd < 0)
			continue;
		if (fds[i].events & (POLLIN | POLLRDNORM) && fd_is_ahead(fds[i].fd))
			return -EBUSY;
		op[k++] = (struct io_op){ .kind = IO_POLL,
					  .fd = fds[i].fd,
					  .len = (uint16_t)fds[i].events,
					  .off = IO_CURRENT,
					  .off2 = i };
	}
	return (int)k;
}

/* If an fd was closed during the wait, its file is waited for by a duplicate, in a copy
 * of the list: `mine`, made for the first such fd. Events that are ready now are asked
 * for by fd, as in poll(2). */
static struct pollfd *follow(struct pollfd *mine, const struct pollfd *fds, unsigned n,
			     const struct io_op *op, unsigned k)
{
	for (unsigned i = 0; i < k; i++) {
		if (likely(op[i].res != REACTOR_MOVED))
			continue;
		if (!mine) {
			mine = os_map(n * sizeof(*mine));
			if (mine)
				memcpy(mine, fds, n * sizeof(*mine));
		}
		if (mine)
			io_follow(&mine[op[i].off2].fd, op[i].fd2, fds[op[i].off2].fd);
		else
			fd_drop(op[i].fd2);
	}
	return mine;
}

static void follow_no_more(struct pollfd *mine, const struct pollfd *fds, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		io_follow(&mine[i].fd, fds[i].fd, fds[i].fd);
	os_unmap(mine, n * sizeof(*mine));
}

static bool moved(const struct io_op *op, unsigned k)
{
	for (unsigned i = 0; i < k; i++)
		if (unlikely(op[i].res == REACTOR_MOVED))
			return true;
	return false;
}

static int park_on(struct uk_thread *t, struct io_op *op, unsigned k, int64_t deadline)
{
	uint64_t tok;

	if (k)
		return sched_io_any(t, op, k, IO_CLASS_NET, deadline);
	tok = wait_begin(t, WAIT_SLEEP, NULL); /* no fd at all: a sleep */
	return wake_error(wait_park(t, tok, deadline));
}

/* After a look that found nothing. */
static int poll_parked(struct uk_thread *t, struct pollfd *fds, unsigned n,
		       struct io_op *op, int64_t deadline)
{
	struct pollfd *mine = NULL;
	int r = 0, end = 0, k;

	for (int vain = 0; r == 0 && end == 0; vain++) {
		end = io_check(t);
		if (end == 0 && MIN(deadline, t->deadline) <= sys_now())
			end = -ETIMEDOUT;
		/* ready for the reactor but not for poll(2): do not spin */
		if (end == 0 && vain > VAIN_MAX)
			end = io_pause(t, NS_PER_MS);
		k = fill(op, mine ? mine : fds, n);
		if (end || k < 0) {
			end = end ? end : k;
			break;
		}
		end = park_on(t, op, (unsigned)k, deadline);
		if (unlikely(moved(op, (unsigned)k)))
			mine = follow(mine, fds, n, op, (unsigned)k);
		else
			r = look(t, fds, n, 0);
	}
	if (unlikely(mine))
		follow_no_more(mine, fds, n);
	return r ? r : end;
}

/* The thread sleeps in the kernel. */
static int poll_kernel(struct uk_thread *t, struct pollfd *fds, unsigned n,
		       int64_t deadline)
{
	for (;;) {
		int64_t end = MIN(deadline, t->deadline), now = sys_now();
		int r =
		    look(t, fds, n, end == TIME_NEVER ? TIME_NEVER : MAX(end - now, 0));

		if (r)
			return r;
		if (unlikely(load_relaxed(&t->asked)))
			return thread_asked(t, ASK_CANCEL) ? -ECANCELED : -EINTR;
		if (end <= sys_now())
			return -ETIMEDOUT;
	}
}

/* Not in uk_poll's frame: most calls of a busy program find something ready at once. */
static NOINLINE int poll_user(struct uk_thread *t, struct pollfd *fds, unsigned n,
			      int64_t deadline)
{
	struct io_op few[INLINE_OPS], *op = few;
	int r;

	if (n > INLINE_OPS)
		op = os_map(n * sizeof(*op));
	if (!op)
		return poll_kernel(t, fds, n, deadline);
	r = poll_parked(t, fds, n, op, deadline);
	if (op != few)
		os_unmap(op, n * sizeof(*op));
	return r;
}

int uk_poll(struct pollfd *fds, unsigned n, uk_time deadline)
{
	struct uk_thread *t;
	int r = rt_begin();

	if (unlikely(r))
		return r;
	t = rt_enter();
	if (t->kind == THREAD_USER) {
		r = look(t, fds, n, 0);
		if (r == 0)
			r = poll_user(t, fds, n, deadline);
	} else {
		r = poll_kernel(t, fds, n, deadline);
	}
	rt_exit();
	return r;
}

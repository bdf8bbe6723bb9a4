/* SPDX-License-Identifier: Apache-2.0 */
/* pt_poll.c - poll, select, epoll_wait: many fds, and a thread that waits for them
 * holds no carrier. poll is the runtime's. select asks the kernel by a select with a
 * zero timeout, and waits in between as poll does. An epoll instance is itself an fd
 * that becomes readable, so epoll_wait waits for that and takes the events that are
 * there.
 *
 * None of them is restarted after a signal, whatever SA_RESTART says. */
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

#include "base/os.h"
#include "preload/pt_calls.h"
#include "preload/pt_signal.h"

#define VAIN_MAX 4 /* wake-ups with nothing ready, before it pauses */

/* The call under another signal mask; mask may be NULL. */
#define MASKED(mask, call)                                                             \
	({                                                                             \
		uint64_t old_;                                                         \
		int m_ = -1;                                                           \
                                                                                       \
		if (!posix_readable(mask, sizeof(old_))) {                             \
			errno = EFAULT;                                                \
		} else {                                                               \
			if (!posix_mask_begin(mask, &old_))                            \
				m_ = (call);                                           \
			else                                                           \
				errno = EINTR;                                         \
			posix_mask_end(mask, old_);                                    \
		}                                                                      \
		m_;                                                                    \
	})

static int64_t after_ms(int ms)
{
	return ms < 0 ? TIME_NEVER : uk_after(ms * NS_PER_MS);
}

/* The same for a guest, for which the kernel waits. The signals that interrupt a guest
 * are blocked until it waits: call unblocks them by &open_. */
#define GUEST_MASKED(mask, call)                                                       \
	({                                                                             \
		sigset_t open_;                                                        \
		int r_;                                                                \
                                                                                       \
		sigemptyset(&open_);                                                   \
		interrupts_shut(&open_);                                               \
		r_ = MASKED(mask, call);                                               \
		interrupts_open(&open_);                                               \
		r_;                                                                    \
	})

static bool is_guest(const sigset_t *mask)
{
	return mask && !posix_user() && posix_signalled();
}

static long or_none(long r)
{
	return r == -ETIMEDOUT || r == -EAGAIN ? 0 : r;
}

/* ---- poll ---- */

static int poll_until(struct pollfd *fds, nfds_t n, int64_t end)
{
	return (int)POSIX_CALL(false, or_none(uk_poll(fds, (unsigned)n, end)));
}

LIBC_API int poll(struct pollfd *fds, nfds_t n, int ms)
{
	if (!posix_user() || !ms || n > INT_MAX)
		return NEXT(poll)(fds, n, ms);
	return poll_until(fds, n, after_ms(ms));
}
ALSO(poll, __poll);

LIBC_API int __poll_chk(struct pollfd *fds, nfds_t n, int ms, size_t room)
{
	posix_chk(n, room / sizeof(*fds));
	return poll(fds, n, ms);
}

LIBC_API int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *span,
		   const sigset_t *mask)
{
	if (is_guest(mask))
		return GUEST_MASKED(mask, NEXT(ppoll)(fds, n, span, &open_));
	if (!posix_user() || n > INT_MAX || (span && !posix_span_ok(span)))
		return NEXT(ppoll)(fds, n, span, mask);
	return MASKED(mask, poll_until(fds, n, posix_after(span)));
}

LIBC_API int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *span,
			 const sigset_t *mask, size_t room)
{
	posix_chk(n, room / sizeof(*fds));
	return ppoll(fds, n, span, mask);
}

/* ---- select ---- */

/* The fds that were asked for, or the result. */
struct sets {
	fd_set set[3]; /* to read, to write, exceptions */
};

static const short set_events[3] = { POLLIN | POLLRDNORM | POLLRDBAND,
				     POLLOUT | POLLWRNORM | POLLWRBAND, POLLPRI };

static size_t set_bytes(int n)
{
	return ((size_t)n + 63) / 64 * 8;
}

static long look(int n, const struct sets *ask, struct sets *got, fd_set *const p[3])
{
	struct timespec none = { 0, 0 };

	*got = *ask;
	return sysn(SYS_pselect6, n, p[0] ? &got->set[0] : NULL,
		    p[1] ? &got->set[1] : NULL, p[2] ? &got->set[2] : NULL, &none,
		    NULL);
}

static unsigned to_poll(int n, const struct sets *ask, struct pollfd *p)
{
	unsigned k = 0;

	for (int fd = 0; fd < n; fd++) {
		short events = 0;

		for (int i = 0; i < 3; i++)
			if (FD_ISSET(fd, &ask->set[i]))
				events |= set_events[i];
		if (events)
			p[k++] = (struct pollfd){ .fd = fd, .events = events };
	}
	return k;
}

/* Not in select's own frame, since p is large and most calls find something at once. */
static __attribute__((noinline)) long select_wait(int n, const struct sets *ask,
						  int64_t end)
{
	struct pollfd p[FD_SETSIZE];

	return uk_poll(p, to_poll(n, ask, p), end);
}

static long select_until(int n, const struct sets *ask, struct sets *got,
			 fd_set *const p[3], int64_t end)
{
	long r = look(n, ask, got, p), why = 0;

	for (int vain = 0; r == 0 && why >= 0 && end > sys_now(); vain++) {
		why = vain > VAIN_MAX ? uk_sleep(NS_PER_MS) : 0;
		if (why == 0)
			why = select_wait(n, ask, end);
		r = look(n, ask, got, p);
	}
	return r ? r : or_none(MIN(why, 0));
}

static int select_sets(int n, fd_set *const p[3], int64_t end)
{
	struct sets ask, got;
	long r;

	memset(&ask, 0, sizeof(ask));
	for (int i = 0; i < 3; i++)
		if (p[i] && n && !posix_readable(p[i], set_bytes(n)))
			return (int)posix_result(-EFAULT);
		else if (p[i])
			memcpy(&ask.set[i], p[i], set_bytes(n));
	r = POSIX_CALL(false, select_until(n, &ask, &got, p, end));
	for (int i = 0; r >= 0 && i < 3; i++)
		if (p[i])
			memcpy(p[i], &got.set[i], set_bytes(n));
	return (int)r;
}

LIBC_API int pselect(int n, fd_set *restrict in, fd_set *restrict out,
		     fd_set *restrict ex, const struct timespec *restrict span,
		     const sigset_t *restrict mask)
{
	fd_set *const p[3] = { in, out, ex };

	if (is_guest(mask))
		return GUEST_MASKED(mask, NEXT(pselect)(n, in, out, ex, span, &open_));
	if (!posix_user() || n < 0 || (span && !posix_span_ok(span)))
		return NEXT(pselect)(n, in, out, ex, span, mask);
	if (n > FD_SETSIZE) /* larger sets than fd_set */
		return POSIX_HANDOFF(NEXT(pselect)(n, in, out, ex, span, mask));
	return MASKED(mask, select_sets(n, p, posix_after(span)));
}

LIBC_API int select(int n, fd_set *restrict in, fd_set *restrict out,
		    fd_set *restrict ex, struct timeval *restrict span)
{
	fd_set *const p[3] = { in, out, ex };
	struct timespec ts;
	int64_t end = TIME_NEVER, left;
	int r;

	if (!posix_user() || n < 0 || (span && (span->tv_sec < 0 || span->tv_usec < 0)))
		return NEXT(select)(n, in, out, ex, span);
	if (n > FD_SETSIZE)
		return POSIX_HANDOFF(NEXT(select)(n, in, out, ex, span));
	if (span) {
		ts = (struct timespec){ span->tv_sec + span->tv_usec / 1000000,
					span->tv_usec % 1000000 * 1000 };
		end = posix_after(&ts);
	}
	r = select_sets(n, p, end);
	if (span) { /* Linux returns the time left */
		left = MAX(end - sys_now(), 0);
		span->tv_sec = left / NS_PER_SEC;
		span->tv_usec = left % NS_PER_SEC / 1000;
	}
	return r;
}
ALSO(select, __select);

/* ---- epoll ---- */

struct events {
	int max;
	struct epoll_event *ev;
};

static long events_now(void *arg, int fd)
{
	const struct events *e = arg;
	long r = sysn(SYS_epoll_pwait, fd, e->ev, e->max, 0, NULL, 8);

	return r ? r : -EAGAIN;
}

static int events_until(int fd, struct epoll_event *ev, int max, int64_t end)
{
	struct events e = { max, ev };
	struct io_function f = { events_now, &e };

	return (int)POSIX_CALL(false, or_none(io_until(fd, POLLIN, end, &f)));
}

LIBC_API int epoll_wait(int fd, struct epoll_event *ev, int max, int ms)
{
	if (!posix_user() || !ms)
		return NEXT(epoll_wait)(fd, ev, max, ms);
	return events_until(fd, ev, max, after_ms(ms));
}

LIBC_API int epoll_pwait(int fd, struct epoll_event *ev, int max, int ms,
			 const sigset_t *mask)
{
	if (is_guest(mask))
		return GUEST_MASKED(mask, NEXT(epoll_pwait)(fd, ev, max, ms, &open_));
	if (!posix_user())
		return NEXT(epoll_pwait)(fd, ev, max, ms, mask);
	return MASKED(mask, events_until(fd, ev, max, after_ms(ms)));
}

LIBC_API int epoll_pwait2(int fd, struct epoll_event *ev, int max,
			  const struct timespec *span, const sigset_t *mask)
{
	if (is_guest(mask))
		return GUEST_MASKED(mask,
				    NEXT(epoll_pwait2)(fd, ev, max, span, &open_));
	if (!posix_user() || !posix_readable(span, sizeof(*span)) ||
	    (span && !posix_span_ok(span)))
		return NEXT(epoll_pwait2)(fd, ev, max, span, mask);
	return MASKED(mask, events_until(fd, ev, max, posix_after(span)));
}

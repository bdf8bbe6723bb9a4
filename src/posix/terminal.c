/* SPDX-License-Identifier: Apache-2.0 */
/* terminal.c - job control. Whoever reads from its terminal in the background, or changes it, has
 * its process group stopped by SIGTTIN or SIGTTOU, unless the thread blocks that; and a carrier
 * blocks both, so to the kernel every user thread does: a read fails with EIO, a change goes
 * through. So the kernel is asked once more with the carrier's mask open, where the
 * thread's own lets the signal through:
 *
 *   a read that gave EIO   by a read of no bytes, which is stopped as any other and takes nothing
 *   a change               by the call itself
 *
 * What was a handler's, an action's or an orphan's business is the kernel's decision. A write
 * under TOSTOP goes through: to know beforehand would cost each write a look.
 *
 * Rejected: both signals open on carriers as SIGPIPE is. A thread that blocks SIGTTOU, as one must
 * to call tcsetpgrp in the background, would have the kernel ask the group, and so main. */
#include <sys/ioctl.h>
#include <termios.h>

#include "posix/calls.h"
#include "posix/signal.h"

struct opened {
	int sig; /* 0: nothing is */
	uint64_t old;
};

/* The caller's kernel thread lets sig through, if its own mask does. */
static struct opened open_mask(int sig)
{
	uint64_t bit = BIT(sig);
	struct opened o = { 0, 0 };

	if (!posix_user() || posix_self_tls.signals.mask & bit || sched_unsettled())
		return o;
	o.sig = sig;
	sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &o.old, sizeof(bit));
	return o;
}

static void shut_mask(const struct opened *o)
{
	if (o->sig)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &o->old, NULL, sizeof(o->old));
}

#define OPENED(signo, call)                                                            \
	({                                                                             \
		struct opened o_ __attribute__((unused, cleanup(shut_mask))) =         \
		    open_mask(signo);                                                  \
                                                                                       \
		(call);                                                                \
	})

/* ---- reading ---- */

long posix_terminal_eio(int fd)
{
	char none;
	long r;

	if (posix_self_tls.signals.mask & BIT(SIGTTIN) || !io_in_background(fd))
		return -EIO;
	r = OPENED(SIGTTIN, sys3(SYS_read, fd, &none, 0));
	return r;
}

/* ---- changing ---- */

/* Requests that the kernel gives to nobody in the background. */
bool posix_terminal_request(unsigned long request)
{
	switch (request) {
	case TCSETS:
	case TCSETSW:
	case TCSETSF:
	case TCSETA:
	case TCSETAW:
	case TCSETAF:
	case TCSBRK:
	case TCSBRKP:
	case TCXONC:
	case TCFLSH:
	case TIOCSPGRP:
		return true;
	default:
		return false;
	}
}

long posix_terminal_ioctl(int fd, unsigned long request, void *arg)
{
	return OPENED(SIGTTOU, NEXT(ioctl)(fd, request, arg));
}

LIBC_API int tcsetattr(int fd, int when, const struct termios *to)
{
	return OPENED(SIGTTOU, NEXT(tcsetattr)(fd, when, to));
}

LIBC_API int tcsetpgrp(int fd, pid_t group)
{
	return OPENED(SIGTTOU, NEXT(tcsetpgrp)(fd, group));
}

LIBC_API int tcflush(int fd, int what)
{
	return OPENED(SIGTTOU, NEXT(tcflush)(fd, what));
}

LIBC_API int tcflow(int fd, int what)
{
	return OPENED(SIGTTOU, NEXT(tcflow)(fd, what));
}

LIBC_API int tcsendbreak(int fd, int duration)
{
	return OPENED(SIGTTOU, NEXT(tcsendbreak)(fd, duration));
}

/* It opens and shuts while it holds its kernel thread: it may come back to another one. */
LIBC_API int tcdrain(int fd)
{
	return posix_user() ? POSIX_HANDOFF(OPENED(SIGTTOU, NEXT(tcdrain)(fd)))
			    : NEXT(tcdrain)(fd);
}

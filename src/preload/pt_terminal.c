/* SPDX-License-Identifier: Apache-2.0 */
/* pt_terminal.c - job control. If a process in the background reads from its terminal,
 * or changes it, the kernel stops its process group by SIGTTIN or SIGTTOU, unless the
 * calling thread blocks the signal. A carrier blocks both, so the kernel sees every
 * user thread block them: a read fails with EIO, a change succeeds. So if the thread's
 * own mask lets the signal through, the kernel is asked once more with the carrier's
 * mask open:
 *
 *   a read that gave EIO   by a read of no bytes, which is stopped as any other and
 *                          takes nothing
 *   a change               by the call itself
 *
 * Handlers, actions and orphaned process groups are left to the kernel. A write under
 * TOSTOP succeeds: to know beforehand would cost a check for each write.
 *
 * Rejected: carriers that let both signals through, as they do SIGPIPE. If a thread
 * blocks SIGTTOU, as it must to call tcsetpgrp in the background, the kernel would then
 * signal the group, and so main. */
#include <sys/ioctl.h>
#include <termios.h>

#include "preload/pt_calls.h"
#include "preload/pt_signal.h"

struct opened {
	int sig; /* 0: none is */
	uint64_t old;
};

/* If the caller's own mask lets sig through, its kernel thread lets it through, too. */
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

/* Requests that the kernel does not carry out for a process in the background. */
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

/* The mask is opened and shut inside: after the hand-off the thread may be on another
 * carrier. */
LIBC_API int tcdrain(int fd)
{
	return posix_user() ? POSIX_HANDOFF(OPENED(SIGTTOU, NEXT(tcdrain)(fd)))
			    : NEXT(tcdrain)(fd);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pt_signal_old.c - the calls of System V and 4.2BSD for handlers and masks. libc's
 * versions use its internal sigaction and sigprocmask, past ours: a handler would be
 * the kernel's and unknown to user threads, a mask would be the carrier's. So they are
 * defined again here on top of ours, for all threads. */
#include <errno.h>

#include "preload/pt_signal.h"

typedef void (*handler_fn)(int);

static int change(int how, int sig, sigset_t *old)
{
	sigset_t set;

	sigemptyset(&set);
	return sigaddset(&set, sig) ? -1 : sigprocmask(how, &set, old);
}

/* ---- System V ---- */

LIBC_API int sighold(int sig)
{
	return change(SIG_BLOCK, sig, NULL);
}

LIBC_API int sigrelse(int sig)
{
	return change(SIG_UNBLOCK, sig, NULL);
}

LIBC_API int sigignore(int sig)
{
	struct sigaction a = { .sa_handler = SIG_IGN };

	return sigaction(sig, &a, NULL);
}

LIBC_API handler_fn sigset(int sig, handler_fn fn)
{
	struct sigaction a = { .sa_handler = fn }, was;
	bool holds = fn == SIG_HOLD;
	sigset_t old;

	if (sig < 1 || sig > SIGNAL_LAST) {
		errno = EINVAL;
		return SIG_ERR;
	}
	if (holds && change(SIG_BLOCK, sig, &old))
		return SIG_ERR;
	if (sigaction(sig, holds ? NULL : &a, &was))
		return SIG_ERR;
	if (!holds && change(SIG_UNBLOCK, sig, &old))
		return SIG_ERR;
	return sigismember(&old, sig) ? SIG_HOLD : was.sa_handler;
}

/* The header gives the name sigpause to one or the other. */
extern int pause_without(int sig) __asm__("__xpg_sigpause");
LIBC_API int pause_without(int sig)
{
	sigset_t set;

	if (sigprocmask(SIG_BLOCK, NULL, &set) || sigdelset(&set, sig))
		return -1;
	return sigsuspend(&set);
}

/* ---- 4.2BSD ---- */

extern int pause_with(int mask) __asm__("sigpause");
LIBC_API int pause_with(int mask)
{
	sigset_t set;

	word_to(&set, (unsigned)mask);
	return sigsuspend(&set);
}

extern int pause_either(int what, int is_signal) __asm__("__sigpause");
LIBC_API int pause_either(int what, int is_signal)
{
	return is_signal ? pause_without(what) : pause_with(what);
}

static int change_words(int how, int mask)
{
	sigset_t set, old;

	word_to(&set, (unsigned)mask);
	return sigprocmask(how, &set, &old) ? -1 : (int)word_of(&old);
}

LIBC_API int sigblock(int mask)
{
	return change_words(SIG_BLOCK, mask);
}

LIBC_API int sigsetmask(int mask)
{
	return change_words(SIG_SETMASK, mask);
}

LIBC_API int siggetmask(void)
{
	return change_words(SIG_BLOCK, 0);
}

LIBC_API handler_fn ssignal(int sig, handler_fn fn)
{
	return signal(sig, fn);
}

LIBC_API int gsignal(int sig)
{
	return raise(sig);
}

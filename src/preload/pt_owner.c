/* SPDX-License-Identifier: Apache-2.0 */
/* pt_owner.c - user threads that own an fd (F_SETOWN_EX), to be told by a signal that
 * it is ready. As with timers (pt_timer.c), the kernel signals the receiver, which
 * sends the thread the signal that the program has asked for.
 *
 *   the program      F_OWNER_TID, a user thread's id    F_SETSIG, any signal
 *   the kernel       F_OWNER_TID, the receiver          F_SETSIG, WAKE_RECEIVER
 *
 * Only a signal that was set by F_SETSIG has the fd in it, by which the receiver finds
 * the thread. What the kernel says about the owner decides whether ours still counts:
 * the fd may be another file by now. F_SETOWN with a thread's id means its process, as
 * in the kernel. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include "base/sys.h"
#include "preload/pt_calls.h"
#include "preload/pt_owner.h"
#include "preload/pt_signal.h"

struct owner {
	struct list all;          /* lock, as are the next three */
	struct posix_signals *to; /* NULL: the thread has ended */
	pid_t tid;
	int sig;        /* 0: none was set, so SIGIO */
	int fd;         /* constant, as is the next */
	pid_t receiver; /* that of the process that set it */
};

static struct list owners = LIST_INIT(owners); /* lock: signals_enter's */

/* Under the lock. */
static struct owner *find(int fd)
{
	list_each_safe(l, tmp, &owners)
	{
		struct owner *o = container_of(l, struct owner, all);

		if (o->fd == fd)
			return o;
	}
	return NULL;
}

/* ---- the signals ---- */

void owner_told(const siginfo_t *kernels)
{
	siginfo_t plain = { .si_signo = SIGIO, .si_code = SI_KERNEL }, info = *kernels;
	bool in = signals_enter();
	const struct owner *o = find(info.si_fd);

	if (o && o->to) {
		info.si_signo = o->sig;
		signal_post(o->to, o->sig ? &info : &plain, false);
	}
	signals_leave(in);
}

void owners_gone(const struct posix_signals *to)
{
	list_each_safe(l, tmp, &owners)
	{
		struct owner *o = container_of(l, struct owner, all);

		if (o->to == to)
			o->to = NULL;
	}
}

void owners_forget(void)
{
	list_each_safe(l, tmp, &owners) container_of(l, struct owner, all)->to = NULL;
}

/* ---- the calls ---- */

/* Is the fd's owner still the one of o? */
static bool counts(const struct owner *o)
{
	struct f_owner_ex has;

	return o && !sys3(SYS_fcntl, o->fd, F_GETOWN_EX, &has) &&
	       has.type == F_OWNER_TID && has.pid == o->receiver;
}

/* Puts *with in the list for its fd, or takes that fd out (NULL). */
static void replace(int fd, struct owner *with)
{
	bool in = signals_enter();
	struct owner *had = find(fd);

	if (had)
		list_del(&had->all);
	if (with) {
		struct posix_thread *pt = signals_find(with->tid);

		with->to = pt ? &pt->signals : NULL;
		list_push_back(&owners, &with->all);
	}
	signals_leave(in);
	free(had);
}

/* A copy, if there is one that counts. */
static bool known(int fd, struct owner *copy)
{
	bool in = signals_enter();
	const struct owner *o = find(fd);

	if (o)
		*copy = *o;
	signals_leave(in);
	return o && counts(copy);
}

static long own(int fd, pid_t tid)
{
	pid_t receiver = posix_by_tid(tid) ? (pid_t)receiver_begin() : 0;
	struct f_owner_ex to = { F_OWNER_TID, receiver };
	struct owner had, *o;
	long sig = known(fd, &had) ? had.sig : sys3(SYS_fcntl, fd, F_GETSIG, 0), r;

	if (sig < 0)
		return sig;
	if (!posix_by_tid(tid))
		return -ESRCH;
	o = malloc(sizeof(*o));
	if (!o || !receiver) {
		free(o);
		return -EAGAIN;
	}
	sys3(SYS_fcntl, fd, F_SETSIG, WAKE_RECEIVER);
	r = sys3(SYS_fcntl, fd, F_SETOWN_EX, &to);
	if (r) {
		sys3(SYS_fcntl, fd, F_SETSIG, sig);
		free(o);
		return r;
	}
	*o = (struct owner){
		.fd = fd, .tid = tid, .sig = (int)sig, .receiver = receiver
	};
	replace(fd, o);
	return 0;
}

/* Another owner: the signal is the kernel's again. */
static void disown(int fd)
{
	struct owner had;

	if (known(fd, &had))
		sys3(SYS_fcntl, fd, F_SETSIG, had.sig);
	replace(fd, NULL);
}

static long set_signal(int fd, long sig)
{
	bool in;
	struct owner *o;

	if (sig < 0 || sig > SIGNAL_LAST)
		return -EINVAL;
	in = signals_enter();
	o = find(fd);
	if (o)
		o->sig = (int)sig;
	signals_leave(in);
	return 0;
}

static long tell(const struct owner *o, struct f_owner_ex *to)
{
	long r = sys3(SYS_fcntl, o->fd, F_GETOWN_EX, to);

	if (!r)
		to->pid = o->to ? o->tid : 0;
	return r;
}

static bool any(void)
{
	return load_relaxed(&owners.next) != &owners;
}

/* F_SETOWN and F_SETOWN_EX. */
static bool set_owner(int fd, int cmd, void **arg, long *r)
{
	const struct f_owner_ex *to = *arg;

	if (cmd == F_SETOWN_EX && to && posix_readable(to, sizeof(*to)) &&
	    to->type == F_OWNER_TID && posix_users_tid(to->pid)) {
		*r = own(fd, to->pid);
		return true;
	}
	if (any())
		disown(fd);
	if (cmd == F_SETOWN && posix_by_tid((int)(intptr_t)*arg))
		*arg = (void *)(intptr_t)sys0(SYS_getpid);
	return false;
}

bool owner_fcntl(int fd, int cmd, void **arg, long *r)
{
	struct owner has;

	if (posix_borrowed())
		return false;
	if (cmd == F_SETOWN || cmd == F_SETOWN_EX)
		return set_owner(fd, cmd, arg, r);
	if (!any() || !known(fd, &has))
		return false;
	switch (cmd) {
	case F_GETOWN_EX:
		*r = tell(&has, *arg);
		return true;
	case F_GETOWN:
		*r = has.to ? has.tid : 0;
		return true;
	case F_GETSIG:
		*r = has.sig;
		return true;
	default:
		*r = set_signal(fd, (long)(intptr_t)*arg);
		return true;
	}
}

bool owner_ioctl(int fd, unsigned long request, const void *arg, int *process)
{
	const int *id = arg;

	if ((request != FIOSETOWN && request != SIOCSPGRP) || posix_borrowed())
		return false;
	if (any())
		disown(fd);
	if (!id || !posix_readable(id, sizeof(*id)) || !posix_by_tid(*id))
		return false;
	*process = (int)sys0(SYS_getpid);
	return true;
}

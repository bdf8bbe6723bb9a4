/* SPDX-License-Identifier: Apache-2.0 */
/* pt_change.c - calls that change, share or end what is known of a socket (fd/known.c),
 * and those that create one. Each says so first, and then calls libc's own. So nothing
 * untrue is ever known of a socket. Calls that cannot block and belong to no other
 * family are here, and so is fcntl; close and dup2 (pt_close.c), accept and sendmsg
 * (pt_socket.c) are with their families.
 *
 * A message that passes fds is read before the kernel has checked it, so only through
 * peek (pt_memory.c). Rejected: process_vm_readv, because programs that confine
 * themselves have filters that kill for it (chronyd). */
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "fd/known.h"
#include "lifecycle/life.h"
#include "preload/pt_calls.h"
#include "preload/pt_children.h"
#include "preload/pt_owner.h"

#define PASS_MAX 253u /* the kernel's limit for one message */

/* ---- flags and limits ---- */

static void change_fcntl(int fd, int cmd)
{
	if (cmd == F_SETFL)
		known_forget(fd, KNOWN_FLAGS);
	else if (cmd == F_DUPFD || cmd == F_DUPFD_CLOEXEC)
		known_forget(fd, KNOWN_ALL);
}

static void change_ioctl(int fd, unsigned long request)
{
	if (request == FIONBIO)
		known_forget(fd, KNOWN_FLAGS);
}

static unsigned set_flags(unsigned long flags)
{
	return flags & O_NONBLOCK ? KNOWN_NONBLOCK : KNOWN_BLOCKS;
}

/* Whatever the third argument is, it fits a pointer (libc's own fcntl does the
 * same). */
LIBC_API int fcntl(int fd, int cmd, ...)
{
	uint64_t change;
	va_list ap;
	void *arg;
	int r;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (cmd == F_SETLKW || cmd == F_OFD_SETLKW)
		return POSIX_BRACKET(fcntl, fd, cmd, arg);
	if (owner_is(cmd)) {
		long owner;

		return owner_fcntl(fd, cmd, &arg, &owner) ? (int)posix_result(owner)
							  : NEXT(fcntl)(fd, cmd, arg);
	}
	if (cmd != F_SETFL) {
		change_fcntl(fd, cmd);
		return NEXT(fcntl)(fd, cmd, arg);
	}
	change = known_change(fd);
	r = NEXT(fcntl)(fd, cmd, arg);
	known_changed(fd, change, r ? 0 : set_flags((uintptr_t)arg));
	return r;
}
ALSO(fcntl, fcntl64);
ALSO(fcntl, __fcntl);

static int nonblocking_ioctl(int fd, unsigned long request, void *arg)
{
	uint64_t change = known_change(fd);
	int r = NEXT(ioctl)(fd, request, arg);

	known_changed(fd, change, 0); /* *arg may have changed since */
	return r;
}

LIBC_API int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;
	void *arg;
	int process;

	va_start(ap, request);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (request == FIONBIO)
		return nonblocking_ioctl(fd, request, arg);
	if (unlikely(owner_ioctl(fd, request, arg, &process)))
		return NEXT(ioctl)(fd, request, &process);
	if (unlikely(posix_terminal_request(request)))
		return (int)posix_terminal_ioctl(fd, request, arg);
	return NEXT(ioctl)(fd, request, arg);
}

static void change_option(int fd, long level, long option)
{
	if (level == SOL_SOCKET &&
	    (option == SO_RCVTIMEO_OLD || option == SO_RCVTIMEO_NEW ||
	     option == SO_SNDTIMEO_OLD || option == SO_SNDTIMEO_NEW))
		known_forget(fd, KNOWN_LIMITS);
}

LIBC_API int setsockopt(int fd, int level, int option, const void *value, socklen_t len)
{
	change_option(fd, level, option);
	return NEXT(setsockopt)(fd, level, option, value, len);
}

/* ---- file descriptors ---- */

LIBC_API int dup(int fd)
{
	known_forget(fd, KNOWN_ALL);
	return NEXT(dup)(fd);
}
ALSO(dup, __dup);

/* libc closes the fd itself, past our close. */
static void change_stream(FILE *f)
{
	int err = errno;

	known_forget(fileno(f), KNOWN_ALL);
	errno = err;
}

LIBC_API int fclose(FILE *f)
{
	change_stream(f);
	return NEXT(fclose)(f);
}

LIBC_API int fcloseall(void)
{
	known_forget_all();
	return NEXT(fcloseall)();
}

LIBC_API FILE *freopen(const char *restrict path, const char *restrict mode,
		       FILE *restrict f)
{
	change_stream(f);
	return NEXT(freopen)(path, mode, f);
}
ALSO(freopen, freopen64);

/* ---- other holders of the files: clone, messages ---- */

struct child {
	int (*fn)(void *);
	void *arg;
	bool masked; /* the child gets mask, not its carrier's */
	uint64_t mask;
};

/* The child has a copy of its parent's memory, for which no fork handler has run. */
static int child_begins(void *arg)
{
	const struct child *c = arg;

	sched_fork_lost(c->masked ? &c->mask : NULL);
	return c->fn(c->arg);
}

/* clone(2), with or without separate memory and a separate fd table. */
LIBC_API int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	bool same_memory = flags & CLONE_VM, same_files = flags & CLONE_FILES;
	struct child apart = { .fn = fn, .arg = arg };
	void *parent, *tls, *child;
	va_list ap;
	int r;

	va_start(ap, arg);
	parent = va_arg(ap, void *);
	tls = va_arg(ap, void *);
	child = va_arg(ap, void *);
	va_end(ap);
	children_fork();
	apart.masked = sched_child_mask(&apart.mask);
	fd_share_begin();
	r = fn && !same_memory
		? NEXT(clone)(child_begins, stack, flags, &apart, parent, tls, child)
		: NEXT(clone)(fn, stack, flags, arg, parent, tls, child);
	/* One fd table with two copies of our tables, or the reverse: fd_share_end
	 * is not called, and nothing is known from now on */
	if (r < 0 || same_memory == same_files || flags & CLONE_VFORK)
		fd_share_end();
	return r;
}
ALSO(clone, __clone);

/* Copies from memory that may not be there. False: it is not. */
static bool peek(void *to, const void *from, size_t n)
{
	if (!from || !posix_readable(from, n))
		return false;
	memcpy(to, from, n);
	return true;
}

static void change_passed(const char *at, size_t len)
{
	struct cmsghdr c;
	int fds[PASS_MAX];
	size_t n;

	while (len >= sizeof(c) && peek(&c, at, sizeof(c))) {
		if (c.cmsg_len < sizeof(c) || c.cmsg_len > len)
			break; /* the kernel refuses it */
		n = c.cmsg_len - sizeof(c);
		if (c.cmsg_level == SOL_SOCKET && c.cmsg_type == SCM_RIGHTS && n &&
		    n <= sizeof(fds) && peek(fds, at + sizeof(c), n))
			for (size_t i = 0; i < n / sizeof(*fds); i++)
				known_forget(fds[i], KNOWN_ALL);
		n = CMSG_ALIGN(c.cmsg_len);
		at += MIN(n, len);
		len -= MIN(n, len);
	}
}

void change_message(const struct msghdr *m)
{
	struct msghdr h;

	if (peek(&h, m, sizeof(h)) && h.msg_control)
		change_passed(h.msg_control, h.msg_controllen);
}

void change_messages(const struct mmsghdr *m, unsigned n)
{
	for (unsigned i = 0; i < MIN(n, (unsigned)IO_MAX_IOV); i++)
		change_message(&m[i].msg_hdr);
}

/* ---- by syscall(2) ---- */

void change_syscall(long n, const long *a)
{
	switch (n) {
	case SYS_fcntl:
		change_fcntl((int)a[0], (int)a[1]);
		break;
	case SYS_ioctl:
		change_ioctl((int)a[0], (unsigned long)a[1]);
		break;
	case SYS_setsockopt:
		change_option((int)a[0], (int)a[1], (int)a[2]);
		break;
	case SYS_dup:
		known_forget((int)a[0], KNOWN_ALL);
		break;
	case SYS_pidfd_getfd:
		known_forget((int)a[1], KNOWN_ALL);
		break;
	case SYS_sendmsg:
		change_message((const struct msghdr *)(uintptr_t)a[1]);
		break;
	case SYS_sendmmsg:
		change_messages((const struct mmsghdr *)(uintptr_t)a[1],
				(unsigned)a[2]);
		break;
	case SYS_io_uring_setup: /* nobody sees what the ring does */
		fd_share_begin();
		break;
	case SYS_unshare: /* two tables then hold the open files */
		if (a[0] & CLONE_FILES)
			fd_share_begin();
		break;
	default:
		break;
	}
}

/* ---- new sockets ---- */

LIBC_API int socket(int domain, int type, int protocol)
{
	uint64_t before = known_before();
	int fd = NEXT(socket)(domain, type, protocol);

	known_born(fd, before, type);
	return fd;
}

LIBC_API int socketpair(int domain, int type, int protocol, int fd[2])
{
	uint64_t before = known_before();
	int r = NEXT(socketpair)(domain, type, protocol, fd);

	if (r == 0) {
		known_born(fd[0], before, type);
		known_born(fd[1], before, type);
	}
	return r;
}

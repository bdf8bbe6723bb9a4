/* SPDX-License-Identifier: Apache-2.0 */
/* pt_socket.c - sockets. recv and send, of bytes, are the hot path: one call of the
 * runtime each. A receive with an address or a message asks the kernel by the form that
 * does not wait, with the program's own pointers, so that the kernel finds bad ones. If
 * there is nothing yet, it waits for readiness. */
#include <netinet/in.h>
#include <sys/socket.h>

#include "fd/known.h"
#include "preload/pt_calls.h"

/* With these a call never waits, whatever the fd's flags are. */
#define AT_ONCE (MSG_DONTWAIT | MSG_ERRQUEUE | MSG_OOB)

bool posix_restarts(int fd, int limit)
{
	struct timeval tv = { 0, 0 };
	socklen_t len = sizeof(tv);

	return sys5(SYS_getsockopt, fd, SOL_SOCKET, limit, &tv, &len) < 0 ||
	       (!tv.tv_sec && !tv.tv_usec);
}

#define RECEIVES(fd, call) POSIX_CALL(posix_restarts(fd, SO_RCVTIMEO), call)
#define SENDS(fd, call) POSIX_CALL(posix_restarts(fd, SO_SNDTIMEO), call)

/* ---- bytes ---- */

LIBC_API ssize_t recv(int fd, void *buf, size_t n, int flags)
{
	if (!posix_user() || flags & AT_ONCE)
		return NEXT(recv)(fd, buf, n, flags);
	return RECEIVES(fd, uk_recv(fd, buf, n, flags));
}

LIBC_API ssize_t __recv_chk(int fd, void *buf, size_t n, size_t room, int flags)
{
	posix_chk(n, room);
	return recv(fd, buf, n, flags);
}

LIBC_API ssize_t send(int fd, const void *buf, size_t n, int flags)
{
	if (!posix_user() || flags & MSG_DONTWAIT)
		return NEXT(send)(fd, buf, n, flags);
	return SENDS(fd, uk_send(fd, buf, n, flags));
}
ALSO(send, __send);

/* ---- with addresses ---- */

/* A receive, repeated until it gives something else than -EAGAIN. */
#define UNTIL(fd_, fn, arg_)                                                           \
	RECEIVES(fd_, io_until(fd_, POLLIN, 0, &(struct io_function){ (fn), (arg_) }))

struct from {
	int flags;
	void *buf;
	size_t n;
	struct sockaddr *addr;
	socklen_t *len;
};

static long from_now(void *arg, int fd)
{
	const struct from *f = arg;

	return sysn(SYS_recvfrom, fd, f->buf, f->n, f->flags | MSG_DONTWAIT, f->addr,
		    f->len);
}

LIBC_API ssize_t recvfrom(int fd, void *buf, size_t n, int flags,
			  struct sockaddr *restrict addr, socklen_t *restrict len)
{
	struct from f = { flags, buf, n, addr, len };

	if (!addr)
		return recv(fd, buf, n, flags);
	if (!posix_user() || flags & AT_ONCE)
		return NEXT(recvfrom)(fd, buf, n, flags, addr, len);
	/* MSG_WAITALL waits on streams only, which have no addresses */
	if (flags & MSG_WAITALL)
		return RECEIVES(fd, uk_recvfrom(fd, buf, n, flags, addr, len));
	return UNTIL(fd, from_now, &f);
}

LIBC_API ssize_t __recvfrom_chk(int fd, void *buf, size_t n, size_t room, int flags,
				struct sockaddr *restrict addr, socklen_t *restrict len)
{
	posix_chk(n, room);
	return recvfrom(fd, buf, n, flags, addr, len);
}

LIBC_API ssize_t sendto(int fd, const void *buf, size_t n, int flags,
			const struct sockaddr *addr, socklen_t len)
{
	if (!posix_user() || flags & MSG_DONTWAIT)
		return NEXT(sendto)(fd, buf, n, flags, addr, len);
	return SENDS(fd, uk_sendto(fd, buf, n, flags, addr, len));
}

/* ---- messages ---- */

struct msg {
	int flags;
	void *m;
};

static long msg_now(void *arg, int fd)
{
	const struct msg *a = arg;

	return sys3(SYS_recvmsg, fd, a->m, a->flags | MSG_DONTWAIT);
}

LIBC_API ssize_t recvmsg(int fd, struct msghdr *m, int flags)
{
	struct msg a = { .flags = flags, .m = m };

	if (!posix_user() || flags & AT_ONCE)
		return NEXT(recvmsg)(fd, m, flags);
	if (flags & MSG_WAITALL)
		return RECEIVES(fd, uk_recvmsg(fd, m, flags));
	return UNTIL(fd, msg_now, &a);
}

LIBC_API ssize_t sendmsg(int fd, const struct msghdr *m, int flags)
{
	change_message(m);
	if (!posix_user() || flags & MSG_DONTWAIT)
		return NEXT(sendmsg)(fd, m, flags);
	return SENDS(fd, uk_sendmsg(fd, m, flags));
}

/* Sets *limit to what is left of it. False: nothing. */
static bool time_left(struct timespec *limit, int64_t end)
{
	int64_t left = end - sys_now();

	if (limit)
		*limit = sys_timespec(MAX(left, 0));
	return left > 0;
}

/* As in the kernel, the timeout is checked only when a message has come. */
LIBC_API int recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags,
		      struct timespec *limit)
{
	unsigned done = 0;
	int64_t end;

	if (!posix_user() || flags & AT_ONCE || !n)
		return NEXT(recvmmsg)(fd, m, n, flags, limit);
	if (!posix_readable(limit, sizeof(*limit)))
		return (int)posix_result(-EFAULT);
	if (limit && !posix_span_ok(limit))
		return (int)posix_result(-EINVAL);
	end = posix_after(limit);
	do {
		long r = RECEIVES(
		    fd, uk_recvmmsg(fd, m + done, n - done, flags | MSG_WAITFORONE));

		if (r < 0)
			return done ? (int)done : -1;
		done += (unsigned)r;
	} while (time_left(limit, end) && done < n && !(flags & MSG_WAITFORONE));
	return (int)done;
}

LIBC_API int sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags)
{
	if (!posix_user() || flags & MSG_DONTWAIT || !n) {
		change_messages(m, n);
		return NEXT(sendmmsg)(fd, m, n, flags);
	}
	for (unsigned i = 0; i < MIN(n, (unsigned)IO_MAX_IOV); i++) {
		ssize_t r = sendmsg(fd, &m[i].msg_hdr, flags);

		if (r < 0)
			return i ? (int)i : -1;
		m[i].msg_len = (unsigned)r;
	}
	return (int)MIN(n, (unsigned)IO_MAX_IOV);
}

/* ---- connections ---- */

LIBC_API int accept4(int fd, struct sockaddr *restrict addr, socklen_t *restrict len,
		     int flags)
{
	uint64_t before = known_before();
	int r;

	if (posix_user())
		r = (int)RECEIVES(fd, uk_accept4(fd, addr, len, flags));
	else
		r = NEXT(accept4)(fd, addr, len, flags);
	known_born(r, before, flags);
	return r;
}

LIBC_API int accept(int fd, struct sockaddr *restrict addr, socklen_t *restrict len)
{
	return accept4(fd, addr, len, 0);
}

LIBC_API int connect(int fd, const struct sockaddr *addr, socklen_t len)
{
	if (!posix_user())
		return NEXT(connect)(fd, addr, len);
	return (int)SENDS(fd, uk_connect(fd, addr, len));
}
ALSO(connect, __connect);

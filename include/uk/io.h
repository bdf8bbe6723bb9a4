/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - blocking calls that park the user thread while its vp runs others.
 *
 * They mean what the system calls of the same names mean, but return >= 0 or -errno,
 * never -EINTR; -ETIMEDOUT and -ECANCELED as uk.h says. O_NONBLOCK keeps its meaning
 * (-EAGAIN). If an error, a deadline or cancellation ends a transfer after the first
 * byte, the call returns the count so far. */
#ifndef UK_IO_H
#define UK_IO_H

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <uk/types.h>

UK_BEGIN

UK_API ssize_t uk_read(int fd, void *buf, size_t n);
UK_API ssize_t uk_write(int fd, const void *buf, size_t n);
UK_API ssize_t uk_pread(int fd, void *buf, size_t n, off_t off);
UK_API ssize_t uk_pwrite(int fd, const void *buf, size_t n, off_t off);
UK_API ssize_t uk_readv(int fd, const struct iovec *iov, int n);
UK_API ssize_t uk_writev(int fd, const struct iovec *iov, int n);
UK_API ssize_t uk_preadv(int fd, const struct iovec *iov, int n, off_t off);
UK_API ssize_t uk_pwritev(int fd, const struct iovec *iov, int n, off_t off);
/* All n bytes or an error, which loses the count so far. No SIGPIPE for a socket whose
 * peer has gone, but -EPIPE or -ECONNRESET. */
UK_API ssize_t uk_write_all(int fd, const void *buf, size_t n);
UK_API ssize_t uk_read_all(int fd, void *buf, size_t n); /* short only at end of file */

UK_API int uk_open(const char *path, int flags, mode_t mode);
UK_API int uk_openat(int dir, const char *path, int flags, mode_t mode);
struct open_how;
UK_API int uk_openat2(int dir, const char *path, const struct open_how *how,
		      size_t size);
/* First ends the calls that wait on fd, with -EBADF; they take no byte that comes
 * later. */
UK_API int uk_close(int fd);
UK_API int uk_fsync(int fd);
UK_API int uk_fdatasync(int fd);
UK_API int uk_stat(const char *path, struct stat *st);
UK_API int uk_fstat(int fd, struct stat *st);
UK_API int uk_fstatat(int dir, const char *path, struct stat *st, int flags);

UK_API int uk_socket(int domain, int type, int protocol);
UK_API int uk_accept(int fd, struct sockaddr *addr, socklen_t *len);
UK_API int uk_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
UK_API int uk_connect(int fd, const struct sockaddr *addr, socklen_t len);
UK_API ssize_t uk_recv(int fd, void *buf, size_t n, int flags);
/* A promise: only uk_recv of this process receives from fd until uk_close. Other calls
 * that read it: -EBUSY. */
UK_API int uk_recv_ahead(int fd);
UK_API ssize_t uk_send(int fd, const void *buf, size_t n, int flags);
UK_API ssize_t uk_recvfrom(int fd, void *buf, size_t n, int flags,
			   struct sockaddr *addr, socklen_t *len);
UK_API ssize_t uk_sendto(int fd, const void *buf, size_t n, int flags,
			 const struct sockaddr *addr, socklen_t len);
UK_API ssize_t uk_recvmsg(int fd, struct msghdr *m, int flags);
UK_API ssize_t uk_sendmsg(int fd, const struct msghdr *m, int flags);
/* For n messages; returns how many were received or sent. With MSG_WAITFORONE receive
 * waits for one only. (An error after the first message is lost.) */
struct mmsghdr;
UK_API int uk_recvmmsg(int fd, struct mmsghdr *m, unsigned n, int flags);
UK_API int uk_sendmmsg(int fd, struct mmsghdr *m, unsigned n, int flags);
UK_API int uk_shutdown(int fd, int how);

UK_API ssize_t uk_sendfile(int out, int in, off_t *off, size_t n);
UK_API ssize_t uk_splice(int in, off_t *off_in, int out, off_t *off_out, size_t n,
			 unsigned flags);

/* Wait until fd is ready for events (POLLIN, POLLOUT, POLLPRI, POLLRDHUP): the ready
 * ones, or -errno. deadline: ns, uk_now(); 0: only look; -ETIMEDOUT when it has
 * passed. */
UK_API int uk_wait_fd(int fd, int events, uk_time deadline);
/* The same for n entries, as poll(2): how many are ready, with their revents, or
 * -errno. */
struct pollfd;
UK_API int uk_poll(struct pollfd *fds, unsigned n, uk_time deadline);

UK_END
#endif

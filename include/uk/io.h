/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - blocking calls that park the user thread and not its processor.
 *
 * Same meaning as the system call of the name, but: the result is >= 0 or -errno; EINTR
 * never appears; -ETIMEDOUT and -ECANCELED as uk.h says. A descriptor with O_NONBLOCK set
 * keeps its meaning (-EAGAIN). The flags of the open file are never changed.
 * A partial transfer that a deadline or cancellation ends returns the count transferred. */
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
/* All of it or an error; the count so far is lost on error. To a socket without a peer:
 * -EPIPE or -ECONNRESET, without the SIGPIPE that uk_write and uk_send may raise. */
UK_API ssize_t uk_write_all(int fd, const void *buf, size_t n);
UK_API ssize_t uk_read_all(int fd, void *buf, size_t n); /* short only at end of file */

UK_API int uk_open(const char *path, int flags, mode_t mode);
UK_API int uk_openat(int dir, const char *path, int flags, mode_t mode);
struct open_how;
UK_API int uk_openat2(int dir, const char *path, const struct open_how *how,
		      size_t size);
/* Threads that wait on fd wake with -EBADF first; no later byte is lost to them. */
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
UK_API int uk_recv_ahead(int fd);
UK_API ssize_t uk_send(int fd, const void *buf, size_t n, int flags);
UK_API ssize_t uk_recvfrom(int fd, void *buf, size_t n, int flags,
			   struct sockaddr *addr, socklen_t *len);
UK_API ssize_t uk_sendto(int fd, const void *buf, size_t n, int flags,
			 const struct sockaddr *addr, socklen_t len);
UK_API ssize_t uk_recvmsg(int fd, struct msghdr *m, int flags);
UK_API ssize_t uk_sendmsg(int fd, const struct msghdr *m, int flags);
UK_API int uk_shutdown(int fd, int how);

UK_API ssize_t uk_sendfile(int out, int in, off_t *off, size_t n);
UK_API ssize_t uk_splice(int in, off_t *off_in, int out, off_t *off_out, size_t n,
			 unsigned flags);

/* Wait until fd is ready for events (poll(2)'s POLLIN, POLLOUT, POLLPRI, POLLRDHUP);
 * returns the ready ones, or -errno. */
UK_API int uk_wait(int fd, int events, uk_time deadline);
/* The same for n descriptors at once, as poll(2): how many are ready, their revents filled;
 * -ETIMEDOUT at the deadline, -errno. */
struct pollfd;
UK_API int uk_poll(struct pollfd *fds, unsigned n, uk_time deadline);

UK_END
#endif

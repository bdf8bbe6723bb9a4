/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - what the files of this directory share. See call.c for the design.
 *
 * A struct io_op describes a call completely (kind, fd, buffer, flags, offset),
 * whichever way it is carried out: by io_try without blocking, by io_raw in the kernel,
 * or by the reactor.
 */
#ifndef IO_IO_H
#define IO_IO_H

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/base.h"
#include "fd/hint.h"
#include "base/sys.h"
#include "reactor/reactor.h"
#include "sched/fuzz.h"
#include "sched/sched.h"
#include "uk/io.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES 0x8000000
#endif

#define IO_MAX_LEN ((size_t)0x7ffff000) /* the kernel's limit for one transfer */
#define IO_MAX_IOV 1024
#define IO_CURRENT ((int64_t)-1) /* op.off: the file's own position */

/* -- call.c -- */

/* -ECANCELED, -EINTR or -ETIMEDOUT if this thread may not begin a call that waits, or
 * wait on. */
static inline int io_check(const struct uk_thread *t)
{
	if (unlikely(load_relaxed(&t->asked)))
		return thread_asked(t, ASK_CANCEL) ? -ECANCELED : -EINTR;
	if (unlikely(t->deadline != TIME_NEVER && t->deadline <= sched_clock_coarse(t)))
		return -ETIMEDOUT;
	return 0;
}

/* forms.c: the operation in a form that cannot block. -EAGAIN: not now; -EOPNOTSUPP:
 * this kind, or this file, has no such form. io_try is outside the runtime, because its
 * memory may fault; the thread may be on another vp afterwards. io_try_in is inside:
 * for the runtime's memory. */
long io_try(struct uk_thread *t, const struct io_op *op);
long io_try_in(struct uk_thread *t, const struct io_op *op);
/* The plain system call, under a mark; may return -EINTR. */
long io_raw(struct uk_thread *t, const struct io_op *op, bool release);
/* The same for a file, whose call ends by itself: never -EINTR. */
long io_whole(struct uk_thread *t, const struct io_op *op);
/* For a file with O_NONBLOCK: by a form that cannot block if that gives the same
 * answer. */
long io_plain(struct uk_thread *t, const struct io_op *op);
/* Wait until op is done, in the reactor, or in the kernel if the reactor cannot do it.
 * -EAGAIN: the file has O_NONBLOCK, and the call did not wait; or the socket's own time
 * limit is over. */
long io_wait_op(struct uk_thread *t, struct io_op *op, enum io_class c);
/* A call of several parts (op->parts) goes on with the file that it began with, even if
 * the fd is closed meanwhile. Call this before each further part; life is the fd's
 * (fd_life), from before the first part. False: the fd was closed before its file
 * could be held, and the call ends with what it has. */
bool io_go_on(const struct uk_thread *t, struct io_op *op, uint32_t life);
/* Before each wait of a counted thread: if the fd is being left (io_leave), op goes on
 * with a duplicate of its file. */
void io_left(struct io_op *op);
/* At the end of the call: op->fd is the caller's fd again. */
void io_settle(struct io_op *op);
/* io_try, then io_wait_op. */
long io_do(struct uk_thread *t, struct io_op *op, enum io_class c);
/* io_try, then io_whole: for a file at a given offset. */
long io_file(struct uk_thread *t, struct io_op *op);
/* The sum of the lengths; saturates. Only for lists that the kernel has accepted. */
size_t io_iov_len(const struct iovec *v, size_t n);
/* The rest of a transfer to or from v[0..n) whose first part, first, returned r:
 * continues until all is done, the file ends, or an error, the deadline or
 * cancellation. Returns the whole count, or r if that is not positive. Ancillary data
 * and the address go with the first piece only. Calls io_settle. */
long io_rest(struct uk_thread *t, struct io_op *first, const struct iovec *v, size_t n,
	     long r, enum io_class c, uint32_t life);
/* Until all of op's bytes are written, as a blocking write does: the count, or -errno
 * if there was none. For IO_WRITE and IO_SEND. */
long io_out(struct uk_thread *t, struct io_op *op, enum io_class c);
/* Wait for events of fd: the ready ones, or -errno. Also bounded by the thread's
 * deadline. */
int io_ready(struct uk_thread *t, int fd, unsigned events, int64_t deadline);
/* The same. REACTOR_MOVED: *fd is now a duplicate, which belongs to the caller. */
int io_ready_or_moved(struct uk_thread *t, int *fd, unsigned events, int64_t deadline,
		      enum io_class c);
/* The same, but -EAGAIN when the time limit of the socket's own option (SO_RCVTIMEO for
 * POLLIN, SO_SNDTIMEO for POLLOUT) is over. *until: 0 before a call's first wait. */
int io_ready_limit(struct uk_thread *t, int fd, unsigned events, int64_t *until);
/* When that limit is over; TIME_NEVER: no limit, or no socket. */
int64_t io_limit(struct uk_thread *t, int fd, unsigned events);
/* Did that limit end a wait that returned r, and not the thread's deadline? */
static inline bool io_limit_over(const struct uk_thread *t, int64_t until, long r)
{
	return unlikely(r == -ETIMEDOUT && until && until < t->deadline) &&
	       until <= sys_now();
}
/* Park for a while, because nothing announces the state of the kernel that is waited
 * for. 0 or -errno. */
int io_pause(struct uk_thread *t, int64_t ns);
/* place.c: may the reactor access what op reads and writes? And p[0..n)? */
bool io_in_place(struct uk_thread *t, const struct io_op *op);
bool io_in_shared_memory(struct uk_thread *t, const void *p, size_t n);
bool io_in_memory(struct uk_thread *t, const void *p, size_t n);
/* Should and may the set's network processor carry out this send? Then it is not tried
 * first. */
bool io_leaves(struct uk_thread *t, const struct io_op *op);
/* As io_in_memory, but for any length, and looked up now. */
bool io_all_in_memory(struct uk_thread *t, const void *p, size_t n);
/* REACTOR_MOVED: go on with the duplicate, which replaces the previous one. first: the
 * fd that the call began with. */
static inline void io_follow(int *fd, int duplicate, int first)
{
	if (*fd != first)
		fd_drop(*fd);
	*fd = duplicate;
}
/* The preload library sets it at load time. */
extern bool io_sees_closes;
/* call.c: accept(2) on a listener without O_NONBLOCK, such that it does not block
 * because another of our threads was faster. A new fd or -errno. -EAGAIN: no connection
 * is waiting, or another thread is just taking it; wait for readiness again. Call it
 * under a mark: it does block if something outside the runtime (another process, a
 * foreign call) takes the connection first. */
int io_accept_try(int fd, struct sockaddr *addr, uint32_t *len, int flags);
/* close.c: fd is about to be closed, or to become another file; the calls that wait on
 * it go on waiting. The runtime is running, and the caller may enter it. */
void io_leave(int fd);
/* Afterwards: fd is another file, or none. Calls that came in between begin again. */
void io_leave_end(int fd);
/* Are there calls that io_leave has to move? */
bool io_leave_needed(int fd);
/* If fd is being left just now: a duplicate of the file that it was, else -EBADF. For a
 * thread that is counted as using fd, before each wait. */
int io_left_for(int fd);
/* raw.c: the signals that a kernel thread of this process blocks; all, if it is gone.
 * Uses 8 KB of stack. */
uint64_t kernel_blocks(int tid);
/* raw.c: around a call on fd that may sleep; only has an effect for foreign threads. */
void raw_begin(struct uk_thread *t, int fd);
void raw_end(struct uk_thread *t, int fd);
/* Outside the runtime; fd is a dead one. Makes the foreign threads that sleep in a call
 * on it return. */
void raw_interrupt(int fd);

/* file.c: the caller has jumped out of one of its calls, perhaps out of a write to a
 * terminal. */
void io_jumped(struct uk_thread *t);
/* In a forked child: what lost threads had taken is free. */
void file_fork_child(void);
void raw_fork_child(void);

/* A system call that may block now and then (disk, name lookup), under a mark.
 * io_marked makes it again after EINTR. */
long io_marked_once(struct uk_thread *t, long nr, long a, long b, long c, long d,
		    long e, long f);
long io_marked(struct uk_thread *t, long nr, long a, long b, long c, long d, long e,
	       long f);

long io_flags(struct uk_thread *t, int fd);    /* as F_GETFL gives them, or -errno */
bool io_nonblock(struct uk_thread *t, int fd); /* O_NONBLOCK is set */
/* fd is the caller's terminal, and another process group is in the foreground: a wait
 * would miss that it may not be read. Carriers block the signal that the kernel sends
 * then; the preload library has it sent (preload/pt_terminal.c). */
bool io_in_background(int fd);
/* By fstat: HINT_FILE, perhaps with HINT_ENDLESS; or HINT_STREAM, perhaps with
 * HINT_DEVICE and HINT_TERMINAL. 0: closed. */
unsigned io_nature(struct uk_thread *t, int fd);
static inline bool io_is_file(struct uk_thread *t, int fd)
{
	return io_nature(t, fd) & HINT_FILE;
}
uint32_t io_events(const struct io_op *op);

/* A partly done scatter list. */
struct io_iov {
	const struct iovec *v;
	size_t n;
	size_t skip; /* bytes of v[0] that are done */
};

#endif

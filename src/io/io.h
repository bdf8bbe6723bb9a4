/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - what the files of this directory share. See io_wait.c for the design.
 *
 * A struct io_op describes a call completely (kind, fd, buffer, flags, offset),
 * whichever way it is made: by io_try without blocking, by io_block in the kernel, or
 * by the reactor.
 */
#ifndef IO_IO_H
#define IO_IO_H

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/base.h"
#include "base/sys.h"
#include "fd/hint.h"
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

/* -ECANCELED, -EINTR or -ETIMEDOUT if this thread may not begin a call that waits, or
 * wait on. A thread with the deadline 0 tries. */
static inline int io_check(const struct uk_thread *t)
{
	if (unlikely(load_relaxed(&t->asked)))
		return thread_asked(t, ASK_CANCEL) ? -ECANCELED : -EINTR;
	if (unlikely(t->deadline != TIME_NEVER && t->deadline != 0 &&
		     t->deadline <= sched_clock_coarse(t)))
		return -ETIMEDOUT;
	return 0;
}

/* -- the three ways to make a call: call.c, io_wait.c --
 *
 * A new blocking call is a row of io_calls; the wrappers fill in a struct io_op. */

/* What a call passes to the kernel. */
enum io_form {
	IO_OTHER,   /* arguments of its own; it has no form that cannot block */
	IO_BYTES,   /* addr, len, off */
	IO_VECTOR,  /* addr = iovec, len = how many, off */
	IO_SOCKET,  /* addr, len, flags */
	IO_MESSAGE, /* addr = msghdr, flags */
	IO_FUNCTION /* addr = struct io_function */
};

enum io_first { IO_NEVER_FIRST, IO_IF_LIKELY, IO_FIRST }; /* io_try before it waits? */

struct io_call {
	uint8_t form, class, first;
	bool late;         /* a read, which may be tried late (reactor/late.c) */
	uint8_t one;       /* the kind that does the same with one piece of memory */
	uint16_t now;      /* the system call that can be told not to block */
	uint16_t here, at; /* the kernel's own, at the file's position; at an offset */
};
extern const struct io_call io_calls[IO_KINDS];

/* IO_CALL: a call of the caller's own that does not block. -EAGAIN: it would. fd: the
 * op's, or a duplicate after a close. */
struct io_function {
	long (*call)(void *arg, int fd);
	void *arg;
};
/* Makes f's call, outside the runtime, until it does not return -EAGAIN, and waits for
 * events of fd in between. until: 0: as a call on a socket waits (O_NONBLOCK and its
 * time limit end it with -EAGAIN); else it ends then, with -EAGAIN. For calls that
 * carry more than bytes (addresses, messages, lists of both): the kernel reads and
 * writes the program's memory by the program's own pointers, refuses bad ones, and the
 * runtime never looks at them. It costs a system call more for each wait than an
 * operation of the reactor. The caller is outside the runtime. */
long io_until(int fd, unsigned events, int64_t until, const struct io_function *f);

/* In a form that cannot block. -EAGAIN: not now; -EOPNOTSUPP: this kind, or this file,
 * has no such form. Outside the runtime, because the memory may fault (op->inside: it
 * is the runtime's own), so the thread may be on another vp afterwards. */
long io_try(struct uk_thread *t, const struct io_op *op);
/* Parks until op is done: in the reactor, or in the kernel if the reactor cannot do it.
 * If that is likely to help, it is tried first (op->tried: not again; op->fresh:
 * nothing is known of the fd). -EAGAIN: the file has O_NONBLOCK, and the call did not
 * wait; or the socket's own time limit is over. */
long io_wait(struct uk_thread *t, struct io_op *op);
/* As the kernel makes it, under a mark: the vp moves on if the call sleeps. */
enum io_block {
	IO_ONCE,    /* may return -EINTR */
	IO_RELEASE, /* likewise; the vp is handed off first */
	IO_WHOLE    /* on a file: it ends by itself, never with -EINTR */
};
long io_block(struct uk_thread *t, const struct io_op *op, enum io_block how);

/* io_wait.c's: for a file with O_NONBLOCK, io_try if that gives the same answer. */
long io_plain(struct uk_thread *t, const struct io_op *op);
/* A call of several parts (op->parts) goes on with the file that it began with, even if
 * the fd is closed meanwhile. Call this before each further part; life is the fd's
 * (fd_life), from before the first part. False: the fd was closed before its file
 * could be held, and the call ends with what it has. */
bool io_go_on(const struct uk_thread *t, struct io_op *op, uint32_t life);
/* Between two parts: op's fd is no longer counted as used. */
void io_let_go(struct io_op *op);
/* At the end of such a call: op->fd is the caller's fd again. */
void io_settle(struct io_op *op);
/* Take FD_SENDING ... of op's fd, and give it back. False: another thread has it. */
bool io_take(struct io_op *op, uint8_t what);
void io_give(struct io_op *op);
/* Go on with a duplicate of op's file, which io_settle closes. */
void io_own(struct io_op *op, int duplicate);
/* op goes on with the file that first began with. */
void io_take_over(struct io_op *op, struct io_op *first);
/* The innermost of the calling thread's ops that hold something of an fd; NULL: none.
 * io_release releases those inside outer. */
struct io_op *io_holders(void);
void io_release(const struct io_op *outer);
/* sock.c, file.c: the calls of fast.c in full. done: what a send gave that was tried;
 * 0: it was not tried. life: the fd's, from before. */
ssize_t io_read(int fd, void *buf, size_t n);
ssize_t io_write(int fd, const void *buf, size_t n);
ssize_t io_writev(int fd, const struct iovec *v, int n, long done, uint32_t life);
ssize_t io_recv(int fd, void *buf, size_t n, int flags);
ssize_t io_send(int fd, const void *buf, size_t n, int flags, long done, uint32_t life);
/* They count the calls that were made outside the runtime. */
static inline void io_count_quick(struct uk_thread *t)
{
	if (likely(!t->quick))
		return;
	bump(&sched_count(t)->syscalls, t->quick);
	sched_inline(t, t->quick);
	t->quick = 0;
}
/* The program's call op: fn makes it, in the runtime. v[0..n): its memory. */
typedef long io_fn(struct uk_thread *t, struct io_op *op, const struct iovec *v,
		   size_t n);
ssize_t io_make(io_fn *fn, struct io_op *op, const struct iovec *v, size_t n);
/* The sum of the lengths; saturates. Only for lists that the kernel has accepted. */
size_t io_iov_len(const struct iovec *v, size_t n);
/* The rest of a transfer to or from v[0..n) whose first part, first, returned r:
 * continues until all is done, the file ends, or an error, the deadline or
 * cancellation. Returns the whole count, or r if that is not positive. Ancillary data
 * and the address go with the first piece only. Calls io_settle. */
long io_rest(struct uk_thread *t, struct io_op *first, const struct iovec *v, size_t n,
	     long r, uint32_t life);
/* Wait for events of fd: the ready ones, or -errno. Also bounded by the thread's
 * deadline. */
int io_ready(struct uk_thread *t, int fd, unsigned events, int64_t deadline);
/* The same for an IO_POLL, but -EAGAIN when the time limit of the socket's own option
 * (SO_RCVTIMEO for POLLIN, SO_SNDTIMEO for POLLOUT) is over. *until: 0 before a call's
 * first wait. op->fd may be a duplicate afterwards, until io_settle. */
int io_ready_limit(struct uk_thread *t, struct io_op *op, int64_t *until);
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
/* The preload library sets them at load time: every close of an fd goes through it; a bad
 * list or offset (readv, writev, sendfile) must fail with EFAULT. */
extern bool io_sees_closes, io_vets;
/* An accept on a listener without O_NONBLOCK, such that it does not block because
 * another of our threads was faster. A new fd or -errno. -EAGAIN: no connection is
 * waiting, or another thread is just taking it; wait for readiness again. Call it under
 * a mark: it does block if something outside the runtime (another process, a foreign
 * call) takes the connection first. */
long io_accept_try(struct io_op *op);
/* close.c: fd is about to be closed, or to become another file; the calls that wait on
 * it go on waiting. The runtime is running, and the caller may enter it. */
void io_leave(int fd);
/* Afterwards: fd is another file, or none. Calls that came in between begin again. */
void io_leave_end(int fd);
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

/* file.c: the caller, t, jumps out of all calls inside outer (io_holders), perhaps out of
 * a write to a terminal. */
void io_jumped(struct uk_thread *t, const struct io_op *outer);
/* In a forked child: what lost threads had taken is free. */
void file_fork_child(void);
void raw_fork_child(void);

/* A system call that may block now and then (disk, name lookup), under a mark.
 * io_marked makes it again after EINTR. */
long io_marked_once(struct uk_thread *t, long nr, long a, long b, long c, long d,
		    long e, long f);
long io_marked(struct uk_thread *t, long nr, long a, long b, long c, long d, long e,
	       long f);
/* The same for a caller outside the runtime. */
long io_syscall(long nr, long a, long b, long c, long d, long e);

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

/* A partly done scatter list. */
struct io_iov {
	const struct iovec *v;
	size_t n;
	size_t skip; /* bytes of v[0] that are done */
};

#endif

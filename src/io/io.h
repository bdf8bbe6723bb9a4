/* SPDX-License-Identifier: Apache-2.0 */
/* io.h - what the files of this room share. See call.c for the design.
 *
 * A struct io_op describes a call whole (kind, descriptor, buffer, flags, offset), whoever
 * carries it out: io_try without blocking, io_raw in the kernel, or the reactor.
 */
#ifndef IO_IO_H
#define IO_IO_H

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/base.h"
#include "base/files.h"
#include "base/sys.h"
#include "event/reactor.h"
#include "sched/fuzz.h"
#include "sched/sched.h"
#include "uk/io.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#ifndef MSG_SPLICE_PAGES
#define MSG_SPLICE_PAGES 0x8000000
#endif

#define IO_MAX_LEN ((size_t)0x7ffff000) /* the kernel's limit of one transfer */
#define IO_MAX_IOV 1024
#define IO_CURRENT ((int64_t)-1) /* op.off: the file's own position */

/* -- hints: what a descriptor was when we last looked --
 *
 *	28       27      26 ... 20 19 ... 16 | 15     14 ... 8 | 7      6 5 4 | 3    2    1    0
 *	TERMINAL ENDLESS waits     late      | DEVICE tries      NOSOCK misses  SOCK MORE FILE STREAM
 *	                 without   tries'             to skip
 *	                           score
 *
 * Racy, shared by descriptors that are equal mod IO_HINTS, out of date when somebody closes
 * behind our back. They choose between ways that are all correct. HINT_FILE alone is trusted,
 * and only where every close is seen (io_sees_closes).
 *
 * The SPIN heuristic: a read is tried at once when the last one filled its buffer. Where
 * that proves wrong (a protocol of small fixed messages fills its buffer each time), the
 * next 1, 3, 7 ... 127 chances are let pass; a success forgets that. A late try (event/late.c) is
 * due by the same rule, but after 7 waits the first time: score 0; 1 is that of a success. */
#define IO_HINTS (1u << 20) /* the kernel's usual limit of descriptors */
#define HINT_STREAM 1u      /* no position: pipe, socket, tty, ... */
#define HINT_FILE                                                                      \
	2u /* it always has an answer: regular, block device, directory, memory */
#define HINT_MORE 4u /* the last read filled its buffer: the next one likely succeeds */
#define HINT_SOCK 8u /* a call for sockets has worked */
#define HINT_NOSOCK 0x80u       /* it has no socket's options: the kernel said so */
#define HINT_DEVICE 0x8000u     /* a stream that may be a terminal */
#define HINT_ENDLESS 0x8000000u /* a file without an end: /dev/zero, /dev/urandom */
#define HINT_TERMINAL 0x10000000u
#define HINT_FLAGS 0x1800808fu
#define HINT_MISSES(h) (((h) >> 4) & 7u)
#define HINT_SKIP 0x100u
#define HINT_SKIPS(h) ((h)&0x7f00u)
#define HINT_MISSES_MAX 7u
#define HINT_LATES 0x7ff0000u
#define HINT_SCORE(h) (((h) >> 16) & 15u)
#define HINT_SCORE_MAX 8u
#define HINT_WAIT 0x100000u
#define HINT_WAITS(h) (((h) >> 20) & 127u)
#define HINT_WAITS_MAX 127u

extern uint32_t io_hints[IO_HINTS];
/* The drop-in sets it, at load time. */
extern bool io_sees_closes;

static inline uint32_t *io_hint(int fd)
{
	return &io_hints[(unsigned)fd % IO_HINTS];
}

static inline void io_hint_store(int fd, unsigned h)
{
	if (load_relaxed(io_hint(fd)) != h)
		store_relaxed(io_hint(fd), h);
}

/* Change the flags; 0 forgets everything. */
static inline void io_hint_set(int fd, unsigned flags)
{
	io_hint_store(fd,
		      flags ? (load_relaxed(io_hint(fd)) & ~HINT_FLAGS) | flags : 0);
}

/* Shall this read be tried? */
static inline bool io_hint_likely(int fd)
{
	unsigned h = load_relaxed(io_hint(fd));

	if (!(h & HINT_MORE))
		return false;
	if (HINT_SKIPS(h))
		io_hint_store(fd, h - HINT_SKIP);
	return !HINT_SKIPS(h);
}

/* It was, and this came of it. */
static inline void io_hint_tried(int fd, bool hit)
{
	unsigned h = load_relaxed(io_hint(fd));
	unsigned misses = hit ? 0 : MIN(HINT_MISSES(h) + 1, HINT_MISSES_MAX);

	io_hint_store(fd, ((1u << misses) - 1) * HINT_SKIP | misses << 4 |
			      (h & (HINT_FLAGS | HINT_LATES)));
}

/* A read has nothing to take: shall it be tried late? */
static inline bool io_late_due(int fd)
{
	unsigned h = load_relaxed(io_hint(fd)), score = HINT_SCORE(h);
	unsigned skip = score ? (1u << (score - 1)) - 1 : 7;

	return HINT_WAITS(h) >= skip || fuzz_once_in(2);
}

/* It waits in the kernel. So what has O_NONBLOCK, whose calls are not to wait for others either,
 * is never due. */
static inline void io_late_waits(int fd)
{
	unsigned h = load_relaxed(io_hint(fd));

	if (HINT_WAITS(h) < HINT_WAITS_MAX)
		io_hint_store(fd, h + HINT_WAIT);
}

static inline void io_late_tried(int fd, bool hit)
{
	unsigned h = load_relaxed(io_hint(fd));
	unsigned score = hit ? 1 : MIN(MAX(HINT_SCORE(h), 1u) + 1, HINT_SCORE_MAX);

	io_hint_store(fd, (h & ~HINT_LATES) | score << 16);
}

/* Remember after a read of n bytes that gave r: what it is, and whether more is likely. */
static inline void io_hint_read(int fd, unsigned kind, long r, size_t n)
{
	io_hint_set(fd, kind | (r > 0 && (size_t)r == n ? HINT_MORE : 0));
}

/* -- call.c -- */

/* -ECANCELED, -EINTR or -ETIMEDOUT if this thread may not begin a call that waits, or wait on. */
static inline int io_check(const struct uk_thread *t)
{
	if (unlikely(load_relaxed(&t->asked)))
		return thread_asked(t, ASK_CANCEL) ? -ECANCELED : -EINTR;
	if (unlikely(t->deadline != TIME_NEVER && t->deadline <= sched_clock_coarse(t)))
		return -ETIMEDOUT;
	return 0;
}

/* forms.c: the operation in a form that cannot block. -EAGAIN: not now; -EOPNOTSUPP: this
 * kind, or this file, has no such form. Outside the runtime, since its memory may fault; the
 * thread may be on another vp afterwards. io_try_in: inside, for memory of the runtime's. */
long io_try(struct uk_thread *t, const struct io_op *op);
long io_try_in(struct uk_thread *t, const struct io_op *op);
/* The plain system call, under a mark; may give -EINTR. */
long io_raw(struct uk_thread *t, const struct io_op *op, bool release);
/* The same of a file, which ends by itself: never -EINTR. */
long io_whole(struct uk_thread *t, const struct io_op *op);
/* Of a descriptor with O_NONBLOCK, by a form that cannot block where that says the same. */
long io_plain(struct uk_thread *t, const struct io_op *op);
/* Wait until op is done: reactor, or the kernel where the reactor cannot. -EAGAIN: a
 * descriptor with O_NONBLOCK, and nothing has waited; or the socket's own limit is over. */
long io_wait_op(struct uk_thread *t, struct io_op *op, enum io_class c);
/* A call of several parts (op->parts) goes on with the file that it began with, whoever closes
 * the number meanwhile; life is that of the number (bound_life), from before the first part.
 * Before each further one; false: the file was closed unseen, and the call ends with what it
 * has. */
bool io_go_on(const struct uk_thread *t, struct io_op *op, uint32_t life);
/* Before each wait of who is counted: if somebody leaves the number just now, op goes on with a
 * duplicate of its file. */
void io_left(struct io_op *op);
/* At the end of the call: op->fd is the caller's number again. */
void io_settle(struct io_op *op);
/* io_try, then io_wait_op. */
long io_do(struct uk_thread *t, struct io_op *op, enum io_class c);
/* io_try, then io_whole: for a file at a given offset. */
long io_file(struct uk_thread *t, struct io_op *op);
/* Bytes in all; saturates. Only for lists that the kernel has accepted. */
size_t io_iov_len(const struct iovec *v, size_t n);
/* The rest of a transfer to or from v[0..n) of which first gave r: on until all is done,
 * the file ends, an error, the deadline or cancellation. Returns the whole count, r if that
 * is not positive. Ancillary data and the address go with the first piece alone. Settles. */
long io_rest(struct uk_thread *t, struct io_op *first, const struct iovec *v, size_t n,
	     long r, enum io_class c, uint32_t life);
/* Until all of op's bytes are out, as a blocking write does: the count, or -errno if there
 * was none. For IO_WRITE and IO_SEND. */
long io_out(struct uk_thread *t, struct io_op *op, enum io_class c);
/* Ready events of fd, -errno; also bounded by the thread's deadline. */
int io_ready(struct uk_thread *t, int fd, unsigned events, int64_t deadline);
/* The same; REACTOR_MOVED: *fd is a duplicate, the caller's. */
int io_ready_or_moved(struct uk_thread *t, int *fd, unsigned events, int64_t deadline,
		      enum io_class c);
/* The same until the time limit that a socket's own option sets (SO_RCVTIMEO for POLLIN,
 * SO_SNDTIMEO for POLLOUT) is over: then -EAGAIN. *until: 0 before a call's first wait. */
int io_ready_limit(struct uk_thread *t, int fd, unsigned events, int64_t *until);
/* When that is; TIME_NEVER: it has none, or is no socket. */
int64_t io_limit(struct uk_thread *t, int fd, unsigned events);
/* Did that limit end a wait which gave r, and not the thread's deadline? */
static inline bool io_limit_over(const struct uk_thread *t, int64_t until, long r)
{
	return unlikely(r == -ETIMEDOUT && until && until < t->deadline) &&
	       until <= sys_now();
}
/* Park for a while (a state of the kernel that nothing announces): 0 or -errno. */
int io_pause(struct uk_thread *t, int64_t ns);
/* until.c: u->call(u->arg) until it gives something else than -EAGAIN, and events of fd are
 * waited for in between; -ETIMEDOUT at the deadline. Outside the runtime. */
enum io_until_mode {
	IO_ANYHOW,   /* the descriptor's own flags mean nothing to it (epoll_wait) */
	IO_AS_FILE,  /* O_NONBLOCK: no wait */
	IO_AS_SOCKET /* and SO_RCVTIMEO, SO_SNDTIMEO end it: -EAGAIN */
};
struct io_until {
	int fd;
	uint16_t events;
	uint16_t mode; /* enum io_until_mode */
	int64_t deadline;
	long (*call)(void *arg,
		     int fd); /* fd: the number, or what it was closed under */
	void *arg;
};
long io_until(const struct io_until *u);
/* place.c: may the reactor touch what op reads and writes? And p[0..n)? */
bool io_in_place(struct uk_thread *t, const struct io_op *op);
bool io_in_shared_memory(struct uk_thread *t, const void *p, size_t n);
bool io_in_memory(struct uk_thread *t, const void *p, size_t n);
/* Shall the set's network processor send it, and may it? Then it is not tried first. */
bool io_leaves(struct uk_thread *t, const struct io_op *op);
/* Asked now, and of as much as there is. */
bool io_all_in_memory(struct uk_thread *t, const void *p, size_t n);
/* REACTOR_MOVED: op goes on with its duplicate, which replaces the one before; first: the number
 * that the call began with. */
static inline void io_follow(int *fd, int duplicate, int first)
{
	if (*fd != first)
		files_drop(*fd);
	*fd = duplicate;
}
/* close.c: fd is about to be closed, or to become another file, and who waits on it waits on.
 * The runtime runs, and the caller may enter it. */
void io_leave(int fd);
/* After that: fd is another file, or none. Who has come in between begins again. */
void io_leave_end(int fd);
/* Is there anybody whom io_leave has to lead away? */
bool io_leave_needed(int fd);
/* Somebody leaves fd just now: a duplicate of the file that it was, or -EBADF. For who is
 * counted as using it, before each wait. */
int io_left_for(int fd);
/* using.c: from before a thread asks whether fd is ready until its call on it is over. */
void using_begin(int fd);
void using_end(int fd);
bool using_any(int fd);
/* Outside the runtime, fd is a dead number, or a file's: until nobody uses it, nor is bound to
 * it. */
void using_wait(int fd);
/* A pause of who waits for that, longer each time. False: he has waited long enough. */
struct using_pause {
	int64_t every, end; /* 0: it begins */
};
bool using_pause(struct using_pause *p);
/* An asynchronous request means the file that fd is in this life of the number. */
uint32_t bound_life(int fd);
/* From here on fd is that file until bound_end. False: it is no more, and the request ends. */
bool bound_begin(int fd, uint32_t life);
void bound_end(int fd);
/* fd is about to be closed: who is not bound yet will not be. Is anybody? */
bool bound_over(int fd);
/* raw.c: the signals that a kernel thread of ours blocks; all, if it is gone. 8 KB of stack. */
uint64_t kernel_blocks(int tid);
/* raw.c: around a call on fd that may sleep; does something for foreign threads alone. */
void raw_begin(struct uk_thread *t, int fd);
void raw_end(struct uk_thread *t, int fd);
/* Outside the runtime, fd is a dead number: whoever sleeps in a call on it comes out. */
void raw_interrupt(int fd);

/* file.c: the caller has jumped out of a call of its, perhaps out of a write to a terminal. */
void io_jumped(struct uk_thread *t);

/* -- fork.c: in a forked child, what a lost thread had taken is free -- */
void close_fork_child(void);
void copy_fork_child(void);
void file_fork_child(void);
void raw_fork_child(void);
void sock_fork_child(void);
void using_fork_child(void);
/* A system call that may block now and then (disk, name lookup): marked. io_marked makes it
 * again after EINTR. */
long io_marked_once(struct uk_thread *t, long nr, long a, long b, long c, long d,
		    long e, long f);
long io_marked(struct uk_thread *t, long nr, long a, long b, long c, long d, long e,
	       long f);

long io_flags(struct uk_thread *t, int fd);    /* as F_GETFL gives them, or -errno */
bool io_nonblock(struct uk_thread *t, int fd); /* O_NONBLOCK is set */
/* It is the caller's terminal, and another group's at the moment: to wait would be to miss that it
 * may not be read. What the kernel does about that, carriers block; the drop-in has it done
 * (posix/terminal.c). */
bool io_in_background(int fd);
/* By fstat: HINT_FILE, also with HINT_ENDLESS; or HINT_STREAM, also with HINT_DEVICE and
 * HINT_TERMINAL. 0: closed. */
unsigned io_nature(struct uk_thread *t, int fd);
static inline bool io_is_file(struct uk_thread *t, int fd)
{
	return io_nature(t, fd) & HINT_FILE;
}
uint32_t io_events(const struct io_op *op);

/* A scatter list partly done. */
struct io_iov {
	const struct iovec *v;
	size_t n;
	size_t skip; /* bytes of v[0] that are done */
};

#endif

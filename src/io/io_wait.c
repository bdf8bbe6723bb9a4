/* SPDX-License-Identifier: Apache-2.0 */
/* How a call that may block is made.
 *
 *           +-- io_try, a form that cannot block (call.c): if that is likely to help
 *   io_wait +
 *           +-- wait --+-- a read on an fd where it has helped: the late try
 *                      |     (reactor/late.c)
 *                      +-- user thread: the reactor (sched_io) carries it out
 *                      |     its memory may fault, or it sends: the reactor says when,
 *                      |       io_try makes it (place.c)
 *                      |     REACTOR_READY or no such op: wait_ready, io_block
 *                      +-- foreign thread: io_block; with a deadline ppoll first
 *
 * Runs on the calling thread's own stack, between rt_enter and rt_exit. A call that
 * comes back here with -EAGAIN or -EINTR begins again, unless the file has O_NONBLOCK
 * or the socket's own time limit is over.
 *
 * O_NONBLOCK, SO_RCVTIMEO and SO_SNDTIMEO are looked up each time a call is about to
 * wait (50 ns each, 130 where system calls are slow): io_uring waits for data whatever
 * they say, and a remembered answer may be wrong if another process can set them. For
 * sockets that no other process can hold, the preload library remembers them (known.c).
 *
 * A foreign thread sleeps in the kernel; a close by another thread interrupts it by a
 * signal (raw.c).
 *
 * Rejected: a table of what each fd is (programs and libc close and reopen fds without
 * our knowledge); setting O_NONBLOCK for the time of the call (other processes share
 * it).
 */
#include "io/io.h"

#include <fcntl.h>
#include <sys/time.h>

#include "fd/known.h"

#define PAUSE (NS_PER_MS / 2)
#define AGAIN_MAX 8
#define COMPANY_MOST 4096u
#define LIMIT_MAX (1L << 30) /* s */

/* -- facts about an fd -- */

long io_flags(struct uk_thread *t, int fd)
{
	uint64_t known = known_ask(fd);
	long flags;

	if (known & (KNOWN_BLOCKS | KNOWN_NONBLOCK))
		return O_RDWR | (known & KNOWN_NONBLOCK ? O_NONBLOCK : 0);
	COUNT(t, syscalls);
	flags = sys2(SYS_fcntl, fd, F_GETFL);
	if (flags >= 0)
		known_learn(fd, known,
			    flags & O_NONBLOCK ? KNOWN_NONBLOCK : KNOWN_BLOCKS);
	return flags;
}

bool io_nonblock(struct uk_thread *t, int fd)
{
	long flags = io_flags(t, fd);

	return flags >= 0 && (flags & O_NONBLOCK);
}

/* 1: op must not wait (O_NONBLOCK); 0: it may; -errno: op is not possible on this fd.
 * The last matters because with epoll the op would wait for ever for an event, where
 * the kernel's call fails with -EBADF at once. */
static int op_mode(struct uk_thread *t, const struct io_op *op)
{
	long flags, wrong = -1;

	if (op->kind == IO_CALL && op->until) /* O_NONBLOCK means nothing to it */
		return 0;
	flags = io_flags(t, op->fd);
	if (flags < 0)
		return (int)flags;
	if (op->kind == IO_READ || op->kind == IO_READV)
		wrong = O_WRONLY;
	else if (op->kind == IO_WRITE || op->kind == IO_WRITEV)
		wrong = O_RDONLY;
	if ((flags & O_ACCMODE) == wrong || (flags & O_PATH))
		return -EBADF;
	return !!(flags & O_NONBLOCK);
}

int64_t io_limit(struct uk_thread *t, int fd, unsigned events)
{
	int opt = events & POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO;
	unsigned none = events & POLLIN ? KNOWN_NO_RCV : KNOWN_NO_SND;
	uint64_t known = known_ask(fd);
	struct timeval tv = { 0, 0 };
	uint32_t len = sizeof(tv);
	long r;

	if (!events || known & none)
		return TIME_NEVER;
	COUNT(t, syscalls);
	r = sys5(SYS_getsockopt, fd, SOL_SOCKET, opt, &tv, &len);
	if (r == -ENOTSOCK)
		fd_hint_set(fd, (fd_hint(fd) & HINT_FLAGS) | HINT_NOSOCK);
	if (r < 0)
		return TIME_NEVER;
	if (!tv.tv_sec && !tv.tv_usec) {
		known_learn(fd, known, none);
		return TIME_NEVER;
	}
	return sys_now() + MIN(tv.tv_sec, LIMIT_MAX) * NS_PER_SEC + tv.tv_usec * 1000;
}

/* -- what a call holds of its fd --
 *
 * A handler that interrupts the call outside the runtime may jump out of it, or end the
 * thread. So each op that holds something is in a list, and the jump releases what the
 * calls that it leaves had (io_jumped). Only for threads with TLS of their own: a light
 * thread has no handlers. */

static __thread struct io_op *holders __attribute__((tls_model("initial-exec")));

struct io_op *io_holders(void)
{
	return holders;
}

static void list(struct io_op *op)
{
	const struct uk_thread *t = thread_self();

	if (op->listed || (t && t->light))
		return;
	op->listed = true;
	op->below = holders;
	holders = op;
}

/* Once it holds nothing any more. */
static void unlist(struct io_op *op)
{
	struct io_op **at = &holders;

	if (!op->listed || op->held || op->was || op->taken)
		return;
	while (*at != op)
		at = &(*at)->below;
	*at = op->below;
	op->listed = false;
}

static void follow(struct io_op *op)
{
	if (op->held)
		fd_unuse(op->fd);
	if (op->was)
		fd_drop(op->fd);
	else
		op->was = op->fd + 1;
	op->held = false;
	op->fd = op->fd2;
	list(op);
}

void io_let_go(struct io_op *op)
{
	if (op->held)
		fd_unuse(op->fd);
	op->held = false;
	unlist(op);
}

static COLD void settle(struct io_op *op)
{
	const struct io_op was = *op;

	op->held = false;
	op->was = op->taken = 0;
	if (was.was)
		op->fd = was.was - 1;
	unlist(op);
	if (was.taken)
		fd_done(was.fd, was.taken);
	if (was.held)
		fd_unuse(was.fd);
	if (was.was)
		fd_drop(was.fd);
}

void io_settle(struct io_op *op)
{
	if (unlikely(op->held || op->was))
		settle(op);
}

bool io_take(struct io_op *op, uint8_t what)
{
	if (!fd_try(op->fd, what))
		return false;
	op->taken = what;
	list(op);
	return true;
}

void io_give(struct io_op *op)
{
	fd_done(op->fd, op->taken);
	op->taken = 0;
	unlist(op);
}

void io_own(struct io_op *op, int duplicate)
{
	op->fd2 = duplicate;
	follow(op);
}

void io_take_over(struct io_op *op, struct io_op *first)
{
	op->fd = first->fd;
	op->was = first->was;
	op->held = first->held;
	if (first->listed)
		list(op);
	first->was = 0;
	first->held = false;
	unlist(first);
}

void io_release(const struct io_op *outer)
{
	while (holders != outer)
		settle(holders);
}

/* Only for user threads: in a foreign thread's call the kernel holds the file. */
static void hold(const struct uk_thread *t, struct io_op *op)
{
	if (op->held || op->was || t->kind != THREAD_USER)
		return;
	fd_use(op->fd);
	op->held = true;
	list(op);
}

bool io_go_on(const struct uk_thread *t, struct io_op *op, uint32_t life)
{
	if (op->held || op->was)
		return true;
	hold(t, op);
	return fd_life(op->fd) == life;
}

/* Before each wait of a counted thread: if the fd is being left (io_leave), op goes on
 * with a duplicate of its file. */
static void left(struct io_op *op)
{
	int at = unlikely(op->held) ? io_left_for(op->fd) : -EBADF;

	if (likely(at < 0))
		return;
	op->fd2 = at;
	follow(op);
}

/* -- until it is ready -- */

/* poll(2) of one fd: its ready events, 0 if none are ready by the deadline, or
 * -errno. */
static int poll_once(struct uk_thread *t, int fd, unsigned events, int64_t deadline)
{
	struct pollfd p = { .fd = fd, .events = (short)events };
	int64_t left = deadline == TIME_NEVER ? 0 : MAX(deadline - sys_now(), 0);
	struct timespec ts = sys_timespec(left);
	long r;

	COUNT(t, syscalls);
	r = sys5(SYS_ppoll, &p, 1, deadline == TIME_NEVER ? NULL : &ts, NULL, 8);
	if (r <= 0)
		return (int)r;
	return p.revents & POLLNVAL ? -EBADF : p.revents;
}

static int ready_foreign(struct uk_thread *t, int fd, unsigned events, int64_t deadline)
{
	for (;;) {
		int r;

		raw_begin(t, fd);
		block_begin(t, false);
		r = poll_once(t, fd, events, deadline);
		block_end(t);
		raw_end(t, fd);
		if (r > 0 || (r < 0 && r != -EINTR))
			return r;
		if (r == 0)
			return -ETIMEDOUT;
		if (thread_asked(t, ASK_CANCEL))
			return -ECANCELED;
	}
}

/* Waits until op's file is ready: the events, or -errno; -ETIMEDOUT at `deadline` or
 * the thread's own. REACTOR_MOVED: op->fd2 is a duplicate of it. */
static int wait_ready(struct uk_thread *t, struct io_op *op, int64_t deadline)
{
	unsigned events = op_events(op);
	struct io_op poll = {
		.kind = IO_POLL, .fd = op->fd, .len = events, .off = IO_CURRENT
	};
	int r;

	deadline = MIN(deadline, t->deadline);
	if (op->fd < 0)
		return -EBADF;
	if (thread_asked(t, ASK_CANCEL))
		return -ECANCELED;
	if (deadline <= sched_clock_coarse(t)) {
		r = poll_once(t, op->fd, events, 0);
		return r ? r : -ETIMEDOUT;
	}
	if (t->kind == THREAD_FOREIGN)
		return ready_foreign(t, op->fd, events, deadline);
	do {
		r = sched_io(t, &poll, io_calls[op->kind].class, deadline);
	} while ((r == -EINTR || r == -EAGAIN || r == 0) &&
		 !thread_asked(t, ASK_SIGNAL));
	if (unlikely(r == REACTOR_MOVED)) {
		op->fd2 = poll.fd2;
		return r;
	}
	/* the clock that said "not yet" lags: if the deadline was already over, look
	 * once more */
	if (r != REACTOR_READY && r != -ETIMEDOUT) /* io_uring adds POLLRDHUP */
		return r < 0 ? r : r & (int)(events | POLLERR | POLLHUP);
	r = poll_once(t, op->fd, events, 0);
	if (r == 0 && deadline <= sys_now())
		return -ETIMEDOUT;
	return r ? r : (int)(events & (POLLIN | POLLOUT));
}

static int ready(struct uk_thread *t, struct io_op *op, int64_t deadline)
{
	int r;

	left(op);
	while ((r = wait_ready(t, op, deadline)) == REACTOR_MOVED)
		follow(op);
	return r;
}

int io_ready(struct uk_thread *t, int fd, unsigned events, int64_t deadline)
{
	struct io_op op = { .kind = IO_POLL, .fd = fd, .len = events };
	int r = ready(t, &op, deadline);

	io_settle(&op);
	return r;
}

int io_ready_limit(struct uk_thread *t, struct io_op *op, int64_t *until)
{
	int r;

	if (!*until)
		*until = io_limit(t, op->fd, op->len);
	r = ready(t, op, *until);
	return io_limit_over(t, *until, r) ? -EAGAIN : r;
}

int io_pause(struct uk_thread *t, int64_t ns)
{
	uint64_t tok = wait_begin(t, WAIT_SLEEP, NULL);
	int64_t end = sys_now() + ns;
	unsigned why = wait_park(t, tok, end);

	if (why == WAKE_TIMEOUT && end < t->deadline)
		return 0;
	return wake_error(why);
}

/* -- the wait -- */

/* Settles the race of two vps for one connection without a change of the listener's
 * flags, which other processes share: the look for a connection and the accept are one
 * step for one thread at a time. Another thread does not wait for that, because the
 * holder may block in the kernel (if another process took the connection); it goes back
 * to the reactor. Only for the epoll engine: accept by io_uring has no such race.
 * Rejected: O_NONBLOCK, or SO_RCVTIMEO, for the time of the call (other processes see
 * it). */
long io_accept_try(struct io_op *op)
{
	struct pollfd p = { .fd = op->fd, .events = POLLIN };
	struct timespec zero = { 0 };
	long r;

	if (!io_take(op, FD_ACCEPTING))
		return -EAGAIN;
	r = sys5(SYS_ppoll, &p, 1, &zero, NULL, 8);
	if (r > 0)
		r = sys4(SYS_accept4, op->fd, op->addr, op->addr2, op->flags);
	else if (r == 0 || r == -EINTR)
		r = -EAGAIN;
	io_give(op);
	return r;
}

/* The reactor reports that fd is ready, or that it cannot tell. Then accept is tried in
 * a form in which no other thread of ours can make it block. Another process still can:
 * then it sleeps, under a mark, and neither a deadline nor cancellation ends that. */
static long block_ready(struct uk_thread *t, struct io_op *op)
{
	long r;

	if (op->kind != IO_ACCEPT)
		return io_block(t, op, IO_ONCE);
	COUNT(t, syscalls);
	raw_begin(t, op->fd);
	block_begin(t, false);
	r = io_accept_try(op);
	block_end(t);
	raw_end(t, op->fd);
	return r;
}

/* The reactor says when the fd is ready, and the thread makes the call. */
static long wait_outside(struct uk_thread *t, struct io_op *op)
{
	long r;

	if (op->off != IO_CURRENT) /* a file: only the disk can make it wait */
		return io_block(t, op, IO_WHOLE);
	hold(t, op);
	left(op);
	r = wait_ready(t, op, op->until);
	if (r >= 0)
		r = io_try(t, op);
	return r == -EOPNOTSUPP || r == REACTOR_READY ? block_ready(t, op) : r;
}

/* Tries the call, and waits outside the kernel's call until the file is ready. */
static long try_by_turns(struct uk_thread *t, struct io_op *op)
{
	bool function = op->kind == IO_CALL;

	for (;;) {
		long r = io_try(t, op);
		int ready;

		if (r != -EAGAIN && (r != -EOPNOTSUPP || function))
			return r;
		ready = wait_ready(t, op, op->until);
		if (ready < 0)
			return ready;
		/* a file is always ready; its call waits for the disk, which no
		 * deadline ends */
		if (r == -EOPNOTSUPP || (!function && io_is_file(t, op->fd)))
			return block_ready(t, op);
	}
}

static long wait_user(struct uk_thread *t, struct io_op *op)
{
	enum io_class c = io_calls[op->kind].class;
	bool itself = op->kind == IO_ACCEPT && !sched_io_holds();
	long r;

	if (unlikely(t->deadline == 0)) /* it may not wait */
		return op_events(op) ? try_by_turns(t, op)
				     : io_block(t, op, IO_RELEASE);
	if (!itself && sched_io_can(t, op->kind, c) && io_in_place(t, op)) {
		r = sched_io(t, op, c, op->until);
		/* io_uring sends no SIGPIPE; io_try does */
		if (unlikely(r == -EPIPE) && io_leaves(t, op))
			r = io_try(t, op);
		return r == REACTOR_READY ? block_ready(t, op) : r;
	}
	return op_events(op) ? wait_outside(t, op) : io_block(t, op, IO_RELEASE);
}

static long wait_foreign(struct uk_thread *t, struct io_op *op)
{
	if (op->kind != IO_CALL && (t->deadline == TIME_NEVER || !op_events(op)))
		return io_block(t, op, IO_ONCE);
	return try_by_turns(t, op);
}

/* The final answer after -EAGAIN, -EINTR or -ETIMEDOUT. 0: make the call again. */
static long answer(struct uk_thread *t, const struct io_op *op, long r)
{
	if (io_limit_over(t, op->until, r))
		return -EAGAIN;
	if (r == -EAGAIN && t->kind == THREAD_FOREIGN && op->until != TIME_NEVER)
		return r; /* the kernel has applied the limit itself */
	return r == -EINTR || r == -EAGAIN ? 0 : r;
}

/* HINT_NOSOCK saves the lookup for a pipe that is read again and again. */
static int64_t limit_of(struct uk_thread *t, const struct io_op *op)
{
	bool any = io_calls[op->kind].class == IO_CLASS_FILE;

	if (any && fd_hint(op->fd) & HINT_NOSOCK)
		return TIME_NEVER;
	return io_limit(t, op->fd, op_events(op));
}

static bool may_be_late(const struct io_op *op)
{
	return io_calls[op->kind].late && op->off == IO_CURRENT && !op->flags;
}

/* Wait in the reactor or in the kernel. */
static long wait_in_kernel(struct uk_thread *t, struct io_op *op)
{
	int plain = op_events(op) ? op_mode(t, op) : 0;

	if (plain < 0)
		return plain;
	if (!plain && may_be_late(op))
		fd_late_waits(op->fd);
	if (!op->until)
		op->until = plain ? TIME_NEVER : limit_of(t, op);
	if (op->parts)
		hold(t, op);
	for (unsigned again = 0;;) {
		long r, err;

		left(op);
		if (plain)
			r = io_plain(t, op);
		else if (t->kind == THREAD_FOREIGN)
			r = wait_foreign(t, op);
		else
			r = wait_user(t, op);
		if (unlikely(r == REACTOR_MOVED)) {
			follow(op);
			continue;
		}
		if (likely(r != -EINTR && r != -EAGAIN && r != -ETIMEDOUT))
			return r;
		if (r != -EINTR && plain)
			return r;
		err = answer(t, op, r);
		if (err)
			return err;
		err = r == -EINTR && sched_eintr_counts(t) ? -EINTR : io_check(t);
		/* -EAGAIN although the file blocks: the kernel is short of something,
		 * or other threads were faster each time */
		if (!err && r == -EAGAIN && ++again > AGAIN_MAX) {
			hold(t, op);
			err = io_pause(t, PAUSE);
		}
		if (err)
			return err;
	}
}

/* -- tries before it -- */

/* What the reactor answers to a try of its own: -EAGAIN if op must wait. */
static long tried(struct io_op *op, long r)
{
	if (unlikely(r == REACTOR_MOVED))
		follow(op);
	return unlikely(r == REACTOR_MOVED || r == REACTOR_ANEW || r == REACTOR_READY)
		   ? -EAGAIN
		   : r;
}

/* The late try. It comes before the lookups, because it does not need them. */
static long try_late(struct uk_thread *t, struct io_op *op)
{
	int fd = op->fd;
	long r;

	if (!may_be_late(op) || !sched_io_may_be_late(t) ||
	    !(fd_late_due(fd) || fuzz_once_in(2)) || !io_in_place(t, op))
		return -EAGAIN;
	hold(t, op); /* the thread sleeps, and op is not armed when it wakes */
	r = sched_io_late(t, op);
	fd_late_tried(fd, r >= 0);
	return tried(op, r);
}

/* A short message on a stream that is received ahead, while many threads run for short
 * times: the reactor tries it, and submits those of many threads in one system call.
 * Only with MSG_NOSIGNAL, because otherwise SIGPIPE would reach the dispatcher. */
static bool in_company(struct uk_thread *t, const struct io_op *op)
{
	return op->kind == IO_SEND && fd_is_ahead(op->fd) && sched_io_dense(t) &&
	       op->flags & MSG_NOSIGNAL && !(op->flags & MSG_MORE) &&
	       op->len <= COMPANY_MOST && io_in_shared_memory(t, op->addr, op->len);
}

static long try_in_company(struct uk_thread *t, struct io_op *op)
{
	uint32_t flags = op->flags;
	long r;

	op->flags |= MSG_DONTWAIT;
	r = sched_io_soon(t, op);
	op->flags = flags;
	return tried(op, r);
}

/* A send nearly always finds space; a receive finds nothing unless the last one filled
 * its buffer (sock.c). But if nothing is known of the fd, it may be no stream at all,
 * and epoll would wait for an event. */
static long try_first(struct uk_thread *t, struct io_op *op)
{
	const struct io_call *c = &io_calls[op->kind];
	long r;

	if (op->tried || c->first == IO_NEVER_FIRST)
		return -EAGAIN;
	if (c->first == IO_FIRST) {
		if (io_leaves(t, op))
			return -EAGAIN;
		return in_company(t, op) ? try_in_company(t, op) : io_try(t, op);
	}
	if (!op->fresh && op->off == IO_CURRENT && !fd_hint_likely(op->fd))
		return -EAGAIN;
	if (c->class == IO_CLASS_NET && sched_io_served(t))
		return -EAGAIN;
	r = io_try(t, op);
	op->tried = true;
	if (!op->fresh && op->off == IO_CURRENT)
		fd_hint_tried(op->fd, r != -EAGAIN);
	return r;
}

/* Make a read of a known socket a receive, for two reasons: the kernel refuses it if
 * the fd is no socket any more (closed without our knowledge), and a receive can be
 * told not to wait. */
static bool as_receive(struct io_op *op)
{
	if (op->kind != IO_READ || op->off != IO_CURRENT ||
	    !(known_ask(op->fd) & KNOWN_BLOCKS))
		return false;
	op->kind = IO_RECV;
	op->flags = 0;
	return true;
}

static long wait_for(struct uk_thread *t, struct io_op *op)
{
	long r = try_late(t, op);

	return r == -EAGAIN ? wait_in_kernel(t, op) : r;
}

static long wait_or_receive(struct uk_thread *t, struct io_op *op)
{
	int first = op->fd;
	bool read = as_receive(op);
	long r = wait_for(t, op);

	if (likely(!read || r != -ENOTSOCK))
		return r;
	known_forget(first, KNOWN_ALL);
	op->kind = IO_READ;
	op->until = 0;
	return wait_for(t, op);
}

/* A write to an eventfd, which has no form that cannot block. If there is space now, the
 * kernel's write is cheaper than the reactor, and it does not wait: only other writers
 * could have filled all 64 bits since. (Another stream without such a form has space for
 * so few bytes, too, if it says that it has any.) */
static bool takes_now(struct uk_thread *t, const struct io_op *op)
{
	return op->kind == IO_WRITE && op->len == sizeof(uint64_t) &&
	       (fd_hint(op->fd) & (HINT_NO_TRY | HINT_DEVICE)) == HINT_NO_TRY &&
	       poll_once(t, op->fd, POLLOUT, 0) == POLLOUT;
}

static long wait_if_need_be(struct uk_thread *t, struct io_op *op)
{
	long r = -EAGAIN;

	if (takes_now(t, op)) {
		sched_inline(t, 1);
		r = io_block(t, op, IO_ONCE);
	}
	return r == -EAGAIN || r == -EINTR ? wait_or_receive(t, op) : r;
}

long io_wait(struct uk_thread *t, struct io_op *op)
{
	const struct io_call *c = &io_calls[op->kind];
	long r = try_first(t, op);

	if (r != -EAGAIN && (r != -EOPNOTSUPP || c->class == IO_CLASS_NET))
		sched_inline(t, 1);
	else if (c->late && fd_hint(op->fd) & HINT_DEVICE && io_in_background(op->fd))
		r = -EIO;
	else
		r = wait_if_need_be(t, op);
	if (!op->parts)
		io_settle(op);
	return r;
}

long io_until(int fd, unsigned events, int64_t until, const struct io_function *f)
{
	struct io_op op = { .kind = IO_CALL,
			    .fd = fd,
			    .addr = f,
			    .len = events,
			    .off = IO_CURRENT,
			    .until = until,
			    .parts = true, /* the fd is used from now on */
			    .tried = true };
	long r = f->call(f->arg, fd);
	struct uk_thread *t;
	int unable;

	if (r != -EAGAIN)
		return r;
	unable = rt_begin();
	if (unlikely(unable))
		return unable;
	t = rt_enter();
	r = io_check(t);
	if (r == 0)
		r = io_wait(t, &op);
	io_settle(&op);
	rt_exit();
	return r;
}

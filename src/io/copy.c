/* SPDX-License-Identifier: Apache-2.0 */
/* sendfile and splice: bytes from fd to fd.
 *
 * Neither system call can be told not to block on a socket (both look only at
 * O_NONBLOCK of the open file). But a slow peer must not keep a kernel thread, and the
 * call must not outlast a deadline.
 *
 *   up to BOUNCE bytes   read what is in the page cache (RWF_NOWAIT) into a buffer of
 *                        this vp and send it with MSG_DONTWAIT: as fast as one sendfile
 *                        at 10,000 bytes (4.28 us against 4.26 over loopback, both
 *                        ends), and nothing in it can block
 *   more                 sendfile in portions: as much as the socket has space for, by
 *                        SO_MEMINFO, so that it does not sleep; readiness between them
 *   to O_NONBLOCK        sendfile: the kernel does not wait for such a socket
 *
 * The buffer belongs to the thread that is in the runtime on its vp: it is never used
 * across a park.
 *
 * A call of several parts stays with the two files that it began with. Before each part
 * and each wait, the fds are counted as used and their lives compared (fd/fd.c); if one
 * was closed meanwhile, the call ends. Neither is counted during a wait for the other,
 * because a close of it would have to wait as long. The preload library's close moves a
 * wait to a duplicate of the file, which then serves until the end of the call.
 *
 * Rejected: poll + sendfile (poll promises space for a byte, not for a file); splice
 * through a pipe (the same socket, one more call, two fds for each thread);
 * IORING_OP_SPLICE (it always goes to a kernel worker thread, which then sleeps in the
 * same way). So in a set with a network processor, too, the caller's CPU does this: a
 * splice would be done by a worker, not by the network processor, at the cost of a
 * wake-up each, and a buffer that it sends from would have to last across a park.
 */
#include "base/os.h"
#include "io/io.h"

#include <fcntl.h>
#include <linux/sock_diag.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

#include "fd/known.h"

#define BOUNCE ((size_t)65536)
#define BOUNCE_VPS 1024u
#define PAUSE NS_PER_MS
#define SLOT_TRIES 3
#define AGAIN_MAX 8

static void *bounces[BOUNCE_VPS]; /* by vp id; the vp's owner writes */

static void *bounce_of(const struct uk_thread *t)
{
	struct uk_vp *vp = t->kind == THREAD_FOREIGN ? NULL : sched_vp(t);
	unsigned id = vp ? uk_vp_id(vp) : BOUNCE_VPS;

	if (id >= BOUNCE_VPS)
		return NULL;
	if (!bounces[id])
		bounces[id] = os_map(BOUNCE);
	return bounces[id];
}

/* Bytes that a send on fd takes without sleeping, a cautious guess; or -ENOTSOCK. */
static long room_of(struct uk_thread *t, int fd)
{
	uint32_t m[SK_MEMINFO_VARS];
	uint32_t len = sizeof(m);
	long r = sys5(SYS_getsockopt, fd, SOL_SOCKET, SO_MEMINFO, m, &len);
	uint32_t used;

	COUNT(t, syscalls);
	if (r < 0)
		return r;
	used = MAX(m[SK_MEMINFO_WMEM_QUEUED], m[SK_MEMINFO_WMEM_ALLOC]);
	/* half: the kernel charges for its own structures too */
	return used < m[SK_MEMINFO_SNDBUF] ? (m[SK_MEMINFO_SNDBUF] - used) / 2 : 0;
}

/* -- the two files -- */

enum { IN, OUT };

struct pair {
	struct io_op end[2]; /* the wait for each */
	uint32_t life[2];
	/* The first part or wait is over. Until then the call uses the fds without
	 * counting them. */
	bool begun;
};

static struct pair pair_of(int in, int out)
{
	return (struct pair){ { { .kind = IO_POLL, .fd = in, .len = POLLIN },
				{ .kind = IO_POLL, .fd = out, .len = POLLOUT } },
			      { fd_life(in), fd_life(out) },
			      false };
}

static void pair_end(struct pair *p)
{
	io_settle(&p->end[IN]);
	io_settle(&p->end[OUT]);
}

static bool use(const struct uk_thread *t, struct pair *p, int i)
{
	return io_go_on(t, &p->end[i], p->life[i]);
}

/* Make call by the fds, if they still refer to the same files. */
#define WITH_BOTH(t, p, call)                                                          \
	({                                                                             \
		bool late_ = (p)->begun;                                               \
		long with_ = -EBADF;                                                   \
                                                                                       \
		if (!late_ || (int)use(t, p, IN) & (int)use(t, p, OUT))                \
			with_ = (call);                                                \
		if (late_) {                                                           \
			io_let_go(&(p)->end[IN]);                                      \
			io_let_go(&(p)->end[OUT]);                                     \
		}                                                                      \
		(p)->begun = true;                                                     \
		with_;                                                                 \
	})

/* Wait until file i is ready, or its socket's time limit is over. */
static int pair_ready(struct uk_thread *t, struct pair *p, int i, int64_t *until)
{
	int r = -EBADF;

	p->begun = true;
	if (use(t, p, i))
		r = io_ready_limit(t, &p->end[i], until);
	io_let_go(&p->end[i]);
	return r;
}

/* -- sendfile -- */

struct copy {
	struct pair p;
	int64_t *pos; /* of `in`; NULL: it has no position */
	/* it is known, without a system call, that the kernel does not wait for `out`.
	 * So pos may be the program's, which only the kernel uses */
	bool theirs;
	size_t n, done;
	int64_t until; /* the time limit of the socket `out` */
	int again;     /* waits since `out` last took something */
};

/* Wait until `out` may take something. A socket that is ready and takes nothing (TCP is
 * short of memory) is tried again after a pause. */
static int room_ready(struct uk_thread *t, struct copy *c)
{
	int r = pair_ready(t, &c->p, OUT, &c->until);

	if (r < 0 || ++c->again <= AGAIN_MAX)
		return r;
	return c->until <= sys_now() ? -EAGAIN : io_pause(t, PAUSE);
}

/* Sends one portion from the page cache. Returns the bytes sent, 0 at the end of the
 * file, -EAGAIN if the socket is full, or -EOPNOTSUPP if this way cannot do it. */
static long bounce_once(struct uk_thread *t, const struct copy *c, size_t most)
{
	size_t n = c->n - c->done;
	struct iovec one = { bounce_of(t), MIN(n, most) };
	struct io_op from = { .kind = IO_READV,
			      .fd = c->p.end[IN].fd,
			      .addr = &one,
			      .len = 1,
			      .inside = true,
			      .off = c->pos && !c->theirs ? *c->pos : -1 };
	struct io_op to = { .kind = IO_SEND,
			    .fd = c->p.end[OUT].fd,
			    .addr = one.iov_base,
			    .inside = true };
	long r;

	if (c->theirs || !one.iov_base || from.off < 0)
		return -EOPNOTSUPP;
	r = io_try(t, &from);
	if (r <= 0)
		return r < 0 ? -EOPNOTSUPP : 0;
	to.len = (uint32_t)r;
	to.flags = (size_t)r == BOUNCE && n > BOUNCE ? MSG_MORE : 0;
	r = io_try(t, &to);
	if (r >= 0)
		*c->pos += r;
	return r == -ENOTSOCK ? -EOPNOTSUPP : r;
}

static long sendfile_raw(struct uk_thread *t, struct copy *c, size_t n)
{
	int out = c->p.end[OUT].fd;
	long r;

	raw_begin(t, out);
	r = WITH_BOTH(t, &c->p,
		      io_marked(t, SYS_sendfile, out, c->p.end[IN].fd, SYS_ARG(c->pos),
				(long)MIN(n, c->n - c->done), 0, 0));
	raw_end(t, out);
	return r;
}

/* To a file, a pipe or a tty; to a pipe or tty one page at a time, once it is ready. */
static long sendfile_other(struct uk_thread *t, struct copy *c)
{
	int r;

	if (io_is_file(t, c->p.end[OUT].fd))
		return sendfile_raw(t, c, IO_MAX_LEN);
	r = room_ready(t, c);
	return r < 0 ? r : sendfile_raw(t, c, PAGE);
}

/* If there is little space, sendfile would sleep before its end; a send does not. */
static long sendfile_room(struct uk_thread *t, struct copy *c, long room)
{
	long r = -EOPNOTSUPP;

	if (room < (long)PAGE)
		r = WITH_BOTH(t, &c->p, bounce_once(t, c, PAGE));
	return r == -EOPNOTSUPP ? sendfile_raw(t, c, (size_t)MAX(room, (long)PAGE)) : r;
}

/* To a socket: as much as it has space for. The look and the call are one step among
 * our sendfiles, so that a second one does not take the space in between and leave us
 * asleep in the kernel, where no close and no deadline reaches us. (An ordinary send
 * may take it: then the hand-off saves the vp, and the peer or the end of the
 * connection ends the call.) */
static long sendfile_sock(struct uk_thread *t, struct copy *c)
{
	for (;;) {
		struct io_op *out = &c->p.end[OUT];
		/* what the previous holder sent is already subtracted from the space */
		bool mine = io_take(out, FD_SENDING);
		long room = mine ? room_of(t, out->fd) : 0, r;

		/* ready, but no space: the kernel counts the two differently */
		if (mine && (room > 0 || c->again > SLOT_TRIES)) {
			r = sendfile_room(t, c, room);
			io_give(out);
			if (r != -EAGAIN)
				return r;
		} else if (mine)
			io_give(out);
		if (room < 0)
			return room;
		c->p.begun = true;
		r = mine ? room_ready(t, c) : io_pause(t, PAUSE / 10);
		if (r < 0)
			return r;
	}
}

static long sendfile_once(struct uk_thread *t, struct copy *c)
{
	int out = c->p.end[OUT].fd;
	long room;

	if ((t->kind == THREAD_FOREIGN && t->deadline == TIME_NEVER) ||
	    io_nonblock(t, out))
		return sendfile_raw(t, c, IO_MAX_LEN);
	room = room_of(t, out);
	if (room == -ENOTSOCK)
		return sendfile_other(t, c);
	return room < 0 ? room : sendfile_sock(t, c);
}

static long sendfile_loop(struct uk_thread *t, struct copy *c)
{
	bool bounce = c->n <= BOUNCE && !c->theirs;

	while (c->done < c->n) {
		long r = io_check(t);

		if (r < 0)
			return c->done ? (long)c->done : r;
		r = -EOPNOTSUPP;
		if (bounce)
			r = WITH_BOTH(t, &c->p, bounce_once(t, c, BOUNCE));
		if (r == -EOPNOTSUPP) {
			bounce = false;
			r = sendfile_once(t, c);
		} else if (r == -EAGAIN && !io_nonblock(t, c->p.end[OUT].fd)) {
			r = room_ready(t, c);
			if (r >= 0)
				continue;
		}
		if (r <= 0)
			return c->done ? (long)c->done : r;
		sched_inline(t, 1);
		c->done += (size_t)r;
		c->again = 0;
	}
	return (long)c->done;
}

/* The kernel reads the position of `in` once, at the beginning, and sets it once, at
 * the end. So do we, even if another thread moves it meanwhile. */
static long sendfile_here(struct uk_thread *t, struct copy *c)
{
	long r = io_marked(t, SYS_lseek, c->p.end[IN].fd, 0, SEEK_CUR, 0, 0, 0);
	int64_t pos = r;

	if (r >= 0) {
		c->pos = &pos;
		r = sendfile_loop(t, c);
	}
	if (r == -ESPIPE) {
		c->pos = NULL;
		return sendfile_loop(t, c);
	}
	if (r > 0 && use(t, &c->p, IN))
		io_marked(t, SYS_lseek, c->p.end[IN].fd, (long)pos, SEEK_SET, 0, 0, 0);
	return r;
}

/* With a count of 0 the kernel checks the fds and the offset, and does nothing. */
static long sendfile_vet(int out, int in, off_t *off)
{
	return io_vets ? sys4(SYS_sendfile, out, in, off, 0) : 0;
}

static long sendfile_all(struct uk_thread *t, struct copy *c)
{
	if (!c->n)
		return sendfile_raw(t, c, 0);
	return c->pos ? sendfile_loop(t, c) : sendfile_here(t, c);
}

/* *off is read and written outside the runtime, because it may fault. */
ssize_t uk_sendfile(int out, int in, off_t *off, size_t n)
{
	struct copy c = { .p = pair_of(in, out), .pos = off, .n = MIN(n, IO_MAX_LEN) };
	bool copied = off && !(known_ask(out) & KNOWN_NONBLOCK);
	long r = copied ? sendfile_vet(out, in, off) : 0;
	struct uk_thread *t;
	int64_t pos;
	int unable;

	if (r < 0)
		return r;
	if (copied) {
		pos = *off;
		c.pos = &pos;
	}
	c.theirs = off && !copied;
	unable = rt_begin();
	if (unlikely(unable))
		return unable;
	t = rt_enter();
	r = sendfile_all(t, &c);
	pair_end(&c.p);
	rt_exit();
	if (copied)
		*off = pos;
	return r;
}

/* -- splice -- */

struct end {
	short events;
	bool wrong; /* the system call will return the error */
	bool waits; /* it may have no data, or no space, for now */
	bool pipe, sock;
	bool ahead; /* received ahead: its bytes are not in the socket */
};

static struct end end_of(struct uk_thread *t, int fd, short events, const off_t *off,
			 unsigned flags)
{
	struct end e = { .events = events };
	long fl = sys2(SYS_fcntl, fd, F_GETFL);
	struct stat st;

	COUNT(t, syscalls);
	COUNT(t, syscalls);
	e.wrong = fl < 0 ||
		  (fl & O_ACCMODE) == (events == POLLIN ? O_WRONLY : O_RDONLY) ||
		  sys2(SYS_fstat, fd, &st) < 0;
	if (e.wrong)
		return e;
	e.pipe = S_ISFIFO(st.st_mode);
	e.sock = S_ISSOCK(st.st_mode);
	e.ahead = e.sock && events == POLLIN && fd_is_ahead(fd);
	e.wrong = off && (e.pipe || e.sock);
	e.waits = !(fl & O_NONBLOCK) && !S_ISREG(st.st_mode) && !S_ISBLK(st.st_mode) &&
		  !(e.pipe && (flags & SPLICE_F_NONBLOCK));
	return e;
}

struct splice {
	struct pair p;
	struct end e[2];
	off_t *off_in, *off_out;
	size_t n, done;
	unsigned flags;
	bool waits;
	int64_t until[2];
};

/* Wait until the ends that can be waited for are ready. Both are checked in one call,
 * and only an end that is not ready costs a park. */
static int ends_ready(struct uk_thread *t, struct splice *s)
{
	const struct end *e = s->e;
	struct pollfd p[2];
	struct timespec zero = { 0, 0 };

	for (int i = IN; i <= OUT; i++)
		p[i] = (struct pollfd){ .fd = e[i].waits ? s->p.end[i].fd : -1,
					.events = e[i].events };
	COUNT(t, syscalls);
	sys5(SYS_ppoll, p, 2, &zero, NULL, 8);
	for (int i = IN; i <= OUT; i++) {
		int r = 0;

		if (e[i].waits && !p[i].revents)
			r = pair_ready(t, &s->p, i, &s->until[i]);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Out of a pipe the kernel continues until it is empty, and waits for `out` if need
 * be. */
static bool goes_on(struct uk_thread *t, const struct splice *s)
{
	int left = 0;

	if (!s->e[IN].pipe || s->e[OUT].pipe || s->flags & SPLICE_F_NONBLOCK ||
	    s->done >= s->n || io_check(t))
		return false;
	COUNT(t, syscalls);
	return !sys3(SYS_ioctl, s->p.end[IN].fd, FIONREAD, &left) && left > 0;
}

static long splice_once(struct uk_thread *t, struct splice *s, size_t n)
{
	const struct io_op *end = s->p.end;

	return WITH_BOTH(t, &s->p,
			 io_marked(t, SYS_splice, end[IN].fd, SYS_ARG(s->off_in),
				   end[OUT].fd, SYS_ARG(s->off_out), (long)n,
				   s->flags | SPLICE_F_NONBLOCK));
}

static long splice_part(struct uk_thread *t, struct splice *s)
{
	const struct end *out = &s->e[OUT];
	size_t chunk = s->n - s->done;
	long r;

	do {
		r = s->waits ? ends_ready(t, s) : io_check(t);
		if (r < 0)
			return r;
		if (s->waits && out->sock && out->waits)
			chunk = MIN(chunk, (size_t)MAX(room_of(t, s->p.end[OUT].fd),
						       (long)PAGE));
		r = splice_once(t, s, chunk);
		if (r != -EAGAIN || !s->waits || (s->flags & SPLICE_F_NONBLOCK))
			return r;
		r = io_pause(t, PAUSE); /* both were ready, but one is not any more */
	} while (r == 0 && (!s->done || goes_on(t, s)));
	return r;
}

static long splice_loop(struct uk_thread *t, struct splice *s)
{
	long r;

	do {
		r = splice_part(t, s);
		if (r <= 0)
			break;
		s->done += (size_t)r;
		s->e[IN].waits = false; /* only the first byte is waited for */
		s->waits = s->e[OUT].waits;
	} while (goes_on(t, s));
	return s->done ? (long)s->done : r;
}

ssize_t uk_splice(int in, off_t *off_in, int out, off_t *off_out, size_t n,
		  unsigned flags)
{
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	struct uk_thread *t = rt_enter();
	struct splice s = { .p = pair_of(in, out),
			    .e = { end_of(t, in, POLLIN, off_in, flags),
				   end_of(t, out, POLLOUT, off_out, flags) },
			    .off_in = off_in,
			    .off_out = off_out,
			    .n = MIN(n, IO_MAX_LEN),
			    .flags = flags };
	const struct end *e = s.e;
	bool wrong = e[IN].wrong || e[OUT].wrong || (!e[IN].pipe && !e[OUT].pipe);
	long r = e[IN].ahead ? -EBUSY : io_check(t);

	s.waits = !wrong && (e[IN].waits || e[OUT].waits);
	if (r == 0)
		r = splice_loop(t, &s);
	pair_end(&s.p);
	rt_exit();
	return r;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* uk_group_submit: chooses how each request is carried out, and starts it.
 *
 * The reactor gets what the kernel can do, or wait for, without a thread; helpers do the
 * rest (helper.c).
 *
 * The reactor carries an operation out inside the runtime, where a long page fault
 * would keep the vp (law 1 of docs/ARCHITECTURE.md, io/place.c). So it gets only
 * operations whose memory is all resident: what they read and write and what describes
 * that. The description is read here, so it must be readable, too. mincore(2) and a
 * call that reads a word answer for a page. An answer serves PLACE_USES times, because
 * programs use the same buffers again and again.
 *
 * Runs on the submitter's stack. For completions (group_take) it runs on the stack on
 * which the vp's completions are collected. Both are inside the runtime.
 *
 * Rejected: trying each call of many at once, as the blocking calls do (the point of a
 * vector is one system call for many).
 */
#include "async/async.h"

#include <poll.h>
#include <sys/socket.h>

#include "base/touch.h"
#include "io/io.h"

#define BATCH 64u
#define PLACE_USES 255u
#define PLACE_MOST 256u /* pages of one buffer */
#define IOV_MOST 64u

/* -- is the memory resident? -- */

static bool page_there(struct uk_group *g, struct uk_thread *t, uintptr_t page)
{
	uint64_t *place = &g->places[page / PAGE % PLACES], seen = load_relaxed(place);
	unsigned char there = 0;
	long r;

	if (likely((seen & ~(uint64_t)(PAGE - 1)) == page && seen & PLACE_USES)) {
		store_relaxed(place, seen - 1);
		return true;
	}
	COUNT(t, syscalls);
	COUNT(t, syscalls);
	outside_begin(t);
	r = sys3(SYS_mincore, page, PAGE, &there);
	if (r == 0 && there & 1 && !sys_readable((void *)page))
		r = -EFAULT; /* resident, but the program may not read it, nor may we */
	outside_end(t);
	if (r < 0 || !(there & 1))
		return false;
	store_relaxed(place, page | PLACE_USES);
	return true;
}

static bool there(struct uk_group *g, struct uk_thread *t, const void *p, size_t n)
{
	uintptr_t page = (uintptr_t)p & ~(PAGE - 1), end = (uintptr_t)p + n;

	if (end < page || n > PLACE_MOST * PAGE)
		return false;
	for (; n && page < end; page += PAGE)
		if (!page_there(g, t, page))
			return false;
	return true;
}

static bool list_there(struct uk_group *g, struct uk_thread *t, const struct iovec *v,
		       size_t n)
{
	if (n > IOV_MOST || !there(g, t, v, n * sizeof(*v)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!there(g, t, v[i].iov_base, v[i].iov_len))
			return false;
	return true;
}

static bool message_there(struct uk_group *g, struct uk_thread *t,
			  const struct msghdr *m)
{
	return there(g, t, m, sizeof(*m)) &&
	       (!m->msg_name || there(g, t, m->msg_name, m->msg_namelen)) &&
	       (!m->msg_control || there(g, t, m->msg_control, m->msg_controllen)) &&
	       list_there(g, t, m->msg_iov, m->msg_iovlen);
}

static bool address_there(struct uk_group *g, struct uk_thread *t, const uk_op *o)
{
	return !o->addr || (there(g, t, o->addr2, sizeof(socklen_t)) &&
			    there(g, t, o->addr, *(const socklen_t *)o->addr2));
}

static bool memory_there(struct uk_group *g, struct uk_thread *t, const uk_op *o)
{
	switch (o->kind) {
	case UK_OP_READ:
	case UK_OP_WRITE:
	case UK_OP_RECV:
	case UK_OP_SEND:
	case UK_OP_CONNECT:
		return there(g, t, o->addr, o->len);
	case UK_OP_READV:
	case UK_OP_WRITEV:
		return list_there(g, t, o->addr, o->len);
	case UK_OP_RECVMSG:
	case UK_OP_SENDMSG:
		return message_there(g, t, o->addr);
	case UK_OP_ACCEPT:
		return address_there(g, t, o);
	default:
		return true;
	}
}

/* -- what the reactor knows of an operation -- */

static const uint8_t kind_of[] = {
	[UK_OP_NOP] = IO_NOP,         [UK_OP_READ] = IO_READ,
	[UK_OP_WRITE] = IO_WRITE,     [UK_OP_READV] = IO_READV,
	[UK_OP_WRITEV] = IO_WRITEV,   [UK_OP_RECV] = IO_RECV,
	[UK_OP_SEND] = IO_SEND,       [UK_OP_RECVMSG] = IO_RECVMSG,
	[UK_OP_SENDMSG] = IO_SENDMSG, [UK_OP_ACCEPT] = IO_ACCEPT,
	[UK_OP_CONNECT] = IO_CONNECT, [UK_OP_POLL] = IO_POLL,
	[UK_OP_TIMEOUT] = IO_KINDS,   [UK_OP_FSYNC] = IO_FSYNC,
	[UK_OP_OPENAT] = IO_KINDS,    [UK_OP_STATX] = IO_KINDS,
	[UK_OP_RENAME] = IO_KINDS,    [UK_OP_CLOSE] = IO_KINDS,
	[UK_OP_SPLICE] = IO_KINDS,    [UK_OP_FUTEX] = IO_KINDS,
};

static enum io_kind io_kind_of(const uk_op *o)
{
	if (o->options & UK_OP_ZEROCOPY)
		return lend_kind(o->kind);
	return (unsigned)o->kind < array_size(kind_of) ? kind_of[o->kind] : IO_KINDS;
}

static bool is_transfer(int kind)
{
	return kind >= UK_OP_READ && kind <= UK_OP_WRITEV;
}

static enum io_class class_of(const uk_op *o)
{
	return o->kind >= UK_OP_RECV && o->kind <= UK_OP_POLL ? IO_CLASS_NET
							      : IO_CLASS_FILE;
}

uint32_t what_events(int kind, int64_t off)
{
	if (is_transfer(kind) && off != UK_OP_HERE)
		return 0;
	switch (kind) {
	case UK_OP_READ:
	case UK_OP_READV:
	case UK_OP_RECV:
	case UK_OP_RECVMSG:
	case UK_OP_ACCEPT:
		return POLLIN;
	case UK_OP_WRITE:
	case UK_OP_WRITEV:
	case UK_OP_SEND:
	case UK_OP_SENDMSG:
		return POLLOUT;
	default:
		return 0;
	}
}

int what_files(const uk_op *o)
{
	switch (o->kind) {
	case UK_OP_NOP:
	case UK_OP_TIMEOUT:
	case UK_OP_FUTEX:
		return 0;
	case UK_OP_RENAME:
	case UK_OP_SPLICE:
		return 2;
	default:
		return o->fd >= 0; /* not: AT_FDCWD */
	}
}

bool what_dontwait(int kind, unsigned flags)
{
	return kind >= UK_OP_RECV && kind <= UK_OP_SENDMSG && flags & MSG_DONTWAIT;
}

/* A ring ignores an offset into a stream, where pread(2) fails. */
static bool has_places(struct uk_thread *t, int fd)
{
	unsigned hint = fd_hint(fd);

	if (hint & (HINT_FILE | HINT_STREAM))
		return hint & HINT_FILE;
	if (!io_is_file(t, fd))
		return false;
	fd_hint_set(fd, HINT_FILE);
	return true;
}

/* False for reads and writes at a file's position, because only the kernel's own
 * read(2) holds the position's lock; and for a socket that is received ahead, whose
 * bytes are not in the socket. */
static bool ring_may(struct uk_thread *t, const uk_op *o)
{
	switch (o->kind) {
	case UK_OP_READ:
	case UK_OP_WRITE:
	case UK_OP_READV:
	case UK_OP_WRITEV:
		if (o->len > IO_MAX_LEN || o->off < UK_OP_HERE)
			return false;
		if (o->off != UK_OP_HERE)
			return has_places(t, o->fd);
		return fd_hint(o->fd) & HINT_STREAM && !fd_is_ahead(o->fd);
	case UK_OP_RECV:
	case UK_OP_SEND:
	case UK_OP_CONNECT:
		return o->len <= IO_MAX_LEN && !fd_is_ahead(o->fd);
	case UK_OP_RECVMSG:
	case UK_OP_POLL:
		return !fd_is_ahead(o->fd);
	default:
		return true;
	}
}

/* A read at an offset of a known file: most vectors consist of these. All other
 * conditions of by_ring hold then. */
static inline bool plain_read(const uk_op *o)
{
	return o->kind == UK_OP_READ && !o->options && !o->reserved0 && !o->reserved &&
	       o->deadline == UK_FOREVER && o->off >= 0 && o->len <= IO_MAX_LEN &&
	       fd_hint(o->fd) & HINT_FILE;
}

/* The ring's operation for it; IO_KINDS: none. In the runtime; afterwards the thread
 * may be on another vp. */
static enum io_kind by_ring(struct uk_group *g, struct uk_thread *t, const uk_op *o)
{
	enum io_kind kind;

	if (likely(plain_read(o)))
		return there(g, t, o->addr, o->len) ? IO_READ : IO_KINDS;
	kind = io_kind_of(o);
	if (kind != IO_KINDS && !(o->options & ~UK_OP_ZEROCOPY) && what_known(o) &&
	    o->deadline == UK_FOREVER && ring_may(t, o) && memory_there(g, t, o))
		return kind;
	return IO_KINDS;
}

static void fill_op(struct req *q, const uk_op *o, enum io_kind kind)
{
	q->len = (uint32_t)o->len;
	q->polls = false;
	/* field by field: the submitter writes the rest, and clearing all first costs
	 * as much again */
	q->op.kind = (uint8_t)kind;
	q->op.fd = o->fd;
	q->op.len = (uint32_t)o->len;
	q->op.flags = o->flags;
	q->op.addr = o->addr;
	q->op.addr2 = o->addr2;
	q->op.off = is_transfer(o->kind) ? o->off : IO_CURRENT;
	q->op.until = 0;
	q->op.was = 0;
	q->op.parts = q->op.held = false;
	q->op.lends = 0;
	q->op.sink = &q->group->sink;
	if (o->kind == UK_OP_POLL)
		q->op.len = o->flags & 0xffff;
	if (o->kind == UK_OP_SEND || o->kind == UK_OP_SENDMSG)
		q->op.flags |= MSG_NOSIGNAL;
	if (q->frees && !(o->flags & MSG_DONTWAIT))
		q->op.flags |= MSG_WAITALL; /* one loan for all of it */
	if (o->kind == UK_OP_FSYNC)
		q->op.flags &= 1;
}

/* -- completion of an operation in the ring -- */

static bool is_hitch(const struct req *q)
{
	int res = q->op.res;

	return q->polls ? res >= 0
			: res == -EAGAIN && what_events(q->kind, q->op.off) &&
			      !what_dontwait(q->kind, q->op.flags);
}

/* In the vp in which the operation was pending. True: it goes on, because a file with
 * O_NONBLOCK was not ready (as a poll from now on), or because that poll has found it
 * ready. */
static bool goes_on(struct req *q)
{
	if (likely(!is_hitch(q)) || load_relaxed(&q->asked))
		return false;
	q->polls = !q->polls;
	if (q->polls)
		q->op.kind = IO_POLL;
	else if (q->frees && !q->copies)
		q->op.kind = (uint8_t)lend_kind(q->kind);
	else
		q->op.kind = kind_of[q->kind];
	q->op.len = q->polls ? what_events(q->kind, q->op.off) : q->len;
	sched_io_again(&q->op, q->op.home);
	return true;
}

static int64_t result(const struct req *q)
{
	int res = q->op.res;

	if (likely(res >= 0 && !q->polls && q->kind <= UK_OP_SENDMSG))
		return res;
	/* as after uk_close or the preload library's close */
	if (unlikely(res == REACTOR_MOVED))
		fd_drop(q->op.fd2);
	if (unlikely(res == REACTOR_MOVED || res == REACTOR_ANEW))
		return -EBADF;
	if (unlikely(load_relaxed(&q->asked)) && is_hitch(q))
		return -ECANCELED;
	if (res < 0)
		return res;
	if (q->kind == UK_OP_POLL) /* io_uring adds POLLRDHUP */
		return res & (int)(q->op.flags | POLLERR | POLLHUP);
	if (q->kind == UK_OP_ACCEPT)
		fd_hint_set(res, HINT_STREAM);
	return res;
}

void group_take(struct op_sink *s, struct io_op *first)
{
	struct uk_group *g = container_of(s, struct uk_group, sink);
	struct req *list = NULL, **tail = &list, *last = NULL;
	struct group_wake w;
	unsigned n = 0;

	for (struct io_op *op = first, *next; op; op = next) {
		struct req *q = container_of(op, struct req, op);

		next = op->next;
		if (goes_on(q))
			continue;
		if (unlikely(q->frees)) {
			if (lend_goes_on(q, result(q)))
				continue;
		} else {
			q->res = result(q);
		}
		store_relaxed(&q->state, (uint8_t)REQ_ENDED);
		*tail = last = q;
		tail = &q->next;
		n++;
	}
	if (!n)
		return;
	*tail = NULL;
	group_lock(g);
	if (unlikely(g->pins))
		list = group_unpinned(list, &last, &n);
	if (likely(n))
		group_ended(g, list, last, n, &w);
	lock_release(&g->lock);
	if (likely(n))
		group_fire(&w);
}

/* -- submission -- */

/* How many operations belong to the chain that begins at ops[0]. */
static unsigned chain_len(const uk_op *ops, unsigned n)
{
	unsigned k = 1;

	while (k < n && ops[k - 1].options & UK_OP_LINK)
		k++;
	return k;
}

static unsigned chain_options(const uk_op *ops, unsigned n)
{
	unsigned all = 0;

	while (n--)
		all |= ops[n].options;
	return all;
}

/* Under the lock. */
struct req *req_make(struct uk_group *g, uk_op *o)
{
	struct req *q = group_get(g);

	q->gen++;
	o->id = (uint64_t)q->gen << 32 | (uint32_t)(q - g->req + 1);
	q->id = o->id;
	q->tag = o->tag;
	q->group = g;
	q->kind = (uint8_t)o->kind;
	q->home = NULL;
	q->more = q->has_buf = false;
	q->frees = o->options & UK_OP_ZEROCOPY;
	q->copies = false;
	store_relaxed(&q->asked, 0);
	store_relaxed(&q->state, (uint8_t)REQ_RUNNING);
	g->running++;
	return q;
}

/* Under the lock: makes a request for each operation, linked to the next; returns the
 * first. */
static struct req *make_chain(struct uk_group *g, uk_op *ops, unsigned n)
{
	struct req *first = NULL, **tail = &first;
	int files;

	for (unsigned i = 0; i < n; i++) {
		struct req *q = req_make(g, &ops[i]);

		q->what = ops[i];
		q->helper = NULL;
		q->linked = NULL;
		files = what_files(&ops[i]);
		q->life[0] = files > 0 ? fd_life(ops[i].fd) : 0;
		q->life[1] = files > 1 ? fd_life(ops[i].fd2) : 0;
		*tail = q;
		tail = &q->linked;
	}
	return first;
}

/* Submits chains of ops[0..n), where n is BATCH at most except for a longer chain.
 * Returns how many operations were taken. */
static unsigned submit_some(struct uk_group *g, struct uk_thread *t, uk_op *ops,
			    unsigned n)
{
	struct req *sent[BATCH];      /* to a ring */
	uint8_t ring[BATCH];          /* enum io_kind, of a chain */
	enum io_kind kind = IO_KINDS; /* of the previous operation, and its home */
	struct uk_vp *home = NULL;
	struct io_parcel parcel = { 0 };
	unsigned done = 0, k = 0, at = 0, len;
	bool drainer, helper, rings;

	/* an engine that takes operations with a sink takes this one */
	rings = sched_io_home(t, IO_NOP, IO_CLASS_FILE);
	for (unsigned i = 0; i < n; i += len) {
		len = chain_len(ops + i, n - i);
		ring[at++] = rings && len == 1 ? (uint8_t)by_ring(g, t, &ops[i])
					       : (uint8_t)IO_KINDS;
	}
	group_lock(g);
	for (at = 0; done < n; done += len, at++) {
		uk_op *o = &ops[done];

		len = chain_len(o, n - done);
		if (len > group_room(g))
			break;
		if (unlikely(drain_holds(g, chain_options(o, len)))) {
			drain_hold(g, make_chain(g, o, len), len);
			continue;
		}
		if (ring[at] != kind) {
			kind = ring[at];
			home = kind == IO_KINDS ? NULL
						: sched_io_home(t, kind, class_of(o));
		}
		if (!home) {
			helper_push(g, make_chain(g, o, len));
			continue;
		}
		sent[k] = req_make(g, o);
		fill_op(sent[k], o, kind);
		sent[k++]->home = home;
	}
	helper = helper_wanted(g);
	drainer = drain_wanted(g);
	lock_release(&g->lock);
	for (unsigned i = 0; i < k; i++)
		sched_io_send(t, &sent[i]->op, &sent[i]->msg, sent[i]->home, &parcel);
	sched_io_sent(&parcel);
	if (helper)
		helper_start(g);
	if (unlikely(drainer))
		drain_start(g);
	return done;
}

/* False: the data are not all in memory, and the request goes to home. */
static bool read_at_once(struct uk_group *g, struct uk_thread *t, struct req *q,
			 struct uk_vp *home)
{
	long r = io_try(t, &q->op);
	bool ends = r != -EAGAIN && r != -EOPNOTSUPP;
	struct group_wake w;

	group_lock(g);
	if (unlikely(!ends && q->asked)) {
		ends = true;
		r = -ECANCELED;
	}
	if (likely(ends)) {
		q->res = r;
		store_relaxed(&q->state, (uint8_t)REQ_ENDED);
		group_ended(g, q, q, 1, &w);
	} else {
		q->home = home;
	}
	lock_release(&g->lock);
	if (likely(ends))
		group_fire(&w);
	return ends;
}

/* Only a single read of a file comes here. If the ring is our own vp's, and no network
 * processor serves it, a system call is needed in any case, and a direct call saves the
 * way to the ring and back. Meanwhile the request has neither home nor helper, so a
 * cancel only sets `asked`. False: the request is submitted as all others are. */
static bool submit_read(struct uk_group *g, struct uk_thread *t, uk_op *o)
{
	struct io_parcel parcel = { 0 };
	struct uk_vp *home;
	struct req *q;

	if (o->kind != UK_OP_READ || o->off < 0 || t->kind != THREAD_USER ||
	    sched_io_served(t) || by_ring(g, t, o) != IO_READ)
		return false;
	home = sched_io_home(t, IO_READ, IO_CLASS_FILE);
	if (home != t->carrier->vp)
		return false;
	group_lock(g);
	if (!group_room(g) || drain_holds(g, 0)) {
		lock_release(&g->lock);
		return false;
	}
	q = req_make(g, o);
	q->helper = NULL;
	fill_op(q, o, IO_READ);
	lock_release(&g->lock);
	if (unlikely(!read_at_once(g, t, q, home))) {
		sched_io_send(t, &q->op, &q->msg, home, &parcel);
		sched_io_sent(&parcel);
		sched_collect(t);
	}
	return true;
}

int uk_group_submit(uk_group *g, uk_op *ops, unsigned n)
{
	unsigned done = 0, some;
	struct uk_thread *t;
	int r = sched_start();

	if (!r)
		r = rt_begin();
	if (unlikely(r))
		return r;
	if (n > INT32_MAX)
		return -EINVAL;
	n = MIN(n, g->depth + 1); /* a chain longer than the group stays too long */
	touch_write(ops, n * sizeof(*ops));
	t = rt_enter();
	if (n == 1 && submit_read(g, t, ops)) {
		rt_exit();
		return 1;
	}
	for (; done < n; done += some) {
		unsigned most = MIN(n - done, BATCH);

		/* a chain is not cut */
		most += chain_len(ops + done + most - 1, n - done - most + 1) - 1;
		some = submit_some(g, t, ops + done, most);
		if (some < most) {
			done += some;
			break;
		}
	}
	sched_collect(t); /* the kernel has them, whatever the caller does next */
	rt_exit();
	return done || !n ? (int)done : -EAGAIN;
}

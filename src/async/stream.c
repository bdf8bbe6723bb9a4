/* SPDX-License-Identifier: Apache-2.0 */
/* Streams: one operation, many completions. The helper repeats the call. Each result is
 * a completion of its own as long as the group has space for it; otherwise it is the
 * last one.
 *
 * A receive into a pool takes its buffer when there are bytes for it, so thousands of
 * waiting operations need none.
 *
 * Rejected: waiting for space in the group (if the program does not collect, what
 * arrives would pile up unseen; the stream's last completion tells it).
 */
#include "async/async.h"

#include <poll.h>
#include <sys/socket.h>

#include "async/pool.h"
#include "uk/io.h"

bool group_emit(struct req *q, int64_t res, void *buf)
{
	struct uk_group *g = q->group;
	struct group_wake w;
	struct req *e;

	group_lock(g);
	if (!group_room(g)) {
		lock_release(&g->lock);
		return false;
	}
	e = group_get(g);
	e->tag = q->tag;
	e->id = q->id;
	e->res = res;
	e->buf = buf;
	e->has_buf = buf;
	e->more = true;
	e->frees = false;
	e->state = REQ_ENDED;
	g->running++;
	group_ended(g, e, e, 1, &w);
	lock_release(&g->lock);
	group_fire(&w);
	return true;
}

static bool emit_outside(struct req *q, int64_t res, void *buf)
{
	bool told;

	rt_enter();
	told = group_emit(q, res, buf);
	rt_exit();
	return told;
}

bool stream_wanted(const uk_op *o)
{
	return o->options & (UK_OP_MULTI | UK_OP_POOL);
}

static bool stream_possible(const uk_op *o)
{
	if (o->options & UK_OP_MULTI && o->options & UK_OP_LINK)
		return false;
	if (o->options & UK_OP_POOL)
		return o->kind == UK_OP_RECV && o->addr2;
	return o->kind == UK_OP_ACCEPT && !o->addr;
}

static int64_t recv_pool(const uk_op *o, void **buf)
{
	struct uk_buf_pool *p = o->addr2;
	size_t n = o->len ? MIN(o->len, p->size) : p->size;
	bool waits = !(o->flags & MSG_DONTWAIT);
	int64_t r;

	do {
		void *b;

		r = waits ? uk_wait_fd(o->fd, POLLIN, UK_FOREVER) : 0;
		if (r < 0)
			return r;
		b = uk_buf_get(p);
		if (!b)
			return -ENOBUFS;
		r = uk_recv(o->fd, b, n, (int)o->flags | MSG_DONTWAIT);
		if (r > 0)
			*buf = b;
		else
			uk_buf_put(p, b);
	} while (r == -EAGAIN && waits);
	return r;
}

int64_t stream_run(struct req *q, int64_t (*accept_one)(const uk_op *o))
{
	const uk_op *o = &q->what;

	if (!stream_possible(o))
		return -EINVAL;
	for (;;) {
		void *buf = NULL;
		int64_t r = o->kind == UK_OP_RECV ? recv_pool(o, &buf) : accept_one(o);
		bool ends = r < 0 || (o->kind == UK_OP_RECV && r == 0);

		if (!ends && o->options & UK_OP_MULTI && emit_outside(q, r, buf))
			continue;
		q->buf = buf;
		q->has_buf = buf;
		return r;
	}
}

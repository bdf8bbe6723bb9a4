/* SPDX-License-Identifier: Apache-2.0 */
/* The life of one connection: a thread that reads a request, answers it, reads the
 * next.
 *
 * This is the purpose of the project: the code below simply blocks, and is the same on
 * a kernel thread and on a user thread. All of its state is in its frames.
 *
 *   IDLE --bytes--> BUSY --reply flushed--> IDLE        (the thread itself)
 *   IDLE --stop, no fds left--> ENDING                  (main or acceptor, by CAS)
 *   ENDING --bytes had already arrived--> BUSY, and the last reply says "close"
 *
 * Memory: a connection that is idle for COLD gives back the part of its stack that only
 * earlier requests used. Then it holds the page of these frames, and an fd.
 *
 * Deadlines: t_idle for the first byte of a request (t_header on a new connection),
 * t_header from that byte to the end of the head, t_body, t_write, t_handshake. All are
 * set by uk_thread_set_deadline, so a slow client costs only a parked thread.
 *
 * Closing: if the client is still sending, close would reset the connection, and the
 * client could lose the last reply. So the server shuts down its side, reads and drops
 * for a moment (LINGER), then closes. */
#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LINGER (2 * UK_SEC)
#define LINGER_BYTES (4u << 20)
#define COLD UK_SEC /* the stack is trimmed after this idle time */
#define FAIR 64     /* requests of a pipeline before others get a turn */

static _Atomic(uint64_t) last_id;

/* Wait between two requests. The deeper part of the stack is kept for the next request,
 * but only for COLD. */
static ssize_t wait_idle(struct conn *c)
{
	struct stream *s = &c->s;
	bool first = atomic_load_explicit(&c->requests, memory_order_relaxed) == 0;
	uk_time now = stream_now(s), end = now + (first ? cfg.t_header : cfg.t_idle);
	ssize_t n;

	stream_idle(s);
	uk_thread_set_deadline(now + COLD < end ? now + COLD : end);
	n = stream_fill(s, cfg.lim.max_header);
	if (n != -ETIMEDOUT || now + COLD >= end)
		return n;
	spawn_trim_stack();
	uk_thread_set_deadline(end);
	return stream_fill(s, cfg.lim.max_header);
}

/* Wait for bytes. Returns their number; 0: the connection ends, orderly or not. */
static ssize_t wait_bytes(struct conn *c, bool started)
{
	struct stream *s = &c->s;
	bool fresh = s->ilen == s->ipos;
	ssize_t n;

	if (stream_flush(s, false) < 0)
		return 0;
	if (fresh) {
		atomic_store_explicit(&c->state, C_IDLE, memory_order_release);
		n = wait_idle(c);
		if (atomic_exchange(&c->state, C_BUSY) == C_ENDING)
			c->linger = true;
	} else {
		if (!started)
			uk_thread_set_deadline(stream_now(s) + cfg.t_header);
		n = stream_fill(s, cfg.lim.max_header);
	}
	if (n > 0)
		return n;
	if (n == -ETIMEDOUT) {
		COUNT(c->id, timeouts, 1);
		if (!fresh)
			reply_error(c, 408, false, NULL);
	} else if (n < 0 || !fresh) {
		COUNT(c->id, aborts, 1);
	}
	return 0;
}

/* 1 = c->r is complete, 0 = the connection ends. */
static int read_request(struct conn *c)
{
	struct stream *s = &c->s;
	bool started = false;

	request_init(&c->r);
	for (;;) {
		uint32_t have = s->ilen - s->ipos;

		if (have) {
			int rc = request_feed(&c->r, s->ibuf + s->ipos, have, &cfg.lim);

			if (rc > 0)
				return 1;
			if (rc < 0) {
				reply_error(c, c->r.status, false, NULL);
				return 0;
			}
		}
		if (wait_bytes(c, started) <= 0)
			return 0;
		started = have != 0;
	}
}

/* noinline: its buffer must not be in the frame that an idle connection holds. */
static __attribute__((noinline)) void linger(struct conn *c)
{
	char drop[1024];
	uint32_t n = 0;
	ssize_t k;

	uk_thread_set_deadline(uk_after(LINGER));
	uk_shutdown(c->s.fd, SHUT_WR);
	while (n < LINGER_BYTES && (k = uk_recv(c->s.fd, drop, sizeof(drop), 0)) > 0)
		n += (uint32_t)k;
}

static void serve(struct conn *c)
{
	struct stream *s = &c->s;
	uint32_t served = 0;

	if (cfg.tls_cert && tls_accept(s, (unsigned)c->id) < 0) {
		c->linger = s->err == -EPROTONOSUPPORT || s->err == -EPROTO;
		if (s->err == -ETIMEDOUT)
			COUNT(c->id, timeouts, 1);
		return;
	}
	while (read_request(c)) {
		bool keep;

		if (s->ilen - s->ipos > c->r.head_len)
			stream_room(s); /* a pipeline: send the replies together */
		keep = respond(c);
		atomic_store_explicit(&c->requests, ++served, memory_order_relaxed);
		s->ipos += c->r.head_len;
		if (!keep || s->err)
			break;
		if (served % FAIR == 0)
			uk_yield();
	}
	stream_flush(s, false);
	if (s->err == -ETIMEDOUT)
		COUNT(c->id, timeouts, 1);
	else if (s->err)
		COUNT(c->id, aborts, 1);
}

void *conn_main(void *arg)
{
	struct ticket *t = arg;
	struct conn c;

	c.id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	atomic_init(&c.state, C_BUSY);
	atomic_init(&c.requests, 0);
	c.since = uk_now();
	c.linger = false;
	c.coding = IDENTITY;
	c.caching = NULL;
	c.peer = t->peer;
	stream_init(&c.s, t->fd);
	free(t);
	request_init(&c.r);
	uk_recv_ahead(c.s.fd);
	conns_add(&c);
	COUNT(c.id, accepted, 1);

	serve(&c);

	if (c.s.ssl) {
		uk_thread_set_deadline(uk_after(LINGER));
		tls_bye(&c.s);
	}
	if (!c.s.err || c.s.err == -EPROTO || c.s.err == -EPROTONOSUPPORT)
		if (c.linger || c.s.ipos < c.s.ilen)
			linger(&c);
	conns_remove(&c);
	stream_free(&c.s);
	uk_close(c.s.fd);
	COUNT(c.id, closed, 1);
	tls_thread_end();
	conns_leave();
	return NULL;
}

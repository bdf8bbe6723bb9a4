/* SPDX-License-Identifier: Apache-2.0 */
/* The body of a request. The server does not use it, but the next request begins where
 * it ends. So it is read to its exact end and dropped; if it exceeds max_body or
 * t_body, the connection closes. The head stays in the buffer (the reply and the log
 * point into it). Body bytes arrive behind it, and what follows the body is moved to
 * their place. */
#include "web.h"

#include <errno.h>
#include <string.h>

/* Read more. There must be space behind the head, which may have filled the buffer. */
static int more(struct conn *c)
{
	struct stream *s = &c->s;
	ssize_t n = stream_fill(s, c->r.head_len + BIG);

	if (n == -ETIMEDOUT) {
		COUNT(c->id, timeouts, 1);
		return -408;
	}
	return n > 0 ? 0 : -400;
}

/* Drop k bytes that follow the head. */
static void drop(struct conn *c, uint32_t k)
{
	struct stream *s = &c->s;
	char *body = s->ibuf + s->ipos + c->r.head_len;
	uint32_t have = s->ilen - s->ipos - c->r.head_len;

	memmove(body, body + k, have - k);
	s->ilen -= k;
}

static int drain_length(struct conn *c)
{
	uint64_t left = c->r.length;

	while (left) {
		uint32_t have = c->s.ilen - c->s.ipos - c->r.head_len;
		uint32_t k = have < left ? have : (uint32_t)left;
		int rc;

		drop(c, k);
		left -= k;
		if (left && (rc = more(c)) < 0)
			return rc;
	}
	return 0;
}

static int drain_chunked(struct conn *c)
{
	struct chunked ch;
	int done = 0;

	chunked_init(&ch);
	for (;;) {
		uint32_t have = c->s.ilen - c->s.ipos - c->r.head_len;
		const char *body = c->s.ibuf + c->s.ipos + c->r.head_len;
		uint32_t k = chunked_feed(&ch, body, have, &done);
		int rc;

		drop(c, k);
		if (done)
			return done > 0 ? 0 : -400;
		if (ch.total + ch.left > cfg.max_body)
			return -413;
		if ((rc = more(c)) < 0)
			return rc;
	}
}

int body_drain(struct conn *c)
{
	static const char go_on[] = "HTTP/1.1 100 Continue\r\n\r\n";
	struct stream *s = &c->s;
	bool any = s->ilen - s->ipos > c->r.head_len;

	if (c->r.length > cfg.max_body)
		return -413;
	if (!(c->r.flags & R_CHUNKED) && c->r.length == 0)
		return 0;
	/* A client that has sent part of the body does not wait for it. */
	if ((c->r.flags & R_CONTINUE) && !any) {
		stream_put(s, go_on, sizeof(go_on) - 1);
		COUNT(c->id, r1xx, 1);
	}
	if (stream_flush(s, false) < 0)
		return -400;
	uk_thread_set_deadline(uk_after(cfg.t_body));
	return c->r.flags & R_CHUNKED ? drain_chunked(c) : drain_length(c);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of one connection, in and out, plain or TLS.
 *
 * All this runs on the connection's own thread. Output gathers in a buffer until the
 * next blocking read, so a pipeline of requests is answered in few sends. A small body
 * is sent together with its head. A file is sent by sendfile after a head with
 * MSG_MORE. The thread's deadline (uk_thread_set_deadline) bounds every blocking call:
 * conn.c sets it for reads; a write has t_write for each piece of at most 256 KiB, so a
 * client that stops reading is dropped and a slow one is not.
 *
 * A connection that waits for a request holds only a small buffer in the thread's
 * frame, so its frames fit into one page. For the time of a request it takes larger
 * buffers for input and output from a pool, so that with a thousand connections replies
 * are written to warm memory. BIG buffers come from the heap. All go back when the
 * connection turns idle. Over TLS the small buffer holds bytes as they came from the
 * network. */
#include "web.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define PIECE (256u * 1024)
#define POOL_MAX 512u /* a megabyte; more buffers go back to the heap */

void stream_init(struct stream *s, int fd)
{
	s->fd = fd;
	s->err = 0;
	s->eof = false;
	s->ssl = NULL;
	s->tally = (struct tally){ 0 };
	s->now = 0;
	s->ibuf = cfg.tls_cert ? NULL : s->small;
	s->icap = cfg.tls_cert ? 0 : IBUF;
	s->obuf = NULL;
	s->ipos = s->ilen = s->olen = s->ocap = 0;
	s->rpos = s->rlen = 0;
}

/* ---- buffers ---- */

static int fail(struct stream *s, ssize_t rc)
{
	if (!s->err)
		s->err = rc < 0 ? (int)rc : -EPIPE;
	s->olen = 0;
	return s->err;
}

/* Last in, first out: the buffer that was just sent is warm. */
static uk_spin pool_lock;
static struct spare {
	struct spare *next;
} * pool;               /* under pool_lock; OBUF bytes each */
static unsigned pooled; /* under pool_lock */

static char *take(uint32_t cap)
{
	struct spare *b = NULL;

	if (cap == OBUF) {
		uk_spin_lock(&pool_lock);
		b = pool;
		if (b) {
			pool = b->next;
			pooled--;
		}
		uk_spin_unlock(&pool_lock);
	}
	return b ? (char *)b : malloc(cap);
}

static void give(char *p, uint32_t cap)
{
	struct spare *b = (struct spare *)(void *)p;

	if (cap == OBUF) {
		uk_spin_lock(&pool_lock);
		if (pooled < POOL_MAX) {
			b->next = pool;
			pool = b;
			pooled++;
			b = NULL;
		}
		uk_spin_unlock(&pool_lock);
	}
	free(b);
}

static bool take_obuf(struct stream *s)
{
	s->obuf = take(OBUF);
	if (!s->obuf) {
		fail(s, -ENOMEM);
		return false;
	}
	s->ocap = OBUF;
	return true;
}

static void give_obuf(struct stream *s)
{
	if (!s->obuf || s->olen)
		return;
	give(s->obuf, s->ocap);
	s->obuf = NULL;
	s->ocap = 0;
}

/* Return the input buffer, if the rest of the input fits into the small one. */
static void give_ibuf(struct stream *s)
{
	uint32_t left = s->ilen - s->ipos;
	bool small = !s->ssl && s->ibuf != s->small;

	if (!s->ibuf || s->ibuf == s->small || (left && (s->ssl || left > IBUF)))
		return;
	if (small)
		memcpy(s->small, s->ibuf + s->ipos, left);
	give(s->ibuf, s->icap);
	s->ipos = 0;
	s->ilen = left;
	s->ibuf = small ? s->small : NULL;
	s->icap = small ? IBUF : 0;
}

void stream_idle(struct stream *s)
{
	give_ibuf(s);
	give_obuf(s);
}

void stream_free(struct stream *s)
{
	s->ipos = s->ilen = s->olen = 0;
	stream_idle(s);
	if (s->ssl)
		tls_free(s);
}

static int grow(struct stream *s, uint32_t cap)
{
	char *p = take(cap);

	if (!p)
		return -ENOMEM;
	if (s->ibuf)
		memcpy(p, s->ibuf + s->ipos, s->ilen - s->ipos);
	if (s->ibuf && s->ibuf != s->small)
		give(s->ibuf, s->icap);
	s->ilen -= s->ipos;
	s->ipos = 0;
	s->ibuf = p;
	s->icap = cap;
	return 0;
}

/* Make space behind ilen; -ENOBUFS if there are max bytes already. */
static int make_room(struct stream *s, uint32_t max)
{
	uint32_t cap = s->icap < OBUF ? OBUF : s->icap < BIG ? BIG : s->icap * 2;

	if (s->ipos) {
		memmove(s->ibuf, s->ibuf + s->ipos, s->ilen - s->ipos);
		s->ilen -= s->ipos;
		s->ipos = 0;
	}
	if (s->ilen >= max)
		return -ENOBUFS;
	return s->ilen < s->icap ? 0 : grow(s, cap < max ? cap : max);
}

ssize_t stream_fill(struct stream *s, uint32_t max)
{
	ssize_t n = 0;

	/* TLS: wait for bytes first, then take a buffer. */
	if (s->ssl && !tls_pending(s))
		n = tls_more(s);
	if (n == 0)
		n = make_room(s, max);
	if (n == 0 && s->ssl)
		n = tls_read(s, s->ibuf + s->ilen, s->icap - s->ilen);
	else if (n == 0)
		n = uk_recv(s->fd, s->ibuf + s->ilen, s->icap - s->ilen, 0);
	s->now = 0;
	if (n > 0)
		s->ilen += (uint32_t)n;
	return n;
}

uk_time stream_now(struct stream *s)
{
	if (s->now == 0)
		s->now = uk_now();
	return s->now;
}

/* For the next piece; only the first one after a read may use the read's time. */
static void write_deadline(struct stream *s)
{
	uk_thread_set_deadline(stream_now(s) + cfg.t_write);
}

static int send_all(struct stream *s, const char *p, size_t n, int flags)
{
	while (n && !s->err) {
		size_t k = n < PIECE ? n : PIECE;
		ssize_t w;

		write_deadline(s);
		if (s->ssl)
			w = tls_write(s, p, k);
		else
			w = uk_send(s->fd, p, k,
				    flags | MSG_NOSIGNAL | (k < n ? MSG_MORE : 0));
		if (w <= 0)
			return fail(s, w);
		TALLY(&s->tally, bytes_sent, (uint64_t)w);
		p += w;
		n -= (size_t)w;
		if (n)
			s->now = 0;
	}
	return s->err;
}

int stream_flush(struct stream *s, bool more)
{
	uint32_t n = s->olen;

	s->olen = 0;
	if (n)
		send_all(s, s->obuf, n, more ? MSG_MORE : 0);
	if (!more)
		give_obuf(s);
	return s->err;
}

void stream_room(struct stream *s)
{
	char *p;

	if (s->ocap >= BIG || s->err)
		return;
	p = malloc(BIG);
	if (!p)
		return;
	if (s->obuf) {
		uint32_t n = s->olen;

		memcpy(p, s->obuf, n);
		s->olen = 0;
		give_obuf(s);
		s->olen = n;
	}
	s->obuf = p;
	s->ocap = BIG;
}

void stream_put(struct stream *s, const void *p, size_t n)
{
	if (s->err || (!s->obuf && !take_obuf(s)))
		return;
	if (n > s->ocap - s->olen) {
		stream_flush(s, true);
		if (n > s->ocap) {
			send_all(s, p, n, MSG_MORE);
			return;
		}
	}
	memcpy(s->obuf + s->olen, p, n);
	s->olen += (uint32_t)n;
}

void stream_printf(struct stream *s, const char *fmt, ...)
{
	char line[1024];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	if (n < 0 || (size_t)n >= sizeof(line))
		fail(s, -EMSGSIZE);
	else
		stream_put(s, line, (size_t)n);
}

/* Head and body in one system call. */
static void send_pair(struct stream *s, const void *p, size_t n)
{
	struct iovec v[2] = { { s->obuf, s->olen }, { (void *)(uintptr_t)p, n } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };
	size_t head = s->olen, done;
	ssize_t w;

	write_deadline(s);
	w = uk_sendmsg(s->fd, &m, MSG_NOSIGNAL);
	if (w <= 0) {
		fail(s, w);
		return;
	}
	TALLY(&s->tally, bytes_sent, (uint64_t)w);
	if ((size_t)w < head + n)
		s->now = 0;
	done = (size_t)w;
	s->olen = 0;
	if (done < head) {
		send_all(s, s->obuf + done, head - done, MSG_MORE);
		done = head;
	}
	send_all(s, (const char *)p + (done - head), n - (done - head), 0);
}

void stream_body(struct stream *s, const void *p, size_t n)
{
	if (s->err || n == 0)
		return;
	if (s->ssl && n > s->ocap - s->olen)
		stream_room(s); /* one record, one send */
	if (n <= s->ocap - s->olen) {
		memcpy(s->obuf + s->olen, p, n);
		s->olen += (uint32_t)n;
	} else if (s->ssl || n > PIECE) {
		stream_flush(s, true);
		send_all(s, p, n, 0);
	} else {
		send_pair(s, p, n);
	}
}

/* TLS must encrypt the bytes, so sendfile can't be used. */
static void copy_file(struct stream *s, int fd, off_t off, uint64_t n)
{
	char *buf = malloc(BIG);

	if (!buf) {
		fail(s, -ENOMEM);
		return;
	}
	while (n && !s->err) {
		ssize_t k;

		write_deadline(s);
		s->now = 0;
		k = uk_pread(fd, buf, n < BIG ? (size_t)n : BIG, off);
		if (k <= 0) {
			fail(s, k ? k : -ESTALE);
			break;
		}
		send_all(s, buf, (size_t)k, 0);
		off += k;
		n -= (uint64_t)k;
	}
	free(buf);
}

void stream_file(struct stream *s, int fd, off_t off, uint64_t n)
{
	stream_flush(s, true);
	if (s->ssl) {
		copy_file(s, fd, off, n);
		return;
	}
	while (n && !s->err) {
		ssize_t k;

		write_deadline(s);
		k = uk_sendfile(s->fd, fd, &off, n < PIECE ? (size_t)n : PIECE);
		if (k <=
		    0) { /* 0: the file shrank; the promised length can't be kept */
			fail(s, k ? k : -ESTALE);
			return;
		}
		TALLY(&s->tally, bytes_sent, (uint64_t)k);
		n -= (uint64_t)k;
		s->now = 0;
	}
}

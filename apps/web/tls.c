/* SPDX-License-Identifier: Apache-2.0 */
/* TLS by OpenSSL, in blocking style, with the blocking outside of OpenSSL.
 *
 * OpenSSL gets a BIO that never waits: it reads from the stream's small buffer and
 * writes with MSG_DONTWAIT. If OpenSSL needs bytes, or the socket's buffer is full,
 * OpenSSL returns; the thread waits here (again) and repeats the call. So a waiting
 * connection has no frame of OpenSSL on its stack and none of its record buffers (it
 * allocates 16 KB before it reads). And no thread switches inside OpenSSL, whose error
 * queue, generators and locks belong to the kernel thread, so light threads are
 * correct. The error queue is cleared before each call, because it may have another
 * connection's errors.
 *
 * A handshake, a read and a write each run under the thread's deadline. If the
 * transport ends a call, its errno is kept in the stream's err. There is no session
 * cache: both versions resume by tickets, for which the server stores nothing.
 *
 * Rejected: kernel TLS (Debian's OpenSSL is built without it); taking the session from
 * an idle connection (after SSL_set_session(ssl, NULL) OpenSSL 3.0 sends plain text). */
#include "web.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <string.h>

static SSL_CTX *ctx; /* under ctx_lock; each connection holds a reference */
static uk_mutex ctx_lock = UK_MUTEX_INIT;
static BIO_METHOD *method;

static int bio_write(BIO *b, const char *p, int n)
{
	struct stream *s = BIO_get_data(b);
	ssize_t w;

	BIO_clear_retry_flags(b);
	do
		w = send(s->fd, p, (size_t)n, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (w < 0 && errno == EINTR);
	if (w < 0 && errno == EAGAIN)
		BIO_set_retry_write(b);
	else if (w < 0 && !s->err)
		s->err = -errno;
	return w < 0 ? -1 : (int)w;
}

static int bio_read(BIO *b, char *p, int n)
{
	struct stream *s = BIO_get_data(b);
	uint32_t k = s->rlen - s->rpos;

	BIO_clear_retry_flags(b);
	if (k == 0) {
		if (s->eof)
			return 0;
		BIO_set_retry_read(b);
		return -1;
	}
	k = k < (uint32_t)n ? k : (uint32_t)n;
	memcpy(p, s->small + s->rpos, k);
	s->rpos += k;
	return (int)k;
}

static long bio_ctrl(BIO *b, int cmd, long num, void *p)
{
	const struct stream *s = BIO_get_data(b);

	(void)num, (void)p;
	return cmd == BIO_CTRL_FLUSH ||
	       (cmd == BIO_CTRL_EOF && s->eof && s->rpos == s->rlen);
}

static int bio_create(BIO *b)
{
	BIO_set_init(b, 1);
	return 1;
}

static const char *tls_why(void)
{
	unsigned long e = ERR_peek_error();
	const char *t = ERR_SYSTEM_ERROR(e) ? strerror(ERR_GET_REASON(e))
					    : ERR_reason_error_string(e);

	return t ? t : "unknown error";
}

static int alpn(SSL *ssl, const unsigned char **out, unsigned char *outlen,
		const unsigned char *in, unsigned inlen, void *arg)
{
	static const unsigned char ours[] = "\x08http/1.1\x08http/1.0";
	unsigned char *sel;

	(void)ssl, (void)arg;
	if (SSL_select_next_proto(&sel, outlen, ours, sizeof(ours) - 1, in, inlen) !=
	    OPENSSL_NPN_NEGOTIATED)
		return SSL_TLSEXT_ERR_ALERT_FATAL;
	*out = sel;
	return SSL_TLSEXT_ERR_OK;
}

/* A context with the certificate that is on disk now. NULL: the reason is printed. */
static SSL_CTX *load(void)
{
	static const unsigned char sid[] = "ukweb";
	SSL_CTX *c = SSL_CTX_new(TLS_server_method());

	if (!c)
		return NULL;
	SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
	SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION |
				   SSL_OP_CIPHER_SERVER_PREFERENCE |
				   SSL_OP_IGNORE_UNEXPECTED_EOF);
	SSL_CTX_set_mode(c, SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
	SSL_CTX_set_session_cache_mode(c, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_session_id_context(c, sid, sizeof(sid) - 1);
	SSL_CTX_set_alpn_select_cb(c, alpn, NULL);
	if (SSL_CTX_use_certificate_chain_file(c, cfg.tls_cert) != 1) {
		say("certificate %s: %s", cfg.tls_cert, tls_why());
	} else if (SSL_CTX_use_PrivateKey_file(c, cfg.tls_key, SSL_FILETYPE_PEM) != 1) {
		say("key %s: %s", cfg.tls_key, tls_why());
	} else if (SSL_CTX_check_private_key(c) != 1) {
		say("key %s does not belong to certificate %s", cfg.tls_key,
		    cfg.tls_cert);
	} else {
		return c;
	}
	ERR_clear_error();
	SSL_CTX_free(c);
	return NULL;
}

int tls_init(void)
{
	OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, NULL);
	method =
	    BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "user thread");
	if (!method)
		return -ENOMEM;
	BIO_meth_set_write(method, bio_write);
	BIO_meth_set_read(method, bio_read);
	BIO_meth_set_ctrl(method, bio_ctrl);
	BIO_meth_set_create(method, bio_create);
	ctx = load();
	return ctx ? 0 : -EINVAL;
}

/* SIGHUP: live connections keep the old context; tickets stay valid. */
int tls_reload(void)
{
	unsigned char keys[80];
	SSL_CTX *c = load(), *old;

	if (!c)
		return -EINVAL;
	uk_mutex_lock(&ctx_lock);
	old = ctx;
	if (SSL_CTX_get_tlsext_ticket_keys(old, keys, sizeof(keys)) == 1)
		SSL_CTX_set_tlsext_ticket_keys(c, keys, sizeof(keys));
	ctx = c;
	uk_mutex_unlock(&ctx_lock);
	SSL_CTX_free(old);
	return 0;
}

static SSL *new_ssl(struct stream *s)
{
	BIO *b = BIO_new(method);
	SSL *ssl;

	if (!b)
		return NULL;
	BIO_set_data(b, s);
	uk_thread_set_deadline(UK_FOREVER);
	uk_mutex_lock(&ctx_lock);
	ssl = SSL_new(ctx);
	uk_mutex_unlock(&ctx_lock);
	if (!ssl) {
		BIO_free(b);
		return NULL;
	}
	SSL_set_bio(ssl, b, b);
	return ssl;
}

/* Can a read go on without new bytes from the network? They may be in the small buffer
 * or in OpenSSL. */
bool tls_pending(struct stream *s)
{
	return s->eof || s->rpos < s->rlen || SSL_has_pending(s->ssl);
}

int tls_more(struct stream *s)
{
	ssize_t n = uk_recv(s->fd, s->small, IBUF, 0);

	s->rpos = 0;
	s->rlen = n > 0 ? (uint32_t)n : 0;
	s->eof = n == 0;
	return n < 0 ? (int)n : 0;
}

/* Wait for what the call that returned rc needs. 1: repeat it; 0: it has failed. */
static int again(struct stream *s, int rc)
{
	int e = SSL_get_error(s->ssl, rc), r;

	if (e == SSL_ERROR_WANT_READ)
		r = tls_more(s);
	else if (e == SSL_ERROR_WANT_WRITE)
		r = uk_wait_fd(s->fd, POLLOUT, UK_FOREVER);
	else
		return 0;
	if (r < 0 && !s->err)
		s->err = r;
	return r >= 0;
}

int tls_accept(struct stream *s, unsigned shard)
{
	static const char plain[] =
	    "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n"
	    "Content-Length: 33\r\nConnection: close\r\n\r\n"
	    "This port speaks HTTPS, not HTTP\n";
	SSL *ssl = new_ssl(s);
	int rc;

	if (!ssl)
		return -ENOMEM;
	s->ssl = ssl;
	uk_thread_set_deadline(uk_after(cfg.t_handshake));
	do {
		ERR_clear_error();
		rc = SSL_accept(ssl);
	} while (rc <= 0 && again(s, rc));
	if (rc == 1) {
		COUNT(shard, tls_handshakes, 1);
		if (SSL_session_reused(ssl))
			COUNT(shard, tls_resumed, 1);
		return 0;
	}
	COUNT(shard, tls_failures, 1);
	if (ERR_GET_REASON(ERR_peek_error()) == SSL_R_HTTP_REQUEST) {
		uk_send(s->fd, plain, sizeof(plain) - 1, MSG_NOSIGNAL);
		rc = -EPROTONOSUPPORT;
	} else {
		rc = s->err ? s->err : -EPROTO;
	}
	ERR_clear_error();
	tls_free(s);
	s->err = rc;
	return rc;
}

ssize_t tls_read(struct stream *s, void *p, size_t n)
{
	int r;

	do {
		ERR_clear_error();
		r = SSL_read(s->ssl, p, n < INT32_MAX ? (int)n : INT32_MAX);
		if (r > 0)
			return r;
	} while (again(s, r));
	if (SSL_get_error(s->ssl, r) == SSL_ERROR_ZERO_RETURN)
		return 0;
	r = s->err ? s->err : -EPROTO;
	ERR_clear_error();
	s->err = r == -ETIMEDOUT
		     ? 0
		     : r; /* after a timeout the reply 408 can still be sent */
	return r;
}

ssize_t tls_write(struct stream *s, const void *p, size_t n)
{
	int r;

	do {
		ERR_clear_error();
		r = SSL_write(s->ssl, p, n < INT32_MAX ? (int)n : INT32_MAX);
		if (r > 0)
			return r;
	} while (again(s, r));
	ERR_clear_error();
	return s->err ? s->err : -EPROTO;
}

/* Send close_notify; the lingering close waits for the peer's. */
void tls_bye(struct stream *s)
{
	int r;

	if (!s->ssl || s->err)
		return;
	do {
		ERR_clear_error();
		r = SSL_shutdown(s->ssl);
	} while (r < 0 && SSL_get_error(s->ssl, r) == SSL_ERROR_WANT_WRITE &&
		 uk_wait_fd(s->fd, POLLOUT, UK_FOREVER) >= 0);
	ERR_clear_error();
}

void tls_free(struct stream *s)
{
	/* A session is resumable only if it was shut down; after an error it is not. */
	if (!s->err)
		SSL_set_shutdown(s->ssl, SSL_SENT_SHUTDOWN | SSL_RECEIVED_SHUTDOWN);
	SSL_free(s->ssl);
	s->ssl = NULL;
}

/* Free what OpenSSL keeps for a thread. Light ones used their carriers'. */
void tls_thread_end(void)
{
	if (cfg.tls_cert && (cfg.mode == MODE_PTH || cfg.full))
		OPENSSL_thread_stop();
}

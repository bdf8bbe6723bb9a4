/* SPDX-License-Identifier: Apache-2.0 */
/* What OpenSSL keeps for the server's side of an idle connection, without a server: the
 * blocks that still exist after a handshake and one exchange, by size.
 *
 *   build/apps/web/tls-min CERT KEY [1.2]
 *
 * The test of ukweb's memory (tests/web/t_life.py) reads the printed total with
 * malloc's overhead. Both sides are in this program and talk by a BIO pair, whose own
 * memory is not counted. Everything that OpenSSL's interface can free is freed: record
 * buffers (SSL_MODE_RELEASE_BUFFERS) and the session cache. The sixth connection is
 * measured, when everything that is made only once exists. */
#include <malloc.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>

#define MANY 4096

static struct {
	void *p;
	size_t asked;
} blocks[MANY];
static int n_blocks, counting;

static void note(void *p, size_t n)
{
	if (!counting || !p)
		return;
	if (n_blocks == MANY)
		abort();
	blocks[n_blocks].p = p;
	blocks[n_blocks++].asked = n;
}

static void forget(const void *p)
{
	for (int i = 0; p && i < n_blocks; i++)
		if (blocks[i].p == p)
			blocks[i].p = NULL;
}

static void *get(size_t n, const char *file, int line)
{
	void *p = malloc(n);

	(void)file, (void)line;
	note(p, n);
	return p;
}

static void put(void *p, const char *file, int line)
{
	(void)file, (void)line;
	forget(p);
	free(p);
}

static void *resize(void *p, size_t n, const char *file, int line)
{
	void *q;

	if (n == 0) {
		put(p, file, line);
		return NULL;
	}
	forget(p);
	q = realloc(p, n);
	note(q, n);
	return q;
}

static void talk(SSL_CTX *server, SSL_CTX *client, int count)
{
	char text[16] = "hello";
	BIO *a, *b;
	SSL *s, *c = SSL_new(client);

	if (!BIO_new_bio_pair(&a, 0, &b, 0))
		abort();
	counting = count;
	s = SSL_new(server);
	counting = 0;
	SSL_set_bio(s, a, a);
	SSL_set_bio(c, b, b);
	for (int i = 0; i < 8; i++) {
		SSL_connect(c);
		counting = count;
		SSL_accept(s);
		counting = 0;
	}
	if (SSL_write(c, text, 5) != 5)
		abort();
	counting = count;
	if (SSL_read(s, text, sizeof(text)) != 5 || SSL_write(s, text, 5) != 5)
		abort();
	counting = 0;
	if (SSL_read(c, text, sizeof(text)) != 5)
		abort();
	if (count)
		printf("%s, %s\n", SSL_get_version(s), SSL_get_cipher(s));
	/* neither side is ever freed: it is idle */
}

static int by_size(const void *x, const void *y)
{
	size_t a = *(const size_t *)x, b = *(const size_t *)y;

	return (a < b) - (a > b);
}

static void report(void)
{
	size_t sizes[MANY], asked = 0, held = 0;
	int n = 0;

	for (int i = 0; i < n_blocks; i++) {
		if (!blocks[i].p)
			continue;
		asked += sizes[n++] = blocks[i].asked;
		held += malloc_usable_size(blocks[i].p) + sizeof(size_t);
	}
	qsort(sizes, (size_t)n, sizeof(sizes[0]), by_size);
	for (int i = 0, k; i < n; i += k) {
		for (k = 1; i + k < n && sizes[i + k] == sizes[i]; k++)
			;
		printf("%6zu x %d\n", sizes[i], k);
	}
	printf("%zu bytes asked for, %zu with malloc's own, in %d blocks\n", asked,
	       held, n);
}

int main(int argc, char **argv)
{
	SSL_CTX *server, *client;

	if (argc < 3 || !CRYPTO_set_mem_functions(get, resize, put))
		return 2;
	server = SSL_CTX_new(TLS_server_method());
	client = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_max_proto_version(server,
				      argc > 3 ? TLS1_2_VERSION : TLS1_3_VERSION);
	SSL_CTX_set_mode(server, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_session_cache_mode(server, SSL_SESS_CACHE_OFF);
	if (SSL_CTX_use_certificate_chain_file(server, argv[1]) != 1 ||
	    SSL_CTX_use_PrivateKey_file(server, argv[2], SSL_FILETYPE_PEM) != 1)
		return 2;
	for (int i = 0; i < 6; i++)
		talk(server, client, i == 5);
	report();
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz target for all code of the server that parses bytes from clients without I/O:
 * the request head, paths, the chunked coding, ranges.
 *
 * With -fsanitize=fuzzer and -DLIBFUZZER it is a libFuzzer target. Otherwise it is a
 * plain program: fuzz-request CORPUS [ROUNDS [SEED]] runs every file of the corpus,
 * then ROUNDS mutations of them, and prints the seed.
 *
 * What must hold: no byte beyond the input is read (each input lies at the end of a
 * heap block, for ASan); the verdict does not depend on how the bytes were chopped;
 * spans lie inside the head; a decoded path never climbs above the root. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "request.h"
#include "web.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct limits lim = { .max_uri = 512,
				   .max_header = 2048,
				   .max_fields = 20 };

#define MUST(c)                                                                        \
	do {                                                                           \
		if (!(c)) {                                                            \
			fprintf(stderr, "%s:%d: violated: %s\n", __FILE__, __LINE__,   \
				#c);                                                   \
			abort();                                                       \
		}                                                                      \
	} while (0)

static void inside(const struct request *r, struct span s)
{
	MUST(s.off + s.len <= r->head_len);
}

static void check_path(const char *p, uint32_t n)
{
	char out[600], again[1900], twice[600];
	int k = path_decode(p, n, out, sizeof(out)), e;

	if (k < 0)
		return;
	MUST((size_t)k < sizeof(out) && out[k] == 0 && strlen(out) == (size_t)k);
	MUST(out[0] != '/' && !strstr(out, "//"));
	for (char *s = out; (s = strstr(s, "..")) != NULL; s += 2) {
		bool at_start = s == out || s[-1] == '/';

		MUST(!(at_start && (s[2] == '/' || s[2] == 0)));
	}
	path_hidden(out, (uint32_t)k);
	e = path_encode(out, (uint32_t)k, again, sizeof(again));
	MUST(e >= 0);
	MUST(path_decode(again, (uint32_t)e, twice, sizeof(twice)) == k);
	MUST(memcmp(out, twice, (size_t)k) == 0);
}

static void check_range(const char *p, uint32_t n)
{
	struct range r[MAX_RANGES];
	const uint64_t sizes[] = { 0, 1, 10000, UINT64_MAX / 2 };

	for (size_t i = 0; i < 4; i++) {
		int k = ranges_parse(p, n, sizes[i], r);

		MUST(k >= -1 && k <= MAX_RANGES);
		for (int j = 0; j < k; j++)
			MUST(r[j].len && r[j].first + r[j].len <= sizes[i] &&
			     r[j].first + r[j].len > r[j].first);
	}
}

/* Parses the body at once and in pieces: both must end at the same place. */
static void check_chunked(const char *p, uint32_t n)
{
	struct chunked a, b;
	int da = 0, db = 0;
	uint32_t ka, kb = 0;

	chunked_init(&a);
	chunked_init(&b);
	ka = chunked_feed(&a, p, n, &da);
	MUST(ka <= n);
	while (kb < n && db == 0)
		kb += chunked_feed(&b, p + kb, 1, &db);
	MUST(da == db && ka == kb && a.total == b.total);
}

static void check_head(const char *p, uint32_t n)
{
	struct request whole, part;
	int rw, rp = 0;
	uint32_t k = 0;

	request_init(&whole);
	rw = request_feed(&whole, p, n, &lim);
	request_init(&part);
	while (rp == 0 && k < n) {
		k += 1 + (k * 7 + n) % 5;
		if (k > n)
			k = n;
		rp = request_feed(&part, p, k, &lim);
	}
	/* In pieces, an over-long line may be refused before its other faults are
	 * seen. */
	MUST(rw == rp || n >= lim.max_uri);
	if (rw != 1)
		return;
	MUST(whole.head_len == part.head_len && whole.length == part.length &&
	     whole.flags == part.flags && whole.method == part.method);
	MUST(whole.head_len <= n && memcmp(p + whole.head_len - 2, "\r\n", 2) == 0);
	inside(&whole, whole.path);
	inside(&whole, whole.query);
	inside(&whole, whole.host);
	inside(&whole, whole.user_agent);
	inside(&whole, whole.range);
	MUST(!((whole.flags & R_CHUNKED) && (whole.flags & R_LENGTH)));
	MUST(!whole.minor || (whole.flags & R_HOST));
	check_path(p + whole.path.off, whole.path.len);
	inside(&whole, whole.accept_encoding);
	encoding_allowed(p + whole.accept_encoding.off, whole.accept_encoding.len,
			 "gzip");
	check_range(p + whole.range.off, whole.range.len);
	check_chunked(p + whole.head_len, n - whole.head_len);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *exact;

	if (size > 65536)
		return 0;
	exact = malloc(size ? size : 1);
	if (!exact)
		return 0;
	memcpy(exact, data, size);
	check_head(exact, (uint32_t)size);
	check_path(exact, (uint32_t)size);
	check_range(exact, (uint32_t)size);
	check_chunked(exact, (uint32_t)size);
	encoding_allowed(exact, (uint32_t)size, "br");
	free(exact);
	return 0;
}

#ifndef LIBFUZZER
#define MAX_SEEDS 256
#define INPUT_CAP 4096
static struct {
	unsigned char data[INPUT_CAP];
	size_t n;
} seeds[MAX_SEEDS];
static unsigned n_seeds;
static uint64_t rng;

static unsigned rnd(unsigned n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (unsigned)(rng >> 20) % n;
}

static int load(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char name[1024];

	if (!d)
		return -1;
	while ((e = readdir(d)) != NULL && n_seeds < MAX_SEEDS) {
		FILE *f;

		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s/%s", dir, e->d_name);
		f = fopen(name, "rb");
		if (!f)
			continue;
		seeds[n_seeds].n = fread(seeds[n_seeds].data, 1, INPUT_CAP, f);
		n_seeds++;
		fclose(f);
	}
	closedir(d);
	return 0;
}

static size_t mutate(unsigned char *b, size_t n)
{
	static const char *const words[] = {
		"\r\n",
		"\n",
		"\r\n\r\n",
		" ",
		":",
		"%2e",
		"%2f",
		"%00",
		"/../",
		"//",
		"HTTP/1.1",
		"Content-Length: 5\r\n",
		"Transfer-Encoding: chunked\r\n",
		"Host: a\r\n",
		"\t",
		"0\r\n\r\n",
		"ffffffffffffffff",
		"bytes=0-,-1",
		"Range: bytes=",
		"\0",
		";",
		"?",
	};

	for (unsigned k = 1 + rnd(6); k; k--) {
		size_t at = n ? rnd((unsigned)n) : 0, w;
		const char *word;

		switch (rnd(6)) {
		case 0:
			if (n)
				b[at] = (unsigned char)rnd(256);
			break;
		case 1:
			n = at;
			break;
		case 2:
			if (n) {
				memmove(b + at, b + at + 1, n - at - 1);
				n--;
			}
			break;
		case 3: {
			unsigned s = rnd(n_seeds);
			size_t m =
			    seeds[s].n < INPUT_CAP - n ? seeds[s].n : INPUT_CAP - n;

			memcpy(b + n, seeds[s].data, m);
			n += m;
			break;
		}
		default:
			word = words[rnd(sizeof(words) / sizeof(words[0]))];
			w = strlen(word);
			w = w ? w : 1;
			if (n + w > INPUT_CAP)
				break;
			memmove(b + at + w, b + at, n - at);
			memcpy(b + at, word, w);
			n += w;
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	unsigned char b[INPUT_CAP];
	unsigned long rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 100000;

	rng =
	    argc > 3 ? strtoull(argv[3], NULL, 10) : (uint64_t)time(NULL) * 2654435761u;
	if (argc < 2 || load(argv[1]) < 0 || n_seeds == 0) {
		fprintf(stderr, "usage: fuzz-request CORPUS [ROUNDS [SEED]]\n");
		return 2;
	}
	printf("%u inputs, %lu mutations, seed %llu\n", n_seeds, rounds,
	       (unsigned long long)rng);
	fflush(stdout);
	for (unsigned i = 0; i < n_seeds; i++)
		LLVMFuzzerTestOneInput(seeds[i].data, seeds[i].n);
	for (unsigned long i = 0; i < rounds; i++) {
		unsigned s = rnd(n_seeds);

		memcpy(b, seeds[s].data, seeds[s].n);
		LLVMFuzzerTestOneInput(b, mutate(b, seeds[s].n));
	}
	printf("ok\n");
	return 0;
}
#endif

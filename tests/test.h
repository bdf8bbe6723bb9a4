/* SPDX-License-Identifier: Apache-2.0 */
/* The test framework. A test is a function whose name is a sentence, and a file is a
 * program. A failure prints its place and exits with 1; a skipped test prints the
 * reason and exits with 77. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#ifndef __cplusplus
#pragma GCC diagnostic ignored "-Woverride-init" /* UK_OP(.deadline = ...) */
#endif

#include <errno.h>
#include <regex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Sanitizers do not support a forked child of many threads (api/fork.c says why). */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define CHECK(c)                                                                       \
	do {                                                                           \
		if (!(c)) {                                                            \
			int err_ = errno;                                              \
                                                                                       \
			fprintf(stderr, "%s:%d: %s: failed: %s (errno %d)\n",          \
				__FILE__, __LINE__, __func__, #c, err_);               \
			fflush(stdout);                                                \
			_Exit(1);                                                      \
		}                                                                      \
	} while (0)
#define CHECK_EQ(a, b)                                                                 \
	do {                                                                           \
		long long a_ = (long long)(a), b_ = (long long)(b);                    \
		if (a_ != b_) {                                                        \
			fprintf(stderr, "%s:%d: %s: failed: %s == %s (%lld, %lld)\n",  \
				__FILE__, __LINE__, __func__, #a, #b, a_, b_);         \
			fflush(stdout);                                                \
			_Exit(1);                                                      \
		}                                                                      \
	} while (0)
#define SKIP(...)                                                                      \
	do {                                                                           \
		printf("skipped: " __VA_ARGS__);                                       \
		putchar('\n');                                                         \
		exit(77);                                                              \
	} while (0)
/* sequentially consistent accesses */
#define LOAD(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define STORE(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define ADD(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)

/* No test fails because it is slow. A test that runs for this many seconds hangs; the
 * runner has the same limit, and scales it by the load. */
#define HANG_SEC 600
#define HANG_NS (HANG_SEC * INT64_C(1000000000))

/* Waits until c holds. The only limit is the time limit of the test. */
#define UNTIL(c)                                                                       \
	do {                                                                           \
		while (!(c))                                                           \
			uk_sleep(UK_MS / 4);                                           \
	} while (0)

/* Sets a key of UK_DEBUG, beside those that run.py has set. */
static inline void set_debug(const char *key, const char *value)
{
	const char *rest = getenv("UK_DEBUG");
	char all[256];

	CHECK((size_t)snprintf(all, sizeof(all), "%s,%s=%s", rest ? rest : "", key,
			       value) < sizeof(all));
	setenv("UK_DEBUG", all, 1);
}

/* UK_TEST_FUNC (run.py --func) is a regular expression. Only test functions whose names
 * match run. */
static inline bool is_chosen(const char *fn)
{
	const char *want = getenv("UK_TEST_FUNC");
	bool match;
	regex_t re;

	if (!want)
		return true;
	CHECK(!regcomp(&re, want, REG_EXTENDED | REG_NOSUB));
	match = !regexec(&re, fn, 0, NULL, 0);
	regfree(&re);
	return match;
}

/* Runs `call`, which runs the test function `fn` in some way. */
#define RUN_AS(fn, call)                                                               \
	do {                                                                           \
		if (!is_chosen(#fn))                                                   \
			break;                                                         \
		call;                                                                  \
		printf("ok %s\n", #fn);                                                \
		fflush(stdout);                                                        \
	} while (0)
#define RUN(fn) RUN_AS(fn, fn())

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The whole test framework: a test is a function whose name is a sentence, a file is a
 * program, a failure says where and exits 1, a skip says why and exits 77. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A forked child of many threads is not theirs to run (api/fork.c says why). */
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define CHECK(c)                                                                       \
	do {                                                                           \
		if (!(c)) {                                                            \
			fprintf(stderr, "%s:%d: %s: failed: %s\n", __FILE__, __LINE__, \
				__func__, #c);                                         \
			fflush(NULL);                                                  \
			_Exit(1);                                                      \
		}                                                                      \
	} while (0)
#define CHECK_EQ(a, b)                                                                 \
	do {                                                                           \
		long long a_ = (long long)(a), b_ = (long long)(b);                    \
		if (a_ != b_) {                                                        \
			fprintf(stderr, "%s:%d: %s: failed: %s == %s (%lld, %lld)\n",  \
				__FILE__, __LINE__, __func__, #a, #b, a_, b_);         \
			fflush(NULL);                                                  \
			_Exit(1);                                                      \
		}                                                                      \
	} while (0)
#define SKIP(...)                                                                      \
	do {                                                                           \
		printf("skipped: " __VA_ARGS__);                                       \
		putchar('\n');                                                         \
		exit(77);                                                              \
	} while (0)
/* No verdict comes from a clock: a test may be as slow as the machine. This many seconds are
 * a hang, and nothing else; the runner has the same limit, and scales it by the load. */
#define HANG_SEC 600
#define HANG_NS (HANG_SEC * INT64_C(1000000000))

/* Wait until c holds; the test's time limit is the only limit. */
#define UNTIL(c)                                                                       \
	do {                                                                           \
		while (!(c))                                                           \
			uk_sleep(UK_MS / 4);                                           \
	} while (0)
#define RUN(fn)                                                                        \
	do {                                                                           \
		fn();                                                                  \
		printf("ok %s\n", #fn);                                                \
		fflush(stdout);                                                        \
	} while (0)

#endif

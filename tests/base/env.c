/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, sizes and words from environment variables. (api/privileged.c tests that a
 * privileged program ignores them.) */
#include "base/env.h"

#include <unistd.h>

#include "test.h"

#define V "UK_TEST_ENV"

static char said[1024]; /* the warning of the last call, from standard error */

static int real_err, mouth[2];

static void listen(void)
{
	CHECK_EQ(pipe(mouth), 0);
	real_err = dup(2);
	dup2(mouth[1], 2);
	close(mouth[1]);
}

static void heard(void)
{
	ssize_t n;

	dup2(real_err, 2);
	close(real_err);
	n = read(mouth[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = 0;
	close(mouth[0]);
}

static void set(const char *s)
{
	if (s)
		setenv(V, s, 1);
	else
		unsetenv(V);
}

static unsigned number(const char *s)
{
	unsigned v;

	set(s);
	listen();
	v = env_number(V, 7, 1000);
	heard();
	return v;
}

static size_t size(const char *s)
{
	size_t v;

	set(s);
	listen();
	v = env_size(V, (size_t)64 << 20);
	heard();
	return v;
}

static void an_unset_variable_is_the_default_without_a_warning(void)
{
	unsetenv(V);
	CHECK(!env_get(V));
	CHECK_EQ(number(NULL), 7);
	CHECK_EQ(said[0], 0);
	CHECK_EQ(size(NULL), 0);
	CHECK_EQ(said[0], 0);
	CHECK_EQ(number(""), 7);
	CHECK_EQ(said[0], 0);
	CHECK_EQ(size(""), 0);
	CHECK_EQ(said[0], 0);
}

static void numbers_up_to_the_limit_count(void)
{
	CHECK_EQ(number("0"), 0);
	CHECK_EQ(number("12"), 12);
	CHECK_EQ(number("1000"), 1000);
	CHECK_EQ(said[0], 0);
}

static void a_bad_number_is_the_default_with_a_warning(void)
{
	const char *const bad[] = { "1001", "-1",  "x",
				    "12x",  "1 2", "99999999999999999999999" };

	for (size_t i = 0; i < array_size(bad); i++) {
		CHECK_EQ(number(bad[i]), 7);
		CHECK(strstr(said, V "=") && strstr(said, bad[i]));
	}
}

static void sizes_may_have_a_unit(void)
{
	CHECK_EQ(size("4096"), 4096);
	CHECK_EQ(size("0x1000"), 4096);
	CHECK_EQ(size("16k"), 16384);
	CHECK_EQ(size("16K"), 16384);
	CHECK_EQ(size("64M"), 64 << 20);
	CHECK_EQ(size("1m"), 1 << 20);
	CHECK_EQ(said[0], 0);
}

static void a_bad_size_is_0_with_a_warning(void)
{
	const char *const bad[] = { "65M",  "0",   "x", "16q",
				    "16kk", "-1M", "k", "99999999999999999M" };

	for (size_t i = 0; i < array_size(bad); i++) {
		CHECK_EQ(size(bad[i]), 0);
		CHECK(strstr(said, V "=") && strstr(said, "64 MiB"));
	}
}

static const char *word(const char *s)
{
	const char *v;

	set(s);
	listen();
	v = env_word(V, "bpf perf monitor off");
	heard();
	return v;
}

static void only_one_of_the_words_is_accepted(void)
{
	const char *const good[] = { "bpf", "perf", "off" };
	const char *const bad[] = { "bp", "erf", "perf monitor", " ", "offf", "x" };

	CHECK(!word(NULL) && !said[0]);
	CHECK(!word("") && !said[0]);
	for (size_t i = 0; i < array_size(good); i++) {
		CHECK(!strcmp(word(good[i]), good[i]));
		CHECK_EQ(said[0], 0);
	}
	for (size_t i = 0; i < array_size(bad); i++) {
		CHECK(!word(bad[i]));
		CHECK(strstr(said, V "=") && strstr(said, bad[i]));
	}
}

int main(void)
{
	CHECK(!env_privileged());
	RUN(an_unset_variable_is_the_default_without_a_warning);
	RUN(numbers_up_to_the_limit_count);
	RUN(a_bad_number_is_the_default_with_a_warning);
	RUN(sizes_may_have_a_unit);
	RUN(a_bad_size_is_0_with_a_warning);
	RUN(only_one_of_the_words_is_accepted);
	return 0;
}

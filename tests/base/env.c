/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers, sizes, words and the keys of UK_DEBUG from the environment.
 * (api/privileged.c tests that a privileged program ignores them.) */
#include "base/env.h"

#include <sys/wait.h>
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
	v = env_word(V, "perf monitor off");
	heard();
	return v;
}

static void only_one_of_the_words_is_accepted(void)
{
	const char *const good[] = { "perf", "monitor", "off" };
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

static void keys_have_values_and_alone_mean_one(void)
{
	setenv("UK_DEBUG", ",fuzz,,seed=18446744073709551615,tls=none,trim=20,trim=30,",
	       1);
	CHECK_EQ(env_key_number(ENV_FUZZ, 0), 1);
	CHECK(env_key_number(ENV_SEED, 0) == UINT64_MAX);
	CHECK(env_key_is(ENV_TLS, "none") && !env_key_is(ENV_TLS, "template"));
	CHECK_EQ(env_key_number(ENV_TRIM, 7), 30); /* the last one counts */
	CHECK_EQ(env_key_number(ENV_CPUS, 7), 7);
	CHECK(!env_key_is(ENV_GUARD, "none"));
	set_debug("guard", "none");
	CHECK(env_key_is(ENV_GUARD, "none") && env_key_is(ENV_TLS, "none"));
}

static void bad_values_of_keys_are_the_default(void)
{
	const char *const bad[] = { "trim=x",  "trim=1073741825", "trim=-1", "trim=",
				    "trim=5x", "trim5",           "=5" };

	for (size_t i = 0; i < array_size(bad); i++) {
		setenv("UK_DEBUG", bad[i], 1);
		CHECK_EQ(env_key_number(ENV_TRIM, 7), 7);
	}
}

static void old_names_work_and_keys_go_before_them(void)
{
	unsetenv("UK_DEBUG");
	setenv("UK_TRIM", "5", 1);
	setenv("UK_GUARD", "mprotect", 1);
	CHECK_EQ(env_key_number(ENV_TRIM, 7), 5);
	CHECK(env_key_is(ENV_GUARD, "mprotect"));
	setenv("UK_DEBUG", "trim=6", 1);
	CHECK_EQ(env_key_number(ENV_TRIM, 7), 6);
	unsetenv("UK_TRIM");
	unsetenv("UK_GUARD");
}

/* What a process with this UK_DEBUG says when it starts its runtime twice. */
static const char *review(const char *debug)
{
	pid_t pid;

	setenv("UK_DEBUG", debug, 1);
	listen();
	pid = fork();
	if (!pid) {
		env_review();
		env_review();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, NULL, 0), pid);
	heard();
	return said;
}

#define KEYS "(cpus fuzz guard hostile-short hostile-uring seed tls trim): ignored\n"

static void the_start_says_once_what_is_wrong(void)
{
	CHECK(!strcmp(review(""), ""));
	CHECK(!strcmp(review("cpus=4,fuzz,guard=none,hostile-short=no,trim=,seed=1"),
		      ""));
	CHECK(!strcmp(review("tsl=none,fuzz"),
		      "ukthreads: UK_DEBUG=tsl is not one of the keys " KEYS));
	CHECK(
	    !strcmp(review("=1"), "ukthreads: UK_DEBUG= is not one of the keys " KEYS));
	CHECK(!strcmp(review("fuzz,tls=non,trim=10s"),
		      "ukthreads: UK_DEBUG=tls=non is not one of (template harvest "
		      "none): ignored\n"
		      "ukthreads: UK_DEBUG=trim=10s is not a number up to 1073741824: "
		      "ignored\n"));
}

static void the_start_says_once_what_old_names_are_now(void)
{
	setenv("UK_TLS", "none", 1);
	CHECK(
	    !strcmp(review("fuzz"),
		    "ukthreads: UK_TLS is now UK_DEBUG=tls=none; the old name will be "
		    "removed in 0.3\n"));
	setenv("UK_TLS", "non", 1);
	CHECK(
	    strstr(review("fuzz"), "UK_TLS=non is not one of (template harvest none)"));
	setenv("UK_TLS", "", 1);
	CHECK(!strcmp(review("fuzz"), ""));
	unsetenv("UK_TLS");
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
	RUN(keys_have_values_and_alone_mean_one);
	RUN(bad_values_of_keys_are_the_default);
	RUN(old_names_work_and_keys_go_before_them);
	RUN(the_start_says_once_what_is_wrong);
	RUN(the_start_says_once_what_old_names_are_now);
	return 0;
}

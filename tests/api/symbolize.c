/* SPDX-License-Identifier: Apache-2.0 */
/* Dumps name file and line where there is debug information and an addr2line, and what is
 * known without where there is not; and the program notices nothing of who is asked. Each
 * case in a program of its own: this one, with an argument. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "base/base.h"
#include "test.h"

#define INLINE_HERE static inline __attribute__((always_inline))
/* Exported, so that there is a name without debug information, too. */
#define EXPORTED __attribute__((noinline, visibility("default")))

static uk_chan *nothing;
static uint32_t ready, stop, chld;
static int line_of_wait, line_of_loop;
void *parks_here(void *arg);
void *loops_here(void *arg);

/* ---- the program that is dumped ---- */

INLINE_HERE int is_inlined(void)
{
	void *v;

	line_of_wait = __LINE__ + 1;
	return uk_chan_recv(nothing, &v);
}

EXPORTED void *parks_here(void *arg)
{
	int r = is_inlined();

	__asm__ volatile("" ::"r"(r));
	return arg;
}

EXPORTED void *loops_here(void *arg)
{
	store_release(&ready, 1);
	line_of_loop = __LINE__ + 1;
	while (!load_acquire(&stop))
		;
	return arg;
}

static int parked(const uk_thread_info *i, void *arg)
{
	*(int *)arg += !strcmp(i->waits, "channel");
	return 0;
}

static void on_child(int sig)
{
	(void)sig;
	fetch_add_seq_cst(&chld, 1);
}

/* Numbers that are in use below 1024, and a number for which. */
static long descriptors(void)
{
	long sum = 0;

	for (int fd = 0; fd < 1024; fd++)
		if (fcntl(fd, F_GETFD) >= 0)
			sum = sum * 31 + fd;
	return sum;
}

static int is_dumped(void)
{
	struct sigaction sa = { .sa_handler = on_child };
	uk_thread *t[3];
	int n = 0;
	long before;

	CHECK_EQ(uk_chan_create(&nothing, sizeof(void *), 0), 0);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, i == 2 ? loops_here : parks_here,
					  NULL),
			 0);
	while (n < 2 || !load_acquire(&ready)) {
		n = 0;
		uk_thread_each(parked, &n);
		usleep(1000);
	}
	sigaction(SIGCHLD, &sa, NULL);
	uk_dump(1); /* libunwind keeps a pipe from its first walk on */
	before = descriptors();
	uk_dump(1);
	CHECK_EQ(descriptors(), before);
	CHECK_EQ(chld, 0);
	CHECK_EQ(waitpid(-1, NULL, WNOHANG), -1);
	CHECK_EQ(errno, ECHILD);
	printf("LINES %d %d\n", line_of_wait, line_of_loop);
	fflush(stdout);
	store_release(&stop, 1);
	uk_chan_close(nothing);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	return 0;
}

/* ---- and what its dump says ---- */

static char self[512], dir[64], out[1 << 16];
static int wait_line, loop_line;

static void run(const char *program, const char *what, const char *env)
{
	size_t n = 0;
	int p[2], status;
	ssize_t r;
	pid_t pid;

	CHECK_EQ(pipe(p), 0);
	pid = fork();
	if (!pid) {
		dup2(p[1], 1);
		close(p[0]);
		close(p[1]);
		if (env)
			putenv(strdup(env));
		execl(program, "oddly-named", what, NULL);
		_exit(126);
	}
	close(p[1]);
	while (n < sizeof(out) - 1 &&
	       (r = read(p[0], out + n, sizeof(out) - 1 - n)) > 0)
		n += (size_t)r;
	out[n] = 0;
	close(p[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		fputs(out, stderr);
	CHECK_EQ(status, 0);
	CHECK(strstr(out, "LINES "));
	CHECK_EQ(sscanf(strstr(out, "LINES "), "LINES %d %d", &wait_line, &loop_line),
		 2);
}

/* In one line: the function, and then that. */
static bool says(const char *function, const char *where)
{
	for (const char *p = out, *end; (p = strstr(p, function)); p = end) {
		const char *at = strstr(p, where);

		end = strchr(p, '\n');
		if (!end)
			return false;
		if (at && at < end)
			return true;
	}
	return false;
}

static void has_lines(void)
{
	char at[64];

	snprintf(at, sizeof(at), " (inlined) at ");
	CHECK(says("is_inlined", at));
	snprintf(at, sizeof(at), "symbolize.c:%d\n", wait_line);
	CHECK(strstr(out, at));
	CHECK(says("parks_here", "symbolize.c:"));
	CHECK(says("loops_here", "symbolize.c:"));
}

static void has_symbols(void)
{
	CHECK(!strstr(out, "symbolize.c:"));
	CHECK(strstr(out, "parks_here+0x"));
	CHECK(strstr(out, "loops_here+0x"));
}

static void file_and_line_are_named(void)
{
	run(self, "dump", NULL);
	has_lines();
}

static void without_addr2line_or_leave_there_are_symbols(void)
{
	run(self, "dump", "PATH=/nowhere:.:");
	has_symbols();
	run(self, "dump", "UK_SYMBOLIZE=0");
	has_symbols();
}

static void a_stripped_program_has_symbols(void)
{
	char cmd[1200], path[128];

	snprintf(path, sizeof(path), "%s/stripped", dir);
	snprintf(cmd, sizeof(cmd), "strip -o %s '%s' 2>/dev/null", path, self);
	if (system(cmd) != 0) {
		puts("skipped: no strip");
		return;
	}
	run(path, "dump", NULL);
	CHECK(!strstr(out, "symbolize.c:"));
	CHECK(strstr(out, "parks_here"));
	CHECK(strstr(out, "loops_here"));
}

static void a_program_that_was_deleted_is_found(void)
{
	char cmd[1200], path[128];

	snprintf(path, sizeof(path), "%s/gone", dir);
	snprintf(cmd, sizeof(cmd), "cp '%s' %s", self, path);
	CHECK_EQ(system(cmd), 0);
	run(path, "gone", NULL); /* it unlinks itself */
	has_lines();
}

static void with_a_tool_that(const char *script)
{
	char path[128], env[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/addr2line", dir);
	f = fopen(path, "w");
	CHECK(f);
	fprintf(f, "#!/bin/sh\nPATH=/usr/bin:/bin\n%s\n", script);
	fclose(f);
	CHECK_EQ(chmod(path, 0755), 0);
	snprintf(env, sizeof(env), "PATH=%s", dir);
	run(self, "dump", env);
	has_symbols();
	unlink(path);
}

/* A zombie has, too: the first process of a container may never ask for its orphans. */
static bool has_ended(pid_t pid)
{
	char path[40], line[200] = "";
	const char *state;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	f = fopen(path, "r");
	if (!f)
		return true;
	state = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return !state || state[2] == 'Z';
}

static void a_tool_that_hangs_ends_with_the_report(void)
{
	char path[128], script[200], line[32];
	FILE *f;
	pid_t pid;

	snprintf(path, sizeof(path), "%s/pid", dir);
	snprintf(script, sizeof(script), "echo $$ >%s; exec sleep 1000", path);
	with_a_tool_that(script); /* seconds, not for ever */
	f = fopen(path, "r");
	CHECK(f && fgets(line, sizeof(line), f));
	fclose(f);
	unlink(path);
	pid = atoi(line);
	CHECK(pid > 1);
	UNTIL(has_ended(pid));
}

static void a_tool_that_fails_or_raves_costs_only_the_lines(void)
{
	with_a_tool_that("exit 1");
	with_a_tool_that("kill -SEGV $$");
	with_a_tool_that("exec yes");
}

int main(int argc, char **argv)
{
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char clean[128];

#if UK_ASAN || UK_TSAN
	SKIP("the runtime starts nothing in a sanitizer build");
#endif
	if (argc > 1) {
		if (!strcmp(argv[1], "gone"))
			CHECK_EQ(unlink(self), 0);
		return is_dumped();
	}
	CHECK(n > 0);
	(void)argv;
	snprintf(dir, sizeof(dir), "/tmp/uk-symbolize-XXXXXX");
	CHECK(mkdtemp(dir));
	RUN(without_addr2line_or_leave_there_are_symbols);
	RUN(a_tool_that_fails_or_raves_costs_only_the_lines);
	RUN(a_tool_that_hangs_ends_with_the_report);
	if (system("addr2line --version >/dev/null 2>&1") == 0) {
		RUN(file_and_line_are_named);
		RUN(a_stripped_program_has_symbols);
		RUN(a_program_that_was_deleted_is_found);
	} else {
		puts("skipped: no addr2line");
	}
	snprintf(clean, sizeof(clean), "rm -rf %s", dir);
	return system(clean) != 0;
}

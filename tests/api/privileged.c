/* SPDX-License-Identifier: Apache-2.0 */
/* A set-user-ID program of root that another user starts with all our environment
 * variables: it ignores them. This program plays both parts: root copies it to make the
 * set-user-ID program. */
#include <fcntl.h>
#include <signal.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"
#include "uk/uk.h"

#define NOBODY 65534u

static void *nothing(void *arg)
{
	return arg;
}

/* --- the privileged program --- */

static void limit_row(const char *name, const char *value, int ok, void *arg)
{
	(void)ok;
	if (!strcmp(name, "TLS of user threads"))
		*(int *)arg |= !strcmp(value, "none") ? 1 : 0;
	if (!strcmp(name, "stack guards"))
		*(int *)arg |= !strncmp(value, "none", 4) ? 2 : 0;
}

static int privileged(void)
{
	struct sigaction sa;
	int weakened = 0;
	uk_thread *t;

	if (!getauxval(AT_SECURE))
		return 77;
	CHECK_EQ(geteuid(), 0);
	CHECK_EQ(getuid(), NOBODY);
	CHECK_EQ(uk_thread_create(&t, NULL, nothing, NULL), 0);
	CHECK_EQ(uk_thread_join(t, NULL), 0);
	CHECK(uk_vp_count() != 7);
	CHECK(strcmp(uk_reactor_name(), "none") != 0);
	uk_doctor(limit_row, &weakened);
	CHECK_EQ(weakened, 0);
	/* no handler was asked for; a dump would give root's memory to the user */
	CHECK_EQ(sigaction(SIGQUIT, NULL, &sa), 0);
	CHECK(sa.sa_handler == SIG_DFL);
	raise(SIGQUIT);
	return 1;
}

/* --- the user that starts it --- */

static char dir[] = "/var/tmp/uk-privileged-XXXXXX";
static char program[64], victim[64];

static void copy_self(void)
{
	char buf[65536];
	int in = open("/proc/self/exe", O_RDONLY), out;
	ssize_t n;

	out = open(program, O_WRONLY | O_CREAT | O_EXCL, 0700);
	CHECK(in >= 0 && out >= 0);
	while ((n = read(in, buf, sizeof(buf))) > 0)
		CHECK_EQ(write(out, buf, (size_t)n), n);
	CHECK_EQ(fchmod(out, 04755), 0);
	close(in);
	close(out);
}

static int start_it(void)
{
	char dump[100], name[] = "privileged";
	char *argv[] = { program, name, NULL };
	char *env[] = { dump,
			(char[]){ "UK_VPS=7" },
			(char[]){ "UK_DEBUG=tls=none,guard=none,fuzz" },
			(char[]){ "UK_TLS=none" },
			(char[]){ "UK_REACTOR=none" },
			(char[]){ "UK_STALL=1" },
			NULL };
	int status;
	pid_t pid;

	snprintf(dump, sizeof(dump), "UK_DUMP=%s", victim);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		CHECK_EQ(setgid(NOBODY), 0);
		CHECK_EQ(setuid(NOBODY), 0);
		execve(program, argv, env);
		_exit(77);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	return status;
}

static void a_set_user_id_program_ignores_the_environment(void)
{
	struct stat st;
	int fd, status;

	CHECK(mkdtemp(dir));
	/* we may have been started in the background, with it ignored */
	CHECK(signal(SIGQUIT, SIG_DFL) != SIG_ERR);
	snprintf(program, sizeof(program), "%s/program", dir);
	snprintf(victim, sizeof(victim), "%s/victim", dir);
	CHECK_EQ(chmod(dir, 0755), 0);
	fd = open(victim, O_WRONLY | O_CREAT, 0600);
	CHECK(fd >= 0);
	close(fd);
	copy_self();
	status = start_it();
	CHECK_EQ(stat(victim, &st), 0);
	unlink(program);
	unlink(victim);
	rmdir(dir);
	if (WIFEXITED(status) && WEXITSTATUS(status) == 77)
		SKIP("set-user-ID is not honoured in /var/tmp");
	CHECK_EQ(st.st_size, 0);
	CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGQUIT);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "privileged"))
		return privileged();
	if (SANITIZED)
		SKIP("a sanitizer's runtime does not start in a privileged program");
	if (getuid())
		SKIP("only root can make a privileged program");
	RUN(a_set_user_id_program_ignores_the_environment);
	return 0;
}

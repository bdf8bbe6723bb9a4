/* SPDX-License-Identifier: Apache-2.0 */
/* More CPUs than a set has vps, and more than a cpu_set_t names. Nobody has such a machine:
 * UK_CPUS pretends. Each case in a process of its own, for CPUs are counted once. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "sched/vp.h"
#include "test.h"

static unsigned want;
static char said[16384];

static void *where(void *arg)
{
	CHECK_EQ(uk_sleep(UK_MS), 0);
	(void)arg;
	return uk_vp_self();
}

static void on_each_vp(uk_vpset *s)
{
	static uk_thread *t[SET_MOST];

	for (unsigned i = 0; i < uk_vpset_size(s); i++) {
		uk_attr a = UK_ATTR_INIT;

		a.vp = uk_vpset_vp(s, i);
		CHECK_EQ(uk_thread_create(&t[i], &a, where, NULL), 0);
	}
	for (unsigned i = 0; i < uk_vpset_size(s); i++) {
		void *vp;

		CHECK_EQ(uk_thread_join(t[i], &vp), 0);
		CHECK(!vp || vp == uk_vpset_vp(s, i));
	}
}

static void print_row(const char *name, const char *value, int ok, void *arg)
{
	(void)arg;
	if (!strcmp(name, "virtual processors"))
		fprintf(stderr, "row %s %d\n", value, ok);
}

static void starts(void)
{
	uk_vpset *s;

	CHECK_EQ(uk_vps(), want);
	CHECK_EQ(uk_init(), 0);
	CHECK_EQ(uk_init(), 0);
	CHECK_EQ(uk_vps(), want);
	CHECK_EQ(uk_vpset_size(uk_vpset_default()), want);
	on_each_vp(uk_vpset_default());
	/* others have room beside it */
	CHECK_EQ(uk_vpset_create(&s, "more", 4, NULL, UK_VPSET_NET | UK_VPSET_IO), 0);
	on_each_vp(s);
	CHECK_EQ(uk_vpset_create(&s, "too many", SET_MOST + 1, NULL, 0), -EINVAL);
	uk_doctor(print_row, NULL);
}

static void all_descriptors(void)
{
	struct rlimit rl;

	CHECK_EQ(getrlimit(RLIMIT_NOFILE, &rl), 0);
	rl.rlim_cur = rl.rlim_max;
	CHECK_EQ(setrlimit(RLIMIT_NOFILE, &rl), 0);
}

/* What it says on standard error, with so many CPUs. */
static const char *with(const char *cpus, unsigned vps)
{
	size_t n = 0;
	ssize_t r;
	int p[2], status;
	pid_t pid;

	want = vps;
	CHECK_EQ(pipe(p), 0);
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		dup2(p[1], 2);
		close(p[0]);
		close(p[1]);
		setenv("UK_CPUS", cpus, 1);
		all_descriptors();
		starts();
		_exit(0);
	}
	close(p[1]);
	while ((r = read(p[0], said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)r;
	said[n] = 0;
	close(p[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		fputs(said, stderr);
	CHECK_EQ(status, 0);
	return said;
}

static unsigned times(const char *what, const char *in)
{
	unsigned n = 0;

	for (; (in = strstr(in, what)); in++)
		n++;
	return n;
}

static void as_many_as_a_set_has_is_nothing_to_say(void)
{
	CHECK(strstr(with("255", 255), "row 255 (255 CPUs) 1"));
	CHECK_EQ(times("at most", said), 0);
	CHECK(strstr(with("256", 256), "row 256 (256 CPUs) 1"));
	CHECK_EQ(times("at most", said), 0);
}

static void more_are_said_once_and_left(void)
{
	CHECK(strstr(with("257", 256), "row 256 (257 CPUs; the limit of a set) 0"));
	CHECK_EQ(times("257 CPUs are allowed, a set has 256", said), 1);
	CHECK(strstr(with("1024", 256), "row 256 (1024 CPUs; the limit of a set) 0"));
	CHECK_EQ(times("1024 CPUs are allowed, a set has 256", said), 1);
}

static void more_than_a_cpu_set_names(void)
{
	CHECK(strstr(with("8192", 256), "row 256 (8192 CPUs; the limit of a set) 0"));
}

static void the_user_who_chose_is_not_told(void)
{
	setenv("UK_VPS", "3", 1);
	CHECK(strstr(with("1024", 3), "row 3 (1024 CPUs; UK_VPS) 1"));
	CHECK_EQ(times("at most", said), 0);
	unsetenv("UK_VPS");
}

static void nonsense_is_said_once(void)
{
	setenv("UK_VPS", "many", 1);
	with("4", 4);
	CHECK_EQ(times("UK_VPS=many", said), 2); /* uk_vps, and then the start */
	unsetenv("UK_VPS");
}

int main(void)
{
	unsetenv("UK_VPS");
	RUN(as_many_as_a_set_has_is_nothing_to_say);
	RUN(more_are_said_once_and_left);
	RUN(more_than_a_cpu_set_names);
	RUN(the_user_who_chose_is_not_told);
	RUN(nonsense_is_said_once);
	return 0;
}

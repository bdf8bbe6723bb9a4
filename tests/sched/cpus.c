/* SPDX-License-Identifier: Apache-2.0 */
/* Machines with more CPUs than a set has vps, and with more than a cpu_set_t holds.
 * UK_DEBUG=cpus=N simulates them. Each case runs in its own process, because CPUs are
 * counted once. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "sched/vp.h"
#include "test.h"

static unsigned want;
static char printed[16384];

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
		uk_thread_attr a = UK_THREAD_ATTR_INIT;

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

	CHECK_EQ(uk_vp_count(), want);
	CHECK_EQ(uk_init(), 0);
	CHECK_EQ(uk_init(), 0);
	CHECK_EQ(uk_vp_count(), want);
	CHECK_EQ(uk_vpset_size(uk_vpset_default()), want);
	on_each_vp(uk_vpset_default());
	/* there may be another set besides */
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

/* Starts the runtime in a child that believes in `cpus` CPUs and expects `vps` vps.
 * Returns what the child printed on standard error. */
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
		set_debug("cpus", cpus);
		all_descriptors();
		starts();
		_exit(0);
	}
	close(p[1]);
	while ((r = read(p[0], printed + n, sizeof(printed) - 1 - n)) > 0)
		n += (size_t)r;
	printed[n] = 0;
	close(p[0]);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	if (status)
		fputs(printed, stderr);
	CHECK_EQ(status, 0);
	return printed;
}

static unsigned times(const char *what, const char *in)
{
	unsigned n = 0;

	for (; (in = strstr(in, what)); in++)
		n++;
	return n;
}

static void up_to_256_cpus_print_no_message(void)
{
	CHECK(strstr(with("255", 255), "row 255 (255 CPUs) 1"));
	CHECK_EQ(times("at most", printed), 0);
	CHECK(strstr(with("256", 256), "row 256 (256 CPUs) 1"));
	CHECK_EQ(times("at most", printed), 0);
}

static void cpus_that_no_vp_uses_are_reported_once(void)
{
	CHECK(strstr(with("257", 256), "row 256 (257 CPUs; the limit of a set) 0"));
	CHECK_EQ(times("257 CPUs are allowed, a set has 256", printed), 1);
	CHECK(strstr(with("1024", 256), "row 256 (1024 CPUs; the limit of a set) 0"));
	CHECK_EQ(times("1024 CPUs are allowed, a set has 256", printed), 1);
}

static void more_cpus_than_a_cpu_set_t_holds_are_counted(void)
{
	CHECK(strstr(with("8192", 256), "row 256 (8192 CPUs; the limit of a set) 0"));
}

static void a_chosen_number_of_vps_suppresses_the_message(void)
{
	setenv("UK_VPS", "3", 1);
	CHECK(strstr(with("1024", 3), "row 3 (1024 CPUs; UK_VPS) 1"));
	CHECK_EQ(times("at most", printed), 0);
	unsetenv("UK_VPS");
}

static void an_invalid_number_of_vps_is_reported_once_by_each_call(void)
{
	setenv("UK_VPS", "many", 1);
	with("4", 4);
	CHECK_EQ(times("UK_VPS=many", printed),
		 2); /* by uk_vp_count, then by uk_init */
	unsetenv("UK_VPS");
}

int main(void)
{
	unsetenv("UK_VPS");
	RUN(up_to_256_cpus_print_no_message);
	RUN(cpus_that_no_vp_uses_are_reported_once);
	RUN(more_cpus_than_a_cpu_set_t_holds_are_counted);
	RUN(a_chosen_number_of_vps_suppresses_the_message);
	RUN(an_invalid_number_of_vps_is_reported_once_by_each_call);
	return 0;
}

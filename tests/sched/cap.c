/* SPDX-License-Identifier: Apache-2.0 */
/* The cap on kernel threads: what the machine allows, unless UK_CARRIERS sets it. Each
 * case runs in its own process, because the runtime determines the cap at its start. */
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "sched/vp.h"
#include "test.h"

static void in_a_child(void (*body)(void))
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		body();
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void limit_threads(rlim_t n)
{
	struct rlimit rl;

	CHECK_EQ(getrlimit(RLIMIT_NPROC, &rl), 0);
	rl.rlim_cur = n;
	CHECK_EQ(setrlimit(RLIMIT_NPROC, &rl), 0);
}

static void by_rlimit(void)
{
	char why[1024];

	limit_threads(800);
	CHECK_EQ(uk_init(), 0);
	cap_learn();
	CHECK(carriers_cap() <= 700);
	CHECK(carriers_ahead() <= 200);
	cap_explain(why, sizeof(why));
	CHECK(strlen(why) < sizeof(why) - 1);
}

static void by_the_machine(void)
{
	CHECK_EQ(uk_init(), 0);
	cap_learn();
	CHECK(carriers_cap() <= 4096);
	CHECK(carriers_cap() > load_acquire(&vp_count_all));
}

static void by_the_user(void)
{
	setenv("UK_CARRIERS", "5000", 1);
	CHECK_EQ(uk_init(), 0);
	cap_learn();
	CHECK_EQ(carriers_cap(), 5000);
}

/* With limits that are too low, the cap is one carrier for each vp, and one spare. */
static void at_least_the_vps(void)
{
	limit_threads(4);
	setenv("UK_CARRIERS", "1", 1);
	if (uk_init()) /* without root the limit applies */
		return;
	cap_learn();
	CHECK_EQ(carriers_cap(), load_acquire(&vp_count_all) + 1);
}

static void the_cap_is_at_most_seven_eighths_of_rlimit_nproc(void)
{
	in_a_child(by_rlimit);
}

static void the_cap_is_at_most_4096(void)
{
	in_a_child(by_the_machine);
}

static void the_environment_overrides_the_cap(void)
{
	in_a_child(by_the_user);
}

static void the_cap_is_at_least_the_vps_and_one_spare(void)
{
	in_a_child(at_least_the_vps);
}

int main(void)
{
	RUN(the_cap_is_at_most_seven_eighths_of_rlimit_nproc);
	RUN(the_cap_is_at_most_4096);
	RUN(the_environment_overrides_the_cap);
	RUN(the_cap_is_at_least_the_vps_and_one_spare);
	return 0;
}

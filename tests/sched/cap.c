/* SPDX-License-Identifier: Apache-2.0 */
/* How many kernel threads may be made: what the machine allows, unless the user says. Each
 * case in a process of its own, for the cap is found at the start. */
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
	CHECK(carriers_cap() <= 200);
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

/* All carriers that a hostile limit leaves: one for each vp, and one spare. */
static void at_least_the_vps(void)
{
	limit_threads(4);
	setenv("UK_CARRIERS", "1", 1);
	if (uk_init()) /* not root: the limit binds */
		return;
	cap_learn();
	CHECK_EQ(carriers_cap(), load_acquire(&vp_count_all) + 1);
}

static void a_quarter_of_rlimit_nproc_at_most(void)
{
	in_a_child(by_rlimit);
}

static void some_thousands_at_most(void)
{
	in_a_child(by_the_machine);
}

static void the_user_has_the_last_word(void)
{
	in_a_child(by_the_user);
}

static void never_less_than_the_vps_and_one(void)
{
	in_a_child(at_least_the_vps);
}

int main(void)
{
	RUN(a_quarter_of_rlimit_nproc_at_most);
	RUN(some_thousands_at_most);
	RUN(the_user_has_the_last_word);
	RUN(never_less_than_the_vps_and_one);
	return 0;
}

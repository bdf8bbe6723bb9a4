/* SPDX-License-Identifier: Apache-2.0 */
/* The fence that one thread executes for all: Dekker's protocol with a compiler barrier
 * on the frequent side and membarrier(2) on the other. At least one side sees the
 * other's store. Without the membarrier call this test soon fails. */
#include "base/membarrier.h"

#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <unistd.h>

#include "base/sys.h"
#include "test.h"

enum { ROUNDS = 20000, SPINS = 200000 };

static struct {
	uint32_t v LINE_ALIGNED;
} mine, theirs, turn, done, saw_theirs;

/* The frequent side: store, compiler barrier, load. */
static void *cheap(void *arg)
{
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		/* spins so that both sides run at once, but not for ever: the other may
		 * need this CPU */
		for (int n = 0; load_acquire(&turn.v) != i; n++)
			if (n > SPINS)
				sched_yield();
		store_relaxed(&mine.v, i);
		fence_compiler();
		store_relaxed(&saw_theirs.v, load_relaxed(&theirs.v) == i);
		store_release(&done.v, i);
	}
	return arg;
}

static void one_of_the_two_sides_sees_the_other(void)
{
	bool saw_mine;
	pthread_t t;

	CHECK_EQ(pthread_create(&t, NULL, cheap, NULL), 0);
	for (uint32_t i = 1; i <= ROUNDS; i++) {
		store_release(&turn.v, i);
		for (uint32_t k = i * 7 % 64; k; k--) /* the two sides meet at different
						       * places */
			cpu_relax();
		store_relaxed(&theirs.v, i);
		barrier_everywhere();
		saw_mine = load_relaxed(&mine.v) == i;
		for (int n = 0; load_acquire(&done.v) != i; n++)
			if (n > SPINS)
				sched_yield();
		CHECK(saw_mine || load_relaxed(&saw_theirs.v));
	}
	CHECK_EQ(pthread_join(t, NULL), 0);
}

static void refuse_membarrier(int err)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0), /* the system call number */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_membarrier, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { array_size(code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog))
		_exit(77);
}

static void without_membarrier_init_returns_the_error(void)
{
	static const int errs[] = { EPERM, ENOSYS };

	for (size_t i = 0; i < array_size(errs); i++) {
		int status;
		pid_t pid = fork();

		if (!pid) {
			refuse_membarrier(errs[i]);
			_exit(barrier_init() != -errs[i]);
		}
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK(WIFEXITED(status));
		CHECK(WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == 77);
	}
}

int main(void)
{
#if UK_TSAN
	SKIP("TSan does not know membarrier and reports data races");
#endif
	RUN(without_membarrier_init_returns_the_error);
	CHECK_EQ(barrier_init(), 0);
	RUN(one_of_the_two_sides_sees_the_other);
	return 0;
}

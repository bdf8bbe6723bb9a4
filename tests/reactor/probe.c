/* SPDX-License-Identifier: Apache-2.0 */
/* The choice of the engine: a feature that the kernel refuses is replaced, an engine
 * that the user asked for is not. */
#include "test.h"

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "reactor/probe.h"
#include "reactor/reactor.h"
#include "reactor/uring_abi.h"

/* In a child, makes system call nr fail with err, and calls fn. */
static void with_refused(long nr, int err, void (*fn)(void))
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)nr, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (uint32_t)err),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { .len = array_size(code), .filter = code };
	int status;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
		CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog), 0);
		fn();
		fflush(NULL);
		_exit(0);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK_EQ(status, 0);
}

static void nop_and_timeout(struct reactor *r)
{
	struct io_op op = { .kind = IO_NOP, .fd = -1 };

	r->ops->submit(r, &op);
	while (op.state != IO_DONE)
		r->ops->poll(r, -1);
	r->ops->poll(r, 100000);
	r->ops->poll(r, 10000000);
	r->ops->kick(r);
	r->ops->poll(r, -1);
}

static void expect_epoll(void)
{
	struct reactor r;

	CHECK(!probe_has(PROBE_URING));
	CHECK_EQ(reactor_init(&r, NULL, NULL), 0);
	CHECK(r.ops == &epoll_ops);
	nop_and_timeout(&r);
	reactor_fini(&r);
	CHECK(reactor_init(&r, "uring", NULL) < 0);
}

static void expect_no_pwait2(void)
{
	struct reactor r;

	CHECK(!probe_has(PROBE_EPOLL_PWAIT2));
	CHECK_EQ(reactor_init(&r, "epoll", NULL), 0);
	nop_and_timeout(&r);
	reactor_fini(&r);
}

/* io_uring_register is needed for the list of opcodes and for SEND_MSG_RING */
static void expect_some_engine(void)
{
	struct reactor r;

	CHECK_EQ(reactor_init(&r, NULL, NULL), 0);
	nop_and_timeout(&r);
	reactor_fini(&r);
}

static void a_refused_ring_means_epoll(void)
{
	with_refused(SYS_io_uring_setup, EPERM, expect_epoll);
	with_refused(SYS_io_uring_setup, ENOSYS, expect_epoll);
	with_refused(SYS_io_uring_setup, EACCES, expect_epoll);
	with_refused(SYS_io_uring_setup, ENOMEM, expect_epoll);
	with_refused(SYS_io_uring_enter, EPERM, expect_epoll);
	with_refused(SYS_io_uring_enter, ENOSYS, expect_epoll);
}

static void refused_helpers_are_replaced(void)
{
	with_refused(SYS_epoll_pwait2, ENOSYS, expect_no_pwait2);
	with_refused(SYS_epoll_pwait2, EPERM, expect_no_pwait2);
	with_refused(SYS_io_uring_register, EPERM, expect_some_engine);
}

/* A ring that is closed later interrupts the thread that made it
 * (io_ring_exit_work). */
static void the_probe_interrupts_no_later_call(void)
{
	struct timespec limit = { .tv_nsec = 200000000 };
	struct sembuf down = { .sem_op = -1 };
	int id = semget(IPC_PRIVATE, 1, 0600);

	CHECK(id >= 0);
	CHECK(probe_uring());
	CHECK_EQ(semtimedop(id, &down, 1, &limit), -1);
	CHECK_EQ(errno, EAGAIN);
	CHECK_EQ(semctl(id, 0, IPC_RMID), 0);
}

static void a_wrong_name_is_refused(void)
{
	struct reactor r;

	CHECK_EQ(reactor_init(&r, "kqueue", NULL), -EINVAL);
	CHECK_EQ(reactor_init(&r, "", NULL), -EINVAL);
}

static void the_table_names_every_probe(void)
{
	for (int i = 0; i < PROBE_COUNT; i++) {
		struct probe_row row = probe_row((enum probe)i);

		CHECK(row.name && *row.name && row.instead && *row.instead);
		CHECK_EQ(row.present, probe_has((enum probe)i));
		printf("# %s: %s\n", row.name, row.present ? "yes" : row.instead);
	}
}

int main(void)
{
	RUN(a_refused_ring_means_epoll);
	RUN(refused_helpers_are_replaced);
	RUN(the_probe_interrupts_no_later_call);
	RUN(a_wrong_name_is_refused);
	RUN(the_table_names_every_probe);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Simulates a machine that is out of resources: the n-th system call that asks the
 * kernel for memory, a kernel thread or a file descriptor fails, or all from the n-th
 * on. A tracer (ptrace) does this with a seccomp filter that stops at these calls, so
 * it covers libc's own calls, too. */
#ifndef TESTS_INJECT_H
#define TESTS_INJECT_H

#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

#define MARK 0x5aba /* the first getpgid(MARK) begins, the next one ends */

struct inject {
	unsigned nth; /* 0: count only */
	bool all;     /* refuse all from the nth on */
	/* results */
	unsigned asked;
	bool on;
};

static inline void inject_mark(void)
{
	syscall(SYS_getpgid, MARK);
}

static const unsigned inject_calls[] = { SYS_mmap,          SYS_mprotect,
					 SYS_brk,           SYS_madvise,
					 SYS_clone,         SYS_clone3,
					 SYS_openat,        SYS_io_uring_setup,
					 SYS_epoll_create1, SYS_io_uring_register,
					 SYS_eventfd2,      SYS_epoll_ctl,
					 SYS_sigaltstack,   SYS_getpgid };

static inline void inject_filter(void)
{
	enum { N = sizeof(inject_calls) / sizeof(inject_calls[0]) };
	struct sock_filter f[N + 3] = { BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
						 offsetof(struct seccomp_data, nr)) };
	struct sock_fprog p = { N + 3, f };

	for (unsigned i = 0; i < N; i++)
		f[i + 1] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							inject_calls[i],
							(unsigned char)(N - i), 0);
	f[N + 1] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	f[N + 2] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRACE);
	CHECK_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
	CHECK_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p), 0);
}

#if defined(__x86_64__)
static inline void inject_refuse(pid_t tid, struct user_regs_struct *r)
{
	long nr = (long)r->orig_rax;

	/* brk reports failure by an unchanged break */
	r->rax = nr == SYS_brk                         ? 0
		 : nr == SYS_clone || nr == SYS_clone3 ? -(unsigned long)EAGAIN
						       : -(unsigned long)ENOMEM;
	r->orig_rax = ~0ul;
	ptrace(PTRACE_SETREGS, tid, 0, r);
}

static inline void inject_look(struct inject *in, pid_t tid)
{
	struct user_regs_struct r;

	if (ptrace(PTRACE_GETREGS, tid, 0, &r))
		return;
	if (r.orig_rax == SYS_getpgid) {
		if (r.rdi == MARK)
			in->on = !in->on;
		return;
	}
	if (!in->on)
		return;
	in->asked++;
	if (in->nth && (in->all ? in->asked >= in->nth : in->asked == in->nth))
		inject_refuse(tid, &r);
}
#endif

/* Runs body in a traced child and returns its exit status, as wait(2) gives it. */
static inline int inject_run(struct inject *in, void (*body)(void))
{
	pid_t pid = fork(), tid;
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, 0, 0))
			_exit(77);
		raise(SIGSTOP);
		inject_filter();
		body();
		_exit(0);
	}
	if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
		return status;
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, pid, 0,
			PTRACE_O_EXITKILL | PTRACE_O_TRACESECCOMP |
			    PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
			    PTRACE_O_TRACEVFORK),
		 0);
	ptrace(PTRACE_CONT, pid, 0, 0);
	while ((tid = waitpid(-1, &status, __WALL)) > 0) {
		long sig = WIFSTOPPED(status) ? WSTOPSIG(status) : 0;

		if (!WIFSTOPPED(status)) {
			if (tid == pid)
				return status;
			continue;
		}
#if defined(__x86_64__)
		if (status >> 8 == (SIGTRAP | PTRACE_EVENT_SECCOMP << 8))
			inject_look(in, tid);
#endif
		if (sig == SIGTRAP ||
		    sig == SIGSTOP) /* events; the first stop of a thread */
			sig = 0;
		ptrace(PTRACE_CONT, tid, 0, sig);
	}
	CHECK(false && "waitpid did not report the child");
	return 1;
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* drop.c - the broker gives up everything that it does not need any more.
 *
 * It keeps the fds of the BPF program, its maps and the listening socket, the ids of
 * nobody, and the system calls of peers.c. Other calls fail with EPERM, except those of
 * a memory allocator, because a sanitizer has one.
 */
#include <errno.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker.h"

#define NOBODY 65534

#if defined(__x86_64__)
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

#define DATA(what)                                                                     \
	BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, what))
#define IS(value) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, 1)
#define END(what) BPF_STMT(BPF_RET | BPF_K, (what))
#define MAY(call) IS(SYS_##call), END(SECCOMP_RET_ALLOW)
#define MAY_BPF(cmd) IS(cmd), END(SECCOMP_RET_ALLOW)

static bool few_calls(void)
{
	struct sock_filter code[] = {
		DATA(arch),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0),
		END(SECCOMP_RET_KILL_PROCESS),
		DATA(nr),
#ifdef SYS_epoll_wait
		MAY(epoll_wait),
#endif
		MAY(epoll_pwait),
		MAY(epoll_ctl),
		MAY(accept4),
		MAY(getsockopt),
		MAY(recvfrom),
		MAY(sendto),
		MAY(pidfd_open),
		MAY(ioctl),
		MAY(close),
		MAY(write),
		MAY(exit_group),
		MAY(rt_sigreturn),
		MAY(restart_syscall),
		MAY(mmap),
		MAY(munmap),
		MAY(madvise),
		MAY(futex),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_bpf, 0, 7),
		DATA(args[0]),
		MAY_BPF(BPF_MAP_UPDATE_ELEM),
		MAY_BPF(BPF_MAP_DELETE_ELEM),
		MAY_BPF(BPF_RAW_TRACEPOINT_OPEN),
		END(SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog filter = { sizeof(code) / sizeof(code[0]), code };

	return !syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter);
}

static bool no_capabilities(void)
{
	struct __user_cap_header_struct head = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct none[2] = { { 0, 0, 0 }, { 0, 0, 0 } };

	return !prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) &&
	       !syscall(SYS_capset, &head, none);
}

static bool nobody(void)
{
	if (geteuid())
		return true; /* a dynamic user of the service manager */
	return !setgroups(0, NULL) && !setresgid(NOBODY, NOBODY, NOBODY) &&
	       !setresuid(NOBODY, NOBODY, NOBODY);
}

bool broker_drop(void)
{
	/* not dumpable: other processes with that id cannot trace or read it */
	if (chdir("/") || !nobody() || !no_capabilities() ||
	    prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
	    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || !few_calls()) {
		fprintf(stderr, "uk broker: cannot drop privileges: %s\n",
			strerror(errno));
		return false;
	}
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A program confines itself with a seccomp filter that kills it for system calls that
 * such a program does not make. The library must not make them either. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "posix.h"

#define FORBID(nr)                                                                     \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (nr), 0, 1),                               \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

/* Forbids calls that look into processes, and some unrelated ones. */
static void confine(void)
{
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		FORBID(SYS_process_vm_readv),
		FORBID(SYS_process_vm_writev),
		FORBID(SYS_ptrace),
		FORBID(SYS_execve),
		FORBID(SYS_process_madvise),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof(f) / sizeof(f[0]), f };

	CHECK(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	CHECK(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
		      &p) == 0);
}

enum { MANY = 100 }; /* so many stacks are created in batches */

static int pair[2];

/* The message is on the heap, not on a stack. */
static void *passes_one(void *arg)
{
	size_t room = CMSG_SPACE(sizeof(int));
	struct msghdr *m = calloc(1, sizeof(*m));
	char byte = 'x';
	struct iovec v = { &byte, 1 };
	struct cmsghdr *c;

	m->msg_iov = &v;
	m->msg_iovlen = 1;
	m->msg_control = calloc(1, room);
	m->msg_controllen = room;
	c = CMSG_FIRSTHDR(m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &pair[0], sizeof(int));
	CHECK(sendmsg(pair[0], m, 0) == 1);
	byte = 0;
	CHECK(read(pair[1], &byte, 1) == 1 && byte == 'x');
	free(m->msg_control);
	free(m);
	return arg;
}

static void *waits_a_while(void *arg)
{
	usleep(20000);
	return arg;
}

int main(void)
{
	pthread_t t, many[MANY];

	CHECK(socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0);
	finish(start(waits_a_while, NULL)); /* starts the runtime */
	confine();
	passes_one(NULL);
	t = start(waits_a_while, NULL);
	finish(start(passes_one, NULL));
	finish(t);
	for (int i = 0; i < MANY; i++)
		many[i] = start(waits_a_while, NULL);
	for (int i = 0; i < MANY; i++)
		finish(many[i]);
	puts("ok");
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* crash.c - signals that report something: a stack overflow (law 6,
 * docs/ARCHITECTURE.md), SIGQUIT. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/at_load.h"
#include "debug/inspect.h"
#include "base/env.h"
#include "base/libc.h"
#include "base/log.h"
#include "base/sys.h"
#include "mem/stack.h"
#include "sched/vp.h"

static char dump_path[256]; /* UK_DUMP=/a/file; empty: stderr */

#if !UK_SAN /* a sanitizer reports faults itself */
static struct sigaction old_segv, old_bus;

static int by_stack(void *obj, void *arg)
{
	struct uk_thread *t = obj;
	void **want = arg;

	if (t->kind != THREAD_USER || t->stack != want[0])
		return 0;
	want[1] = t;
	return 1;
}

static void report_overflow(const void *addr, void *base, size_t size)
{
	void *found[2] = { base, NULL };
	const struct uk_thread *t;

	slab_walk(&thread_slab, by_stack, found);
	t = found[1];
	uk_warn(
	    "stack overflow: thread %lu \"%s\" touched %p, the guard of its stack of %lu KiB; "
	    "give it a larger stack with uk_thread_attr.stack_size or UK_STACK",
	    t ? (unsigned long)t->id : 0UL, t ? thread_name(t) : "?",
	    env_privileged() ? NULL : addr,
	    (unsigned long)((t ? thread_stack_size(t) : size) >> 10));
}

static void on_fault(int sig, siginfo_t *si, void *uc)
{
	struct sigaction *old = sig == SIGSEGV ? &old_segv : &old_bus;
	size_t size;
	void *base;

	if (si->si_code > 0 && stack_find_guard(si->si_addr, &base, &size)) {
		report_overflow(si->si_addr, base, size);
		if (!env_privileged()) {
			backtrace_here(2, uc);
			backtrace_end(2);
		}
	} else if (old->sa_flags & SA_SIGINFO && old->sa_sigaction) {
		old->sa_sigaction(sig, si, uc);
		return;
	} else if (old->sa_handler != SIG_DFL && old->sa_handler != SIG_IGN) {
		old->sa_handler(sig);
		return;
	}
	if (si->si_code <= 0 && old->sa_handler == SIG_IGN)
		return;
	/* The instruction faults again, and the default action (core dump) follows. A
	 * signal that was sent, not caused by an instruction, is sent again. */
	old->sa_handler = SIG_DFL;
	old->sa_flags = 0;
	LIBC(sigaction)(sig, old, NULL);
	if (si->si_code <= 0)
		sys3(SYS_tgkill, sys0(SYS_getpid), sys_gettid(), sig);
}
#endif

void crash_replaced(int sig, struct sigaction *a)
{
#if !UK_SAN
	if (a->sa_flags & SA_SIGINFO && a->sa_sigaction == on_fault)
		*a = sig == SIGSEGV ? old_segv : old_bus;
#else
	(void)sig, (void)a;
#endif
}

static void on_quit(int sig UNUSED)
{
	int fd = 2, was = errno;

	if (dump_path[0]) {
		fd = (int)sys4(SYS_openat, AT_FDCWD, dump_path,
			       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
		if (fd < 0)
			fd = 2;
	}
	uk_dump(fd);
	if (fd > 2)
		sys1(SYS_close, fd);
	errno = was;
}

static void panic_dump(void)
{
	const struct uk_thread *t = thread_self_tls;

	if (t)
		fmt_fd(2, "ukthreads: in thread %lu \"%s\"\n", (unsigned long)t->id,
		       t->kind == THREAD_DISPATCHER ? "dispatcher" : thread_name(t));
}

void crash_install(void)
{
	struct sigaction sa = { .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER }, old;
	const char *d = env_get("UK_DUMP");

	hooks.panic = panic_dump;
#if !UK_SAN
	sa.sa_sigaction = on_fault;
	LIBC(sigaction)(SIGSEGV, &sa, &old_segv);
	LIBC(sigaction)(SIGBUS, &sa, &old_bus);
#endif
	/* a dump shows addresses: not for users that may signal a privileged program */
	if (env_privileged() || (d && !strcmp(d, "0")))
		return;
	if (d && d[0] == '/')
		fmt_to(dump_path, sizeof(dump_path), "%s", d);
	/* only if the program does not use SIGQUIT */
	if (!LIBC(sigaction)(SIGQUIT, NULL, &old) && old.sa_handler == SIG_DFL) {
		sa.sa_flags = SA_RESTART;
		sa.sa_handler = on_quit;
		LIBC(sigaction)(SIGQUIT, &sa, NULL);
	}
}

AT_LOAD(crash_register)
{
	sched_on_start(crash_install);
}

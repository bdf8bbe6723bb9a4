/* SPDX-License-Identifier: Apache-2.0 */
/* backtrace.c - frames of parked and of interrupted threads.
 *
 * With libunwind where it was there at build time (it reads the call-frame information, so
 * code without frame pointers is no obstacle); else along the frame pointers, bounded by
 * the thread's own stack. The caller sees to it that the thread does not run meanwhile. */
#include <dlfcn.h>
#include <link.h>
#include <ucontext.h>

#include "api/inspect.h"
#include "arch/arch.h"
#include "base/panic.h"

#define FRAMES_MAX 64
#define STEPS_MAX 4096 /* a recursion's equal frames are one line */

/* Equal frames in a row. */
struct run {
	uintptr_t ip;
	unsigned more;
};

static void run_end(int fd, struct run *r)
{
	if (r->more)
		fmt_fd(fd, "      ... %u more like this\n", r->more);
	r->more = 0;
}

/* True: one more of the same, nothing to print. */
static bool run_goes_on(int fd, struct run *r, uintptr_t ip)
{
	if (r->ip == ip) {
		r->more++;
		return true;
	}
	run_end(fd, r);
	r->ip = ip;
	return false;
}

/* Names of exported functions only: asking the unwinder for the others would allocate, and
 * the code that a signal interrupted may be malloc itself. addr2line and the gdb script know
 * them all. */
static void print_frame(int fd, int n, uintptr_t ip)
{
	Dl_info i;

	/* ip - 1: the call, not what follows it */
	if (dladdr((const void *)(ip - 1), &i) && i.dli_fname) {
		if (i.dli_sname)
			fmt_fd(fd, "      #%d %#lx %s+%#lx (%s)\n", n,
			       (unsigned long)ip, i.dli_sname,
			       (unsigned long)(ip - (uintptr_t)i.dli_saddr),
			       i.dli_fname);
		else
			fmt_fd(fd, "      #%d %#lx (%s+%#lx)\n", n, (unsigned long)ip,
			       i.dli_fname,
			       (unsigned long)(ip - (uintptr_t)i.dli_fbase));
	} else {
		fmt_fd(fd, "      #%d %#lx\n", n, (unsigned long)ip);
	}
}

#if UK_HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>

static void walk(int fd, unw_context_t *uc, bool signal_frame)
{
	unw_cursor_t c;
	unw_word_t ip;
	struct run run = { 0, 0 };
	int n = 0, steps = 0;

	if (unw_init_local2(&c, uc, signal_frame ? UNW_INIT_SIGNAL_FRAME : 0))
		return;
	do {
		if (unw_get_reg(&c, UNW_REG_IP, &ip) || !ip)
			break;
		if (!run_goes_on(fd, &run, ip))
			print_frame(fd, n, ip);
		n++;
	} while (n - (int)run.more < FRAMES_MAX && ++steps < STEPS_MAX &&
		 unw_step(&c) > 0);
	run_end(fd, &run);
}

void backtrace_parked(int fd, const struct uk_thread *t)
{
	struct arch_regs r;
	unw_context_t uc;

	if (!t->sp)
		return;
	arch_context_regs(t->sp, &r);
	__builtin_memset(&uc, 0, sizeof(uc));
#if defined(__x86_64__)
	uc.uc_mcontext.gregs[REG_RIP] = (greg_t)r.ip;
	uc.uc_mcontext.gregs[REG_RSP] = (greg_t)r.sp;
	uc.uc_mcontext.gregs[REG_RBP] = (greg_t)r.fp;
	walk(fd, &uc, false);
#else
	print_frame(fd, 0, r.ip);
#endif
}

void backtrace_here(int fd, const void *ucontext)
{
	walk(fd, (unw_context_t *)(uintptr_t)ucontext, true);
}
#else
static void walk_fp(int fd, uintptr_t ip, uintptr_t fp, uintptr_t low, uintptr_t high)
{
	struct run run = { 0, 0 };

	for (int n = 0; n < FRAMES_MAX && ip; n++) {
		const uintptr_t *f = (const uintptr_t *)fp;

		if (!run_goes_on(fd, &run, ip))
			print_frame(fd, n, ip);
		if (fp < low || fp + 16 > high || (fp & 7))
			break;
		ip = f[1];
		if (f[0] <= fp)
			break;
		fp = f[0];
	}
	run_end(fd, &run);
}

void backtrace_parked(int fd, const struct uk_thread *t)
{
	struct arch_regs r;

	if (!t->sp || !t->stack)
		return;
	arch_context_regs(t->sp, &r);
	walk_fp(fd, r.ip, r.fp, r.sp, (uintptr_t)t->stack + thread_stack_size(t));
}

void backtrace_here(int fd, const void *ucontext)
{
	const ucontext_t *uc = ucontext;
	const struct uk_thread *t = thread_self_tls;
	uintptr_t low = 0, high = 0;

	if (t && t->kind == THREAD_USER && t->stack) {
		low = (uintptr_t)t->stack;
		high = low + thread_stack_size(t);
	}
#if defined(__x86_64__)
	walk_fp(fd, (uintptr_t)uc->uc_mcontext.gregs[REG_RIP],
		(uintptr_t)uc->uc_mcontext.gregs[REG_RBP], low, high);
#else
	walk_fp(fd, uc->uc_mcontext.pc, uc->uc_mcontext.regs[29], low, high);
#endif
}
#endif

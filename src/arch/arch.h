/* SPDX-License-Identifier: Apache-2.0 */
/* arch.h - the processor: save one context, load another, move the thread pointer.
 *
 * A context is a stack pointer; everything else lies on its stack:
 *
 *   x86-64, low to high: mxcsr(4) x87cw(4) | rbp | resume address | the frame that switched
 *
 * The project is compiled without a red zone: to leave it free there cost a line of the
 * cache more at each switch, and those of a context did not lie side by side.
 *
 * The switch is inline assembly that declares every other register clobbered: the compiler
 * saves what it needs, which is mostly nothing, and the System V psABI's callee-saved
 * control words are kept by us. It leaves by pop+jmp, and no call led into it: the
 * processor's return stack stays in step for threads that switch at the same depth of
 * calls. (Measured, yield between two threads: as a called function that leaves by jmp 3.0
 * mispredicted branches a switch, inline 0.0.) Control words are compared and only
 * reloaded when they differ (93 against 6.8 ns).
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdarg.h>

#include "base/base.h"

/* arch_switch(from, to, tp, fast): save the caller's context in *from, continue the one at
 * `to`. If tp is not NULL the thread pointer becomes tp, by wrfsbase if fast, else by a
 * system call. Returns when somebody switches back; nothing but memory and the frame
 * pointer is kept across it. */
#if defined(__x86_64__)
#include "arch/x86_64/switch.h"
#else
void arch_switch(void **from, void *to, void *tp, bool fast);
#endif

/* A context on the stack that ends at top (exclusive), with floating-point environment fp:
 * the first switch to it calls fn(arg), which never returns. The call-frame chain ends
 * there. */
void *arch_context_init(void *top, void (*fn)(void *), void *arg, uint64_t fp);
/* The caller's floating-point environment: what a new thread inherits. */
uint64_t arch_fp_env(void);

/* What a parked context will return to, for backtraces. */
struct arch_regs {
	uintptr_t ip, sp, fp;
};
void arch_context_regs(void *sp, struct arch_regs *r);

/* fn(a, b, c) on the stack that ends at top; a call like any other otherwise. */
void arch_call_on(void *top, void (*fn)(void *, void *, void *), void *a, void *b,
		  void *c);
/* The stack pointer in a ucontext_t. */
uintptr_t arch_ucontext_sp(const void *uc);

/* Where it stands. */
uintptr_t arch_ucontext_ip(const void *uc);
/* It stands there. */
void arch_ucontext_place(void *uc, uintptr_t ip, uintptr_t sp);
/* It calls fn with n words on the stack that it has, and then ends, which finds what is to
 * go on where the stack's pointer or a register was left (saves_*.S). */
void arch_ucontext_make(void *uc, void (*fn)(void), int n, va_list args,
			void (*ends)(void));
/* Since 2.41 glibc makes every call that is a cancellation point by one function in assembly,
 * and a thread that stands in it, from its look at whether it is cancelled up to the
 * instruction that calls the kernel, may be cancelled there. Its name is not exported; these
 * are the bytes of that stretch's end, the instruction among them, and how many bytes of it
 * stand before them. len 0: not known here. */
struct arch_bytes {
	const unsigned char *bytes;
	size_t len, before;
};
struct arch_bytes arch_libc_cancel_point(void);

bool arch_has_fsgsbase(void);
/* How the thread pointer is moved, for `uk doctor`. */
const char *arch_tp_how(void);
/* Can full threads be made here? Else all are light (tls_template.c, glibc.c: they know TLS
 * below the thread pointer only). */
bool arch_full_threads(void);
void *arch_get_tp(void);
void arch_set_tp(void *tp);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* arch.h - the CPU: save one context, load another, move the thread pointer.
 *
 * A context is a stack pointer; everything else lies on its stack. On x86-64, low to
 * high:
 *
 *   mxcsr(4) x87cw(4) | rbp | resume address | the frame that switched
 *
 * The project is compiled without a red zone: leaving it free touched one more cache
 * line at each switch, and the lines of a context were not adjacent.
 *
 * The switch is inline assembly that declares every other register clobbered. So the
 * compiler saves what it needs, which is mostly nothing; the switch itself keeps the
 * control words, which are callee-saved in the System V psABI. It leaves by pop and
 * jmp, and no call leads into it, so the CPU's return-address predictor stays in step
 * for threads that switch at the same call depth. (Measured with two threads that yield
 * to each other: 3.0 mispredicted branches for each switch as a called function that
 * leaves by jmp, 0.0 inline.) Control words are compared, and loaded only when they
 * differ (6.8 instead of 93 ns). */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include <stdarg.h>

#include "base/base.h"

/* arch_switch(from, to, tp, fast): saves the caller's context in *from and continues
 * the one at `to`. If tp is not NULL, the thread pointer becomes tp: by wrfsbase if
 * fast, otherwise by a system call. Returns when another context switches back; only
 * memory and the frame pointer are kept across it. */
#if defined(__x86_64__)
#include "arch/x86_64/switch_x86_64.h"
#else
void arch_switch(void **from, void *to, void *tp, bool fast);
#endif

/* Makes a context on the stack that ends at top (exclusive), with floating-point
 * environment fp. The first switch to it calls fn(arg), which never returns. The chain
 * of call frames ends there. */
void *arch_context_init(void *top, void (*fn)(void *), void *arg, uint64_t fp);
/* The caller's floating-point environment, which a new thread inherits. */
uint64_t arch_fp_env(void);

/* Where a parked context will continue, for backtraces. */
struct arch_regs {
	uintptr_t ip, sp, fp;
};
/* The same for readers in other processes: where a context has them, and its size. */
#if defined(__x86_64__)
#define ARCH_FRAME_FP 8
#define ARCH_FRAME_IP 16
#define ARCH_FRAME_SIZE 24
#else
#define ARCH_FRAME_FP 160
#define ARCH_FRAME_IP 168
#define ARCH_FRAME_SIZE 176
#endif
void arch_context_regs(void *sp, struct arch_regs *r);

/* Calls fn(a, b, c) on the stack that ends at top. */
void arch_call_on(void *top, void (*fn)(void *, void *, void *), void *a, void *b,
		  void *c);
/* The stack pointer in a ucontext_t. */
uintptr_t arch_ucontext_sp(const void *uc);

/* The instruction pointer in a ucontext_t. */
uintptr_t arch_ucontext_ip(const void *uc);
/* Sets both pointers. */
void arch_ucontext_place(void *uc, uintptr_t ip, uintptr_t sp);
/* Prepares uc to call fn with n words on uc's own stack. When fn returns, `ends` runs
 * (posix/saves_*.S); it finds uc_link through the register or stack slot that is set
 * here. */
void arch_ucontext_make(void *uc, void (*fn)(void), int n, va_list args,
			void (*ends)(void));
/* Since 2.41, glibc makes every call that is a cancellation point through one assembly
 * function. A thread may be cancelled there while its instruction pointer is between
 * the test for cancellation and the end of the instruction that enters the kernel. The
 * function is not exported; these are the bytes of the end of that stretch, including
 * that instruction. `before` is how many bytes of the stretch precede them. len 0: not
 * known for this architecture. */
struct arch_bytes {
	const unsigned char *bytes;
	size_t len, before;
};
struct arch_bytes arch_libc_cancel_point(void);

bool arch_has_fsgsbase(void);
/* How the thread pointer is moved, for `uk doctor`. */
const char *arch_tp_how(void);
/* Can full threads be made here? If not, all are light, because tls_template.c and
 * glibc.c know only TLS below the thread pointer. */
bool arch_full_threads(void);
void *arch_get_tp(void);
void arch_set_tp(void *tp);

#endif

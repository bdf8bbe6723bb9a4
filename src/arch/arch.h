/* SPDX-License-Identifier: Apache-2.0 */
/* arch.h - the processor: save one context, load another, move the thread pointer.
 *
 * A context is a stack pointer; everything else lies on its stack:
 *
 *   x86-64, low to high: mxcsr(4) x87cw(4) | r15 r14 r13 r12 rbx rbp | return address
 *
 * (System V psABI: callee-saved registers and control words; nothing else is live across
 * a call.) The switch leaves by pop+jmp: a ret would be mispredicted every time, because
 * the return stack of the processor belongs to the thread that we leave (13.7 against
 * 7.0 ns). Control words are compared and only reloaded when they differ (93 against
 * 6.8 ns).
 */
#ifndef ARCH_ARCH_H
#define ARCH_ARCH_H

#include "base/base.h"

/* Save the caller's context in *from, continue the one at `to`. If tp is not NULL the
 * thread pointer becomes tp. Returns when somebody switches back. */
void arch_switch(void **from, void *to, void *tp);
/* The same where the processor or the kernel has no FSGSBASE (arch_prctl). */
void arch_switch_slow(void **from, void *to, void *tp);

/* A context on the stack that ends at top (exclusive): the first switch to it calls
 * fn(arg), which never returns. Call-frame chain ends there. */
void *arch_context_init(void *top, void (*fn)(void *), void *arg);

/* What a parked context will return to, for backtraces. */
struct arch_regs {
	uintptr_t ip, sp, fp, rbx, r12, r13, r14, r15;
};
void arch_context_regs(void *sp, struct arch_regs *r);

bool arch_has_fsgsbase(void);
void *arch_get_tp(void);
void arch_set_tp(void *tp);

static inline uint64_t arch_cycles(void)
{
#if defined(__x86_64__)
	return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
#endif
}

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and the thread pointer, x86-64. */
#include <sys/auxv.h>

#include "arch/arch.h"
#include "base/sys.h"

#define ARCH_SET_FS 0x1002
#define ARCH_GET_FS 0x1003
#define HWCAP2_FSGSBASE_BIT 2u

void arch_entry(void);

struct frame {
	uint32_t mxcsr;
	uint32_t x87cw;
	uintptr_t r15, r14, r13, r12, rbx, rbp, ip;
};

void *arch_context_init(void *top, void (*fn)(void *), void *arg)
{
	/* After the pops rsp = aligned top - 8; arch_entry's call then leaves the callee
	 * with the alignment of the ABI. */
	uintptr_t end = ((uintptr_t)top & ~(uintptr_t)15) - 16;
	struct frame *f = (struct frame *)(end - sizeof(*f));

	*(uintptr_t *)end = 0;
	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(f->mxcsr), "=m"(f->x87cw));
	f->r15 = f->r14 = f->rbx = f->rbp = 0;
	f->r13 = (uintptr_t)arg;
	f->r12 = (uintptr_t)fn;
	f->ip = (uintptr_t)arch_entry;
	return f;
}

void arch_context_regs(void *sp, struct arch_regs *r)
{
	const struct frame *f = sp;

	r->ip = f->ip;
	r->sp = (uintptr_t)sp + sizeof(*f);
	r->fp = f->rbp;
	r->rbx = f->rbx;
	r->r12 = f->r12;
	r->r13 = f->r13;
	r->r14 = f->r14;
	r->r15 = f->r15;
}

bool arch_has_fsgsbase(void)
{
	return getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT;
}

void *arch_get_tp(void)
{
	void *tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp)); /* the TCB's first word is its address */
	return tp;
}

void arch_set_tp(void *tp)
{
	if (arch_has_fsgsbase())
		__asm__ volatile("wrfsbase %0" ::"r"(tp) : "memory");
	else
		sys2(SYS_arch_prctl, ARCH_SET_FS, tp);
}

/* Between the thread pointer's move and the switch nothing may touch TLS: the stack
 * protector reads its canary there, but all blocks share one canary. */
void arch_switch_slow(void **from, void *to, void *tp)
{
	if (tp)
		sys2(SYS_arch_prctl, ARCH_SET_FS, tp);
	arch_switch(from, to, NULL);
}

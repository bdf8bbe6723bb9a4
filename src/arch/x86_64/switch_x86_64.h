/* SPDX-License-Identifier: Apache-2.0 */
/* The switch, x86-64. See arch.h for the layout and the reasons. */
#ifndef ARCH_X86_64_SWITCH_X86_64_H
#define ARCH_X86_64_SWITCH_X86_64_H

#include "base/sys.h"

#define ARCH_SET_FS 0x1002

/* Between the move of the thread pointer and the switch nothing may touch TLS. (With
 * the system call the stack protector reads its canary there, but all blocks share one
 * canary.) Nothing may lie below the stack pointer: everything is compiled with
 * -mno-red-zone. */
INLINE void arch_switch(void **from, void *to, void *tp, bool fast)
{
	if (unlikely(!fast) && tp) {
		sys2(SYS_arch_prctl, ARCH_SET_FS, tp);
		tp = NULL;
	}
	__asm__ volatile(
	    "testq	%%rdx, %%rdx\n\t"
	    "jz	1f\n\t"
	    "wrfsbase %%rdx\n" /* waits for all before it, so slow work follows */
	    "1:\tleaq	3f(%%rip), %%rax\n\t"
	    "pushq	%%rax\n\t"
	    "pushq	%%rbp\n\t"
	    "subq	$8, %%rsp\n\t"
	    "stmxcsr (%%rsp)\n\t"
	    "fnstcw	4(%%rsp)\n\t"
	    "movl	(%%rsp), %%eax\n\t"
	    "movzwl	4(%%rsp), %%ecx\n\t"
	    "movq	%%rsp, (%%rdi)\n\t"
	    "movq	%%rsi, %%rsp\n\t"
	    "xorl	(%%rsp), %%eax\n\t"
	    "xorw	4(%%rsp), %%cx\n\t"
	    "andl	$0xffc0, %%eax\n\t" /* without the exception flags */
	    "orw	%%cx, %%ax\n\t"
	    "jz	2f\n\t"
	    "ldmxcsr (%%rsp)\n\t"
	    "fldcw	4(%%rsp)\n"
	    "2:\taddq $8, %%rsp\n\t"
	    "popq	%%rbp\n\t"
	    "popq	%%rcx\n\t"
	    "jmp	*%%rcx\n"
	    "3:\tendbr64"
	    : "+D"(from), "+S"(to), "+d"(tp)
	    :
	    : "rax", "rbx", "rcx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	      "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8",
	      "xmm9", "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "memory",
	      "cc");
}

#endif

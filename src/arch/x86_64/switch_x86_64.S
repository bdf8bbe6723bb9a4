/* SPDX-License-Identifier: Apache-2.0 */
/* The first code of a context, x86-64: pops fn and arg (from context_x86_64.c) and jumps to
 * fn(arg), which never returns. fn's return address is never used, and its caller's
 * return address is undefined, which ends every unwinder's walk. A jump instead of a
 * call leaves the CPU's return-address predictor as it was when this thread is gone
 * (arch.h). */

	.text
	.globl	arch_entry
	.hidden	arch_entry
	.type	arch_entry, @function
	.p2align 4
arch_entry:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	popq	%rax
	popq	%rdi
	xorl	%ebp, %ebp
	leaq	1f(%rip), %rcx
	pushq	%rcx
	.cfi_adjust_cfa_offset 8
	jmpq	*%rax
	.cfi_adjust_cfa_offset -8
	ud2
1:	ud2
	.cfi_endproc
	.size	arch_entry, . - arch_entry

/* The frame pointer leads back to the caller, for unwinders too: an exception may leave
 * a handler that runs here. */
	.globl	arch_call_on
	.hidden	arch_call_on
	.type	arch_call_on, @function
	.p2align 4
arch_call_on:
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_offset rbp, -16
	movq	%rsp, %rbp
	.cfi_def_cfa_register rbp
	movq	%rdi, %rsp
	andq	$-16, %rsp
	movq	%rsi, %rax
	movq	%rdx, %rdi
	movq	%rcx, %rsi
	movq	%r8, %rdx
	call	*%rax
	movq	%rbp, %rsp
	popq	%rbp
	.cfi_def_cfa rsp, 8
	ret
	.cfi_endproc
	.size	arch_call_on, . - arch_call_on

	.section .note.GNU-stack, "", @progbits

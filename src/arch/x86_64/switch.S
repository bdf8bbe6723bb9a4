/* SPDX-License-Identifier: Apache-2.0 */
/* The switch, x86-64. See arch.h for the layout and the reasons. */

	.text
	.globl	arch_switch
	.hidden	arch_switch
	.type	arch_switch, @function
	.p2align 6
arch_switch:			/* rdi = void **from, rsi = to, rdx = tp or 0 */
	.cfi_startproc
	endbr64
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	pushq	%r12
	.cfi_adjust_cfa_offset 8
	pushq	%r13
	.cfi_adjust_cfa_offset 8
	pushq	%r14
	.cfi_adjust_cfa_offset 8
	pushq	%r15
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	stmxcsr	(%rsp)
	fnstcw	4(%rsp)
	movl	(%rsp), %eax
	movzwl	4(%rsp), %ecx
	movq	%rsp, (%rdi)
	testq	%rdx, %rdx
	jz	1f
	wrfsbase %rdx
1:	movq	%rsi, %rsp
	xorl	(%rsp), %eax
	xorw	4(%rsp), %cx
	andl	$0xffc0, %eax	/* exception flags are not part of the state kept */
	orw	%cx, %ax
	jnz	3f
2:	addq	$8, %rsp
	popq	%r15
	popq	%r14
	popq	%r13
	popq	%r12
	popq	%rbx
	popq	%rbp
	popq	%rcx
	jmp	*%rcx
3:	ldmxcsr	(%rsp)
	fldcw	4(%rsp)
	jmp	2b
	.cfi_endproc
	.size	arch_switch, . - arch_switch

	/* First code of a context: r12 = fn, r13 = arg. The undefined return address ends
	 * every unwinder's walk here. */
	.globl	arch_entry
	.hidden	arch_entry
	.type	arch_entry, @function
	.p2align 4
arch_entry:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	xorl	%ebp, %ebp
	movq	%r13, %rdi
	callq	*%r12
	ud2
	.cfi_endproc
	.size	arch_entry, . - arch_entry

	.section .note.GNU-stack, "", @progbits

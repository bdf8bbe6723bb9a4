/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that return twice, x86-64: ours first, which gives libc's, then libc's with the same
 * arguments, return address and stack (jump.c). */

	.text
	.macro	before name, ours
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	\ours
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmpq	*%rax
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.globl	setjmp
	.type	setjmp, @function
	.p2align 4
setjmp:				/* the function of this name saves the mask */
	.cfi_startproc
	endbr64
	movl	$1, %esi
	jmp	__sigsetjmp@PLT
	.cfi_endproc
	.size	setjmp, . - setjmp

	before	__sigsetjmp, jump_saves
	before	getcontext, context_saves
	before	swapcontext, context_swaps

	.section .note.GNU-stack, "", @progbits

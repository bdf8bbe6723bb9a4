/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that return twice, AArch64: ours first, which gives libc's, then libc's with the same
 * arguments, return address and stack (jump.c). */

	.text
	.macro	before name, ours
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	stp	x0, x1, [sp, #16]
	bl	\ours
	mov	x16, x0
	ldp	x0, x1, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	br	x16
	.cfi_endproc
	.size	\name, . - \name
	.endm

	.globl	setjmp
	.type	setjmp, %function
	.p2align 4
setjmp:				/* the function of this name saves the mask */
	.cfi_startproc
	mov	w1, #1
	b	__sigsetjmp
	.cfi_endproc
	.size	setjmp, . - setjmp

	before	__sigsetjmp, jump_saves
	before	getcontext, context_saves
	before	swapcontext, context_swaps

	.section .note.GNU-stack, "", %progbits

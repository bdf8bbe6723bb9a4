/* SPDX-License-Identifier: Apache-2.0 */
/* The same for AArch64 as in pt_saves_x86_64.S. */

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

	.macro	lookup name, ours, caller, then
	.globl	\name
	.type	\name, %function
	.p2align 4
\name:
	.cfi_startproc
	stp	x29, x30, [sp, #-48]!
	.cfi_adjust_cfa_offset 48
	.cfi_offset x29, -48
	.cfi_offset x30, -40
	stp	x0, x1, [sp, #16]
	str	x2, [sp, #32]
	mov	\caller, x30
	add	\then, sp, #40
	bl	\ours
	mov	x17, x0
	ldr	x16, [sp, #40]
	ldp	x0, x1, [sp, #16]
	ldr	x2, [sp, #32]
	ldp	x29, x30, [sp], #48
	.cfi_adjust_cfa_offset -48
	.cfi_restore x29
	.cfi_restore x30
	cbnz	x17, 1f
	br	x16
1:	mov	x0, x17
	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	lookup	dlsym, dlsym_first, x2, x3
	lookup	dlvsym, dlvsym_first, x3, x4

	.globl	getcontext
	.type	getcontext, %function
	.p2align 4
getcontext:
	.cfi_startproc
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	str	x0, [sp, #16]
	bl	context_saves
	mov	x16, x0
	ldr	x0, [sp, #16]
	blr	x16
	ldr	x0, [sp, #16]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	str	x30, [x0, #184 + 30 * 8]
	mov	x1, x30
	mov	x2, sp
	b	context_saved
	.cfi_endproc
	.size	getcontext, . - getcontext

	.globl	swapcontext
	.type	swapcontext, %function
	.p2align 4
swapcontext:
	.cfi_startproc
	stp	x29, x30, [sp, #-32]!
	.cfi_adjust_cfa_offset 32
	.cfi_offset x29, -32
	.cfi_offset x30, -24
	stp	x0, x1, [sp, #16]
	bl	context_saves
	mov	x16, x0
	ldr	x0, [sp, #16]
	blr	x16
	ldr	x0, [sp, #16]
	ldr	x1, [sp, #8]
	str	x1, [x0, #184 + 30 * 8]
	add	x2, sp, #32
	bl	context_saved
	ldr	x0, [sp, #24]
	ldp	x29, x30, [sp], #32
	.cfi_adjust_cfa_offset -32
	.cfi_restore x29
	.cfi_restore x30
	b	context_goes
	.cfi_endproc
	.size	swapcontext, . - swapcontext

	.globl	context_load	/* the context, the kernel's mask: as libc's setcontext */
	.hidden	context_load
	.type	context_load, %function
	.p2align 4
context_load:
	.cfi_startproc
	mov	x9, x0
	mov	x0, #2			/* SIG_SETMASK */
	mov	x2, #0
	mov	x3, #8
	mov	x8, #135		/* rt_sigprocmask */
	svc	#0
	ldr	d8, [x9, #480 + 8 * 16]
	ldr	d9, [x9, #480 + 9 * 16]
	ldr	d10, [x9, #480 + 10 * 16]
	ldr	d11, [x9, #480 + 11 * 16]
	ldr	d12, [x9, #480 + 12 * 16]
	ldr	d13, [x9, #480 + 13 * 16]
	ldr	d14, [x9, #480 + 14 * 16]
	ldr	d15, [x9, #480 + 15 * 16]
	ldr	w10, [x9, #472]
	msr	fpsr, x10
	ldr	w10, [x9, #476]
	msr	fpcr, x10
	ldr	x10, [x9, #432]
	mov	sp, x10
	ldr	x16, [x9, #440]
	ldp	x19, x20, [x9, #184 + 19 * 8]
	ldp	x21, x22, [x9, #184 + 21 * 8]
	ldp	x23, x24, [x9, #184 + 23 * 8]
	ldp	x25, x26, [x9, #184 + 25 * 8]
	ldp	x27, x28, [x9, #184 + 27 * 8]
	ldp	x29, x30, [x9, #184 + 29 * 8]
	ldp	x0, x1, [x9, #184]
	ldp	x2, x3, [x9, #184 + 2 * 8]
	ldp	x4, x5, [x9, #184 + 4 * 8]
	ldp	x6, x7, [x9, #184 + 6 * 8]
	br	x16
	.cfi_endproc
	.size	context_load, . - context_load

	.globl	context_ends	/* arch_ucontext_make: x19 is what goes on */
	.hidden	context_ends
	.type	context_ends, %function
	.p2align 4
context_ends:
	.cfi_startproc
	.cfi_undefined x30
	mov	x0, x19
	bl	context_ended
	brk	#0
	.cfi_endproc
	.size	context_ends, . - context_ends

	.section .note.GNU-stack, "", %progbits

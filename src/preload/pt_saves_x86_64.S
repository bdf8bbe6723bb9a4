/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that return twice (pt_jump.c) or depend on their caller (pt_dlsym.c), x86-64.
 *
 * setjmp and its kin call ours first, which gives libc's, and go on to that with the same
 * arguments, return address and stack; dlsym likewise. getcontext and its kin call libc's, which
 * saves the registers that nobody has touched; what else is in the context ours puts right. The
 * numbers are places in a ucontext_t, which libc never changes. */

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

	/* ours returns the result, or 0 and where to go on in the same way */
	.macro	lookup name, ours, caller, then
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
	pushq	%rdx
	.cfi_adjust_cfa_offset 8
	subq	$16, %rsp
	.cfi_adjust_cfa_offset 16
	movq	40(%rsp), \caller
	movq	%rsp, \then
	call	\ours
	movq	(%rsp), %rcx
	addq	$16, %rsp
	.cfi_adjust_cfa_offset -16
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	popq	%rsi
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	testq	%rax, %rax
	jnz	1f
	jmpq	*%rcx
1:	ret
	.cfi_endproc
	.size	\name, . - \name
	.endm

	lookup	dlsym, dlsym_first, %rdx, %rcx
	lookup	dlvsym, dlvsym_first, %rcx, %r8

	.globl	getcontext
	.type	getcontext, @function
	.p2align 4
getcontext:
	.cfi_startproc
	endbr64
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	call	context_saves
	movq	(%rsp), %rdi
	call	*%rax
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	context_saved
	.cfi_endproc
	.size	getcontext, . - getcontext

	.globl	swapcontext
	.type	swapcontext, @function
	.p2align 4
swapcontext:
	.cfi_startproc
	endbr64
	pushq	%rsi
	.cfi_adjust_cfa_offset 8
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	context_saves
	movq	8(%rsp), %rdi
	call	*%rax
	movq	8(%rsp), %rdi
	movq	24(%rsp), %rsi
	leaq	32(%rsp), %rdx
	call	context_saved
	addq	$16, %rsp
	.cfi_adjust_cfa_offset -16
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	context_goes
	.cfi_endproc
	.size	swapcontext, . - swapcontext

	.globl	context_load	/* the context, the kernel's mask: as libc's setcontext */
	.hidden	context_load
	.type	context_load, @function
	.p2align 4
context_load:
	.cfi_startproc
	movq	%rdi, %r8
	movl	$2, %edi	/* SIG_SETMASK */
	xorl	%edx, %edx
	movl	$8, %r10d
	movl	$14, %eax	/* rt_sigprocmask */
	syscall
	movq	%r8, %rdx
	movq	0xe0(%rdx), %rcx
	fldenv	(%rcx)
	ldmxcsr	0x1c0(%rdx)
	.cfi_def_cfa %rdx, 0
	.cfi_offset %rsp, 0xa0
	.cfi_offset %rip, 0xa8
	movq	0xa0(%rdx), %rsp
	movq	0x80(%rdx), %rbx
	movq	0x78(%rdx), %rbp
	movq	0x48(%rdx), %r12
	movq	0x50(%rdx), %r13
	movq	0x58(%rdx), %r14
	movq	0x60(%rdx), %r15
	pushq	0xa8(%rdx)
	movq	0x70(%rdx), %rsi
	movq	0x68(%rdx), %rdi
	movq	0x98(%rdx), %rcx
	movq	0x28(%rdx), %r8
	movq	0x30(%rdx), %r9
	movq	0x88(%rdx), %rdx
	.cfi_def_cfa %rsp, 8
	xorl	%eax, %eax
	ret
	.cfi_endproc
	.size	context_load, . - context_load

	.globl	context_ends	/* arch_ucontext_make: rbx is where uc_link is */
	.hidden	context_ends
	.type	context_ends, @function
	.p2align 4
context_ends:
	.cfi_startproc
	.cfi_undefined rip
	endbr64
	movq	(%rbx), %rdi
	movq	%rbx, %rsp
	andq	$-16, %rsp
	call	context_ended
	hlt
	.cfi_endproc
	.size	context_ends, . - context_ends

	.section .note.GNU-stack, "", @progbits

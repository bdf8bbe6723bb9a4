/* SPDX-License-Identifier: Apache-2.0 */
/* vfork, x86-64. The child returns from here first and may write where the return address
 * was; so that is kept in a register, which the kernel gives back to the parent as it was,
 * and pushed once in each of them. */

#define SYS_rt_sigprocmask 14
#define SYS_vfork 58
#define SIG_SETMASK 2

	.text
	.globl	vfork, __vfork
	.type	vfork, @function
	.type	__vfork, @function
	.p2align 4
vfork:
__vfork:
	.cfi_startproc
	endbr64
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	spawn_vfork_begin
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	movq	%rax, %rsi
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	movl	$SYS_vfork, %eax
	syscall
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_offset %rip, -8
	testq	%rax, %rax
	jnz	2f
	movl	$SIG_SETMASK, %edi /* the child */
	xorl	%edx, %edx
	movl	$8, %r10d
	movl	$SYS_rt_sigprocmask, %eax
	syscall
	xorl	%eax, %eax
	ret
2:	movq	%rax, %rdi	/* the parent */
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	spawn_vfork_end
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_endproc
	.size	vfork, . - vfork

	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: Apache-2.0 */
/* vfork, AArch64: clone with CLONE_VM | CLONE_VFORK. The return address stays in a register
 * over the call, for the child may write where it would lie. */

#define SYS_rt_sigprocmask 135
#define SYS_clone 220
#define SIG_SETMASK 2
#define FLAGS 0x4111

	.text
	.globl	vfork, __vfork
	.type	vfork, %function
	.type	__vfork, %function
	.p2align 4
vfork:
__vfork:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_adjust_cfa_offset 16
	.cfi_offset x30, -8
	bl	spawn_vfork_begin
	ldp	x29, x30, [sp], #16
	.cfi_adjust_cfa_offset -16
	.cfi_restore x30
	mov	x9, x0
	mov	x0, #FLAGS
	mov	x1, xzr
	mov	x2, xzr
	mov	x3, xzr
	mov	x4, xzr
	mov	x8, #SYS_clone
	svc	#0
	cbnz	x0, 2f
	mov	x0, #SIG_SETMASK /* the child */
	mov	x1, x9
	mov	x2, xzr
	mov	x3, #8
	mov	x8, #SYS_rt_sigprocmask
	svc	#0
	mov	x0, xzr
	ret
2:	b	spawn_vfork_end	/* the parent */
	.cfi_endproc
	.size	vfork, . - vfork

	.section .note.GNU-stack, "", %progbits

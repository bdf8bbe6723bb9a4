/* SPDX-License-Identifier: Apache-2.0 */
/* The switch, AArch64 (AAPCS64). A context, low to high: fpcr pad | d8-d15 | x19-x28 |
 * x29 x30. */

	.text
	.globl	arch_switch
	.hidden	arch_switch
	.type	arch_switch, %function
	.p2align 6
arch_switch:			/* x0 = void **from, x1 = to, x2 = tp or 0, x3 unused */
	.cfi_startproc
	sub	sp, sp, #176
	.cfi_adjust_cfa_offset 176
	stp	d8, d9, [sp, #16]
	stp	d10, d11, [sp, #32]
	stp	d12, d13, [sp, #48]
	stp	d14, d15, [sp, #64]
	stp	x19, x20, [sp, #80]
	stp	x21, x22, [sp, #96]
	stp	x23, x24, [sp, #112]
	stp	x25, x26, [sp, #128]
	stp	x27, x28, [sp, #144]
	stp	x29, x30, [sp, #160]
	mrs	x9, fpcr
	str	x9, [sp]
	mov	x10, sp
	str	x10, [x0]
	cbz	x2, 1f
	msr	tpidr_el0, x2
1:	mov	sp, x1
	ldr	x10, [sp]
	cmp	x9, x10
	b.eq	2f
	msr	fpcr, x10
2:	ldp	d8, d9, [sp, #16]
	ldp	d10, d11, [sp, #32]
	ldp	d12, d13, [sp, #48]
	ldp	d14, d15, [sp, #64]
	ldp	x19, x20, [sp, #80]
	ldp	x21, x22, [sp, #96]
	ldp	x23, x24, [sp, #112]
	ldp	x25, x26, [sp, #128]
	ldp	x27, x28, [sp, #144]
	ldp	x29, x30, [sp, #160]
	add	sp, sp, #176
	br	x30
	.cfi_endproc
	.size	arch_switch, . - arch_switch

	.globl	arch_entry
	.hidden	arch_entry
	.type	arch_entry, %function
	.p2align 4
arch_entry:
	.cfi_startproc
	.cfi_undefined x30
	mov	x29, #0
	mov	x0, x20
	blr	x19
	brk	#1
	.cfi_endproc
	.size	arch_entry, . - arch_entry

/* The frame pointer leads back to the caller, for unwinders too: an exception may leave
 * a handler that runs here. */
	.globl	arch_call_on
	.hidden	arch_call_on
	.type	arch_call_on, %function
	.p2align 4
arch_call_on:
	.cfi_startproc
	stp	x29, x30, [sp, #-16]!
	.cfi_def_cfa_offset 16
	.cfi_offset x29, -16
	.cfi_offset x30, -8
	mov	x29, sp
	.cfi_def_cfa_register x29
	and	x9, x0, #~15
	mov	sp, x9
	mov	x9, x1
	mov	x0, x2
	mov	x1, x3
	mov	x2, x4
	blr	x9
	mov	sp, x29
	.cfi_def_cfa_register sp
	ldp	x29, x30, [sp], #16
	.cfi_def_cfa_offset 0
	ret
	.cfi_endproc
	.size	arch_call_on, . - arch_call_on

	.section .note.GNU-stack, "", %progbits

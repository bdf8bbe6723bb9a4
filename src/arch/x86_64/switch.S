/* SPDX-License-Identifier: Apache-2.0 */
/* First code of a context, x86-64: pops fn and arg (context.c puts them there) and calls
 * fn(arg), which never returns. The undefined return address ends every unwinder's walk
 * here. */

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
	callq	*%rax
	ud2
	.cfi_endproc
	.size	arch_entry, . - arch_entry

	.section .note.GNU-stack, "", @progbits

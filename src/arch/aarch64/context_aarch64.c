/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and the thread pointer, AArch64. */
#include <ucontext.h>

#include "arch/arch.h"

void arch_entry(void);

struct frame {
	uint64_t fpcr, pad;
	uint64_t d[8];
	uintptr_t x19, x20, x21, x22, x23, x24, x25, x26, x27, x28, fp, lr;
};
_Static_assert(offsetof(struct frame, fp) == ARCH_FRAME_FP &&
		   offsetof(struct frame, lr) == ARCH_FRAME_IP &&
		   sizeof(struct frame) == ARCH_FRAME_SIZE,
	       "as arch.h says");

uint64_t arch_fp_env(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, fpcr" : "=r"(v));
	return v;
}

void *arch_context_init(void *top, void (*fn)(void *), void *arg, uint64_t fp)
{
	struct frame *f = (struct frame *)((uintptr_t)top & ~(uintptr_t)15) - 1;

	__builtin_memset(f, 0, sizeof(*f));
	f->fpcr = fp;
	f->x19 = (uintptr_t)fn;
	f->x20 = (uintptr_t)arg;
	f->lr = (uintptr_t)arch_entry;
	return f;
}

void arch_context_regs(void *sp, struct arch_regs *r)
{
	const struct frame *f = sp;

	__builtin_memset(r, 0, sizeof(*r));
	r->ip = f->lr;
	r->sp = (uintptr_t)sp + sizeof(*f);
	r->fp = f->fp;
}

uintptr_t arch_ucontext_sp(const void *uc)
{
	const ucontext_t *u = uc;

	return u->uc_mcontext.sp;
}

uintptr_t arch_ucontext_ip(const void *uc)
{
	return ((const ucontext_t *)uc)->uc_mcontext.pc;
}

void arch_ucontext_place(void *uc, uintptr_t ip, uintptr_t sp)
{
	ucontext_t *u = uc;

	u->uc_mcontext.pc = ip;
	u->uc_mcontext.sp = sp;
}

/* x19: uc_link. */
void arch_ucontext_make(void *uc, void (*fn)(void), int n, va_list args,
			void (*ends)(void))
{
	ucontext_t *u = uc;
	uintptr_t end = (uintptr_t)u->uc_stack.ss_sp + u->uc_stack.ss_size;
	int more = n > 8 ? n - 8 : 0;
	uintptr_t *sp = (uintptr_t *)((end - 8 * (uintptr_t)more) & ~15ul);

	for (int i = 0; i < n; i++)
		if (i < 8)
			u->uc_mcontext.regs[i] = va_arg(args, uintptr_t);
		else
			sp[i - 8] = va_arg(args, uintptr_t);
	u->uc_mcontext.regs[19] = (uintptr_t)u->uc_link;
	u->uc_mcontext.regs[29] = 0;
	u->uc_mcontext.regs[30] = (uintptr_t)ends;
	arch_ucontext_place(uc, (uintptr_t)fn, (uintptr_t)sp);
}

struct arch_bytes arch_libc_cancel_point(void)
{
	return (struct arch_bytes){ NULL, 0, 0 };
}

bool arch_has_fsgsbase(void)
{
	return true;
}

void *arch_get_tp(void)
{
	void *tp;

	__asm__("mrs %0, tpidr_el0" : "=r"(tp));
	return tp;
}

void arch_set_tp(void *tp)
{
	__asm__ volatile("msr tpidr_el0, %0" ::"r"(tp) : "memory");
}

const char *arch_tp_how(void)
{
	return "tpidr_el0";
}

bool arch_full_threads(void)
{
	return false;
}

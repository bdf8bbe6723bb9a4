/* SPDX-License-Identifier: Apache-2.0 */
/* Contexts and the thread pointer, x86-64. */
#include <sys/auxv.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "base/sys.h"

#define ARCH_GET_FS 0x1003
#define HWCAP2_FSGSBASE_BIT 2u

void arch_entry(void);

struct frame {
	uint32_t mxcsr;
	uint32_t x87cw;
	uintptr_t rbp, ip;
};
_Static_assert(offsetof(struct frame, rbp) == ARCH_FRAME_FP &&
		   offsetof(struct frame, ip) == ARCH_FRAME_IP &&
		   sizeof(struct frame) == ARCH_FRAME_SIZE,
	       "as arch.h says");

/* What arch_entry pops. */
struct entry {
	uintptr_t fn, arg, end[2];
};

uint64_t arch_fp_env(void)
{
	uint32_t mxcsr;
	uint16_t cw; /* as wide as the store: a wider load would stall behind it */

	__asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(mxcsr), "=m"(cw));
	return (uint64_t)cw << 32 | mxcsr;
}

void *arch_context_init(void *top, void (*fn)(void *), void *arg, uint64_t fp)
{
	/* after arch_entry's two pops and its push, fn has the ABI's alignment */
	struct entry *e = (struct entry *)((uintptr_t)top & ~(uintptr_t)15) - 1;
	struct frame *f = (struct frame *)(void *)e - 1;

	e->fn = (uintptr_t)fn;
	e->arg = (uintptr_t)arg;
	e->end[0] = e->end[1] = 0;
	f->mxcsr = (uint32_t)fp;
	f->x87cw = (uint32_t)(fp >> 32);
	f->rbp = 0;
	f->ip = (uintptr_t)arch_entry;
	return f;
}

void arch_context_regs(void *sp, struct arch_regs *r)
{
	const struct frame *f = sp;

	r->ip = f->ip;
	r->sp = (uintptr_t)sp + sizeof(*f);
	r->fp = f->rbp;
}

uintptr_t arch_ucontext_sp(const void *uc)
{
	const ucontext_t *u = uc;

	return (uintptr_t)u->uc_mcontext.gregs[REG_RSP];
}

uintptr_t arch_ucontext_ip(const void *uc)
{
	return (uintptr_t)((const ucontext_t *)uc)->uc_mcontext.gregs[REG_RIP];
}

void arch_ucontext_place(void *uc, uintptr_t ip, uintptr_t sp)
{
	greg_t *r = ((ucontext_t *)uc)->uc_mcontext.gregs;

	r[REG_RIP] = (greg_t)ip;
	r[REG_RSP] = (greg_t)sp;
}

/* uc_link lies above the arguments that have no register; rbx points to it. */
void arch_ucontext_make(void *uc, void (*fn)(void), int n, va_list args,
			void (*ends)(void))
{
	static const int in[] = { REG_RDI, REG_RSI, REG_RDX, REG_RCX, REG_R8, REG_R9 };
	ucontext_t *u = uc;
	greg_t *r = u->uc_mcontext.gregs;
	uintptr_t end = (uintptr_t)u->uc_stack.ss_sp + u->uc_stack.ss_size;
	int more = n > 6 ? n - 6 : 0;
	uintptr_t *sp = (uintptr_t *)((end - 8 * (uintptr_t)(more + 1)) & ~15ul) - 1;

	sp[0] = (uintptr_t)ends;
	for (int i = 0; i < n; i++)
		if (i < 6)
			r[in[i]] = va_arg(args, greg_t);
		else
			sp[i - 5] = va_arg(args, uintptr_t);
	sp[1 + more] = (uintptr_t)u->uc_link;
	r[REG_RBX] = (greg_t)&sp[1 + more];
	arch_ucontext_place(uc, (uintptr_t)fn, (uintptr_t)sp);
}

struct arch_bytes arch_libc_cancel_point(void)
{
	static const unsigned char bytes[] = {
		0x49, 0x89, 0xfb,             /* mov %rdi, %r11 */
		0x48, 0x89, 0xf0,             /* mov %rsi, %rax */
		0x48, 0x89, 0xd7,             /* mov %rdx, %rdi */
		0x48, 0x89, 0xce,             /* mov %rcx, %rsi */
		0x4c, 0x89, 0xc2,             /* mov %r8, %rdx */
		0x4d, 0x89, 0xca,             /* mov %r9, %r10 */
		0x4c, 0x8b, 0x44, 0x24, 0x08, /* mov 8(%rsp), %r8 */
		0x4c, 0x8b, 0x4c, 0x24, 0x10, /* mov 16(%rsp), %r9 */
		0x4c, 0x89, 0x5c, 0x24, 0x08, /* mov %r11, 8(%rsp) */
		0x0f, 0x05,                   /* syscall */
	};

	return (struct arch_bytes){ bytes, sizeof(bytes), 6 /* jne */ };
}

bool arch_has_fsgsbase(void)
{
	return getauxval(AT_HWCAP2) & HWCAP2_FSGSBASE_BIT;
}

void *arch_get_tp(void)
{
	void *tp;

	__asm__("movq %%fs:0, %0" : "=r"(tp)); /* the TCB's first word is its address */
	return tp;
}

void arch_set_tp(void *tp)
{
	if (arch_has_fsgsbase())
		__asm__ volatile("wrfsbase %0" ::"r"(tp) : "memory");
	else
		sys2(SYS_arch_prctl, ARCH_SET_FS, tp);
}

const char *arch_tp_how(void)
{
	return arch_has_fsgsbase() ? "wrfsbase" : "arch_prctl (slower switches)";
}

bool arch_full_threads(void)
{
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* pt_jump.c - places that are saved and jumped back to: setjmp, getcontext and their
 * kin.
 *
 * libc does not know three things of a user thread:
 *
 *   its signal mask     libc saves the kernel's mask, which is the carrier's. Before
 *                       that, we store ours beside it, in the part of libc's sigset_t
 *                       for which the kernel has no signals. A jump takes it from there
 *   being in a handler  a thread that leaves a handler by a jump is no guest any more
 *                       (pt_signal.c), nor is a thread that ends in a handler
 *   being in a call     what the calls hold that a jump leaves is released (io_jumped)
 *
 * A function that returns twice must not have a frame of ours under it. So a few
 * instructions (saves_*.S) call jump_saves and go on to libc's function as if the
 * program had called that. getcontext and swapcontext call libc's getcontext, and then
 * set the place to return to.
 *
 * In a ucontext_t, uc_sigmask is the thread's own mask, as in the context that a
 * handler is given. libc's code would set it in the kernel, whose mask is the
 * carrier's. So a user thread enters a context by a few instructions of ours
 * (context_load), and a context that ends goes to its uc_link by ours, too. Any thread
 * may continue a context, also a kernel thread, as natively.
 *
 * Rejected: the carrier's mask where libc looks, and the thread's beside it (code that
 * reads or changes uc_sigmask, or comes by uc_link, would have the wrong one); libc's
 * setcontext on a copy (it would lie below the stack pointer that it loads, where
 * handlers run).
 *
 * A handler that is left by swapcontext may be continued later: it is not over. One
 * that is left by setcontext is over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <ucontext.h>

#include "arch/arch.h"
#include "base/at_load.h"
#include "io/io.h"
#include "preload/pt_signal.h"
#include "sched/vp.h"

#define SAVED 0x6b73616d206b7521ull

/* What we keep in libc's sigset_t. */
struct saved_mask {
	uint64_t kernels;
	uint64_t magic; /* SAVED: mask is a user thread's */
	uint64_t mask;
};

static struct saved_mask *saved_in(const sigset_t *set)
{
	return (struct saved_mask *)(uintptr_t)set;
}

static void save(sigset_t *set)
{
	struct saved_mask *m = saved_in(set);
	const struct posix_thread *self = &posix_self_tls;

	m->magic = self->thread && !posix_borrowed() ? SAVED : 0;
	m->mask = self->signals.mask;
}

/* Sets the mask of the caller, a user thread, and delivers what it lets through. */
static void restore(uint64_t mask)
{
	mask_set(&posix_self_tls.signals, mask);
	deliver_own();
}

/* ---- handlers that are left ---- */

#if defined(__x86_64__)
/* The stack pointer after the jump, which libc stores mangled. */
static uintptr_t stack_of_jump(const struct __jmp_buf_tag *env)
{
	uintptr_t v = (uintptr_t)env->__jmpbuf[6], guard;

	__asm__("mov %%fs:0x30, %0" : "=r"(guard));
	return (v >> 17 | v << 47) ^ guard;
}
#else
static uintptr_t stack_of_jump(const struct __jmp_buf_tag *env)
{
	(void)env;
	return UINTPTR_MAX;
}
#endif

/* Does a jump to sp leave the handler? A handler on a stack of its own is left by a
 * jump to anywhere else. As in the kernel, the lowest address of that stack is outside:
 * an array at the end of a frame begins where that frame's stack pointer is. A handler
 * that runs below what it interrupted is left by a jump above that. */
static bool leaves(const struct handler_frame *f, uintptr_t sp)
{
	return f->low ? sp - f->low - 1 >= f->high - f->low : sp >= f->sp;
}

/* Ends the handlers that a jump to sp leaves. True: there are some. */
static bool handlers_left(struct posix_signals *s, uintptr_t sp)
{
	struct uk_thread *was = NULL;
	bool any = false;

	for (; s->frames && leaves(s->frames, sp); s->frames = s->frames->prev) {
		any = true;
		was = s->frames->was ? s->frames->was : was;
		if (s->frames->disarmed.ss_sp)
			s->stack = s->frames->disarmed;
	}
	if (any && !posix_user()) { /* a guest, perhaps in a wait with a mask */
		wait_left(thread_self());
		interrupts_open(NULL);
	}
	if (was)
		handler_left();
	if (any && s->waits) /* the handler ran in sigwait */
		sigwait_left(s);
	if (any && handler_thread())
		io_jumped(handler_thread(), s->frames ? s->frames->outer : NULL);
	return any;
}

void signals_unwound(void)
{
	handlers_left(&posix_self_tls.signals, UINTPTR_MAX);
}

/* ---- setjmp ---- */

/* Runs before libc's function, whose address it returns. */
void *jump_saves(struct __jmp_buf_tag *env, int with_mask);
void *jump_saves(struct __jmp_buf_tag *env, int with_mask)
{
	if (with_mask)
		save(&env->__saved_mask);
	return (void *)NEXT(__sigsetjmp);
}

/* The caller is about to jump to env. Its mask becomes the one that it has there, and
 * *to is what libc is to jump by. True: the jump leaves a handler. */
static bool jump_begins(const struct __jmp_buf_tag *env, struct __jmp_buf_tag *to)
{
	struct posix_thread *self = &posix_self_tls;
	const struct saved_mask *m = saved_in(&env->__saved_mask);
	bool left = false;

	*to = *env;
	if (!self->thread || posix_borrowed()) {
		if (env->__mask_was_saved)
			signals_kernel_mask(m->kernels);
		return false;
	}
	self->signals.returning = false;
	if (unlikely(self->signals.frames))
		left = handlers_left(&self->signals, stack_of_jump(env));
	if (env->__mask_was_saved && m->magic == SAVED) {
		to->__mask_was_saved = 0;
		restore(m->mask);
	}
	return left;
}

#define JUMP(name)                                                                     \
	extern NORETURN void name(struct __jmp_buf_tag env[1], int value);             \
	LIBC_API NORETURN void name(struct __jmp_buf_tag env[1], int value)            \
	{                                                                              \
		struct __jmp_buf_tag to;                                               \
                                                                                       \
		jump_begins(env, &to);                                                 \
		NEXT(name)(&to, value);                                                \
		__builtin_unreachable();                                               \
	}

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)

/* libc's asks the kernel whether a jump downwards leaves an alternate stack. The kernel
 * does not know the alternate stack of a user thread. */
extern NORETURN void __longjmp_chk(struct __jmp_buf_tag env[1], int value);
LIBC_API NORETURN void __longjmp_chk(struct __jmp_buf_tag env[1], int value)
{
	struct __jmp_buf_tag to;

	if (jump_begins(env, &to))
		NEXT(longjmp)(&to, value);
	NEXT(__longjmp_chk)(&to, value);
	__builtin_unreachable();
}

/* ---- contexts ---- */

void *context_saves(void);
int context_saved(ucontext_t *uc, uintptr_t ip, uintptr_t sp);
int context_goes(const ucontext_t *to);
NORETURN void context_ended(const ucontext_t *next);
NORETURN void context_load(const ucontext_t *to, const uint64_t *kernels);
void context_ends(void);

/* libc's getcontext, which ours calls. It saves all but what context_saved puts
 * right. */
void *context_saves(void)
{
	return (void *)NEXT(getcontext);
}

int context_saved(ucontext_t *uc, uintptr_t ip, uintptr_t sp)
{
	arch_ucontext_place(uc, ip, sp);
	if (posix_self_tls.thread && !posix_borrowed())
		word_to(&uc->uc_sigmask, posix_self_tls.signals.mask);
	return 0;
}

/* Sets the kernel's mask, too: this may leave a handler that the kernel has called. */
int context_goes(const ucontext_t *to)
{
	uint64_t mask = word_of(&to->uc_sigmask);

	if (!posix_self_tls.thread || posix_borrowed()) {
		signals_kernel_mask(mask);
		return NEXT(setcontext)(to);
	}
	restore(mask);
	/* the kernel delivers to a child of fork that has not entered the runtime
	 * yet */
	context_load(to,
		     sched_unsettled() ? &posix_self_tls.signals.mask : &carrier_mask);
}

LIBC_API int setcontext(const ucontext_t *to)
{
	posix_self_tls.signals.returning = false;
	if (unlikely(posix_self_tls.signals.frames))
		handlers_left(&posix_self_tls.signals, arch_ucontext_sp(to));
	return context_goes(to);
}

void context_ended(const ucontext_t *next)
{
	if (next)
		context_goes(next);
	exit(0);
}

LIBC_API void makecontext(ucontext_t *uc, void (*fn)(void), int n, ...)
{
	va_list args;

	va_start(args, n);
	arch_ucontext_make(uc, fn, n, args, context_ends);
	va_end(args);
}

/* Handlers may call these, so they are looked up before there are any. */
AT_LOAD(look_up)
{
	jump_saves(NULL, 0);
	context_saves();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* jump.c - longjmp and its kin out of a handler: the handler is over, the thread is no guest
 * any more, and has the mask that the buffer tells of. So is it when a thread ends in one. */
#include <setjmp.h>

#include "posix/signal.h"

#if defined(__x86_64__)
/* Where the stack will be, as libc hides it. */
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

/* Does a jump to sp leave the handler? A handler on a stack of its own is left by a jump to
 * anywhere else; one that runs below what it interrupted, by a jump above that. */
static bool leaves(const struct handler_frame *f, uintptr_t sp)
{
	return f->low ? sp - f->low > f->high - f->low : sp >= f->sp;
}

/* Those that a jump to sp leaves are over; the mask is the one before them, where the buffer has
 * one. */
static void handlers_left(struct posix_signals *s, uintptr_t sp, bool with_mask)
{
	struct uk_thread *was = NULL;
	uint64_t mask = s->mask;

	for (; s->frames && leaves(s->frames, sp); s->frames = s->frames->prev) {
		mask = s->frames->mask;
		was = s->frames->was ? s->frames->was : was;
		if (s->frames->disarmed.ss_sp)
			s->stack = s->frames->disarmed;
	}
	if (with_mask)
		mask_set(s, mask);
	if (was)
		handler_left();
	if (with_mask) /* what the handler had shut out */
		deliver_own();
}

void signals_unwound(void)
{
	struct posix_signals *s = &posix_self_tls.signals;

	if (unlikely(s->frames))
		handlers_left(s, UINTPTR_MAX, false);
}

static void jump_begins(const struct __jmp_buf_tag *env)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uintptr_t sp = stack_of_jump(env);

	if (unlikely(s->frames && leaves(s->frames, sp)))
		handlers_left(s, sp, env->__mask_was_saved);
}

#define JUMP(name)                                                                     \
	extern NORETURN void name(struct __jmp_buf_tag env[1], int value);             \
	LIBC_API NORETURN void name(struct __jmp_buf_tag env[1], int value)            \
	{                                                                              \
		jump_begins(env);                                                      \
		NEXT(name)(env, value);                                                \
		__builtin_unreachable();                                               \
	}

JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)

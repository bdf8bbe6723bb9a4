/* SPDX-License-Identifier: Apache-2.0 */
/* jump.c - longjmp and its kin out of a handler: the handler is over, the thread is no guest
 * any more, and has the mask that the buffer tells of. */
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

/* Handlers whose frames the jump leaves are over; the mask is the one before them, where the
 * buffer has one. A jump from another stack leaves all of them. */
static void jump_begins(const struct __jmp_buf_tag *env)
{
	struct posix_signals *s = &posix_self_tls.signals;
	uintptr_t sp = stack_of_jump(env);
	struct uk_thread *was = NULL;
	uint64_t mask = s->mask;

	if (likely(!s->frames))
		return;
	for (; s->frames && (uintptr_t)s->frames < sp; s->frames = s->frames->prev) {
		mask = s->frames->mask;
		was = s->frames->was ? s->frames->was : was;
	}
	if (env->__mask_was_saved)
		mask_set(s, mask);
	if (was)
		handler_left();
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

/* SPDX-License-Identifier: Apache-2.0 */
/* Sanitizer hooks, which tell ASan and TSan that the stack changes; only in sanitizer
 * builds. Both sanitizers keep their per-thread state in TLS, so a sanitizer build
 * makes only light threads (the carrier's TLS stays) and announces fibers. */
#ifndef ARCH_SAN_H
#define ARCH_SAN_H

#include "base/base.h"

#define UK_SAN (UK_ASAN || UK_TSAN)

struct san_fiber {
	void *tsan;       /* fiber handle */
	void *fake;       /* ASan's fake stack while switched out */
	const void *base; /* stack, for ASan */
	size_t size;
};

#if UK_ASAN
void __sanitizer_start_switch_fiber(void **fake, const void *base, size_t size);
void __sanitizer_finish_switch_fiber(void *fake, const void **base, size_t *size);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);
#endif
#if UK_TSAN
void *__tsan_get_current_fiber(void);
void *__tsan_create_fiber(unsigned flags);
void __tsan_destroy_fiber(void *fiber);
void __tsan_switch_to_fiber(void *fiber, unsigned flags);
#endif

#if UK_SAN
static inline void san_create(struct san_fiber *f UNUSED, const void *base, size_t size)
{
	f->base = base;
	f->size = size;
	f->fake = NULL;
#if UK_TSAN
	f->tsan = __tsan_create_fiber(0);
#endif
}

static inline void san_adopt(struct san_fiber *f UNUSED)
{
#if UK_TSAN
	f->tsan = __tsan_get_current_fiber();
#endif
}

static inline void san_destroy(struct san_fiber *f UNUSED)
{
#if UK_TSAN
	__tsan_destroy_fiber(f->tsan);
#endif
}

static inline void san_leave(struct san_fiber *from UNUSED, struct san_fiber *to UNUSED,
			     bool dies UNUSED)
{
#if UK_ASAN
	__sanitizer_start_switch_fiber(dies ? NULL : &from->fake, to->base, to->size);
#endif
#if UK_TSAN
	/* 0: the switch synchronises, as a real one does through the queue's atomics */
	__tsan_switch_to_fiber(to->tsan, 0);
#endif
}

static inline void san_arrive(struct san_fiber *me UNUSED,
			      struct san_fiber *from UNUSED)
{
#if UK_ASAN
	const void *base;
	size_t size;

	__sanitizer_finish_switch_fiber(me->fake, &base, &size);
	if (from && !from->base) { /* a carrier's own stack: learn where it is */
		from->base = base;
		from->size = size;
	}
#endif
}
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* Atomics with the memory order in the name. They work on plain fields; the comment on
 * each such field says which thread writes it. A plain access to such a field is a bug
 * unless that comment says that only its owner touches it. */
#ifndef BASE_ATOMIC_H
#define BASE_ATOMIC_H

#include <stdbool.h>
#include <stdint.h>

#define load_relaxed(p) __atomic_load_n((p), __ATOMIC_RELAXED)
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define load_seq_cst(p) __atomic_load_n((p), __ATOMIC_SEQ_CST)
#define store_relaxed(p, v) __atomic_store_n((p), (v), __ATOMIC_RELAXED)
#define store_release(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define store_seq_cst(p, v) __atomic_store_n((p), (v), __ATOMIC_SEQ_CST)
#define xchg_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define xchg_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define xchg_seq_cst(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)
#define fetch_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define fetch_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define fetch_add_seq_cst(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define fetch_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define fetch_or_acq_rel(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define fetch_or_seq_cst(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define fetch_and_acq_rel(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)
/* *old holds the value seen on failure. */
#define cas_relaxed(p, old, new)                                                       \
	__atomic_compare_exchange_n((p), (old), (new), false, __ATOMIC_RELAXED,        \
				    __ATOMIC_RELAXED)
#define cas_acquire(p, old, new)                                                       \
	__atomic_compare_exchange_n((p), (old), (new), false, __ATOMIC_ACQUIRE,        \
				    __ATOMIC_RELAXED)
#define cas_release(p, old, new)                                                       \
	__atomic_compare_exchange_n((p), (old), (new), false, __ATOMIC_RELEASE,        \
				    __ATOMIC_RELAXED)
#define cas_acq_rel(p, old, new)                                                       \
	__atomic_compare_exchange_n((p), (old), (new), false, __ATOMIC_ACQ_REL,        \
				    __ATOMIC_ACQUIRE)
#define cas_seq_cst(p, old, new)                                                       \
	__atomic_compare_exchange_n((p), (old), (new), false, __ATOMIC_SEQ_CST,        \
				    __ATOMIC_SEQ_CST)
#if defined(__SANITIZE_THREAD__)
#define FENCES_AS_RMW 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FENCES_AS_RMW 1
#endif
#endif
#ifdef FENCES_AS_RMW
/* TSan does not model fences. It does see a read-modify-write of one shared word, which
 * orders at least as much. */
extern uint32_t fence_word;
#define fence_seq_cst() ((void)__atomic_fetch_add(&fence_word, 0, __ATOMIC_SEQ_CST))
#define fence_acquire() fence_seq_cst()
#define fence_release() fence_seq_cst()
#else
#define fence_seq_cst() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif
/* A fence for the compiler only: orders plain stores against a remote membarrier(2). */
#define fence_compiler() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* A counter with one writer and racy readers. */
#define bump(p, n) store_relaxed((p), load_relaxed(p) + (n))

static inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield" ::: "memory");
#endif
}

#endif

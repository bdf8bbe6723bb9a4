/* SPDX-License-Identifier: Apache-2.0 */
/* Method B: a block is what is left of a real thread. pthread_create makes it in memory
 * of ours. Its kernel thread reports its thread pointer, has its end announced at an
 * address outside the block (set_tid_address), and leaves by a raw exit, so that libc
 * never learns of it. The kernel unregisters rseq and reads the (empty) robust list by
 * itself.
 *
 *   low                                                           high
 *   | birth stack (given back) | struct tls_block | TLS | struct pthread |
 *
 * A block costs 25 us, and libc counts these threads for ever (so pthread_exit of the
 * last real thread does not end the process; use exit). The method needs none of A's
 * knowledge but the offset of the tid. Its blocks stay in libc's list of threads: a
 * dlopen initialises static TLS in them. */
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "arch/arch.h"
#include "base/os.h"
#include "thread/tls_block.h"

#define BIRTH_STACK ((size_t)32 << 10)

struct harvest {
	void *tp;
	uint32_t alive; /* the kernel clears it at the end */
};

int harvest_init(void)
{
	return glibc.tid == NOWHERE ? -ENOSYS : 0;
}

static void *harvest_thread(void *arg)
{
	struct harvest *h = arg;

	h->tp = arch_get_tp();
	sys1(SYS_set_tid_address, &h->alive);
	for (;;)
		sys1(SYS_exit, 0);
	return NULL;
}

static void *birth(char *mem, size_t size)
{
	struct harvest h = { .alive = 1 };
	pthread_t id;
	char *low;

	if (glibc_run(harvest_thread, &h, mem, size, &id))
		return NULL;
	/* the kernel's wake-up at the end of a thread is not a private one */
	while (load_acquire(&h.alive))
		sysn(SYS_futex, &h.alive, FUTEX_WAIT, 1, NULL, NULL, 0);
	low = (char *)((uintptr_t)tls_block_of(h.tp) & ~(PAGE - 1));
	if (low > mem)
		sys3(SYS_madvise, mem, low - mem, MADV_DONTNEED);
	*tls_block_of(h.tp) = (struct tls_block){ 0 };
	return h.tp;
}

void *harvest_make(void)
{
	size_t size = BIRTH_STACK + glibc.below + glibc.above + glibc.align;
	void *mem, *tp;

	size = (size + PAGE - 1) & ~(PAGE - 1);
	mem = os_map_stack(NULL, size);
	if (!mem)
		return NULL;
	tp = birth(mem, size);
	if (!tp) {
		os_unmap(mem, size);
		return NULL;
	}
	if (glibc.rseq != NOWHERE)
		memcpy((char *)tp + glibc.rseq, glibc.snap + glibc.below + glibc.rseq,
		       16);
	return tp;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Where a call's memory lies: may another thread than the caller read and write it?
 *
 * An operation in the reactor is carried out by the dispatcher, inside the runtime. A
 * page fault there that takes long keeps the vp and all threads that wait for it (law
 * 1, docs/ARCHITECTURE.md), perhaps also the thread that would provide the page. So
 * only resident memory goes to the reactor:
 *
 *   on the thread's own stack          yes: only the library maps there
 *   elsewhere, all pages resident      yes (mincore, remembered for the last place)
 *   elsewhere, some are not            no: the reactor says when the fd is ready, and
 *                                      the thread makes the call itself, outside
 *
 * The last case costs one more system call, for buffers that were never touched to
 * their end. A send was tried at once, outside the runtime, and what remains for a full
 * socket waits for space in the same way. But a short message among many goes to the
 * reactor (io_wait.c). And in a set with a network processor, which is to do the
 * network's work, sends go to it, too (io_leaves).
 *
 * Known gaps, which only a reactor that never moves bytes would avoid (at one more
 * system call for every receive):
 * - A page that was resident and is gone when the bytes arrive (the program gave it
 *   back, or memory is short) faults in the dispatcher. So does the runtime's own data
 *   in swapped memory.
 * - Another thread may hold a lock of the kernel while *it* faults: a pipe's during a
 *   write, a socket's during a send. A receive on the same file waits for it; in the
 *   dispatcher, all other threads wait with it, as long as the fault takes.
 * Neither hangs, unless the thread that must provide the page has to wait for this very
 * vp.
 *
 * Runs on the calling thread, between rt_enter and rt_exit.
 * Rejected: to fault pages in (a buffer of 64 KiB for each of 10,000 connections, of
 * which a hundred bytes are used, would be paid in full); to touch them here (a bad
 * pointer must give -EFAULT, not a signal); an operation as long as the resident part
 * (datagrams would be cut).
 */
#include "io/io.h"

#include <sys/mman.h>

#define PAGES_MAX 63u
#define VEC_MAX 8u
#define LOOKS_BITS 10

/* t->place, the last look: address of the first page | pages << 6 | ABSENT | uses
 * left */
#define LEFT_MASK 31u
#define ABSENT 32u
#define PAGES_SHIFT 6

static bool resident(struct uk_thread *t, uintptr_t lo, unsigned pages)
{
	unsigned char there[PAGES_MAX];
	long r;

	COUNT(t, syscalls);
	outside_begin(t);
	r = sys3(SYS_mincore, lo, pages * PAGE, there);
	outside_end(t);
	for (unsigned i = 0; r == 0 && i < pages; i++)
		if (!(there[i] & 1))
			return false;
	return r == 0;
}

bool io_all_in_memory(struct uk_thread *t, const void *p, size_t n)
{
	uintptr_t lo = (uintptr_t)p & ~(PAGE - 1), end = (uintptr_t)p + n;

	if (end < lo)
		return false;
	for (size_t pages; n && lo < end; lo += pages * PAGE) {
		pages = MIN((end - lo + PAGE - 1) / PAGE, (size_t)PAGES_MAX);
		if (!resident(t, lo, (unsigned)pages))
			return false;
	}
	return true;
}

bool io_in_memory(struct uk_thread *t, const void *p, size_t n)
{
	uintptr_t lo = (uintptr_t)p & ~(PAGE - 1);
	size_t pages = ((uintptr_t)p + n + PAGE - 1 - lo) / PAGE;
	uint64_t key, place = t->place;

	if (likely(thread_on_stack(t, p, n)) || !n)
		return true;
	if (n > PAGES_MAX * PAGE || pages > PAGES_MAX)
		return false;
	key = lo | pages << PAGES_SHIFT;
	if (likely((place & ~(uint64_t)(ABSENT | LEFT_MASK)) == key &&
		   place & LEFT_MASK)) {
		t->place = place - 1;
		return !(place & ABSENT);
	}
	t->place = key | LEFT_MASK | (resident(t, lo, (unsigned)pages) ? 0 : ABSENT);
	return !(t->place & ABSENT);
}

/* by page; as t->place, for one page. Any thread writes; a hint */
static uint64_t looks[1 << LOOKS_BITS];

static bool page_in_memory(struct uk_thread *t, uintptr_t page)
{
	/* malloc's arenas have the same lower bits */
	uint64_t hash = page / PAGE * 0x9e3779b97f4a7c15u;
	uint64_t *at = &looks[hash >> (64 - LOOKS_BITS)], look = load_relaxed(at);

	if ((look & ~(PAGE - 1)) != page || !(look & LEFT_MASK))
		look = page | LEFT_MASK | (resident(t, page, 1) ? 0 : ABSENT);
	store_relaxed(at, look - 1);
	return !(look & ABSENT);
}

/* The same for short buffers in memory that many threads use in turn: all share the
 * last look. */
bool io_in_shared_memory(struct uk_thread *t, const void *p, size_t n)
{
	uintptr_t page = (uintptr_t)p & ~(PAGE - 1), end = (uintptr_t)p + n;

	if (thread_on_stack(t, p, n))
		return true;
	if (end < page)
		return false;
	for (; page < end; page += PAGE)
		if (!page_in_memory(t, page))
			return false;
	return true;
}

/* A list is read only if it is on the caller's own stack, because elsewhere it may not
 * be resident. many = false: elements elsewhere only if there is one, for which the
 * last look is remembered. many = true: each such element costs a look. */
static bool list_in_memory(struct uk_thread *t, const struct iovec *v, size_t n,
			   bool many)
{
	if (n > VEC_MAX || !thread_on_stack(t, v, n * sizeof(*v)))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!thread_on_stack(t, v[i].iov_base, v[i].iov_len) &&
		    ((n > 1 && !many) || !io_in_memory(t, v[i].iov_base, v[i].iov_len)))
			return false;
	return true;
}

static bool message_in_memory(struct uk_thread *t, const struct msghdr *m, bool many)
{
	return thread_on_stack(t, m, sizeof(*m)) &&
	       (!m->msg_name || thread_on_stack(t, m->msg_name, m->msg_namelen)) &&
	       (!m->msg_control ||
		thread_on_stack(t, m->msg_control, m->msg_controllen)) &&
	       list_in_memory(t, m->msg_iov, m->msg_iovlen, many);
}

bool io_in_place(struct uk_thread *t, const struct io_op *op)
{
	switch ((enum io_kind)op->kind) {
	case IO_READ:
	case IO_RECV:
	case IO_CONNECT:
		return io_in_memory(t, op->addr, op->len);
	case IO_READV:
		return list_in_memory(t, op->addr, op->len, false);
	case IO_RECVMSG:
		return message_in_memory(t, op->addr, false);
	case IO_ACCEPT:
		return !op->addr ||
		       (thread_on_stack(t, op->addr2, sizeof(socklen_t)) &&
			thread_on_stack(t, op->addr, *(const socklen_t *)op->addr2));
	case IO_POLL:
	case IO_FSYNC:
		return true;
	case IO_SEND:
	case IO_SENDMSG:
	case IO_WRITE:
	case IO_WRITEV:
		return io_leaves(t, op);
	default:
		return false;
	}
}

/* Does op send on a socket? */
static bool sends(const struct io_op *op)
{
	if (op->kind == IO_SEND || op->kind == IO_SENDMSG)
		return true;
	return (op->kind == IO_WRITE || op->kind == IO_WRITEV) &&
	       op->off == IO_CURRENT && fd_hint(op->fd) & HINT_SOCK;
}

bool io_leaves(struct uk_thread *t, const struct io_op *op)
{
	if (likely(!sched_io_served(t)) || !sends(op))
		return false;
	if (op->kind == IO_SENDMSG)
		return message_in_memory(t, op->addr, true);
	return op->kind == IO_WRITEV ? list_in_memory(t, op->addr, op->len, true)
				     : io_in_memory(t, op->addr, op->len);
}

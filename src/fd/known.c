/* SPDX-License-Identifier: Apache-2.0 */
/* What is known about sockets: whether one has O_NONBLOCK, and that it has no time
 * limit. A call that is about to wait needs both. To ask the kernel takes two of the
 * three system calls of a request; in an event-loop program, whose reads often find
 * nothing, one of four.
 *
 * Nothing is assumed, and nothing is remembered that another party could change unseen.
 * Only a socket is known that this process has made itself (known_born), that no other
 * process can hold, and that has one fd. Every change of it goes by that fd and through
 * the preload library, which forgets *before* the change is made:
 *
 *   fcntl(F_SETFL), ioctl(FIONBIO)                        O_NONBLOCK, during the change
 *   the same by syscall(2), setsockopt(SO_RCVTIMEO ...)   what they change, for good
 *   dup and its like, a message that passes fds           all, for good
 *   close, dup2 onto the fd, close_range, fclose          all, for good
 *   fork, in all its forms                                all of all (below)
 *
 * For good means for this life of the fd, so an answer that is out of date cannot be
 * recorded. A thread that asked the kernel before the change finds the word changed,
 * and a thread that asks after it may not record the answer. The word includes a
 * counter of lives, for a thread that is stopped between question and answer while the
 * fd is closed and reopened.
 *
 * O_NONBLOCK is what programs set once, right after accept, so it may be recorded again
 * once the change is made (known_changed): at once, if fcntl has set it. A change begins
 * another life (known_change), so a thread that asked before it or during it records
 * nothing. If two changes overlap, it is unknown which one the kernel made last. The
 * second finds that nothing may be recorded and begins a life all the same, as does a
 * call that forgets for good meanwhile. So the first finds a word that is not its own,
 * and forgets for good. A change that never returns (a jump out of a handler) has
 * forgotten for good.
 * tests/fd/known.c tries all orders of two changes, a thread that asks, and dup.
 *
 * A thread that looked at the word before it was forgotten has made its call before the
 * change, as natively: O_NONBLOCK does not wake a reader that sleeps in the kernel
 * either.
 *
 * Programs that use the library's own API close and set flags through libc, without our
 * knowledge. So no socket is born there, and each wait asks the kernel (but see
 * uk_recv_ahead). Even the preload library does not see system calls that a program
 * makes by instructions of its own, and processes that take fds out of this one
 * (pidfd_getfd, a debugger); uk-posix(7) says so. As a second check, a read of a known
 * socket is made as a receive (io_wait.c), which fails if the fd is no socket.
 *
 * O_NONBLOCK belongs to the open file, which a child shares. So from a fork on, the
 * child may change what we know of a socket, unseen. Therefore each fork of any kind
 * (fork, vfork, _Fork, clone, posix_spawn and its callers) lies between a begin and an
 * end, and one word, fd_shares, says
 *
 *	63 ............ 24 | 23 ......... 0
 *	how many there were  are under way
 *
 * The word is read before the call that makes a socket. If no fork was under way then,
 * the socket is in no child as long as the upper part of the word is the same. begin
 * comes before the child exists. So before the child can do anything, and before any
 * thread can learn of it, the word has its new value.
 *
 * A child that has memory of its own and was not told (_Fork, clone) finds a fork under
 * way for ever: it knows nothing of its sockets, and asks the kernel. fork's child
 * begins with none under way.
 *
 * Runs on any thread, in handlers, in children of vfork (where it forgets more than
 * needed, which is harmless).
 * Rejected: the same for pipes (they are made to be inherited); a lock for each fd
 * (each wait would take it); recording limits again (few programs set one twice); a
 * lock around forks (fork is allowed in handlers). */
#include "fd/known.h"

#include <pthread.h>
#include <sys/socket.h>

#include "base/at_load.h"
#include "fd/hint.h"

uint64_t fd_shares;

/* The next life after w's: nothing known, nothing allowed, fork epoch 0. */
static uint64_t next_life(uint64_t w)
{
	return (uint32_t)((w | (KNOWN_LIFE - 1)) + 1);
}

void known_born(int fd, uint64_t before, int flags)
{
	struct fd_state *s = fd_at(fd);
	uint64_t w;

	if (!s)
		return;
	fd_hint_set(fd, 0);
	w = next_life(load_relaxed(&s->known));
	if (!(before & SHARE_UNDER_WAY))
		w |= (uint64_t)known_epoch(before) << KNOWN_EPOCH | KNOWN_MAY_FLAGS |
		     KNOWN_MAY_LIMITS |
		     (flags & SOCK_NONBLOCK ? KNOWN_NONBLOCK : KNOWN_BLOCKS);
	/* release: a thread that learns of the fd from us finds this word, not the last
	 * life's */
	store_release(&s->known, w);
}

/* Returns the word before; *now: the word after. */
static uint64_t begin_anew(uint64_t *at, unsigned what, uint64_t *now)
{
	uint64_t w = load_relaxed(at),
		 kept = ~(uint64_t)UINT32_MAX | (KNOWN_ALL & ~what);

	do
		*now = next_life(w) | (w & kept);
	while (!cas_acq_rel(at, &w, *now));
	return w;
}

/* Also if nothing is known: a change by another thread may be under way. */
void known_forget(int fd, unsigned what)
{
	struct fd_state *s = fd_peek(fd);
	uint64_t now;

	if (s && load_relaxed(&s->known))
		begin_anew(&s->known, what, &now);
}

uint64_t known_change(int fd)
{
	struct fd_state *s = fd_peek(fd);
	uint64_t now;

	return s && begin_anew(&s->known, KNOWN_FLAGS, &now) & KNOWN_MAY_FLAGS ? now
									       : 0;
}

void known_changed(int fd, uint64_t change, unsigned what)
{
	uint64_t w = change, set = change | KNOWN_MAY_FLAGS | what;

	if (change && !cas_acq_rel(&fd_peek(fd)->known, &w, set))
		known_forget(fd, KNOWN_FLAGS);
}

void known_forget_all(void)
{
	fd_share_begin();
	fd_share_end();
}

void fd_share_begin(void)
{
	fetch_add_seq_cst(&fd_shares, (UINT64_C(1) << SHARE_EPOCH) + 1);
}

void fd_share_end(void)
{
	/* release: a thread that finds none under way makes its socket after the child
	 * was made */
	fetch_sub_acq_rel(&fd_shares, 1);
}

static void alone(void)
{
	store_relaxed(&fd_shares, fd_shares & ~(uint64_t)SHARE_UNDER_WAY);
}

AT_LOAD(share_register)
{
	pthread_atfork(fd_share_begin, fd_share_end, alone);
}

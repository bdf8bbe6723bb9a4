/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of sockets: whether one blocks, that it has no time limit. A call that is about to
 * wait needs both, and to ask the kernel costs two system calls of the three that a request
 * takes; of an event loop's program, whose reads often find nothing, one of four.
 *
 * Nothing is assumed, and nothing is known that somebody else could change unseen. Known is
 * only a socket that this process has made itself (known_born), that no other process can
 * hold, and that has one number: whoever may change it then goes by that number and through
 * the drop-in, which forgets *before* the change is made:
 *
 *   fcntl(F_SETFL), ioctl(FIONBIO)                                 O_NONBLOCK, until it is made
 *   the same by syscall(2), setsockopt(SO_RCVTIMEO, ...)           what they are about, for good
 *   dup and its like, a message that passes descriptors            all, for good
 *   close, dup2 onto the number, close_range, fclose               all, for good
 *   fork, in all its forms                                         all of all (share.c)
 *
 * For good means for this life of the number, so there is no moment at which an answer that
 * is out of date could be learnt: who asked before the change finds the word another one, and
 * who asks after it may not learn. The number of the life is in the word for who stands still
 * between question and answer while the number is closed and made anew.
 *
 * O_NONBLOCK is what programs set once, right after accept, so that it may be learnt again when
 * the change is made (known_changed). A change begins another life (known_change): who asked
 * before it learns nothing, nor does who asks under way. Of two at once nobody knows which the
 * kernel made later: the second finds that nothing may be learnt, and begins a life all the
 * same, as does whoever forgets for good meanwhile; so the first finds another word than its
 * own, and forgets for good. One that never comes back (a jump out of a handler) has forgotten
 * for good. tests/io/known.c goes through all orders of two changes, who asks, and dup.
 *
 * Who has looked at the word before it is forgotten has made his call before the change, as
 * natively: a reader that sleeps in the kernel is not woken by O_NONBLOCK either.
 *
 * The library's own users close and set flags by libc, behind our back. So nothing is born
 * there, and each wait asks (but see uk_recv_ahead). What even the drop-in cannot see:
 * system calls that a program makes by instructions of its own, and who takes descriptors out
 * of this process (pidfd_getfd, a debugger): uk-posix(7) says so. As a second line a read of
 * what is known is made as a receive (call.c), which what is no socket refuses.
 *
 * Runs on any thread, in handlers, in children of vfork (whose forgetting is too much, no
 * harm). Rejected: the same for pipes (they are made to be inherited); a lock for each number
 * (each wait would take it); to learn limits again (few set one twice). */
#include "io/known.h"

#include "io/io.h"

uint64_t known_words[SCHED_AHEAD_FDS];

/* The next life in the place of w's, nothing of it known or allowed, before any fork. */
static uint64_t next_life(uint64_t w)
{
	return (uint32_t)((w | (KNOWN_LIFE - 1)) + 1);
}

void known_born(int fd, uint64_t before)
{
	uint64_t w;

	if ((unsigned)fd >= array_size(known_words))
		return;
	io_hint_set(fd, 0);
	w = next_life(load_relaxed(&known_words[fd]));
	if (!(before & SHARE_UNDER_WAY))
		w |= (uint64_t)known_epoch(before) << KNOWN_EPOCH | KNOWN_MAY_FLAGS |
		     KNOWN_MAY_LIMITS;
	/* release: whoever learns of the number from us finds this, not its last life */
	store_release(&known_words[fd], w);
}

/* The word before; *now: after it. */
static uint64_t begin_anew(int fd, unsigned what, uint64_t *now)
{
	uint64_t w = load_relaxed(&known_words[fd]),
		 kept = ~(uint64_t)UINT32_MAX | (KNOWN_ALL & ~what);

	do
		*now = next_life(w) | (w & kept);
	while (!cas_acq_rel(&known_words[fd], &w, *now));
	return w;
}

/* Also where nothing is known: somebody's change may be under way. */
void known_forget(int fd, unsigned what)
{
	uint64_t now;

	if ((unsigned)fd < array_size(known_words) && load_relaxed(&known_words[fd]))
		begin_anew(fd, what, &now);
}

uint64_t known_change(int fd)
{
	uint64_t now;

	if ((unsigned)fd >= array_size(known_words))
		return 0;
	return begin_anew(fd, KNOWN_FLAGS, &now) & KNOWN_MAY_FLAGS ? now : 0;
}

void known_changed(int fd, uint64_t change)
{
	uint64_t w = change;

	if (change && !cas_acq_rel(&known_words[fd], &w, change | KNOWN_MAY_FLAGS))
		known_forget(fd, KNOWN_FLAGS);
}

void known_forget_all(void)
{
	sched_share_begin();
	sched_share_end();
}

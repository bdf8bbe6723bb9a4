/* SPDX-License-Identifier: Apache-2.0 */
/* What is known of sockets: that one blocks and has no time limit. A call that is about to wait
 * needs both, and to ask the kernel costs two system calls of the three that a request takes.
 *
 * Nothing is assumed, and nothing is known that somebody else could change unseen. Known is
 * only a socket that this process has made itself (known_born), that no other process can
 * hold, and that has one number: whoever may change it then goes by that number and through
 * the drop-in, which forgets *before* the change is made:
 *
 *   fcntl(F_SETFL), ioctl(FIONBIO), setsockopt(SO_RCVTIMEO, ...)   what they are about
 *   dup and its like, a message that passes descriptors            all, for good
 *   close, dup2 onto the number, close_range, fclose               all, for good
 *   fork, in all its forms                                         all of all (share.c)
 *
 * For good means for this life of the number, so there is no moment at which an answer that
 * is out of date could be learnt: who asked before the change finds the word another one, and
 * who asks after it may not learn. The number of the life is in the word for who stands still
 * between question and answer while the number is closed and made anew.
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
 * (each wait would take it); to learn again once the flags are back (the moment above). */
#include "io/known.h"

#include "io/io.h"

uint64_t known_words[SCHED_AHEAD_FDS];

void known_born(int fd, uint64_t before)
{
	uint64_t w;

	if ((unsigned)fd >= array_size(known_words))
		return;
	io_hint_set(fd, 0);
	w = load_relaxed(&known_words[fd]);
	w = (uint32_t)((w | (KNOWN_LIFE - 1)) + 1);
	if (!(before & SHARE_UNDER_WAY))
		w |= (uint64_t)known_epoch(before) << KNOWN_EPOCH | KNOWN_MAY_BLOCK |
		     KNOWN_MAY_LIMITS;
	/* release: whoever learns of the number from us finds this, not its last life */
	store_release(&known_words[fd], w);
}

void known_forget(int fd, unsigned what)
{
	if ((unsigned)fd < array_size(known_words) &&
	    load_relaxed(&known_words[fd]) & what)
		fetch_and_acq_rel(&known_words[fd], ~(uint64_t)what);
}

void known_forget_all(void)
{
	sched_share_begin();
	sched_share_end();
}

/* SPDX-License-Identifier: Apache-2.0 */
/* When other processes may have come to hold our open files.
 *
 * O_NONBLOCK belongs to the open file, and a child has the same ones: from a fork on, it may
 * change what we know of a socket, unseen. So each fork, of whatever kind (fork, vfork, _Fork,
 * clone, posix_spawn and who calls it), stands between a begin and an end, and one word says
 *
 *	63 ............ 24 | 23 ......... 0
 *	how many there were  are under way
 *
 * A socket that was made when none was under way, by the same word before the call that made
 * it, is in no child as long as the upper part is the same. begin comes before the child is:
 * whatever the child does, and whoever hears of that, has the new word before.
 *
 * A child that has memory of its own and was not told (_Fork, clone) finds one under way for
 * ever: it knows nothing of its sockets, and asks. fork's child begins at none.
 *
 * Any thread, and any handler; rejected: a lock around forks (fork is allowed in handlers). */
#include <pthread.h>

#include "sched/sched.h"

uint64_t sched_shares; /* any thread, by fetch-and-add */

void sched_share_begin(void)
{
	fetch_add_seq_cst(&sched_shares, (UINT64_C(1) << SHARE_EPOCH) + 1);
}

void sched_share_end(void)
{
	/* release: who finds none under way makes its socket after the child was made */
	fetch_sub_acq_rel(&sched_shares, 1);
}

static void alone(void)
{
	store_relaxed(&sched_shares, sched_shares & ~(uint64_t)SHARE_UNDER_WAY);
}

__attribute__((constructor)) static void share_register(void)
{
	pthread_atfork(sched_share_begin, sched_share_end, alone);
}

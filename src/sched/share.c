/* SPDX-License-Identifier: Apache-2.0 */
/* share.c - whether other processes may hold our open files.
 *
 * O_NONBLOCK belongs to the open file, which a child shares. So from a fork on, the
 * child may change what we know of a socket, unseen. Therefore each fork of any kind
 * (fork, vfork, _Fork, clone, posix_spawn and its callers) lies between a begin and an
 * end, and one word says
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
 * Runs on any thread and in any handler. Rejected: a lock around forks (fork is allowed
 * in handlers).
 */
#include <pthread.h>

#include "base/at_load.h"
#include "sched/sched.h"

uint64_t sched_shares; /* any thread, by fetch-and-add */

void sched_share_begin(void)
{
	fetch_add_seq_cst(&sched_shares, (UINT64_C(1) << SHARE_EPOCH) + 1);
}

void sched_share_end(void)
{
	/* release: a thread that finds none under way makes its socket after the child
	 * was made */
	fetch_sub_acq_rel(&sched_shares, 1);
}

static void alone(void)
{
	store_relaxed(&sched_shares, sched_shares & ~(uint64_t)SHARE_UNDER_WAY);
}

AT_LOAD(share_register)
{
	pthread_atfork(sched_share_begin, sched_share_end, alone);
}

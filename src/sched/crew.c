/* SPDX-License-Identifier: Apache-2.0 */
/* crew.c - kernel threads that begin together, or not at all.
 *
 * A vp set needs one for each vp, the start of the runtime two more, and the kernel may
 * refuse the last of them. A carrier that has dispatched cannot be stopped. So all of
 * them are created first and wait. Meanwhile everything that they use is made. Then
 * they all begin, or they all return without having done anything, and the memory can
 * be freed.
 *
 *   CALLED --crew_begin----> BEGUN      each leaves the crew and calls its function
 *   CALLED --crew_dismiss--> DISMISSED  each returns; they are joined
 *
 * Runs on the thread that starts the runtime or makes a set, under the set lock.
 *
 * Rejected: to let them begin one by one, and keep those that were made when a later
 * one fails (their vps idled for good, and a second start made more of them); to unmap
 * the crew (no thread knows when the last one has left, and a race detector is not told
 * that an address is new). It is kept for the next call instead.
 */
#include <limits.h>
#include <pthread.h>

#include "base/libc.h"
#include "base/os.h"
#include "sched/vp.h"

enum crew_state { CREW_CALLED, CREW_BEGUN, CREW_DISMISSED };

struct member {
	struct crew *crew;
	void *(*fn)(void *);
	void *arg;
	pthread_t thread;
};

struct crew {
	uint32_t state; /* enum crew_state, futex; written by the caller */
	uint32_t left;  /* members that may still read this */
	unsigned n;
	size_t bytes;
	struct member member[];
};

static struct crew *kept; /* set lock */

static void *member_main(void *arg)
{
	struct member *m = arg;
	void *(*fn)(void *) = m->fn;
	void *fn_arg = m->arg;

	while (load_acquire(&m->crew->state) == CREW_CALLED)
		sys_futex_wait(&m->crew->state, CREW_CALLED, TIME_NEVER);
	if (load_relaxed(&m->crew->state) == CREW_DISMISSED)
		return NULL;
	/* release: a caller that sees 0 may write here (pairs with crew_call) */
	fetch_add_acq_rel(&m->crew->left, -1u);
	return fn(fn_arg);
}

struct crew *crew_call(unsigned most)
{
	size_t bytes = sizeof(struct crew) + most * sizeof(struct member);
	struct crew *w = kept;

	if (!w || w->bytes < bytes || load_acquire(&w->left)) {
		w = os_map(bytes);
		if (!w)
			return NULL;
		w->bytes = bytes;
		kept = w; /* an older one is leaked: a page or two */
	}
	w->n = 0;
	store_relaxed(&w->state, CREW_CALLED);
	return w;
}

int crew_add(struct crew *w, void *(*fn)(void *), void *arg, size_t stack)
{
	struct member *m = &w->member[w->n];
	int r;

	dbg_assert((char *)(m + 1) <= (char *)w + w->bytes);
	*m = (struct member){ .crew = w, .fn = fn, .arg = arg };
	r = kernel_thread(member_main, m, stack, &m->thread);
	if (!r)
		w->n++;
	return r;
}

static void tell(struct crew *w, uint32_t state)
{
	/* release: a member that begins sees everything made for it */
	store_release(&w->state, state);
	sys_futex_wake(&w->state, INT_MAX);
}

void crew_begin(struct crew *w)
{
	store_relaxed(&w->left, w->n);
	for (unsigned i = 0; i < w->n; i++)
		LIBC(pthread_detach)(w->member[i].thread);
	tell(w, CREW_BEGUN);
}

void crew_dismiss(struct crew *w)
{
	tell(w, CREW_DISMISSED);
	for (unsigned i = 0; i < w->n; i++)
		LIBC(pthread_join)(w->member[i].thread, NULL);
}

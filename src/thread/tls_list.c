/* SPDX-License-Identifier: Apache-2.0 */
/* Our blocks in libc's list of threads.
 *
 * What libc does to "all threads" it does by walking its two lists of struct pthread. A
 * module that is loaded late and insists on static TLS (initial-exec in a shared
 * object) is initialised there, before its constructors run. setuid() and the like find
 * the threads to notify there. dlclose() finds the threads there that are in the middle
 * of a lookup, and waits for them. In a block that is in neither list, that TLS reads 0
 * where an initial value should be.
 *
 * The lists are under a lock of libc's that we cannot name. But their elements are
 * threads: one that is never joined and never ends is never taken out, and new ones
 * come at the head. So if two anchors (blocks of two threads whose end libc never
 * learns of, tls_harvest.c) are neighbours, they stay neighbours for libc, and what is
 * between them is ours:
 *
 *   head -> libc's newer ones -> first -> our blocks ... -> last -> libc's older ones
 *
 * A walker goes forward and never back, so one store publishes a block, and one takes
 * it out. A block that is taken out keeps its own links, for a walker that is at it at
 * that moment (tls_cold.c knows when there is none any more). A block's tid is none
 * that the kernel gives, so a signal to it is refused and libc goes on to the next.
 *
 * In a forked child libc begins with empty lists. The anchors are put in again by plain
 * stores, as long as the child has one thread.
 *
 * Rejected: to write the initial image into all blocks after dlopen (the module's
 * constructors have run by then, libc opens modules by itself, and a block that is
 * still zero looks like one that its thread has made zero). */
#include <limits.h>
#include <sched.h>

#include "arch/arch.h"
#include "base/lock.h"
#include "base/sys.h"
#include "thread/tls_block.h"

#define TRIES 16

struct link {
	struct link *next, *prev;
};

static struct lock lock = LOCK_INIT(RANK_TLS_LIST);
static struct link *head, *first, *last; /* constant after threads_list_init */

static struct link *link_of(void *tp)
{
	return (struct link *)(void *)((char *)tp + glibc.list);
}

/* A debugger's library walks the list, too, and asks for threads of any priority from
 * -20 up; from a core file it would show each block as a kernel thread. Libc itself
 * reads the two words only where the program has set them. */
static void hide(char *tp)
{
	if (glibc.policy == NOWHERE || glibc.priority == NOWHERE)
		return;
	*(int *)(void *)(tp + glibc.policy) = SCHED_RR;
	*(int *)(void *)(tp + glibc.priority) = INT_MIN;
}

/* Makes two neighbours. If another thread of the program is born in between on a stack
 * of its own, the pair is useless; the next one will do. No block can be taken back, so
 * the last one is kept for the next try: memory for its neighbour may be missing. */
int threads_list_init(void)
{
	static void *b;
	void *a;

	if (first)
		return 0;
	if (!glibc.user_list)
		return -ENOSYS;
	for (int i = 0; i < TRIES; i++) {
		if (!b)
			b = harvest_make();
		a = b ? harvest_make() : NULL;
		if (!a)
			return -ENOMEM;
		if (load_acquire(&glibc.user_list->next) == link_of(a) &&
		    link_of(a)->next == link_of(b)) {
			head = glibc.user_list;
			last = link_of(b);
			first = link_of(a);
			hide(a);
			hide(b);
			return 0;
		}
		b = a;
	}
	return -ENOSYS;
}

static void insert_after_first(struct link *e)
{
	e->next = first->next;
	e->prev = first;
	e->next->prev = e;
	/* release: a walker sees the finished block and its link */
	store_release(&first->next, e);
}

void threads_list_add(void *tp)
{
	hide(tp);
	lock_acquire(&lock);
	insert_after_first(link_of(tp));
	lock_release(&lock);
}

static void take_out(struct link *e)
{
	e->next->prev = e->prev;
	store_release(&e->prev->next, e->next);
}

void threads_list_remove(void *tp)
{
	lock_acquire(&lock);
	take_out(link_of(tp));
	lock_release(&lock);
}

/* Libc has emptied its lists, and has put the caller's block into one of them. */
void threads_list_fork_child(void *mine)
{
	struct link *e;

	if (!first)
		return;
	for (e = head->next; e != head && e != first; e = e->next)
		;
	if (e == head) {
		last->next = head->next;
		last->next->prev = last;
		first->prev = head;
		head->next = first;
	}
	if (mine) {
		take_out(link_of(mine));
		insert_after_first(link_of(mine));
	}
}

void threads_list_fork_lock(void)
{
	lock_acquire(&lock);
}

void threads_list_fork_unlock(void)
{
	lock_release(&lock);
}

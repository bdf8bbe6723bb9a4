/* SPDX-License-Identifier: Apache-2.0 */
/* sqpoll.pml - the SQPOLL kernel thread that reads the rings of a set goes to sleep
 * while their owners queue entries: uring_put_sqe and uring_must_wake
 * (src/reactor/uring_impl.h) and uring_enter (src/reactor/uring_op.c) against the
 * kernel's io_sq_thread.
 *
 * Two rings with one owner each, and one kernel thread. An owner's store of the tail
 * stays in its CPU's store buffer until a fence, an atomic operation or some later
 * moment. What the kernel thread writes is visible at once, because it looks again
 * after a fence of its own. An owner that has queued an entry may queue one more before
 * it looks at the flag.
 *
 * Checked: when the owners have finished and the kernel thread sleeps, all entries are
 * taken.
 *
 * Must fail: -DNO_FENCE (the owner looks at the flag before its tail is visible)
 * -DNO_RELOOK (the kernel thread does not look at the tails between flag and sleep)
 * -DKEEP_WOKEN (an owner that has woken the thread once does not wake it for a later
 * entry) -DONE_FLAG (the thread flags only one ring of the two) */
#define ENTRIES 3

byte tail[2], buffered[2]; /* as the thread sees it; as the owner has written it */
byte head[2];
bool flag[2];              /* NEED_WAKEUP */
bool asleep;               /* on the wait queue */
bool rests;                /* it has looked again and gives up the CPU */
byte done;                 /* how many owners have finished */

#define LEFT (head[0] != tail[0] || head[1] != tail[1])

proctype owner(byte me)
{
	bool woken = false;
	byte n = 0;

	do
	:: n < ENTRIES ->
		buffered[me]++; n++;
#ifndef KEEP_WOKEN
		woken = false;
#endif
		if
		:: n < ENTRIES /* one more at once */
		:: true ->
#ifndef NO_FENCE
			tail[me] = buffered[me];
#endif
			if
			:: !woken && head[me] != buffered[me] && flag[me] ->
				woken = true;
				asleep = false
			:: else
			fi
		fi
	:: n == ENTRIES -> break
	od;
#ifndef NO_FENCE
	tail[me] = buffered[me];
#endif
	if
	:: !woken && head[me] != buffered[me] && flag[me] -> asleep = false
	:: else
	fi;
	/* the store buffer drains by itself */
	tail[me] = buffered[me];
	done++
}

proctype thread()
{
end:	do
	:: head[0] = tail[0]; head[1] = tail[1];
		if
		:: LEFT
		:: else ->
			asleep = true;
			flag[0] = true;
#ifndef ONE_FLAG
			flag[1] = true;
#endif
#ifndef NO_RELOOK
			if
			:: LEFT -> asleep = false
			:: else
			fi;
#endif
			rests = true;
endasleep:		!asleep;
			rests = false;
			flag[0] = false; flag[1] = false
		fi
	od
}

init {
	atomic { run owner(0); run owner(1); run thread() }
	done == 2 && rests && asleep;
	assert(!LEFT)
}

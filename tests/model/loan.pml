/* SPDX-License-Identifier: Apache-2.0 */
/* loan.pml - a zero-copy send, and when its memory belongs to the program again: on_op,
 * on_let_go and submit_lent (src/reactor/uring.c), sched_io_lent (src/sched/io.c),
 * lend_goes_on (src/async/lend.c).
 *
 * The kernel posts a completion with the number of bytes that it has accepted, and
 * later, once for each loan, a notification that it has released the memory. An attempt
 * that is to be repeated may have lent memory, too. The dispatcher of the reactor's vp,
 * or a thread that runs on that vp, reads both. Either the operation belongs to a
 * request; then the dispatcher itself looks for the end of the loan. Or a thread waits
 * for it, on that vp or on another one; on another one its IO_LENT is sent by message.
 * The memory of the operation is reused after the last completion.
 *
 * Checked: the last completion comes (there is no other end state); the operation is
 * not touched after it; by then the kernel holds none of the memory.
 *
 * Must fail: -DCOUNT_LATE (the waiting thread is woken before the loan is counted)
 * -DTOUCH_LATE (the operation is touched after its count has been written as 0)
 * -DMARK_HERE (the waiting thread writes the mark itself, on whichever vp it runs)
 * -DNO_LOOK (IO_LENT does not see that all memory is released) -DNO_MARK (the reactor
 * is not told that a thread waits for the last one) -DONE_LOAN (a flag instead of a
 * count) */
#define WAITED 8

mtype = { AGAIN, TAKEN, REFUSED, LET_GO }; /* completions; the first two with a loan */

chan cq = [4] of { mtype };
bool submitted;
byte holds;    /* ghost: loans that the kernel holds */

byte lends;
bool request;  /* the operation belongs to a request of the group; else T waits for
	        * it */
bool lent;     /* op->kind is IO_LENT */
bool fired;    /* T's wait is over */
bool message;  /* IO_LENT is on its way to the vp */
bool vp;       /* the dispatcher or a thread runs on the vp */
bool gone;     /* the memory of the operation is reused */
byte attempts;

#define touch() assert(!gone)
#define enter_vp() atomic { !vp -> vp = true }
#define leave_vp() vp = false

inline last_end()
{
	atomic { touch(); assert(holds == 0); gone = true }
}

/* The operation comes back from the reactor. */
inline done()
{
	if
	:: !request -> touch(); fired = true
	:: request && !lent && lends > 0 ->
		touch(); lent = true;
		submit_lent_of_request()
	:: else -> last_end()
	fi
}

inline submit_lent_of_request()
{
	mark()
}

inline mark()
{
#ifndef NO_MARK
	seen = lends; touch(); lends = seen + WAITED
#else
	skip
#endif
}

inline submit_lent()
{
	touch();
	if
#ifdef NO_LOOK
	:: true -> mark()
#else
	:: lends > 0 -> mark()
	:: lends == 0 -> fired = true
#endif
	fi
}

inline count_loan()
{
	touch();
#ifdef ONE_LOAN
	lends = 1
#else
	lends++
#endif
}

active proctype kernel()
{
end:	do
	:: atomic { submitted && attempts < 2 ->
		submitted = false; attempts++; holds++;
		if
		:: cq!TAKEN
		:: attempts < 2 -> cq!AGAIN
		:: holds--; cq!REFUSED
		fi }
	:: atomic { holds > 0 -> holds--; cq!LET_GO }
	od
}

active proctype dispatcher()
{
	mtype m;
	byte seen;

end:	do
	:: atomic { !vp && nempty(cq) -> vp = true; cq?m };
		if
		:: m == AGAIN -> count_loan(); submitted = true
		:: m == REFUSED -> done()
		:: m == TAKEN ->
#ifdef COUNT_LATE
			done();
			count_loan()
#else
			count_loan();
			done()
#endif
		:: m == LET_GO ->
			touch();
			seen = lends - 1;
			if
			:: seen != WAITED ->
				lends = seen;
#ifdef TOUCH_LATE
				touch()
#endif
			:: else -> lends = 0; done()
			fi
		fi;
		leave_vp()
	:: atomic { !vp && message -> vp = true; message = false };
		submit_lent();
		leave_vp()
	od
}

active proctype T()
{
	byte seen;

	atomic {
		if
		:: request = true; submitted = true; goto out
		:: submitted = true
		fi
	}
	fired;
	fired = false;
	if
	:: lends == 0 -> goto over
	:: else
	fi;
	lent = true;
	if
	:: enter_vp(); submit_lent(); leave_vp()
	:: true ->
#ifdef MARK_HERE
		seen = lends;
		if
		:: seen > 0 -> lends = seen + WAITED
		:: else -> goto over
		fi
#else
		message = true
#endif
	fi;
	fired;
over:	last_end();
out:	gone /* the intended end state */
}

/* SPDX-License-Identifier: Apache-2.0 */
/* loan.pml - a send that copies nothing, and when its memory is the program's again: on_op,
 * on_let_go and submit_lent (src/event/uring.c), sched_io_lent (src/sched/io.c), lend_goes_on
 * (src/async/lend.c).
 *
 * The kernel says how much it has taken, and later, once for each loan, that it has let go. An
 * attempt that was to be made again may have lent, too. The vp of the reactor (its dispatcher,
 * or whoever runs on it) reads both. The operation is a request's own, and then the dispatcher
 * comes back for the loan's end by itself; or a thread waits for it, which may run on that vp
 * or on another one: then its IO_LENT goes by message. The operation's memory is gone when the
 * last end is said.
 *
 * Checked: the last end comes (no other end state); nobody looks at the operation after it; by
 * then the kernel holds none of the memory.
 *
 * Must fail: -DCOUNT_LATE (who waits is fired before the loan is counted) -DTOUCH_LATE (the
 * operation is touched after its count has been written as 0) -DMARK_HERE (who waits writes
 * the mark himself, on whatever vp) -DNO_LOOK (IO_LENT does not see that all is let go)
 * -DNO_MARK (nobody is told that the last one is waited for) -DONE_LOAN (a flag, not a count)
 */
#define WAITED 8

mtype = { AGAIN, TAKEN, REFUSED, LET_GO }; /* completions; the first two with a loan */

chan cq = [4] of { mtype };
bool submitted;
byte holds;    /* ghost: loans of the kernel's */

byte lends;
bool request;  /* the operation is one of the group's; else T waits for it */
bool lent;     /* op->kind is IO_LENT */
bool fired;    /* T's wait is over */
bool message;  /* IO_LENT, on its way to the vp */
bool vp;       /* somebody runs on it */
bool gone;     /* the operation */
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
out:	gone /* the end state that is wanted */
}

/* SPDX-License-Identifier: Apache-2.0 */
/* rest.pml - a vp without a carrier, at rest or not, and who gives it something to do:
 * vp_give, serve_called, vp_call, handoff_wait and enter_slow (src/sched/handoff.c) against
 * inbox_push and vp_kick (src/sched/dispatch.c). Who owns a vp is handoff.pml's.
 *
 * One vp, two carriers, of which the first may block for ever once it has given the vp up;
 * two who give, one of them a signal handler that waits for no lock.
 *
 * Checked: a spare and an orphan that has something to do never wait for each other (no end
 * state with work); one carrier at a time has the vp.
 *
 * Must fail: -DNO_KICK (who gives does not call a carrier for a vp at rest) -DNO_RECHECK (a vp
 * goes to rest without a second look) -DLOSE_CALL (who has the lock does not look, when it
 * gives it back, whether somebody called) -DCLEAR_LATE (the call is taken back after the
 * lists were looked at)
 */
bool has_vp[2];
bool parked[2], wake[2];     /* in the list of spares; its futex */
bool orphan, rests, idle;    /* in the list of orphans; vp->rests, vp->idle */
bool owned = true;           /* vp->owner != 0 */
bool work;                   /* the vp's inbox */
bool lock, called;

inline orphan_take()
{
	if
	:: rests -> rests = false; idle = false
	:: else
	fi;
	orphan = false; owned = true
}

#define WANTS (orphan && (!rests || !idle))

/* Under the lock: a spare for the orphan, if it wants one. */
inline serve()
{
	atomic {
		if
		:: WANTS && parked[0] -> parked[0] = false; orphan_take(); wake[0] = true
		:: WANTS && !parked[0] && parked[1] ->
			parked[1] = false; orphan_take(); wake[1] = true
		:: else
		fi
	}
}

inline serve_called()
{
#ifndef LOSE_CALL
	do
	:: atomic { called && !lock -> lock = true }
#ifndef CLEAR_LATE
		called = false;
#endif
		serve();
#ifdef CLEAR_LATE
		called = false;
#endif
		lock = false
	:: !called || lock -> break
	od
#else
	skip
#endif
}

inline acquire()
{
	atomic { !lock -> lock = true }
}

inline unlock()
{
	lock = false;
	serve_called()
}

/* block_begin, or the monitor in its place: it may be long ago that r was seen. */
inline vp_give(c)
{
	r = !work;
	acquire();
	has_vp[c] = false;
	owned = false;
	orphan = true;
	rests = r;
	if
	:: r ->
		idle = true;
#ifndef NO_RECHECK
		if
		:: work -> idle = false
		:: else
		fi
#endif
	:: else
	fi;
	serve();
	unlock()
}

/* In the runtime, with the vp: what is there is done. */
inline dispatch(c)
{
	assert(has_vp[c] && !has_vp[1 - c] && owned && !orphan);
	work = false
}

proctype Carrier(byte c)
{
	bool r;
	byte n;

	do
	:: has_vp[c] ->
		dispatch(c);
		/* asleep, or running a thread: nobody's matter here */
		if
		:: n < 2 ->
			n++;
			vp_give(c);
			if
			:: c == 0 -> break /* a system call that does not return */
			:: true
			fi
		:: true ->
end_asleep:		work
		fi
	:: !has_vp[c] ->
		acquire();
		if
		:: WANTS || (orphan && n > 0) -> /* a spare; or a thread that comes back */
			orphan_take(); has_vp[c] = true
		:: !(WANTS || (orphan && n > 0)) -> parked[c] = true
		fi;
		unlock();
		if
		:: parked[c] || wake[c] ->
end_spare:		wake[c];
			atomic { wake[c] = false; has_vp[c] = true }
		:: else
		fi
	od
}

/* inbox_push, vp_kick */
proctype Giver()
{
	bool was;

	work = true;
#ifndef NO_KICK
	atomic { was = idle; idle = false };
	if
	:: was && !owned -> /* vp_call */
		called = true;
		serve_called()
	:: else
	fi
#endif
}

init {
	atomic {
		has_vp[0] = true;
		run Carrier(0);
		run Carrier(1);
		run Giver();
		run Giver()
	}
	/* nothing moves any more */
	timeout;
	assert(!work)
}

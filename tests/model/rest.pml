/* SPDX-License-Identifier: Apache-2.0 */
/* rest.pml - a vp without a carrier, at rest or not, and the threads that give it work:
 * vp_give, serve_called, vp_call, handoff_wait and enter_slow (src/sched/handoff.c)
 * against inbox_push and vp_kick (src/sched/dispatch.c). Which carrier owns a vp is in
 * handoff.pml.
 *
 * One vp and two carriers, the first of which may block for ever once it has given the
 * vp up. Two threads give it work; one of them is a signal handler that waits for no
 * lock.
 *
 * Checked: a spare and an orphan with work never wait for each other (no end state with
 * work); one carrier at a time has the vp.
 *
 * Must fail: -DNO_KICK (a thread that gives work does not call a carrier for a vp at
 * rest) -DNO_RECHECK (a vp goes to rest without a second look) -DLOSE_CALL (a thread
 * that releases the lock does not look whether another has called) -DCLEAR_LATE (the
 * call is cleared after the lists were looked at) */
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

/* Under the lock: gives the orphan to a spare, if it needs one. */
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

/* block_begin, or the monitor instead; r may have been read long ago. */
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

/* In the runtime, with the vp: does the work that is there. */
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
		/* sleeps, or runs a thread; not modelled */
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
		:: WANTS || (orphan && n > 0) -> /* a spare, or a thread that returns
						  * from the kernel */
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
	/* nothing can move any more */
	timeout;
	assert(!work)
}

/* SPDX-License-Identifier: Apache-2.0 */
/* rest.pml - a vp without a carrier, at rest or not, and the threads that give it work:
 * vp_give, serve_called, vp_call, handoff_wait, handoff_back and enter_slow
 * (src/sched/handoff.c) against inbox_push and vp_kick (src/sched/dispatch.c). Which
 * carrier owns a vp is in handoff.pml.
 *
 * One vp and two carriers, the first of which may block for ever once it has given the
 * vp up. Two threads give it work; one of them is a signal handler that waits for no
 * lock. A thread that comes back and finds no vp is itself work for the vp.
 *
 * Checked: a spare and a vp with work never wait for each other (no end state with
 * work); one thread at a time has the vp, or it is in one list.
 *
 * Must fail: -DNO_KICK (a thread that gives work does not look at idle) -DLOOK_FIRST (a
 * vp goes to rest after the look at its inbox, without another) -DLOSE_CALL (a thread
 * that releases the lock does not look whether another has called) -DCLEAR_LATE (the
 * calls are cleared after they were served) -DBACK_BY_STORE (a thread that comes back
 * reads idle, and stores) -DKICK_BY_STORE (the same of a thread that gives work) */
bool has_vp[2];
bool parked[2], wake[2];     /* in the list of spares; its futex */
bool idle;                   /* vp->idle == VP_RESTS */
bool called, orphan;         /* pushed; in the list of orphans */
bool owned = true;           /* vp->owner != 0, or about to be */
bool work;                   /* the vp's inbox */
bool lock;

/* The vp is the caller's alone. */
#define MINE assert(!owned && !idle && !called && !orphan)

/* Under the lock: lists the calls, and gives the orphan to a spare. */
inline serve()
{
#ifndef CLEAR_LATE
	atomic { if :: called -> called = false; orphan = true :: else fi };
#else
	if :: called -> orphan = true :: else fi;
#endif
	atomic {
		if
		:: orphan && parked[0] ->
			parked[0] = false; orphan = false; owned = true; wake[0] = true
		:: orphan && !parked[0] && parked[1] ->
			parked[1] = false; orphan = false; owned = true; wake[1] = true
		:: else
		fi
	};
#ifdef CLEAR_LATE
	called = false
#endif
}

inline serve_called()
{
#ifndef LOSE_CALL
	do
	:: atomic { called && !lock -> lock = true };
		serve();
		lock = false
	:: !called || lock -> break
	od
#else
	if
	:: atomic { called && !lock -> lock = true };
		serve();
		lock = false
	:: else
	fi
#endif
}

inline acquire()
{
	atomic { !lock -> lock = true }
}

inline unlock()
{
	lock = false;
#ifndef LOSE_CALL
	serve_called()
#endif
}

inline offer()
{
	atomic { MINE; called = true };
	serve_called()
}

inline vp_kick()
{
#ifdef KICK_BY_STORE
	was = idle;
	if :: was -> idle = false :: else fi;
#else
	atomic { was = idle; idle = false };
#endif
	if
	:: was -> offer() /* vp_call */
	:: else
	fi
}

inline push_work()
{
	work = true;
#ifndef NO_KICK
	vp_kick()
#endif
}

/* block_begin, or the monitor instead */
inline vp_give(c)
{
	has_vp[c] = false;
#ifdef LOOK_FIRST
	was = work;
#endif
	owned = false;
	if
	:: offer() /* it waits for something */
	::
#ifdef LOOK_FIRST
		idle = true;
		if :: was -> vp_kick() :: else fi
#else
		idle = true;
		/* fence */
		if :: work -> vp_kick() :: else fi
#endif
	fi
}

inline take_resting(c)
{
#ifdef BACK_BY_STORE
	was = idle;
	if :: was -> idle = false :: else fi;
#else
	atomic { was = idle; idle = false };
#endif
	if
	:: was -> atomic { MINE; owned = true; has_vp[c] = true }
	:: else
	fi
}

/* handoff_back, enter_slow */
inline come_back(c)
{
	if
	:: !orphan -> take_resting(c)
	:: orphan ->
		acquire();
		if
		:: orphan -> orphan = false; owned = true; has_vp[c] = true
		:: else
		fi;
		unlock()
	fi;
	if
	:: !has_vp[c] -> push_work()
	:: else
	fi
}

inline handoff_wait(c)
{
	acquire();
	if
	:: orphan -> orphan = false; owned = true; has_vp[c] = true
	:: else -> parked[c] = true
	fi;
	unlock();
	if
	:: parked[c] || wake[c] ->
end_spare:	wake[c];
		atomic { wake[c] = false; has_vp[c] = true }
	:: else
	fi
}

/* In the runtime, with the vp: does the work that is there. */
inline dispatch(c)
{
	atomic { assert(has_vp[c] && !has_vp[1 - c] && owned && !orphan && !called) };
	work = false
}

proctype Carrier(byte c)
{
	bool was;
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
			:: come_back(c)
			fi
		:: true ->
end_asleep:		work
		fi
	:: else -> handoff_wait(c)
	od
}

/* inbox_push */
proctype Giver()
{
	bool was;

	push_work()
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

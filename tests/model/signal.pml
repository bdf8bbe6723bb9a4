/* SPDX-License-Identifier: Apache-2.0 */
/* signal.pml - signal handlers that arrive anywhere between a thread's exit from the
 * runtime and its next entry: exit_user, leave_deferred, rt_enter_here
 * (src/sched/enter.[ch]), handler_begin (src/sched/guest.c) and enter_slow
 * (src/sched/handoff.c), beside a monitor and a fork.
 *
 * One vp, two carriers, one thread T. The carrier that T is not on does everything
 * else. If T finds that its vp is gone, it waits for the other carrier to take it; so T
 * moves, and its old carrier becomes a spare. A handler interrupts T where its depth is
 * 0 and calls the runtime, twice: as T itself, or, in the preload library, as a foreign
 * thread. Another handler interrupts that one, and defers.
 *
 * Memory: sequentially consistent; store buffers are in handoff.pml.
 *
 * Checked: a carrier that touches the vp owns it, is alone, and has in_rt set; no
 * carrier is inside while the address space is copied; no thread waits for ever.
 *
 * Must fail: -DHANDLER_MOVES (a handler that finds the vp gone waits for another
 * carrier, and returns to code that knows the old one) -DNO_REENTER (deferred work is
 * done without a look whether the vp is still there) -DGUEST_INSIDE (a handler's
 * foreign thread waits at the gate with its carrier's in_rt unchanged) */
#define NOBODY 2

byte owner = 0, marked;      /* vp->owner: the carrier, and VP_REVOKING */
bool in_rt[2], has_vp[2], stopped[2];
byte tc = 0;                 /* T's carrier; the other one is 1 - tc */
bool queued;                 /* T waits for the other carrier */
bool orphan, shut, watch_lock;
byte touching;               /* ghost */
bool copying;                /* ghost */
bool deferred;               /* something is deferred on T's carrier, whichever it is */

#define MINE(c) (has_vp[c] && owner == (c) && !marked)

inline touch(c)
{
	atomic {
		touching++;
		assert(touching == 1 && !copying && owner == (c) && in_rt[c] && has_vp[c])
	}
	touching--
}

/* Gives the vp to a carrier that has none. */
inline give()
{
	if
	:: stopped[0] && !has_vp[0] -> has_vp[0] = true; stopped[0] = false; owner = 0
	:: stopped[1] && !has_vp[1] -> has_vp[1] = true; stopped[1] = false; owner = 1
	:: else -> owner = NOBODY; orphan = true
	fi
}

/* enter_here: waits at the gate; does c still have the vp, or have it again? */
inline keep(c)
{
	do
	:: shut ->
		stopped[c] = true;
		(!shut);
		stopped[c] = false
	:: else -> break
	od;
	atomic {
		if
		:: has_vp[c] && owner == c -> marked = false
		:: else -> has_vp[c] = false
		fi
	}
}

/* The rest of enter_slow, for T: its carrier has no vp. */
inline find_vp()
{
	if
	:: atomic { orphan -> orphan = false; owner = tc; has_vp[tc] = true }
	:: atomic { !orphan -> stopped[tc] = true; queued = true };
		/* its own carrier may get the vp and dispatch T, or the other one takes
		 * T */
		if
		:: atomic { queued && has_vp[tc] -> queued = false }
		:: !queued
		fi
	fi
}

/* Inside a handler that has entered: one more handler, which defers. */
inline inner_handler()
{
	if
	:: deferred = true
	:: true
	fi
}

/* depth 0 to 1 and back, in a handler */
inline handler_call()
{
	in_rt[tc] = true;
	if
	:: MINE(tc) -> skip
	:: else ->
		keep(tc);
#ifdef HANDLER_MOVES
		if
		:: !has_vp[tc] -> find_vp()
		:: else
		fi
#endif
	fi;
	do
	:: true ->
		if
		:: has_vp[tc] -> touch(tc)
		:: else /* without a vp: it fires as a thread outside would */
		fi;
		inner_handler();
		/* depth 0; leave_deferred */
		if
		:: deferred -> deferred = false /* once more, inside or outside the
						 * runtime */
		:: else -> break
		fi
	od;
	in_rt[tc] = false
}

inline guest_call()
{
#ifndef GUEST_INSIDE
	in_rt[tc] = false;
#endif
	(!shut); /* enter_gate */
	inner_handler()
}

/* Between any two steps of T where its depth is 0. */
inline handler()
{
	if
	:: h > 0 -> h--; handler_call(); handler_call()
	:: h > 0 -> h--; guest_call()
	:: true
	fi
}

proctype T()
{
	byte h = 2, n, c;
	bool d;

	do
	:: n < 2 ->
		n++;
		/* enter_user; from here on handlers find depth 1 */
		in_rt[tc] = true;
		if
		:: MINE(tc) -> skip
		:: else ->
			keep(tc);
			if
			:: !has_vp[tc] -> find_vp()
			:: else
			fi
		fi;
		touch(tc);
		inner_handler();
		/* exit_user: depth 0 */
		c = tc;
		handler();
		d = deferred;
		handler();
		do
		:: d ->
			/* leave_deferred: depth 1 */
#ifndef NO_REENTER
			in_rt[tc] = true;
			if
			:: MINE(tc) -> skip
			:: else -> keep(tc)
			fi;
#endif
			inner_handler();
			if
			:: deferred ->
				deferred = false;
				if
				:: has_vp[tc] -> touch(tc)
				:: else
				fi
			:: else
			fi;
			c = tc;
			handler();
			d = deferred;
			handler()
		:: else -> break
		od;
		/* handoff_out of the carrier that was read before */
		in_rt[c] = false;
		/* user code */
		handler()
	:: else -> break
	od
}

/* Everything else, on the carrier that T is not on. */
proctype Other()
{
	byte n;

end:	do
	:: has_vp[1 - tc] && !stopped[1 - tc] ->
		/* no longer stopped: enters the runtime */
		in_rt[1 - tc] = true;
		if
		:: MINE(1 - tc) -> skip
		:: else -> keep(1 - tc)
		fi;
		if
		:: has_vp[1 - tc] ->
			touch(1 - tc);
			atomic {
				if
				:: queued && !has_vp[tc] ->
					/* switches to T; its old carrier is a spare
					 * now */
					queued = false;
					tc = 1 - tc
				:: else -> in_rt[1 - tc] = false
				fi
			}
		:: else -> atomic {
			if
			:: orphan ->
				orphan = false; owner = 1 - tc; has_vp[1 - tc] = true;
				in_rt[1 - tc] = false
			:: else -> stopped[1 - tc] = true
			fi
			}
		fi
	od
}

/* Revokes at any moment. */
proctype Monitor()
{
	byte v;

end:	do
	:: atomic { !watch_lock && owner != NOBODY && !marked ->
			watch_lock = true; v = owner; marked = true };
		if
		:: in_rt[v] -> atomic {
			if
			:: owner == v && marked -> marked = false
			:: else
			fi
			}
		:: else -> atomic {
			if
			:: owner == v && marked -> marked = false; give()
			:: else
			fi
			}
		fi;
		watch_lock = false
	od
}

#define STANDS(c) (!in_rt[c] || stopped[c])

/* handoff_stop, as one step (gate.pml has all of its steps). */
proctype Fork()
{
	atomic { !watch_lock -> watch_lock = true };
	shut = true;
	do
	:: atomic { owner != NOBODY && !marked -> marked = true }
	:: atomic {
		(owner == NOBODY || marked) && STANDS(0) && STANDS(1) ->
		copying = true;
		break
		}
	od;
	copying = false;
	atomic { marked = false; shut = false; watch_lock = false }
}

init {
	atomic {
		has_vp[0] = true;
		in_rt[1] = true;
		stopped[1] = true;
		run T();
		run Other();
		run Monitor();
		run Fork()
	}
}

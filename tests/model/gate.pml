/* SPDX-License-Identifier: Apache-2.0 */
/* gate.pml - two kernel threads that take a vp's owner word from its carrier: the
 * monitor, after an event from the kernel or after its own look (src/monitor/monitor.c),
 * and a fork, which shuts the gate (src/lifecycle/fork.c; handoff_stop, handoff_go in
 * src/sched/handoff.c; src/sched/gate.c).
 *
 * One vp, two carriers, one of which starts as a spare. The other one, which never blocks
 * for ever here, may leave the vp at rest. If a carrier blocks outside the
 * runtime, the kernel reports this once, twice or not at all. When the monitor receives
 * the event, the carrier may be back, and may have blocked again. Carrier 0 may block
 * for ever. The process forks once.
 *
 * Memory: as in handoff.pml, which models the same protocol. in_rt is written by plain
 * stores, which may stay in a store buffer of one entry until the carrier's next locked
 * instruction, or until a membarrier.
 *
 * Checked: two carriers are never inside the runtime with the vp; no carrier is inside,
 * or enters, while the address space is copied; no thread waits for ever, except where
 * it may block for ever. (That the vp is used again and again, whichever carrier
 * blocks, is checked in handoff.pml.)
 *
 * Must fail: -DNO_WATCH_LOCK (the fork does not lock out the monitor, which removes the
 * fork's mark) -DNO_MEMBARRIER (in the fork) -DONE_LOOK (the fork does not read the
 * owners again after the carriers) -DNO_GATE (a carrier that finds the mark takes the
 * vp back at once) -DSTOPPED_STAYS (a spare that is given the vp still counts as
 * stopped) -DBACK_AT_ONCE (the same as NO_GATE for a vp at rest: handoff_back) */
#define NOBODY 0
#define OWN(c) (((c) + 1) * 2)
#define REV(c) (OWN(c) + 1)  /* C | VP_REVOKING */
#define OF(o) ((o) / 2 - 1)
#define MARKED(o) ((o) & 1)

byte owner = OWN(0);
bool in_rt[2], has_vp[2], parked[2], wake[2], stopped[2];
bool orphan, rests, shut;
bool buf[2], buf_val[2];
bool watch_lock, spares_lock;
byte told;                   /* the signal that is pending: carrier + 1 */
byte inside;                 /* ghost */
bool copying;                /* ghost */

#define drain(c) if :: buf[c] -> in_rt[c] = buf_val[c]; buf[c] = false :: else fi
#define acquire(l) atomic { !l -> l = true }

inline store_in_rt(c, v)
{
	atomic { drain(c); buf[c] = true; buf_val[c] = v }
}

/* The caller holds the spares lock. */
inline wake_up(c)
{
	parked[c] = false;
	owner = OWN(c);
#ifndef STOPPED_STAYS
	stopped[c] = false;
#endif
	wake[c] = true
}

inline vp_give()
{
	acquire(spares_lock);
	atomic {
		if
		:: parked[0] -> wake_up(0)
		:: !parked[0] && parked[1] -> wake_up(1)
		:: else -> owner = NOBODY; orphan = true
		fi;
		spares_lock = false
	}
}

/* The CPU drains its store buffer at any moment. */
active [2] proctype Cpu()
{
end:	do
	:: atomic { buf[_pid] -> in_rt[_pid] = buf_val[_pid]; buf[_pid] = false }
	od
}

inline carrier_stop(c)
{
	do
	:: shut ->
		atomic { drain(c); stopped[c] = true };
		(!shut);
		stopped[c] = false
	:: else -> break
	od
}

inline take_resting(c)
{
	atomic { drain(c); back = rests; rests = false };
	if
	:: back -> has_vp[c] = true; owner = OWN(c)
	:: else
	fi
}

inline handoff_back(c)
{
	if
#ifndef BACK_AT_ONCE
	:: has_vp[c] && !shut -> take_resting(c)
#else
	:: has_vp[c] -> take_resting(c)
#endif
	:: else
	fi
}

inline enter_slow(c)
{
#ifndef NO_GATE
	carrier_stop(c);
#endif
	do
	:: has_vp[c] ->
		atomic { /* a load, or a CAS that may fail */
			drain(c);
			if
			:: owner == OWN(c) || owner == REV(c) -> owner = OWN(c); back = true
			:: else -> has_vp[c] = false
			fi
		}
		if
		:: back -> back = false; break
		:: else
		fi
	:: else ->
		/* take_any, handoff_wait */
		take_resting(c);
		if
		:: back -> back = false; break
		:: else
		fi;
		acquire(spares_lock);
		atomic {
			drain(c);
			if
			:: orphan -> orphan = false; owner = OWN(c); has_vp[c] = true
			:: else -> parked[c] = true; stopped[c] = true
			fi;
			spares_lock = false
		}
		if
		:: !has_vp[c] ->
			(wake[c]);
			atomic { wake[c] = false; has_vp[c] = true }
		:: else
		fi;
		break
	od
}

proctype Carrier(byte c)
{
	byte o;
	bool back;

	do
	:: true ->
		store_in_rt(c, true);
		o = owner;
		if
		:: has_vp[c] && o == OWN(c)
		:: else ->
			handoff_back(c);
			if
			:: back -> back = false
			:: else -> enter_slow(c)
			fi
		fi;
		atomic { inside++; assert(inside == 1 && !copying) }
		atomic { assert(!copying && (owner == OWN(c) || owner == REV(c))); inside-- }
		if
		:: true
		:: c == 1 -> atomic { drain(c); owner = NOBODY }; rests = true /* block_begin */
		fi;
		store_in_rt(c, false);
		/* user code; or the carrier blocks, and the kernel reports it if no
		 * event is pending */
		if
		:: true
		:: atomic { true -> drain(c) };
			if
			:: told = c + 1
			:: true /* the event is lost */
			fi;
			if
			:: true
			:: c == 0 ->
end_blocked:			false
			fi
		fi
	od
}

inline vp_revoke(v)
{
	atomic { ok = owner == OWN(v); if :: ok -> owner = REV(v) :: else fi }
	if
	:: ok ->
		atomic { drain(0); drain(1) } /* membarrier */
		if
		:: in_rt[v] -> atomic { if :: owner == REV(v) -> owner = OWN(v) :: else fi }
		:: else ->
			atomic { ok = owner == REV(v); if :: ok -> owner = NOBODY :: else fi }
			if
			:: ok -> vp_give()
			:: else
			fi
		fi
	:: else
	fi
}

proctype Monitor()
{
	byte v;
	bool ok;

end:	do
	:: told ->
		atomic {
			v = told - 1;
			if
			:: told = 0
			:: true /* the same event comes once more */
			fi
		}
		acquire(watch_lock);
		vp_revoke(v);
		watch_lock = false
	:: owner != NOBODY && !MARKED(owner) ->
		acquire(watch_lock);
		v = owner;
		if
		:: v != NOBODY && !MARKED(v) -> v = OF(v); vp_revoke(v)
		:: else
		fi;
		watch_lock = false
	od
}

#define STANDS(c) (!in_rt[c] || stopped[c])

/* handoff_stop: returns with the spares lock if true */
inline handoff_stop()
{
	acquire(spares_lock);
	atomic {
		if
		:: owner != NOBODY && !MARKED(owner) -> owner = owner + 1
		:: else
		fi
	}
#ifndef NO_MEMBARRIER
	atomic { drain(0); drain(1) }
#endif
	ok = STANDS(0);
	ok = ok && STANDS(1);
#ifndef ONE_LOOK
	o = owner;
	if
	:: o != NOBODY -> ok = ok && MARKED(o) && STANDS(OF(o))
	:: else
	fi;
#endif
	if
	:: !ok -> spares_lock = false
	:: else
	fi
}

proctype Fork()
{
	byte o;
	bool ok;

#ifndef NO_WATCH_LOCK
	acquire(watch_lock);
#endif
	shut = true;
	do
	:: handoff_stop();
		if
		:: ok -> break
		:: else
		fi
	od;
	atomic { copying = true; assert(!inside) }
	copying = false;
	atomic { if :: MARKED(owner) -> owner = owner - 1 :: else fi }
	spares_lock = false;
	shut = false;
#ifndef NO_WATCH_LOCK
	watch_lock = false
#endif
}

init {
	atomic {
		has_vp[0] = true;
		parked[1] = true;
		stopped[1] = true;
		in_rt[1] = true;
		run Carrier(0);
		run Spare(1);
		run Monitor();
		run Fork()
	}
}

/* The second carrier starts in the list of spares. */
proctype Spare(byte c)
{
	(wake[c]);
	atomic { wake[c] = false; has_vp[c] = true; run Carrier(c) }
}

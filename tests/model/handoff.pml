/* SPDX-License-Identifier: Apache-2.0 */
/* handoff.pml - which carrier owns a vp (the table in src/sched/handoff.h): handoff_in
 * and handoff_out (rt_enter, rt_exit) against vp_revoke, vp_give, handoff_back and
 * enter_slow (src/sched/handoff.c).
 *
 * A vp that is given up rests or not; that a vp at rest gets the carrier that it needs
 * is in rest.pml, here some thread gives it work at any moment.
 *
 * One vp, two carriers, and a monitor. The monitor finds a blocked carrier in two ways:
 * it looks at any moment, or the kernel reports the carrier. Carrier 0 may block in the
 * kernel for ever, outside the runtime, or end there; carrier 1 may block for a while.
 * The kernel reports a carrier that blocks, but the event may be lost, or arrive when
 * the carrier is back. The end of a carrier is never reported.
 *
 * Memory: in_rt is written with plain stores, which may stay in a store buffer of one
 * entry per carrier (TSO). The buffer drains at the carrier's next locked instruction,
 * at any moment before that, or at the monitor's membarrier.
 *
 * Checked: two carriers are never inside the runtime with the vp; a carrier inside owns
 * the vp; an ownerless vp and a parked spare never wait for each other; and (liveness)
 * the vp is used again and again, even if carrier 0 is blocked or has ended.
 *
 * Must fail: -DNO_MEMBARRIER -DCHECK_FIRST (owner read before in_rt is set) -DNO_CHECK
 * (owner not read) -DNO_CAS (the monitor takes the vp with a plain store) -DBACK_BY_STORE
 * (a carrier takes a vp at rest with a plain store)
 * -DNO_ORPHAN_CHECK (a carrier parks without looking for an orphan) -DNO_MONITOR
 * -DNO_LOOKS (the monitor acts only on events; liveness only) */
#define NOBODY 0
#define OWN(c) (((c) + 1) * 2)
#define REV(c) (OWN(c) + 1)  /* C | VP_REVOKING */

byte owner = OWN(0);         /* vp->owner */
bool in_rt[2];               /* c->in_rt in memory */
bool has_vp[2];              /* c->vp != NULL */
bool parked[2], wake[2];     /* in the list of spares; its futex */
bool told[2];                /* the kernel's signal to the monitor */
bool orphan;                 /* the vp is in the list of orphans */
bool rests;                  /* vp->idle == VP_RESTS */
bool buf[2], buf_val[2];     /* store buffers: in_rt */
byte inside;                 /* ghost: carriers in the runtime with the vp */

#define drain(c) if :: buf[c] -> in_rt[c] = buf_val[c]; buf[c] = false :: else fi

/* A plain store. The buffer has one entry, so an older store drains first. */
inline store_in_rt(c, v)
{
	atomic { drain(c); buf[c] = true; buf_val[c] = v }
}

/* cas_seq_cst(&vp->owner, &o, C): a locked instruction drains the buffer first. If it
 * fails, o is the value that it saw. */
inline reclaim(c)
{
	atomic {
		drain(c);
		if
		:: owner == REV(c) -> owner = OWN(c)
		:: else
		fi;
		o = owner
	}
}

/* Gives the vp to a spare, or puts it into the list of orphans. The caller holds the
 * spares lock. */
inline offer()
{
	if
	:: parked[0] -> parked[0] = false; owner = OWN(0); wake[0] = true
	:: !parked[0] && parked[1] -> parked[1] = false; owner = OWN(1); wake[1] = true
	:: else -> owner = NOBODY; orphan = true
	fi
}

inline vp_give()
{
	if
	:: offer()
	:: owner = NOBODY; rests = true
	fi
}

/* handoff_back; and take_any, also if has_vp is false */
inline take_resting(c)
{
#ifdef BACK_BY_STORE
	o = rests;
	if :: o -> rests = false :: else fi;
#else
	atomic { drain(c); o = rests; rests = false };
#endif
	if
	:: o -> has_vp[c] = true; owner = OWN(c)
	:: else
	fi
}

/* The CPU drains its store buffer at any moment. */
active [2] proctype Cpu()
{
end:	do
	:: atomic { buf[_pid] -> in_rt[_pid] = buf_val[_pid]; buf[_pid] = false }
	od
}

inline enter_slow(c)
{
	/* handoff_back, if the caller comes from a bracketed call */
	if
	:: has_vp[c] -> take_resting(c)
	:: true
	fi;
	/* while (o == C || o == C|REVOKING) */
	o = owner;
	do
	:: has_vp[c] && o == OWN(c) -> break
	:: has_vp[c] && o == REV(c) -> reclaim(c)
	:: else -> has_vp[c] = false; break
	od;
	if
	:: !has_vp[c] -> take_resting(c)
	:: else
	fi;
	/* take_orphan, else handoff_wait: both under the spares lock */
	if
	:: !has_vp[c] ->
		atomic {
			drain(c);
			if
#ifndef NO_ORPHAN_CHECK
			:: orphan -> orphan = false; owner = OWN(c); has_vp[c] = true
#endif
			:: else -> parked[c] = true
			fi
		}
		if
		:: !has_vp[c] ->
			(wake[c]);
			atomic { wake[c] = false; has_vp[c] = true }
		:: else
		fi
	:: else
	fi
}

/* The carrier blocks in the kernel. */
inline blocks(c)
{
	atomic {
		drain(c);
		if
		:: told[c] = true
		:: true /* the event is lost */
		fi
	}
}

inline rt_enter(c)
{
#ifdef CHECK_FIRST
	o = owner;
	store_in_rt(c, true);
#else
	store_in_rt(c, true);
	/* fence_compiler */
	o = owner;
#endif
#ifdef NO_CHECK
	o = OWN(c);
#endif
	if
	:: has_vp[c] && o == OWN(c)
	:: else -> enter_slow(c)
	fi
}

proctype Carrier(byte c)
{
	byte o;

	do
	:: true ->
		rt_enter(c);
		atomic { inside++; assert(inside == 1) }
		/* the runtime: per-vp state is touched without atomics */
		atomic { assert(owner == OWN(c) || owner == REV(c)); inside-- };
		if
		:: true
		:: atomic { true -> drain(c); vp_give() } /* block_begin */
		fi;
		store_in_rt(c, false);
		/* user code; or a system call that blocks, or ends the kernel thread */
		if
		:: true
		:: c == 1 -> blocks(c)
		:: c == 0 -> blocks(c);
end_blocked:		false
		:: c == 0 -> drain(c);
end_ended:		false
		fi
	od
}

/* monitor_look and spotted, and vp_revoke called by both, again and again */
proctype Monitor()
{
	byte v;
	bool ok;

#ifndef NO_MONITOR
end:	do
	:: true ->
		atomic {
			if
#ifndef NO_LOOKS
			:: owner == OWN(0) -> v = 0
			:: owner == OWN(1) -> v = 1
#endif
			:: told[0] -> told[0] = false; v = 0
			:: told[1] -> told[1] = false; v = 1
			fi
		}
		/* cas_seq_cst(&vp->owner, &mine, revoking) */
		atomic {
			if
			:: owner == OWN(v) -> owner = REV(v)
			:: else -> v = 2
			fi
		}
		if
		:: v < 2 ->
#ifndef NO_MEMBARRIER
			atomic { drain(0); drain(1) } /* membarrier(PRIVATE_EXPEDITED) */
#endif
			if
			:: in_rt[v] -> /* back off, unless the carrier has reclaimed the
				        * vp already */
				atomic { if :: owner == REV(v) -> owner = OWN(v) :: else fi }
			:: else ->
#ifdef NO_CAS
				owner = NOBODY; ok = true;
#else
				atomic {
					ok = owner == REV(v);
					if :: ok -> owner = NOBODY :: else fi
				}
#endif
				if
				:: ok ->
					atomic { vp_give() }
				:: else
				fi
			fi
		:: else
		fi
	od
#else
	skip
#endif
}

/* vp_kick: it clears idle, so it has the vp. */
proctype Giver()
{
end:	do
	:: atomic { rests -> rests = false; offer() }
	od
}

init {
	atomic {
		has_vp[0] = true;
		parked[1] = true;
		run Carrier(0);
		run Spare(1);
		run Monitor();
		run Giver()
	}
}

/* The second carrier starts in the list of spares. */
proctype Spare(byte c)
{
	(wake[c]);
	atomic { wake[c] = false; has_vp[c] = true; run Carrier(c) }
}

ltl live { []<> (inside == 1) }

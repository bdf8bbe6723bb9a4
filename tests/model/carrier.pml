/* SPDX-License-Identifier: Apache-2.0 */
/* carrier.pml - which OS thread has a carrier of the JVM runtime (the table in
 * CarrierThread.java): slice, keep, release, out and blockFor against Watch and
 * PicoRuntime.take.
 *
 * One carrier, three OS threads. At any moment, the Watch may take the carrier from a
 * thread that is in a slice, and a thread may block.
 *
 * Memory: all shared variables are volatile. The lazySet stores are releases of the
 * thread's own state, so the Watch may see SLICE late; nothing else depends on their
 * order.
 *
 * Checked: at most one thread at a time touches what belongs to the carrier; the
 * carrier is never lost or doubled; a spare thread has none; no thread waits for ever
 * (an invalid end state).
 *
 * Must fail: -DNO_LOCK (a thread leaves LOST without the lock) -DKEEP_BY_STORE (keep
 * without compare-and-set) -DTAKE_BUSY (the Watch also takes the carrier from a thread
 * that keeps it) -DNO_OUT (a slice ends by a store) */
#define N 3
#define OUT 0
#define SLICE 1
#define BUSY 2
#define LOST 3

byte hold[N];
bool carrier[N];             /* CarrierThread.carrier != null */
bool spare[N];
bool lock;                   /* rt.lost */
bool hand;                   /* ghost: the carrier is on its way between two threads */
byte touching;               /* ghost */
bool blocked[N], go[N];      /* Fiber.blocked, Fiber.go */

#define conserved (carrier[0] + carrier[1] + carrier[2] + hand == 1)

inline touch()
{
	touching++;
	assert(touching == 1);
	touching--
}

inline give(t)
{
	assert(!carrier[t]);
	carrier[t] = true
}

/* PicoRuntime.replace: a spare thread gets the carrier. If there is none, the runtime
 * makes one, which hands the carrier to a thread that is blocked; the model leaves the
 * new thread out. */
inline replace()
{
	atomic {
		if
		:: spare[0] -> spare[0] = false; give(0)
		:: spare[1] -> spare[1] = false; give(1)
		:: spare[2] -> spare[2] = false; give(2)
		:: blocked[0] && !go[0] -> give(0); go[0] = true
		:: blocked[1] && !go[1] -> give(1); go[1] = true
		:: blocked[2] && !go[2] -> give(2); go[2] = true
		fi;
		hand = false;
		assert(conserved)
	}
}

inline out(t)
{
#ifdef NO_OUT
	hold[t] == SLICE || hold[t] == LOST;
	was = (hold[t] == SLICE);
	if
	:: was -> hold[t] = OUT
	:: else ->
		atomic { !lock; lock = true }
		hold[t] = OUT;
		lock = false
	fi
#else
	atomic {
		was = (hold[t] == SLICE);
		if
		:: was -> hold[t] = OUT
		:: else
		fi
	}
	if
	:: was
	:: else ->
#ifndef NO_LOCK
		atomic { !lock; lock = true }
#endif
		hold[t] = OUT;
#ifndef NO_LOCK
		lock = false
#endif
	fi
#endif
}

proctype thread(byte t)
{
	bool was, kept;
	byte other;
end:
	do
	:: carrier[t] ->
		/* next(): the queue and the selector belong to this thread */
		touch();
		/* a fiber whose OS thread is blocked has become ready: hand the carrier
		 * over */
		if
		:: atomic { blocked[0] && !go[0] && t != 0 -> other = 0 }
			goto handover
		:: atomic { blocked[1] && !go[1] && t != 1 -> other = 1 }
			goto handover
		:: atomic { blocked[2] && !go[2] && t != 2 -> other = 2 }
			goto handover
		:: true
		fi;
		hold[t] = SLICE;
		do
		:: /* keep, touch, release */
			if
			:: carrier[t] ->
#ifdef KEEP_BY_STORE
				kept = (hold[t] == SLICE);
				if
				:: kept -> hold[t] = BUSY
				:: else
				fi;
#else
				atomic {
					kept = (hold[t] == SLICE);
					if
					:: kept -> hold[t] = BUSY
					:: else
					fi
				}
#endif
				if
				:: kept -> touch(); hold[t] = SLICE
				:: else
				fi
			:: else
			fi
		:: /* blockFor, or back(): this OS thread waits for a carrier */
			out(t);
			if
			:: carrier[t] -> atomic { carrier[t] = false; hand = true; go[t] = false; blocked[t] = true }
				replace()
			:: else -> atomic { go[t] = false; blocked[t] = true }
			fi;
			go[t];
			assert(carrier[t]);
			atomic { blocked[t] = false; go[t] = false }
			hold[t] = SLICE
		:: break
		od;
		out(t);
		if
		:: carrier[t]
		:: else -> spare[t] = true
		fi;
		goto next;
handover:
		atomic { carrier[t] = false; hand = true; spare[t] = true }
		atomic { give(other); hand = false; assert(conserved) }
		go[other] = true;
next:		skip
	od
}

proctype watch()
{
	byte t;
	bool took;
end:
	do
	:: select(t : 0 .. 2);
		atomic { !lock; lock = true }
		atomic {
#ifdef TAKE_BUSY
			took = (hold[t] == SLICE || hold[t] == BUSY);
#else
			took = (hold[t] == SLICE);
#endif
			if
			:: took -> hold[t] = LOST
			:: else
			fi
		}
		if
		:: took ->
			assert(carrier[t]);
			atomic { carrier[t] = false; hand = true; assert(conserved) }
			lock = false;
			replace()
		:: else -> lock = false
		fi
	od
}

init {
	atomic {
		carrier[0] = true;
		spare[1] = true;
		spare[2] = true;
		run thread(0);
		run thread(1);
		run thread(2);
		run watch()
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* fiber.pml - the wait of a fiber of the JVM runtime (Fiber.java): begin, claim,
 * retract, abandon, wake, stopAgain and unwound; park with its permit, sleep, a timer,
 * an interrupt.
 *
 * A fiber waits for a flag, as programs do (`while (!flag) park()`), and then for
 * another flag, or yields and sleeps. Each flag has a setter, which unparks the fiber.
 * A timer may fire early or late. One more thread interrupts the fiber, or saves its
 * frames while it is parked. (The interrupt of a fiber that has no carrier is in
 * lent.pml.)
 *
 * Memory: state, wait, waiter, permit and interrupted are volatile. waitKind is plain;
 * it is written before wait, and its readers read wait first.
 *
 * Checked: the fiber is queued once for each stop, and never while its stack is in use
 * or its frames are being saved; a sleep ends because its time has passed, by an
 * interrupt or by an error; no timer outlives its wait; no unpark is lost (an invalid
 * end state).
 *
 * Must fail: -DNO_RECHECK -DCLAIM_BY_STORE -DPARK_BY_STORE -DQUEUE_STOPPING
 * -DKEEP_TIMER */
#define READY 1
#define RUNNING 2
#define STOPPING 3
#define WOKEN 4
#define PARKED 5
#define DONE 6
#define PARK 1
#define SLEEP 2

byte state = RUNNING;
byte wait, kind;
bool permit, interrupted;
byte waiter;            /* the ticket of the Timers.Entry, or 0 */
byte timer;             /* the entry in the heap: its ticket, or 0 */
bool flag[2];
bool two;               /* a second flag instead of a sleep */
bool queued;            /* in the scheduler's queue */
bool on = true;         /* ghost: on an OS thread's stack */
bool saving;            /* ghost: a thread reads the frames */
bool timedOut, thrown;  /* stored by the thread that claimed a sleep */

#define odd(t) ((t) % 2 == 1)

inline ready()
{
	atomic { assert(!queued && !on && !saving && state == READY); queued = true }
}

inline claim(t, won)
{
#ifdef CLAIM_BY_STORE
	won = (odd(t) && wait == t);
	if
	:: won -> wait = t + 1
	:: else
	fi
#else
	atomic {
		won = (odd(t) && wait == t);
		if
		:: won -> wait = t + 1
		:: else
		fi
	}
#endif
}

inline cancel(w)
{
	atomic {
		if
		:: w != 0 && timer == w -> timer = 0
		:: else
		fi
	}
}

inline wake(w, was)
{
	w = waiter;
	if
	:: w != 0 -> cancel(w)
	:: else
	fi;
	do
	:: state == PARKED ->
		waiter = 0;
		atomic {
			was = (state == PARKED);
			if
			:: was -> state = READY
			:: else
			fi
		}
		if
		:: was -> ready(); break
		:: else
		fi
	:: atomic { state == STOPPING ->
#ifdef QUEUE_STOPPING
		state = READY }
		ready();
#else
		state = WOKEN }
#endif
		break
	:: atomic { state != PARKED && state != STOPPING -> assert(false) }
	od
}

inline unwound(was)
{
#ifdef PARK_BY_STORE
	was = (state == STOPPING);
	if
	:: was -> state = PARKED
	:: else
	fi;
#else
	atomic {
		was = (state == STOPPING);
		if
		:: was -> state = PARKED
		:: else
		fi
	}
#endif
	if
	:: was
	:: else -> waiter = 0; state = READY; ready()
	fi
}

/* The primitive unwinds the stack and the fiber's carrier calls unwound(). Later a
 * carrier runs the fiber again. */
inline stop()
{
	on = false;
	unwound(won);
	atomic { queued -> queued = false; assert(!saving && !on); on = true }
	state = RUNNING
}

inline begin(k, w)
{
	assert(!odd(wait));
	waiter = w;
	kind = k;
	state = STOPPING;
	t = wait + 1;
	wait = t
}

/* Timers.add: a thread that claimed the wait before may not have seen the entry */
inline add()
{
	timer = t;
#ifndef KEEP_TIMER
	if
	:: wait != t -> cancel(t)
	:: else
	fi
#endif
}

inline retract(won)
{
	claim(t, won);
	if
	:: won ->
		w = waiter;
		waiter = 0;
		cancel(w);
		state = RUNNING
	:: else
	fi
}

inline park()
{
	if
	:: permit -> permit = false
	:: else ->
		if
		:: interrupted
		:: else ->
			if
			:: true -> begin(PARK, 0)
			:: timed > 0 -> timed--; begin(PARK, wait + 1); add()
			fi;
			won = false;
#ifndef NO_RECHECK
			if
			:: permit || interrupted -> retract(won)
			:: else
			fi;
#endif
			if
			:: won -> permit = false
			:: else -> stop()
			fi
		fi
	fi
}

proctype fiber()
{
	byte t, w;
	byte timed = 1;
	bool won, error;

	do
	:: flag[0] -> break
	:: else -> park()
	od;
	if
	:: two ->
		do
		:: flag[1] -> break
		:: else -> park()
		od
	:: else ->
		/* yieldNow */
		state = WOKEN;
		stop();
		/* sleep */
		if
		:: interrupted -> interrupted = false
		:: else ->
			begin(SLEEP, wait + 1);
			add();
			won = false;
			if
			:: interrupted -> retract(won)
			:: else
			fi;
			if
			:: won -> assert(interrupted); interrupted = false
			:: else ->
				if
				:: stop(); assert(timedOut || thrown)
				:: /* no memory for the frames: abandon */
					retract(won);
					if
					:: won
					:: else ->
						/* the thread that claimed the wait is
						 * about to wake the fiber */
						if
						:: state == STOPPING -> stop()
						:: else
						fi;
						waiter = 0;
						state = RUNNING
					fi
				fi
			fi
		fi
	fi;
	state = DONE;
	assert(timer == 0)
}

proctype setter(byte k)
{
	byte t, w;
	bool won;

	flag[k] = true;
	permit = true;
	t = wait;
	if
	:: odd(t) && kind == PARK ->
		claim(t, won);
		if
		:: won -> permit = false; wake(w, won)
		:: else
		fi
	:: else
	fi
}

proctype interrupter()
{
	byte t, w, k;
	bool won;

	interrupted = true;
	t = wait;
	if
	:: odd(t) && interrupted ->
		k = kind;
		claim(t, won);
		if
		:: won && k == SLEEP -> interrupted = false; thrown = true; wake(w, won)
		:: won && k == PARK -> wake(w, won)
		:: else
		fi
	:: else
	fi
}

proctype timers()
{
	byte t, w;
	bool won;
end:
	do
	:: atomic { timer != 0 -> t = timer; timer = 0 }
		claim(t, won);
		if
		:: won -> timedOut = true; wake(w, won)
		:: else
		fi
	od
}

/* KeptFiber.keep: reads the frames of a parked fiber */
proctype saver()
{
	bool won;
end:
	atomic { state == PARKED -> state = STOPPING }
	atomic { assert(!on); saving = true }
	saving = false;
	unwound(won)
}

init {
	atomic {
		run fiber();
		run setter(0);
		run timers();
		if
		:: two = true; run setter(1)
		:: true
		fi;
		if
		:: run interrupter()
		:: run saver()
		fi
	}
}

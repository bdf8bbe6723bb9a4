/* SPDX-License-Identifier: Apache-2.0 */
/* lent.pml - the interrupt of a fiber of the JVM runtime that may have lost its
 * carrier: Fiber.interrupt, testInterrupted, isInterrupted and sleep; PicoRuntime.lend,
 * takeBack, withdraw and hasLent; CarrierThread.out and found, the Watch's take and
 * look.
 *
 * A fiber tests its flag, sleeps, parks, yields, or is in a call of the JDK that ends
 * by itself. Its last call is one that only an interrupt ends: a call of the JDK, a
 * sleep or a park. One thread interrupts it once, and then asks isInterrupted(). The
 * Watch takes the fiber's carrier, and looks, at any moment.
 *
 * Memory: all shared variables are volatile, or are protected by rt.lost.
 *
 * Checked: the fiber sees the interrupt (else an invalid end state) exactly once, and
 * no other fiber sees it; from when it is sent until it is seen, isInterrupted() is
 * true.
 *
 * Must fail: -DNO_TAKE_BACK -DNO_OUT_LOOK -DLATE_FLAG -DNO_LOOK -DNO_WITHDRAW
 * -DNO_FLAG_CHECK */
#define OUT 0
#define SLICE 1
#define LOST 2

byte hold = SLICE;
bool lock;              /* rt.lost */
bool interrupted;       /* Fiber.interrupted */
bool lent, withdrawn;   /* CarrierThread.lent, withdrawn */
bool os;                /* the OS thread's own flag */
bool open, parks;       /* Fiber.wait is odd: a sleep, or a park */
byte ticket;            /* Fiber.wait, if odd */
bool woken;             /* the waker of the sleep has come */
byte seen;              /* ghost */
bool seeing;            /* ghost: it has read that the flag is set */

#define acquire() atomic { !lock -> lock = true }
#define saw() seen++; assert(seen <= 1)

/* under rt.lost, for a thread that is LOST */
inline lend()
{
	if
	:: interrupted && !open ->
		interrupted = false;
		lent = true;
		os = true
	:: else
	fi
}

inline deliver(t)
{
	atomic {
		if
		:: open -> t = ticket
		:: !open -> t = 0
		fi
	}
	if
	:: t == 0 ->
		acquire();
		if
		:: hold == LOST -> lend()
		:: else
		fi;
		lock = false
#ifndef NO_FLAG_CHECK
	:: t != 0 && !interrupted               /* seen, or lent */
	:: t != 0 && interrupted ->
#else
	:: t != 0 ->
#endif
		if
		:: atomic { !open || ticket != t }      /* the claim failed */
		:: atomic { open && ticket == t && parks -> open = false }
			woken = true
		:: atomic { open && ticket == t && !parks -> open = false }
#ifdef NO_WITHDRAW
			atomic { interrupted = false; saw() }
#else
			acquire();
			atomic {
				interrupted = false;
				saw();
				if
				:: hold == LOST && lent -> lent = false; withdrawn = true
				:: else
				fi
			}
			lock = false;
#endif
			woken = true            /* fail(), wake() */
		fi
	fi
}

/* called by the fiber itself */
inline isInterrupted(i)
{
	i = interrupted;
	if
	:: !i -> i = lent; i = i && os
	:: else
	fi
}

/* called by the fiber itself: reads and clears the flag */
inline test(i)
{
	atomic {
		i = interrupted;
		if
		:: i -> seeing = true
		:: else
		fi
	}
	if
	:: i -> interrupted = false
	:: else
	fi;
#ifndef NO_TAKE_BACK
	if
	:: hold == LOST ->
		acquire();
		atomic {
			i = i || interrupted || (lent && os);
			seeing = i;
			interrupted = false;
			if
			:: lent -> os = false
			:: else
			fi
		}
		lock = false
	:: else
	fi;
#endif
	if
	:: atomic { i -> saw(); seeing = false }
	:: else
	fi
}

/* The slice ends: CarrierThread.out */
inline out()
{
	if
	:: atomic { hold == SLICE -> hold = OUT }
	:: atomic { hold != SLICE }
		acquire();
		hold = OUT;
		atomic { i = os && !withdrawn; os = false }
		lent = false;
		withdrawn = false;
#ifndef LATE_FLAG
		if
		:: i -> interrupted = true
		:: else
		fi;
#endif
		lock = false;
#ifdef LATE_FLAG
		if
		:: i -> interrupted = true
		:: else
		fi;
#endif
#ifndef NO_OUT_LOOK
		if
		:: i -> deliver(t)
		:: else
		fi
#endif
	fi
}

inline slice()
{
	assert(!os && !lent && !withdrawn);
	hold = SLICE
}

proctype fiber()
{
	bool i, forever;
	byte times = 3, t;

	do
	:: times == 0 -> break
	:: times > 0 ->
		times--;
		forever = (times == 0 && seen == 0);
		if
		:: !forever -> test(i)
		:: !forever -> out(); slice()   /* yieldNow */
		:: true ->                      /* a call of the JDK, which may look */
			if
			:: atomic { os -> os = false; saw() }
			:: !forever
			fi
		:: true ->                      /* sleep, or park */
			select(parks : 0 .. 1);
			if
			:: parks -> isInterrupted(i)
			:: else -> test(i)
			fi;
			if
			:: i -> goto next
			:: else
			fi;
			woken = false;
			atomic { ticket++; open = true }
			isInterrupted(i);
			if
			:: i ->
				if
				:: atomic { open -> open = false }      /* retract */
					if
					:: parks
					:: else -> test(i)
					fi;
					goto next
				:: atomic { !open }
				fi
			:: else
			fi;
			out();
			if
			:: woken
			:: atomic { !forever && open -> open = false }  /* the timer */
			fi;
			slice()
		fi;
next:		skip
	od;
	out();
	test(i);
	assert(seen == 1)
}

/* Another thread: interrupt(), and then isInterrupted() until the fiber has seen it */
proctype other()
{
	bool i;
	byte t;

	interrupted = true;
	deliver(t);
	i = interrupted;
	if
	:: i
	:: else ->
		acquire();
		i = interrupted;
		if
		:: !i && hold == LOST -> i = lent; i = i && os
		:: else
		fi;
		lock = false
	fi;
	assert(i || seeing || seen > 0)
}

proctype watch()
{
end:
	do
	:: hold == SLICE ->
		acquire();
		if
		:: atomic { hold == SLICE -> hold = LOST } lend()
		:: atomic { hold != SLICE }
		fi;
		lock = false
#ifndef NO_LOOK
	:: hold == LOST && interrupted && !open ->
		acquire();
		if
		:: hold == LOST -> lend()
		:: else
		fi;
		lock = false
#endif
	od
}

init {
	atomic {
		run fiber();
		run other();
		run watch()
	}
}

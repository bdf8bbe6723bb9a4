/* SPDX-License-Identifier: Apache-2.0 */
/* putoff.pml - signal handlers of a kernel thread that the preload library defers until
 * the thread leaves the runtime: on_signal, put_off and deliver_late
 * (src/preload/pt_signal.c), park_foreign and wait_interrupted (src/sched/wait.c),
 * foreign_signalled and run_deferred_foreign (src/sched/enter.c).
 *
 * Thread M enters the runtime, waits in a queue, and leaves, twice: in a wait that
 * signals end, or in one that they do not end. There are three signals, of two numbers.
 * The kernel interrupts M between any two steps. The wait is fired by others at any
 * moment, or by signals alone.
 *
 * Not modelled: the calls of a handler. It runs when M has left the runtime, so its
 * calls are rounds like M's own. A call in a handler that is itself interrupted is not
 * modelled either.
 *
 * Memory: M is one thread; other threads store the wait word alone.
 *
 * Checked: a handler runs only outside the runtime and its queues; when M is back in
 * its own code, no signal is pending and blocked (so none is lost); a thread with a
 * signal to handle does not stay in a wait that signals end.
 *
 * Must fail: -DAT_ONCE (the handler runs wherever M is) -DNO_CUT (the wait is not
 * ended) -DNO_LOOK (no look between the begin of a wait and the sleep) -DFORGET (the
 * look forgets that there is something to deliver) -DNO_LOOP (signals that arrive
 * during the delivery are left) */
#define SIGNALS 2
#define IDLE 0
#define ARMED 1
#define PARKED 2
#define FIRED 3

byte wait = IDLE, depth;
bool queued, uncancelable, deferred;
bool pending[SIGNALS], blocked[SIGNALS], late[SIGNALS];
bool asleep; /* in the futex */
bool over;

#define COMES(s) (pending[s] && !blocked[s])

inline interrupt_wait() /* wait_interrupted, called by M itself: fires */
{
	atomic {
		if
		:: (wait == ARMED || wait == PARKED) && !uncancelable -> wait = FIRED
		:: else
		fi
	}
}

/* The kernel calls on_signal(s). */
inline on_signal(s)
{
	pending[s] = false;
#ifndef AT_ONCE
	if
	:: depth > 0 || wait != IDLE -> /* put_off: until it is delivered, all signals
					 * are blocked */
		atomic {
			pending[s] = true;
			blocked[s] = true;
			late[s] = true;
			deferred = true
		};
#ifndef NO_CUT
		interrupt_wait()
#endif
	:: else ->
#endif
		assert(depth == 0 && !queued);
#ifndef AT_ONCE
	fi
#endif
}

/* Between any two steps: signals that M does not block. The handler ends here; its
 * calls are like M's next round, because a call leaves nothing behind. */
inline any()
{
	do
	:: atomic { COMES(0) -> on_signal(0) }
	:: atomic { COMES(1) -> on_signal(1) }
	:: !COMES(0) && !COMES(1) -> break
	od
}

/* hooks.foreign_signals: deliver_late. A signal arrives as soon as it is unblocked. Meanwhile
 * set_again enters the runtime, where a signal may be deferred. */
inline deliver_late()
{
	bits[0] = late[0];
	bits[1] = late[1];
	late[0] = false;
	late[1] = false;
	any();
	if
	:: bits[0] || bits[1] ->
		depth = 1;
		any();
		depth = 0;
		any();
		/* SIG_UNBLOCK */
		atomic {
			if
			:: bits[0] -> blocked[0] = false
			:: else
			fi;
			if
			:: bits[1] -> blocked[1] = false
			:: else
			fi
		}
	:: else
	fi;
	any()
}

/* wake_deferred_foreign */
inline wake_deferred(did)
{
	any();
	did = deferred;
	if
	:: did ->
		deferred = false;
		any();
		depth = 1; /* the gate */
		any();
		depth = 0;
		any()
	:: else
	fi
}

inline leave()
{
	depth = 0;
	any();
	do
	:: true ->
		wake_deferred(did);
		if
		:: did -> deliver_late()
		:: else -> break
		fi;
#ifdef NO_LOOP
		break
#endif
	od
}

proctype M()
{
	byte n;
	bool did, some;
	bool bits[SIGNALS];

	do
	:: n < 2 ->
		n++;
		any();
		depth = 1;
		any();
		if
		:: uncancelable = true
		:: uncancelable = false
		fi;
		wait = ARMED;
		any();
		queued = true;
		any();
		/* park_foreign */
		depth = 0;
		any();
#ifndef NO_LOOK
		some = false;
		do
		:: true ->
			wake_deferred(did);
			if
			:: did -> some = true
			:: else -> break
			fi
		od;
		if
		:: some ->
#ifndef FORGET
			deferred = true;
#endif
			any();
			interrupt_wait()
		:: else
		fi;
#endif
		any();
		atomic {
			if
			:: wait == ARMED -> wait = PARKED
			:: else
			fi
		}
		do
		:: wait != PARKED -> break
		:: wait == PARKED ->
			any();
			asleep = true;
			/* woken, or a signal arrives */
			(wait != PARKED || COMES(0) || COMES(1));
			asleep = false;
			any()
		od;
		any();
		depth = 1;
		any();
		wait = IDLE;
		any();
		queued = false;
		any();
		leave();
		/* M's own code */
		atomic {
			if
			:: !COMES(0) && !COMES(1) ->
				assert(!late[0] && !late[1] && !blocked[0] && !blocked[1])
			:: else
			fi
		}
	:: else -> break
	od;
	over = true
}

/* Other threads send signals and fire the wait. */
proctype Sender()
{
	byte n;

	do
	:: n < 3 -> n++; pending[0] = true
	:: n < 3 -> n++; pending[1] = true
	:: break
	od
}

proctype Waker()
{
end:	do
	:: atomic { wait == ARMED && queued -> wait = FIRED }
	:: atomic { wait == PARKED -> wait = FIRED }
	:: over -> break
	od
}

/* No other thread fires a wait that signals end; then M stays in it only if there is no
 * signal. */
proctype Alone()
{
end:	do
	:: atomic { uncancelable && wait == PARKED -> wait = FIRED }
	:: atomic {
		timeout && !over ->
		assert(asleep && !uncancelable && !late[0] && !late[1] && !pending[0] && !pending[1]);
		wait = FIRED
		}
	:: over -> break
	od
}

init {
	atomic {
		run M();
		run Sender();
		if
		:: run Waker()
		:: run Alone()
		fi
	}
}

/* SPDX-License-Identifier: Apache-2.0 */
/* park.pml - the wait word (src/thread/thread.h, src/sched/wait.c, finish_switch in
 * src/sched/switch.h): begin, park, fire, cancel and time-out against the switch.
 *
 * One user thread W waits twice. Wait 1 is ended by an event, a timer or a cancel,
 * whichever comes first. Wait 2 is ended by the cancel alone, while the timer of wait 1
 * may still fire (late, with the old token). W's carrier finishes the switch after W
 * has left it (POST_PARK).
 *
 * Memory: W arms with a plain store, which may stay in the store buffer of its CPU
 * (TSO) until W's next locked instruction, or until the canceller's membarrier.
 *
 * Checked: W is never queued twice, never while it runs and never before its context is
 * saved; a fire ends only the wait that has its token; neither the cancel nor a wake-up
 * is lost (each would be an invalid end state).
 *
 * Must fail: -DNO_CANCEL_CHECK -DNO_MEMBARRIER -DQUEUE_ARMED -DPARK_BY_STORE
 * -DNO_TOKEN */
mtype = { IDLE, ARMED, PARKED, FIRED };
#define OK 0
#define TIMEOUT 1
#define CANCEL 2

mtype w_state = IDLE;   /* the wait word in memory: W_STATE */
byte w_token, w_reason; /* ... W_TOKEN, W_REASON */
bool cancelled;         /* t->cancelled */

bool buffered;          /* W's store buffer: ARMED with this token */
byte b_token;
#define flush() if :: buffered -> w_state = ARMED; w_token = b_token; buffered = false \
		   :: else fi

bool saved;             /* W's context is saved */
bool running = true;    /* W runs on a CPU */
bool queued;            /* W is in a run queue */
bool switched;          /* W has left; its carrier must finish the switch */
byte published;         /* tokens that wakers know: 0, 1, 2 */
byte fires[3];          /* successful fires per token */

inline enqueue()
{
	assert(!queued && !running && saved);
	queued = true
}

/* wait_fire(t, token, reason): load, check, CAS (one step: a failed CAS loops) */
inline wait_fire(token, reason, won)
{
	atomic {
		won = false;
		if
#ifdef NO_TOKEN
		:: w_state == ARMED || w_state == PARKED ->
#else
		:: w_token == token && (w_state == ARMED || w_state == PARKED) ->
#endif
			assert(w_token == token); /* it ends the wait it was meant for */
			won = true;
			fires[token]++;
			was = w_state;
			w_reason = reason;
			w_state = FIRED
		:: else
		fi
	}
	if
#ifdef QUEUE_ARMED
	:: won -> enqueue()
#else
	:: won && was == PARKED -> enqueue()
#endif
	:: else
	fi
}

inline wait_begin(token)
{
	/* store_release(&t->wait, ARMED): stays in the buffer for now */
	atomic { assert(w_state == IDLE); buffered = true; b_token = token }
	/* load_relaxed(&t->cancelled) */
#ifndef NO_CANCEL_CHECK
	if
	:: cancelled ->
		atomic { flush() } /* the CAS in wait_fire */
		wait_fire(token, CANCEL, won)
	:: else
	fi
#endif
}

inline wait_park()
{
	/* if already fired: return at once (a load; it sees the own buffer first) */
	if
	:: atomic { !buffered && w_state == FIRED -> skip }
	:: atomic { buffered || w_state != FIRED ->
		/* switch_to: context saved, the carrier goes on with another thread */
		saved = true; running = false; switched = true }
		(running) /* until a dispatcher picks W */
	fi;
	/* wait_end */
	assert(w_state == FIRED);
	reason = w_reason;
	w_state = IDLE
}

active proctype W()
{
	byte reason;
	bool won;
	mtype was;

	wait_begin(1);
	atomic { flush(); published = 1 } /* under the object's lock */
	wait_park();
	assert(fires[1] == 1);
	wait_begin(2);
	atomic { flush(); published = 2 }
	wait_park();
	assert(reason == CANCEL);
	assert(fires[1] == 1 && fires[2] == 1)
}

/* finish_switch, POST_PARK; then the scheduler */
active proctype Carrier()
{
	bool ours;

end:	do
	:: switched ->
		atomic { /* the kernel or a later locked instruction drains the buffer */
			switched = false; flush()
		}
#ifdef PARK_BY_STORE
		if
		:: w_state == ARMED -> w_state = PARKED
		:: else -> enqueue()
		fi
#else
		atomic {
			ours = w_state == ARMED;
			if
			:: ours -> w_state = PARKED
			:: else
			fi
		}
		if
		:: !ours -> enqueue() /* fired while it was leaving */
		:: else
		fi
#endif
	:: atomic { queued -> queued = false; assert(saved && !running);
		saved = false; running = true }
	od
}

active proctype Event()
{
	bool won;
	mtype was;

	(published >= 1);
	wait_fire(1, OK, won)
}

active proctype Timer()
{
	bool won;
	mtype was;

	(published >= 1);
	wait_fire(1, TIMEOUT, won)
}

/* uk_thread_cancel */
active proctype Canceller()
{
	bool won;
	mtype was;
	byte token;
	mtype seen;

	cancelled = true;
#ifndef NO_MEMBARRIER
	atomic { flush() } /* membarrier(PRIVATE_EXPEDITED) */
#endif
	atomic { seen = w_state; token = w_token } /* one load */
	if
	:: seen == ARMED || seen == PARKED -> wait_fire(token, CANCEL, won)
	:: else
	fi
}

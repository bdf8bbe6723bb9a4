/* SPDX-License-Identifier: Apache-2.0 */
/* op.pml - an operation and its waiter: submission by message, a steal, the deadline, the
 * cancel, the retrieval (src/sched/io.c; op_done and serve_msgs in src/sched/dispatch.c).
 *
 * Thread T submits to the reactor of vp H while it runs on vp V, or on H itself. Its
 * deadline may fire at any moment, whoever steals may run it on either vp, and the kernel
 * may finish the operation at any moment, or never unless it is asked to. A vp runs its
 * dispatcher or T, never both (cur); the dispatcher takes all of its box at once and then
 * serves the messages one by one, oldest first.
 *
 * Checked: T comes back from its call (no end state in which it waits); when it does, the op
 * is done and nobody touches it afterwards; the reactor is never asked to end an operation
 * that it does not know.
 *
 * Must fail: -DNO_STATE (retrieve looks at the vp alone, not at the op's state)
 * -DNO_ORPHAN (the waiter does not take its token off the op first) -DLIFO (a box is served
 * newest first) -DKEEP_TOKEN (op_done reads the token and does not take it)
 */
#define H 0
#define V 1
#define DISP 0
#define THREAD 1

mtype = { SUBMIT, CANCEL };                 /* messages */
mtype = { IDLE, PENDING, CANCELING, DONE }; /* op->state */
mtype = { W_IDLE, W_ARMED, W_PARKED, W_FIRED };

#define ORPHAN 9

byte cur[2];    /* what the vp's carrier runs */
byte on = V;    /* where T runs */
bool ready[2];  /* T is in that vp's queue */

mtype wait = W_IDLE; /* T's wait word: state, token, reason */
byte wtok;
bool timeout_won;

mtype op = IDLE;
byte optok;
bool kdone;     /* the kernel has finished it */
bool freed;     /* T has returned: the op's memory is somebody else's */

mtype box[2], got[2]; /* H's box of messages, oldest first; what its dispatcher took */
byte nbox, ngot;

/* wait_fire by who runs on vp w, or from outside (then the queue is w's all the same) */
inline fire(tok, late, w)
{
	atomic {
		if
		:: wtok == tok && wait == W_PARKED ->
			wait = W_FIRED; timeout_won = late; ready[w] = true
		:: wtok == tok && wait == W_ARMED ->
			wait = W_FIRED; timeout_won = late
		:: else
		fi
	}
}

inline arm(tok)
{
	atomic { wait = W_ARMED; wtok = tok; timeout_won = false }
}

/* Leave the vp; come back when a dispatcher runs us. */
inline park()
{
	atomic {
		if
		:: wait == W_FIRED
		:: else ->
			wait = W_PARKED; cur[on] = DISP;
			(cur[0] == THREAD || cur[1] == THREAD)
		fi;
		wait = W_IDLE
	}
}

inline post(m)
{
	atomic { box[nbox] = m; nbox++ }
}

inline reactor_cancel()
{
	atomic {
		assert(!freed);
#ifndef NO_STATE
		assert(op != IDLE);
#endif
		if
		:: op == PENDING -> op = CANCELING
		:: else
		fi
	}
}

proctype Thread()
{
	bool was;

	(cur[on] == THREAD);
	optok = 1;
	arm(1);
	if /* the vp's own reactor, or another vp's */
	:: on == H -> op = PENDING
	:: on == V -> post(SUBMIT)
	fi;
	park();
	if
	:: timeout_won ->
		atomic { /* the CAS tok -> ORPHAN */
			was = (optok == 1);
#ifndef NO_ORPHAN
			if
			:: was -> optok = ORPHAN
			:: else
			fi
#endif
		}
		if
		:: !was
		:: was ->
			if
#ifdef NO_STATE
			:: on == H -> reactor_cancel()
			:: on != H ->
#else
			:: on == H && op != IDLE -> reactor_cancel()
			:: !(on == H && op != IDLE) ->
#endif
				arm(2);
				post(CANCEL);
				park()
			fi;
			arm(3);
			atomic {
				was = (optok == ORPHAN);
				if
				:: was -> optok = 3
				:: else -> wait = W_IDLE /* wait_abandon */
				fi
			}
			if
			:: was -> park()
			:: else
			fi
		fi
	:: else
	fi;
	assert(op == DONE);
	freed = true;
	cur[on] = DISP
}

inline op_done()
{
	byte t;

	atomic { kdone = false; op = DONE }
	atomic {
		assert(!freed);
		t = optok;
#ifndef KEEP_TOKEN
		optok = 0
#endif
	}
#ifdef KEEP_TOKEN
	optok = 0;
#endif
	if
	:: t != ORPHAN -> fire(t, false, H)
	:: else
	fi
}

inline serve()
{
	mtype m;

	atomic { /* all of the box, by one exchange */
		got[0] = box[0]; got[1] = box[1]; ngot = nbox; nbox = 0
	}
	do
	:: ngot > 0 ->
		atomic {
#ifdef LIFO
			ngot--; m = got[ngot]
#else
			m = got[0]; got[0] = got[1]; ngot--
#endif
		}
		if
		:: m == SUBMIT ->
			atomic { assert(!freed); op = PENDING }
		:: m == CANCEL ->
			if
			:: optok != 0 -> reactor_cancel()
			:: else
			fi;
			fire(2, false, H)
		fi
	:: else -> break
	od
}

inline run_or_steal(me)
{
	atomic {
		if
		:: ready[me] -> ready[me] = false; on = me; cur[me] = THREAD
		:: !ready[me] && ready[1 - me] ->
			ready[1 - me] = false; on = me; cur[me] = THREAD
		:: else
		fi
	}
}

proctype Home()
{
	byte vain = 2; /* passes that begin with nothing to do: more may come meanwhile */

end:	do
	:: cur[H] == DISP && (nbox || kdone || ready[H] || ready[V] || vain) ->
		if
		:: vain -> vain--
		:: !vain
		fi;
		if
		:: nbox -> serve()
		:: !nbox
		fi;
		if
		:: kdone -> op_done()
		:: !kdone
		fi;
		run_or_steal(H)
	od
}

proctype Away()
{
end:	do
	:: atomic { cur[V] == DISP && (ready[V] || ready[H]) -> run_or_steal(V) }
	od
}

proctype Deadline()
{
end:	(wtok == 1 && wait != W_IDLE); /* it is armed as T parks */
	fire(1, true, V)
}

/* The op ends by itself once it is submitted, or only when it is asked to. */
proctype Kernel()
{
	bool quiet;

	if
	:: quiet = true
	:: quiet = false
	fi;
end:	(op == CANCELING || (op == PENDING && !quiet));
	kdone = true
}

init {
	atomic {
		if
		:: on = V
		:: on = H
		fi;
		cur[on] = THREAD;
		run Thread();
		run Home();
		run Away();
		run Deadline();
		run Kernel()
	}
}

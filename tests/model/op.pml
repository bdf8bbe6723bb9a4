/* SPDX-License-Identifier: Apache-2.0 */
/* op.pml - an operation and its waiter: submission by message, a steal, the deadline,
 * the cancel, the retrieval (src/sched/io.c; op_done and serve_msgs in
 * src/sched/dispatch.c).
 *
 * Thread T submits to the reactor of vp H while it runs on vp V, or on H itself. Its
 * deadline may fire at any moment. A thief may move T to either vp. The kernel may
 * complete the operation at any moment, or only when it is asked to. A vp runs its
 * dispatcher or T, never both (cur). The dispatcher takes all messages of its box at
 * once and then serves them one by one, oldest first.
 *
 * Meanwhile the program closes the fd (io_leave and io_leave_end in src/io/close.c). An
 * operation that waits by the fd is moved to a duplicate (REACTOR_MOVED), on which T
 * goes on. Then the kernel closes the fd, and an epoll instance forgets the file. Then
 * an operation that still waits by the fd begins again (REACTOR_ANEW). The kernel looks
 * the fd up when the operation is submitted. (Which threads count as users of the fd is
 * in fd.pml.)
 *
 * Checked: T returns from its call (in no end state it waits); when it does, the op is
 * done and is not touched afterwards; the reactor is never asked to end an operation
 * that it does not know; at the end no operation waits by the fd for a forgotten file;
 * an operation that was on its way before the first look goes on with its file; T gets
 * what the kernel has completed.
 *
 * This op belongs to a waiter. An op of a sink has no wait: when it is done it belongs
 * to the sink, and a caller that asks for its end keeps it until then (src/async).
 *
 * Must fail: -DNO_STATE (retrieve looks at the vp alone, not at the op's state)
 * -DNO_ORPHAN (the waiter does not take its token off the op first) -DLIFO (a box is
 * served newest first) -DKEEP_TOKEN (op_done reads the token and does not take it)
 * -DNO_COUNT (the closer does not see an op that is on its way) -DCOUNT_LATE (the op
 * counts as on its way only once it is in the box) -DCOUNT_SHORT (it stops to count
 * before the reactor knows it) -DONE_LOOK (the closer does not look again after the
 * close) -DMOVE_DONE (an op that the kernel has completed is moved) */
#define H 0
#define V 1
#define DISP 0
#define THREAD 1

mtype = { SUBMIT, CANCEL, CANCEL_FD };      /* messages */
mtype = { IDLE, PENDING, CANCELING, DONE }; /* op->state */
mtype = { W_IDLE, W_ARMED, W_PARKED, W_FIRED };

#define ORPHAN 15
#define TOKEN(n) (again * 3 + (n)) /* each wait has its own: the op's, the cancel's, the
				    * orphan's */

byte cur[2];    /* what the vp's carrier runs */
byte on = V;    /* where T runs */
bool ready[2];  /* T is in that vp's queue */

mtype wait = W_IDLE; /* T's wait word: state, token, reason */
byte wtok;
bool timeout_won;

mtype op = IDLE;
byte optok;
bool kdone;     /* the kernel has completed it */
bool freed;     /* T has returned, so the memory of the op may be reused */
bool dup;       /* T goes on with a duplicate */
byte again;     /* how often it has begun again */
bool looked;    /* the kernel has looked up the op's file */
bool old;       /* the file is the one before the close */
bool move, fresh; /* the closer has asked for its end: before, after the close */
bool data, bad, moved, anew; /* its result: its own, -EBADF, REACTOR_MOVED,
			      * REACTOR_ANEW */
bool taken;     /* ghost: the kernel has completed it by itself */

bool closed;    /* the fd is closed */
byte submits;   /* vp->submits of H */
bool sent;      /* ghost: submitted by the fd and not done */
bool before;    /* ghost: it was so at the closer's first look */
bool closing, fd_done, after; /* H's list of closers: a message waits; it was served;
			       * the second */

mtype box[3], got[3]; /* H's box of messages, oldest first; what its dispatcher took */
byte nbox, ngot;

/* wait_fire, called on vp w, or by a thread outside; in that case T is queued on w,
 * too */
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

/* Leaves the vp; continues when a dispatcher runs T. */
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
	atomic { assert(nbox < 3); box[nbox] = m; nbox++ }
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

#define by_number (!dup && (op == PENDING || op == CANCELING))

proctype Thread()
{
	bool was;

	(cur[on] == THREAD);
begin:
	atomic {
		optok = TOKEN(1); op = IDLE; looked = false; data = false; bad = false; moved = false;
		move = false; fresh = false; anew = false; old = false;
		arm(TOKEN(1))
	}
	if /* the vp's own reactor, or another vp's */
	:: on == H -> atomic { sent = !dup; op = PENDING }
	:: on == V ->
#ifdef COUNT_LATE
		atomic { sent = !dup; post(SUBMIT) }
		submits++
#else
		submits++;
		atomic { sent = !dup; post(SUBMIT) }
#endif
	fi;
	park();
	if
	:: timeout_won ->
		atomic { /* the CAS tok -> ORPHAN */
			was = (optok == TOKEN(1));
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
				arm(TOKEN(2));
				post(CANCEL);
				park()
			fi;
			arm(TOKEN(3));
			atomic {
				was = (optok == ORPHAN);
				if
				:: was -> optok = TOKEN(3)
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
	if
	:: atomic { moved -> dup = true; again++ }
		goto begin
	:: atomic { !moved && anew -> again++ }
		goto begin
	:: else
	fi;
	assert(!taken || data);
	assert(!before || !bad);
	freed = true;
	cur[on] = DISP
}

inline op_done()
{
	byte t;

	atomic {
		kdone = false; op = DONE; sent = false;
#ifdef MOVE_DONE
		if
		:: move -> moved = true; data = false
		:: else
		fi
#endif
	}
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

inline serve_closers()
{
	atomic {
		if
		:: closing && !by_number -> closing = false; fd_done = true
		:: else
		fi
	}
}

inline serve()
{
	mtype m;

	atomic { /* all of the box, by one exchange */
		got[0] = box[0]; got[1] = box[1]; got[2] = box[2];
		ngot = nbox; nbox = 0
	}
	do
	:: ngot > 0 ->
		atomic {
#ifdef LIFO
			ngot--; m = got[ngot]
#else
			m = got[0]; got[0] = got[1]; got[1] = got[2]; ngot--
#endif
		}
		if
		:: m == SUBMIT ->
#ifdef COUNT_SHORT
			submits--;
			atomic { assert(!freed); op = PENDING }
#else
			atomic { assert(!freed); op = PENDING }
			submits--
#endif
		:: m == CANCEL ->
			if
			:: optok != 0 -> reactor_cancel()
			:: else
			fi;
			fire(TOKEN(2), false, H)
		:: m == CANCEL_FD ->
			closing = true;
			if
			:: by_number ->
				if
				:: after -> fresh = true
				:: else -> move = true
				fi;
				reactor_cancel()
			:: else
			fi
		fi
	:: else -> break
	od;
	serve_closers()
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
	byte vain = 2; /* dispatcher passes that may begin with nothing to do: more may
		        * arrive meanwhile */

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
		:: kdone -> op_done(); serve_closers()
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
end:	do
	:: wtok == TOKEN(1) && (wait == W_ARMED || wait == W_PARKED) -> /* it is armed
									 * when T
									 * parks */
		fire(TOKEN(1), true, V)
	od
}

/* The op completes by itself once it is submitted, or only when it is asked to. */
proctype Kernel()
{
	bool quiet;

	if
	:: quiet = true
	:: quiet = false
	fi;
end:	do
	:: atomic { (op == PENDING || op == CANCELING) && !looked ->
			looked = true;
			if
			:: !dup && closed -> bad = true; kdone = true
			:: else -> old = !dup
			fi
		}
	:: atomic { looked && !kdone && (op == CANCELING || (op == PENDING && !quiet)) &&
		    !bad && !data && !moved && !anew ->
			if
			:: !(old && closed) -> data = true; taken = true /* else the
									  * file is
									  * forgotten */
			:: op == CANCELING -> moved = move && !fresh; anew = fresh
			fi;
			kdone = true
		}
	od
}

inline ask_H()
{
	if
	:: there ->
		post(CANCEL_FD);
		fd_done;
		fd_done = false
	:: else
	fi
}

/* sched_io_cancel_fd looks at the count first, then at the table. sched_io_anew looks
 * at the table alone, because an op on its way will look up the fd's new file. */
proctype Closer()
{
	bool there;

	before = sent;
#ifdef NO_COUNT
	there = by_number;
#else
	there = submits > 0;
	if
	:: !there -> there = by_number
	:: else
	fi;
#endif
	ask_H();
	atomic { closed = true; after = true }
#ifndef ONE_LOOK
	there = by_number;
	ask_H();
#endif
	assert(!(by_number && old))
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
		run Kernel();
		run Closer()
	}
}

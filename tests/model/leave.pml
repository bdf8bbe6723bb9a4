/* SPDX-License-Identifier: Apache-2.0 */
/* leave.pml - a number is left while threads are in calls on its file (io_leave, io_leave_end in
 * src/io/close.c; once_ready in src/io/until.c, wait_outside in src/io/call.c).
 *
 * Each of two threads makes a call that the reactor has to tell it when to make: it counts itself
 * as using the number, waits by it, is told, makes the call by it, and if others were faster does
 * so again. Meanwhile the program closes the number: who was counted goes on with a duplicate of
 * the file. The engine is the one that forgets files which are closed (epoll): a wait by the
 * number that began before is never told of.
 *
 * Checked: who was in his call before the leaving began does not go on by the number once it is
 * closed; nobody waits for ever, neither a thread nor who closes.
 *
 * Must fail: -DCOUNT_LATE (a thread is counted from when it has been told) -DCOUNT_ROUNDS (it is
 * not counted between two rounds) -DONE_MOVE (who closes leads away once, and then only waits
 * for the count) -DNO_WAIT (he does not wait for it) -DNO_ANEW (he does not look again when the
 * number is closed)
 */
#define N 2

mtype = { NONE, WAITS, TOLD, MOVED, ANEW };

mtype wait[N];  /* in the reactor, by the number */
bool old[N];    /* the wait is for the file that the number was */
byte count;     /* who is counted */
bool counts[N]; /* ghost: is this one? */
bool before[N]; /* ghost: it was in its call when the leaving began */
bool dup[N];    /* it goes on with a duplicate */
bool slot;      /* leaving[] has the number */
bool closed;

inline begin_count(i)
{
	atomic { count++; counts[i] = true }
}

inline end_count(i)
{
	atomic { count--; counts[i] = false }
}

inline follow(i)
{
	dup[i] = true;
	end_count(i)
}

proctype Thread(byte i)
{
	byte rounds = 2;

#ifndef COUNT_LATE
	begin_count(i);
#endif
	do
	:: dup[i] -> break /* the file is held: nothing of this concerns it */
	:: !dup[i] && slot && counts[i] -> follow(i)
	:: !dup[i] && !(slot && counts[i]) ->
		atomic { wait[i] = WAITS; old[i] = !closed }
		if
		:: wait[i] == TOLD ->
#ifdef COUNT_LATE
			if
			:: !counts[i] -> begin_count(i)
			:: else
			fi;
#endif
			assert(!(closed && before[i])); /* the call */
			if
			:: rounds > 0 ->
				rounds--;
#ifdef COUNT_ROUNDS
				end_count(i);
				begin_count(i)
#endif
			:: break
			fi
		:: wait[i] == MOVED ->
			if
			:: counts[i] -> follow(i)
			:: else -> dup[i] = true
			fi
		:: wait[i] == ANEW
		fi
	od;
	if
	:: counts[i] -> end_count(i)
	:: else
	fi
}

/* Tells whoever waits, at any moment; but not of a file that it has forgotten, nor if nothing
 * happens to the file. */
proctype Reactor()
{
	bool quiet;

	if
	:: quiet = true
	:: quiet = false
	fi;
end:	do
	:: atomic { wait[0] == WAITS && !(old[0] && (closed || quiet)) -> wait[0] = TOLD }
	:: atomic { wait[1] == WAITS && !(old[1] && (closed || quiet)) -> wait[1] = TOLD }
	od
}

#define waits (wait[0] == WAITS || wait[1] == WAITS)

inline end_waits(how)
{
	atomic {
		if
		:: wait[0] == WAITS -> wait[0] = how
		:: else
		fi;
		if
		:: wait[1] == WAITS -> wait[1] = how
		:: else
		fi
	}
}

proctype Closer()
{
	atomic { before[0] = counts[0] || wait[0] != NONE; before[1] = counts[1] || wait[1] != NONE }
	if
	:: waits || count > 0 ->
		slot = true;
#ifdef ONE_MOVE
		end_waits(MOVED);
		count == 0;
#else
		do
		:: end_waits(MOVED);
#ifdef NO_WAIT
			break
#else
			if
			:: count == 0 -> break
			:: else
			fi
#endif
		od;
#endif
		slot = false
	:: else
	fi;
	closed = true;
#ifndef NO_ANEW
	end_waits(ANEW)
#endif
}

init {
	atomic {
		wait[0] = NONE;
		wait[1] = NONE;
		run Thread(0);
		run Thread(1);
		run Reactor();
		run Closer()
	}
}

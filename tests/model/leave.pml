/* SPDX-License-Identifier: Apache-2.0 */
/* leave.pml - in the preload library, an fd is closed while threads are in calls on its
 * file (io_leave, io_leave_end in src/io/close.c; once_ready in src/preload/pt_until.c,
 * wait_outside in src/io/call.c).
 *
 * Each of two threads makes a call that must wait until the file is ready. The thread
 * counts itself as a user of the fd, waits in the reactor by the fd, is told that the
 * file is ready, and makes the call by the fd. If other threads were faster, it waits
 * again. Meanwhile the program closes the fd, and each counted thread goes on with a
 * duplicate of the file. The engine is epoll, which forgets a file that is closed: a
 * wait by the fd that began before the close is never told.
 *
 * Checked: a thread that was in its call before io_leave does not use the fd after the
 * close; neither a thread nor the closer waits for ever.
 *
 * Must fail: -DCOUNT_LATE (a thread is counted only from when it is told)
 * -DCOUNT_ROUNDS (it is not counted between two rounds) -DONE_MOVE (the closer moves
 * the waits once, and then only waits for the count) -DNO_WAIT (the closer does not
 * wait for the count) -DNO_ANEW (the closer does not look again after the close) */
#define N 2

mtype = { NONE, WAITS, TOLD, MOVED, ANEW };

mtype wait[N];  /* each thread's wait in the reactor, by the fd */
bool old[N];    /* the wait is for the file before the close */
byte count;     /* how many threads are counted */
bool counts[N]; /* ghost: is this thread counted? */
bool before[N]; /* ghost: it was in its call when io_leave began */
bool dup[N];    /* it goes on with a duplicate */
bool slot;      /* leaving[] contains the fd */
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
	:: dup[i] -> break /* it holds the file itself: the close does not concern it */
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

/* Tells a waiting thread at any moment, but not of a file that epoll has forgotten, nor
 * if the file stays quiet. */
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

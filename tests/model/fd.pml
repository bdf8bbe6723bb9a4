/* SPDX-License-Identifier: Apache-2.0 */
/* fd.pml - an fd is closed, becomes another file, or is inherited by a fork's child,
 * while threads and an asynchronous request use it (struct fd_state in src/fd/fd.h;
 * uk_close, io_leave and io_leave_end in src/io/close.c; wait_outside in
 * src/io/io_wait.c).
 *
 * Each of two threads makes a call that must wait until the file is ready. The thread
 * counts itself as a user of the fd, waits in the reactor by the fd, is told that the
 * file is ready, and makes the call by the fd. If other threads were faster, it waits
 * again. A helper carries out a request that was submitted before: it binds itself to
 * the life of the fd that the request was made for, and makes two calls. Meanwhile the
 * program does one of these:
 *
 *   CLOSE  uk_close: the life ends, the fd becomes a dead one, the waits end, and when
 *          nobody uses it, it is closed. Then it is opened as a new file.
 *   LEAVE  dup2 in the preload library: the life ends, and the threads go on with a
 *          duplicate of their file; then the fd is the new file, in one step.
 *   FORK   the child has a copy of the counts and none of the threads. It closes the fd.
 *
 * The engine is epoll, which forgets a file that is closed: a wait by the fd that began
 * before is never told.
 *
 * Checked: a thread that was in its call before, and a request that was submitted
 * before, do not use the new file; nobody waits for ever.
 *
 * Must fail: -DCOUNT_LATE (a thread is counted only from when it is told)
 * -DCOUNT_ROUNDS (it is not counted between two rounds) -DONE_MOVE (the leaver moves
 * the waits once, and then only waits for the count) -DNO_WAIT (the leaver does not
 * wait for the count) -DNO_ANEW (it does not look again afterwards) -DNO_DEAD (uk_close
 * does not make the fd a dead one) -DNO_USERS (it does not wait for the users)
 * -DNO_BOUND (it does not wait for bound requests) -DNO_LIFE (a request does not compare
 * the life) -DLIFE_FIRST (it compares before it counts itself) -DKEEP_COUNTS (the child
 * keeps the counts) */
#define N 2

mtype = { NONE, WAITS, TOLD, MOVED, ANEW, CUT };
mtype = { OLD, DEAD, FREE, NEW };   /* what the fd means */
mtype = { CLOSE, LEAVE, FORK };

mtype what;
mtype num = OLD;
mtype wait[N];  /* each thread's wait in the reactor, by the fd */
mtype on[N];    /* the file that it waits for */
byte users;     /* struct fd_state: the word's lower half */
byte life;      /* its upper half */
byte bound;
bool heir;      /* a duplicate is there for those who come to wait */
bool begun;     /* ghost: the program has begun to close */
bool counts[N]; /* ghost: is this thread counted? */
bool before[N]; /* ghost: it was in its call when the program began */
bool dup[N];    /* it goes on with a duplicate */

inline use(i)
{
	atomic { users++; counts[i] = true }
}

inline unuse(i)
{
	atomic { users--; counts[i] = false }
}

inline follow(i)
{
	dup[i] = true;
	unuse(i)
}

proctype Thread(byte i)
{
	byte rounds = 2;

#ifndef COUNT_LATE
	use(i);
#endif
	do
	:: dup[i] -> break /* it holds the file itself: nothing concerns it any more */
	:: !dup[i] && heir && counts[i] -> follow(i)
	:: !dup[i] && !(heir && counts[i]) ->
		/* the kernel looks the fd up: nothing to wait for if it is dead or closed */
		atomic {
			if
			:: num == OLD || num == NEW -> wait[i] = WAITS; on[i] = num
			:: else -> wait[i] = CUT
			fi
		}
		if
		:: wait[i] == TOLD ->
#ifdef COUNT_LATE
			if
			:: !counts[i] -> use(i)
			:: else
			fi;
#endif
			assert(!(num == NEW && before[i])); /* the call */
			if
			:: rounds > 0 ->
				rounds--;
#ifdef COUNT_ROUNDS
				unuse(i);
				use(i)
#endif
			:: break
			fi
		:: wait[i] == MOVED ->
			if
			:: counts[i] -> follow(i)
			:: else -> dup[i] = true
			fi
		:: wait[i] == ANEW
		:: wait[i] == CUT -> break /* -EBADF */
		fi
	od;
	if
	:: counts[i] -> unuse(i)
	:: else
	fi
}

/* The request was submitted in life 0. In the preload library the program's close does
 * not wait for it: its calls are moved as the threads' are. */
proctype Helper()
{
	bool mine = true;

#if defined(LIFE_FIRST)
	mine = (life == 0);
	bound++;
#elif defined(NO_LIFE)
	bound++;
#else
	bound++;
	mine = (life == 0);
#endif
	if
	:: mine ->
		assert(!(num == NEW && what == CLOSE)); /* the first call */
		assert(!(num == NEW && what == CLOSE))  /* the second */
	:: else
	fi;
	bound--
}

/* Tells a waiting thread at any moment, but not of a file that epoll has forgotten, nor
 * if the old file stays quiet (which is not closed in the parent of a fork, and becomes
 * ready there in the end). */
#define forgotten(i) (on[i] == OLD && (num != OLD || quiet))
proctype Reactor()
{
	bool quiet;

	if
	:: what != FORK -> quiet = true
	:: quiet = false
	fi;
end:	do
	:: atomic { wait[0] == WAITS && !forgotten(0) -> wait[0] = TOLD }
	:: atomic { wait[1] == WAITS && !forgotten(1) -> wait[1] = TOLD }
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

inline begin()
{
	atomic {
		begun = true;
		before[0] = counts[0] || wait[0] != NONE;
		before[1] = counts[1] || wait[1] != NONE
	}
	life++
}

proctype Closer()
{
	begin();
#ifndef NO_DEAD
	num = DEAD;
#endif
	end_waits(CUT);
#ifndef NO_USERS
	users == 0;
#endif
#ifndef NO_BOUND
	bound == 0;
#endif
	num = FREE;
	num = NEW
}

proctype Leaver()
{
	begin();
	if
	:: waits || users > 0 ->
		heir = true;
#ifdef ONE_MOVE
		end_waits(MOVED);
		users == 0;
#else
		do
		:: end_waits(MOVED);
#ifdef NO_WAIT
			break
#else
			if
			:: users == 0 -> break
			:: else
			fi
#endif
		od;
#endif
		heir = false
	:: else
	fi;
	num = NEW;
#ifndef NO_ANEW
	end_waits(ANEW)
#endif
}

/* The child is a process of its own: the threads go on in the parent. */
proctype Child()
{
	byte mine_users, mine_bound;

	atomic { mine_users = users; mine_bound = bound }
#ifndef KEEP_COUNTS
	mine_users = 0;
	mine_bound = 0;
#endif
	mine_users == 0 && mine_bound == 0
}

init {
	atomic {
		wait[0] = NONE;
		wait[1] = NONE;
		if
		:: what = CLOSE; run Closer()
		:: what = LEAVE; run Leaver()
		:: what = FORK; run Child()
		fi;
		run Thread(0);
		run Thread(1);
		run Helper();
		run Reactor()
	}
}

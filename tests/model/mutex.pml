/* SPDX-License-Identifier: Apache-2.0 */
/* mutex.pml - the mutex (src/sync/mutex.c): word, queue, hand-off, time-outs.
 *
 * Three threads; the first locks and unlocks three times, the others once. Any wait may
 * time out at any moment, except those of thread 0: it waits for ever, so a lost
 * wake-up is an invalid end state. Whether the first waiter has starved is left open:
 * both ways are tried.
 *
 * The steps between two atomic operations of the code interleave; the bucket's lock is
 * a real lock. wait_fire and wait_park are one step each (park.pml checks them).
 *
 * Checked: one owner at a time; no thread waits for ever; at the end the word is 0 and
 * the queue is empty.
 *
 * Must fail: -DNO_RECHECK (queue without looking at the word under the bucket's lock)
 * -DNO_PASS (a wake-up that lost to a time-out is not passed to the next waiter)
 * -DIGNORE_HANDED (a waiter that timed out does not take the lock that it was handed)
 * -DKEEP_WOKEN (the woken thread queues again without clearing WOKEN) -DLATE_WOKEN
 * (WOKEN is set after the lock is free) */
#define N 3
#ifndef ROUNDS
#define ROUNDS 3
#endif
#ifndef ROUNDS_OF_OTHERS
#define ROUNDS_OF_OTHERS 1
#endif

#define LOCKED 1  /* M_LOCKED */
#define WAITERS 2 /* M_WAITERS */
#define WOKEN 4   /* M_WOKEN */

#define NONE 0    /* the wait word: not fired */
#define OK 1
#define TIMEOUT 2

mtype = { QUEUED, TAKEN, HANDED, LEFT };

byte word;             /* m->word */
byte q[N], qlen;       /* the bucket's queue for this key */
mtype state[N];        /* node state */
byte fired[N];         /* reason, NONE while armed */
bool armed[N];
bool bucket;           /* futex_lock(m) is held */
byte owners;           /* ghost */
byte done;

#define lock_bucket() atomic { !bucket -> bucket = true }
#define unlock_bucket() bucket = false

inline push_back(i)
{
	d_step { q[qlen] = i; qlen++; state[i] = QUEUED; fired[i] = NONE; armed[i] = true }
}

inline push_front(i)
{
	d_step {
		k = qlen;
		do
		:: k > 0 -> q[k] = q[k - 1]; k--
		:: else -> break
		od;
		q[0] = i; qlen++; state[i] = QUEUED; fired[i] = NONE; armed[i] = true
	}
}

/* futex_take */
inline take(i, st)
{
	d_step {
		k = 0;
		do
		:: q[k] != i -> k++
		:: else -> break
		od;
		do
		:: k < qlen - 1 -> q[k] = q[k + 1]; k++
		:: else -> break
		od;
		qlen--; q[qlen] = 0; state[i] = st;
		k = 0
	}
}

inline wait_fire(i, won)
{
	d_step {
		won = armed[i] && fired[i] == NONE;
		if :: won -> fired[i] = OK :: else fi
	}
}

/* mutex_lock_wait; ret: 1 = locked, 0 = timed out */
inline lock_slow(me)
{
	woken = false; front = false; ret = 2;
	w = word;
	do
	:: ret != 2 -> break
	:: ret == 2 && !(w & LOCKED) ->
		/* cas_acquire(&m->word, &w, mine) */
		atomic {
			if
			:: word == w ->
				word = w | LOCKED;
				if :: woken -> word = word & (LOCKED | WAITERS) :: else fi;
				ret = 1
			:: else -> w = word
			fi
		}
	:: ret == 2 && (w & LOCKED) ->
		/* enqueue: cas_relaxed(&m->word, w, want) */
		queued = false;
		atomic {
			want = w | WAITERS;
#ifndef KEEP_WOKEN
			if :: woken -> want = want & (LOCKED | WAITERS) :: else fi;
#endif
			if
			:: want == w || word == w ->
				if :: want != w -> word = want :: else fi;
				woken = false; queued = true
			:: else -> w = word
			fi
		}
		if
		:: queued ->
			lock_bucket();
			w = word;
			if
#ifdef NO_RECHECK
			:: false -> skip
#else
			:: (w & (LOCKED | WAITERS)) != (LOCKED | WAITERS) ->
				unlock_bucket();
				queued = false
#endif
			:: else ->
				if
				:: front -> push_front(me)
				:: else -> push_back(me)
				fi;
				unlock_bucket()
			fi
		:: else
		fi;
		if
		:: queued ->
			/* wait_park */
			if
			:: atomic { fired[me] != NONE -> armed[me] = false }
			:: atomic { me != 0 && fired[me] == NONE ->
				fired[me] = TIMEOUT; armed[me] = false }
			fi;
			if
			:: fired[me] == TIMEOUT -> /* leave() */
				lock_bucket();
				if
				:: state[me] == QUEUED ->
					take(me, LEFT);
					/* mutex_waiter_left */
					atomic {
						if
						:: qlen == 0 -> word = word & (LOCKED | WOKEN)
						:: else
						fi
					}
				:: else
				fi;
				unlock_bucket();
				if
#ifndef IGNORE_HANDED
				:: state[me] == HANDED -> ret = 1
#endif
				:: else -> ret = 0
				fi
			:: fired[me] == OK ->
				if
				:: state[me] == HANDED -> ret = 1
				:: else -> woken = true; front = true; w = word
				fi
			fi
		:: else
		fi
	od
}

/* mutex_release */
inline unlock(me)
{
	w = word;
	phase = 0;
	do
	:: phase == 0 ->
		if
		:: !(w & WAITERS) || (w & WOKEN) ->
			/* cas_release(&m->word, &w, w & ~LOCKED) */
			atomic {
				if
				:: word == w -> word = w & (WAITERS | WOKEN); phase = 2
				:: else -> w = word
				fi
			}
		:: else ->
			lock_bucket();
			w = word;
			if
			:: (w & (WAITERS | WOKEN)) == WAITERS -> phase = 1
			:: else -> unlock_bucket()
			fi
		fi
	:: phase == 1 ->
		if
		:: qlen == 0 ->
			atomic { word = word & WOKEN }
		:: qlen > 0 -> /* hand_over: it starved */
			n = q[0];
			take(n, HANDED);
			/* store_release(&m->word, ...) */
			word = LOCKED | (qlen > 0 -> WAITERS : 0);
			wait_fire(n, won)
		:: qlen > 0 -> /* pass_on */
			n = q[0];
#ifdef LATE_WOKEN
			word = (qlen > 1 -> WAITERS : 0);
#else
			word = WOKEN | (qlen > 1 -> WAITERS : 0);
#endif
			do
			:: true ->
				take(n, TAKEN);
				wait_fire(n, won);
				if
				:: won -> break
				:: else
				fi;
#ifdef NO_PASS
				break;
#endif
				if
				:: qlen == 0 ->
					atomic { word = word & LOCKED };
					break
				:: else ->
					n = q[0];
					if
					:: qlen == 1 -> atomic { word = word & (LOCKED | WOKEN) }
					:: else
					fi
				fi
			od;
#ifdef LATE_WOKEN
			atomic { word = word | WOKEN }
#endif
		fi;
		unlock_bucket();
		phase = 2
	:: phase == 2 -> break
	od
}

proctype Thread(byte me)
{
	byte w, want, k, n, round, ret, phase;
	bool woken, front, queued, won;

	do
	:: round < (me == 0 -> ROUNDS : ROUNDS_OF_OTHERS) ->
		round++;
		/* the fast path: cas_acquire(&m->word, 0, LOCKED) */
		atomic {
			ret = 0;
			if :: word == 0 -> word = LOCKED; ret = 1 :: else fi
		}
		if
		:: ret == 0 -> lock_slow(me)
		:: else
		fi;
		if
		:: ret == 1 ->
			atomic { owners++; assert(owners == 1); assert(word & LOCKED) }
			owners--;
			unlock(me)
		:: else
		fi;
		atomic { w = 0; want = 0; n = 0; phase = 0; ret = 0; front = false; queued = false;
			 woken = false; won = false; state[me] = LEFT; fired[me] = NONE }
	:: else -> break
	od;
	done++
}

init {
	atomic { run Thread(0); run Thread(1); run Thread(2) }
	(done == N);
	assert(word == 0 && qlen == 0 && !bucket)
}

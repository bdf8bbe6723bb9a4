/* SPDX-License-Identifier: Apache-2.0 */
/* monitor.pml - synchronized in the JVM runtime (Monitors.java): a slot that is null,
 * holds a single Monitor, or its Stripe. Enter and exit by one CAS each, against open,
 * queue, hand-over, drop, and wait and notify under the stripe's lock.
 *
 * Three fibers, two objects whose hash leads to the same slot. One fiber sets a flag in
 * object 1. One has entered object 1 twice and waits there for the flag, with a
 * time-out. The third enters object 2 and then object 1. Monitors are reused: each
 * fiber keeps a free one, the stripe another.
 *
 * A fiber that waits to enter may be on an OS thread that blocks. It is not made the
 * owner, but tries again, as the first in the queue.
 *
 * Memory: the slot is volatile; the stripe's fields are under its lock. The fields of a
 * single Monitor are written before it is put into the slot. `owner` and `key` are read
 * without a lock only to compare them with the reader's own values, which no other
 * fiber writes.
 *
 * Checked: at most one fiber at a time is in each object, and it is the owner; at the
 * end the slot is empty; no fiber waits for ever (an invalid end state).
 *
 * Must fail: -DNO_TAKE_IN -DEXIT_BY_STORE -DEARLY_NULL -DFORGET_WAITERS -DREAD_EARLY
 * -DFORGET_QUEUE -DNO_WAKE */
#define F 3             /* fibers; their ids are 1..F */
#define M 6             /* Monitors: 1..M */
#define STRIPE 7        /* the slot: 0, a Monitor, or STRIPE */

byte slot;
bool lock;              /* the stripe's lock */
byte key[M + 1], owner[M + 1], count[M + 1];
bool inStripe[M + 1];   /* is in the stripe's buckets */
byte size;
byte spare;             /* the stripe's free one */
byte mine[F + 1];       /* Context.monitor */
bool used[M + 1];       /* ghost: some fiber refers to it */
chan entry1 = [F] of { byte };
chan entry2 = [F] of { byte };
bool waits[F + 1];      /* is in the wait set of object 1 */
bool claimed[F + 1];    /* the wait has been claimed, to end it */
byte holds[F + 1];      /* Node.count */
bool go[F + 1];         /* woken */
bool blocked[F + 1];    /* its OS thread blocks to enter */
bool retries[F + 1];      /* woken to try again */
byte in[3];             /* ghost: fibers in each object */
bool flag;
byte ended;

#define acquire() atomic { !lock -> lock = true }

inline fresh(m)
{
	atomic {
		m = 1;
		do
		:: used[m] -> m++; assert(m <= M)
		:: else -> break
		od;
		used[m] = true
	}
}

inline clear(m)
{
	key[m] = 0; owner[m] = 0; count[m] = 0
}

/* Under the lock. Moves the single Monitor of the slot into the stripe. */
inline open()
{
	do
	:: slot == STRIPE -> break
	:: slot != STRIPE ->
		s = slot;
#ifdef READ_EARLY
		x = key[s];
#endif
		if
		:: atomic { slot == s -> slot = STRIPE }
#ifndef NO_TAKE_IN
			if
#ifdef READ_EARLY
			:: s != 0 -> atomic { key[s] = x; inStripe[s] = true; size++ }
#else
			:: s != 0 -> atomic { inStripe[s] = true; size++ }
#endif
			:: else
			fi;
#endif
			break
		:: atomic { slot != s }
		fi
	od
}

inline find(k, m)
{
	open();
	atomic {
		m = 1;
		do
		:: m <= M && inStripe[m] && key[m] == k -> break
		:: m <= M && !(inStripe[m] && key[m] == k) -> m++
		:: m > M -> m = 0; break
		od
	}
}

inline make(k, m)
{
	if
	:: spare != 0 -> m = spare; spare = 0
	:: else -> fresh(m)
	fi;
	atomic { assert(!inStripe[m]); key[m] = k; inStripe[m] = true; size++ }
}

inline drop(m)
{
#ifdef EARLY_NULL
	slot = 0;
#endif
	atomic {
		inStripe[m] = false;
		size--;
		if
		:: size == 0 -> slot = 0
		:: else
		fi
	}
	if
	:: key[m] == 1 -> assert(len(entry1) == 0); waits[1] = false; waits[2] = false; waits[3] = false
	:: else -> assert(len(entry2) == 0)
	fi;
	clear(m);
	atomic {
		if
		:: spare != 0 -> used[spare] = false
		:: else
		fi;
		spare = m
	}
}

/* Under the lock: hands the object to the next fiber; w: the fiber to be woken */
inline release(k, m, w)
{
	w = 0;
	if
	:: k == 1 && nempty(entry1) -> entry1?w
	:: k == 1 && empty(entry1)
	:: k == 2 && nempty(entry2) -> entry2?w
	:: k == 2 && empty(entry2)
	fi;
	if
	:: w != 0 && !blocked[w] -> atomic { owner[m] = w; count[m] = holds[w] }
	:: else ->
		atomic {
			owner[m] = 0; count[m] = 0;
			if
			:: w != 0 -> retries[w] = true
			:: else
			fi
		}
#ifdef FORGET_WAITERS
		drop(m)
#else
		if
		:: k == 1 && (waits[1] || waits[2] || waits[3])
#ifndef FORGET_QUEUE
		:: k == 1 && len(entry1) > 0 || k == 2 && len(entry2) > 0
#endif
		:: else -> drop(m)
		fi
#endif
	fi;
#ifdef NO_WAKE
	if
	:: w != 0 && retries[w] -> w = 0
	:: else
	fi
#endif
}

inline wake(w)
{
	if
	:: w != 0 -> go[w] = true
	:: else
	fi
}

inline await()
{
	go[f];
	go[f] = false
}

inline held(k, yes)
{
	yes = (there != 0 && there != STRIPE && owner[there] == f && key[there] == k)
}

/* Puts f before the others in the queue. */
inline first(q)
{
	atomic {
		x = len(q);
		q!f;
		do
		:: x > 0 -> q?s; q!s; x--
		:: x == 0 -> break
		od;
		s = 0
	}
}

inline enter(k)
{
	there = slot;
	held(k, yes);
	if
	:: there == 0 ->
		if
		:: mine[f] != 0 -> m = mine[f]; mine[f] = 0
		:: else -> fresh(m)
		fi;
		key[m] = k; owner[m] = f; count[m] = 1;
		if
		:: atomic { slot == 0 -> slot = m }
			yes = true
		:: atomic { slot != 0 }
			clear(m);
			mine[f] = m
		fi
	:: there != 0 && yes -> count[there] = count[there] + 1
	:: there != 0 && !yes
	fi;
	if
	:: yes -> goto entered
	:: else
	fi;
	do
	:: acquire();
		find(k, m);
		if
		:: m == 0 -> make(k, m)
		:: else
		fi;
		if
		:: owner[m] == 0 -> owner[m] = f; count[m] = 1; lock = false; break
		:: owner[m] == f -> count[m] = count[m] + 1; lock = false; break
		:: else
		fi;
		holds[f] = 1;
		if
		:: k == 1 && retries[f] -> first(entry1)
		:: k == 1 && !retries[f] -> entry1!f
		:: k == 2 && retries[f] -> first(entry2)
		:: k == 2 && !retries[f] -> entry2!f
		fi;
		retries[f] = false;
		lock = false;
		if
		:: blocked[f] = true
		:: true
		fi;
		await();
		blocked[f] = false;
		if
		:: retries[f]
		:: else -> break
		fi
	od;
entered:
	retries[f] = false;
	atomic { m = 0; there = 0; s = 0; x = 0; yes = false }
}

inline exit(k)
{
	there = slot;
	held(k, yes);
	if
	:: yes && count[there] > 1 -> count[there] = count[there] - 1; goto exited
	:: yes && count[there] == 1 ->
#ifdef EXIT_BY_STORE
		slot = 0;
		clear(there);
		mine[f] = there;
		goto exited
#else
		if
		:: atomic { slot == there -> slot = 0 }
			clear(there);
			atomic {
				if
				:: mine[f] != 0 -> used[mine[f]] = false
				:: else
				fi;
				mine[f] = there
			}
			goto exited
		:: atomic { slot != there }
		fi
#endif
	:: !yes
	fi;
	acquire();
	find(k, m);
	assert(m != 0 && owner[m] == f);
	count[m] = count[m] - 1;
	if
	:: count[m] == 0 -> release(k, m, w)
	:: else -> w = 0
	fi;
	lock = false;
	wake(w);
exited:
	atomic { m = 0; there = 0; s = 0; x = 0; w = 0; yes = false }
}

/* Object.wait() on object 1 */
inline wait()
{
	acquire();
	find(1, m);
	assert(m != 0 && owner[m] == f);
	holds[f] = count[m];
	claimed[f] = false;
	waits[f] = true;
	release(1, m, w);
	lock = false;
	wake(w);
	await()
}

/* Object.notifyAll() on object 1 */
inline signalAll()
{
	acquire();
	find(1, m);
	assert(m != 0 && owner[m] == f);
	w = 1;
	do
	:: w <= F ->
		if
		:: waits[w] ->
			waits[w] = false;
			if
			:: atomic { !claimed[w] -> claimed[w] = true } entry1!w
			:: atomic { claimed[w] }
			fi
		:: else
		fi;
		w++
	:: w > F -> break
	od;
	lock = false
}

proctype fiber(byte f)
{
	byte k, n, d, m, w, s, x, there;
	bool yes, sets;

	sets = (f == 1);
	k = (f == 3 -> 2 : 1);
	n = (f == 2 -> 2 : 1);
again:
	d = n;
	do
	:: d > 0 -> enter(k); d--
	:: d == 0 -> break
	od;
	in[k]++;
	assert(in[k] == 1);
	if
	:: sets -> flag = true; signalAll()
	:: f == 2 ->
		do
		:: flag -> break
		:: !flag -> in[1]--; wait(); in[1]++; assert(in[1] == 1)
		od
	:: f == 3
	fi;
	in[k]--;
	d = n;
	do
	:: d > 0 -> exit(k); d--
	:: d == 0 -> break
	od;
	if
	:: k == 2 -> k = 1; goto again
	:: else
	fi;
	atomic {
		k = 0; n = 0; sets = false;
		ended++;
		/* the slot and the stripe are empty */
		assert(ended < F || slot == 0 || (slot == STRIPE && lock))
	}
}

/* one time-out: Node.expired, Monitors.back */
proctype timer(byte f)
{
	byte m, s, w, x;
end:
	atomic { waits[f] && !claimed[f] -> claimed[f] = true }
	acquire();
	find(1, m);
	waits[f] = false;
	if
	:: m == 0 -> make(1, m)
	:: else
	fi;
	if
	:: owner[m] == 0 -> owner[m] = f; count[m] = holds[f]; w = f
	:: else -> entry1!f; w = 0
	fi;
	lock = false;
	wake(w)
}

init {
	atomic {
		run fiber(1);
		run fiber(2);
		run fiber(3);
		run timer(2)
	}
}

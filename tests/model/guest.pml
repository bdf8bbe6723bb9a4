/* SPDX-License-Identifier: Apache-2.0 */
/* guest.pml - a bound thread that leaves its carrier and comes back: guest_away,
 * guest_home, guest_send and guest_wait (src/sched/guest.c), beside a fork
 * (handoff_stop in src/sched/handoff.c).
 *
 * Two carriers: HOME is the thread's own, OTHER runs it while it is away. The thread
 * enters the runtime at home a few times; each time it goes on at OTHER and comes back.
 * A carrier's code is that of whichever thread runs there.
 *
 * Checked: HOME's dispatcher takes the thread only after it was sent, and each time; no
 * carrier is inside the runtime while the address space is copied; no one waits for
 * ever.
 *
 * Must fail: -DNO_LOOK (the dispatcher waits without a look whether the thread has come
 * already) -DLATE_WAKE (its futex is set after the lock is released) -DNO_LOCK (the
 * thread is sent without the lock, so a fork has seen HOME stopped) */
#define HOME 0
#define OTHER 1
#define TURNS 3

bool in_rt[2], stopped[2];
bool lock, shut;
bool queued;       /* the thread, saved, in OTHER's inbox */
bool comes, wake;  /* HOME's */
bool copying;      /* ghost */
byte at_home = TURNS;

inline acquire()
{
	atomic { !lock -> lock = true }
}

inline release()
{
	lock = false
}

/* Code of carrier c inside the runtime. */
inline touch(c)
{
	assert(in_rt[c] && !stopped[c] && !copying)
}

inline enter(c)
{
	in_rt[c] = true;
	do
	:: shut -> stopped[c] = true; (!shut); stopped[c] = false
	:: else -> break
	od
}

proctype Home()
{
	bool come;

	do
	:: at_home == 0 -> break
	:: else ->
		at_home--;
		/* the thread, a guest, enters the runtime and goes away */
		enter(HOME);
		touch(HOME);
		queued = true;
		/* the dispatcher: guest_wait */
		acquire();
		come = comes;
#ifdef NO_LOOK
		come = false;
#endif
		if
		:: !come -> wake = false; stopped[HOME] = true
		:: else
		fi;
		release();
		if
		:: !come -> (wake)
		:: else
		fi;
		assert(comes);
		comes = false;
		touch(HOME);
		/* the thread leaves: it is a guest again */
		in_rt[HOME] = false
	od
}

proctype Other()
{
	byte n = TURNS;

	do
	:: n == 0 -> break
	:: else ->
		n--;
		(queued);
		enter(OTHER);
		queued = false;
		touch(OTHER);
		/* the thread is saved; the dispatcher: guest_send */
#ifndef NO_LOCK
		acquire();
#endif
		comes = true;
		stopped[HOME] = false;
#ifndef LATE_WAKE
		wake = true;
#endif
#ifndef NO_LOCK
		release();
#endif
#ifdef LATE_WAKE
		wake = true;
#endif
		touch(OTHER);
		in_rt[OTHER] = false
	od
}

#define STANDS(c) (!in_rt[c] || stopped[c])

proctype Fork()
{
	bool ok;

	shut = true;
	do
	:: true ->
		acquire();
		ok = STANDS(HOME);
		ok = ok && STANDS(OTHER);
		if
		:: ok -> copying = true; copying = false; shut = false; release(); break
		:: else -> release()
		fi
	od
}

init
{
	atomic { run Home(); run Other(); run Fork() }
}

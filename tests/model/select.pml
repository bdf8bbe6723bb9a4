/* SPDX-License-Identifier: Apache-2.0 */
/* select.pml - the claim words of select (src/sync/chan.h, chan_claim and meet in
 * src/sync/chan.c): two published selects meet, or one of them times out.
 *
 * Two rendezvous channels. Select 0 sends on channel 0 or receives on channel 1, select
 * 1 sends on channel 1 or receives on channel 0: they can meet on either, and each may
 * find the other's node while it publishes its own. Select 2 receives on both and may
 * time out. Exactly two of them must meet, each once.
 *
 * The guard of a channel is a lock. The steps of meet() interleave with those of other
 * selects under the other channel's guard.
 *
 * Checked: each select is completed at most once; both sides agree; no meeting is lost
 * (two selects that could meet and wait for ever are an invalid end state).
 *
 * Must fail: -DBUSY_IS_GONE (a BUSY word is taken for a dead one) -DSELF_THEN_OTHER
 * (the own word first, whatever the order of addresses: a deadlock) -DNO_CLAIM (the
 * partner is taken without its word) */
#define OPEN 0
#define BUSY 1
#define GONE 2
#define TAKEN 3 /* + index of the case: here, of the channel */

byte claim[3];          /* select.claim; the index is the address */
bool guard[2];
bool q[12];             /* a node is linked: q[queue + channel * 3 + select] */
#define SENDQ 0
#define RECVQ 6
byte done[3];           /* times completed */
byte partner_of[3];

#define lock(c) atomic { !guard[c] -> guard[c] = true }
#define unlock(c) guard[c] = false

/* chan_claim(word, to) */
inline chan_claim(s, to, ok)
{
	do
	:: atomic { claim[s] == OPEN -> claim[s] = to; ok = true; break }
#ifdef BUSY_IS_GONE
	:: atomic { claim[s] != OPEN -> ok = false; break }
#else
	:: atomic { claim[s] > BUSY -> ok = false; break }
#endif
	od
}

inline complete(a, b)
{
	atomic {
		done[a]++; done[b]++;
		assert(done[a] == 1 && done[b] == 1);
		partner_of[a] = b; partner_of[b] = a
	}
}

/* meet(self, other): 0 = MEET, 1 = SELF_GONE, 2 = OTHER_GONE */
inline meet(me, other, c, result)
{
#ifdef SELF_THEN_OTHER
	first = me; second = other;
#else
	first = (me < other -> me : other);
	second = (me < other -> other : me);
#endif
#ifdef NO_CLAIM
	claim[me] = TAKEN + c; claim[other] = TAKEN + c; result = 0;
#else
	chan_claim(first, BUSY, ok);
	if
	:: !ok -> result = (first == me -> 1 : 2)
	:: else ->
		chan_claim(second, TAKEN + c, ok);
		if
		:: ok -> claim[first] = TAKEN + c; result = 0
		:: else -> claim[first] = OPEN; result = (second == me -> 1 : 2)
		fi
	fi
#endif
}

/* attempt(c) with publication: find a partner in the other queue, else queue. */
inline attempt(me, c, mine, theirs)
{
	lock(c);
	result = 3; /* not ready */
	other = 0;
	do
	:: other == 3 || result < 2 -> break
	:: other < 3 && result >= 2 ->
		if
		:: other != me && q[theirs + c * 3 + other] ->
			meet(me, other, c, result);
			if
			:: result == 1 -> skip
			:: else ->
				q[theirs + c * 3 + other] = false; /* unlinked: the
								    * partner has met,
								    * or is dead */
				if
				:: result == 0 -> complete(me, other)
				:: else
				fi
			fi
		:: else
		fi;
		other++
	od;
	if
	:: result >= 2 -> q[mine + c * 3 + me] = true
	:: else
	fi;
	unlock(c)
}

inline withdraw(me)
{
	c2 = 0;
	do
	:: c2 < 2 ->
		lock(c2);
		q[SENDQ + c2 * 3 + me] = false;
		q[RECVQ + c2 * 3 + me] = false;
		unlock(c2);
		c2++
	:: else -> break
	od
}

/* select_wait */
proctype Select(byte me)
{
	byte result, other, first, second, c2;
	bool ok, swap;

	/* the order of publication is random */
	if :: swap = false :: swap = true fi;
	result = 3;
	if
	:: me == 0 && !swap -> attempt(0, 0, SENDQ, RECVQ)
	:: me == 0 && swap -> attempt(0, 1, RECVQ, SENDQ)
	:: me == 1 && !swap -> attempt(1, 0, RECVQ, SENDQ)
	:: me == 1 && swap -> attempt(1, 1, SENDQ, RECVQ)
	:: me == 2 -> attempt(2, (swap -> 1 : 0), RECVQ, SENDQ)
	fi;
	if
	:: result >= 2 ->
		if
		:: me == 0 && swap -> attempt(0, 0, SENDQ, RECVQ)
		:: me == 0 && !swap -> attempt(0, 1, RECVQ, SENDQ)
		:: me == 1 && swap -> attempt(1, 0, RECVQ, SENDQ)
		:: me == 1 && !swap -> attempt(1, 1, SENDQ, RECVQ)
		:: me == 2 -> attempt(2, (swap -> 0 : 1), RECVQ, SENDQ)
		fi
	:: else
	fi;
	if
	:: result != 0 ->
		/* parks until completed. Select 2 may time out; the other two may stop
		 * if one of them met select 2 */
		do
		:: done[me] > 0 -> break
		:: done[me] == 0 && (me == 2 || (done[2] && done[1 - me])) ->
			chan_claim(me, GONE, ok);
			if
			:: ok -> assert(done[me] == 0); break
			:: else -> (done[me] > 0); break
			fi
		od
	:: else
	fi;
	withdraw(me);
	assert(done[me] <= 1);
	if
	:: done[me] -> assert(partner_of[partner_of[me]] == me && claim[me] >= TAKEN)
	:: else -> assert(claim[me] == GONE)
	fi
}

init {
	atomic { run Select(0); run Select(1); run Select(2) }
	/* all have ended: exactly one pair met */
	(_nr_pr == 1);
	assert(done[0] + done[1] + done[2] == 2)
}

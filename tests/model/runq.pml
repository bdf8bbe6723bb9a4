/* SPDX-License-Identifier: Apache-2.0 */
/* The ring of a run queue (src/sched/runq.h). Its owner pushes, takes the oldest
 * thread, and takes the youngest back. Two thieves take the older half. Each thread
 * that is pushed comes out once.
 *
 * Must fail: -DNO_CAS (the youngest is taken back by the tail alone), -DNO_COUNT (head
 * is compared, but without the count), -DTAIL_LAST (head is read before the tail),
 * -DNO_LOOK (the owner does not check which one was first). */
#define N 3

byte ring[4];
byte head, takes; /* one word: the index, and the count of RUNQ_TAKE */
byte tail;
byte out[4];
bool over;

inline comes_out(x) {
	d_step { out[x]++; assert(out[x] == 1) }
}

/* compares with the word of head that was read as h, e: sets ok, or updates h and e */
inline cas(to, more) {
	atomic {
		if
		:: head == h && takes == e -> head = to; takes = e + more; ok = true
		:: else -> h = head; e = takes; ok = false
		fi
	}
}

inline take_back() {
	atomic { h = head; e = takes }
	if
	:: h == tail
	:: else ->
		last = tail - 1;
		x = ring[last];
#ifndef TAIL_LAST
		tail = last;
#endif
#ifdef NO_CAS
		ok = true;
#else
		do
#ifdef NO_COUNT
		:: cas(h, 0)
#else
		:: cas(h, 1)
#endif
			if
			:: ok -> break
#ifndef NO_LOOK
			:: !ok && h == last + 1 -> tail = last + 1; break
			:: !ok && h != last + 1
#else
			:: !ok -> ok = true; break
#endif
			fi
		od;
#endif
#ifdef TAIL_LAST
		if
		:: ok -> tail = last
		:: else
		fi;
#endif
		if
		:: ok -> comes_out(x)
		:: else
		fi
	fi
}

active proctype owner() {
	byte id = 1, h, e, x, last;
	bool ok;

	do
	:: id <= N -> ring[tail] = id; tail = tail + 1; id++
	:: id > 1 -> /* takes the oldest */
		atomic { h = head; e = takes }
		do
		:: h == tail -> break
		:: h != tail ->
			x = ring[h];
			cas(h + 1, 0);
			if
			:: ok -> comes_out(x); break
			:: else
			fi
		od
	:: id > 1 -> take_back()
	:: id > N && head == tail -> break
	od;
	over = true
}

active [2] proctype thief() {
	byte h, e, t, n, x, y;
	bool ok;

	do
	:: over -> break
	:: else ->
		atomic { h = head; e = takes }
		do
		:: true ->
			t = tail;
			if
			:: t < h -> /* stale, or the youngest is being taken back and
				     * one side has it */
				if
				:: head == h && takes == e -> break
				:: else -> atomic { h = head; e = takes }
				fi
			:: t == h -> break
			:: else ->
				n = (t - h) - (t - h) / 2;
				x = ring[h];
				y = ring[h + n - 1];
				cas(h + n, 0);
				if
				:: ok ->
					comes_out(x);
					if
					:: n == 2 -> comes_out(y)
					:: else
					fi;
					break
				:: else
				fi
			fi
		od
	od
}

/* all have ended */
active proctype sum() {
	timeout -> assert(out[1] == 1 && out[2] == 1 && out[3] == 1)
}

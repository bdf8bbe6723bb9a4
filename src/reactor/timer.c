/* SPDX-License-Identifier: Apache-2.0 */
/* The timing wheel of one vp. Layout and invariants: timer_impl.h.
 *
 * Runs on any kernel thread of the runtime, under the wheel's lock; no system call but
 * the lock's own. Adding and deleting is O(1). Expiry takes the first slot again and
 * again. At level 0 the slot's due timers are hits. At a higher level `cur` jumps to
 * the slot's earliest timer, and the slot's timers are filed again, each at a lower
 * level. So a timer moves at most once per level, and a lone one exactly once, however
 * far away it was.
 *
 * Every slot knows its earliest deadline. That makes wheel_next exact to the nanosecond
 * (a sleeper does not wake merely to cascade), and timers inside one tick still fire at
 * their own time and not at the end of the tick. A deletion leaves the minimum as a
 * lower bound: the cost is at most one unneeded wake-up, which repairs it.
 *
 * Rejected: a heap (O(log n) cache misses for each add, and nearly every timeout is
 * deleted, not fired); the kernel's linked timeouts (451 ns for each operation).
 */
#include "reactor/timer.h"

#include "base/log.h"

#define FAR WHEEL_LEVELS

static uint64_t tick_of(int64_t when)
{
	return when <= 0 ? 0 : (uint64_t)when >> WHEEL_TICK_BITS;
}

static struct wheel_slot *slot_at(struct wheel *w, unsigned level, unsigned i)
{
	return &w->slot[level * WHEEL_SLOTS + i];
}

/* The slot that holds the earliest timer, or NULL. */
static struct wheel_slot *first_slot(struct wheel *w, unsigned *level)
{
	if (!w->levels)
		return NULL;
	*level = (unsigned)__builtin_ctz(w->levels);
	return slot_at(w, *level, (unsigned)__builtin_ctzll(w->used[*level]));
}

/* First tick of a slot that first_slot returned. */
static uint64_t slot_start(const struct wheel *w, const struct wheel_slot *s,
			   unsigned level)
{
	unsigned shift = level * WHEEL_BITS, above = shift + WHEEL_BITS;

	if (level == FAR)
		return ((w->cur >> shift) + 1) << shift;
	return (w->cur >> above) << above |
	       (uint64_t)(s - w->slot - level * WHEEL_SLOTS) << shift;
}

static void publish_next(struct wheel *w)
{
	unsigned level;
	struct wheel_slot *s = first_slot(w, &level);
	int64_t next = s ? s->min : TIME_NEVER;

	if (next == w->next)
		return;
	/* seq_cst: one thread adds an earlier timer and then asks whether the poller
	 * sleeps; the poller says that it will sleep and then reads wheel_next. At
	 * least one of them sees the other */
	store_seq_cst(&w->next, next);
}

static bool slot_empty(const struct wheel_slot *s)
{
	for (unsigned i = 0; i < WHEEL_WAYS; i++)
		if (!list_empty(&s->way[i]))
			return false;
	return true;
}

static void slot_push(struct wheel *w, struct wheel_slot *s, struct list *l)
{
	list_push_back(&s->way[w->turn++ % WHEEL_WAYS], l);
}

/* Takes from another list each time, so that the cache misses overlap. NULL: all are
 * empty. */
static struct list *ways_pop(struct list *way, unsigned *turn)
{
	struct list *l = NULL;

	for (unsigned i = 0; !l && i < WHEEL_WAYS; i++)
		l = list_pop_front(&way[(*turn)++ % WHEEL_WAYS]);
	return l;
}

static void slot_emptied(struct wheel *w, const struct wheel_slot *s)
{
	unsigned i = (unsigned)(s - w->slot), level = i / WHEEL_SLOTS;

	w->used[level] &= ~((uint64_t)1 << i % WHEEL_SLOTS);
	if (!w->used[level])
		w->levels &= ~(1u << level);
}

static void file_timer(struct wheel *w, struct timer *t)
{
	uint64_t tick = MAX(tick_of(t->when), w->cur);
	uint64_t diff = tick ^ w->cur;
	unsigned level = diff ? (63 - (unsigned)__builtin_clzll(diff)) / WHEEL_BITS : 0;
	unsigned i = (unsigned)(tick >> level * WHEEL_BITS) % WHEEL_SLOTS;
	struct wheel_slot *s;

	if (level >= FAR) {
		level = FAR;
		i = 0;
	}
	s = slot_at(w, level, i);
	if (!(w->used[level] >> i & 1)) {
		w->used[level] |= (uint64_t)1 << i;
		w->levels |= 1u << level;
		s->min = t->when;
	} else if (t->when < s->min) {
		s->min = t->when;
	}
	slot_push(w, s, &t->link);
}

void wheel_init(struct wheel *w, int64_t now)
{
	lock_init(&w->lock, RANK_WHEEL);
	w->count = 0;
	w->next = TIME_NEVER;
	w->cur = tick_of(now);
	w->levels = w->turn = 0;
	for (unsigned i = 0; i < array_size(w->used); i++)
		w->used[i] = 0;
	for (unsigned i = 0; i < array_size(w->slot); i++)
		for (unsigned k = 0; k < WHEEL_WAYS; k++)
			list_init(&w->slot[i].way[k]);
}

void wheel_add(struct wheel *w, struct timer *t, int64_t when)
{
	dbg_assert(!load_relaxed(&t->wheel));
	t->when = t->due = when;
	if (when == TIME_NEVER)
		return;
	lock_acquire(&w->lock);
	file_timer(w, t);
	store_relaxed(&t->wheel, w);
	store_relaxed(&w->count, w->count + 1);
	if (when < w->next)
		publish_next(w);
	lock_release(&w->lock);
}

/* Under the lock. The last access to t: the owner of a hit may reuse t from here on. */
static void let_go(struct wheel *w, struct timer *t)
{
	store_relaxed(&w->count, w->count - 1);
	/* release: a timer_del that sees NULL without the lock sees all we did to t
	 * (pairs there) */
	store_release(&t->wheel, NULL);
}

bool timer_del(struct timer *t)
{
	/* acquire: pairs with let_go. Only the owner adds, so NULL stays NULL here, and
	 * a wheel can only turn into NULL. */
	struct wheel *w = load_acquire(&t->wheel);
	bool was;

	if (!w)
		return false;
	lock_acquire(&w->lock);
	was = load_relaxed(&t->wheel) == w;
	if (was) {
		struct list *other = t->link.next;

		list_del(&t->link);
		/* t was alone: other is a list head of its slot */
		if (other->next == other) {
			size_t off = (size_t)((char *)other - (char *)w->slot);
			struct wheel_slot *s = &w->slot[off / sizeof(*s)];

			if (slot_empty(s)) {
				slot_emptied(w, s);
				publish_next(w);
			}
		}
		let_go(w, t);
	}
	lock_release(&w->lock);
	return was;
}

void timer_arm(struct wheel *w, struct timer *t, uint64_t token, int64_t when)
{
	if (load_relaxed(&t->wheel) == w && t->when <= when) {
		t->token = token;
		t->due = when;
		return;
	}
	timer_del(t);
	t->token = token;
	wheel_add(w, t, when);
}

void timer_rest(struct wheel *w, struct timer *t)
{
	struct wheel *in = load_relaxed(&t->wheel);

	if (in == w)
		t->due = TIME_NEVER;
	else if (in)
		timer_del(t);
}

/* The time of its slot has come, but not its own: file it again, or remove it if it
 * rests. */
static void put_off(struct wheel *w, struct timer *t)
{
	if (t->due == TIME_NEVER) {
		let_go(w, t);
		return;
	}
	t->when = t->due;
	file_timer(w, t);
}

/* Take what is due from a level 0 slot. What is not due goes to the back, so that the
 * rest is at the front when max stops us. s->min is set again only after a complete
 * round. */
static unsigned fire_slot(struct wheel *w, struct wheel_slot *s, int64_t now,
			  struct timer_hit *out, unsigned max)
{
	struct list kept, later, *l = NULL;
	int64_t min = TIME_NEVER;
	unsigned n = 0, turn = 0;

	list_init(&kept);
	list_init(&later);
	while (n < max && (l = ways_pop(s->way, &turn))) {
		struct timer *t = container_of(l, struct timer, link);

		if (t->when > now) {
			list_push_back(&kept, l);
			min = MIN(min, t->when);
		} else if (unlikely(t->due > now)) {
			list_push_back(&later, l);
		} else {
			out[n++] = (struct timer_hit){ t, t->token };
			let_go(w, t);
		}
	}
	if (slot_empty(s)) {
		s->min = min;
		if (list_empty(&kept))
			slot_emptied(w, s);
	}
	while ((l = list_pop_front(&kept)))
		slot_push(w, s, l);
	while ((l = list_pop_front(&later)))
		put_off(w, container_of(l, struct timer, link));
	return n;
}

static void cascade(struct wheel *w, struct wheel_slot *s)
{
	struct list all[WHEEL_WAYS], *l;
	unsigned turn = 0;

	/* All levels below are empty, so cur may move to the earliest of this slot. */
	w->cur = MAX(tick_of(s->min), w->cur);
	for (unsigned i = 0; i < WHEEL_WAYS; i++) {
		list_init(&all[i]);
		list_splice_back(&all[i], &s->way[i]);
	}
	slot_emptied(w, s);
	while ((l = ways_pop(all, &turn)))
		put_off(w, container_of(l, struct timer, link));
}

/* Advance cur to now, unless that would enter a used slot: new timers are near now. */
static void advance(struct wheel *w, int64_t now)
{
	unsigned level;
	struct wheel_slot *s = first_slot(w, &level);
	uint64_t tick = tick_of(now);

	if (tick > w->cur && (!s || tick < slot_start(w, s, level)))
		w->cur = tick;
}

unsigned wheel_expire(struct wheel *w, int64_t now, struct timer_hit *out, unsigned max)
{
	struct wheel_slot *s;
	unsigned n = 0, level;

	if (now < wheel_next(w))
		return 0;
	lock_acquire(&w->lock);
	while (n < max && (s = first_slot(w, &level)) && s->min <= now) {
		if (level == 0) {
			w->cur = slot_start(w, s, 0);
			n += fire_slot(w, s, now, out + n, max - n);
		} else {
			cascade(w, s);
		}
	}
	advance(w, now);
	publish_next(w);
	lock_release(&w->lock);
	return n;
}

int64_t wheel_next(const struct wheel *w)
{
	return load_seq_cst(&w->next);
}

/* Among the used slots of one level, which follow each other in time, raises *until to
 * the earliest timer of the last slot whose earliest timer is not after by. False: a
 * slot is later than by, so the higher levels are, too. */
static bool last_by(struct wheel *w, unsigned level, int64_t by, int64_t *until)
{
	for (uint64_t rest = w->used[level]; rest; rest &= rest - 1) {
		const struct wheel_slot *s =
		    slot_at(w, level, (unsigned)__builtin_ctzll(rest));

		if (s->min > by)
			return false;
		*until = MAX(*until, s->min);
	}
	return true;
}

int64_t wheel_next_crowd(struct wheel *w, int64_t slack)
{
	int64_t until = wheel_next(w), by;

	if (until == TIME_NEVER)
		return until;
	lock_acquire(&w->lock);
	/* the earliest timer may be gone by now */
	by = MIN(w->next, TIME_NEVER - slack) + slack;
	for (unsigned level = 0; level < WHEEL_LEVELS; level++)
		if (!last_by(w, level, by, &until))
			break;
	lock_release(&w->lock);
	return until;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* view.c - one look at the threads, vps and carriers of another process.
 *
 * A thread is read twice, and between these what it points to: its name, and the owner
 * of the lock that it waits for. If both copies say the same, down to the token of the
 * wait, which no two waits share, the parts belong together. Otherwise that thread is
 * read again; if it changes all the time, it is shown as it was last, without the parts.
 * Descriptors are never unmapped and keep their type. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "out.h"
#include "target_impl.h"

#define CHUNK_MOST ((size_t)64 << 20)
#define BYTES_MOST ((size_t)8 << 30) /* of all descriptors */
#define VPS_MOST 4096u
#define ROUNDS 8

static void get_text(char to[TARGET_NAME], const void *from, struct layout_at f)
{
	size_t n = f.size < TARGET_NAME ? f.size : TARGET_NAME - 1;

	memcpy(to, (const char *)from + f.at, n);
	to[n] = 0;
}

/* ---- vps and carriers ---- */

static void add_stat(uk_stats *s, uint32_t stat, uint64_t v)
{
	uint64_t old;

	memcpy(&old, (char *)s + stat, sizeof(old));
	old += v;
	memcpy((char *)s + stat, &old, sizeof(old));
}

static uint64_t at64(const void *p, size_t off)
{
	uint64_t v;

	memcpy(&v, (const char *)p + off, sizeof(v));
	return v;
}

/* As runq_len in src/sched/runq.h, and the slot. */
static unsigned ready_of(const struct layout *l, const void *vp)
{
	uint32_t n = (uint32_t)target_get(vp, l->in_vp.tail) -
		     (uint32_t)target_get(vp, l->in_vp.head);

	return (n > l->ring ? 0 : n) + (unsigned)target_get(vp, l->in_vp.over) +
	       (unsigned)target_get(vp, l->in_vp.pinned) +
	       (target_get(vp, l->in_vp.lifo) != 0);
}

static int look_at_vp(struct target *t, struct seen_vp *p, const void *raw)
{
	const struct layout *l = &t->table;
	char buf[1 << 16];
	uint64_t set = target_get(raw, l->in_vp.set),
		 engine = target_get(raw, l->in_vp.engine);
	int status = TARGET_OK;

	p->id = (long)(uint32_t)target_get(raw, l->in_vp.id);
	p->index = (long)(uint32_t)target_get(raw, l->in_vp.index);
	p->reactive = target_get(raw, l->in_vp.reactive);
	p->idle = (uint32_t)target_get(raw, l->in_vp.idle);
	p->ready = ready_of(l, raw);
	p->pending = (unsigned)target_get(raw, l->in_vp.pending);
	p->timers = (unsigned)target_get(raw, l->in_vp.timers);
	for (size_t i = 0; i < l->nsums; i++)
		add_stat(&p->stats, t->sums[i].stat, at64(raw, t->sums[i].vp));
	strcpy(p->set, "?");
	strcpy(p->engine, "?");
	if (target_peek(t, set, buf, l->set_size, &status))
		get_text(p->set, buf, l->in_set.name);
	out_clean(p->set);
	if (target_peek(t, engine, buf, l->engine_size, &status))
		status = target_text(t, target_get(buf, l->in_engine.name), p->engine);
	return status;
}

static int look_at_vps(struct target *t, struct view *v, uint64_t **owners)
{
	const struct layout *l = &t->table;
	int status = TARGET_OK;
	uint32_t n = target_word(t, l->vp_count, &status);
	uint64_t *at;
	struct span s;
	char *raw;

	if (!status && n > VPS_MOST)
		return target_fails(t, TARGET_REFUSED,
				    "process %d: its ukthreads is damaged", t->pid);
	at = target_array(t, l->vps, n, sizeof(*at), &status);
	v->vps = room(n, sizeof(*v->vps));
	*owners = room(n, sizeof(**owners));
	raw = room(1, l->vp_size);
	for (uint32_t i = 0; i < n && !status; i++) {
		s = (struct span){ at[i], raw, l->vp_size, false };
		status = target_read(t, &s, 1);
		if (status || !s.ok)
			continue;
		v->vps[v->nvps].address = at[i];
		(*owners)[v->nvps] =
		    target_get(raw, l->in_vp.owner) & ~(uint64_t)l->owner_mask;
		status = look_at_vp(t, &v->vps[v->nvps++], raw);
	}
	free(raw);
	free(at);
	return status;
}

static long vp_at(const struct view *v, uint64_t address)
{
	for (size_t i = 0; i < v->nvps; i++)
		if (v->vps[i].address == address)
			return (long)i;
	return -1;
}

/* The steps along a list, to end if it is a ring. */
struct cycle {
	uint64_t mark;
	unsigned steps;
};

static bool is_cycle(struct cycle *c, uint64_t at)
{
	if (c->steps && at == c->mark)
		return true;
	if (!(c->steps & (c->steps + 1)))
		c->mark = at;
	c->steps++;
	return false;
}

/* currents: the descriptors that they run. */
static int look_at_carriers(struct target *t, struct view *v, uint64_t **currents)
{
	const struct layout *l = &t->table;
	size_t capacity = 0;
	int status = TARGET_OK;
	struct cycle seen = { 0 };
	uint64_t at = 0;
	char *raw = room(1, l->carrier_size);

	*currents = NULL;
	target_peek(t, (uintptr_t)l->carriers, &at, sizeof(at), &status);
	while (at && !status && !is_cycle(&seen, at)) {
		struct seen_carrier *c;

		if (!target_peek(t, at, raw, l->carrier_size, &status))
			break;
		if (v->ncarriers == capacity) {
			capacity = 2 * capacity + 16;
			v->carriers = must(realloc(v->carriers, capacity * sizeof(*c)));
			*currents =
			    must(realloc(*currents, capacity * sizeof(**currents)));
		}
		c = &v->carriers[v->ncarriers];
		*c = (struct seen_carrier){
			.address = at,
			.tid = (int32_t)target_get(raw, l->in_carrier.tid),
			.thread = -1,
			.vp = -1,
			.dedicated = target_get(raw, l->in_carrier.dedicated)
		};
		if (!target_get(raw, l->in_carrier.ended))
			(*currents)[v->ncarriers++] =
			    target_get(raw, l->in_carrier.current);
		at = target_get(raw, l->in_carrier.next);
	}
	free(raw);
	return status;
}

static void join_vps(struct view *v, const uint64_t *owners)
{
	for (size_t i = 0; i < v->nvps; i++)
		for (size_t k = 0; owners[i] && k < v->ncarriers; k++)
			if (v->carriers[k].address == owners[i]) {
				v->vps[i].carrier = v->carriers[k].tid;
				v->carriers[k].vp = v->vps[i].id;
			}
}

/* ---- threads ---- */

/* The objects of the slab, as they are read: a and b are copies of all of them. */
struct raw {
	size_t n, size;
	uint64_t *at;
	char *a, *b, *ext;
	struct held {
		uint64_t owner;
		uint32_t bits;
	} * held;
	uint32_t *todo; /* indices of those that are to be read */
	size_t ntodo;
	bool *settled;
};

static int find_objects(struct target *t, struct raw *r)
{
	const struct layout *l = &t->table;
	char slab[4096], chunk[4096];
	int status = TARGET_OK;
	size_t capacity = 0, bytes = 0;
	struct cycle seen = { 0 };
	uint64_t at = 0;

	if (target_peek(t, (uintptr_t)l->slab, slab, l->slab_size, &status)) {
		r->size = target_get(slab, l->in_slab.size);
		at = target_get(slab, l->in_slab.chunks);
	}
	if (status || (r->size && (r->size < l->thread_size || r->size > 1 << 16)))
		return status ? status
			      : target_fails(t, TARGET_REFUSED,
					     "process %d: its ukthreads is damaged",
					     t->pid);
	while (at && r->size && !is_cycle(&seen, at)) {
		size_t used, has;

		if (!target_peek(t, at, chunk, l->chunk_size, &status))
			break;
		used = target_get(chunk, l->in_chunk.used);
		has = target_get(chunk, l->in_chunk.bytes);
		used = used < has ? used : has;
		if (used > CHUNK_MOST || used > BYTES_MOST - bytes)
			break;
		bytes += used;
		for (size_t off = 0; used - off >= r->size; off += r->size) {
			if (r->n == capacity) {
				capacity = 2 * capacity + 1024;
				r->at = must(realloc(r->at, capacity * 8));
			}
			r->at[r->n++] = at + l->chunk_objs + off;
		}
		at = target_get(chunk, l->in_chunk.next);
	}
	return status;
}

/* Copies what is to be read to `to`. An object that cannot be read is zero, so free. */
static int copy(struct target *t, const struct raw *r, char *to)
{
	struct span *s = room(r->ntodo, sizeof(*s));
	int status;

	for (size_t i = 0; i < r->ntodo; i++)
		s[i] = (struct span){ r->at[r->todo[i]], to + r->todo[i] * r->size,
				      r->size, false };
	status = target_read(t, s, r->ntodo);
	for (size_t i = 0; i < r->ntodo; i++)
		if (!s[i].ok)
			memset(s[i].to, 0, r->size);
	free(s);
	return status;
}

static bool is_shown(const struct layout *l, const char *d)
{
	uint64_t kind = target_get(d, l->in_thread.kind);

	return kind == l->kind_user || kind == l->kind_foreign;
}

/* Those that are free in the copy are done: zero in b, which is what counts later. */
static void keep_live(const struct layout *l, struct raw *r, const char *copy)
{
	size_t n = 0;

	for (size_t i = 0; i < r->ntodo; i++)
		if (is_shown(l, copy + r->todo[i] * r->size))
			r->todo[n++] = r->todo[i];
		else
			memset(r->b + r->todo[i] * r->size, 0, r->size);
	r->ntodo = n;
}

static const struct layout_holder *holder_rule(const struct target *t, const char *d)
{
	const struct layout *l = &t->table;
	uint64_t w = target_get(d, l->in_thread.wkind);

	if (target_get(d, l->in_thread.state) != l->state_parked || w >= l->nwaits ||
	    !target_get(d, l->in_thread.wobj) || t->holders[w].how == LAYOUT_NO_HOLDER)
		return NULL;
	return &t->holders[w];
}

/* What the copies in a point to. */
static int follow(struct target *t, struct raw *r)
{
	const struct layout *l = &t->table;
	struct span *s = room(3 * r->ntodo, sizeof(*s));
	size_t n = 0;
	int status;

	for (size_t i = 0; i < r->ntodo; i++) {
		uint32_t at = r->todo[i];
		const char *d = r->a + at * r->size;
		uint64_t ext = target_get(d, l->in_thread.ext),
			 o = target_get(d, l->in_thread.wobj);
		const struct layout_holder *h = holder_rule(t, d);

		memset(r->ext + at * l->ext_size, 0, l->ext_size);
		r->held[at] = (struct held){ 0 };
		if (ext)
			s[n++] = (struct span){ ext, r->ext + at * l->ext_size,
						l->ext_size, false };
		if (h && h->how == LAYOUT_ITSELF)
			r->held[at].owner = o;
		if (h && h->how == LAYOUT_OWNER)
			s[n++] =
			    (struct span){ o + h->owner, &r->held[at].owner, 8, false };
		if (h && h->how == LAYOUT_OWNER && h->bits)
			s[n++] =
			    (struct span){ o + h->unless, &r->held[at].bits, 4, false };
	}
	status = target_read(t, s, n);
	free(s);
	return status;
}

/* Do both copies describe the same moment of the thread? */
static bool agree(const struct layout *l, const char *a, const char *b)
{
	const struct layout_at same[] = {
		l->in_thread.id,    l->in_thread.kind,  l->in_thread.wait,
		l->in_thread.state, l->in_thread.wkind, l->in_thread.wobj,
		l->in_thread.wfd,   l->in_thread.ext,   l->in_thread.since,
		l->in_thread.vp,    l->in_thread.sp,    l->in_thread.stack,
	};

	for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (target_get(a, same[i]) != target_get(b, same[i]))
			return false;
	return true;
}

static int read_threads(struct target *t, struct raw *r)
{
	const struct layout *l = &t->table;
	int status = TARGET_OK;

	r->a = room(r->n, r->size);
	r->b = room(r->n, r->size);
	r->todo = room(r->n, sizeof(*r->todo));
	r->settled = room(r->n, sizeof(bool));
	r->ext = room(r->n, l->ext_size);
	r->held = room(r->n, sizeof(*r->held));
	for (size_t i = 0; i < r->n; i++)
		r->todo[r->ntodo++] = (uint32_t)i;
	for (unsigned round = 0; r->ntodo && !status && round < ROUNDS; round++) {
		size_t n = 0;

		status = copy(t, r, r->a);
		keep_live(l, r, r->a);
		if (!status)
			status = follow(t, r);
		if (!status)
			status = copy(t, r, r->b);
		keep_live(l, r, r->b);
		for (size_t i = 0; i < r->ntodo; i++) {
			uint32_t at = r->todo[i];

			if (agree(l, r->a + at * r->size, r->b + at * r->size))
				r->settled[at] = true;
			else
				r->todo[n++] = at;
		}
		r->ntodo = n;
	}
	return status;
}

static void raw_free(struct raw *r)
{
	free(r->at);
	free(r->a);
	free(r->b);
	free(r->ext);
	free(r->held);
	free(r->todo);
	free(r->settled);
}

static uint64_t stack_size_of(const struct layout *l, const char *d, const char *ext,
			      uint64_t *unused)
{
	unsigned kind = (unsigned)target_get(d, l->in_thread.kind_of_stack),
		 order = kind & 31;
	uint64_t size = target_get(ext, l->in_ext.own_stack);

	if (kind)
		size = (uint64_t)1 << (order < l->least_order ? order + 32 : order);
	*unused = target_get(d, l->in_thread.unused) * l->unit;
	return size > *unused ? size - *unused : 0;
}

/* The vps are sorted by nothing, and there are few. */
static long vp_id(const struct view *v, uint64_t address)
{
	long i = address ? vp_at(v, address) : -1;

	return i < 0 ? -1 : v->vps[i].id;
}

static int make_thread(struct target *t, const struct view *v, const struct raw *r,
		       size_t i, struct seen_thread *s)
{
	const struct layout *l = &t->table;
	const char *d = r->b + i * r->size, *e = r->ext + i * l->ext_size;
	uint64_t state = target_get(d, l->in_thread.state),
		 w = target_get(d, l->in_thread.wkind);
	uint64_t stack = target_get(d, l->in_thread.stack), unused, why;
	int status = TARGET_OK;

	*s = (struct seen_thread){ .id = target_get(d, l->in_thread.id),
				   .address = r->at[i],
				   .token = target_get(d, l->in_thread.wait) >>
					    l->token_shift,
				   .creator = target_get(d, l->in_thread.creator),
				   .state = state < l->nstates ? t->states[state] : "?",
				   .waits = "",
				   .holder = -1,
				   .fd = -1,
				   .vp = vp_id(v, target_get(d, l->in_thread.vp)) };
	s->user = target_get(d, l->in_thread.kind) == l->kind_user;
	s->light = s->user && target_get(d, l->in_thread.light);
	s->parked = state == l->state_parked;
	s->ended = state == l->state_exited;
	s->age = v->now - (int64_t)target_get(d, l->in_thread.since);
	s->age = s->age < 0 ? 0 : s->age;
	if (r->settled[i]) {
		get_text(s->name, e, l->in_ext.name);
		why = target_get(e, l->in_ext.bound_for);
		if (target_get(e, l->in_ext.bound))
			status = target_text(t, why, s->bound);
	}
	if (r->settled[i] && s->parked) {
		s->waits = w < l->nwaits ? t->waits[w] : "?";
		s->object = target_get(d, l->in_thread.wobj);
		s->fd = (int32_t)target_get(d, l->in_thread.wfd);
	}
	if (!s->user) {
		s->kernel = (long)target_get(d, l->in_thread.ktid);
		if (!s->parked)
			s->state = "running";
		return status;
	}
	if (s->ended) /* its stack is gone */
		return status;
	s->stack_size = stack_size_of(l, d, e, &unused);
	s->sp = target_get(d, l->in_thread.sp);
	if (s->sp && stack)
		s->top = stack + s->stack_size;
	if (!s->top || s->sp < stack || s->sp > s->top)
		s->sp = s->top = 0;
	return status;
}

static int by_id(const void *a, const void *b)
{
	const struct seen_thread *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

struct place {
	uint64_t address;
	int64_t index;
};

static int by_address(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return x->address < y->address ? -1 : x->address > y->address;
}

static int64_t thread_at(const struct place *p, size_t n, uint64_t address)
{
	struct place key = { address, 0 }, *f;

	f = address ? bsearch(&key, p, n, sizeof(key), by_address) : NULL;
	return f ? f->index : -1;
}

/* Joins threads with their holders and carriers. raw_of: for each thread its object. */
static void join_threads(const struct target *t, struct view *v, const struct raw *r,
			 const uint64_t *currents)
{
	struct place *places = room(v->nthreads, sizeof(*places));
	size_t n = v->nthreads;

	for (size_t i = 0; i < n; i++)
		places[i] = (struct place){ v->threads[i].address, (int64_t)i };
	qsort(places, n, sizeof(*places), by_address);
	for (size_t i = 0; i < r->n; i++) {
		int64_t k = r->settled[i] && (r->held[i].owner)
				? thread_at(places, n, r->at[i])
				: -1;
		const struct layout_holder *h;

		if (k < 0)
			continue;
		h = holder_rule(t, r->b + i * r->size);
		if (h && !(r->held[i].bits & h->bits))
			v->threads[k].holder = thread_at(places, n, r->held[i].owner);
	}
	for (size_t i = 0; i < v->ncarriers; i++) {
		int64_t k = thread_at(places, n, currents[i]);
		struct seen_thread *s = k < 0 ? NULL : &v->threads[k];

		if (!s || !s->user)
			continue;
		v->carriers[i].thread = k;
		s->kernel = v->carriers[i].tid;
		s->has_vp = v->carriers[i].vp >= 0;
	}
	free(places);
}

static int look_at_threads(struct target *t, struct view *v, const uint64_t *currents)
{
	const struct layout *l = &t->table;
	struct raw r = { 0 };
	int status = find_objects(t, &r);

	if (!status)
		status = read_threads(t, &r);
	v->threads = room(r.n, sizeof(*v->threads));
	for (size_t i = 0; i < r.n && !status; i++) {
		struct seen_thread *s = &v->threads[v->nthreads];

		/* a free one, or one that was free when it was read again */
		if (!is_shown(l, r.b + i * r.size))
			continue;
		status = make_thread(t, v, &r, i, s);
		v->nuser += s->user && !s->ended;
		v->nthreads++;
	}
	if (!status) {
		qsort(v->threads, v->nthreads, sizeof(*v->threads), by_id);
		join_threads(t, v, &r, currents);
	}
	raw_free(&r);
	return status;
}

/* ---- all of it ---- */

static int look_at_counters(struct target *t, struct view *v)
{
	const struct layout *l = &t->table;
	char foreign[4096] = { 0 };
	int status = TARGET_OK;

	target_peek(t, (uintptr_t)l->foreign, foreign, l->foreign_size, &status);
	for (size_t i = 0; i < v->nvps; i++) {
		for (size_t o = 0; o < sizeof(uk_stats); o += 8)
			add_stat(&v->stats, (uint32_t)o, at64(&v->vps[i].stats, o));
		v->stats.ready += v->vps[i].ready;
	}
	for (size_t i = 0; i < l->nsums; i++)
		if (t->sums[i].foreign)
			add_stat(&v->stats, t->sums[i].stat,
				 at64(foreign, t->sums[i].foreign - 1u));
	for (size_t i = 0; i < l->nvalues && !status; i++) {
		uint64_t x = 0;

		target_peek(t, (uintptr_t)t->values[i].at, &x, t->values[i].size,
			    &status);
		add_stat(&v->stats, t->values[i].stat, x);
	}
	v->stats.threads = v->stats.creates - v->stats.exits;
	return status;
}

/* It is still the program whose table we know. */
static int is_the_same(struct target *t)
{
	struct layout l = { 0 };
	int status = TARGET_OK;

	target_peek(t, t->at, &l, sizeof(l), &status);
	if (status)
		return status;
	return memcmp(&l, &t->table, sizeof(l)) != 0 ? target_lost(t) : TARGET_OK;
}

int target_look(struct target *t, struct view *v)
{
	uint64_t *owners = NULL, *currents = NULL;
	struct timespec now;
	int status;

	*v = (struct view){ 0 };
	clock_gettime(CLOCK_MONOTONIC, &now);
	v->now = now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
	status = look_at_vps(t, v, &owners);
	if (!status)
		status = look_at_carriers(t, v, &currents);
	if (!status) {
		join_vps(v, owners);
		status = look_at_counters(t, v);
	}
	if (!status)
		status = look_at_threads(t, v, currents);
	if (status != TARGET_LOST) {
		int lost = is_the_same(t);

		status = lost ? lost : status;
	}
	free(owners);
	free(currents);
	return status;
}

void view_free(struct view *v)
{
	free(v->threads);
	free(v->vps);
	free(v->carriers);
	*v = (struct view){ 0 };
}

int target_busy(struct target *t, const struct view *v, bool *busy)
{
	const struct layout *l = &t->table;
	struct span *s = room(2 * v->nvps, sizeof(*s));
	struct word {
		uint64_t owner;
		uint32_t idle;
	} *w = room(v->nvps, sizeof(*w));
	int status;

	for (size_t i = 0; i < v->nvps; i++) {
		uint64_t at = v->vps[i].address;

		s[2 * i] =
		    (struct span){ at + l->in_vp.owner.at, &w[i].owner, 8, false };
		s[2 * i + 1] =
		    (struct span){ at + l->in_vp.idle.at, &w[i].idle, 4, false };
	}
	status = target_read(t, s, 2 * v->nvps);
	for (size_t i = 0; i < v->nvps; i++)
		busy[i] = w[i].owner && !w[i].idle;
	free(s);
	free(w);
	return status;
}

bool target_unchanged(struct target *t, const struct seen_thread *s)
{
	const struct layout *l = &t->table;
	char d[4096];
	int status = TARGET_OK;

	return target_peek(t, s->address, d, l->thread_size, &status) &&
	       is_shown(l, d) && target_get(d, l->in_thread.id) == s->id &&
	       target_get(d, l->in_thread.wait) >> l->token_shift == s->token &&
	       target_get(d, l->in_thread.sp) == s->sp && !s->kernel;
}

const char *target_state_text(const struct seen_thread *s, char *buf, size_t n)
{
	snprintf(buf, n, "%s%s%s", s->kernel && s->user ? "running" : s->state,
		 s->waits[0] ? " on " : "", s->waits);
	return buf;
}

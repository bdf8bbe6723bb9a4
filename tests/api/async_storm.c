/* SPDX-License-Identifier: Apache-2.0 */
/* A seeded storm of asynchronous calls. Each actor has a group and some lanes: socket
 * pairs on which a counter goes from one end to the other. It submits vectors of random
 * requests: sends and receives of all kinds, single and repeated, with buffers of its
 * own and of a pool, linked, behind drains, with deadlines. It cancels some of them,
 * and closes lanes that are in use. These hold: each request ends once; its result is
 * what it moved (the counter shows that); a request that is linked to a failed one is
 * cancelled; a drain ends after all earlier requests; and no buffer is lost. */
#include "../io/iotest.h"

#include <sys/syscall.h>

#include "base/base.h"

#define ACTORS (UK_TSAN || UK_HOSTILE ? 6 : 12)
#define ROUNDS (UK_TSAN || UK_HOSTILE ? 150 : 600)
#define LANES 6u
#define SLOTS 48u
#define BUFS 8u
#define MOST 64u

struct lane {
	int fd[2];
	uint64_t sent, got;
	unsigned busy; /* requests on it */
	bool sending, receiving, closed;
	uint8_t out[MOST], in[MOST];
};

enum what { OTHER, SENDS, RECEIVES };

struct slot {
	uint64_t id, number; /* number: the order of submission */
	struct lane *lane;   /* NULL: none */
	enum what what;
	bool used, drains, pool;
	bool linked;    /* a request that has not ended is linked to it */
	unsigned after; /* slot + 1 of the request that it is linked to */
	int64_t res;
};

struct actor {
	uint64_t seed, number;
	uk_group *g;
	uk_buf_pool *pool;
	struct lane lanes[LANES];
	struct slot slots[SLOTS];
	uk_op ops[MOST];
	unsigned n; /* the number of ops */
};

static uint32_t draw(struct actor *a, uint32_t n)
{
	a->seed = a->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(a->seed >> 33) % n;
}

static void open_lane(struct lane *l)
{
	*l = (struct lane){ 0 };
	/* not by libc: TSan does not see uk_close, and would take an fd that is reused
	 * for one that is open twice */
	CHECK_EQ(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, l->fd),
		 0);
}

static void close_lane(struct lane *l)
{
	if (l->closed)
		return;
	l->closed = true;
	CHECK_EQ(uk_close(l->fd[0]), 0);
	CHECK_EQ(uk_close(l->fd[1]), 0);
}

/* -- submission -- */

static struct slot *free_slot(struct actor *a)
{
	for (unsigned i = 0; i < SLOTS; i++)
		if (!a->slots[i].used && !a->slots[i].linked)
			return &a->slots[i];
	return NULL;
}

static void add(struct actor *a, struct slot *s, uk_op o)
{
	static const uk_time soon[] = { 0, UK_US, 100 * UK_US, 2 * UK_MS };
	uint32_t when = draw(a, 5);

	s->used = true;
	s->number = ++a->number;
	o.tag = (uint64_t)(s - a->slots);
	if (when < 4 || o.kind == UK_OP_TIMEOUT)
		o.deadline = uk_after(soon[when % 4] + 10 * UK_US);
	if (s->lane)
		s->lane->busy++;
	a->ops[a->n++] = o;
}

static void add_send(struct actor *a, struct slot *s, struct lane *l)
{
	size_t n = 1 + draw(a, MOST);
	uk_op o = UK_OP(.kind = draw(a, 2) ? UK_OP_SEND : UK_OP_WRITE, .fd = l->fd[0],
			.addr = l->out, .len = n);

	for (size_t i = 0; i < n; i++)
		l->out[i] = (uint8_t)(l->sent + i);
	if (o.kind == UK_OP_WRITE)
		o.off = UK_OP_HERE;
	*s = (struct slot){ .lane = l, .what = SENDS };
	l->sending = true;
	add(a, s, o);
}

static void add_recv(struct actor *a, struct slot *s, struct lane *l)
{
	uk_op o = UK_OP(.kind = UK_OP_RECV, .fd = l->fd[1]);

	*s = (struct slot){ .lane = l, .what = RECEIVES, .pool = draw(a, 2) };
	if (s->pool) {
		o.options = UK_OP_POOL | (draw(a, 2) ? UK_OP_MULTI : 0);
		o.addr2 = a->pool;
	} else {
		o.addr = l->in;
		o.len = 1 + draw(a, MOST);
		if (draw(a, 2)) {
			o.kind = UK_OP_READ;
			o.off = UK_OP_HERE;
		}
	}
	l->receiving = true;
	add(a, s, o);
}

static void add_other(struct actor *a, struct slot *s, struct lane *l)
{
	uk_op o = UK_OP(.kind = draw(a, 2) ? UK_OP_NOP : UK_OP_TIMEOUT);

	*s = (struct slot){ 0 };
	if (draw(a, 4) == 0) {
		s->drains = true;
		o.options = UK_OP_DRAIN;
	} else if (draw(a, 3) == 0 && !l->closed) {
		s->lane = l;
		o = UK_OP(.kind = UK_OP_POLL, .fd = l->fd[1], .flags = 1 /* IN */);
	}
	add(a, s, o);
}

static bool add_one(struct actor *a)
{
	struct lane *l = &a->lanes[draw(a, LANES)];
	struct slot *s = free_slot(a);
	uint32_t what = draw(a, 3);

	if (!s)
		return false;
	if (what == 0 && !l->sending && !l->closed && l->sent - l->got < 4096)
		add_send(a, s, l);
	else if (what == 1 && !l->receiving && !l->closed)
		add_recv(a, s, l);
	else
		add_other(a, s, l);
	return true;
}

/* Links some of them into chains. */
static void link_some(struct actor *a)
{
	for (unsigned i = 0; i + 1 < a->n; i++)
		if (draw(a, 3) == 0 && !(a->ops[i].options & UK_OP_MULTI) &&
		    !(a->ops[i + 1].options & UK_OP_DRAIN)) {
			a->ops[i].options |= UK_OP_LINK;
			a->slots[a->ops[i].tag].linked = true;
			a->slots[a->ops[i + 1].tag].after = (unsigned)a->ops[i].tag + 1;
		}
}

static void collect(struct actor *a, uk_time deadline);
static void cancel_all(struct actor *a);

static void submit_some(struct actor *a)
{
	unsigned want = 1 + draw(a, 8), done = 0;

	a->n = 0;
	while (a->n < want && add_one(a))
		;
	link_some(a);
	while (done < a->n) {
		int r = uk_group_submit(a->g, a->ops + done, a->n - done);

		if (r == -EAGAIN) {
			cancel_all(a);
			collect(a, UK_FOREVER);
			continue;
		}
		CHECK(r > 0);
		for (; r; r--, done++)
			a->slots[a->ops[done].tag].id = a->ops[done].id;
	}
}

/* -- completions -- */

static void check_bytes(struct lane *l, const uint8_t *b, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		CHECK_EQ(b[i], (uint8_t)(l->got + (uint64_t)i));
	l->got += (uint64_t)n;
	CHECK(l->got <= l->sent || l->sending);
}

static void received(struct actor *a, const struct slot *s, const uk_completion *e)
{
	struct lane *l = s->lane;

	CHECK_EQ(!!e->buf, s->pool && e->res > 0);
	if (e->res > 0)
		check_bytes(l, e->buf ? e->buf : l->in, e->res);
	else if (e->res == 0)
		CHECK(l->closed);
	if (e->buf)
		uk_buf_put(a->pool, e->buf);
}

static bool may_fail_so(const struct slot *s, int64_t res)
{
	if (res == -ETIMEDOUT || res == -ECANCELED)
		return true;
	if (s->pool && res == -ENOBUFS)
		return true;
	return s->lane && s->lane->closed &&
	       (res == -EBADF || res == -EPIPE || res == -ECONNRESET);
}

/* When a drain has ended, no earlier request is left. When any request has ended, no
 * earlier drain is left. */
static void check_order(const struct actor *a, const struct slot *s)
{
	for (unsigned i = 0; i < SLOTS; i++) {
		const struct slot *o = &a->slots[i];

		if (o->used && o->number < s->number)
			CHECK(!s->drains && !o->drains);
	}
}

static void check_link(struct actor *a, struct slot *s, int64_t res)
{
	struct slot *before;

	if (!s->after)
		return;
	before = &a->slots[s->after - 1];
	CHECK(!before->used);
	CHECK(before->res >= 0 || res == -ECANCELED);
	before->linked = false;
	s->after = 0;
}

static void ended(struct actor *a, const uk_completion *e)
{
	struct slot *s = &a->slots[e->tag];
	struct lane *l = s->lane;

	CHECK(e->tag < SLOTS && s->used && s->id == e->id);
	CHECK(e->res >= 0 || may_fail_so(s, e->res));
	if (s->what == RECEIVES)
		received(a, s, e);
	else if (s->what == SENDS && e->res > 0)
		l->sent += (uint64_t)e->res;
	if (e->res >= 0)
		check_order(a, s);
	if (e->flags & UK_COMPLETION_MORE)
		return;
	s->used = false;
	s->res = e->res;
	check_link(a, s, e->res);
	if (!l)
		return;
	l->sending &= s->what != SENDS;
	l->receiving &= s->what != RECEIVES;
	l->busy--;
}

static void collect(struct actor *a, uk_time deadline)
{
	uk_completion e[16];
	unsigned max = 1 + draw(a, 16);
	int r;

	switch (draw(a, 3)) {
	case 0:
		r = uk_group_wait_any(a->g, e, max, deadline);
		break;
	case 1:
		r = uk_group_wait_all(a->g, e, 1 + draw(a, max), deadline);
		break;
	default:
		r = uk_group_wait_all(a->g, e, max, deadline);
	}
	CHECK(r >= 0 || r == -ETIMEDOUT);
	for (int i = 0; i < r; i++)
		ended(a, &e[i]);
}

/* -- the other steps -- */

static void cancel(struct actor *a, const struct slot *s)
{
	int r = s->used ? uk_group_cancel(a->g, s->id) : 0;

	CHECK(!r || r == -ENOENT);
}

static void cancel_some(struct actor *a)
{
	for (uint32_t n = draw(a, 4); n; n--)
		cancel(a, &a->slots[draw(a, SLOTS)]);
}

static void cancel_all(struct actor *a)
{
	for (unsigned i = 0; i < SLOTS; i++)
		cancel(a, &a->slots[i]);
}

static void close_some(struct actor *a)
{
	close_lane(&a->lanes[draw(a, LANES)]);
}

static void open_some(struct actor *a)
{
	for (unsigned i = 0; i < LANES; i++)
		if (a->lanes[i].closed && !a->lanes[i].busy)
			open_lane(&a->lanes[i]);
}

static void round_of(struct actor *a)
{
	static const uk_time soon[] = { 0, 20 * UK_US, UK_MS };

	submit_some(a);
	if (draw(a, 3) == 0)
		cancel_some(a);
	if (draw(a, 8) == 0)
		close_some(a);
	if (draw(a, 2))
		collect(a, uk_after(soon[draw(a, 3)]));
	open_some(a);
}

static void all_is_accounted_for(struct actor *a)
{
	void *bufs[BUFS];
	uk_completion e;

	cancel_all(a);
	for (int r; (r = uk_group_wait_any(a->g, &e, 1, UK_FOREVER)); ended(a, &e))
		CHECK_EQ(r, 1);
	for (unsigned i = 0; i < SLOTS; i++)
		CHECK(!a->slots[i].used && !a->slots[i].linked);
	for (unsigned i = 0; i < BUFS; i++)
		CHECK((bufs[i] = uk_buf_get(a->pool)));
	CHECK(!uk_buf_get(a->pool));
	for (unsigned i = 0; i < BUFS; i++)
		uk_buf_put(a->pool, bufs[i]);
}

static void *actor(void *arg)
{
	struct actor *a = calloc(1, sizeof(*a));

	CHECK(a);
	a->seed = (uintptr_t)arg;
	CHECK_EQ(uk_group_create(&a->g, SLOTS + 4), 0);
	CHECK_EQ(uk_buf_pool_create(&a->pool, BUFS, MOST), 0);
	for (unsigned i = 0; i < LANES; i++)
		open_lane(&a->lanes[i]);
	for (int i = 0; i < ROUNDS; i++)
		round_of(a);
	if (draw(a, 2))
		all_is_accounted_for(a);
	uk_group_destroy(a->g);
	uk_buf_pool_destroy(a->pool);
	for (unsigned i = 0; i < LANES; i++)
		close_lane(&a->lanes[i]);
	free(a);
	return NULL;
}

static void each_request_ends_once_and_returns_what_it_moved(void)
{
	uint64_t seed = env_key_number(ENV_SEED, (uint64_t)uk_now());
	uk_thread *t[ACTORS];

	printf("# UK_DEBUG=seed=%llu\n", (unsigned long long)seed);
	fflush(stdout);
	for (int i = 0; i < ACTORS; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, actor,
					  (void *)(uintptr_t)(seed * 64 + (unsigned)i)),
			 0);
	for (int i = 0; i < ACTORS; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

int main(void)
{
	io_test_init(HANG_SEC);
	RUN(each_request_ends_once_and_returns_what_it_moved);
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The user-level futex table: threads sleep here until another thread wakes an address
 * (law 4, docs/ARCHITECTURE.md).
 *
 * Runs on the caller's stack, in the runtime. A bucket is a lock and a FIFO; the
 * waiters of all addresses that hash to it share the queue. The condition is checked
 * under the lock, and the waker takes the same lock after changing it, so a wake-up
 * cannot fall between check and sleep. Waiters are fired under the lock. A waiter whose
 * deadline or cancellation was first is passed over at once, and the wake-up goes to
 * the next one; a waiter that leaves never swallows it.
 *
 * User threads and foreign threads wait here alike; wait_fire knows the difference.
 *
 * The table has 8192 buckets of one cache line: 512 KiB of zero pages, touched only
 * where hashed to. A million waiters on as many addresses are about 120 in a bucket,
 * and a search reads a cold line for each of them that it passes. So a bucket with many
 * waiters is split into parts, by more bits of the hash and under the same lock; the
 * parts of a group of buckets (32 KiB) are mapped when that first happens.
 *
 * Rejected: queues inside the objects (libc's sem_t has no space for one, and a raw
 * futex word has none at all); a count of waiters that is read before the lock (it
 * needs a full fence on every wake, which costs as much as the lock; the primitives
 * keep counts of their own); more buckets from the beginning (a thousand waiters would
 * touch a page each); a table that grows as a whole (threads that look for a bucket
 * would have to be kept out while it moves); a hash that mixes before it multiplies
 * (fewer full buckets, but 489 ns a wake-up instead of 412 among 100,000 waiters).
 */
#include <fcntl.h>
#include <sys/auxv.h>

#include "sync/futex.h"

#include "base/at_load.h"
#include "base/log.h"
#include "base/os.h"
#include "base/sys.h"
#include "uk/sync.h"

#define GROUP 64u         /* buckets; a page */
#define DEADLINE 6        /* SCHED_DEADLINE, which not all headers have */
#define DEADLINE_RANK 100 /* above all priorities */

struct futex_bucket futex_table[FUTEX_BUCKETS];
static uint8_t
    opened[FUTEX_BUCKETS / GROUP]; /* a bucket of the group is used; set once, atomic */
typedef struct list group_parts[GROUP][FUTEX_PARTS];
/* While a bucket is split, its queues, under its lock. Set once, before the first of
 * the group is split; atomic */
static group_parts *parts[FUTEX_BUCKETS / GROUP];
static uint8_t crowded; /* a bucket has been split; set once, atomic */
uint8_t futex_ranked;

static uint64_t hash_of(const void *key)
{
	return (uintptr_t)key * 0x9e3779b97f4a7c15ULL;
}

unsigned futex_hash(const void *key)
{
	return (unsigned)(hash_of(key) >> 51); /* 13 bits */
}

unsigned futex_part(const void *key)
{
	return (unsigned)(hash_of(key) >> 46) % FUTEX_PARTS; /* the next 5 bits */
}

/* Before the group has its parts the address is useless, but may be prefetched. */
static struct list *parts_of(const struct futex_bucket *b)
{
	size_t i = (size_t)(b - futex_table);
	group_parts *g = load_relaxed(&parts[i / GROUP]);

	return (struct list *)((uintptr_t)g + i % GROUP * sizeof((*g)[0]));
}

void futex_foresee(const void *key)
{
	unsigned i = futex_hash(key);

	__builtin_prefetch(&futex_table[i], 1);
	if (unlikely(load_relaxed(&crowded)))
		__builtin_prefetch(&parts_of(&futex_table[i])[futex_part(key)], 1);
}

/* Under the lock: the queue of the threads that wait on key. */
static struct list *queue_of(struct futex_bucket *b, const void *key)
{
	return b->split ? &parts_of(b)[futex_part(key)] : &b->queue;
}

static struct futex_bucket *bucket_with(const struct futex_node *n)
{
	return &futex_table[load_relaxed(&n->bucket)];
}

static void put_in(struct futex_node *n, const struct futex_bucket *b)
{
	store_relaxed(&n->bucket, (uint16_t)(b - futex_table));
}

static struct futex_bucket *bucket_of(const void *key)
{
	return &futex_table[futex_hash(key)];
}

#if UK_CHECKS
AT_LOAD(rank_buckets)
{
	for (unsigned i = 0; i < FUTEX_BUCKETS; i++)
		futex_table[i].lock.rank = RANK_FUTEX;
}
#endif

/* Zero memory is a valid bucket: the first thread that locks it makes the queue. */
static void bucket_open(struct futex_bucket *b)
{
	if (unlikely(!b->queue.next)) {
		store_relaxed(&opened[(b - futex_table) / GROUP], 1);
		fence_compiler(); /* a child forked in between finds its group opened */
		list_init(&b->queue);
	}
}

static void bucket_lock(struct futex_bucket *b)
{
	lock_acquire(&b->lock);
	bucket_open(b);
}

struct futex_bucket *futex_lock(const void *key)
{
	struct futex_bucket *b = bucket_of(key);

	bucket_lock(b);
	return b;
}

void futex_lock_nested(struct futex_bucket *b)
{
	lock_acquire_nested(&b->lock);
	bucket_open(b);
}

bool futex_try_nested(struct futex_bucket *b)
{
	if (!lock_try_nested(&b->lock))
		return false;
	bucket_open(b);
	return true;
}

void futex_lock_pair(const void *k1, const void *k2, struct futex_bucket **b1,
		     struct futex_bucket **b2)
{
	struct futex_bucket *x = bucket_of(k1), *y = bucket_of(k2);

	*b1 = x;
	*b2 = y;
	if (x > y) {
		struct futex_bucket *tmp = x;

		x = y;
		y = tmp;
	}
	bucket_lock(x);
	if (x != y)
		futex_lock_nested(y);
}

void futex_unlock_pair(struct futex_bucket *b1, struct futex_bucket *b2)
{
	if (b1 != b2)
		lock_release_nested(&b2->lock);
	futex_unlock(b1); /* which one is nested is only bookkeeping */
}

struct futex_bucket *futex_lock_node(const struct futex_node *n)
{
	for (;;) {
		struct futex_bucket *b = bucket_with(n);

		bucket_lock(b);
		/* requeue writes it under this lock: if it is unchanged, it stays */
		if (likely(b == bucket_with(n)))
			return b;
		futex_unlock(b);
	}
}

static struct futex_node *node_of(struct list *l)
{
	return container_of(l, struct futex_node, link);
}

/* False: no memory. */
static bool have_parts(const struct futex_bucket *b)
{
	group_parts **at = &parts[(b - futex_table) / GROUP], *none = NULL, *g;

	if (load_acquire(at))
		return true;
	g = os_map(sizeof(*g));
	if (g && !cas_acq_rel(at, &none, g))
		os_unmap(g, sizeof(*g));
	return g;
}

/* The waiters on one key stay in order. */
static NOINLINE void split(struct futex_bucket *b)
{
	if (!have_parts(b))
		return;
	for (unsigned i = 0; i < FUTEX_PARTS; i++)
		list_init(&parts_of(b)[i]);
	b->split = true;
	if (!load_relaxed(&crowded))
		store_relaxed(&crowded, 1);
	for (struct list *l; (l = list_pop_front(&b->queue));)
		list_push_back(queue_of(b, node_of(l)->key), l);
}

void futex_rank_threads(uint8_t rest)
{
	store_relaxed(&futex_ranked, (uint8_t)(rest + 1));
}

NOINLINE uint8_t futex_rank_of(const struct uk_thread *t)
{
	int priority = 0; /* all of the kernel's struct sched_param */

	if (load_relaxed(&t->kind) != THREAD_FOREIGN)
		return (uint8_t)(load_relaxed(&futex_ranked) - 1);
	sys2(SYS_sched_getparam, 0, &priority);
	if (!priority && sys1(SYS_sched_getscheduler, 0) == DEADLINE)
		return DEADLINE_RANK;
	return (uint8_t)priority;
}

static NOINLINE void insert_ranked(struct list *queue, struct futex_node *n, bool front)
{
	struct list *l = queue->next;

	for (; l != queue; l = l->next) {
		const struct futex_node *o = node_of(l);

		if (o->key == n->key &&
		    (o->rank < n->rank || (front && o->rank == n->rank)))
			break;
	}
	list_push_back(l, &n->link); /* before l */
}

/* front: before the others of its rank. */
static void insert(struct list *queue, struct futex_node *n, bool front)
{
	if (unlikely(load_relaxed(&futex_ranked)) && (front || n->rank))
		insert_ranked(queue, n, front);
	else if (front)
		list_push_front(queue, &n->link);
	else
		list_push_back(queue, &n->link);
}

void futex_push(struct futex_bucket *b, struct futex_node *n, const void *key,
		struct uk_thread *t, uint64_t token, bool front)
{
	n->key = key;
	n->thread = t;
	n->token = token;
	n->state = FUTEX_QUEUED;
	put_in(n, b);
	if (unlikely(b->waiters++ >= FUTEX_SPLIT) && !b->split)
		split(b);
	insert(queue_of(b, key), n, front);
}

static struct futex_node *scan(const struct list *queue, struct list *l,
			       const void *key)
{
	for (; l != queue; l = l->next) {
		struct futex_node *n = node_of(l);

		if (n->key == key)
			return n;
	}
	return NULL;
}

struct futex_node *futex_first(struct futex_bucket *b, const void *key)
{
	struct list *queue = queue_of(b, key);

	return scan(queue, queue->next, key);
}

struct futex_node *futex_next(struct futex_bucket *b, const struct futex_node *n)
{
	return scan(queue_of(b, n->key), n->link.next, n->key);
}

void futex_take(struct futex_node *n, enum futex_state state)
{
	struct futex_bucket *b = bucket_with(n);

	dbg_assert(n->state == FUTEX_QUEUED);
	list_del(&n->link);
	n->state = (uint8_t)state;
	if (--b->waiters == 0)
		b->split = false;
}

/* Neither splits nor merges a bucket: the caller may be in the middle of its queue. */
void futex_move(struct futex_node *n, struct futex_bucket *to, const void *key)
{
	list_del(&n->link);
	bucket_with(n)->waiters--;
	to->waiters++;
	n->key = key;
	put_in(n, to);
	insert(queue_of(to, key), n, false);
}

enum futex_state futex_leave(struct futex_node *n)
{
	struct futex_bucket *b = futex_lock_node(n);

	if (n->state == FUTEX_QUEUED)
		futex_take(n, FUTEX_LEFT);
	futex_unlock(b);
	return n->state;
}

int futex_wait(const uint32_t *addr, uint32_t expected, uint32_t bits, int64_t deadline)
{
	struct futex_bucket *b;
	struct futex_node *n;
	struct uk_thread *t;
	unsigned why;
	int unable = rt_begin();

	if (unlikely(unable))
		return unable;
	if (load_acquire(addr) !=
	    expected) /* also faults the page in, without a lock */
		return -EAGAIN;
	t = rt_enter();
	n = futex_node_of(t);
	b = futex_lock(addr);
	if (load_acquire(addr) != expected) {
		futex_unlock(b);
		rt_exit();
		return -EAGAIN;
	}
	n->tag = bits;
	futex_push(b, n, addr, t, wait_begin(t, WAIT_FUTEX, addr), false);
	futex_unlock(b);
	why = wait_park(t, n->token, deadline);
	if (why != WAKE_OK)
		futex_leave(n);
	rt_exit();
	return wake_error(why);
}

/* Under the lock: the next waiter on key, from *at on; *at is moved behind it. Called
 * only when a waiter is wanted: to find that there is none means to read every node of
 * the bucket, each in a cold line of its own. */
static struct futex_node *next_from(const struct list *queue, struct list **at,
				    const void *key)
{
	struct futex_node *n = scan(queue, *at, key);

	if (n)
		*at = n->link.next;
	return n;
}

/* Under the lock: fire up to n waiters of key; returns how many. */
static int wake_locked(struct futex_bucket *b, const void *key, int n, uint32_t bits)
{
	struct list *queue = queue_of(b, key), *at = queue->next;
	struct futex_node *w;
	int woken = 0;

	/* the descriptor of the first node (useless if that is on a stack) */
	__builtin_prefetch((char *)at - offsetof(struct uk_thread, node), 1);
	while (woken < n && (w = next_from(queue, &at, key))) {
		if (!(w->tag & bits))
			continue;
		futex_take(w, FUTEX_TAKEN);
		if (wait_fire(w->thread, w->token, WAKE_OK))
			woken++;
	}
	return woken;
}

int futex_wake(const void *addr, int n, uint32_t bits)
{
	struct futex_bucket *b = futex_lock(addr);
	int woken = wake_locked(b, addr, n, bits);

	futex_unlock(b);
	return woken;
}

int futex_requeue(const uint32_t *from, int wake, int move, const uint32_t *to,
		  const uint32_t *expected)
{
	struct futex_bucket *bf, *bt;
	struct list *queue, *at;
	struct futex_node *w;
	int done;

	futex_lock_pair(from, to, &bf, &bt);
	if (expected && load_acquire(from) != *expected) {
		futex_unlock_pair(bf, bt);
		return -EAGAIN;
	}
	done = wake_locked(bf, from, wake, FUTEX_ANY);
	queue = queue_of(bf, from);
	at = queue->next;
	for (; from != to && move > 0 && (w = next_from(queue, &at, from));
	     move--, done++)
		futex_move(w, bt, to);
	futex_unlock_pair(bf, bt);
	return done;
}

static void wake_ready_in(struct list *queue, bool (*ready)(const struct futex_node *))
{
	list_each_safe(l, tmp, queue)
	{
		struct futex_node *n = node_of(l);

		if (!ready(n))
			continue;
		futex_take(n, FUTEX_TAKEN);
		wait_fire(n->thread, n->token, WAKE_OK);
	}
}

void futex_wake_ready(struct futex_bucket *b, bool (*ready)(const struct futex_node *))
{
	bucket_lock(b);
	for (unsigned i = 0; b->split && i < FUTEX_PARTS; i++)
		wake_ready_in(&parts_of(b)[i], ready);
	wake_ready_in(&b->queue, ready);
	futex_unlock(b);
}

/* bits of an entry of /proc/self/pagemap */
#define PM_FILE (1ull << 61) /* or shared memory */
#define PM_SWAP (1ull << 62)
#define PM_PRESENT (1ull << 63)

static bool loader_was_filtered; /* set at load */

/* In a forked child, which is alone: what was last read of it, for parents() */
static struct {
	bool opened;
	int fd; /* < 0: it cannot be opened */
	uint64_t first, n, entries[64];
} pagemap;

/* In a forked child nothing waits; the nodes are those of lost threads. Pages that were
 * never touched are skipped: reading all 128 was half of a fork's page faults. */
static void table_lost(void)
{
	for (unsigned i = 0; i < FUTEX_BUCKETS; i++) {
		struct futex_bucket *b = &futex_table[i];

		if (!opened[i / GROUP]) {
			i |= GROUP - 1;
			continue;
		}
		if (b->queue.next) {
			lock_init(&b->lock, RANK_FUTEX);
			list_init(&b->queue);
			b->waiters = 0;
			b->split = false;
		}
	}
}

/* What t waits for has been done for it, so t does not look at the object again, which
 * other threads may have destroyed since. */
static bool done(const struct uk_thread *t)
{
	uint64_t w = load_relaxed(&t->wait);

	return W_STATE(w) == W_FIRED && W_REASON(w) == WAKE_OK;
}

/* May a file be opened? A filter of the program's own may kill for it. One that was there
 * before the program (a container's) has let the dynamic loader make the same calls. */
static bool may_open(void)
{
	return loader_was_filtered || !sys_filtered();
}

static void pagemap_read(uint64_t page)
{
	long r;

	if (!pagemap.opened)
		pagemap.fd = may_open()
				 ? (int)sys4(SYS_openat, AT_FDCWD, "/proc/self/pagemap",
					     O_RDONLY | O_CLOEXEC, 0)
				 : -1;
	pagemap.opened = true;
	pagemap.first = page;
	pagemap.n = 0;
	if (pagemap.fd < 0)
		return;
	r = sys4(SYS_pread64, pagemap.fd, pagemap.entries, sizeof(pagemap.entries),
		 page * sizeof(*pagemap.entries));
	if (r > 0)
		pagemap.n = (uint64_t)r / sizeof(*pagemap.entries);
}

static void pagemap_forget(void)
{
	if (pagemap.opened && pagemap.fd >= 0)
		sys1(SYS_close, pagemap.fd);
	pagemap.opened = false;
	pagemap.n = 0;
}

/* Is obj in memory that the child shares with its parent? Then its waiters are the
 * parent's. What the parent has written to memory of its own was copied: the page is in
 * the child's page table, and is no file's. (What is shared is not in that table yet, or
 * is a file's.) */
static bool parents(const void *obj)
{
	uint64_t page = (uintptr_t)obj / PAGE, entry;

	if (page - pagemap.first >= pagemap.n)
		pagemap_read(page);
	if (!pagemap.n)
		return false;
	entry = pagemap.entries[page - pagemap.first];
	return !(entry & (PM_PRESENT | PM_SWAP)) || entry & PM_FILE;
}

/* Is it an object of the program, which may lie anywhere? */
static bool is_programs(enum wait_kind kind)
{
	return kind == WAIT_MUTEX || kind == WAIT_PTHREAD_MUTEX || kind == WAIT_COND ||
	       kind == WAIT_RWLOCK || kind == WAIT_SEM || kind == WAIT_BARRIER;
}

/* t will not come back from its wait, and neither will any other thread that waits for
 * the same object: the threads that are left were not waiting. So the object is made to
 * look as if it had no waiters. Its holder still holds it; if that is a lost thread,
 * for ever (as POSIX says). */
static void lost(struct uk_thread *t)
{
	void *obj = t ? (void *)(uintptr_t)t->wobj : NULL;

	if (!t) {
		table_lost();
		pagemap_forget();
		return;
	}
	if (is_programs(t->wkind) && parents(obj))
		return;
	switch ((enum wait_kind)t->wkind) {
	case WAIT_MUTEX:
	case WAIT_PTHREAD_MUTEX:
		mutex_lost(obj);
		break;
	case WAIT_COND:
		((uk_cond *)obj)->waiters =
		    0; /* a signalled waiter waits for the mutex instead */
		break;
	case WAIT_RWLOCK:
		rwlock_lost(obj);
		break;
	case WAIT_SEM:
		((uk_sem *)obj)->waiters = 0;
		break;
	case WAIT_BARRIER:
		if (!done(t))
			((uk_barrier *)obj)->arrived = 0;
		break;
	case WAIT_CHAN:
		if (!done(t))
			chan_lost(obj);
		break;
	case WAIT_SELECT:
		select_lost(obj);
		break;
	default:
		break; /* only the table, or the scheduler's own objects */
	}
}

AT_LOAD(fork_hook)
{
	hooks.wait_lost = lost;
	loader_was_filtered = getauxval(AT_BASE) && sys_filtered();
}

int uk_futex_wait(const uint32_t *addr, uint32_t expected, uk_time deadline)
{
	return futex_wait(addr, expected, FUTEX_ANY, deadline);
}

int uk_futex_wake(const uint32_t *addr, int n)
{
	int woken;

	rt_enter();
	woken = futex_wake(addr, n, FUTEX_ANY);
	rt_exit();
	return woken;
}

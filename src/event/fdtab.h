/* SPDX-License-Identifier: Apache-2.0 */
/* Which operations are pending on which descriptor, in one reactor. Owner writes; any thread
 * may peek. It says what *we* wait for and nothing about the descriptor itself: programs
 * close and reopen descriptors behind our back (DESIGN, trap 10).
 *
 * A radix tree of three levels over the 31 bits of a descriptor, grown by mmap, never
 * shrunk: the limit of open files may be raised to 2^30 while we run. A splice waits on two
 * descriptors and has but one link: these are in a list of their own.
 */
#ifndef EVENT_FDTAB_H
#define EVENT_FDTAB_H

#include "event/reactor.h"

#define FDTAB_LEAF 1024u
#define FDTAB_MID 1024u
#define FDTAB_ROOT 2048u

struct fdent {
	struct list
	    ops; /* of struct io_op.link, oldest first; next NULL = never used */
	struct ahead *ahead; /* io_uring: the stream that is received ahead, or NULL */
	uint32_t n; /* length of ops, + 1 for ahead; owner writes, others peek */
	/* the epoll engine's: */
	uint32_t gen; /* of the latest arming: tells its events from a stale file's */
	int32_t dirty_next;
	uint8_t dirty; /* in the list of what must be armed */
	uint8_t known; /* a hint: it was registered when we last looked */
};

struct fdleaf {
	struct fdent ent[FDTAB_LEAF];
};

struct fdmid {
	struct fdleaf
	    *leaf[FDTAB_MID]; /* owner publishes (release), others read (acquire) */
};

struct fdtab {
	struct fdmid *mid[FDTAB_ROOT]; /* likewise */
	struct list twos;              /* pending splices, by link */
	uint32_t ntwos;                /* owner writes, others peek */
	/* the owner's: the last that it looked up; entries stay where they are */
	int last_fd;
	struct fdent *last; /* NULL: none */
};

struct fdtab *fdtab_create(void); /* NULL: no memory */
void fdtab_destroy(struct fdtab *tab);
/* Forget every op (after fork: the stacks that they live on belong to nobody). */
void fdtab_reset(struct fdtab *tab);

/* 0 or -ENOMEM. Operations without a descriptor (fd < 0) are not in any list. */
int fdtab_link(struct fdtab *tab, struct io_op *op);
void fdtab_unlink(struct fdtab *tab, struct io_op *op);
/* Only the count, for peekers: op is linked elsewhere. */
int fdtab_count(struct fdtab *tab, const struct io_op *op);
void fdtab_uncount(struct fdtab *tab, const struct io_op *op);
bool fdtab_peek(const struct fdtab *tab, int fd);

/* NULL if no op was ever pending on fd. Owner. */
static inline struct fdent *fdtab_find(const struct fdtab *tab, int fd)
{
	uint32_t u = (uint32_t)fd;
	struct fdmid *mid;
	struct fdleaf *leaf;

	if (unlikely(fd < 0))
		return NULL;
	/* acquire: a peeker sees zeroed memory behind the pointer (pairs with grow) */
	mid = load_acquire(&tab->mid[u / FDTAB_LEAF / FDTAB_MID]);
	if (unlikely(!mid))
		return NULL;
	leaf = load_acquire(&mid->leaf[u / FDTAB_LEAF % FDTAB_MID]);
	return leaf ? &leaf->ent[u % FDTAB_LEAF] : NULL;
}

#endif

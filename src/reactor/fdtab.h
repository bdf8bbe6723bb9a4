/* SPDX-License-Identifier: Apache-2.0 */
/* Which operations are pending on which fd, in one reactor. Only the owner writes; any
 * thread may peek. The table says what *we* wait for and nothing about the fd itself,
 * because programs close and reopen fds without our knowledge.
 *
 * A radix tree of three levels over the 31 bits of an fd. It grows by mmap and never
 * shrinks, because the limit of open files may be raised to 2^30 while we run.
 */
#ifndef REACTOR_FDTAB_H
#define REACTOR_FDTAB_H

#include "reactor/reactor.h"

#define FDTAB_LEAF 1024u
#define FDTAB_MID 1024u
#define FDTAB_ROOT 2048u

struct fdent {
	/* of struct io_op.link, oldest first; next NULL = never used */
	struct list ops;
	struct ahead *ahead; /* io_uring: the stream that is received ahead, or NULL */
	uint32_t n; /* length of ops, + 1 for ahead; the owner writes, others peek */
	/* for the epoll engine: */
	uint32_t gen; /* of the latest arming; events of an older file differ */
	int32_t dirty_next;
	uint8_t dirty; /* in the list of entries to arm */
	uint8_t known; /* a hint: it was registered at the last look */
};

struct fdleaf {
	struct fdent ent[FDTAB_LEAF];
};

struct fdmid {
	/* the owner publishes (release), others read (acquire) */
	struct fdleaf *leaf[FDTAB_MID];
};

struct fdtab {
	struct fdmid *mid[FDTAB_ROOT]; /* as leaf */
	/* the owner's cache of its last lookup; entries never move */
	int last_fd;
	struct fdent *last; /* NULL: none */
};

struct fdtab *fdtab_create(void); /* NULL: no memory */
void fdtab_destroy(struct fdtab *tab);
/* Forget every op (after a fork: the threads whose stacks they are on do not exist). */
void fdtab_reset(struct fdtab *tab);

/* 0 or -ENOMEM. Operations without an fd (fd < 0) are in no list. */
int fdtab_link(struct fdtab *tab, struct io_op *op);
void fdtab_unlink(struct fdtab *tab, struct io_op *op);
/* Only the count, for threads that peek: op is linked elsewhere. */
int fdtab_count(struct fdtab *tab, const struct io_op *op);
void fdtab_uncount(struct fdtab *tab, const struct io_op *op);
bool fdtab_peek(const struct fdtab *tab, int fd);

/* NULL if no op was ever pending on fd. Owner only. */
static inline struct fdent *fdtab_find(const struct fdtab *tab, int fd)
{
	uint32_t u = (uint32_t)fd;
	struct fdmid *mid;
	struct fdleaf *leaf;

	if (unlikely(fd < 0))
		return NULL;
	/* acquire: a thread that peeks sees zeroed memory behind the pointer (pairs
	 * with grow) */
	mid = load_acquire(&tab->mid[u / FDTAB_LEAF / FDTAB_MID]);
	if (unlikely(!mid))
		return NULL;
	leaf = load_acquire(&mid->leaf[u / FDTAB_LEAF % FDTAB_MID]);
	return leaf ? &leaf->ent[u % FDTAB_LEAF] : NULL;
}

#endif

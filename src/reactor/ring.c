/* SPDX-License-Identifier: Apache-2.0 */
/* Opens and closes a ring: a plain one, or one served by a network processor.
 *
 * Runs on the thread that makes the vp; in a forked child, on the surviving thread.
 *
 * The rings of a set with a network processor (struct net_cpu) share one kernel thread.
 * The first ring creates it, the others attach to that ring (ATTACH_WQ), and it ends
 * with the last of them. It is pinned to a CPU if the set names one. If the set wants
 * NAPI polling, it polls the queues of the network interfaces whose sockets the rings
 * wait on; the kernel finds out which these are. What the kernel refuses is left out (a
 * plain ring, no polling, no batches); net_cpu records why.
 *
 * Rejected: a reactive vp in front of such a ring. A carrier that sleeps for each
 * request would defeat the purpose of the kernel thread; so each vp has its own ring to
 * it.
 */
#include <sys/eventfd.h>

#include "base/membarrier.h"
#include "fd/fd.h"
#include "reactor/probe.h"
#include "reactor/uring_impl.h"

bool uring_no_msg_kick;

static void set_pointers(struct uring *u, const struct uring_params *p)
{
	char *base = u->rings;
	uint32_t *array = (uint32_t *)(void *)(base + p->sq.array);

	u->sq_head = (uint32_t *)(void *)(base + p->sq.head);
	u->sq_ktail = (uint32_t *)(void *)(base + p->sq.tail);
	u->sq_flags = (uint32_t *)(void *)(base + p->sq.flags);
	u->sq_mask = p->sq_entries - 1;
	u->sq_entries = p->sq_entries;
	u->sq_tail = *u->sq_ktail;
	u->cq_khead = (uint32_t *)(void *)(base + p->cq.head);
	u->cq_tail = (uint32_t *)(void *)(base + p->cq.tail);
	u->cq_mask = p->cq_entries - 1;
	u->cqes = (struct uring_cqe *)(void *)(base + p->cq.cqes);
	u->sqes = u->sqe_map;
	for (uint32_t i = 0; i < p->sq_entries; i++)
		array[i] = i;
}

static void *map_ring(int fd, size_t n, long off)
{
	long p = sysn(SYS_mmap, NULL, n, PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_POPULATE, fd, off);

	if (os_failed(p))
		return NULL;
	sys3(SYS_madvise, p, n, MADV_DONTFORK);
	return (void *)(uintptr_t)p;
}

static int map_rings(struct uring *u, const struct uring_params *p)
{
	size_t sq = p->sq.array + p->sq_entries * sizeof(uint32_t);
	size_t cq = p->cq.cqes + p->cq_entries * sizeof(struct uring_cqe);

	u->rings_size = MAX(sq, cq);
	u->sqe_size = p->sq_entries * sizeof(struct uring_sqe);
	u->rings = map_ring(u->fd, u->rings_size, URING_OFF_RINGS);
	u->sqe_map = map_ring(u->fd, u->sqe_size, URING_OFF_SQES);
	return u->rings && u->sqe_map ? 0 : -ENOMEM;
}

void ring_close(struct uring *u)
{
	os_unmap(u->rings, u->rings_size);
	os_unmap(u->sqe_map, u->sqe_size);
	fd_drop(u->fd);
	fd_drop(u->kick_fd);
}

static void poll_queues(struct uring *u, struct net_cpu *n)
{
	struct uring_napi napi = { .busy_poll_us = n->napi_us,
				   .prefer_busy_poll = n->napi_prefer };

	if (n->napi_us)
		n->napi_err = (int)sys4(SYS_io_uring_register, u->fd,
					URING_REGISTER_NAPI, &napi, 1);
}

/* Open the ring of a vp whose set wants a network processor. False: the kernel
 * refuses. */
static bool open_served(struct uring *u, struct net_cpu *n, struct uring_params *p)
{
	int fd = probe_sq_ring(n, p);

	if (fd < 0) {
		n->err = fd;
		return false;
	}
	u->fd = fd;
	u->sq_thread = true;
	store_relaxed(&reactor_serves, 1);
	u->sq_cpu = n->cpu;
	if (n->ring < 0)
		n->ring = fd;
	poll_queues(u, n);
	if (n->min_wait_us && p->features & URING_FEAT_MIN_TIMEOUT) {
		u->batch = n->batch;
		u->min_wait_us = n->min_wait_us;
	}
	return true;
}

int ring_open(struct uring *u, struct net_cpu *n)
{
	const struct uring_caps *caps = probe_uring();
	struct uring_params p;
	long fd;
	int err;

	*u = (struct uring){ .fd = -1, .kick_fd = -1, .sq_cpu = -1, .ops = caps->ops };
	u->msg_kick = caps->msg_kick && !uring_no_msg_kick;
	opq_init(&u->backlog);
	opq_init(&u->cancels);
	opq_init(&u->done);
	if (caps->err)
		return caps->err;
	if (!n || !open_served(u, n, &p))
		u->fd = probe_ring(&p);
	if (u->fd < 0)
		return u->fd;
	err = map_rings(u, &p);
	if (!err && !u->msg_kick) {
		/* blocking: a read in the ring must wait, not fail */
		fd = sys2(SYS_eventfd2, 0, EFD_CLOEXEC);
		err = fd < 0 ? (int)fd : 0;
		u->kick_fd = fd < 0 ? -1 : fd_move_high((int)fd);
	}
	if (err) {
		if (n && n->ring == u->fd)
			n->ring = -1; /* the next ring becomes the first */
		ring_close(u);
		return err;
	}
	set_pointers(u, &p);
	/* for unit tests of this directory, which do not start the runtime */
	barrier_init();
	return 0;
}

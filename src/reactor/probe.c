/* SPDX-License-Identifier: Apache-2.0 */
/* Every run-time probe of this directory. Runs at the start (any thread, under its own
 * lock). Results are remembered, and read without the lock once `known` is set; but a
 * failure for want of memory or file descriptors is not remembered. */
#include "reactor/probe.h"

#include "base/lock.h"
#include "base/sys.h"
#include "base/valgrind.h"
#include "fd/fd.h"
#include "reactor/hostile.h"
#include "reactor/uring_impl.h"

#ifndef SYS_epoll_pwait2
#define SYS_epoll_pwait2 441
#endif

#define SQ_ENTRIES 512u
#define CQ_ENTRIES 8192u

#define NEEDED_FEATURES                                                                \
	(URING_FEAT_SINGLE_MMAP | URING_FEAT_NODROP | URING_FEAT_RW_CUR_POS |          \
	 URING_FEAT_FAST_POLL | URING_FEAT_EXT_ARG)
#define OP(name) ((uint64_t)1 << URING_OP_##name)
#define NEEDED_OPS                                                                     \
	(OP(NOP) | OP(READV) | OP(WRITEV) | OP(POLL_ADD) | OP(SENDMSG) | OP(RECVMSG) | \
	 OP(ACCEPT) | OP(ASYNC_CANCEL) | OP(CONNECT) | OP(READ) | OP(WRITE) |          \
	 OP(SEND) | OP(RECV))
#define ZC_OPS (OP(SEND_ZC) | OP(SENDMSG_ZC))

/* Does err say something about this moment only, and not about the kernel? */
static bool for_now(int err)
{
	return err == -ENOMEM || err == -EAGAIN || err == -EMFILE || err == -ENFILE;
}

static struct lock probe_lock = LOCK_INIT(RANK_PROBE);
static uint32_t known; /* set (release) when caps are final */
static struct uring_caps caps;

/* The ring that was probed, until a reactor takes it. It is closed only if the start
 * fails. When a ring is closed, the kernel interrupts the thread that created it some
 * milliseconds later, when the last references are gone, in whatever that thread then
 * waits for (the kernel's io_ring_exit_work, TWA_SIGNAL). Most calls are restarted; but
 * a receive with a timeout, semtimedop or sigtimedwait returns EINTR to a program that
 * has no signal handlers. Under probe_lock. */
static struct {
	int fd;
	pid_t owner; /* a forked child has the fd, but the ring is its parent's */
	struct uring_params params;
} asked = { .fd = -1 };

static int setup(uint32_t flags, struct uring_params *p)
{
	*p = (struct uring_params){ .flags = flags, .cq_entries = CQ_ENTRIES };
	return (int)sys2(SYS_io_uring_setup, SQ_ENTRIES, p);
}

/* With all wished flags that the kernel accepts. The newest flags are dropped first,
 * because kernels learned them one after the other. */
static int setup_best(struct uring_params *p)
{
	static const uint32_t wish[] = { URING_SETUP_CQSIZE, URING_SETUP_CLAMP,
					 URING_SETUP_SUBMIT_ALL,
					 URING_SETUP_COOP_TASKRUN |
					     URING_SETUP_TASKRUN_FLAG };
	uint32_t flags = 0;
	int fd;

	for (unsigned i = 0; i < array_size(wish); i++)
		flags |= wish[i];
	fd = setup(flags, p);
	for (unsigned i = array_size(wish); fd == -EINVAL && i--;) {
		flags &= ~wish[i];
		fd = setup(flags, p);
	}
	caps.setup_flags = flags;
	return fd < 0 ? fd : fd_move_high(fd);
}

static int take_asked(struct uring_params *p)
{
	int fd;

	lock_acquire(&probe_lock);
	fd = asked.fd;
	*p = asked.params;
	asked.fd = -1;
	lock_release(&probe_lock);
	return asked.owner == (pid_t)sys0(SYS_getpid) ? fd : -1;
}

int probe_ring(struct uring_params *p)
{
	int fd = take_asked(p);

	if (fd >= 0)
		return fd;
	fd = setup(caps.setup_flags, p);
	return fd < 0 ? fd : fd_move_high(fd);
}

int probe_sq_ring(const struct net_cpu *n, struct uring_params *p)
{
	/* the network processor needs no interrupt, and the kernel refuses SQPOLL with
	 * COOP_TASKRUN */
	uint32_t flags = (caps.setup_flags &
			  ~(URING_SETUP_COOP_TASKRUN | URING_SETUP_TASKRUN_FLAG)) |
			 URING_SETUP_SQPOLL;
	int fd;

	if (n->ring >= 0)
		flags |= URING_SETUP_ATTACH_WQ;
	else if (n->cpu >= 0)
		flags |= URING_SETUP_SQ_AFF;
	*p = (struct uring_params){ .flags = flags,
				    .cq_entries = CQ_ENTRIES,
				    .sq_thread_cpu = (uint32_t)MAX(n->cpu, 0),
				    .sq_thread_idle = n->idle_ms,
				    .wq_fd = (uint32_t)MAX(n->ring, 0) };
	fd = (int)sys2(SYS_io_uring_setup, SQ_ENTRIES, p);
	return fd < 0 ? fd : fd_move_high(fd);
}

/* Asks to join the thread of an fd that is not open. The kernel checks that last, so
 * -ENXIO means that it refuses nothing else. Nothing is created. */
static bool ask_sqpoll(void)
{
	struct uring_params p = { .flags = URING_SETUP_SQPOLL | URING_SETUP_ATTACH_WQ,
				  .wq_fd = (uint32_t)-1 };

	return (int)sys2(SYS_io_uring_setup, 1, &p) == -ENXIO;
}

static int ask_ops(int fd)
{
	struct uring_probe p = { 0 };
	int err = (int)sys4(SYS_io_uring_register, fd, URING_REGISTER_PROBE, &p,
			    array_size(p.ops));

	if (err < 0)
		return err;
	for (unsigned i = 0; i < MIN(p.ops_len, array_size(p.ops)); i++)
		if (p.ops[i].flags & URING_PROBE_SUPPORTED)
			caps.ops |= (uint64_t)1 << p.ops[i].op;
	return 0;
}

/* A seccomp filter may allow io_uring_setup and refuse io_uring_enter. Other errors do
 * not count. */
static int ask_enter(int fd)
{
	int err = (int)sysn(SYS_io_uring_enter, fd, 0, 0, 0, NULL, 0);

	return err == -EPERM || err == -EACCES || err == -ENOSYS ? err : 0;
}

static void ask_ring(int fd, const struct uring_params *p)
{
	struct uring_sqe msg = { .opcode = URING_OP_MSG_RING,
				 .fd = fd,
				 .off = UD_KICK };
	int err = ask_ops(fd);

	if (for_now(err))
		caps.err = err;
	else if ((p->features & NEEDED_FEATURES) != NEEDED_FEATURES ||
		 (caps.ops & NEEDED_OPS) != NEEDED_OPS)
		caps.err = -ENOSYS;
	else
		caps.err = ask_enter(fd);
	err =
	    (int)sys4(SYS_io_uring_register, -1, URING_REGISTER_SEND_MSG_RING, &msg, 1);
	caps.msg_kick = !err;
	caps.sqpoll = ask_sqpoll();
	if (for_now(err))
		caps.err = err;
}

static void ask_uring(void)
{
	asked.fd = hostile_no_uring() ? -EPERM : setup_best(&asked.params);
	asked.owner = (pid_t)sys0(SYS_getpid);
	caps.err = MIN(asked.fd, 0);
	if (caps.err)
		return;
	ask_ring(asked.fd, &asked.params);
	if (!for_now(caps.err))
		return;
	fd_drop(asked.fd); /* because the start fails */
	asked.fd = -1;
}

/* A kernel that knows the call answers with another error (the fd is bad). valgrind may
 * not know the call and would print a long warning. */
static bool ask_pwait2(void)
{
	long r;

	if (on_valgrind())
		return false;
	r = sysn(SYS_epoll_pwait2, -1, NULL, 0, NULL, NULL, 8);
	return r != -ENOSYS && r != -EPERM;
}

static void ask_all(void)
{
	/* acquire: pairs with the release below */
	if (likely(load_acquire(&known)))
		return;
	lock_acquire(&probe_lock);
	if (!known) {
		ask_uring();
		store_release(&known, !for_now(caps.err));
	}
	lock_release(&probe_lock);
}

const struct uring_caps *probe_uring(void)
{
	ask_all();
	return &caps;
}

bool probe_has(enum probe p)
{
	if (p == PROBE_EPOLL_PWAIT2)
		return ask_pwait2();
	ask_all();
	switch (p) {
	case PROBE_URING:
		return caps.err == 0;
	case PROBE_URING_COOP:
		return caps.err == 0 && (caps.setup_flags & URING_SETUP_COOP_TASKRUN);
	case PROBE_URING_SUBMIT_ALL:
		return caps.err == 0 && (caps.setup_flags & URING_SETUP_SUBMIT_ALL);
	case PROBE_URING_MSG_KICK:
		return caps.err == 0 && caps.msg_kick;
	case PROBE_URING_FSYNC:
		return caps.err == 0 && (caps.ops & OP(FSYNC));
	case PROBE_URING_SQPOLL:
		return caps.err == 0 && caps.sqpoll;
	case PROBE_URING_ZC:
		return caps.err == 0 && (caps.ops & ZC_OPS) == ZC_OPS;
	case PROBE_EPOLL_PWAIT2:
	case PROBE_COUNT:
		break;
	}
	return false;
}

struct probe_row probe_row(enum probe p)
{
	static const struct probe_row rows[PROBE_COUNT] = {
		[PROBE_URING] = { "io_uring", "epoll engine", false },
		[PROBE_URING_COOP] = { "io_uring COOP_TASKRUN, TASKRUN_FLAG",
				       "completions interrupt the carrier", false },
		[PROBE_URING_SUBMIT_ALL] = { "io_uring SUBMIT_ALL",
					     "an extra io_uring_enter after a refusal",
					     false },
		[PROBE_URING_MSG_KICK] = { "io_uring SEND_MSG_RING",
					   "eventfd in the ring", false },
		[PROBE_URING_FSYNC] = { "io_uring fsync",
					"blocking calls that the monitor watches",
					false },
		[PROBE_URING_SQPOLL] = { "io_uring SQPOLL",
					 "sets have no network processor", false },
		[PROBE_URING_ZC] = { "io_uring SEND_ZC, SENDMSG_ZC",
				     "UK_OP_ZEROCOPY copies", false },
		[PROBE_EPOLL_PWAIT2] = { "epoll_pwait2",
					 "epoll_pwait, timeouts rounded up to 1 ms",
					 false },
	};
	struct probe_row row = rows[p];

	row.present = probe_has(p);
	return row;
}

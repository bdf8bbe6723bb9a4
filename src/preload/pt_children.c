/* SPDX-License-Identifier: Apache-2.0 */
/* pt_children.c - what ties a child to the thread that made it: ptrace, and the signal
 * at the end of the parent (PR_SET_PDEATHSIG). To the kernel the parent is the kernel
 * thread that forked, here the carrier K on which the user thread F was. F moves on,
 * and K runs other threads and lives on when F ends.
 *
 *   ptrace    The kernel lets only the tracer, K, make requests. If F's own request
 *             gives ESRCH, and the tracer is a carrier of this process that belongs to
 *             no other thread, that carrier makes the request, in a signal handler
 *             (QUESTION_TRACE). /proc tells the tracer, so this also holds for tracees
 *             that the kernel attaches (PTRACE_O_TRACEFORK)
 *   pdeathsig A child that sets it says so on the board, memory that it shares with its
 *             parent. When F ends, it sends the signal to its children on the board. The
 *             kernel sends it when the whole process ends
 *   wait      A wait for one child parks on a pidfd, which is readable at the child's
 *             end, but not at a stop of a tracee. So the first child that calls
 *             PTRACE_TRACEME writes to the board's eventfd, which such waits poll, too.
 *             From then on they are the kernel's
 *
 * The board is made by the first fork, and a child makes one of its own before it
 * forks. A child that has executed another program no longer has it.
 *
 * K must not end early: for its children that would be the end of their parent. So a
 * carrier that is bound to a thread, and had children before, outlives these (lingers).
 *
 * Rejected: to bind F to K at the fork (each thread that ever calls system() would
 * become a kernel thread); to bind F when its child asks for it (K may run another
 * thread by then, which can be bound to it, too, and the child would have to wait for
 * its parent). */
#include <fcntl.h>
#include <linux/futex.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/at_load.h"
#include "base/log.h"
#include "base/sys.h"
#include "fd/fd.h"
#include "preload/pt_calls.h"
#include "preload/pt_children.h"
#include "sched/vp.h"

#ifndef P_PIDFD
#define P_PIDFD 3
#endif

/* ---- the board ---- */

#define BOARD_SIZE ((size_t)64 << 10)

/* Children write it. A slot whose child is gone is free. */
struct slot {
	uint64_t parent; /* the id of the user thread */
	uint32_t pid;    /* 0: free */
	uint32_t sig;
};

#define SLOTS (BOARD_SIZE / sizeof(struct slot) - 1)

struct board {
	uint32_t owner;  /* the pid of the parent; constant, like fd */
	int32_t fd;      /* eventfd: readable once a child is traced */
	uint32_t traced; /* likewise; atomics */
	uint32_t used;   /* a slot is, or was; atomics */
	struct slot slots[SLOTS];
};

static struct board *mine;    /* for the children of this process; set once */
static struct board *parents; /* this process is one of its owner's children */
static uint64_t forker; /* id of the user thread that forked this process; 0: none */
static bool unnoticed;  /* a child may be traced without a word on the board */

static void unmake(struct board *b)
{
	if (fd_is_ours(b->fd))
		fd_drop(b->fd);
	sys2(SYS_munmap, b, BOARD_SIZE);
}

static int make_fd(void)
{
	int low = (int)sys2(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK), fd;

	if (low < 0)
		return low;
	fd = fd_dup(low);
	sys1(SYS_close, low);
	return fd;
}

static struct board *make(void)
{
	int fd = make_fd();
	struct board *b;
	long at;

	if (fd < 0)
		return NULL;
	at = sysn(SYS_mmap, NULL, BOARD_SIZE, PROT_READ | PROT_WRITE,
		  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at < 0) {
		fd_drop(fd);
		return NULL;
	}
	b = (struct board *)(uintptr_t)at;
	b->owner = (uint32_t)sys0(SYS_getpid);
	b->fd = fd;
	return b;
}

/* This process's own; NULL: it cannot be made. */
static struct board *own_board(void)
{
	struct board *b = load_acquire(&mine), *none = NULL;

	if (likely(b))
		return b;
	b = make();
	if (!b)
		return NULL;
	if (!cas_acq_rel(&mine, &none, b)) {
		unmake(b);
		return none;
	}
	fd_kept = b->fd;
	return b;
}

/* The one of the parent, if this process has one. A child for which no fork handler has
 * run (vfork, clone) finds it as its own. */
static struct board *parents_board(void)
{
	struct board *b = load_acquire(&mine);

	return b && b->owner != (uint32_t)sys0(SYS_getpid) ? b : parents;
}

/* The id of the user thread that calls, or that a child of vfork borrows; 0: none. */
static uint64_t user_id(void)
{
	const struct uk_thread *t = thread_self();

	if (t && t->kind == THREAD_FOREIGN && t->carrier)
		t = t->carrier->current; /* its guest */
	return t && t->kind == THREAD_USER ? t->id : 0;
}

void children_fork(void)
{
	if (rt_in_runtime())
		return;
	if (!handler_thread() && !load_acquire(&vp_count_all))
		unnoticed = true;
	else if (!own_board())
		unnoticed = true;
}

static void forked(void)
{
	if (mine) {
		if (parents)
			unmake(parents);
		parents = mine;
		mine = NULL;
	}
	forker = user_id();
	unnoticed = false;
}

/* ---- waits ---- */

int children_notice(void)
{
	struct board *b;

	if (load_relaxed(&unnoticed))
		return -1;
	b = own_board();
	return b && !load_acquire(&b->traced) ? b->fd : -1;
}

/* Does the fd of b still mean its eventfd? A child may have closed it by a call of its
 * own. (What is no file of a file system has no type.) */
static bool has_fd(const struct board *b)
{
	struct stat st;

	return !fstat(b->fd, &st) && !(st.st_mode & S_IFMT);
}

static void tell(struct board *b)
{
	const uint64_t one = 1;

	if (!b) { /* or shared memory, where the parent reads it */
		store_relaxed(&unnoticed, true);
		return;
	}
	if (!xchg_seq_cst(&b->traced, 1) && has_fd(b))
		sys3(SYS_write, b->fd, &one, sizeof(one));
}

/* ---- the signal at the end of the parent ---- */

static bool gone(uint32_t pid)
{
	return sys2(SYS_kill, pid, 0) == -ESRCH;
}

/* The slot of the child pid; NULL: all have living children. */
static struct slot *slot_of(struct board *b, uint32_t pid)
{
	for (size_t n = 0; n < SLOTS; n++) {
		struct slot *s = &b->slots[(pid + n) % SLOTS];
		uint32_t has = load_acquire(&s->pid);

		if (has == pid)
			return s;
		if ((!has || gone(has)) && cas_acq_rel(&s->pid, &has, pid))
			return s;
	}
	return NULL;
}

static void set_death_signal(int sig)
{
	struct board *b = parents_board();
	uint64_t parent = b == mine ? user_id() : forker;
	struct slot *s;

	if (!b || !parent || (!sig && !load_relaxed(&b->used)))
		return;
	store_relaxed(&b->used, 1);
	s = slot_of(b, (uint32_t)sys0(SYS_getpid));
	if (!s)
		return;
	store_relaxed(&s->parent, parent);
	store_release(&s->sig, (uint32_t)sig);
}

/* Signals the child, if it still is one. */
static void signal_child(const struct slot *s, uint32_t pid)
{
	int fd = (int)sys2(SYS_pidfd_open, pid, 0);

	if (fd < 0)
		return;
	if (!sys5(SYS_waitid, P_PIDFD, fd, NULL, WEXITED | WNOHANG | WNOWAIT | __WALL,
		  NULL))
		sys4(SYS_pidfd_send_signal, fd, load_relaxed(&s->sig), NULL, 0);
	sys1(SYS_close, fd);
}

void children_orphaned(void)
{
	struct board *b = load_acquire(&mine);
	uint64_t id = user_id();

	if (!b || !load_acquire(&b->used))
		return;
	if (sched_bound() && !handler_thread()->carrier->lingers)
		return; /* the kernel thread ends now, and the kernel does it */
	for (struct slot *s = b->slots; s < b->slots + SLOTS; s++) {
		uint32_t pid = load_relaxed(&s->pid);

		if (pid && load_acquire(&s->sig) && load_relaxed(&s->parent) == id)
			signal_child(s, pid);
	}
}

/* ---- ptrace ---- */

/* A request that another carrier makes. */
struct request {
	struct request *next;
	const long *a; /* the arguments */
	long r;
	uint32_t done; /* futex */
};

static void finish(struct carrier *c, bool make)
{
	struct request *q = xchg_seq_cst(&c->requests, (struct request *)NULL), *next;

	for (; q; q = next) {
		next = q->next;
		q->r = make ? sys4(SYS_ptrace, q->a[0], q->a[1], q->a[2], q->a[3])
			    : -ESRCH;
		/* q is gone then, but a wake-up of any word does no harm */
		store_release(&q->done, 1);
		sys3(SYS_futex, &q->done, FUTEX_WAKE_PRIVATE, 1);
	}
}

/* In a handler on the tracer. */
static void answer(void *context UNUSED)
{
	int tid = sys_gettid();

	for (struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all)
		if (load_relaxed(&c->tid) == tid && load_relaxed(&c->requests))
			finish(c, true);
}

static long made_by(struct carrier *c, const long *a)
{
	struct request q = { .a = a };
	struct timespec tick = { 0, 100 * NS_PER_MS };

	q.next = load_relaxed(&c->requests);
	while (!cas_acq_rel(&c->requests, &q.next, &q))
		;
	do {
		if (!hooks.carrier_ask(c, QUESTION_TRACE))
			finish(c, false); /* its kernel thread has ended */
		sys4(SYS_futex, &q.done, FUTEX_WAIT_PRIVATE, 0, &tick);
	} while (!load_acquire(&q.done));
	return q.r;
}

/* The id of the kernel thread that traces pid; 0: none, or unknown. */
static int tracer_of(long pid)
{
	char path[32], text[1024], *at;
	long n = -1;
	int fd;

	fmt_to(path, sizeof(path), "/proc/%d/status", (int)pid);
	fd = (int)sys4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	if (fd < 0)
		return 0;
	n = sys3(SYS_read, fd, text, sizeof(text) - 1);
	sys1(SYS_close, fd);
	text[MAX(n, 0l)] = 0;
	at = strstr(text, "\nTracerPid:");
	return at ? atoi(at + strlen("\nTracerPid:")) : 0;
}

/* The carrier that may make the caller's request; NULL: none. */
static struct carrier *carrier_of(int tid)
{
	const struct uk_thread *me = handler_thread();

	for (struct carrier *c = load_acquire(&carriers_all); c; c = c->next_all) {
		const struct uk_thread *of = load_relaxed(&c->bound_to);

		if (load_relaxed(&c->tid) == tid && !load_acquire(&c->ended))
			return !of || of == me ? c : NULL;
	}
	return NULL;
}

static long request(const long *a)
{
	long r = sys4(SYS_ptrace, a[0], a[1], a[2], a[3]);
	struct carrier *c;
	int tid;

	if (r != -ESRCH || !posix_signalled() || a[0] == PTRACE_ATTACH ||
	    a[0] == PTRACE_SEIZE)
		return r;
	for (int i = 0; i < 2; i++) {
		tid = i ? tracer_of(a[1]) : posix_self_tls.tracer;
		c = tid && tid != sys_gettid() ? carrier_of(tid) : NULL;
		if (c)
			r = made_by(c, a);
		if (r != -ESRCH)
			break;
		posix_self_tls.tracer = i ? tid : 0;
	}
	return r;
}

/* Is the caller a process of its own, with fork handlers run? */
static bool apart_from_parent(void)
{
	const struct board *b = load_acquire(&mine);

	return !posix_borrowed() && (!b || b->owner == (uint32_t)sys0(SYS_getpid));
}

/* In a forked child the thread is bound, too: the kernel traces its kernel thread. */
static bool ties(const long *a)
{
	if (a[0] == PTRACE_TRACEME)
		tell(parents_board());
	else if (a[0] == PTRACE_ATTACH || a[0] == PTRACE_SEIZE)
		tell(load_acquire(&mine));
	else
		return true;
	if (!handler_thread() || !apart_from_parent())
		return true;
	if (sched_unsettled()) { /* as sched_settle, but it stays here */
		rt_enter_here();
		rt_exit_here();
	}
	return posix_bind("ptrace");
}

long children_ptrace(const long *a)
{
	return ties(a) ? request(a) : -ENOMEM;
}

LIBC_API long ptrace(enum __ptrace_request op, ...)
{
	bool peeks =
	    op == PTRACE_PEEKTEXT || op == PTRACE_PEEKDATA || op == PTRACE_PEEKUSER;
	long a[4] = { (long)op }, word = 0, r;
	va_list ap;

	va_start(ap, op);
	for (unsigned i = 1; i < array_size(a); i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (peeks)
		a[3] = (long)&word;
	r = posix_result(children_ptrace(a));
	if (r < 0 || !peeks)
		return r;
	errno = 0;
	return word;
}

/* ---- prctl ---- */

bool children_prctl(const long *a)
{
	if (a[0] != PR_SET_PDEATHSIG)
		return true;
	if (apart_from_parent() && !posix_bind("PR_SET_PDEATHSIG"))
		return false;
	if (a[1] >= 0 && a[1] <= _NSIG)
		set_death_signal((int)a[1]);
	return true;
}

/* ---- a carrier that has children ---- */

void children_bound(void)
{
	if (sys5(SYS_waitid, P_ALL, 0, NULL,
		 WEXITED | WNOHANG | WNOWAIT | __WALL | __WNOTHREAD, NULL) != -ECHILD)
		handler_thread()->carrier->lingers = true;
}

AT_LOAD(children_register)
{
	hooks.carrier_answer[QUESTION_TRACE] = answer;
	pthread_atfork(children_fork, NULL, forked);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* symbolize.c - asks addr2line(1) for file and line, from code in which nothing is
 * safe: a signal handler, or a thread that has no stack left.
 *
 * None of this can be done in this process: a library that reads debug information
 * allocates, and the interrupted code may be malloc itself. So the first question makes
 * a helper by clone(2): a process of its own that shares our memory, but neither our
 * table of files nor our signals. It starts an addr2line for each object file that is
 * asked for, and talks to it through pipes that are in the helper's table alone. We and
 * the helper talk through the words below:
 *
 *   FREE   --symbolize------> ASKED     the question is written
 *   ASKED  --the helper-----> ANSWERED  the answer is written
 *   ANSWERED --symbolize----> FREE
 *   any    --symbolize_end--> QUIT      or a question that took too long
 *
 * The program sees nothing of it. None of its fds comes or goes. When the helper ends,
 * there is no SIGCHLD, and no wait() returns its id (it is made with exit signal 0, and
 * only __WALL finds it); addr2line is the helper's child, not ours. Both end with the
 * report, or with the thread that makes it, and the tool ends with the helper.
 *
 * Not used in a privileged program (it would start what PATH names), under a seccomp
 * filter (which may kill for it), in a sanitizer build, and with UK_SYMBOLIZE=0.
 *
 * Rejected: fork (it copies page tables, and a full address space has many); a child of
 * our own that execs (exec gives it SIGCHLD as exit signal, so the program's wait()
 * would return it); libdw, libbacktrace (they allocate); a DWARF parser of our own. */
#include "look/symbolize.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "arch/san.h"
#include "base/env.h"
#include "base/libc.h"
#include "base/panic.h"
#include "base/sys.h"

#define TOOL "addr2line"
#define OBJECTS 8u
#define KNOWN 256u
#define KNOWN_TEXT 240u
#define ANSWER_NS                                                                      \
	(3 * NS_PER_SEC) /* to one question; the first reads all the debug info */
#define REPORT_NS (10 * NS_PER_SEC) /* to all of one report */
#define HELPER_STACK ((size_t)16 << 10)
#define ABOVE_STDIO 10
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { FREE, ASKED, ANSWERED, QUIT };

/* An addr2line; used by the helper only. */
struct tool {
	char object[256];
	int pid, in, out; /* pid 0: none, or it has failed */
};

static char search[1024];  /* PATH at the start; empty: symbolizing is off */
static uint32_t reporting; /* process id of the reporting process; 0: none */
static uint32_t asking; /* one question at a time: carriers answer a dump in parallel */
static int64_t give_up;
static int helper;     /* its process id; 0: not started, -1: ended */
static uint32_t state; /* futex, see above */
static char question[256], answer[SYMBOLIZE_MAX];
static uintptr_t question_addr;
static struct tool tools[OBJECTS];
static char helper_stack[HELPER_STACK] LINE_ALIGNED;
static char tool_stack[HELPER_STACK] LINE_ALIGNED;

/* The answers of this report: most threads are parked in the same places. */
static struct {
	uintptr_t addr;
	char object[256], text[KNOWN_TEXT];
} known[KNOWN]; /* guarded by asking */

void symbolize_learn(void)
{
	const char *on = env_get("UK_SYMBOLIZE"), *path = env_get("PATH");

	if (UK_SAN || env_privileged() || (on && !strcmp(on, "0")) || !path ||
	    strlen(path) >= sizeof(search))
		return;
	memcpy(search, path, strlen(path) + 1);
}

/* ---- the helper and its children: raw calls, and no TLS (it is our thread's) ---- */

/* The tool itself: its pipe ends are in *arg, and become its fds 0 and 1. */
static int tool_main(void *arg)
{
	static char name[] = TOOL, all[] = "-afiC", e[] = "-e";
	struct tool *t = arg;
	char *argv[] = { name, all, e, t->object, NULL }, *envp[] = { NULL };
	struct rlimit cpu = { 20, 20 };
	char path[512];
	uint64_t none = 0;
	long null, in, out;

	/* the helper is killed if it waits too long: the tool must not outlive it */
	sys5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	/* to fds that do not collide with 0 and 1 */
	in = sys3(SYS_fcntl, t->in, F_DUPFD_CLOEXEC, ABOVE_STDIO);
	out = sys3(SYS_fcntl, t->out, F_DUPFD_CLOEXEC, ABOVE_STDIO);
	sys3(SYS_dup3, in, 0, 0);
	sys3(SYS_dup3, out, 1, 0);
	null = sys4(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY, 0);
	sys3(SYS_dup3, null, 2, 0);
	sys4(SYS_prlimit64, 0, RLIMIT_CPU, &cpu, NULL);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none));
	for (const char *p = search, *end; *p; p = *end ? end + 1 : end) {
		end = strchrnul(p, ':');
		if (*p != '/') /* never a file in the working directory */
			continue;
		fmt_to(path, sizeof(path), "%s", p);
		path[MIN((size_t)(end - p), sizeof(path) - sizeof(TOOL) - 1)] = 0;
		fmt_to(path + strlen(path), sizeof(path) - strlen(path), "/" TOOL);
		sys3(SYS_execve, path, argv, envp);
	}
	sys1(SYS_exit_group, 127);
	return 127;
}

static void tool_stop(struct tool *t)
{
	sys1(SYS_close, t->in);
	sys1(SYS_close, t->out);
	sys2(SYS_kill, t->pid, SIGKILL);
	sys4(SYS_wait4, t->pid, NULL, __WALL, NULL);
	t->pid = 0;
}

static bool tool_start(struct tool *t)
{
	struct tool theirs = *t;
	int in[2], out[2];

	if (sys2(SYS_pipe2, in, O_CLOEXEC))
		return false;
	if (sys2(SYS_pipe2, out, O_CLOEXEC)) {
		sys1(SYS_close, in[0]);
		sys1(SYS_close, in[1]);
		return false;
	}
	theirs.in = in[0];
	theirs.out = out[1];
	t->in = in[1];
	t->out = out[0];
	/* returns when the child runs another program, or has ended */
	t->pid = LIBC(clone)(tool_main, tool_stack + sizeof(tool_stack),
			     CLONE_VM | CLONE_VFORK | SIGCHLD, &theirs);
	sys1(SYS_close, in[0]);
	sys1(SYS_close, out[1]);
	if (t->pid > 0)
		return true;
	sys1(SYS_close, t->in);
	sys1(SYS_close, t->out);
	t->pid = 0;
	return false;
}

static struct tool *tool_for(const char *object)
{
	struct tool *t;

	for (t = tools; t < tools + OBJECTS && t->object[0]; t++)
		if (!strcmp(t->object, object))
			return t->pid ? t : NULL;
	if (t == tools + OBJECTS)
		return NULL;
	fmt_to(t->object, sizeof(t->object), "%s", object);
	return tool_start(t) ? t : NULL;
}

/* Where the answer to the address 0 begins, which follows each question: "0x000..." at
 * the start of a line. NULL: it is not there yet with its two lines. */
static char *after_answer(char *text)
{
	for (char *p = text, *end; (end = strchr(p, '\n')); p = end + 1) {
		char *q = p + 2;

		if (p[0] != '0' || p[1] != 'x')
			continue;
		while (*q == '0')
			q++;
		if (q != end)
			continue;
		q = strchr(end + 1, '\n');
		return q && strchr(q + 1, '\n') ? p : NULL;
	}
	return NULL;
}

/* Reads until the tool has answered. False: it failed, or took too long. */
static bool tool_listen(const struct tool *t, char *text, size_t size)
{
	struct pollfd p = { .fd = t->out, .events = POLLIN };
	char *end;
	size_t n = 0;

	while (n < size - 1) {
		struct timespec ts = sys_timespec(MAX(give_up - sys_now(), 0));
		long r = sys5(SYS_ppoll, &p, 1, &ts, NULL, 8);

		if (r <= 0)
			return false;
		r = sys3(SYS_read, t->out, text + n, size - 1 - n);
		if (r <= 0)
			return false;
		n += (size_t)r;
		text[n] = 0;
		end = after_answer(text);
		if (end) {
			*end = 0;
			return true;
		}
	}
	return false;
}

static void serve(void)
{
	struct tool *t = tool_for(question);
	char ask[48], text[2 * SYMBOLIZE_MAX], *begin;
	size_t n;

	answer[0] = 0;
	if (!t)
		return;
	n = fmt_to(ask, sizeof(ask), "%#lx\n0\n", (unsigned long)question_addr);
	if (sys3(SYS_write, t->in, ask, n) != (long)n ||
	    !tool_listen(t, text, sizeof(text))) {
		tool_stop(t);
		return;
	}
	begin = strchr(text, '\n'); /* the first line is the address */
	if (begin)
		fmt_to(answer, sizeof(answer), "%s", begin + 1);
}

static int helper_main(void *arg UNUSED)
{
	static const unsigned long dfl[4]; /* the kernel's form of a struct sigaction */
	uint32_t asked = ASKED;

	sys5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	sys4(SYS_rt_sigaction, SIGSEGV, dfl, NULL, 8);
	sys4(SYS_rt_sigaction, SIGBUS, dfl, NULL, 8);
	/* a file that the program closes meanwhile must not stay open here */
	sys3(SYS_close_range, 0, ~0u, 0);
	for (;;) {
		uint32_t s = load_acquire(&state);

		if (s == QUIT)
			break;
		if (s != ASKED) {
			sys_futex_wait(&state, s, TIME_NEVER);
			continue;
		}
		serve();
		asked = ASKED; /* unless the question was given up */
		cas_acq_rel(&state, &asked, ANSWERED);
		sys_futex_wake(&state, 1);
	}
	for (struct tool *t = tools; t < tools + OBJECTS; t++)
		if (t->pid)
			tool_stop(t);
	sys1(SYS_exit_group, 0);
	return 0;
}

/* ---- our side ---- */

static bool helper_start(void)
{
	uint64_t all = UINT64_MAX, old;
	int was = errno;

	if (helper || !search[0])
		return helper > 0;
	if (sys_filtered()) {
		helper = -1;
		return false;
	}
	memset(tools, 0, sizeof(tools));
	store_release(&state, FREE);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(all));
	helper = LIBC(clone)(helper_main, helper_stack + sizeof(helper_stack),
			     CLONE_VM | CLONE_UNTRACED, NULL);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	errno = was;
	return helper > 0;
}

static void helper_stop(void)
{
	if (helper > 0) {
		store_release(&state, QUIT);
		sys_futex_wake(&state, 1);
		sys4(SYS_wait4, helper, NULL, __WALL, NULL);
	}
	helper = -1;
}

/* True: it is answered. */
static bool ask(const char *object, uintptr_t addr)
{
	int64_t until = MIN(sys_now() + ANSWER_NS, give_up);
	uint32_t s;

	fmt_to(question, sizeof(question), "%s", object);
	question_addr = addr;
	store_release(&state, ASKED);
	sys_futex_wake(&state, 1);
	while ((s = load_acquire(&state)) == ASKED) {
		if (sys_now() >= until) {
			sys2(SYS_kill, helper, SIGKILL); /* ours, and not reaped yet */
			helper_stop();
			return false;
		}
		sys_futex_wait(&state, s, until);
	}
	store_release(&state, FREE);
	return s == ANSWERED;
}

/* The path of an object. The program's own ("") may be relative, or name another file
 * by now. */
static const char *path_of(const char *object, char *buf, size_t size)
{
	long n;

	if (object[0])
		return object;
	n = sys4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buf, size - 1);
	buf[MAX(n, 0)] = 0;
	if (n <= 0 || strstr(buf, " (deleted)"))
		fmt_to(buf, size, "/proc/%d/exe", (int)sys0(SYS_getpid));
	return buf;
}

static bool look_up(const char *object, uintptr_t addr, char *out)
{
	unsigned i = (unsigned)((addr * 0x9e3779b97f4a7c15u) >> 56) % KNOWN;
	char path[256];

	if (known[i].addr != addr || strcmp(known[i].object, object) != 0) {
		if (!helper_start() || !ask(path_of(object, path, sizeof(path)), addr))
			return false;
		if (strlen(answer) >= KNOWN_TEXT || strlen(object) >= sizeof(path)) {
			memcpy(out, answer, sizeof(answer));
			return true;
		}
		known[i].addr = addr;
		fmt_to(known[i].object, sizeof(known[i].object), "%s", object);
		fmt_to(known[i].text, KNOWN_TEXT, "%s", answer);
	}
	fmt_to(out, SYMBOLIZE_MAX, "%s", known[i].text);
	return true;
}

bool symbolize(const char *object, uintptr_t addr, char out[SYMBOLIZE_MAX])
{
	struct timespec ts = { 0, NS_PER_MS / 10 };
	bool ok;

	if (load_acquire(&reporting) != (uint32_t)sys0(SYS_getpid) || !addr)
		return false;
	while (xchg_acquire(&asking, 1)) {
		if (sys_now() > load_relaxed(&give_up))
			return false;
		sys2(SYS_nanosleep, &ts, NULL);
	}
	ok = load_relaxed(&reporting) && sys_now() < give_up &&
	     look_up(object, addr, out);
	store_release(&asking, 0);
	return ok && out[0] && strncmp(out, "??\n??:", 6) != 0;
}

bool symbolize_begin(void)
{
	uint32_t pid = (uint32_t)sys0(SYS_getpid), old = load_acquire(&reporting);

	if (!search[0] || old == pid || !cas_acq_rel(&reporting, &old, 0))
		return false;
	if (old) /* the report of a parent, of which we are a copy */
		store_relaxed(&asking, 0);
	store_relaxed(&give_up, sys_now() + REPORT_NS);
	helper = 0;
	for (unsigned i = 0; i < KNOWN; i++)
		known[i].addr = 0;
	store_release(&reporting, pid);
	return true;
}

void symbolize_end(bool begun)
{
	struct timespec ts = { 0, NS_PER_MS / 10 };

	if (!begun)
		return;
	while (xchg_acquire(&asking, 1)) /* bounded by give_up */
		sys2(SYS_nanosleep, &ts, NULL);
	helper_stop();
	store_relaxed(&reporting, 0);
	store_release(&asking, 0);
}

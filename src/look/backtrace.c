/* SPDX-License-Identifier: Apache-2.0 */
/* backtrace.c - frames of parked and of interrupted threads.
 *
 * Frames are found with libunwind if it was there at build time (it reads the
 * call-frame information, so it can pass code without frame pointers). Otherwise they
 * are found along the frame pointers, bounded by the thread's own stack. The caller
 * makes sure that the thread does not run meanwhile. */
#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <ucontext.h>

#include "look/inspect.h"
#include "look/symbolize.h"
#include "arch/arch.h"
#include "base/panic.h"

#define FRAMES_MAX 64
#define STEPS_MAX 4096 /* including those of a recursion that are not printed */
#define CYCLE 4

/* A recursion, of one function or of up to CYCLE that call each other, is shortened:
 * its frames are printed once (those of a cycle twice, to show it), and the others are
 * counted. */
struct run {
	uintptr_t last[2 * CYCLE]; /* the latest first */
	unsigned cycle;            /* not 0: in a cycle of so many */
	unsigned more;             /* frames of the recursion that were not printed */
	int printed;
};

static void run_end(int fd, struct run *r)
{
	if (r->more && r->cycle == 1)
		fmt_fd(fd, "      ... %u more like this\n", r->more);
	else if (r->more)
		fmt_fd(fd, "      ... %u more like these %u\n", r->more, r->cycle);
	r->more = r->cycle = 0;
}

/* Do the last n frames repeat those before them? */
static bool repeats(const struct run *r, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!r->last[i] || r->last[i] != r->last[i + n])
			return false;
	return true;
}

/* True: one more of the same, nothing to print. */
static bool run_goes_on(int fd, struct run *r, uintptr_t ip)
{
	bool same = r->last[0] == ip && r->cycle <= 1;

	if (same)
		r->cycle = 1;
	else if (r->cycle && r->last[r->cycle - 1] == ip)
		same = true;
	else
		run_end(fd, r);
	__builtin_memmove(r->last + 1, r->last, sizeof(r->last) - sizeof(r->last[0]));
	r->last[0] = ip;
	if (same) {
		r->more++;
		return true;
	}
	for (unsigned n = 2; n <= CYCLE && !r->cycle; n++)
		if (repeats(r, n))
			r->cycle = n;
	r->printed++;
	return false;
}

/* The stacks that this dump has printed, because thousands of threads in a server have
 * only a few different ones. Direct-mapped; belongs to the running dump. */
static struct {
	uint64_t hash, thread;
} shapes[64];

void backtrace_begin(void)
{
	__builtin_memset(shapes, 0, sizeof(shapes));
}

#define NO_FRAME 0

/* The first thread with these frames; 0: this one is the first. */
static uint64_t first_alike(uint64_t hash, uint64_t thread)
{
	unsigned at = hash >> 32 & (array_size(shapes) - 1);

	if (hash == NO_FRAME)
		return 0;
	if (shapes[at].hash == hash)
		return shapes[at].thread;
	shapes[at].hash = hash;
	shapes[at].thread = thread;
	return 0;
}

static uint64_t mix(uint64_t hash, uintptr_t ip)
{
	return ((hash ^ ip) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29)) | 1;
}

/* From the text that symbolize returns: a function and where it is. */
struct place {
	char *fn, *at;
};

static char *take_line(char **text)
{
	char *line = *text, *end = strchr(line, '\n');

	if (!end)
		return NULL;
	*end = 0;
	*text = end + 1;
	return line;
}

static bool take_place(char **text, struct place *p)
{
	char *fn = take_line(text), *at = fn ? take_line(text) : NULL, *more;

	if (!at)
		return false;
	more = strstr(at, " (discriminator");
	if (more)
		*more = 0;
	p->fn = fn;
	p->at = strncmp(at, "??:", 3) != 0 && !strstr(at, ":?") ? at : NULL;
	return true;
}

static const char *at_word(const struct place *p)
{
	return p->at ? " at " : "";
}

/* Prints what is known of exported functions only, if symbolize has no answer. */
static void print_symbol(int fd, int n, uintptr_t ip, const Dl_info *i)
{
	if (i->dli_sname)
		fmt_fd(fd, "      #%d %#lx %s+%#lx (%s)\n", n, (unsigned long)ip,
		       i->dli_sname, (unsigned long)(ip - (uintptr_t)i->dli_saddr),
		       i->dli_fname);
	else
		fmt_fd(fd, "      #%d %#lx (%s+%#lx)\n", n, (unsigned long)ip,
		       i->dli_fname, (unsigned long)(ip - (uintptr_t)i->dli_fbase));
}

/* Functions inlined in the library's own functions do not help a reader. In a program
 * that is linked with the static library, nothing distinguishes them from the
 * program's. */
static bool is_ours(const struct link_map *m)
{
	static uintptr_t ours; /* racy: all threads find the same */
	struct link_map *me;
	Dl_info i;

	if (!load_relaxed(&ours) && dladdr1((const void *)(uintptr_t)backtrace_here, &i,
					    (void **)&me, RTLD_DL_LINKMAP))
		store_relaxed(&ours, (uintptr_t)me);
	return m->l_name[0] && (uintptr_t)m == load_relaxed(&ours);
}

/* exact: ip is the current instruction, not a return address. */
static void print_frame(int fd, int n, uintptr_t ip, bool exact)
{
	char text[SYMBOLIZE_MAX], *rest = text;
	struct place p, outer;
	struct link_map *m;
	uintptr_t at = exact ? ip : ip - 1; /* the call, not what follows it */
	Dl_info i;

	if (!dladdr1((const void *)at, &i, (void **)&m, RTLD_DL_LINKMAP) ||
	    !i.dli_fname) {
		fmt_fd(fd, "      #%d %#lx\n", n, (unsigned long)ip);
		return;
	}
	if (!symbolize(m->l_name, at - m->l_addr, text) || !take_place(&rest, &p)) {
		print_symbol(fd, n, ip, &i);
		return;
	}
	for (; take_place(&rest, &outer); p = outer)
		if (!is_ours(m))
			fmt_fd(fd, "      #%d %#lx %s (inlined)%s%s\n", n,
			       (unsigned long)ip, p.fn, at_word(&p), p.at ? p.at : "");
	fmt_fd(fd, "      #%d %#lx %s (%s+%#lx)%s%s\n", n, (unsigned long)ip, p.fn,
	       i.dli_fname, (unsigned long)(ip - (uintptr_t)i.dli_fbase), at_word(&p),
	       p.at ? p.at : "");
}

#if UK_HAVE_LIBUNWIND
#define UNW_LOCAL_ONLY
#include <libunwind.h>

/* With hash: adds the frames to it and prints none. */
static void walk(int fd, unw_context_t *uc, bool signal_frame, uint64_t *hash)
{
	unw_cursor_t c;
	unw_word_t ip;
	struct run run = { 0 };
	int n = 0;

	if (unw_init_local2(&c, uc, signal_frame ? UNW_INIT_SIGNAL_FRAME : 0))
		return;
	do {
		if (unw_get_reg(&c, UNW_REG_IP, &ip) || !ip)
			break;
		if (hash)
			*hash = mix(*hash, ip);
		else if (!run_goes_on(fd, &run, ip))
			print_frame(fd, n, ip, signal_frame && !n);
		n++;
	} while (run.printed < FRAMES_MAX && n < STEPS_MAX && unw_step(&c) > 0);
	run_end(fd, &run);
}

void backtrace_parked(int fd, const struct uk_thread *t)
{
	struct arch_regs r;
	unw_context_t uc;
	uint64_t hash = NO_FRAME, first;

	if (!t->sp)
		return;
	arch_context_regs(t->sp, &r);
	__builtin_memset(&uc, 0, sizeof(uc));
#if defined(__x86_64__)
	uc.uc_mcontext.gregs[REG_RIP] = (greg_t)r.ip;
	uc.uc_mcontext.gregs[REG_RSP] = (greg_t)r.sp;
	uc.uc_mcontext.gregs[REG_RBP] = (greg_t)r.fp;
	walk(fd, &uc, false, &hash);
	first = first_alike(hash, t->id);
	if (first)
		fmt_fd(fd, "      as thread %lu\n", (unsigned long)first);
	else
		walk(fd, &uc, false, NULL);
#else
	(void)hash;
	(void)first;
	print_frame(fd, 0, r.ip, false);
#endif
}

void backtrace_here(int fd, const void *ucontext)
{
	walk(fd, (unw_context_t *)(uintptr_t)ucontext, true, NULL);
}
#else
/* With hash: adds the frames to it and prints none. */
static void walk_fp(int fd, uintptr_t ip, uintptr_t fp, uintptr_t low, uintptr_t high,
		    bool signal_frame, uint64_t *hash)
{
	struct run run = { 0 };

	for (int n = 0; n < STEPS_MAX && run.printed < FRAMES_MAX && ip; n++) {
		const uintptr_t *f = (const uintptr_t *)fp;

		if (hash)
			*hash = mix(*hash, ip);
		else if (!run_goes_on(fd, &run, ip))
			print_frame(fd, n, ip, signal_frame && !n);
		if (fp < low || fp + 16 > high || (fp & 7))
			break;
		ip = f[1];
		if (f[0] <= fp)
			break;
		fp = f[0];
	}
	run_end(fd, &run);
}

void backtrace_parked(int fd, const struct uk_thread *t)
{
	struct arch_regs r;
	uint64_t hash = NO_FRAME, first;
	uintptr_t high;

	if (!t->sp || !t->stack)
		return;
	arch_context_regs(t->sp, &r);
	high = (uintptr_t)t->stack + thread_stack_size(t);
	walk_fp(fd, r.ip, r.fp, r.sp, high, false, &hash);
	first = first_alike(hash, t->id);
	if (first)
		fmt_fd(fd, "      as thread %lu\n", (unsigned long)first);
	else
		walk_fp(fd, r.ip, r.fp, r.sp, high, false, NULL);
}

void backtrace_here(int fd, const void *ucontext)
{
	const ucontext_t *uc = ucontext;
	const struct uk_thread *t = thread_self_tls;
	uintptr_t low = 0, high = 0;

	if (t && t->kind == THREAD_USER && t->stack) {
		low = (uintptr_t)t->stack;
		high = low + thread_stack_size(t);
	}
#if defined(__x86_64__)
	walk_fp(fd, (uintptr_t)uc->uc_mcontext.gregs[REG_RIP],
		(uintptr_t)uc->uc_mcontext.gregs[REG_RBP], low, high, true, NULL);
#else
	walk_fp(fd, uc->uc_mcontext.pc, uc->uc_mcontext.regs[29], low, high, true,
		NULL);
#endif
}
#endif

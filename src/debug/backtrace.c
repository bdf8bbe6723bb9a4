/* SPDX-License-Identifier: Apache-2.0 */
/* backtrace.c - frames of parked and of interrupted threads.
 *
 * Frames are found with libunwind if it was there at build time (it reads the
 * call-frame information, so it can pass code without frame pointers). Otherwise they
 * are found along the frame pointers, bounded by the thread's own stack. The caller
 * makes sure that the thread does not run meanwhile.
 *
 * This runs in signal handlers, on any stack. It allocates nothing, starts nothing and
 * waits for no lock of the library's. Two of its calls take the loader's lock, which is
 * recursive: dladdr1, and libunwind's dl_iterate_phdr. So a dump that interrupts dlopen
 * goes on, but a dump on another thread waits for the end of that dlopen.
 *
 * A frame names exported functions only. `uk symbolize` (tool/symbolize.c) finds the
 * others, with file and line, in another process that reads the text.
 *
 * Rejected: an addr2line that the handler starts (helper processes, pipes and time
 * limits inside a program that may be broken). */
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <ucontext.h>

#include "debug/inspect.h"
#include "arch/arch.h"
#include "base/log.h"
#include "base/sys.h"

#define FRAMES_MAX 64
#define STEPS_MAX 4096 /* including those of a recursion that are not printed */
#define CYCLE 4
#define PATH_MAX_SHOWN 512
#define ALIGN4(n) (((n) + 3u) & ~3u)

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

/* The modules (the program and its libraries) in the frames of this dump, as text: a
 * module may be unloaded before the dump ends. Carriers that print their frames add to
 * it at the same time. A thread that finds no free entry prints its frames all the
 * same. */
static struct module {
	uintptr_t map; /* its link_map, 0: free; set once, by the thread that fills */
	uint32_t
	    ready; /* release: the fields below are filled; pairs with backtrace_end */
	uintptr_t base;
	char build_id[65], path[PATH_MAX_SHOWN];
} modules[64];

/* In hex, from the notes in memory at `image`; "none" if there is none. */
static void read_build_id(char *hex, size_t n, const struct link_map *m,
			  const void *image)
{
	const ElfW(Ehdr) *e = image;
	const ElfW(Phdr) *p = (const void *)((const char *)image + e->e_phoff);

	fmt_to(hex, n, "none");
	if (strncmp((const char *)e->e_ident, ELFMAG, SELFMAG) != 0)
		return;
	for (const ElfW(Phdr) *end = p + e->e_phnum; p < end; p++) {
		uintptr_t at = m->l_addr + p->p_vaddr, stop = at + p->p_memsz;
		const ElfW(Nhdr) * h;

		if (p->p_type != PT_NOTE)
			continue;
		for (; at + sizeof(*h) < stop;
		     at += sizeof(*h) + ALIGN4(h->n_namesz) + ALIGN4(h->n_descsz)) {
			const unsigned char *id;

			h = (const void *)at;
			id = (const unsigned char *)(h + 1) + ALIGN4(h->n_namesz);
			if (h->n_type != NT_GNU_BUILD_ID || h->n_namesz != 4 ||
			    strncmp((const char *)(h + 1), "GNU", 4) != 0)
				continue;
			for (unsigned i = 0; i < h->n_descsz && 2 * i + 2 < n; i++)
				fmt_to(hex + 2 * i, 3, "%02x", id[i]);
			return;
		}
	}
}

static void add_module(const struct link_map *m, const void *image, const char *path)
{
	for (struct module *at = modules; at < modules + array_size(modules); at++) {
		uintptr_t old = 0;

		if (cas_acq_rel(&at->map, &old, (uintptr_t)m)) {
			at->base = m->l_addr;
			read_build_id(at->build_id, sizeof(at->build_id), m, image);
			fmt_to(at->path, sizeof(at->path), "%s", path);
			store_release(&at->ready, 1);
			return;
		}
		if (old == (uintptr_t)m)
			return;
	}
}

void backtrace_begin(void)
{
	__builtin_memset(shapes, 0, sizeof(shapes));
	__builtin_memset(modules, 0, sizeof(modules));
}

void backtrace_end(int fd)
{
	for (struct module *at = modules; at < modules + array_size(modules); at++)
		if (load_acquire(&at->ready))
			fmt_fd(fd, "  module %#lx build-id %s %s\n",
			       (unsigned long)at->base, at->build_id, at->path);
}

/* The loader has no name for the program itself, and argv[0] may name anything. */
static void path_of(const struct link_map *m, const Dl_info *i, char *buf, size_t n)
{
	long r = 0;

	if (!m->l_name[0])
		r = sys4(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buf, n - 1);
	if (r > 0)
		buf[r] = 0;
	else
		fmt_to(buf, n, "%s", i->dli_fname);
}

/* The offset is that of the call, not of the return address behind it, in the addresses
 * of the file: what addr2line takes. exact: ip is the current instruction, not a return
 * address. */
static void print_frame(int fd, int n, uintptr_t ip, bool exact)
{
	uintptr_t at = exact ? ip : ip - 1;
	char path[PATH_MAX_SHOWN];
	const char *slash;
	struct link_map *m;
	Dl_info i;

	if (!dladdr1((const void *)at, &i, (void **)&m, RTLD_DL_LINKMAP) ||
	    !i.dli_fname) {
		fmt_fd(fd, "      #%d %#lx\n", n, (unsigned long)ip);
		return;
	}
	path_of(m, &i, path, sizeof(path));
	add_module(m, i.dli_fbase, path);
	slash = strrchr(path, '/');
	fmt_fd(fd, "      #%d %#lx %s%s(%s+%#lx)\n", n, (unsigned long)ip,
	       i.dli_sname ? i.dli_sname : "", i.dli_sname ? " " : "",
	       slash ? slash + 1 : path, (unsigned long)(at - m->l_addr));
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

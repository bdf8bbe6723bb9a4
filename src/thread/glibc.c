/* SPDX-License-Identifier: Apache-2.0 */
/* Learns the C library's private layout.
 *
 * Three sources, in this order of trust:
 *   1. exported symbols, some of them private (dlsym finds them): functions, the table
 *      of keys, sizes of the static TLS;
 *   2. the _thread_db_* words that libc keeps for debuggers: sizes and offsets;
 *   3. experiments in the template, a newborn thread of libc's own: what points into
 *      its block, which word uselocale changes, where the bounds of the stack are.
 *
 * This runs once, on an ordinary kernel thread. The template first copies its own block
 * (no malloc and no stdio before that: its tcache pointer is still NULL). Then the
 * experiments spoil the original, and the template exits as any thread does. As a side
 * effect libc knows from then on that the process is not single-threaded
 * (__libc_single_threaded).
 *
 * Rejected: offsets per libc version (a table that is wrong the day a distribution
 * backports a patch). */
#include "thread/glibc.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <locale.h>
#include <netdb.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "arch/arch.h"
#include "base/os.h"
#include "base/log.h"

/* A guard size that no other thread has: it identifies the stack's words in struct
 * pthread. */
#define TEMPLATE_GUARD (5 * PAGE)
#define TEMPLATE_STACK ((size_t)128 << 10)
#define RSEQ_MAX 64

struct glibc glibc;

struct descriptor {
	uint32_t bits, n, offset;
};

static const struct descriptor *describe(void *libc, const char *name)
{
	return dlsym(libc, name);
}

static ptrdiff_t field(void *libc, const char *name)
{
	const struct descriptor *d = describe(libc, name);

	return d ? (ptrdiff_t)d->offset : NOWHERE;
}

static size_t struct_size(void *libc, const char *name)
{
	const uint32_t *size = dlsym(libc, name);

	return size ? *size : 0;
}

#define FUNCTION(lib, member, name)                                                    \
	(*(void **)(void *)&glibc.member = dlsym((lib), (name)))

static int find_functions(void *libc)
{
	FUNCTION(libc, create, "pthread_create");
	FUNCTION(libc, join, "pthread_join");
	FUNCTION(libc, key_create, "pthread_key_create");
	FUNCTION(libc, key_delete, "pthread_key_delete");
	FUNCTION(libc, setspecific, "pthread_setspecific");
	FUNCTION(libc, getspecific, "pthread_getspecific");
	FUNCTION(libc, getattr_np, "pthread_getattr_np");
	FUNCTION(libc, call_tls_dtors, "__call_tls_dtors");
	FUNCTION(RTLD_DEFAULT, allocate_tls, "_dl_allocate_tls");
	FUNCTION(RTLD_DEFAULT, deallocate_tls, "_dl_deallocate_tls");
	glibc.keys = dlsym(libc, "__pthread_keys");
	return glibc.create && glibc.join && glibc.key_create && glibc.key_delete &&
		       glibc.setspecific && glibc.getspecific && glibc.getattr_np
		   ? 0
		   : -ENOSYS;
}

/* pthread offsets are from tp, once pd is added. */
static ptrdiff_t in_pd(void *libc, const char *name)
{
	ptrdiff_t off = field(libc, name);

	return off == NOWHERE ? NOWHERE : glibc.pd + off;
}

static void find_fields(void *libc)
{
	const struct descriptor *d;

	glibc.pd_size = struct_size(libc, "_thread_db_sizeof_pthread");
	glibc.tid = in_pd(libc, "_thread_db_pthread_tid");
	glibc.list = in_pd(libc, "_thread_db_pthread_list");
	glibc.dtv = in_pd(libc, "_thread_db_pthread_dtvp");
	glibc.cancel = in_pd(libc, "_thread_db_pthread_cancelhandling");
	glibc.start = in_pd(libc, "_thread_db_pthread_start_routine");
	glibc.policy = in_pd(libc, "_thread_db_pthread_schedpolicy");
	glibc.priority = in_pd(libc, "_thread_db_pthread_schedparam_sched_priority");
	glibc.specific = in_pd(libc, "_thread_db_pthread_specific");
	d = describe(libc, "_thread_db_pthread_specific");
	glibc.nlevel1 = d ? (size_t)d->bits / 8 * d->n / sizeof(void *) : 0;
	d = describe(libc, "_thread_db_pthread_key_data_level2_data");
	glibc.nlevel2 = d ? d->n : 0;
	glibc.data_size = struct_size(libc, "_thread_db_sizeof_pthread_key_data");
	glibc.data_seq = (size_t)field(libc, "_thread_db_pthread_key_data_seq");
	glibc.data_ptr = (size_t)field(libc, "_thread_db_pthread_key_data_data");
	glibc.key_size = struct_size(libc, "_thread_db_sizeof_pthread_key_struct");
	glibc.key_seq = (size_t)field(libc, "_thread_db_pthread_key_struct_seq");
	glibc.key_destr = (size_t)field(libc, "_thread_db_pthread_key_struct_destr");
}

static void find_rtld(void *libc)
{
	char *global = dlsym(RTLD_DEFAULT, "_rtld_global");
	ptrdiff_t off = field(libc, "_thread_db_rtld_global__dl_tls_dtv_slotinfo_list");
	ptrdiff_t user = field(libc, "_thread_db_rtld_global__dl_stack_user");

	glibc.slot_len = (size_t)field(libc, "_thread_db_dtv_slotinfo_list_len");
	glibc.slot_next = (size_t)field(libc, "_thread_db_dtv_slotinfo_list_next");
	glibc.slot_first = (size_t)field(libc, "_thread_db_dtv_slotinfo_list_slotinfo");
	glibc.slot_size = struct_size(libc, "_thread_db_sizeof_dtv_slotinfo");
	glibc.slot_gen = (size_t)field(libc, "_thread_db_dtv_slotinfo_gen");
	glibc.slot_map = (size_t)field(libc, "_thread_db_dtv_slotinfo_map");
	glibc.map_modid = (size_t)field(libc, "_thread_db_link_map_l_tls_modid");
	glibc.map_offset = (size_t)field(libc, "_thread_db_link_map_l_tls_offset");
	if (global && off != NOWHERE && glibc.slot_size)
		glibc.slotinfo = (void **)(void *)(global + off);
	if (global && user != NOWHERE)
		glibc.user_list = (struct link *)(void *)(global + user);
}

static void find_data(const struct dl_phdr_info *info)
{
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_LOAD && ph->p_flags & PF_W) {
			glibc.data = (char *)info->dlpi_addr + ph->p_vaddr;
			glibc.data_bytes = ph->p_memsz;
		}
	}
}

static int find_libc_tls(struct dl_phdr_info *info, size_t size, void *arg)
{
	char *tls = info->dlpi_tls_data, *err = arg;

	(void)size;
	for (size_t i = 0; tls && i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];

		if (ph->p_type == PT_TLS && err >= tls && err < tls + ph->p_memsz) {
			glibc.libc_tls = tls - (char *)arch_get_tp();
			glibc.libc_tls_size = ph->p_memsz;
			find_data(info);
			return 1;
		}
	}
	return 0;
}

static size_t round_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static int find_tls(void)
{
	char *tp = arch_get_tp();
	void (*info)(size_t *, size_t *);
	const ptrdiff_t *rseq = dlsym(RTLD_DEFAULT, "__rseq_offset");
	size_t size = 0;

	glibc.err = (char *)__errno_location() - tp;
	glibc.herr = (char *)__h_errno_location() - tp;
	glibc.ctype_b = (const char *)__ctype_b_loc() - tp;
	glibc.ctype_lower = (const char *)__ctype_tolower_loc() - tp;
	glibc.ctype_upper = (const char *)__ctype_toupper_loc() - tp;
	glibc.rseq = rseq ? *rseq : NOWHERE;
	if (!dl_iterate_phdr(find_libc_tls, &errno))
		return -ENOSYS;
	*(void **)(void *)&info = dlsym(RTLD_DEFAULT, "_dl_get_tls_static_info");
	if (info)
		info(&size, &glibc.align);
	if (!glibc.pd_size || size <= glibc.pd_size)
		return -ENOSYS;
	glibc.align = MAX(glibc.align, (size_t)CACHE_LINE);
	if (glibc.pd == 0) {
		glibc.below = round_up(size - glibc.pd_size, glibc.align);
		glibc.above = glibc.pd_size;
	} else {
		glibc.below = round_up((size_t)-glibc.pd, glibc.align);
		glibc.above = size;
	}
	return 0;
}

/* --- in the template --- */

struct template
{
	int err;
	pthread_key_t key;
	uintptr_t frame;     /* some address in the template's stack */
	const char *creator; /* its thread pointer */
};

/* Which word of libc's TLS is malloc's arena? It is NULL in a newborn thread. In a
 * creator that uses the main arena it points to libc's variables. */
static void find_arena(const char *tp, const char *creator)
{
	ptrdiff_t end = glibc.libc_tls + (ptrdiff_t)glibc.libc_tls_size;
	unsigned n = 0;

	for (ptrdiff_t o = glibc.libc_tls; o + (ptrdiff_t)sizeof(void *) <= end;
	     o += sizeof(void *)) {
		char *w = glibc_word(creator, o);

		if (glibc_word(tp, o) || (size_t)(w - glibc.data) >= glibc.data_bytes)
			continue;
		glibc.arena = n++ ? NOWHERE : o;
		glibc.main_arena = w;
	}
}

/* Which bit of struct pthread says that setspecific was called? */
static void try_setspecific(char *tp, pthread_key_t key, unsigned char *old)
{
	const unsigned char *pd = (const unsigned char *)tp + glibc.pd;
	ptrdiff_t skip = glibc.specific - glibc.pd;
	ptrdiff_t found = NOWHERE;
	unsigned n = 0;

	memcpy(old, pd, glibc.pd_size);
	glibc.setspecific(key, tp);
	for (ptrdiff_t i = skip + (ptrdiff_t)(glibc.nlevel1 * sizeof(void *));
	     i < (ptrdiff_t)glibc.pd_size; i++) {
		if (pd[i] == old[i])
			continue;
		n++;
		found = !old[i] && pd[i] == 1 ? i : NOWHERE;
	}
	if (n == 1 && found != NOWHERE)
		glibc.specific_used = glibc.pd + found;
	glibc.setspecific(key, NULL);
}

/* Which words of struct pthread hold what libc's services keep for their thread? (The
 * kernel writes into the rseq area meanwhile.) */
static void try_services(char *tp, unsigned char *old)
{
	ptrdiff_t end = (ptrdiff_t)(glibc.pd_size - sizeof(void *));
	char *pd = tp + glibc.pd, c;

	memcpy(old, pd, glibc.pd_size);
	strerror(-12345);
	strsignal(-12345);
	if (LIBC(getrandom)(&c, 1, GRND_NONBLOCK) < 0)
		c = 0;
	for (ptrdiff_t o = 0; o <= end; o += (ptrdiff_t)sizeof(void *)) {
		ptrdiff_t off = glibc.pd + o;

		if (glibc_word(old, o) || !glibc_word(pd, o) ||
		    (off >= glibc.rseq && off < glibc.rseq + RSEQ_MAX) ||
		    glibc.nheld == HELD_MAX)
			continue;
		glibc.held[glibc.nheld++] = off;
	}
}

/* Which word of libc's TLS is the locale? */
static void try_uselocale(char *tp)
{
	locale_t c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
	const char *tls = tp + glibc.libc_tls, *snap;

	if (!c)
		return;
	uselocale(c);
	snap = glibc.snap + glibc.below + glibc.libc_tls;
	for (size_t i = 0; i + sizeof(void *) <= glibc.libc_tls_size;
	     i += sizeof(void *)) {
		void *was = glibc_word(snap, (ptrdiff_t)i);

		if (glibc_word(tls, (ptrdiff_t)i) == (void *)c && was != (void *)c) {
			glibc.locale = glibc.libc_tls + (ptrdiff_t)i;
			glibc.global_locale = was;
		}
	}
	uselocale(LC_GLOBAL_LOCALE);
	freelocale(c);
}

static void *template_thread(void *arg)
{
	struct template *t = arg;
	char *tp = arch_get_tp();
	unsigned char *old;

	memcpy(glibc.snap, tp - glibc.below, glibc.below + glibc.above);
	glibc.snap_tp = tp;
	t->frame = (uintptr_t)&t;
	if ((char *)pthread_self() != tp + glibc.pd) {
		t->err = -ENOSYS;
		return NULL;
	}
	find_arena(tp, t->creator);
	glibc_use_main_arena(tp, true);
	/* behind the copy there is space for another struct pthread */
	old = (unsigned char *)glibc.snap + glibc.below + glibc.pd_size;
	try_uselocale(tp);
	try_services(tp, old);
	if (glibc.specific != NOWHERE)
		try_setspecific(tp, t->key, old);
	glibc_use_main_arena(tp, false);
	return NULL;
}

/* --- what the copy shows --- */

static uintptr_t snap_word(ptrdiff_t off)
{
	return (uintptr_t)glibc_word(glibc.snap + glibc.below, off);
}

static void set_snap(ptrdiff_t off, uintptr_t v)
{
	glibc_set_word(glibc.snap + glibc.below, off, (void *)v);
}

static void find_stack(const struct template *t)
{
	ptrdiff_t end =
	    glibc.pd + (ptrdiff_t)glibc.pd_size - 4 * (ptrdiff_t)sizeof(void *);

	for (ptrdiff_t o = glibc.pd; o <= end; o += (ptrdiff_t)sizeof(void *)) {
		uintptr_t at = snap_word(o), size = snap_word(o + 8);

		if (at && !(at % PAGE) && !(size % PAGE) && t->frame - at < size &&
		    (uintptr_t)glibc.snap_tp - at < size &&
		    snap_word(o + 16) == TEMPLATE_GUARD &&
		    snap_word(o + 24) == TEMPLATE_GUARD)
			glibc.stackblock = o;
	}
}

/* Words that point into the block are to move with it; words that point into the
 * template's stack become NULL. */
static int find_relocs(ptrdiff_t from, ptrdiff_t to, uintptr_t stack, size_t size)
{
	uintptr_t lo = (uintptr_t)glibc.snap_tp - glibc.below;
	size_t len = glibc.below + glibc.above;

	for (ptrdiff_t o = from; o + (ptrdiff_t)sizeof(void *) <= to;
	     o += sizeof(void *)) {
		uintptr_t w = snap_word(o);

		if (o == glibc.stackblock)
			continue;
		if (w - lo < len) {
			if (glibc.nrelocs == RELOCS_MAX)
				return -ENOSYS;
			glibc.relocs[glibc.nrelocs++] = o;
		} else if (w - stack < size) {
			set_snap(o, 0);
		}
	}
	return 0;
}

static void find_reset_relocs(void)
{
	unsigned i = 0;

	while (i < glibc.nrelocs && glibc.relocs[i] < glibc.reset)
		i++;
	glibc.reset_relocs = i;
	while (i < glibc.nrelocs && glibc.relocs[i] < glibc.reset_end)
		i++;
	glibc.reset_relocs_end = i;
}

static int digest(const struct template *t)
{
	ptrdiff_t end = glibc.pd + (ptrdiff_t)glibc.pd_size;
	uintptr_t stack = 0, first;
	size_t size = 0;

	if (glibc.tid == NOWHERE || glibc.list == NOWHERE || glibc.specific == NOWHERE)
		return -ENOSYS;
	find_stack(t);
	if (glibc.stackblock != NOWHERE) {
		stack = snap_word(glibc.stackblock);
		size = snap_word(glibc.stackblock + 8);
	}
	/* unlinked: a list of one */
	set_snap(glibc.list, (uintptr_t)glibc.snap_tp + glibc.list);
	set_snap(glibc.list + 8, (uintptr_t)glibc.snap_tp + glibc.list);
	if (glibc.start != NOWHERE) {
		set_snap(glibc.start, 0);
		set_snap(glibc.start + 8, 0); /* the argument */
	}
	first = snap_word(glibc.specific) - (uintptr_t)glibc.snap_tp;
	if ((ptrdiff_t)first > glibc.list && (ptrdiff_t)first < glibc.specific) {
		glibc.first_block = (ptrdiff_t)first;
		/* blocks are in libc's list: recycling leaves the links alone */
		glibc.reset = glibc.list + 2 * (ptrdiff_t)sizeof(void *);
		glibc.reset_end = glibc.first_block;
	}
	if (glibc.rseq != NOWHERE) {
		uint32_t *rseq =
		    (uint32_t *)(void *)(glibc.snap + glibc.below + glibc.rseq);

		rseq[0] = 0;            /* cpu_id_start */
		rseq[1] = (uint32_t)-2; /* cpu_id: RSEQ_CPU_ID_REGISTRATION_FAILED */
		rseq[2] = rseq[3] = 0;  /* rseq_cs */
	}
	if (find_relocs(glibc.pd, end, stack, size))
		return -ENOSYS;
	find_reset_relocs();
	return find_relocs(glibc.libc_tls,
			   glibc.libc_tls + (ptrdiff_t)glibc.libc_tls_size, stack,
			   size);
}

int glibc_run(void *(*fn)(void *), void *arg, void *stack, size_t size, pthread_t *out)
{
	/* all but the two that libc keeps for itself: a thread that holds libc's lock
	 * of all threads may wait for our answer to one of them, while we wait for the
	 * lock */
	uint64_t all = ~(3ull << 31), old;
	pthread_attr_t attr;
	int err;

	pthread_attr_init(&attr);
	if (stack)
		pthread_attr_setstack(&attr, stack, size);
	else
		pthread_attr_setstacksize(&attr, size);
	pthread_attr_setguardsize(&attr, TEMPLATE_GUARD);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, sizeof(old));
	err = glibc.create(out, &attr, fn, arg);
	sys4(SYS_rt_sigprocmask, SIG_SETMASK, &old, NULL, sizeof(old));
	pthread_attr_destroy(&attr);
	return -err;
}

static int run_template(struct template *t)
{
	size_t size = glibc.below + glibc.above + glibc.pd_size;
	pthread_t id;
	int err;

	glibc.snap = os_map(size);
	if (!glibc.snap)
		return -ENOMEM;
	err = -glibc.key_create(&t->key, NULL);
	if (!err) {
		size_t stack =
		    round_up(TEMPLATE_STACK + glibc.below + glibc.above, PAGE);

		err = glibc_run(template_thread, t, NULL, stack, &id);
		if (!err)
			err = -glibc.join(id, NULL);
		glibc.key_delete(t->key);
	}
	if (err)
		os_unmap(glibc.snap, size);
	return err ? err : t->err;
}

int glibc_learn(void)
{
	struct template t = { .creator = arch_get_tp() };
	void *libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
	int err;

	glibc = (struct glibc){ 0 }; /* what a failed start left */
	glibc.pd = (char *)pthread_self() - (char *)arch_get_tp();
	glibc.stackblock = glibc.first_block = glibc.specific_used = NOWHERE;
	glibc.locale = glibc.reset = glibc.arena = NOWHERE;
	if (!libc)
		return -ENOSYS;
	glibc.libc_map = libc;
	err = find_functions(libc);
	if (err)
		return err;
	find_fields(libc);
	find_rtld(libc);
	err = find_tls();
	if (err)
		return err;
	err = run_template(&t);
	return err ? err : digest(&t);
}

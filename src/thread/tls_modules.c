/* SPDX-License-Identifier: Apache-2.0 */
/* TLS images of the loaded modules.
 *
 * In a recycled block, each module whose TLS is at a fixed offset gets its initial
 * image again: one memcpy per module, from a copy that includes the zeros. The table of
 * images is immutable. A new one replaces it when the loader's own table
 * (GL(dl_tls_dtv_slotinfo_list): generation and link map per module id) no longer reads
 * as it did. That check is a handful of loads without a lock: a torn view differs from
 * the remembered one and only costs a refresh.
 *
 * Modules that dlopen loads usually have dynamic TLS: glibc allocates it when a thread
 * first uses it and keeps it in the DTV. A recycled block must not show the old
 * thread's, so those entries are freed.
 *
 * A module that is opened later and insists on static TLS (initial-exec in a shared
 * object) takes part of the surplus. glibc initialises it in the threads of its own
 * list, which includes ours (tls_list.c).
 *
 * Rejected: _dl_allocate_tls_init on recycling (it takes the loader's lock, and wipes
 * libc's own TLS with malloc's cache in it). */
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "base/lock.h"
#include "base/os.h"
#include "base/log.h"
#include "thread/glibc.h"

#define SLOTS_MAX 1024

struct slot {
	size_t gen;
	void *map;
};

struct module {
	ptrdiff_t off; /* from tp */
	size_t size;
	const char *image;
};

struct modules {
	size_t bytes; /* of this mapping */
	unsigned nslots, n;
	bool dynamic; /* some module's TLS is in the DTV only */
	bool counted; /* no slotinfo: adds and subs are compared */
	uint64_t adds, subs;
	struct slot slots[SLOTS_MAX]; /* by module id */
	struct module m[];
};

/* Written under the lock, never freed: readers have no lock. */
static struct modules *current;
static struct lock lock = LOCK_INIT(RANK_MODULES);
static bool ever_dynamic; /* lock to set; DTVs keep entries of closed modules */

static struct slot slot_at(size_t modid)
{
	char *list = load_acquire((char **)(void *)glibc.slotinfo);
	struct slot s = { 0 };

	while (list) {
		size_t len = *(size_t *)(void *)(list + glibc.slot_len);

		if (modid < len) {
			char *e = list + glibc.slot_first + modid * glibc.slot_size;

			s.gen = load_relaxed((size_t *)(void *)(e + glibc.slot_gen));
			s.map = load_relaxed((void **)(void *)(e + glibc.slot_map));
			return s;
		}
		modid -= len;
		list = *(char **)(void *)(list + glibc.slot_next);
	}
	return s;
}

static int counters(struct dl_phdr_info *info, size_t size, void *arg)
{
	uint64_t *out = arg;

	(void)size;
	out[0] = info->dlpi_adds;
	out[1] = info->dlpi_subs;
	return 1;
}

static inline bool changed(const struct modules *t)
{
	uint64_t now[2] = { 0, 0 };
	char *list, *e;
	size_t len;

	if (unlikely(t->counted)) {
		dl_iterate_phdr(counters, now);
		return now[0] != t->adds || now[1] != t->subs;
	}
	list = load_acquire((char **)(void *)glibc.slotinfo);
	len = *(size_t *)(void *)(list + glibc.slot_len);
	e = list + glibc.slot_first;
	/* one more than exist: the next module would be there */
	for (unsigned i = 1; i <= t->nslots; i++) {
		struct slot s;

		if (unlikely(i >= len)) {
			s = slot_at(i);
		} else {
			char *p = e + i * glibc.slot_size;

			s.gen = load_relaxed((size_t *)(void *)(p + glibc.slot_gen));
			s.map = load_relaxed((void **)(void *)(p + glibc.slot_map));
		}
		if (s.gen != t->slots[i].gen || s.map != t->slots[i].map)
			return true;
	}
	return false;
}

struct scan {
	struct modules *t; /* NULL: only count */
	unsigned n;
	size_t bytes;
	char *image;
	char *tp;
};

/* Where a module's TLS is in every thread, or NOWHERE if the DTV decides. */
static ptrdiff_t static_offset(const struct dl_phdr_info *info, const char *tp)
{
	size_t id = info->dlpi_tls_modid;
	const char *data = info->dlpi_tls_data;

	if (glibc.slotinfo && glibc.pd == 0) {
		const char *map = slot_at(id).map;
		size_t off =
		    map ? *(const size_t *)(const void *)(map + glibc.map_offset) : 0;

		/* TLS ends at tp; 0 and -1 mean "not static" */
		return off && off <= glibc.below ? -(ptrdiff_t)off : NOWHERE;
	}
	if (data && (size_t)(data - (tp - glibc.below)) < glibc.below + glibc.above)
		return data - tp;
	return NOWHERE;
}

static int scan_module(struct dl_phdr_info *info, size_t size, void *arg)
{
	const ElfW(Phdr) *ph = NULL;
	struct scan *s = arg;
	struct module *m;
	ptrdiff_t off;

	(void)size;
	for (size_t i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_TLS)
			ph = &info->dlpi_phdr[i];
	if (!ph || !info->dlpi_tls_modid)
		return 0;
	if (!s->t) {
		s->n++;
		s->bytes += (ph->p_memsz + 63) & ~(size_t)63;
		return 0;
	}
	s->t->adds = info->dlpi_adds;
	s->t->subs = info->dlpi_subs;
	if (info->dlpi_tls_modid + 2 < SLOTS_MAX)
		s->t->nslots = MAX(s->t->nslots, (unsigned)info->dlpi_tls_modid + 1);
	else
		s->t->counted = true;
	off = static_offset(info, s->tp);
	if (off == glibc.libc_tls)
		return 0;
	if (off == NOWHERE) {
		s->t->dynamic = true;
		return 0;
	}
	if (s->t->n == s->n)
		return 1; /* loaded between the two scans: the next refresh sees it */
	m = &s->t->m[s->t->n++];
	*m = (struct module){ off, ph->p_memsz, s->image };
	memcpy(s->image, (const char *)info->dlpi_addr + ph->p_vaddr, ph->p_filesz);
	s->image += (ph->p_memsz + 63) & ~(size_t)63;
	return 0;
}

static int rebuild_locked(void)
{
	struct scan s = { .tp = arch_get_tp() };
	size_t bytes;

	dl_iterate_phdr(scan_module, &s);
	bytes = sizeof(struct modules) + s.n * sizeof(struct module) + s.bytes + 64;
	s.t = os_map(bytes);
	if (!s.t)
		return -ENOMEM;
	s.t->bytes = bytes;
	s.t->counted = !glibc.slotinfo;
	s.image = (char *)(((uintptr_t)&s.t->m[s.n] + 63) & ~(uintptr_t)63);
	/* slots first: a module that is loaded during the scan makes them differ */
	for (unsigned i = 1; !s.t->counted && i < SLOTS_MAX; i++)
		s.t->slots[i] = slot_at(i);
	dl_iterate_phdr(scan_module, &s);
	if (s.t->dynamic)
		store_relaxed(&ever_dynamic, true);
	/* release: pairs with modules_reset */
	store_release(&current, s.t);
	return 0;
}

static void refresh(void)
{
	lock_acquire(&lock);
	if (changed(current) && rebuild_locked())
		uk_warn("no memory for the table of TLS modules");
	lock_release(&lock);
}

/* Does the loader's table say of libc what we know of it? If not, it is not the table
 * that we take it for. */
static void verify_slotinfo(void *libc_map)
{
	size_t id;

	if (!glibc.slotinfo || !libc_map)
		return;
	id = *(size_t *)(void *)((char *)libc_map + glibc.map_modid);
	if (id == 0 || id >= SLOTS_MAX || slot_at(id).map != libc_map ||
	    (glibc.pd == 0 &&
	     *(size_t *)(void *)((char *)libc_map + glibc.map_offset) !=
		 (size_t)-glibc.libc_tls))
		glibc.slotinfo = NULL;
}

int modules_init(void)
{
	int err;

	verify_slotinfo(glibc.libc_map);
	lock_acquire(&lock);
	err = rebuild_locked();
	lock_release(&lock);
	return err;
}

/* Frees the dead thread's instances of dynamic TLS. */
static void reset_dtv(void *tp)
{
	struct entry {
		void *val, *to_free;
	} *dtv = glibc_word(tp, glibc.dtv);
	size_t n = (size_t)dtv[-1].val;

	for (size_t i = 1; i <= n; i++) {
		if (!dtv[i].to_free)
			continue;
		free(dtv[i].to_free);
		dtv[i].val = (void *)-1; /* TLS_DTV_UNALLOCATED */
		dtv[i].to_free = NULL;
	}
}

void modules_reset(void *tp)
{
	/* acquire: pairs with rebuild_locked */
	const struct modules *t = load_acquire(&current);

	if (unlikely(changed(t))) {
		refresh();
		t = load_acquire(&current);
	}
	for (unsigned i = 0; i < t->n; i++)
		memcpy((char *)tp + t->m[i].off, t->m[i].image, t->m[i].size);
	if (unlikely(load_relaxed(&ever_dynamic)) && glibc.dtv != NOWHERE)
		reset_dtv(tp);
}

void modules_fork_lock(void)
{
	lock_acquire(&lock);
}

void modules_fork_unlock(void)
{
	lock_release(&lock);
}

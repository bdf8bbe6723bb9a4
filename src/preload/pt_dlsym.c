/* SPDX-License-Identifier: Apache-2.0 */
/* pt_dlsym.c - dlsym and dlvsym. Language runtimes find functions by a handle of libc
 * (P/Invoke, JNA, ctypes, LuaJIT). libc's own would meet our mutexes and threads, so
 * they get ours.
 *
 *   the handle     finds               the caller gets
 *   RTLD_DEFAULT   ours                that
 *   RTLD_NEXT      what comes next     that: the caller has the name itself, and goes on
 *                                      from there
 *   of a library   libc's own          ours, if we have one
 *                  another function    that
 *
 * If a library between libc and us has the name, a handle of libc finds libc's own,
 * because that library may look it up like this, in order to be called by us.
 *
 * dlsym takes RTLD_NEXT to be seen from its caller. So ours looks first, and if it has
 * nothing to replace, goes on to libc's dlsym with the return address unchanged
 * (pt_saves_*.S). An address in libc cannot be found by dlsym then, so libc's dlsym
 * itself is found in libc's hash table. */
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>

#include "base/log.h"
#include "preload/pt.h"

extern const char __ehdr_start[] __attribute__((visibility("hidden"))),
    _end[] __attribute__((visibility("hidden"))); /* the linker's: where we lie */

static bool in_us(const void *at)
{
	return (const char *)at >= __ehdr_start && (const char *)at < _end;
}

/* ---- libc's dlsym ---- */

/* What the dynamic section of m has for tag. */
static const void *part_of(const struct link_map *m, ElfW(Sxword) tag)
{
	for (const ElfW(Dyn) *d = m->l_ld; d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			/* an address: the loader has added where m lies */
			return (const void *)(uintptr_t)d->d_un.d_ptr;
	return NULL;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t h = 5381;

	for (; *name; name++)
		h = h * 33 + (uint8_t)*name;
	return h;
}

/* The function of this name that m defines, or NULL. */
static void *defined_in(const struct link_map *m, const char *name)
{
	const ElfW(Sym) *all = part_of(m, DT_SYMTAB);
	const char *names = part_of(m, DT_STRTAB);
	const uint32_t *table = part_of(m, DT_GNU_HASH), *buckets, *chain;
	uint32_t h = gnu_hash(name), i;

	if (!all || !names || !table)
		return NULL;
	/* table: buckets, first symbol, words of a filter, its shift; filter; buckets */
	buckets = table + 4 + table[2] * (sizeof(ElfW(Addr)) / sizeof(*table));
	chain = buckets + table[0] - table[1];
	i = buckets[h % table[0]];
	if (!i)
		return NULL;
	for (;; i++) {
		if ((chain[i] | 1) == (h | 1) && all[i].st_shndx != SHN_UNDEF &&
		    !strcmp(names + all[i].st_name, name))
			return (void *)(m->l_addr + all[i].st_value);
		if (chain[i] & 1)
			return NULL;
	}
}

/* The object that at lies in. No call that allocates: the program's malloc may be about
 * to call dlsym. */
static const struct link_map *object_of(const void *at)
{
	struct link_map *m;
	Dl_info info;

	return dladdr1(at, &info, (void **)&m, RTLD_DL_LINKMAP) ? m : NULL;
}

static void *of_libc(const char *name)
{
	const struct link_map *libc = object_of((const void *)&gnu_get_libc_version);
	void *fn = libc ? defined_in(libc, name) : NULL;

	if (!fn)
		uk_panic("the preload library finds no function %s in libc", name);
	return fn;
}

static __typeof__(&dlsym) libc_dlsym(void)
{
	static __typeof__(&dlsym) fn;

	if (unlikely(!load_relaxed(&fn)))
		store_relaxed(&fn, (__typeof__(fn))of_libc("dlsym"));
	return load_relaxed(&fn);
}

static __typeof__(&dlvsym) libc_dlvsym(void)
{
	static __typeof__(&dlvsym) fn;

	if (unlikely(!load_relaxed(&fn)))
		store_relaxed(&fn, (__typeof__(fn))of_libc("dlvsym"));
	return load_relaxed(&fn);
}

/* ---- ours ---- */

/* What the caller of dlsym or dlvsym gets instead of found. */
static void *replaced(void *found, const char *name)
{
	const struct link_map *us;

	if (!found || in_us(found) || libc_dlsym()(RTLD_NEXT, name) != found)
		return NULL;
	/* (by libc's dlsym only what is opened by dlopen can be searched) */
	us = object_of(__ehdr_start);
	return us ? defined_in(us, name) : NULL;
}

static bool is_plain(const void *handle, const void *caller)
{
	return handle == RTLD_DEFAULT || handle == RTLD_NEXT || in_us(caller);
}

/* Called by dlsym: returns the result, or NULL and where to go on. */
void *dlsym_first(void *handle, const char *name, const void *caller, void **then);
void *dlsym_first(void *handle, const char *name, const void *caller, void **then)
{
	*then = (void *)libc_dlsym();
	return is_plain(handle, caller) ? NULL
					: replaced(libc_dlsym()(handle, name), name);
}

void *dlvsym_first(void *handle, const char *name, const char *version,
		   const void *caller, void **then);
void *dlvsym_first(void *handle, const char *name, const char *version,
		   const void *caller, void **then)
{
	*then = (void *)libc_dlvsym();
	return is_plain(handle, caller)
		   ? NULL
		   : replaced(libc_dlvsym()(handle, name, version), name);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* judge.c - can libuk-posix.so be preloaded into this program? It only reads the file
 * and runs nothing of it, so `uk run --check` is safe for any file.
 *
 * `uk` compares the program's ELF header with its own: a machine that runs `uk` has
 * that architecture, that width and glibc's loader. So it needs no table of machines.
 *
 * A Go program is recognised by the section of its build information (the note of its
 * build id may be empty). Go's runtime makes kernel threads and system calls without
 * libc, also in a program that is dynamic because it uses a C library.
 *
 * Rejected: `ldd`, which runs the program's loader with the privileges of the
 * caller. */
#include "judge.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

/* A weak reference in the runtimes of gcc's and clang's sanitizers, when linked in. */
#define LINKED_SANITIZER "__sanitizer_symbolize_code"
#define SCRIPTS_DEEP 4 /* as the kernel allows */

struct image {
	const char *base;
	size_t size;
};

static int image_open(struct image *m, const char *path, struct stat *st)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	void *at;

	*m = (struct image){ 0 };
	if (fd < 0 || fstat(fd, st) < 0)
		err = -errno;
	if (!err && st->st_size > 0) {
		at = mmap(NULL, (size_t)st->st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (at == MAP_FAILED)
			err = -errno;
		else
			*m = (struct image){ at, (size_t)st->st_size };
	}
	if (fd >= 0)
		close(fd);
	return err;
}

static void image_close(struct image *m)
{
	union {
		const void *shown;
		void *mapped;
	} at = { m->base };

	if (m->size)
		munmap(at.mapped, m->size);
}

/* NULL: it is not completely in the file. */
static const void *part(const struct image *m, uint64_t at, uint64_t size)
{
	return at <= m->size && size <= m->size - at ? m->base + at : NULL;
}

/* A string in the file, or "". */
static const char *text(const struct image *m, uint64_t at)
{
	const char *s = part(m, at, 1);

	return s && memchr(s, 0, m->size - at) ? s : "";
}

const char *own_file(void)
{
	static const char linked[] = "/proc/self/exe";

	return access(linked, R_OK) ? (const char *)getauxval(AT_EXECFN) : linked;
}

/* ---- ELF ---- */

static const Elf64_Ehdr *header(const struct image *m)
{
	const Elf64_Ehdr *e = part(m, 0, sizeof(*e));

	return e && !memcmp(e->e_ident, ELFMAG, SELFMAG) ? e : NULL;
}

static const Elf64_Phdr *segments(const struct image *m)
{
	const Elf64_Ehdr *e = header(m);

	return part(m, e->e_phoff, (uint64_t)e->e_phnum * sizeof(Elf64_Phdr));
}

static const Elf64_Phdr *segment(const struct image *m, uint32_t type)
{
	const Elf64_Ehdr *e = header(m);
	const Elf64_Phdr *p = segments(m);

	for (unsigned i = 0; p && i < e->e_phnum; i++)
		if (p[i].p_type == type)
			return &p[i];
	return NULL;
}

static const char *loader_of(const struct image *m)
{
	const Elf64_Phdr *p = segment(m, PT_INTERP);

	return p ? text(m, p->p_offset) : "";
}

static uint64_t offset_of(const struct image *m, uint64_t address)
{
	const Elf64_Ehdr *e = header(m);
	const Elf64_Phdr *p = segments(m);

	for (unsigned i = 0; p && i < e->e_phnum; i++)
		if (p[i].p_type == PT_LOAD && address >= p[i].p_vaddr &&
		    address - p[i].p_vaddr < p[i].p_filesz)
			return p[i].p_offset + (address - p[i].p_vaddr);
	return m->size;
}

static void list_needs(const struct image *m, char *to, size_t room)
{
	const Elf64_Phdr *p = segment(m, PT_DYNAMIC);
	const Elf64_Dyn *d = p ? part(m, p->p_offset, p->p_filesz) : NULL;
	size_t n = d ? p->p_filesz / sizeof(*d) : 0, used = 0;
	uint64_t names = m->size;

	to[0] = 0;
	for (size_t i = 0; i < n; i++)
		if (d[i].d_tag == DT_STRTAB)
			names = offset_of(m, d[i].d_un.d_ptr);
	for (size_t i = 0; i < n && d[i].d_tag != DT_NULL; i++) {
		const char *s = text(m, names + d[i].d_un.d_val);

		if (d[i].d_tag == DT_NEEDED && used + strlen(s) + 2 < room)
			used += (size_t)sprintf(to + used, used ? " %s" : "%s", s);
	}
}

/* Is there a dynamic symbol of this name, defined or undefined? */
static bool has_name(const struct image *m, const char *name)
{
	const Elf64_Phdr *p = segment(m, PT_DYNAMIC);
	const Elf64_Dyn *d = p ? part(m, p->p_offset, p->p_filesz) : NULL;
	uint64_t at = m->size, size = 0;
	const char *all;

	for (size_t i = 0; d && i < p->p_filesz / sizeof(*d) && d[i].d_tag; i++) {
		if (d[i].d_tag == DT_STRTAB)
			at = offset_of(m, d[i].d_un.d_ptr);
		else if (d[i].d_tag == DT_STRSZ)
			size = d[i].d_un.d_val;
	}
	all = part(m, at, size);
	return all && memmem(all, size, name, strlen(name) + 1);
}

static bool has_section(const struct image *m, const char *name)
{
	const Elf64_Ehdr *e = header(m);
	const Elf64_Shdr *s = part(m, e->e_shoff, (uint64_t)e->e_shnum * sizeof(*s));

	for (unsigned i = 0; s && e->e_shstrndx < e->e_shnum && i < e->e_shnum; i++)
		if (!strcmp(text(m, s[e->e_shstrndx].sh_offset + s[i].sh_name), name))
			return true;
	return false;
}

/* NULL: there is no build id in these notes. */
static const Elf64_Nhdr *build_id_note(const struct image *m, const Elf64_Phdr *p)
{
	uint64_t at = p->p_offset;
	const Elf64_Nhdr *h;

	while (at < p->p_offset + p->p_filesz && (h = part(m, at, sizeof(*h) + 4))) {
		uint64_t name = ((uint64_t)h->n_namesz + 3) & ~3ull;

		if (h->n_type == NT_GNU_BUILD_ID && h->n_namesz == 4 &&
		    !memcmp(h + 1, "GNU", 4))
			return part(m, at + sizeof(*h) + 4, h->n_descsz) ? h : NULL;
		at += sizeof(*h) + name + (((uint64_t)h->n_descsz + 3) & ~3ull);
	}
	return NULL;
}

int build_id(const char *path, char *hex, size_t n)
{
	const Elf64_Nhdr *h = NULL;
	const Elf64_Phdr *p;
	struct image m;
	struct stat st;
	int err = image_open(&m, path, &st);

	strcpy(hex, "none");
	p = !err && header(&m) ? segments(&m) : NULL;
	for (unsigned i = 0; p && !h && i < header(&m)->e_phnum; i++)
		if (p[i].p_type == PT_NOTE)
			h = build_id_note(&m, &p[i]);
	for (unsigned i = 0; h && i < h->n_descsz && 2 * i + 2 < n; i++)
		sprintf(hex + 2 * i, "%02x", ((const unsigned char *)(h + 1))[4 + i]);
	image_close(&m);
	return err;
}

const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

const char why_sanitizer[] = "its sanitizer knows only kernel threads";

bool names_sanitizer(const char *libraries)
{
	static const char *const runtimes[] = { "libasan.", "libtsan.", "liblsan.",
						"libhwasan.", "libclang_rt." };

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(*runtimes); i++)
		if (strstr(libraries, runtimes[i]))
			return true;
	return false;
}

static const char *judge_file(const struct image *m, const struct stat *st,
			      const struct image *own, struct verdict *v)
{
	const Elf64_Ehdr *e = header(m), *ours = header(own);

	v->kind = e ? "ELF" : "unknown";
	if (!e)
		return "it is neither an ELF program nor a script";
	if (e->e_ident[EI_CLASS] != ours->e_ident[EI_CLASS])
		return "it is not a 64-bit program";
	if (e->e_ident[EI_DATA] != ours->e_ident[EI_DATA] ||
	    e->e_machine != ours->e_machine)
		return "it is a program for another machine";
	v->kind = e->e_type == ET_DYN ? "ELF, position-independent" : "ELF";
	snprintf(v->loader, sizeof(v->loader), "%s", loader_of(m));
	list_needs(m, v->needs, sizeof(v->needs));
	if (has_section(m, ".go.buildinfo"))
		return "it is a Go program, which makes threads without libc";
	if (!v->loader[0])
		return "it is statically linked";
	if (strcmp(base_name(v->loader), base_name(loader_of(own))) != 0)
		return "its C library is not glibc";
	if (st->st_mode & (S_ISUID | S_ISGID))
		return "it is set-user-ID or set-group-ID";
	if (getxattr(v->program, "security.capability", NULL, 0) > 0)
		return "it has file capabilities";
	if (names_sanitizer(v->needs) || has_name(m, LINKED_SANITIZER))
		return why_sanitizer;
	return NULL;
}

/* ---- scripts ---- */

/* Split the line "#!interpreter argument". Returns the number of words, or 0. */
static int script(const struct image *m, char interpreter[PATH_MAX],
		  char argument[PATH_MAX])
{
	const char *end = m->size ? memchr(m->base, '\n', m->size) : NULL;
	char line[256], *p = line, *word; /* as much as the kernel reads */
	size_t n = end ? (size_t)(end - m->base) : m->size;

	if (n < 3 || n >= sizeof(line) || memcmp(m->base, "#!", 2) != 0)
		return 0;
	memcpy(line, m->base + 2, n - 2);
	line[n - 2] = 0;
	word = strtok_r(p, " \t", &p);
	if (!word)
		return 0;
	strcpy(interpreter, word);
	p += strspn(p, " \t");
	strcpy(argument, p);
	return p[0] ? 2 : 1;
}

bool script_of_env(const char *path, char name[PATH_MAX])
{
	char interpreter[PATH_MAX], argument[PATH_MAX];
	struct image m;
	struct stat st;
	bool is = false;

	if (image_open(&m, path, &st) == 0)
		is = script(&m, interpreter, argument) == 2 &&
		     !strcmp(base_name(interpreter), "env") &&
		     !argument[strcspn(argument, "-= \t")];
	image_close(&m);
	if (is)
		strcpy(name, argument);
	return is;
}

static int judge_deep(const char *path, struct verdict *v, const struct image *own,
		      int deep)
{
	char interpreter[PATH_MAX], argument[PATH_MAX], name[PATH_MAX];
	struct image m;
	struct stat st;
	int err = image_open(&m, path, &st);

	if (err)
		return err;
	snprintf(v->program, sizeof(v->program), "%s", path);
	if (deep && script_of_env(path, name) && !find_program(name, interpreter))
		err = judge_deep(interpreter, v, own, deep - 1);
	else if (deep && script(&m, interpreter, argument))
		err = judge_deep(interpreter, v, own, deep - 1);
	else
		v->why_not = judge_file(&m, &st, own, v);
	image_close(&m);
	return err;
}

int judge(const char *path, struct verdict *v)
{
	struct image own;
	struct stat st;
	int err = image_open(&own, own_file(), &st);

	memset(v, 0, sizeof(*v));
	if (!err && !header(&own))
		err = -ENOEXEC;
	if (!err)
		err = judge_deep(path, v, &own, SCRIPTS_DEEP);
	image_close(&own);
	return err;
}

/* ---- PATH ---- */

static int may_run(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EACCES;
	return access(path, X_OK) < 0 ? -errno : 0;
}

int find_program(const char *name, char path[PATH_MAX])
{
	const char *list = getenv("PATH"), *at, *end;
	int err = -ENOENT;

	if (strchr(name, '/')) {
		snprintf(path, PATH_MAX, "%s", name);
		return may_run(path);
	}
	for (at = list ? list : "/bin:/usr/bin"; *name; at = end + 1) {
		end = strchrnul(at, ':');
		snprintf(path, PATH_MAX, "%.*s%s%s", (int)(end - at), at,
			 end > at ? "/" : "./", name);
		switch (may_run(path)) {
		case 0:
			return 0;
		case -EACCES:
			err = -EACCES;
		}
		if (!*end)
			break;
	}
	return err;
}

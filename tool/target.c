/* SPDX-License-Identifier: Apache-2.0 */
/* target.c - reads the runtime of another process.
 *
 * The target does nothing for it: process_vm_readv(2) copies its memory while it runs.
 * The table of src/debug/layout.h says where everything is. It is found in the target's
 * own memory, by the notes of the files that /proc/PID/maps lists. So nothing depends on
 * files, which may have been replaced.
 *
 * Nothing that was read is trusted: the process may change or be broken. Offsets are
 * compared with sizes, counts have limits, lists end after as many steps as they may
 * have elements, and an address is only ever given to the kernel.
 *
 * Rejected: ptrace(2) (it stops the target), /proc/PID/mem (one call for each piece). */
#include "target_impl.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "out.h"

#define IOVS 1024u /* the kernel's limit for one call */
#define CALL_MOST ((size_t)64 << 20)
#define SPAN_MOST ((size_t)2 << 20)
#define HEADER 4096u
#define NOTES_MOST 65536u

void *must(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "uk: out of memory\n");
	exit(TARGET_REFUSED);
}

void *room(size_t n, size_t size)
{
	return must(calloc(n ? n : 1, size));
}

int target_fails(struct target *t, int status, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	vsnprintf(t->why, sizeof(t->why), format, ap);
	va_end(ap);
	return status;
}

/* ---- the process ---- */

/* The first line of a file that begins with `with`, without its end. */
static bool line_of(const char *path, const char *with, char *buf, size_t n)
{
	FILE *f = fopen(path, "re");
	bool ok;

	do
		ok = f && fgets(buf, (int)n, f);
	while (ok && strncmp(buf, with, strlen(with)) != 0);
	if (f)
		fclose(f);
	if (ok)
		buf[strcspn(buf, "\n")] = 0;
	return ok;
}

static bool proc_line(pid_t pid, const char *name, const char *with, char *buf,
		      size_t n)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return line_of(path, with, buf, n);
}

static bool has_ended(const struct target *t)
{
	struct pollfd p = { t->fd, POLLIN, 0 };
	char line[256];
	const char *state;

	if (t->fd >= 0)
		return poll(&p, 1, 0) > 0;
	if (!proc_line(t->pid, "stat", "", line, sizeof(line)))
		return true;
	state = strrchr(line, ')');
	return !state || state[2] == 'Z' || state[2] == 'X';
}

/* Why its memory cannot be read. */
static int denied(struct target *t)
{
	char line[64], scope[16];
	uid_t me = geteuid(), owner = me;

	if (proc_line(t->pid, "status", "Uid:", line, sizeof(line)))
		owner = (uid_t)strtoul(line + 4, NULL, 10);
	if (me != 0 && owner != me)
		return target_fails(
		    t, TARGET_REFUSED,
		    "permission denied: process %d belongs to user %u; run uk as that "
		    "user or as root",
		    t->pid, owner);
	if (me != 0 &&
	    line_of("/proc/sys/kernel/yama/ptrace_scope", "", scope, sizeof(scope)) &&
	    scope[0] != '0')
		return target_fails(
		    t, TARGET_REFUSED,
		    "permission denied: kernel.yama.ptrace_scope is %s, which forbids to "
		    "read process %d; run uk as root",
		    scope, t->pid);
	return target_fails(
	    t, TARGET_REFUSED,
	    "permission denied: process %d has more rights than uk, or does not let "
	    "itself be read (PR_SET_DUMPABLE); run uk as root, in a container with "
	    "CAP_SYS_PTRACE",
	    t->pid);
}

int target_lost(struct target *t)
{
	if (has_ended(t))
		return target_fails(t, TARGET_LOST, "process %d has ended", t->pid);
	return target_fails(t, TARGET_LOST, "process %d has executed another program",
			    t->pid);
}

/* What errno of a read means. */
static int read_failed(struct target *t, int err)
{
	if (err ==
	    ESRCH) /* it has no memory any more, and ends now if it has not yet */
		return target_fails(t, TARGET_LOST, "process %d has ended", t->pid);
	if (err == EPERM && !has_ended(t))
		return denied(t);
	if (err == EPERM)
		return target_lost(t);
	return target_fails(t, TARGET_REFUSED, "process %d cannot be read: %s", t->pid,
			    strerror(err));
}

/* ---- its memory ---- */

/* The remote side of one call, from s[0] on: as many spans as fit into it, and how many
 * vectors these are. */
static size_t gather(const struct span *s, size_t n, struct iovec *from,
		     struct iovec *to, unsigned *vectors)
{
	size_t bytes = 0, i;
	unsigned k = 0;

	for (i = 0; i < n && bytes < CALL_MOST; i++) {
		struct iovec *f = from + (k ? k - 1 : 0), *l = to + (k ? k - 1 : 0);

		if (k && f->iov_len + s[i].size <= SPAN_MOST &&
		    (uintptr_t)f->iov_base + f->iov_len == s[i].at &&
		    (char *)l->iov_base + l->iov_len == s[i].to) {
			f->iov_len += s[i].size;
			l->iov_len += s[i].size;
		} else if (k == IOVS) {
			break;
		} else {
			from[k] =
			    (struct iovec){ (void *)(uintptr_t)s[i].at, s[i].size };
			to[k++] = (struct iovec){ s[i].to, s[i].size };
		}
		bytes += s[i].size;
	}
	*vectors = k;
	return i;
}

/* The kernel thread that was used may have ended while others live. */
static bool another_thread(struct target *t)
{
	char path[64], line[256];
	const char *state;
	struct dirent *e;
	pid_t found = 0;
	DIR *d;

	snprintf(path, sizeof(path), "/proc/%d/task", t->pid);
	d = opendir(path);
	while (d && !found && (e = readdir(d))) {
		pid_t tid = (pid_t)strtol(e->d_name, NULL, 10);

		if (tid <= 0 || tid == t->tid ||
		    !proc_line(tid, "stat", "", line, sizeof(line)))
			continue;
		state = strrchr(line, ')');
		if (state && state[2] != 'Z' && state[2] != 'X')
			found = tid;
	}
	if (d)
		closedir(d);
	if (found)
		t->tid = found;
	return found;
}

int target_read(struct target *t, struct span *s, size_t n)
{
	struct iovec from[IOVS], to[IOVS];
	unsigned vectors;

	for (size_t i = 0; i < n; i++)
		s[i].ok = false;
	while (n) {
		size_t m = gather(s, n, from, to, &vectors);
		ssize_t r = process_vm_readv(t->tid, to, vectors, from, vectors, 0);

		if (r < 0 && errno == ESRCH && !has_ended(t) && another_thread(t))
			continue;
		if (r < 0 && errno != EFAULT && errno != EINVAL)
			return read_failed(t, errno);
		for (; m && r >= (ssize_t)s->size; m--, n--, s++) {
			r -= (ssize_t)s->size;
			s->ok = true;
		}
		/* the first that could not be read, and those that adjoin: an array */
		if (m)
			for (uint64_t at = s->at; m && s->at == at; m--, n--, s++)
				at += s->size;
	}
	return TARGET_OK;
}

/* Reads one piece; false: it is not there, or *status is set. */
bool target_peek(struct target *t, uint64_t at, void *to, size_t n, int *status)
{
	struct span s = { at, to, n, false };

	if (*status)
		return false;
	*status = target_read(t, &s, 1);
	return !*status && s.ok;
}

/* ---- the table ---- */

uint64_t target_get(const void *from, struct layout_at f)
{
	uint64_t v = 0;

	memcpy(&v, (const char *)from + f.at, f.size < sizeof(v) ? f.size : sizeof(v));
	return v;
}

/* A text in the target's memory; "?" if it cannot be read. */
int target_text(struct target *t, uint64_t at, char to[TARGET_NAME])
{
	size_t most = TARGET_NAME - 1, here = HEADER - at % HEADER;
	struct span s[2];
	size_t n = here < most ? 2 : 1;
	int status;

	here = n == 2 ? here : most;
	s[0] = (struct span){ at, to, here, false };
	s[1] = (struct span){ at + here, to + here, most - here, false };
	memset(to, 0, TARGET_NAME);
	status = at ? target_read(t, s, n) : TARGET_OK;
	if (!at || (!status && !s[0].ok))
		strcpy(to, "?");
	out_clean(to);
	return status;
}

/* The texts that n pointers lead to. */
static int texts(struct target *t, const void *at, size_t n, char (**to)[TARGET_NAME])
{
	uint64_t *pointers = room(n, sizeof(*pointers));
	int status = TARGET_OK;

	*to = room(n, TARGET_NAME);
	target_peek(t, (uintptr_t)at, pointers, n * sizeof(*pointers), &status);
	for (size_t i = 0; i < n && !status; i++)
		status = target_text(t, pointers[i], (*to)[i]);
	free(pointers);
	return status;
}

/* An array of the target's. */
void *target_array(struct target *t, const void *at, size_t n, size_t size, int *status)
{
	void *to = room(n, size);

	if (!target_peek(t, (uintptr_t)at, to, n * size, status) && !*status)
		*status = target_fails(
		    t, TARGET_REFUSED,
		    "process %d: its ukthreads is damaged (an array of the "
		    "table cannot be read)",
		    t->pid);
	return to;
}

static bool fields_fit(const void *fields, size_t bytes, uint32_t size, uint32_t most)
{
	const struct layout_at *f = fields;

	for (size_t i = 0; i < bytes / sizeof(*f); i++)
		if (!f[i].size || f[i].at > size || f[i].size > size - f[i].at)
			return false;
	return size <= most;
}

#define FIT(fields, size, most) fields_fit(&(fields), sizeof(fields), size, most)

/* What is read later stays inside its buffers. */
static bool is_sound(const struct layout *l)
{
	if (!FIT(l->in_slab, l->slab_size, 4096) ||
	    !FIT(l->in_chunk, l->chunk_size, 4096) ||
	    !FIT(l->in_thread, l->thread_size, 4096) ||
	    !FIT(l->in_ext, l->ext_size, 4096) || !FIT(l->in_vp, l->vp_size, 1 << 20) ||
	    !FIT(l->in_set, l->set_size, 1 << 16) ||
	    !FIT(l->in_engine, l->engine_size, 4096) ||
	    !FIT(l->in_carrier, l->carrier_size, 1 << 16))
		return false;
	return l->thread_size >= 64 && l->nstates <= 64 && l->nwaits <= 256 &&
	       l->nsums <= 256 && l->nvalues <= 64 && l->foreign_size <= 4096 &&
	       l->frame_size >= 16 && l->frame_size <= 512 &&
	       l->frame_fp <= l->frame_size - 8 && l->frame_ip <= l->frame_size - 8 &&
	       l->token_shift < 64 && l->least_order < 32;
}

static bool sums_fit(const struct target *t)
{
	const struct layout *l = &t->table;

	for (size_t i = 0; i < l->nsums; i++) {
		const struct layout_sum *s = &t->sums[i];

		if (s->stat > sizeof(uk_stats) - 8 || s->vp > l->vp_size ||
		    l->vp_size - s->vp < 8 || s->stat % 8 ||
		    s->foreign + 7u > l->foreign_size)
			return false;
	}
	for (size_t i = 0; i < l->nvalues; i++)
		if (t->values[i].stat > sizeof(uk_stats) - 8 || t->values[i].stat % 8 ||
		    (t->values[i].size != 4 && t->values[i].size != 8))
			return false;
	return true;
}

/* Reads the table at `at`, with all that it points to. */
static int read_table(struct target *t, uint64_t at)
{
	struct layout *l = &t->table;
	int status = TARGET_OK;

	t->at = at;
	memset(l, 0, sizeof(*l));
	target_peek(t, at, l, sizeof(*l), &status);
	if (status)
		return status;
	if (memcmp(l->magic, LAYOUT_MAGIC, sizeof(l->magic)) != 0 ||
	    l->version != LAYOUT_VERSION || l->size != sizeof(*l) || !is_sound(l))
		return target_fails(
		    t, TARGET_REFUSED,
		    "process %d: its ukthreads is damaged, or was built from "
		    "other sources than this uk (%s)",
		    t->pid, uk_version());
	if ((uintptr_t)l->self != at)
		return target_fails(
		    t, TARGET_REFUSED,
		    "process %d is just being loaded; its runtime has not "
		    "started",
		    t->pid);
	t->holders =
	    target_array(t, l->holders, l->nwaits, sizeof(*t->holders), &status);
	t->sums = target_array(t, l->sums, l->nsums, sizeof(*t->sums), &status);
	t->values = target_array(t, l->values, l->nvalues, sizeof(*t->values), &status);
	if (!status)
		status = target_text(t, (uintptr_t)l->library, t->library);
	if (!status)
		status = texts(t, l->states, l->nstates, &t->states);
	if (!status)
		status = texts(t, l->waits, l->nwaits, &t->waits);
	if (!status && !sums_fit(t))
		status = target_fails(t, TARGET_REFUSED,
				      "process %d: its ukthreads is damaged (counters)",
				      t->pid);
	return status;
}

static void drop_table(struct target *t)
{
	free(t->holders);
	free(t->sums);
	free(t->values);
	free(t->states);
	free(t->waits);
	t->holders = NULL;
	t->sums = NULL;
	t->values = NULL;
	t->states = t->waits = NULL;
}

/* ---- its files ---- */

struct found {
	uint64_t tables[8]; /* of our version */
	unsigned ntables;
	uint32_t other; /* another version that was seen, or 0 */
};

static void look_at_note(const char *name, size_t namesz, uint32_t type,
			 const unsigned char *desc, size_t descsz, uint64_t desc_at,
			 struct image *im, struct found *f)
{
	if (type == LAYOUT_NOTE_TYPE && namesz == sizeof(LAYOUT_NOTE) &&
	    !memcmp(name, LAYOUT_NOTE, namesz) && descsz == 8) {
		uint32_t version;
		int32_t distance;

		memcpy(&version, desc, 4);
		memcpy(&distance, desc + 4, 4);
		if (version != LAYOUT_VERSION)
			f->other = version;
		else if (f->ntables < sizeof(f->tables) / sizeof(f->tables[0]))
			f->tables[f->ntables++] =
			    desc_at + 4 + (uint64_t)(int64_t)distance;
	}
	if (type == NT_GNU_BUILD_ID && namesz == 4 && !memcmp(name, "GNU", 4))
		for (size_t i = 0; i < descsz && 2 * i + 2 < sizeof(im->build_id); i++)
			snprintf(im->build_id + 2 * i, 3, "%02x", desc[i]);
}

static void look_at_notes(const unsigned char *p, size_t n, uint64_t at, size_t align,
			  struct image *im, struct found *f)
{
	Elf64_Nhdr h;
	size_t i = 0;

#define UP(x) (((x) + align - 1) & ~(align - 1))
	while (n - i >= sizeof(h)) {
		size_t name = i + sizeof(h), desc, next;

		memcpy(&h, p + i, sizeof(h));
		desc = UP(name + h.n_namesz);
		next = UP(desc + h.n_descsz);
		if (desc > n || h.n_descsz > n - desc)
			return;
		look_at_note((const char *)p + name, h.n_namesz, h.n_type, p + desc,
			     h.n_descsz, at + desc, im, f);
		if (next > n)
			return;
		i = next;
	}
#undef UP
}

/* `page` is the beginning of a mapped file. */
static int look_at_image(struct target *t, struct image *im, const unsigned char *page,
			 struct found *f)
{
	const Elf64_Phdr *ph;
	Elf64_Ehdr e;
	bool loads = false;
	int status = TARGET_OK;

	memcpy(&e, page, sizeof(e));
	if (memcmp(e.e_ident, ELFMAG, SELFMAG) != 0 ||
	    e.e_ident[EI_CLASS] != ELFCLASS64 || e.e_phentsize != sizeof(*ph) ||
	    e.e_phoff % 8 || e.e_phoff > HEADER ||
	    e.e_phnum > (HEADER - e.e_phoff) / sizeof(*ph))
		return status;
	ph = (const void *)(page + e.e_phoff);
	for (unsigned i = 0; i < e.e_phnum; i++) {
		if (ph[i].p_type != PT_LOAD)
			continue;
		if (!loads)
			im->bias = im->start - (ph[i].p_vaddr - ph[i].p_offset);
		loads = true;
		im->end = im->bias + ph[i].p_vaddr + ph[i].p_memsz;
	}
	for (unsigned i = 0; i < e.e_phnum && loads && !status; i++) {
		size_t n = ph[i].p_filesz < NOTES_MOST ? ph[i].p_filesz : NOTES_MOST;
		uint64_t at = im->bias + ph[i].p_vaddr;
		unsigned char *notes;

		if (ph[i].p_type == PT_GNU_EH_FRAME)
			im->frame_header = at;
		if (ph[i].p_type != PT_NOTE)
			continue;
		notes = room(n, 1);
		if (n && target_peek(t, at, notes, n, &status))
			look_at_notes(notes, n, at, ph[i].p_align == 8 ? 8 : 4, im, f);
		free(notes);
	}
	return status;
}

/* The beginnings of files in /proc/PID/maps. */
static int read_maps(struct target *t)
{
	char path[64], perms[8], *line = NULL;
	size_t size = 0, capacity = 0;
	FILE *f;
	int name;

	snprintf(path, sizeof(path), "/proc/%d/maps", t->tid);
	f = fopen(path, "re");
	if (!f && (errno == EACCES || errno == EPERM))
		return denied(t);
	if (!f)
		return target_lost(t);
	while (getline(&line, &size, f) > 0) {
		uint64_t start, end, offset, inode;

		if (sscanf(line,
			   "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*x:%*x %" SCNu64
			   " %n",
			   &start, &end, perms, &offset, &inode, &name) < 5 ||
		    perms[0] != 'r' || offset || !inode || end - start < HEADER)
			continue;
		if (t->nimages == capacity) {
			capacity = 2 * capacity + 16;
			t->images =
			    must(realloc(t->images, capacity * sizeof(*t->images)));
		}
		line[strcspn(line, "\n")] = 0;
		t->images[t->nimages++] =
		    (struct image){ .start = start,
				    .end = end,
				    .build_id = "none",
				    .path = must(strdup(line + name)) };
	}
	free(line);
	fclose(f);
	return TARGET_OK;
}

static int look_at_images(struct target *t, struct found *f)
{
	unsigned char *pages = room(t->nimages, HEADER);
	struct span *s = room(t->nimages, sizeof(*s));
	int status;

	for (size_t i = 0; i < t->nimages; i++)
		s[i] = (struct span){ t->images[i].start, pages + i * HEADER, HEADER,
				      false };
	status = target_read(t, s, t->nimages);
	for (size_t i = 0; i < t->nimages && !status; i++)
		if (s[i].ok)
			status = look_at_image(t, &t->images[i], pages + i * HEADER, f);
	free(pages);
	free(s);
	return status;
}

uint32_t target_word(struct target *t, const void *at, int *status)
{
	uint32_t v = 0;

	target_peek(t, (uintptr_t)at, &v, sizeof(v), status);
	return v;
}

/* A program that links libukthreads and runs under the drop-in has two tables; one of
 * the runtimes has started. */
static int choose(struct target *t, const struct found *f)
{
	int status = TARGET_REFUSED;

	if (!f->ntables && f->other)
		return target_fails(
		    t, TARGET_REFUSED,
		    "process %d has a ukthreads of another version (layout %u, "
		    "this uk knows %u); use the uk of that version",
		    t->pid, f->other, LAYOUT_VERSION);
	if (!f->ntables)
		return target_fails(
		    t, TARGET_REFUSED,
		    "process %d does not use ukthreads: it neither contains "
		    "libukthreads nor was it started by uk run",
		    t->pid);
	for (unsigned i = 0; i < f->ntables; i++) {
		drop_table(t);
		status = read_table(t, f->tables[i]);
		if (!status && target_word(t, t->table.vp_count, &status))
			return status;
		if (status == TARGET_LOST)
			return status;
	}
	return status ? status
		      : target_fails(
			    t, TARGET_REFUSED,
			    "process %d has not started its runtime: it has made no "
			    "user thread yet",
			    t->pid);
}

int target_open(struct target *t, pid_t pid)
{
	struct found f = { 0 };
	char line[256], ids[64];
	const char *state;
	int status;

	*t = (struct target){ .pid = pid, .tid = pid };
	t->fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (!proc_line(pid, "stat", "", line, sizeof(line)))
		return target_fails(t, TARGET_REFUSED, "there is no process %d", pid);
	if (proc_line(pid, "status", "Tgid:", ids, sizeof(ids)) &&
	    strtol(ids + 5, NULL, 10) != pid)
		return target_fails(t, TARGET_REFUSED,
				    "%d is a thread of process %ld, not a process", pid,
				    strtol(ids + 5, NULL, 10));
	state = strrchr(line, ')');
	if (has_ended(t))
		return target_fails(t, TARGET_REFUSED, "process %d has ended", pid);
	if (state && state[2] == 'Z')
		another_thread(t);
	proc_line(pid, "comm", "", t->command, sizeof(t->command));
	out_clean(t->command);
	status = read_maps(t);
	if (!status)
		status = look_at_images(t, &f);
	if (!status)
		status = choose(t, &f);
	if (!status && target_word(t, t->table.gate, &status) == t->table.gate_child)
		return target_fails(
		    t, TARGET_REFUSED,
		    "process %d is a forked child that has not called ukthreads "
		    "yet, so none of its threads runs",
		    pid);
	return status;
}

void target_close(struct target *t)
{
	drop_table(t);
	for (size_t i = 0; i < t->nimages; i++)
		free(t->images[i].path);
	free(t->images);
	if (t->fd >= 0)
		close(t->fd);
}

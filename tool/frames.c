/* SPDX-License-Identifier: Apache-2.0 */
/* frames.c - unwinds a stack in another process with libunwind's remote interface.
 *
 * The part of the stack in use is copied first. If the thread still waits as before,
 * the copy is of one moment. The call-frame information is read from the target's own
 * memory, through the program headers there, so it is that of the code that runs, even
 * if the file was replaced. The registers come from the context that the switch saved
 * (src/arch/arch.h).
 *
 * libunwind searches the table in .eh_frame_hdr if it is told where that is
 * (dwarf_search_unwind_table; perf uses it in the same way). Rejected: libdw, which
 * opens the files by name, for one more library; libunwind-ptrace, which does, too. */
#include "frames.h"

#include <stdlib.h>
#include <string.h>

#ifdef UK_HAVE_REMOTE_UNWIND
#include <libunwind.h>

#define STACK_MOST ((size_t)4 << 20)
#define HEADER_SIZE 12
#define USUAL_ENCODINGS "\x01\x1b\x03\x3b" /* version 1; pcrel, udata4, datarel table */

/* Exported, but declared in an internal header. */
int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t as, unw_word_t ip,
				       unw_dyn_info_t *di, unw_proc_info_t *pi,
				       int need_unwind_info, void *arg);

struct walk {
	struct target *t;
	uint64_t sp, size; /* the copy of the stack */
	char *stack;
	uint64_t ip, fp, at; /* registers; at: the stack pointer */
	bool lost;
};

const char *frames_missing(void)
{
	return NULL;
}

static bool fetch(struct walk *w, uint64_t at, void *to, size_t n)
{
	struct span s = { at, to, n, false };

	if (at >= w->sp && at - w->sp < w->size && n <= w->size - (at - w->sp)) {
		memcpy(to, w->stack + (at - w->sp), n);
		return true;
	}
	if (target_read(w->t, &s, 1)) {
		w->lost = true;
		return false;
	}
	return s.ok;
}

static int access_mem(unw_addr_space_t as, unw_word_t at, unw_word_t *v, int writes,
		      void *arg)
{
	(void)as;
	return !writes && fetch(arg, at, v, sizeof(*v)) ? 0 : -UNW_EINVAL;
}

static int access_reg(unw_addr_space_t as, unw_regnum_t reg, unw_word_t *v, int writes,
		      void *arg)
{
	const struct walk *w = arg;

	(void)as;
	if (writes)
		return -UNW_EREADONLYREG;
#if defined(__x86_64__)
	*v = reg == UNW_X86_64_RIP   ? w->ip
	     : reg == UNW_X86_64_RSP ? w->at
	     : reg == UNW_X86_64_RBP ? w->fp
				     : 0;
#else
	*v = reg == UNW_AARCH64_PC || reg == UNW_AARCH64_X30 ? w->ip
	     : reg == UNW_AARCH64_SP                         ? w->at
	     : reg == UNW_AARCH64_X29                        ? w->fp
							     : 0;
#endif
	return 0;
}

static int find_proc_info(unw_addr_space_t as, unw_word_t ip, unw_proc_info_t *pi,
			  int need, void *arg)
{
	struct walk *w = arg;
	unw_dyn_info_t di = { .format = UNW_INFO_FORMAT_REMOTE_TABLE };
	unsigned char header[HEADER_SIZE];
	uint32_t count;

	for (size_t i = 0; i < w->t->nimages; i++) {
		const struct image *im = &w->t->images[i];

		if (ip < im->start || ip >= im->end || !im->frame_header)
			continue;
		if (!fetch(w, im->frame_header, header, sizeof(header)) ||
		    memcmp(header, USUAL_ENCODINGS, 4) != 0)
			return -UNW_ENOINFO;
		memcpy(&count, header + 8, sizeof(count));
		di.start_ip = im->start;
		di.end_ip = im->end;
		di.u.rti.segbase = im->frame_header;
		di.u.rti.table_data = im->frame_header + HEADER_SIZE;
		di.u.rti.table_len = (uint64_t)count * 8 / sizeof(unw_word_t);
		return UNW_OBJ(dwarf_search_unwind_table)(as, ip, &di, pi, need, arg);
	}
	return -UNW_ENOINFO;
}

static void put_unwind_info(unw_addr_space_t as, unw_proc_info_t *pi, void *arg)
{
	(void)as, (void)pi, (void)arg;
}

static int no_list(unw_addr_space_t as, unw_word_t *at, void *arg)
{
	(void)as, (void)at, (void)arg;
	return -UNW_ENOINFO;
}

static int no_fpreg(unw_addr_space_t as, unw_regnum_t reg, unw_fpreg_t *v, int writes,
		    void *arg)
{
	(void)as, (void)reg, (void)v, (void)writes, (void)arg;
	return -UNW_EBADREG;
}

static int no_resume(unw_addr_space_t as, unw_cursor_t *c, void *arg)
{
	(void)as, (void)c, (void)arg;
	return -UNW_EINVAL;
}

static int no_name(unw_addr_space_t as, unw_word_t at, char *buf, size_t n,
		   unw_word_t *off, void *arg)
{
	(void)as, (void)at, (void)buf, (void)n, (void)off, (void)arg;
	return -UNW_ENOINFO;
}

static unw_addr_space_t space(void)
{
	static unw_addr_space_t as;
	static unw_accessors_t calls = {
		.find_proc_info = find_proc_info,
		.put_unwind_info = put_unwind_info,
		.get_dyn_info_list_addr = no_list,
		.access_mem = access_mem,
		.access_reg = access_reg,
		.access_fpreg = no_fpreg,
		.resume = no_resume,
		.get_proc_name = no_name,
	};

	if (!as) {
		as = unw_create_addr_space(&calls, 0);
		if (as)
			unw_set_caching_policy(as, UNW_CACHE_GLOBAL);
	}
	return as;
}

static int walk(struct walk *w, uint64_t ip[FRAMES_MOST], bool *more)
{
	unw_addr_space_t as = space();
	unw_cursor_t c;
	unw_word_t v;
	int n = 0;

	if (!as || unw_init_remote(&c, as, w))
		return 0;
	do {
		if (unw_get_reg(&c, UNW_REG_IP, &v) || !v)
			break;
		if (n == FRAMES_MOST) {
			*more = true;
			break;
		}
		ip[n++] = v;
	} while (unw_step(&c) > 0);
	return n;
}

int frames_of(struct target *t, const struct seen_thread *s, uint64_t ip[FRAMES_MOST],
	      bool *more)
{
	const struct layout *l = &t->table;
	struct walk w = { .t = t, .sp = s->sp, .size = s->top - s->sp };
	struct span copy;
	int n = 0;

	*more = false;
	w.size = w.size < STACK_MOST ? w.size : STACK_MOST;
	if (s->kernel || !s->sp || w.size < l->frame_size)
		return 0;
	w.stack = malloc(w.size);
	if (!w.stack)
		return 0;
	copy = (struct span){ w.sp, w.stack, w.size, false };
	if (target_read(t, &copy, 1))
		n = -1;
	if (!n && copy.ok && target_unchanged(t, s)) {
		memcpy(&w.ip, w.stack + l->frame_ip, sizeof(w.ip));
		memcpy(&w.fp, w.stack + l->frame_fp, sizeof(w.fp));
		w.at = w.sp + l->frame_size;
		n = walk(&w, ip, more);
	}
	free(w.stack);
	return w.lost ? -1 : n;
}
#else
const char *frames_missing(void)
{
	return "this uk was built without libunwind's remote interface "
	       "(libunwind-generic; package libunwind-dev)";
}

int frames_of(struct target *t, const struct seen_thread *s, uint64_t ip[FRAMES_MOST],
	      bool *more)
{
	(void)t, (void)s, (void)ip;
	*more = false;
	return 0;
}
#endif

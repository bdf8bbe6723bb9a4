/* SPDX-License-Identifier: Apache-2.0 */
/* A target of top.py whose runtime is damaged. For each line, a seed, it forks a child
 * behind the library's back: a process with the same memory, and no kernel thread that
 * would trip over it. The child overwrites words of the table and of what it leads to,
 * once (even seeds) or for ever (odd ones). This prints the child's id when the first
 * words are overwritten. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../test.h"
#include "debug/layout.h"
#include "mem/slab_impl.h"
#include "sched/vp.h"
#include "uk/uk.h"

#define THREADS 300
#define REGIONS 64

static struct region {
	char *at;
	size_t size;
} regions[REGIONS];
static unsigned nregions;
static uint64_t seed;
static uk_sem sem = UK_SEM_INIT(0);

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void region(const void *at, size_t size)
{
	if (nregions < REGIONS)
		regions[nregions++] = (struct region){ (char *)(uintptr_t)at, size };
}

static void find_regions(void)
{
	uintptr_t table = (uintptr_t)&uk_layout, page = table & ~(PAGE - 1);

	CHECK_EQ(mprotect((void *)page, table + sizeof(uk_layout) - page,
			  PROT_READ | PROT_WRITE),
		 0);
	region(&uk_layout, sizeof(uk_layout));
	region(&thread_slab, sizeof(thread_slab));
	region(vp_all, 2 * sizeof(vp_all[0]));
	region(&vp_count_all, sizeof(uint64_t));
	region(&carriers_all, sizeof(carriers_all));
	for (struct slab_chunk *k = thread_slab.chunks; k; k = k->next) {
		region(k, sizeof(*k));
		region(k->objs, k->used);
	}
	for (uint32_t i = 0; i < vp_count_all; i++)
		region(vp_all[i], sizeof(*vp_all[i]));
	for (struct carrier *c = carriers_all; c; c = c->next_all)
		region(c, sizeof(*c));
}

static uint64_t value(void)
{
	const struct region *r = &regions[next() % nregions];

	switch (next() % 6) {
	case 0:
		return 0;
	case 1:
		return UINT64_MAX;
	case 2:
		return next() % 4096;
	case 3:
		return (uintptr_t)r->at + next() % r->size;
	case 4:
		return next() % ((uint64_t)1 << 48);
	default:
		return next();
	}
}

/* Two of three seeds leave the table as it is, so that more of the rest is reached. */
static void overwrite(bool table)
{
	const struct region *r =
	    &regions[table ? next() % nregions : 1 + next() % (nregions - 1)];
	uint64_t v = value();
	size_t off = next() % r->size & ~(size_t)7;

	memcpy(r->at + off, &v, r->size - off < 8 ? r->size - off : 8);
}

static void child(int ready)
{
	bool for_ever = seed & 1, table = seed % 3 == 0;
	unsigned n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	seed = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	n = 1 + (unsigned)(next() % 12);
	for (unsigned i = 0; i < n; i++)
		overwrite(table);
	syscall(SYS_write, ready, "", 1);
	while (for_ever)
		overwrite(table);
	for (;;)
		syscall(SYS_pause);
}

static void *waits(void *arg)
{
	uk_sem_wait(&sem);
	return arg;
}

static int parked(const uk_thread_info *i, void *n)
{
	*(int *)n += !strcmp(i->state, "parked");
	return 0;
}

static int count_parked(void)
{
	int n = 0;

	uk_thread_each(parked, &n, sizeof(uk_thread_info));
	return n;
}

int main(void)
{
	char line[64], c;
	int ready[2];

	signal(SIGCHLD, SIG_IGN);
	CHECK_EQ(pipe(ready), 0);
	for (int i = 0; i < THREADS; i++) {
		uk_thread_attr a = UK_THREAD_ATTR_INIT;
		uk_thread *t;

		a.name = "waiter";
		CHECK_EQ(uk_thread_create(&t, &a, waits, NULL), 0);
	}
	UNTIL(count_parked() == THREADS);
	find_regions();
	puts("ready");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		long pid;

		seed = strtoull(line, NULL, 10);
		pid = syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
		if (!pid)
			child(ready[1]);
		CHECK(pid > 0);
		CHECK_EQ(read(ready[0], &c, 1), 1);
		printf("%ld\n", pid);
		fflush(stdout);
	}
	return 0;
}

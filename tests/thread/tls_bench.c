/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what thread blocks, stacks and objects cost, in ns per operation, best of
 * five. */
#include <stdio.h>
#include <stdlib.h>

#include "base/sys.h"
#include "mem/slab.h"
#include "mem/stack.h"
#include "thread/tls.h"

#define N 1000000
#define NEW 20000

static struct tls_cache tls;
static struct stack_cache stacks;
static char stack[8192];

static void recycle_block(void)
{
	tls_put(&tls, tls_get(&tls, stack, sizeof(stack)));
}

static void recycle_block_of_pool(void)
{
	tls_put(NULL, tls_get(NULL, stack, sizeof(stack)));
}

static void recycle_stack(void)
{

	stack_put(&stacks, stack_get(&stacks, 18), 18);
}

static struct slab objects;
static struct slab_cache cache;

static void recycle_object(void)
{
	slab_put(&objects, &cache, slab_get(&objects, &cache));
}

static void measure(const char *what, void (*fn)(void))
{
	double best = 1e9;

	for (int round = 0; round < 5; round++) {
		int64_t t = sys_now();

		for (int i = 0; i < N; i++)
			fn();
		t = sys_now() - t;
		best = (double)t / N < best ? (double)t / N : best;
	}
	printf("%-28s %8.1f ns\n", what, best);
}

static void measure_cold(void)
{
	int64_t t = sys_now();
	char **s = calloc(NEW, sizeof(*s));

	for (int i = 0; i < NEW; i++)
		if (!tls_get(&tls, stack, sizeof(stack)))
			abort();
	printf("%-28s %8.1f ns\n", "new block", (double)(sys_now() - t) / NEW);
	t = sys_now();
	for (int i = 0; i < NEW; i++)
		s[i] = stack_get(&stacks, 18);
	printf("%-28s %8.1f ns\n", "new stack, not touched",
	       (double)(sys_now() - t) / NEW);
	t = sys_now();
	for (int i = 0; i < NEW; i++)
		s[i][(1 << 18) - 100] = 1;
	printf("%-28s %8.1f ns\n", "its first page", (double)(sys_now() - t) / NEW);
	free(s);
}

int main(void)
{
	int64_t t = sys_now();

	if (tls_init() || tls_method()[0] == 'n')
		return 77;
	printf("method %s, start-up %.0f us, guard %s\n", tls_method(),
	       (double)(sys_now() - t) / 1e3, stack_guard_kind());
	stack_cache_init(&stacks);
	slab_init(&objects, 256);
	measure("block, own cache", recycle_block);
	measure("block, shared pool", recycle_block_of_pool);
	measure("stack, own cache", recycle_stack);
	measure("object, own cache", recycle_object);
	measure_cold();
	return 0;
}

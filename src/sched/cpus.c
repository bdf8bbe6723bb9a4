/* SPDX-License-Identifier: Apache-2.0 */
/* cpus.c - which CPUs the process may use, and how many vps a set has by default.
 *
 * The kernel supports more CPUs (8192) than a cpu_set_t names (1024), and refuses to
 * answer into a mask that is too small. So we ask for as many as there may be. The
 * program's masks are cpu_set_t and name the first 1024, so binding is limited to
 * these.
 *
 * The mask is read once, and for the process instead of the caller, because a carrier
 * may be bound. UK_DEBUG=cpus=N is for tests, which have no such machine: the library
 * behaves as if the first N CPUs were allowed, and as if control groups set no limit.
 */
#include "base/cgroup.h"
#include "base/log.h"
#include "base/sys.h"
#include "sched/vp.h"

struct cpus process_cpus;

static void pretend(struct cpus *c, unsigned n)
{
	*c = (struct cpus){ .n = n };
	for (unsigned i = 0; i < n; i++)
		c->bits[i / 64] |= (uint64_t)1 << i % 64;
}

static unsigned pretended(void)
{
	return MIN((unsigned)env_key_number(ENV_CPUS, 0), CPUS_MOST);
}

static void ask(struct cpus *c)
{
	unsigned fake = pretended();

	*c = (struct cpus){ 0 };
	if (fake) {
		pretend(c, fake);
		return;
	}
	sys3(SYS_sched_getaffinity, sys0(SYS_getpid), sizeof(c->bits), c->bits);
	c->n = (unsigned)CPU_COUNT_S(sizeof(c->bits), (cpu_set_t *)(void *)c->bits);
}

const struct cpus *cpus_allowed(struct cpus *room)
{
	if (load_acquire(&process_cpus.n))
		return &process_cpus;
	ask(room);
	return room;
}

void cpus_learn(void)
{
	struct cpus c;

	if (process_cpus.n)
		return;
	ask(&c);
	for (unsigned i = 0; i < array_size(c.bits); i++)
		process_cpus.bits[i] = c.bits[i];
	/* release: a thread that sees n sees the bits */
	store_release(&process_cpus.n, c.n);
}

void cpus_named(const struct cpus *c, cpu_set_t *set)
{
	CPU_ZERO(set);
	for (unsigned i = 0; i < CPU_SETSIZE; i++)
		if (c->bits[i / 64] >> i % 64 & 1)
			CPU_SET(i, set);
}

int64_t cpus_quota(void)
{
	return pretended() ? -1 : cgroup_cpus(CGROUP_ROOT, CGROUP_SELF);
}

/* As many as the process may use at the same time: more would only be throttled. */
unsigned cpus_vps(unsigned cpus)
{
	int64_t milli = cpus_quota();
	unsigned n = MIN(MAX(cpus, 1u), SET_MOST);

	return milli < 0 ? n : (unsigned)MAX(MIN((milli + 999) / 1000, (int64_t)n), 1);
}

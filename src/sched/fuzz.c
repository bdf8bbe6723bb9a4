/* SPDX-License-Identifier: Apache-2.0 */
/* fuzz.c - the random numbers of the schedule fuzzer: one shared counter hashed with
 * the seed. On several vps the order in which carriers draw is not reproducible; on one
 * vp a seed replays the run. */
#include "sched/fuzz.h"

#if UK_CHECKS
#include "base/env.h"
#include "base/log.h"
#include "base/sys.h"

bool fuzz_on;
static uint64_t seed, draws;

void fuzz_init(void)
{
	if (fuzz_on) /* a second start */
		return;
	fuzz_on = UK_HOSTILE || env_key_number(ENV_FUZZ, 0);
	if (!fuzz_on)
		return;
	seed = env_key_number(ENV_SEED, (uint64_t)sys_now());
	uk_warn("schedule fuzzer on, UK_DEBUG=fuzz,seed=%lu", (unsigned long)seed);
}

uint32_t fuzz_rand(void)
{
	uint64_t x = seed + fetch_add_relaxed(&draws, 1) * 0x9e3779b97f4a7c15u;

	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return (uint32_t)(x >> 33);
}

void fuzz_pause(void)
{
	struct timespec ts = { 0, fuzz_rand() % 32 * NS_PER_US };

	if (UK_HOSTILE && fuzz_once_in(8))
		sys2(SYS_nanosleep, &ts, NULL);
}
#endif

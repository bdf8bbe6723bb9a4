/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that a crowd of threads leaves behind is freed some time after its end:
 * thread blocks, with what libc allocated for them, and descriptors. A new thread in
 * the same place is not mistaken for an earlier one. (Stacks: trim.c.) */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uk/uk.h>

#include "lifecycle/keeper.h"
#include "sched/vp.h"
#include "test.h"
#include "thread/tls.h"
#include "thread/tls_block.h"

enum {
	SLOW = UK_CHECKS || SANITIZED,
	FULL = SLOW ? 2000 : 20000,
	LIGHT = SLOW ? 20000 : 200000,
	FEW = SLOW ? 100 : 500,
	KEYS = 40,
	SLACK = 200 << 10,
	WAVES = 8,
	WAVE = SLOW ? 300 : 1000,
	NOTED = WAVES * WAVE * 4
};

static uk_sem go = UK_SEM_INIT(0), never = UK_SEM_INIT(0);
static uint32_t waits, over;
static pthread_key_t key[KEYS];

static bool gives_blocks_back(void)
{
	return !SANITIZED && !strcmp(tls_method(), "template");
}

static size_t resident_kb(void)
{
	char line[128];
	size_t kb = 0;
	FILE *f = fopen("/proc/self/smaps_rollup", "r");

	CHECK(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "Rss:", 4))
			kb = strtoul(line + 4, NULL, 10);
	fclose(f);
	return kb;
}

/* ---- thread blocks ---- */

/* Makes libc allocate for the thread block: malloc's cache, strerror's buffer, an array
 * of keys. */
static void uses_libc(void)
{
	char *p = malloc(100);

	CHECK(p);
	memset(p, 1, 100);
	free(p);
	CHECK(strerror(12345)[0]);
	CHECK_EQ(pthread_setspecific(key[KEYS - 1], key), 0);
}

static void *uses_libc_and_waits(void *arg)
{
	uses_libc();
	__atomic_add_fetch(&waits, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_sem_wait(&go), 0);
	/* a light thread has its carrier's value, and may have changed the carrier
	 * (sanitizer builds make light threads only) */
	CHECK(!uk_thread_self()->tp || pthread_getspecific(key[KEYS - 1]) == key);
	return arg;
}

static void a_crowd_comes_and_goes(unsigned n)
{
	uk_thread **t = calloc(n, sizeof(uk_thread *));

	CHECK(t);
	waits = 0;
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, uses_libc_and_waits, t), 0);
	UNTIL(__atomic_load_n(&waits, __ATOMIC_SEQ_CST) == n);
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(uk_sem_post(&go), 0);
	for (unsigned i = 0; i < n; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	free(t);
}

static void thread_blocks_are_freed_after_a_mass_exit(void)
{
	size_t pages = FULL * tls_blocks.size / 4096, in_use = mallinfo2().uordblks;
	size_t before = resident_kb();

	for (unsigned n = FULL; n >= FULL / 10; n /= 10) {
		uint64_t buried = load_relaxed(&tls_buried);

		a_crowd_comes_and_goes(n);
		UNTIL(load_relaxed(&tls_buried) >= buried + n * 9 / 10);
		UNTIL(load_relaxed(&tls_blocks.ngone) >= pages * 9 / 10);
		/* the vps' caches are freed, too; each thread leaves less than
		 * strerror's buffer */
		UNTIL(load_relaxed(&tls_buried) >= buried + n);
		UNTIL(mallinfo2().uordblks < in_use + FULL * 8 + SLACK);
	}
	/* with its stack, each would leave 8 KB more; malloc keeps 2 KB of each */
	UNTIL(resident_kb() < before + FULL * 4 + SLACK / 1024);
}

/* setgid walks libc's list of threads, while thread blocks are taken from it. */
static void libcs_list_of_threads_can_be_walked_while_blocks_are_freed(void)
{
	uint64_t buried = load_relaxed(&tls_buried);

	a_crowd_comes_and_goes(FEW);
	while (load_relaxed(&tls_buried) < buried + FEW / 2)
		CHECK_EQ(setgid(getgid()), 0);
}

/* ---- descriptors ---- */

static void *ends(void *arg)
{
	return arg;
}

static void *makes_and_joins(void *arg)
{
	uk_thread **t = calloc(LIGHT, sizeof(uk_thread *));
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	void *ret;

	CHECK(t);
	a.flags = UK_THREAD_LIGHT;
	for (uintptr_t i = 0; i < LIGHT; i++)
		CHECK_EQ(uk_thread_create(&t[i], &a, ends, (void *)i), 0);
	for (uintptr_t i = 0; i < LIGHT; i++) {
		CHECK_EQ(uk_thread_join(t[i], &ret), 0);
		CHECK_EQ((uintptr_t)ret, i);
	}
	free(t);
	return arg;
}

/* A thread that survives among them keeps only its own page. */
static void descriptors_are_freed_after_a_mass_exit(void)
{
	size_t pages = LIGHT * thread_slab.size / 4096;
	uk_thread *t, *survivor = NULL;

	for (int i = 0; i < 2; i++) {
		CHECK_EQ(uk_thread_create(&t, NULL, makes_and_joins, NULL), 0);
		CHECK_EQ(uk_thread_join(t, NULL), 0);
		if (!survivor)
			CHECK_EQ(uk_thread_create(&survivor, NULL, uses_libc_and_waits,
						  NULL),
				 0);
		UNTIL(load_relaxed(&thread_slab.ngone) >= pages * 9 / 10);
	}
	CHECK_EQ(uk_sem_post(&go), 0);
	CHECK_EQ(uk_thread_join(survivor, NULL), 0);
}

/* ---- old tokens ---- */

/* A wait that is over. An entry does not change once it is counted. */
static struct {
	uk_thread *t;
	uint64_t token;
} noted[NOTED];
static uint32_t notes, notes_ready;

static void note_wait(void)
{
	uk_thread *t = uk_thread_self();
	uint32_t i = __atomic_fetch_add(&notes, 1, __ATOMIC_SEQ_CST);

	CHECK(i < NOTED);
	noted[i].t = t;
	noted[i].token = W_TOKEN(load_relaxed(&t->wait));
}

static void *waits_and_notes(void *arg)
{
	CHECK_EQ(uk_sleep(1), 0);
	note_wait();
	return arg;
}

static void *parks(void *arg)
{
	__atomic_add_fetch(&waits, 1, __ATOMIC_SEQ_CST);
	CHECK_EQ(uk_sem_wait(&go), 0);
	return arg;
}

static uint64_t word_of(unsigned i)
{
	return load_relaxed(&noted[i].t->wait);
}

/* The new threads are in their first wait, as the ended ones were. A waker may still
 * have a token of that wait. */
static void an_old_token_does_not_wake_a_new_thread_in_the_same_place(void)
{
	static uk_thread *t[WAVE];
	unsigned zero, again = 0;

	notes = waits = 0;
	for (int i = 0; i < WAVE; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, waits_and_notes, NULL), 0);
	for (int i = 0; i < WAVE; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	do {
		zero = 0;
		uk_sleep(UK_MS);
		for (unsigned i = 0; i < WAVE; i++)
			zero += !word_of(i);
	} while (zero < WAVE / 2);
	for (unsigned i = 0; i < WAVE; i++) /* no thread is there to join or cancel */
		if (!word_of(i)) {
			CHECK_EQ(uk_thread_join(noted[i].t, NULL), -EINVAL);
			CHECK_EQ(uk_thread_detach(noted[i].t), -EINVAL);
			CHECK_EQ(uk_thread_cancel(noted[i].t), -ESRCH);
		}
	for (int i = 0; i < WAVE; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, parks, NULL), 0);
	UNTIL(__atomic_load_n(&waits, __ATOMIC_SEQ_CST) == WAVE);
	for (unsigned i = 0; i < WAVE; i++) {
		again += W_STATE(word_of(i)) == W_PARKED;
		CHECK(W_STATE(word_of(i)) == W_IDLE ||
		      W_TOKEN(word_of(i)) > noted[i].token);
		CHECK(!wait_fire(noted[i].t, noted[i].token, WAKE_CANCEL));
	}
	CHECK(again);
	for (int i = 0; i < WAVE; i++)
		CHECK_EQ(uk_sem_post(&go), 0);
	for (int i = 0; i < WAVE; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
}

static void *fires_old_tokens(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;

	while (!__atomic_load_n(&over, __ATOMIC_SEQ_CST)) {
		uint32_t n = __atomic_load_n(&notes_ready, __ATOMIC_ACQUIRE), i;

		if (!n || !(rand_r(&seed) & 63))
			sched_yield();
		if (!n)
			continue;
		i = (uint32_t)rand_r(&seed) % n;
		CHECK(!wait_fire(noted[i].t, noted[i].token, WAKE_CANCEL));
	}
	return arg;
}

static void *waits_for(void *sem)
{
	CHECK_EQ(uk_sem_wait(sem), 0);
	return sem;
}

/* Each wait ends as it should, and not because of another thread. */
static void *lives(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	uk_sem own = UK_SEM_INIT(0);
	uk_thread *child;

	CHECK_EQ(uk_sleep((int64_t)(rand_r(&seed) % 100) * 1000), 0);
	note_wait();
	CHECK_EQ(uk_sem_wait_until(&never, uk_after(rand_r(&seed) % 100 * 1000)),
		 -ETIMEDOUT);
	note_wait();
	CHECK_EQ(uk_thread_create(&child, NULL, waits_for, &own), 0);
	CHECK_EQ(uk_thread_join_until(child, NULL, uk_after(1000)), -ETIMEDOUT);
	note_wait();
	CHECK_EQ(uk_sem_post(&own), 0);
	CHECK_EQ(uk_thread_join(child, NULL), 0);
	return arg;
}

static void *lives_until_cancelled(void *arg)
{
	int r;

	while (!(r = uk_sleep(UK_SEC)))
		;
	CHECK_EQ(r, -ECANCELED);
	note_wait();
	return arg;
}

static void a_wave(unsigned seed)
{
	static uk_thread *t[WAVE];
	/* so many were alive at once in the first test */
	size_t pages = WAVE * thread_slab.size / 4096;

	for (unsigned i = 0; i < WAVE; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL,
					  i % 5 ? lives : lives_until_cancelled,
					  (void *)(uintptr_t)(seed * WAVE + i)),
			 0);
	for (unsigned i = 0; i < WAVE; i += 5)
		CHECK_EQ(uk_thread_cancel(t[i]), 0);
	for (unsigned i = 0; i < WAVE; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	__atomic_store_n(&notes_ready, notes, __ATOMIC_RELEASE);
	if (seed % 2) /* the next wave begins in the middle of it */
		return;
	/* not compared with an earlier value: all may already be gone */
	UNTIL(load_relaxed(&thread_slab.ngone) >= pages / 2);
}

static void old_tokens_wake_no_thread(void)
{
	pthread_t killer[2];

	notes = 0;
	for (uintptr_t i = 0; i < 2; i++)
		CHECK_EQ(pthread_create(&killer[i], NULL, fires_old_tokens, (void *)i),
			 0);
	for (unsigned i = 0; i < WAVES; i++)
		a_wave(i);
	__atomic_store_n(&over, 1, __ATOMIC_SEQ_CST);
	for (int i = 0; i < 2; i++)
		CHECK_EQ(pthread_join(killer[i], NULL), 0);
}

/* No vp switches any more: the joining thread is a kernel thread, and the keeper's last
 * round found nothing. */
static void descriptors_joined_while_all_vps_sleep_are_freed(void)
{
	static uk_thread *t[WAVE];
	size_t pages = WAVE * thread_slab.size / 4096, gone;
	uint64_t rounds;

	for (int i = 0; i < WAVE; i++)
		CHECK_EQ(uk_thread_create(&t[i], NULL, ends, NULL), 0);
	do { /* until the keeper does nothing */
		rounds = load_relaxed(&keeper_portions);
		uk_sleep(50 * UK_MS);
	} while (load_relaxed(&keeper_portions) != rounds);
	gone = load_relaxed(&thread_slab.ngone);
	for (int i = 0; i < WAVE; i++)
		CHECK_EQ(uk_thread_join(t[i], NULL), 0);
	UNTIL(load_relaxed(&thread_slab.ngone) >= gone + pages / 2);
}

/* ---- fork ---- */

static void child_goes_on(void)
{
	uint64_t buried = load_relaxed(&tls_buried);

	/* with blocks of the parent, which are fewer, and with its own */
	a_crowd_comes_and_goes(2 * FEW);
	if (gives_blocks_back())
		UNTIL(load_relaxed(&tls_buried) >= buried + 2 * FEW * 9 / 10);
	_exit(0);
}

static void a_fork_while_memory_is_freed_leaves_a_working_child(void)
{
	for (int i = 0; i < 6; i++) {
		uint64_t at = load_relaxed(&keeper_portions) + (unsigned)i * 3;
		int status;
		pid_t pid;

		a_crowd_comes_and_goes(FEW);
		UNTIL(load_relaxed(&keeper_portions) > at);
		pid = fork();
		CHECK(pid >= 0);
		if (!pid)
			child_goes_on();
		CHECK_EQ(waitpid(pid, &status, 0), pid);
		CHECK_EQ(status, 0);
	}
	a_crowd_comes_and_goes(FEW);
}

int main(void)
{
	set_debug("trim", "1");
	for (int i = 0; i < KEYS; i++)
		CHECK_EQ(pthread_key_create(&key[i], NULL), 0);
	CHECK(uk_vpset_default());
	RUN(an_old_token_does_not_wake_a_new_thread_in_the_same_place);
	RUN(old_tokens_wake_no_thread);
	RUN(descriptors_are_freed_after_a_mass_exit);
	RUN(descriptors_joined_while_all_vps_sleep_are_freed);
	if (gives_blocks_back()) {
		RUN(thread_blocks_are_freed_after_a_mass_exit);
		RUN(libcs_list_of_threads_can_be_walked_while_blocks_are_freed);
	}
	if (!SANITIZED)
		RUN(a_fork_while_memory_is_freed_leaves_a_working_child);
	return 0;
}

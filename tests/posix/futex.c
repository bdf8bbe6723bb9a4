/* SPDX-License-Identifier: Apache-2.0 */
/* syscall(SYS_futex, ...), as programs use it for locks of their own. */
#include <linux/futex.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "posix.h"

#define THREADS 10
#define ROUNDS 3000

static int flags = FUTEX_PRIVATE_FLAG;

#define TRY(...)                                                                       \
	do {                                                                           \
		long r_ = syscall(SYS_futex, __VA_ARGS__);                             \
                                                                                       \
		printf("%s: %ld %d\n", #__VA_ARGS__, r_, r_ < 0 ? errno : 0);          \
	} while (0)

static long futex(uint32_t *word, int op, uint32_t val)
{
	return syscall(SYS_futex, word, op | flags, val, NULL, NULL,
		       FUTEX_BITSET_MATCH_ANY);
}

static void results(void)
{
	struct timespec soon = { 0, 20000000 }, bad = { 0, 1000000000 }, at;
	uint32_t x = 1, y = 5;

	printf("flags %d\n", flags);
	TRY(&x, FUTEX_WAIT | flags, 2, NULL);
	TRY(&x, FUTEX_WAIT | flags, 1, &soon);
	TRY(&x, FUTEX_WAIT | flags, 1, &bad);
	TRY(&x, FUTEX_WAIT_BITSET | flags, 1, &soon, NULL, 0);
	at = in_ms(CLOCK_MONOTONIC, 20);
	TRY(&x, FUTEX_WAIT_BITSET | flags, 1, &at, NULL, 4);
	at = in_ms(CLOCK_REALTIME, 20);
	TRY(&x, FUTEX_WAIT_BITSET | FUTEX_CLOCK_REALTIME | flags, 1, &at, NULL, -1);
	TRY(&x, FUTEX_WAKE | flags, 1);
	TRY(&x, FUTEX_WAKE_BITSET | flags, 1, NULL, NULL, 0);
	TRY(&x, FUTEX_REQUEUE | flags, 1, 1L, &y);
	TRY(&x, FUTEX_CMP_REQUEUE | flags, 1, 1L, &y, 7);
	TRY(&x, FUTEX_CMP_REQUEUE | flags, 1, 1L, &y, 1);
	TRY(&x, FUTEX_WAKE_OP | flags, 1, 1L, &y,
	    FUTEX_OP(FUTEX_OP_ADD, 3, FUTEX_OP_CMP_EQ, 5));
	printf("y %u\n", y);
	TRY((char *)&x + 1, FUTEX_WAIT | flags, 0, NULL);
	TRY(&x, 99 | flags, 0, NULL);
}

/* -- a mutex with three states -- */

static uint32_t lock;
static long total;

static void *works(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		uint32_t c = 0;

		if (!__atomic_compare_exchange_n(&lock, &c, 1, 0, __ATOMIC_ACQUIRE,
						 __ATOMIC_RELAXED))
			while (__atomic_exchange_n(&lock, 2, __ATOMIC_ACQUIRE))
				futex(&lock, FUTEX_WAIT, 2);
		total++;
		if (i % 50 == 0)
			sched_yield();
		if (__atomic_exchange_n(&lock, 0, __ATOMIC_RELEASE) == 2)
			futex(&lock, FUTEX_WAKE, 1);
	}
	return arg;
}

static void crowd(void)
{
	pthread_t t[THREADS];

	total = 0;
	for (int i = 0; i < THREADS; i++)
		t[i] = start(works, NULL);
	works(NULL);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
	printf("total %ld\n", total);
}

/* -- bit sets, and requeued waiters -- */

static uint32_t gate, other;
static int in, out;

static void *waits(void *arg)
{
	__atomic_fetch_add(&in, 1, __ATOMIC_RELAXED);
	while (!__atomic_load_n(&gate, __ATOMIC_ACQUIRE))
		syscall(SYS_futex, &gate, FUTEX_WAIT_BITSET | flags, 0, NULL, NULL,
			(int)(intptr_t)arg);
	__atomic_fetch_add(&out, 1, __ATOMIC_RELAXED);
	return NULL;
}

static void moved(void)
{
	pthread_t t[THREADS];
	long n;

	gate = other = 0;
	in = out = 0;
	for (int i = 0; i < THREADS; i++)
		t[i] = start(waits, (void *)(intptr_t)(i % 2 ? 1 : 2));
	/* all threads sleep once all can be requeued there and back */
	do {
		n = syscall(SYS_futex, &gate, FUTEX_CMP_REQUEUE | flags, 0, 1000L,
			    &other, 0);
		CHECK(n >= 0);
		CHECK(syscall(SYS_futex, &other, FUTEX_REQUEUE | flags, 0, 1000L,
			      &gate) == n);
		usleep(1000);
	} while (n < THREADS);
	__atomic_store_n(&gate, 1, __ATOMIC_RELEASE);
	n = syscall(SYS_futex, &gate, FUTEX_WAKE_BITSET | flags, 1000, NULL, NULL, 1);
	printf("woken by bit %ld\n", n);
	n = syscall(SYS_futex, &other, FUTEX_WAKE_OP | flags, 1, 1000L, &gate,
		    FUTEX_OP(FUTEX_OP_OR, 2, FUTEX_OP_CMP_GE, 1));
	printf("woken by FUTEX_WAKE_OP %ld\n", n);
	for (int i = 0; i < THREADS; i++)
		finish(t[i]);
}

/* -- futex_waitv: a private wake of either word wakes the waiter -- */

#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

/* The kernel's struct futex_waitv, which is missing in old headers. */
struct word_waited {
	uint64_t value, word;
	uint32_t flags, reserved;
};

#define PRIVATE_U32 (2 | 128)

static uint32_t two[2];

static void *waits_for_two(void *arg)
{
	struct word_waited w[2] = {
		{ 0, (uintptr_t)&two[0], PRIVATE_U32, 0 },
		{ 0, (uintptr_t)&two[1], PRIVATE_U32, 0 },
	};
	long r;

	do
		r = syscall(SYS_futex_waitv, w, 2, 0, NULL, 0);
	while (r < 0 && errno == EINTR);
	(void)arg;
	return (void *)r;
}

static void private_wake_wakes_waitv(void)
{
	pthread_t t;
	void *which;

	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == ENOSYS) {
		puts("word 1");
		return;
	}
	t = start(waits_for_two, NULL);
	/* a wake that wakes a thread: the thread slept in the kernel */
	while (syscall(SYS_futex, &two[1], FUTEX_WAKE | FUTEX_PRIVATE_FLAG, 1) == 0)
		usleep(1000);
	pthread_join(t, &which);
	printf("word %ld\n", (long)(intptr_t)which);
}

/* -- between two processes -- */

static void processes_share_a_word(void)
{
	uint32_t *turn =
	    mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int mine;
	pid_t pid;

	CHECK(turn != MAP_FAILED);
	pid = fork();
	mine = pid ? 0 : 1;
	for (int i = 0; i < 200; i++) {
		uint32_t now;

		while ((now = __atomic_load_n(turn, __ATOMIC_ACQUIRE)) % 2 !=
		       (uint32_t)mine)
			syscall(SYS_futex, turn, FUTEX_WAIT, now, NULL);
		__atomic_fetch_add(turn, 1, __ATOMIC_RELEASE);
		syscall(SYS_futex, turn, FUTEX_WAKE, 1);
	}
	if (!pid)
		_exit(0);
	CHECK(end_of(pid) == 0);
	printf("turns %u\n", *turn);
}

static void *in_thread(void *arg)
{
	processes_share_a_word();
	return arg;
}

static void *identity(void *arg)
{
	CHECK(syscall(SYS_gettid) == gettid());
	CHECK(syscall(SYS_getpid) == getpid());
	errno = 0;
	CHECK(syscall(SYS_close, -1) == -1 && errno == EBADF);
	CHECK(syscall(SYS_sched_yield) == 0);
	return arg;
}

static sem_t asked;

/* Natively this thread could not be joined: libc's join waits for the word that
 * set_tid_address replaced. */
static void *asks_by_its_word(void *arg)
{
	static int word;

	CHECK(syscall(SYS_set_tid_address, &word) == gettid());
	sem_post(&asked);
	return arg;
}

int main(void)
{
	RUN(results);
	flags = 0;
	RUN(results);
	for (flags = 0; flags <= FUTEX_PRIVATE_FLAG; flags += FUTEX_PRIVATE_FLAG) {
		crowd();
		moved();
	}
	RUN(private_wake_wakes_waitv);
	identity(NULL);
	finish(start(identity, NULL));
	RUN(processes_share_a_word);
	finish(start(in_thread, NULL));
	pthread_detach(start(asks_by_its_word, NULL));
	sem_wait(&asked);
	return 0;
}

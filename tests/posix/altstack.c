/* SPDX-License-Identifier: Apache-2.0 */
/* Each thread has its own alternate signal stack: the results of sigaltstack, the stack
 * on which handlers run wherever the signal hits the thread, and recovery from a stack
 * overflow on it. */
#include <alloca.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#include "posix.h"

#define SIZE (64 << 10)

static __thread char *mine;
static __thread volatile int on_it, ran; /* changed by raise */
static __thread sigjmp_buf back;
static volatile int *volatile nowhere = (int *)8;

static int is_on(const void *p)
{
	return mine && (const char *)p >= mine && (const char *)p < mine + SIZE;
}

static void handler(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;
	char here = 0;

	(void)info;
	ran++;
	on_it = is_on(&here);
	CHECK(sig == SIGUSR1);
	CHECK(uc->uc_stack.ss_sp == mine);
}

static void handle(int sig, void (*fn)(int, siginfo_t *, void *), int flags)
{
	struct sigaction a = { .sa_sigaction = fn, .sa_flags = SA_SIGINFO | flags };

	CHECK(!sigaction(sig, &a, NULL));
}

static void stack_set(int flags)
{
	stack_t st = { .ss_sp = mine, .ss_flags = flags, .ss_size = SIZE };

	CHECK(!sigaltstack(&st, NULL));
}

static void stack_make(void)
{
	mine = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	CHECK(mine != MAP_FAILED);
	stack_set(0);
}

/* -- results of sigaltstack -- */

static void *says(void *arg)
{
	stack_t st, old;

	memset(&old, 1, sizeof(old));
	CHECK(!sigaltstack(NULL, &old));
	CHECK(!old.ss_sp && !old.ss_size && old.ss_flags == SS_DISABLE);
	stack_make();
	CHECK(!sigaltstack(NULL, &old));
	CHECK(old.ss_sp == mine && old.ss_size == SIZE && old.ss_flags == 0);
	stack_set(SS_ONSTACK); /* sets the same stack */
	CHECK(!sigaltstack(NULL, &old) && old.ss_flags == 0);
	st = (stack_t){ .ss_sp = mine, .ss_size = 2047 };
	FAILS(sigaltstack(&st, NULL), ENOMEM);
	st = (stack_t){ .ss_sp = mine, .ss_size = SIZE, .ss_flags = 4 };
	FAILS(sigaltstack(&st, NULL), EINVAL);
	FAILS(sigaltstack((void *)-1l, NULL), EFAULT);
	st = (stack_t){ .ss_flags = SS_DISABLE, .ss_sp = mine, .ss_size = 1 };
	CHECK(!sigaltstack(&st, &old) && old.ss_sp == mine);
	CHECK(!sigaltstack(NULL, &old));
	CHECK(!old.ss_sp && !old.ss_size && old.ss_flags == SS_DISABLE);
	munmap(mine, SIZE);
	mine = NULL;
	return arg;
}

/* -- where handlers run -- */

static void on_change(int sig, siginfo_t *info, void *context)
{
	stack_t st = { .ss_flags = SS_DISABLE }, old;
	char here = 0;

	(void)sig, (void)info, (void)context;
	ran++;
	on_it = is_on(&here);
	CHECK(!sigaltstack(NULL, &old) && old.ss_flags == SS_ONSTACK);
	FAILS(sigaltstack(&st, NULL), EPERM);
	CHECK(!raise(SIGUSR2));
	CHECK(ran == 2);
}

static void on_nested(int sig, siginfo_t *info, void *context)
{
	char here = 0;

	(void)sig, (void)info, (void)context;
	ran++;
	CHECK(is_on(&here)); /* without SA_ONSTACK, but already on that stack */
}

static void *raises(void *arg)
{
	stack_make();
	handle(SIGUSR1, handler, SA_ONSTACK);
	CHECK(!raise(SIGUSR1) && ran == 1 && on_it);
	handle(SIGUSR1, handler, 0);
	CHECK(!raise(SIGUSR1) && ran == 2 && !on_it);
	ran = 0;
	handle(SIGUSR1, on_change, SA_ONSTACK);
	handle(SIGUSR2, on_nested, 0);
	CHECK(!raise(SIGUSR1) && ran == 2 && on_it);
	return arg;
}

static int ready;
static int ends[2];

static void *is_hit(void *arg)
{
	char c;

	stack_make();
	__atomic_store_n(&ready, 1, __ATOMIC_RELEASE);
	if (arg) /* parked in read */
		CHECK(read(ends[0], &c, 1) == -1 && errno == EINTR);
	else
		while (!__atomic_load_n(&ran, __ATOMIC_ACQUIRE))
			;
	CHECK(ran == 1 && on_it);
	return NULL;
}

static void hit(void *how)
{
	pthread_t t;

	ready = 0;
	handle(SIGUSR1, handler, SA_ONSTACK);
	t = start(is_hit, how);
	while (!__atomic_load_n(&ready, __ATOMIC_ACQUIRE))
		usleep(1000);
	usleep(20000);
	CHECK(!pthread_kill(t, SIGUSR1));
	finish(t);
}

/* -- faults -- */

static void on_fault(int sig, siginfo_t *info, void *context)
{
	char here = 0;

	(void)info, (void)context;
	ran++;
	on_it = is_on(&here);
	siglongjmp(back, sig);
}

static void *faults(void *arg)
{
	volatile int i;

	stack_make();
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	for (i = 0; i < 5; i++) {
		on_it = 0;
		if (!sigsetjmp(back, 1))
			*nowhere = 1;
		CHECK(ran == i + 1 && on_it);
		usleep(100);
	}
	return arg;
}

static void *faults_below(void *arg)
{
	handle(SIGSEGV, on_fault, SA_ONSTACK); /* runs on the normal stack */
	if (!sigsetjmp(back, 1))
		*nowhere = 1;
	CHECK(ran == 1 && !on_it);
	return arg;
}

static volatile int depth;

static __attribute__((noinline)) int deeper(volatile char *above)
{
	volatile char frame[512];

	frame[0] = above[0];
	if (depth++ < 0)
		return 0;
	return deeper(frame) + frame[0];
}

static void *overflows(void *arg)
{
	volatile char c = 0;
	volatile int i;

	stack_make();
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	for (i = 0; i < 3; i++) {
		if (!sigsetjmp(back, 1))
			deeper(&c);
		CHECK(on_it && depth > 10);
		usleep(100);
	}
	return arg;
}

/* The alternate stack is an array on the thread's own stack, directly
 * below its frame. */
static void *overflows_over_it(void *arg)
{
	volatile char c = 0;
	volatile int i;

	mine = alloca(SIZE);
	stack_set(0);
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	for (i = 0; i < 3; i++) {
		on_it = 0;
		if (!sigsetjmp(back, 1))
			deeper(&c);
		CHECK(on_it && ran == i + 1);
	}
	return arg;
}

static void *overflows_badly(void *arg)
{
	volatile char c = 0;

	deeper(&c);
	return arg;
}

/* The handler repairs the page, and the faulting instruction runs again. */
static void on_probe(int sig, siginfo_t *info, void *context)
{
	char here = 0;

	(void)sig, (void)info, (void)context;
	ran++;
	on_it = is_on(&here);
	CHECK(!mprotect((void *)((uintptr_t)info->si_addr & ~4095ul), 4096,
			PROT_READ | PROT_WRITE));
}

static void *probes(void *arg)
{
	char *p = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	stack_make();
	handle(SIGSEGV, on_probe, SA_ONSTACK);
	for (int i = 0; i < 5; i++) {
		CHECK(!mprotect(p, 4096, PROT_NONE));
		((volatile char *)p)[7] = 1;
		CHECK(ran == i + 1 && on_it && p[7] == 1);
		usleep(100);
	}
	return arg;
}

/* -- the thread ends on the alternate stack -- */

static void on_end(int sig, siginfo_t *info, void *context)
{
	(void)sig, (void)info, (void)context;
	pthread_exit((void *)7);
}

static void *ends_in_it(void *arg)
{
	stack_make();
	handle(SIGUSR1, on_end, SA_ONSTACK);
	handle(SIGSEGV, on_end, SA_ONSTACK);
	if (arg)
		*nowhere = 1;
	raise(SIGUSR1);
	return NULL;
}

/* -- an overflow without an alternate stack kills the process -- */

static void *badly(void *arg)
{
	handle(SIGSEGV, on_fault, SA_ONSTACK);
	if (!sigsetjmp(back, 1))
		overflows_badly(arg);
	return arg;
}

static void dies(void *(*fn)(void *))
{
	pid_t pid = make_child();

	if (!pid) {
		finish(start(fn, NULL));
		_exit(0);
	}
	CHECK(end_of(pid) == 1000 + SIGSEGV);
}

int main(void)
{
	CHECK(!pipe(ends));
	says(NULL);
	run_in_thread(says);
	run_in_thread(raises);
	hit(NULL);
	hit(&ready);
	printf("signals\n");
	for (int i = 0; i < 3; i++) {
		run_in_thread(faults);
		run_in_thread(faults_below);
		run_in_thread(overflows);
		run_in_thread(overflows_over_it);
		run_in_thread(probes);
	}
	printf("faults\n");
	for (int i = 0; i < 3; i++) {
		CHECK(finish(start(ends_in_it, NULL)) == (void *)7);
		CHECK(finish(start(ends_in_it, &ready)) == (void *)7);
		run_in_thread(overflows);
	}
	dies(badly);
	printf("ok\n");
	return 0;
}

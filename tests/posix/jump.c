/* SPDX-License-Identifier: Apache-2.0 */
/* sigsetjmp and siglongjmp, getcontext and related calls: they restore the thread's
 * saved mask, from a handler or elsewhere. Threads that switch stacks themselves park
 * on those stacks. */
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include "posix.h"

enum { STACK = 65536, ROUNDS = 200, CROWD = 20 };

static __thread volatile int handled;

static void on_signal(int sig)
{
	handled |= 1 << sig;
}

static void handle(int sig, void (*fn)(int), int flags, int also_blocks)
{
	struct sigaction a = { .sa_handler = fn, .sa_flags = flags };

	if (also_blocks)
		sigaddset(&a.sa_mask, also_blocks);
	CHECK(!sigaction(sig, &a, NULL));
}

/* Which of USR1, USR2 and HUP are blocked, as bits. */
static int blocked(void)
{
	sigset_t set;

	CHECK(!pthread_sigmask(SIG_BLOCK, NULL, &set));
	return sigismember(&set, SIGUSR1) | sigismember(&set, SIGUSR2) << 1 |
	       sigismember(&set, SIGHUP) << 2;
}

static void block(int bits)
{
	sigset_t set;

	sigemptyset(&set);
	if (bits & 1)
		sigaddset(&set, SIGUSR1);
	if (bits & 2)
		sigaddset(&set, SIGUSR2);
	if (bits & 4)
		sigaddset(&set, SIGHUP);
	CHECK(!pthread_sigmask(SIG_SETMASK, &set, NULL));
}

/* -- jumps -- */

static __thread sigjmp_buf env;

static void jumps_here(void)
{
	block(1);
	if (!sigsetjmp(env, 1)) {
		block(6);
		siglongjmp(env, 1);
	}
	printf("with a mask: %d\n", blocked());
	if (!sigsetjmp(env, 0)) {
		block(6);
		siglongjmp(env, 1);
	}
	printf("without: %d\n", blocked());
	block(1);
	sigsetjmp(env, 1);
	if (!_setjmp(env)) { /* the buffer held a mask before */
		block(6);
		siglongjmp(env, 1);
	}
	printf("no more: %d\n", blocked());
	block(1);
	if (!(setjmp)(env)) { /* calls the function, not the macro */
		block(6);
		longjmp(env, 1);
	}
	printf("setjmp: %d\n", blocked());
}

static void jumps_out(int sig)
{
	siglongjmp(env, sig);
}

static void jumps_out_of_handlers(void)
{
	handle(SIGUSR2, jumps_out, 0, SIGHUP);
	block(1);
	if (!sigsetjmp(env, 1)) {
		block(0);
		raise(SIGUSR2);
	}
	printf("out of a handler: %d\n", blocked());
	if (!sigsetjmp(env, 0)) {
		block(0);
		raise(SIGUSR2);
	}
	printf("without a mask: %d\n", blocked());
}

static void lets_through_what_is_pending(void)
{
	handle(SIGUSR1, on_signal, 0, 0);
	block(0);
	if (!sigsetjmp(env, 1)) {
		block(1);
		raise(SIGUSR1);
		CHECK(!handled);
		siglongjmp(env, 1);
	}
	printf("pending: %d\n", handled == 1 << SIGUSR1);
	handled = 0;
}

/* The function that FORTIFY calls for longjmp. Here the alternate stack lies above the
 * target stack. */
extern void __longjmp_chk(struct __jmp_buf_tag *, int) __attribute__((noreturn));
static char *high;

static void jumps_down(int sig)
{
	char here;

	CHECK(&here > high && &here < high + STACK);
	__longjmp_chk(env, sig);
}

static void jumps_off_a_stack(void)
{
	stack_t st = { .ss_sp = high, .ss_size = STACK }, old;

	handle(SIGUSR2, jumps_down, SA_ONSTACK, 0);
	CHECK(!sigaltstack(&st, &old));
	for (int i = 0; i < 3; i++)
		if (!sigsetjmp(env, 1))
			raise(SIGUSR2);
	CHECK(!sigaltstack(&old, &st));
	printf("off a stack: %d\n", st.ss_flags & SS_ONSTACK);
}

/* -- contexts -- */

static void goes_on(void)
{
	ucontext_t here;
	volatile int again = 0;

	block(1);
	CHECK(!getcontext(&here));
	printf("context: %d\n", blocked());
	block(6);
	if (again++ < 2)
		setcontext(&here);
}

/* Which of USR1, USR2 and HUP a context blocks, as bits. */
static int blocks(const ucontext_t *uc)
{
	return sigismember(&uc->uc_sigmask, SIGUSR1) |
	       sigismember(&uc->uc_sigmask, SIGUSR2) << 1 |
	       sigismember(&uc->uc_sigmask, SIGHUP) << 2;
}

static void says_its_mask(void)
{
	ucontext_t here;
	volatile int again = 0;

	block(5);
	CHECK(!getcontext(&here));
	printf("its mask: %d, %d, %d\n", blocks(&here), blocked(),
	       sigismember(&here.uc_sigmask, SIGTERM));
	if (again++)
		return;
	sigdelset(&here.uc_sigmask, SIGHUP);
	sigaddset(&here.uc_sigmask, SIGUSR2);
	setcontext(&here);
}

static ucontext_t maker, made;

static void adds(int a, int b, int c, int d, int e, int f, int g, int h, int i)
{
	printf("made: %d, %d\n", blocked(), a + b + c + d + e + f + g + h + i);
	block(4);
}

/* The new context runs with the mask that was set in it, and uc_link resumes with its
 * own mask. */
static void makes_one(void)
{
	block(2);
	CHECK(!getcontext(&made));
	made.uc_stack.ss_sp = malloc(STACK);
	made.uc_stack.ss_size = STACK;
	made.uc_link = &maker;
	sigaddset(&made.uc_sigmask, SIGUSR1);
	makecontext(&made, (void (*)(void))(void *)adds, 9, 1, 2, 3, 4, 5, 6, 7, 8, 9);
	CHECK(!swapcontext(&maker, &made));
	printf("linked: %d, %d\n", blocked(), blocks(&maker));
	free(made.uc_stack.ss_sp);
}

static volatile int shot;

static void leaves(int sig, siginfo_t *info, void *uc)
{
	(void)sig;
	(void)info;
	shot++;
	sigaddset(&((ucontext_t *)uc)->uc_sigmask, SIGHUP);
	setcontext(uc);
}

static void goes_out_of_a_handler(void)
{
	struct sigaction a = { .sa_sigaction = leaves, .sa_flags = SA_SIGINFO };

	sigaddset(&a.sa_mask, SIGUSR1);
	CHECK(!sigaction(SIGUSR2, &a, NULL));
	block(0);
	shot = 0;
	raise(SIGUSR2);
	printf("out of a handler: %d, %d\n", blocked(), shot);
}

struct co {
	ucontext_t own, back;
	char *stack;
	int ends[2], masked;
	long sum;
};

/* This coroutine parks on a stack of its own. */
static void co_main(unsigned low, unsigned upper)
{
	struct co *c = (struct co *)((uintptr_t)low | (uintptr_t)upper << 32);

	if (c->masked)
		block(2);
	for (int i = 0; i < ROUNDS; i++) {
		char b = 0;

		CHECK(read(c->ends[0], &b, 1) == 1);
		c->sum += b;
		CHECK(!c->masked || blocked() == 2);
		CHECK(!swapcontext(&c->own, &c->back));
	}
}

static void co_begin(struct co *c, int masked)
{
	uintptr_t p = (uintptr_t)c;

	memset(c, 0, sizeof(*c));
	c->masked = masked;
	c->stack = malloc(STACK);
	CHECK(c->stack && !pipe(c->ends) && !getcontext(&c->own));
	c->own.uc_stack.ss_sp = c->stack;
	c->own.uc_stack.ss_size = STACK;
	c->own.uc_link = &c->back;
	makecontext(&c->own, (void (*)(void))(void *)co_main, 2, (unsigned)p,
		    (unsigned)(p >> 32));
}

static void co_step(struct co *c)
{
	CHECK(!swapcontext(&c->back, &c->own));
}

static void co_end(struct co *c)
{
	free(c->stack);
	close(c->ends[0]);
	close(c->ends[1]);
}

static void *feeds(void *arg)
{
	struct co *c = arg;

	for (int i = 0; i < ROUNDS; i++) {
		CHECK(write(c->ends[1], "\1", 1) == 1);
		if (i % 16 == 0)
			sched_yield();
	}
	return NULL;
}

/* Two coroutines run in turn, one of them with a mask. Each waits for its own
 * writer. */
static void *has_coroutines(void *sum)
{
	static __thread struct co a, b;
	pthread_t feeder[2];

	block(1);
	co_begin(&a, 1);
	co_begin(&b, 0);
	feeder[0] = start(feeds, &a);
	feeder[1] = start(feeds, &b);
	for (int i = 0; i < ROUNDS; i++) {
		errno = i;
		co_step(&a);
		CHECK(blocked() == 1);
		co_step(&b);
		CHECK(errno == i && blocked() == 1);
	}
	co_step(&b); /* it returns through uc_link */
	finish(feeder[0]);
	finish(feeder[1]);
	*(long *)sum = a.sum + b.sum;
	co_end(&a);
	co_end(&b);
	return NULL;
}

static void many_threads_switch_coroutines(void)
{
	pthread_t t[CROWD];
	long sum[CROWD], all = 0;

	for (int i = 0; i < CROWD; i++)
		t[i] = start(has_coroutines, &sum[i]);
	for (int i = 0; i < CROWD; i++) {
		finish(t[i]);
		all += sum[i];
	}
	printf("coroutines: %ld\n", all);
}

/* -- a context that moves between threads -- */

static struct co wanderer;

static void *steps(void *arg)
{
	int before = (block(4), blocked());

	co_step(&wanderer);
	CHECK(blocked() == before);
	return arg;
}

static void a_context_moves_between_threads(void)
{
	block(1);
	co_begin(&wanderer, 1);
	for (int i = 0; i < ROUNDS; i++) {
		CHECK(write(wanderer.ends[1], "\1", 1) == 1);
		if (i % 2) {
			run_in_thread(steps);
		} else {
			co_step(&wanderer);
			CHECK(blocked() == 1);
		}
	}
	printf("wanders: %ld, %d\n", wanderer.sum, blocked());
	co_end(&wanderer);
}

static void *all_of_it(void *arg)
{
	jumps_here();
	jumps_out_of_handlers();
	lets_through_what_is_pending();
	jumps_off_a_stack();
	goes_on();
	says_its_mask();
	makes_one();
	goes_out_of_a_handler();
	block(0);
	return arg;
}

int main(void)
{
	high = mmap(NULL, STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		    -1, 0);
	CHECK(high != MAP_FAILED);
	run_in_thread(all_of_it);
	all_of_it(NULL);
	RUN(many_threads_switch_coroutines);
	RUN(a_context_moves_between_threads);
	run_in_thread(all_of_it);
	return 0;
}

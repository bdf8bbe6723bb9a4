/* SPDX-License-Identifier: Apache-2.0 */
/* The context switch: what a context finds when it is resumed. There is no scheduler:
 * two contexts share one kernel thread. */
#include "arch/arch.h"

#include <fenv.h>
#include <math.h>
#include <sys/auxv.h>

#include "base/sys.h"
#include "test.h"

/* Sanitizers must be told of each context. The tests in api and sync do that; this one
 * does not. */
#if UK_ASAN || UK_TSAN
#define FIBERS 0
#else
#define FIBERS 1
#endif

#define STACK (64 << 10)

static char stack[STACK] __attribute__((aligned(64)));
static void *home, *away; /* saved contexts: of main, of the other one */
/* Volatile: the compiler sees no call of the other context, so it would assume that a
 * static variable without a taken address does not change. */
static void *volatile got; /* the argument of the other context */
static volatile uint64_t turns;

static NOINLINE void go_away(void)
{
	arch_switch(&home, away, NULL, true);
}

static NOINLINE void go_home(void)
{
	arch_switch(&away, home, NULL, true);
}

static void start(void (*fn)(void *), void *arg, size_t below_top)
{
	away = arch_context_init(stack + STACK - below_top, fn, arg, arch_fp_env());
	go_away();
}

/* --- a fresh stack --- */

static NOINLINE bool aligned_in_a_call(void)
{
	alignas(16) volatile char here[16];
	uintptr_t frame = (uintptr_t)__builtin_frame_address(0);

	here[0] = 1;
	return (uintptr_t)here % 16 == 0 && frame % 16 == 0;
}

static void begins(void *arg)
{
	char here;

	got = arg;
	CHECK(&here > stack && &here < stack + STACK);
	CHECK(aligned_in_a_call());
	for (;;) {
		turns++;
		go_home();
	}
}

static void a_new_context_gets_its_argument_on_an_aligned_stack(void)
{
	int what;

	for (size_t off = 0; off <= 256; off++) { /* the colours of stacks, and
						   * unaligned offsets */
		turns = 0;
		got = NULL;
		start(begins, &what, off);
		CHECK(got == &what);
		CHECK_EQ(turns, 1);
		go_away();
		CHECK_EQ(turns, 2);
	}
}

static void the_registers_of_a_new_context_can_be_read(void)
{
	struct arch_regs r;
	void *sp = arch_context_init(stack + STACK, begins, NULL, arch_fp_env());

	arch_context_regs(sp, &r);
	CHECK(r.ip != 0);
	CHECK((char *)r.sp > stack && (char *)r.sp <= stack + STACK);
	CHECK_EQ(r.fp, 0); /* an unwinder stops there */
}

/* --- registers --- */

static void spoils(void *arg)
{
	(void)arg;
	for (;;) {
#if defined(__x86_64__)
		__asm__ volatile("movq $-1, %%rbx\n\tmovq $-2, %%r12\n\t"
				 "movq $-3, %%r13\n\tmovq $-4, %%r14\n\t"
				 "movq $-5, %%r15" ::
				     : "rbx", "r12", "r13", "r14", "r15");
#elif defined(__aarch64__)
		__asm__ volatile("mov x19, #-1\n\tmov x20, #-2\n\tmov x21, #-3\n\t"
				 "mov x27, #-4\n\tmov x28, #-5\n\tfmov d8, x19\n\t"
				 "fmov d15, x20" ::
				     : "x19", "x20", "x21", "x27", "x28", "v8", "v15");
#endif
		go_home();
	}
}

/* go_away is an ordinary function, so by the ABI its caller may keep values in these
 * registers. */
static void callee_saved_registers_are_kept(void)
{
	uint64_t a = 1, b = 2, c = 3, d = 4, e = 5;

	start(spoils, NULL, 0);
	for (int i = 0; i < 100; i++) {
#if defined(__x86_64__)
		register uint64_t r12 __asm__("r12") = a;
		register uint64_t r13 __asm__("r13") = b;
		register uint64_t r14 __asm__("r14") = c;
		register uint64_t r15 __asm__("r15") = d;
		register uint64_t rbx __asm__("rbx") = e;

		__asm__ volatile(""
				 : "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15),
				   "+r"(rbx));
		go_away();
		__asm__ volatile(""
				 : "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15),
				   "+r"(rbx));
		CHECK(r12 == a && r13 == b && r14 == c && r15 == d && rbx == e);
#else
		go_away();
		CHECK(a == 1u + i && b == 2u + i && c == 3u + i);
#endif
		a++, b++, c++, d++, e++;
	}
}

/* The context is saved below the stack pointer, so a leaf function must not keep locals
 * there (-mno-red-zone). */
static NOINLINE bool a_leaf_keeps(uint64_t seed)
{
	volatile uint64_t mine[12];
	bool kept = true;

	for (unsigned i = 0; i < 12; i++)
		mine[i] = seed + i;
	arch_switch(&home, away, NULL, true);
	for (unsigned i = 0; i < 12; i++)
		kept &= mine[i] == seed + i;
	return kept;
}

static void the_locals_of_a_leaf_function_are_kept(void)
{
	start(spoils, NULL, 0);
	for (uint64_t i = 0; i < 10; i++)
		CHECK(a_leaf_keeps(i << 32));
}

/* --- the control words of the FPU --- */

static double third(void)
{
	volatile double one = 1, three = 3;

	return one / three;
}

static void rounds_up(void *arg)
{
	int inherited = fegetround();

	*(int *)arg = inherited;
	fesetround(FE_UPWARD);
	for (;;) {
		go_home();
		CHECK_EQ(fegetround(), FE_UPWARD);
	}
}

static void each_context_has_its_own_rounding_mode(void)
{
	int inherited = -1;
	double nearest = third();

	fesetround(FE_DOWNWARD);
	start(rounds_up, &inherited, 0);
	CHECK_EQ(inherited, FE_DOWNWARD); /* a new context inherits from its creator */
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(fegetround(), FE_DOWNWARD);
		go_away();
	}
	fesetround(FE_TONEAREST);
	go_away();
	CHECK_EQ(fegetround(), FE_TONEAREST);
	CHECK(third() == nearest);
}

#if defined(__x86_64__)
#define X87_DOUBLE 0x27fu /* precision control: 53 bits; the default is 64 */
#define MXCSR_DAZ 0x40u

static uint16_t x87_get(void)
{
	uint16_t cw;

	__asm__ volatile("fnstcw %0" : "=m"(cw));
	return cw;
}

static void x87_set(uint16_t cw)
{
	__asm__ volatile("fldcw %0" ::"m"(cw));
}

static void has_words_of_its_own(void *arg)
{
	(void)arg;
	for (;;) {
		x87_set(X87_DOUBLE);
		__builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | MXCSR_DAZ);
		go_home();
		CHECK_EQ(x87_get(), X87_DOUBLE);
		CHECK(__builtin_ia32_stmxcsr() & MXCSR_DAZ);
	}
}

static void each_context_has_its_own_x87_and_mxcsr(void)
{
	uint16_t cw = x87_get();
	uint32_t mx = __builtin_ia32_stmxcsr() & 0xffc0;

	CHECK(cw != X87_DOUBLE);
	start(has_words_of_its_own, NULL, 0);
	for (int i = 0; i < 10; i++) {
		CHECK_EQ(x87_get(), cw);
		CHECK_EQ(__builtin_ia32_stmxcsr() & 0xffc0, mx);
		go_away();
	}
	/* also when only one of the two words differs */
	x87_set(X87_DOUBLE);
	go_away();
	CHECK_EQ(x87_get(), X87_DOUBLE);
	CHECK_EQ(__builtin_ia32_stmxcsr() & 0xffc0, mx);
	x87_set(cw);
}
#endif

/* --- the thread pointer --- */

static void *volatile tp_there;
static bool fast; /* which form of the switch; asked before the switch, as libc's answer
		   * may use TLS */

static void looks_at_tp(void *arg)
{
	(void)arg;
	for (;;) {
		tp_there = arch_get_tp();
		arch_switch(&away, home, NULL, fast);
	}
}

static void the_thread_pointer_moves_with_the_switch(void)
{
	/* A block that contains its own address and main's stack canary. While it is
	 * the thread pointer, no thread-local variable is touched. Only the variables
	 * lie below main's thread pointer: with glibc 2.41 the page before is not
	 * mapped. */
	static char block[4096] __attribute__((aligned(64)));
	char *here = arch_get_tp(), *there = block + sizeof(block) / 2;
	void *after;

	if (!arch_full_threads())
		return;
	for (int how = 0; how <= arch_has_fsgsbase(); how++) {
		memcpy(there, here, 1024);
		*(void **)(void *)there = there;
		tp_there = NULL;
		fast = how;
		away =
		    arch_context_init(stack + STACK, looks_at_tp, NULL, arch_fp_env());
		arch_switch(&home, away, there, fast);
		after = arch_get_tp();
		arch_set_tp(here);
		CHECK(after == there); /* the switch has not moved it back */
		CHECK(arch_get_tp() == here);
		CHECK(tp_there == there);
	}
}

int main(void)
{
#if !FIBERS
	SKIP("sanitizers do not know these contexts");
#endif
	RUN(a_new_context_gets_its_argument_on_an_aligned_stack);
	RUN(the_registers_of_a_new_context_can_be_read);
	RUN(callee_saved_registers_are_kept);
	RUN(the_locals_of_a_leaf_function_are_kept);
	RUN(each_context_has_its_own_rounding_mode);
#if defined(__x86_64__)
	RUN(each_context_has_its_own_x87_and_mxcsr);
#endif
	RUN(the_thread_pointer_moves_with_the_switch);
	return 0;
}

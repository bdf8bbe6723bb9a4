/* SPDX-License-Identifier: Apache-2.0 */
/* Raw system calls, the only way into the kernel for the layers below posix. They
 * return the kernel's value, or -errno on failure. They never touch errno (a TLS
 * address) and call nothing that the preload library interposes. */
#ifndef BASE_SYS_H
#define BASE_SYS_H

#include <linux/futex.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/base.h"
#include "base/libc.h"

#if defined(__x86_64__)
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
	long ret;
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "a"(n), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long sys6(long n, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = n;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc 0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#endif

#define SYS_ARG(x) ((long)(uintptr_t)(x))
#define sys0(n) sys6((n), 0, 0, 0, 0, 0, 0)
#define sys1(n, a) sys6((n), SYS_ARG(a), 0, 0, 0, 0, 0)
#define sys2(n, a, b) sys6((n), SYS_ARG(a), SYS_ARG(b), 0, 0, 0, 0)
#define sys3(n, a, b, c) sys6((n), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), 0, 0, 0)
#define sys4(n, a, b, c, d)                                                            \
	sys6((n), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), 0, 0)
#define sys5(n, a, b, c, d, e)                                                         \
	sys6((n), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e), 0)
#define sysn(n, a, b, c, d, e, f)                                                      \
	sys6((n), SYS_ARG(a), SYS_ARG(b), SYS_ARG(c), SYS_ARG(d), SYS_ARG(e),          \
	     SYS_ARG(f))

static inline int64_t sys_now(void)
{
	struct timespec ts;

	LIBC(clock_gettime)(CLOCK_MONOTONIC, &ts); /* the vDSO's: no TLS */
	return ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

/* The CPU-time clock of kernel thread tid of this process: see
 * include/linux/posix-timers_types.h of the kernel. */
static inline clockid_t sys_cpu_clock(int tid)
{
	return (clockid_t)(~(unsigned)tid << 3 | 6u);
}

/* CPU time of kernel thread tid, ns. -EINVAL: no such thread; another -errno: a seccomp
 * filter refuses the call. */
static inline int64_t sys_cpu_time(int tid)
{
	struct timespec ts;
	long r = sys2(SYS_clock_gettime, sys_cpu_clock(tid), &ts);

	return r ? r : ts.tv_sec * NS_PER_SEC + ts.tv_nsec;
}

static inline struct timespec sys_timespec(int64_t ns)
{
	struct timespec ts = { .tv_sec = ns / NS_PER_SEC, .tv_nsec = ns % NS_PER_SEC };

	return ts;
}

/* deadline: absolute CLOCK_MONOTONIC, TIME_NEVER = none. Returns 0, -EAGAIN, -EINTR or
 * -ETIMEDOUT. */
static inline int sys_futex_wait(const void *word, uint32_t expected, int64_t deadline)
{
	struct timespec ts = sys_timespec(deadline);

	return (int)sysn(SYS_futex, word, FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG,
			 expected, deadline == TIME_NEVER ? NULL : &ts, NULL,
			 FUTEX_BITSET_MATCH_ANY);
}

static inline int sys_futex_wake(const void *word, int n)
{
	return (int)sys3(SYS_futex, word, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, n);
}

/* May the word at p be read? With an invalid `how`, rt_sigprocmask still copies the set
 * at p before it reports the error; but it reads nothing if p is NULL. */
static inline bool sys_readable(const void *p)
{
	enum { NO_MEANING = -1 };

	return p && sys4(SYS_rt_sigprocmask, NO_MEANING, p, NULL, sizeof(uint64_t)) !=
			-EFAULT;
}

/* Is a seccomp filter in force? It may kill the process for a call that a program like
 * this one does not make by itself. */
static inline bool sys_filtered(void)
{
	return sys5(SYS_prctl, PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

static inline int sys_gettid(void)
{
	return (int)sys0(SYS_gettid);
}

#endif

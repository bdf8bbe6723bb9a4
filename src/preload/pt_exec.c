/* SPDX-License-Identifier: Apache-2.0 */
/* The exec family. On a carrier the signal mask is set just before the call, and
 * restored if the program cannot be run; in a child of fork or vfork the mask is right
 * already, or the child's own. Async-signal-safe, so libc's functions are looked up
 * when the library is loaded. */
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

#include "base/at_load.h"
#include "base/sys.h"
#include "preload/pt_spawn.h"
#include "lifecycle/life.h"

typedef int exec_fn(const char *, char *const[], char *const[]);

static exec_fn *next_execvpe;

struct masks {
	uint64_t old;
	bool changed;
};

static struct masks mask_for_exec(void)
{
	struct masks m = { 0, false };
	uint64_t mask;

	if (sched_child_mask(&mask)) {
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, &m.old, sizeof(mask));
		m.changed = true;
	}
	return m;
}

static int failed(struct masks m, long r)
{
	if (m.changed)
		sys4(SYS_rt_sigprocmask, SIG_SETMASK, &m.old, NULL, sizeof(m.old));
	if (r < 0)
		errno = (int)-r;
	return -1;
}

LIBC_API int execve(const char *path, char *const argv[], char *const envp[])
{
	struct masks m = mask_for_exec();

	return failed(m, sys3(SYS_execve, path, argv, envp));
}

LIBC_API int execveat(int fd, const char *path, char *const argv[], char *const envp[],
		      int flags)
{
	struct masks m = mask_for_exec();

	return failed(m, sys5(SYS_execveat, fd, path, argv, envp, flags));
}

LIBC_API int fexecve(int fd, char *const argv[], char *const envp[])
{
	if (fd < 0) { /* execveat would accept AT_FDCWD */
		errno = EINVAL;
		return -1;
	}
	return execveat(fd, "", argv, envp, AT_EMPTY_PATH);
}

LIBC_API int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

LIBC_API int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct masks m = mask_for_exec();
	int r = next_execvpe ? next_execvpe(file, argv, envp) : -1;

	return r ? failed(m, 0) : r;
}

LIBC_API int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

/* Counts the arguments, with the final NULL; stores them in argv if that is not
 * NULL. */
static size_t collect(char **argv, const char *first, va_list *ap)
{
	char *arg = (char *)(uintptr_t)first;
	size_t n = 0;

	for (;; arg = va_arg(*ap, char *)) {
		if (argv)
			argv[n] = arg;
		n++;
		if (!arg)
			return n;
	}
}

/* The arguments as an array on the caller's stack; ap_ is left behind the last one. */
#define ARGV(argv, first)                                                              \
	va_list ap_;                                                                   \
	size_t n_;                                                                     \
                                                                                       \
	va_start(ap_, first);                                                          \
	n_ = collect(NULL, first, &ap_);                                               \
	va_end(ap_);                                                                   \
	argv = __builtin_alloca(n_ * sizeof(*argv));                                   \
	va_start(ap_, first);                                                          \
	collect(argv, first, &ap_)

LIBC_API int execl(const char *path, const char *arg, ...)
{
	char **argv;

	ARGV(argv, arg);
	va_end(ap_);
	return execv(path, argv);
}

LIBC_API int execlp(const char *file, const char *arg, ...)
{
	char **argv;

	ARGV(argv, arg);
	va_end(ap_);
	return execvp(file, argv);
}

LIBC_API int execle(const char *path, const char *arg, ...)
{
	char **argv, *const *envp;

	ARGV(argv, arg);
	envp = va_arg(ap_, char *const *);
	va_end(ap_);
	return execve(path, argv, envp);
}

AT_LOAD(exec_find)
{
	*(void **)(void *)&next_execvpe = libc_next("execvpe");
}

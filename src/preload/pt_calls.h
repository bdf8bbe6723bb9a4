/* SPDX-License-Identifier: Apache-2.0 */
/* pt_calls.h - what the families of blocking calls share (file, socket, poll, sleep,
 * wait, ipc, dns). Each wrapper has the same structure:
 *
 *   the caller is no user thread, or the call never blocks   NEXT(name): libc's own
 *   the runtime has the call                                 POSIX_CALL: it parks
 *   the call has a form that does not block                  that form; io_until waits
 *   none of these                                            POSIX_HANDOFF: bracketed
 *
 * A bracketed call is libc's own between uk_blocking_begin and uk_blocking_end, so the
 * vp is handed off first.
 *
 * The kernel checks every argument: a bad pointer or fd must give EFAULT or EBADF as it
 * does natively. So no code here reads the program's memory before the kernel has. */
#ifndef PRELOAD_PT_CALLS_H
#define PRELOAD_PT_CALLS_H

#include "base/sys.h"
#include "io/io.h"
#include "preload/pt.h"
#include "uk/io.h"
#include "uk/time.h"

/* libc's own call, which may block: the vp is handed off meanwhile. */
#define POSIX_HANDOFF(call)                                                            \
	({                                                                             \
		posix_testcancel();                                                    \
		POSIX_KERNEL(call);                                                    \
	})

/* NEXT(name) with the same arguments; bracketed if the caller is a user thread. */
#define POSIX_BRACKET(name, ...)                                                       \
	(posix_user() ? POSIX_HANDOFF(NEXT(name)(__VA_ARGS__))                         \
		      : NEXT(name)(__VA_ARGS__))

/* pt_socket.c: is a call on fd restarted after a handler with SA_RESTART? Not on a
 * socket with a timeout, as in the kernel; limit is its option, SO_RCVTIMEO or
 * SO_SNDTIMEO. */
bool posix_restarts(int fd, int limit);

/* pt_change.c: before a call that may change, share or end what is known of sockets. m
 * is the program's, and nobody has checked it yet. */
struct msghdr;
struct mmsghdr;
void change_message(const struct msghdr *m);
void change_messages(const struct mmsghdr *m, unsigned n);
void change_syscall(long n, const long *a);

/* libc's headers do not declare the functions that its macros name. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* pt_terminal.c: a read of fd gave EIO. 0: repeat it (perhaps after a stop); else an
 * error. */
long posix_terminal_eio(int fd);
#define POSIX_READS(fd, call)                                                          \
	({                                                                             \
		long e_;                                                               \
                                                                                       \
		do                                                                     \
			e_ = (call);                                                   \
		while (unlikely(e_ == -EIO) && !(e_ = posix_terminal_eio(fd)));        \
		e_;                                                                    \
	})
/* Is an ioctl request one that only the foreground process group may make? And that
 * call. */
bool posix_terminal_request(unsigned long request);
long posix_terminal_ioctl(int fd, unsigned long request, void *arg);

/* For FORTIFY's functions: n bytes are to go into a buffer of room bytes. */
extern NORETURN void __chk_fail(void);
static inline void posix_chk(size_t n, size_t room)
{
	if (unlikely(n > room))
		__chk_fail();
}

#endif

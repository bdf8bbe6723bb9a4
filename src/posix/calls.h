/* SPDX-License-Identifier: Apache-2.0 */
/* calls.h - what the families of blocking calls share (file, socket, poll, sleep, wait, ipc,
 * dns). Each wrapper has the same shape:
 *
 *   the caller is no user thread, or the call cannot block   NEXT(name): libc's own
 *   the runtime has the call                                 POSIX_CALL: it parks
 *   the call has a form that does not block                  the kernel is asked by that form,
 *                                                            readiness is waited for (io_until)
 *   neither                                                  POSIX_HANDOFF: libc's, bracketed
 *
 * The kernel judges every argument: a bad pointer or descriptor is to give EFAULT or EBADF
 * as it does natively, so nothing here looks into the program's memory before the kernel
 * has. */
#ifndef POSIX_CALLS_H
#define POSIX_CALLS_H

#include "base/sys.h"
#include "io/io.h"
#include "posix/posix.h"
#include "uk/io.h"
#include "uk/time.h"

/* libc's own call, which may block: the vp goes to another carrier meanwhile. */
#define POSIX_HANDOFF(call)                                                            \
	({                                                                             \
		posix_testcancel();                                                    \
		POSIX_KERNEL(call);                                                    \
	})

/* NEXT(name) of the same arguments, for a user thread bracketed. */
#define POSIX_BRACKET(name, ...)                                                       \
	(posix_user() ? POSIX_HANDOFF(NEXT(name)(__VA_ARGS__))                         \
		      : NEXT(name)(__VA_ARGS__))

/* socket.c: does a call on fd go on after a handler with SA_RESTART? Not if it is a socket with
 * a time limit, SO_RCVTIMEO or SO_SNDTIMEO (the kernel has it so). */
bool posix_restarts(int fd, int limit);

/* change.c: before a call that may change, share or end what is known of sockets. m: what the
 * program says, judged by nobody yet. */
struct msghdr;
struct mmsghdr;
void change_message(const struct msghdr *m);
void change_messages(const struct mmsghdr *m, unsigned n);
void change_syscall(long n, const long *a);

/* libc's headers do not declare the forms that its macros name. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

/* terminal.c: a read of fd gave EIO. 0: it is to be made again, after a stop perhaps; or an error. */
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
/* A request of ioctl's that is for who is in the foreground, and how it is made. */
bool posix_terminal_request(unsigned long request);
long posix_terminal_ioctl(int fd, unsigned long request, void *arg);

/* FORTIFY's forms: n bytes are to go where only room has place. */
extern NORETURN void __chk_fail(void);
static inline void posix_chk(size_t n, size_t room)
{
	if (unlikely(n > room))
		__chk_fail();
}

#endif

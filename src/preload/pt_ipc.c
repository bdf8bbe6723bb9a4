/* SPDX-License-Identifier: Apache-2.0 */
/* pt_ipc.c - the kernel's message queues and semaphore sets: bracketed. A wait for
 * readiness would do for a POSIX queue, but mq_notify depends on whether a thread is
 * blocked in mq_receive. */
#include <mqueue.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "monitor/file_table.h"
#include "preload/pt_calls.h"

LIBC_API ssize_t mq_receive(mqd_t q, char *buf, size_t n, unsigned *prio)
{
	return POSIX_BRACKET(mq_receive, q, buf, n, prio);
}

LIBC_API ssize_t mq_timedreceive(mqd_t q, char *restrict buf, size_t n,
				 unsigned *restrict prio,
				 const struct timespec *restrict abs)
{
	return POSIX_BRACKET(mq_timedreceive, q, buf, n, prio, abs);
}

LIBC_API int mq_send(mqd_t q, const char *buf, size_t n, unsigned prio)
{
	return POSIX_BRACKET(mq_send, q, buf, n, prio);
}

LIBC_API int mq_timedsend(mqd_t q, const char *buf, size_t n, unsigned prio,
			  const struct timespec *abs)
{
	return POSIX_BRACKET(mq_timedsend, q, buf, n, prio, abs);
}

LIBC_API int mq_notify(mqd_t q, const struct sigevent *ev)
{
	int r;

	files_await(); /* else the monitor would cancel it */
	r = NEXT(mq_notify)(q, ev);
	if (!r && ev && ev->sigev_notify == SIGEV_THREAD)
		posix_helper(HELPER_QUEUE);
	return r;
}

LIBC_API ssize_t msgrcv(int q, void *buf, size_t n, long type, int flags)
{
	return POSIX_BRACKET(msgrcv, q, buf, n, type, flags);
}

LIBC_API int msgsnd(int q, const void *buf, size_t n, int flags)
{
	return POSIX_BRACKET(msgsnd, q, buf, n, flags);
}

LIBC_API int semop(int set, struct sembuf *ops, size_t n)
{
	return semtimedop(set, ops, n, NULL);
}

LIBC_API int semtimedop(int set, struct sembuf *ops, size_t n,
			const struct timespec *span)
{
	return (int)syscall(SYS_semtimedop, set, ops, n, span); /* ours: pt_futex.c */
}

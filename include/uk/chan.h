/* SPDX-License-Identifier: Apache-2.0 */
/* chan.h - bounded channels of fixed-size elements, with select. */
#ifndef UK_CHAN_H
#define UK_CHAN_H

#include <uk/types.h>

UK_BEGIN

/* elem_size and capacity may be 0; capacity 0 = rendezvous. -EINVAL, -ENOMEM. */
UK_API int uk_chan_create(uk_chan **out, size_t elem_size, size_t capacity);
/* No other call may use c any more. */
UK_API void uk_chan_destroy(uk_chan *c);
/* From now on sends return -EPIPE, and receives what is left and then -EPIPE; also
 * those that wait. -EPIPE from close itself: it was closed before. */
UK_API int uk_chan_close(uk_chan *c);
UK_API int uk_chan_send(uk_chan *c, const void *elem);
UK_API int uk_chan_send_until(uk_chan *c, const void *elem, uk_time deadline);
UK_API int uk_chan_trysend(uk_chan *c, const void *elem); /* -EAGAIN: it would wait */
UK_API int uk_chan_recv(uk_chan *c, void *elem);
UK_API int uk_chan_recv_until(uk_chan *c, void *elem, uk_time deadline);
UK_API int uk_chan_tryrecv(uk_chan *c, void *elem); /* -EAGAIN: it would wait */
UK_API size_t uk_chan_len(const uk_chan *c);

typedef struct uk_chan_case {
	uk_chan *chan; /* NULL: this case is never ready */
	int op;        /* UK_CHAN_... */
	int result;    /* 0 or -EPIPE, written for the case performed */
	void *elem;    /* what to send, or where to receive */
} uk_chan_case;
#define UK_CHAN_RECV 0
#define UK_CHAN_SEND 1
/* Wait until one case can proceed, and perform that one: its index, chosen fairly among
 * those ready, or -errno. deadline: ns, uk_now(); 0: do not wait. */
UK_API int uk_chan_select(uk_chan_case *cases, unsigned n, uk_time deadline);

/* A copy of *elem is sent to c at the time at (ns, uk_now()), and then every period ns
 * (0: once). If c is full the timer waits, and times that pass meanwhile are left out.
 * Stop it before c is destroyed. -EINVAL, -ENOMEM, -EAGAIN. */
typedef struct uk_timer uk_timer; /* opaque */
UK_API int uk_timer_start(uk_timer **out, uk_chan *c, const void *elem, uk_time at,
			  uk_time period);
UK_API void uk_timer_stop(uk_timer *t); /* and free it; nothing comes afterwards */

/* From now on c, a channel of int, gets sig when the process gets this signal; NULL: as
 * before. A signal that comes while the same one waits to be sent is left out. At least
 * one kernel thread, as main, must leave sig unblocked. -EBUSY: there is a channel;
 * -ENOENT (NULL): there is none; -EINVAL, -ENOMEM, -EAGAIN. */
UK_API int uk_signal_to_chan(int sig, uk_chan *c);

UK_END
#endif

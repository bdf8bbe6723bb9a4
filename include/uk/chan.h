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

typedef struct uk_select {
	uk_chan *chan; /* NULL: this case is never ready */
	int op;        /* UK_SELECT_... */
	int result;    /* 0 or -EPIPE, written for the case performed */
	void *elem;    /* what to send, or where to receive */
} uk_select;
#define UK_SELECT_RECV 0
#define UK_SELECT_SEND 1
/* Wait until one case can proceed, and perform that one: its index, chosen fairly among
 * those ready, or -errno. deadline: ns, uk_now(); 0: do not wait (-EAGAIN). */
UK_API int uk_select_until(uk_select *cases, unsigned n, uk_time deadline);

UK_END
#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The hostile build (-Dhostile=true): what the kernel may do to us but seldom does, done
 * often. Seeded by UK_SEED, printed once. Elsewhere these are constants. */
#ifndef EVENT_HOSTILE_H
#define EVENT_HOSTILE_H

#include "event/reactor.h"

#if UK_HOSTILE
bool hostile_no_uring(void);                  /* UK_HOSTILE_URING=refuse */
bool hostile_short(void);                     /* false: UK_HOSTILE_SHORT=no */
bool hostile_eintr(void);                     /* poll shall return early */
bool hostile_eagain(const struct io_op *op);  /* legal here: the file is O_NONBLOCK */
uint32_t hostile_len(const struct io_op *op); /* op->len, or less where that is legal */
bool hostile_full(void);                      /* io_uring: no room in the queue */
bool hostile_miss(void);                      /* io_uring: a cancel finds nothing */
bool hostile_poll_first(const struct io_op *op); /* io_uring: wait, then do */
#else
#define hostile_no_uring() false
#define hostile_eintr() false
#define hostile_eagain(op) false
#define hostile_len(op) ((op)->len)
#define hostile_full() false
#define hostile_miss() false
#define hostile_poll_first(op) false
#endif

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* The hostile build (-Dhostile=true): does often what the kernel may do but seldom
 * does. Seeded by the key seed of UK_DEBUG, which is printed once. In other builds
 * these are constants. */
#ifndef REACTOR_HOSTILE_H
#define REACTOR_HOSTILE_H

#include "reactor/reactor.h"

#if UK_HOSTILE
uint64_t hostile_draw(void);                 /* a random number */
bool hostile_no_uring(void);                 /* UK_DEBUG=hostile-uring=refuse */
bool hostile_short(void);                    /* false: UK_DEBUG=hostile-short=no */
bool hostile_eintr(void);                    /* poll returns early */
bool hostile_eagain(const struct io_op *op); /* only if the file has O_NONBLOCK */
/* op->len, or less where that is allowed */
uint32_t hostile_len(const struct io_op *op);
bool hostile_full(void); /* io_uring: the queue is full */
bool hostile_miss(void); /* io_uring: a cancel finds nothing */
/* io_uring: poll first, then the operation */
bool hostile_poll_first(const struct io_op *op);
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

/* SPDX-License-Identifier: Apache-2.0 */
/* bufs.h - buffers that the kernel chooses from: see bufs.c. */
#ifndef REACTOR_BUFS_H
#define REACTOR_BUFS_H

#include "base/base.h"

#define BUFS 1024u      /* initial count, and added each time; a power of two */
#define BUFS_MOST 8192u /* a power of two */
#define BUF_SIZE 2048u

struct bufs;

/* Bytes that have arrived and wait to be read, in the buffers that they arrived in. */
struct held {
	uint16_t first, last;
	uint16_t n, off; /* n: buffers; off: bytes of the first that are taken */
};

/* For the io_uring with this fd, as buffer group 0. NULL: no memory, or the kernel
 * refuses. */
struct bufs *bufs_make(int ring);
/* Add buffers because there are too few. False: there are BUFS_MOST already. */
bool bufs_more(struct bufs *b);
/* Only after the ring is closed, or if it never knew them. NULL: no effect. */
void bufs_drop(struct bufs *b);
/* For a buffer from a completion: its bytes; give it back to the kernel. */
const char *bufs_data(const struct bufs *b, uint16_t id);
void bufs_give(struct bufs *b, uint16_t id);
/* Append buffer id, with n bytes, to h. off: bytes of it already taken, if it is the
 * first. */
void bufs_hold(struct bufs *b, struct held *h, uint16_t id, uint16_t n, uint16_t off);
/* Copy out the first held bytes, at most len, and give empty buffers back. Returns the
 * count. */
uint32_t bufs_copy(struct bufs *b, struct held *h, char *to, uint32_t len);
void bufs_forget(struct bufs *b, struct held *h); /* gives all of them back */
unsigned bufs_out(const struct bufs *b);          /* held, of all streams */
unsigned bufs_all(const struct bufs *b);          /* in existence */

#endif

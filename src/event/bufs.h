/* SPDX-License-Identifier: Apache-2.0 */
/* bufs.h - buffers that the kernel chooses from: see bufs.c. */
#ifndef EVENT_BUFS_H
#define EVENT_BUFS_H

#include "base/base.h"

#define BUFS 1024u      /* at first, and as many more each time; a power of two */
#define BUFS_MOST 8192u /* a power of two */
#define BUF_SIZE 2048u

struct bufs;

/* Bytes that have come and wait to be read, in the buffers that they came in. */
struct held {
	uint16_t first, last;
	uint16_t n, off; /* buffers; bytes of the first that are gone */
};

/* Of the ring with this descriptor, as group 0; NULL: no memory, or the kernel refuses. */
struct bufs *bufs_make(int ring);
/* There are too few: more. False: that is all. */
bool bufs_more(struct bufs *b);
/* The ring is closed, or never knew them. NULL: nothing to do. */
void bufs_drop(struct bufs *b);
/* One that we got from the kernel: what is in it, and it goes back. */
const char *bufs_data(const struct bufs *b, uint16_t id);
void bufs_give(struct bufs *b, uint16_t id);
/* It is kept at the end of h; off bytes of its n are gone, of the first one. */
void bufs_hold(struct bufs *b, struct held *h, uint16_t id, uint16_t n, uint16_t off);
/* The first bytes that are held, len at most; what is empty goes back. How many. */
uint32_t bufs_copy(struct bufs *b, struct held *h, char *to, uint32_t len);
void bufs_forget(struct bufs *b, struct held *h); /* all that is held goes back */
unsigned bufs_out(const struct bufs *b);          /* how many are held, by all */
unsigned bufs_all(const struct bufs *b);          /* of so many */

#endif

/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - `uk broker` from the side of who is served. All but peer_init: the monitor, with a
 * table of files of its own. */
#ifndef ACT_PEER_H
#define ACT_PEER_H

#include "base/base.h"

/* The runtime starts: where the broker is (UK_BROKER). */
void peer_init(void);
/* Asks it to serve us; the answer comes later. -errno: there is no broker. */
int peer_start(void);
/* Asks for a seat for a carrier. -EAGAIN: later; other -errno: never. */
int peer_seat(int tid, uint64_t carrier);
/* An event of this descriptor is for peer_answers. */
bool peer_is(int fd);
/* What has it said since the last time? 0: yes to all that was asked; -EINPROGRESS: not all is
 * answered; -ENOTCONN: it is gone; other -errno: no to one of them. */
int peer_answers(void);
void peer_stop(void);

#endif

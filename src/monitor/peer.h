/* SPDX-License-Identifier: Apache-2.0 */
/* peer.h - the client's side of `uk broker`. All but peer_init is for the monitor, with
 * a table of files of its own. */
#ifndef MONITOR_PEER_H
#define MONITOR_PEER_H

#include "base/base.h"

/* At the start of the runtime: finds out where the broker is (UK_BROKER). */
void peer_init(void);
/* Asks the broker to serve us; the answer comes later. -errno: there is no broker. */
int peer_start(void);
/* Asks for a seat for a carrier. -EAGAIN: try again later; other -errno: never. */
int peer_seat(int tid, uint64_t carrier);
/* Is an event on this fd one for peer_answers? */
bool peer_is(int fd);
/* What has the broker said since the last call? 0: yes to all that was asked;
 * -EINPROGRESS: some answers are still to come; -ENOTCONN: it is gone; other -errno: no
 * to one of the questions. */
int peer_answers(void);
void peer_stop(void);

#endif

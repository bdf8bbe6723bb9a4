/* SPDX-License-Identifier: Apache-2.0 */
/* once.h - the two halves of uk_once_run, for a caller that may be unwound between
 * them. */
#ifndef SYNC_ONCE_H
#define SYNC_ONCE_H

#include "sync/futex.h"

enum once_state { ONCE_NEW, ONCE_RUNNING, ONCE_RUNNING_WAITED, ONCE_DONE };

/* 1: the caller runs fn and then calls once_end. 0: fn has been run. If `cut` is set, a
 * wait may end with -ECANCELED or -EINTR. */
int once_begin(uk_once *o, bool cut);
void once_end(uk_once *o, bool completed);

#endif

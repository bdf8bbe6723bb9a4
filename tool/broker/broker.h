/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOL_BROKER_H
#define TOOL_BROKER_H

#include <stdbool.h>

/* `uk broker`; argv[0] is "broker". Returns an exit status if it cannot serve. */
int broker(int argc, char **argv);

/* listen.c: the service manager's socket, or a new one at path. -1 after a message. */
int broker_listen(const char *path);
/* drop.c: gives up all privileges and most system calls. False after a message. */
bool broker_drop(void);
/* peers.c: raises the limit of fds, for all peers. False: it is too low. */
bool broker_prepare(int listener);
/* Serves the processes that connect, for ever. */
void broker_serve(int listener);

#endif

/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TOOL_BROKER_H
#define TOOL_BROKER_H

#include <stdbool.h>

/* `uk broker`, argv[0] is "broker". Returns when it cannot begin: an exit status. */
int broker(int argc, char **argv);

/* listen.c: the service manager's socket, or a new one at path; -1: said why. */
int broker_listen(const char *path);
/* drop.c: nobody's rights from now on, and few calls. False: said why. */
bool broker_drop(void);
/* peers.c: descriptors enough for all. False: no. */
bool broker_prepare(int listener);
/* Serves those who connect, for ever. */
void broker_serve(int listener);

#endif

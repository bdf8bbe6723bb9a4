/* SPDX-License-Identifier: Apache-2.0 */
/* commands.h - the commands of `uk net` and their exit statuses. */
#ifndef NET_COMMANDS_H
#define NET_COMMANDS_H

#include "plan.h"

enum { DONE, FAILURE, USAGE, IN_THE_WAY, NO_RIGHT, NOT_HERE };

struct options {
	struct wish wish;
	long seconds, loopback; /* of verify */
};

/* -1: there is no such command. 0 is plan. */
int command_find(const char *name);
int command_run(int which, const struct options *o);

#endif

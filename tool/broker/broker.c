/* SPDX-License-Identifier: Apache-2.0 */
/* broker.c - `uk broker`: the event detector for processes that may not load it themselves.
 *
 * It loads spot.bpf.c as root, once, drops all rights, and then registers those who ask, by the
 * protocol of act/broker.h. It holds the only descriptors of the program and its maps, nothing
 * is pinned: when it ends, however it ends, the kernel forgets all, and processes find out who
 * has blocked by themselves (law 6: with a line that says so).
 *
 * What a process can do to others through it: nothing. Whom it names is looked up by pidfd and
 * must be its own thread; what it says of its memory is read by the kernel in that very memory;
 * and a signal goes to the process that blocked alone, where kill(2) of the same user could send
 * one. What it can do to the broker is bounded for each user (peers.c).
 *
 * Rejected: a program for each process (each costs some 10 ms, and each would run at each switch
 * of the machine); maps that are handed out (a peer could write there what it likes, and keeps
 * them when the broker is gone); to take pidfds from the peer, which would do for other pid
 * namespaces (a file from a stranger may hold up who closes it).
 */
#include "broker.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "act/broker.h"
#include "act/spot_load.h"
#include "../options.h"

static void usage(FILE *f)
{
	fprintf(
	    f,
	    "usage: uk broker [--socket PATH]\n"
	    "Tells processes that may not load BPF programs which of their threads block.\n"
	    "Needs root (CAP_BPF and CAP_PERFMON) to begin; uk-broker(1).\n"
	    "PATH is %s if not given, for them: UK_BROKER\n",
	    BROKER_PATH);
}

static int begin(const char *path)
{
	int r = spot_load();
	int listener;

	if (r) {
		fprintf(stderr, "uk broker: the program cannot be loaded: %s%s\n",
			strerror(-r),
			r == -EPERM    ? "; it needs root, or CAP_BPF and CAP_PERFMON"
			: r == -ENOSYS ? ""
				       : "; it needs Linux 6.13 with BTF");
		return 1;
	}
	listener = broker_listen(path);
	if (listener < 0)
		return 1;
	if (!broker_prepare(listener)) {
		fprintf(stderr, "uk broker: no descriptors: %s\n", strerror(errno));
		return 1;
	}
	if (!broker_drop())
		return 1;
	printf("uk broker: ready\n");
	fflush(stdout);
	broker_serve(listener);
	return 1;
}

int broker(int argc, char **argv)
{
	OPTIONS(longs, VALUE_OF("socket", 's'));
	const char *path = BROKER_PATH;
	int c;

	optind = 0; /* glibc: from the beginning, with these options */
	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c == 's') {
			path = optarg;
			continue;
		}
		usage(c == 'h' ? stdout : stderr);
		return c == 'h' ? 0 : 2;
	}
	if (optind < argc) {
		usage(stderr);
		return 2;
	}
	return begin(path);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* uk.c - the tool `uk`. This file has `uk doctor`, which prints what this machine
 * offers the runtime. Each other command has a file of its own: run.c, symbolize.c,
 * ps.c, top.c, net/net.c. */
#include <stdio.h>
#include <string.h>
#include <uk/uk.h>

#include "net/net.h"
#include "options.h"
#include "ps.h"
#include "run.h"
#include "symbolize.h"
#include "top.h"

static void usage(FILE *f)
{
	fprintf(
	    f,
	    "usage: uk doctor       show what the runtime finds on this machine\n"
	    "       uk run PROGRAM  run PROGRAM on user threads; uk run --help\n"
	    "       uk ps PID       list the user threads of a running process\n"
	    "       uk top PID      show what a running process does, live\n"
	    "       uk symbolize    add functions, files and lines to a dump\n"
	    "       uk net          let one CPU do the network's work; uk net --help\n"
	    "       uk --version\n"
	    "       uk --help\n");
}

static void row(const char *name, const char *value, int ok, void *arg)
{
	(void)arg;
	printf("%-2s %-28s %s\n", ok ? "ok" : "--", name, value);
}

int main(int argc, char **argv)
{
	OPTIONS(longs, WORD("version", 'v'));
	int c;

	while ((c = getopt_long(argc, argv, "+vh", longs, NULL)) != -1) {
		switch (c) {
		case 'v':
			printf("uk %s\n", uk_version());
			return 0;
		case 'h':
			usage(stdout);
			return 0;
		default:
			usage(stderr);
			return 2;
		}
	}
	if (optind < argc && !strcmp(argv[optind], "run"))
		return run(argc - optind, argv + optind);
	if (optind < argc && !strcmp(argv[optind], "symbolize"))
		return symbolize(argc - optind, argv + optind);
	if (optind < argc && !strcmp(argv[optind], "ps"))
		return ps(argc - optind, argv + optind);
	if (optind < argc && !strcmp(argv[optind], "top"))
		return top(argc - optind, argv + optind);
	if (optind < argc && !strcmp(argv[optind], "net"))
		return net(argc - optind, argv + optind);
	if (optind == argc - 1 && !strcmp(argv[optind], "doctor")) {
		uk_doctor(row, NULL);
		return fflush(stdout) || ferror(stdout) ? 1 : 0;
	}
	if (optind < argc)
		fprintf(stderr, "uk: unknown command '%s'\n", argv[optind]);
	usage(stderr);
	return 2;
}

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""user_tools.py LIBDIR KNOWN: a user's program with a hundred threads runs to its end
under valgrind. If the library was built with valgrind's header (KNOWN is "true"),
memcheck finds the program's fault and reports no unknown system call. A program with
ThreadSanitizer and a library without it gets an error message of one line."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIB = os.path.abspath(sys.argv[1])
KNOWN = sys.argv[2] == "true"
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <uk/uk.h>
static int fd[2], planted;
static void *works(void *arg)
{
	char frame[2000], *heap = malloc(50);
	memset(frame, 1, sizeof(frame));
	uk_sleep(UK_MS);
	uk_yield();
	if (planted && heap[7]) frame[3]++;
	snprintf(heap, 50, "%d", frame[3]);
	if (uk_write(fd[1], heap, 1) != 1) abort();
	free(heap);
	return arg;
}
int main(int argc, char **argv)
{
	uk_thread *t[100];
	uk_thread_attr a = UK_THREAD_ATTR_INIT;
	char c;
	int r = uk_init();
	if (r) return 3;
	planted = argc > 1 && argv[1][0];
	if (pipe(fd)) return 4;
	for (int k = 0; k < 3; k++) {
		for (int i = 0; i < 100; i++) {
			a.flags = i % 2 ? UK_THREAD_LIGHT : 0;
			if (uk_thread_create(&t[i], &a, works, NULL)) return 1;
		}
		for (int i = 0; i < 100; i++)
			if (uk_read(fd[0], &c, 1) != 1) return 5;
		for (int i = 0; i < 100; i++)
			if (uk_thread_join(t[i], NULL)) return 2;
	}
	printf("done %s\n", uk_reactor_name());
	return 0;
}
"""


def build(tmp, name, *flags):
    src = os.path.join(tmp, "program.c")
    with open(src, "w") as f:
        f.write(PROGRAM)
    exe = os.path.join(tmp, name)
    p = subprocess.run(["cc", "-g", *flags, src, "-o", exe, "-I" + os.path.join(ROOT, "include"),
                        "-L" + LIB, "-lukthreads", "-Wl,-rpath," + LIB],
                       capture_output=True, text=True)
    return exe if p.returncode == 0 else None


def valgrind(exe, env, *args):
    return subprocess.run(["valgrind", "-q", "--error-exitcode=9", exe, *args], text=True,
                          capture_output=True, env=env, timeout=600)


def main():
    env = {k: v for k, v in os.environ.items() if not k.startswith("UK_")}
    done = 0
    with tempfile.TemporaryDirectory() as tmp:
        exe = build(tmp, "plain")
        if exe and shutil.which("valgrind"):
            p = valgrind(exe, env)
            if p.stdout != "done epoll\n" or (KNOWN and (p.returncode or "unhandled" in p.stderr)):
                sys.exit("valgrind: %d %s %s" % (p.returncode, p.stdout, p.stderr[-2000:]))
            # valgrind does not execute the requests of a ring, so the library uses
            # epoll
            p = valgrind(exe, dict(env, UK_REACTOR="uring"), "planted")
            if p.stdout != "done epoll\n" or p.returncode != 9 or "works (prog" not in p.stderr:
                sys.exit("valgrind: %d %s %s" % (p.returncode, p.stdout, p.stderr[-2000:]))
            done += 1
        exe = build(tmp, "tsan", "-fsanitize=thread")
        if exe:
            p = subprocess.run([exe], capture_output=True, text=True, env=env, timeout=100)
            if p.returncode != 3 or "LIBDIR/ukthreads-tsan" not in p.stderr:
                sys.exit("tsan: %d %s %s" % (p.returncode, p.stdout, p.stderr[-2000:]))
            done += 1
    if not done:
        print("skipped: needs valgrind or a compiler with ThreadSanitizer")
        return 77
    print("ok: %d tools" % done)
    return 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""user_tools.py LIBDIR: a user's program under valgrind ends, and one with ThreadSanitizer
against a library without is told so in a line."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIB = os.path.abspath(sys.argv[1])
PROGRAM = r"""
#include <stdio.h>
#include <uk/uk.h>
static void *naps(void *arg) { uk_sleep(UK_MS); return arg; }
int main(void)
{
	uk_thread *t[10];
	int r = uk_init();
	if (r) return 3;
	for (int i = 0; i < 10; i++)
		if (uk_thread_create(&t[i], NULL, naps, NULL)) return 1;
	for (int i = 0; i < 10; i++)
		if (uk_thread_join(t[i], NULL)) return 2;
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


def main():
    env = {k: v for k, v in os.environ.items() if not k.startswith("UK_")}
    done = 0
    with tempfile.TemporaryDirectory() as tmp:
        exe = build(tmp, "plain")
        if exe and shutil.which("valgrind"):
            p = subprocess.run(["valgrind", "-q", exe], capture_output=True, text=True, env=env,
                               timeout=100)
            if p.returncode or p.stdout != "done epoll\n":
                sys.exit("valgrind: %d %s %s" % (p.returncode, p.stdout, p.stderr[-2000:]))
            done += 1
        exe = build(tmp, "tsan", "-fsanitize=thread")
        if exe:
            p = subprocess.run([exe], capture_output=True, text=True, env=env, timeout=100)
            if p.returncode != 3 or "-Db_sanitize=thread" not in p.stderr:
                sys.exit("tsan: %d %s %s" % (p.returncode, p.stdout, p.stderr[-2000:]))
            done += 1
    if not done:
        print("skipped: neither valgrind nor a compiler with ThreadSanitizer")
        return 77
    print("ok: %d tools" % done)
    return 0


sys.exit(main())

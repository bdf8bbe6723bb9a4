#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sanitized.py BUILD: the sanitizer of a user's program works in user threads, with the
library that was built for it. It reports planted faults, and nothing in a correct
program. The program is linked with the plain library, as an installed one is, and finds
the other library by LD_LIBRARY_PATH."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
PROGRAM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uk/uk.h>

static uk_mutex mutex = UK_MUTEX_INIT;
static long sum;
static int *volatile stale;
static char what;

__attribute__((noinline)) static int *gives_its_local(void)
{
	int x[10];
	int *volatile p = x;

	x[3] = 4;
	return p;
}

static void planted(void)
{
	int *volatile p = malloc(40);

	if (what == 'r' || what == 's')
		sum++;
	if (what == 'f') {
		free(p);
		printf("%d\n", p[3]);
		return;
	}
	if (what == 'u') {
		stale = gives_its_local();
		uk_yield();
		printf("%d\n", stale[3]);
	}
	free(p);
}

static void *body(void *arg)
{
	char frame[2000];

	for (int i = 0; i < 300; i++) {
		memset(frame, i, sizeof(frame));
		if (what != 'r')
			uk_mutex_lock(&mutex);
		planted();
		if (what != 'r')
			uk_mutex_unlock(&mutex);
		if (i % 10 == 0)
			uk_sleep(UK_MS / 20);
	}
	return arg;
}

int main(int argc, char **argv)
{
	uk_thread *t[8];

	what = argc > 1 ? argv[1][0] : 's';
	for (int i = 0; i < 8; i++)
		if (uk_thread_create(&t[i], NULL, body, NULL))
			return 3;
	for (int i = 0; i < 8; i++)
		if (uk_thread_join(t[i], NULL))
			return 4;
	puts("done");
	return 0;
}
"""
CASES = [  # sanitizer, planted fault, expected report (None: no report)
    ("tsan", "s", None), ("tsan", "r", "data race"),
    ("asan", "s", None), ("asan", "f", "heap-use-after-free"),
    ("asan", "u", "stack-use-after-return"),
]


def build(tmp, name, flag):
    src = os.path.join(tmp, "program.c")
    with open(src, "w") as f:
        f.write(PROGRAM)
    exe = os.path.join(tmp, name)
    p = subprocess.run(["cc", "-g", "-O1", "-fsanitize=" + flag, src, "-o", exe,
                        "-I" + os.path.join(ROOT, "include"), "-L" + os.path.join(BUILD, "src"),
                        "-lukthreads"], capture_output=True, text=True)
    if p.returncode:
        sys.exit("the program does not compile: " + p.stderr)
    return exe


def main():
    env = {k: v for k, v in os.environ.items() if not k.startswith("UK_")}
    env.update(UK_VPS="2", ASAN_OPTIONS="detect_stack_use_after_return=1:detect_leaks=0",
               TSAN_OPTIONS="halt_on_error=0")
    with tempfile.TemporaryDirectory() as tmp:
        exe = {"tsan": build(tmp, "tsan", "thread"), "asan": build(tmp, "asan", "address")}
        for engine in "uring", "epoll":
            for name, planted, said in CASES:
                env.update(UK_REACTOR=engine,
                           LD_LIBRARY_PATH=os.path.join(BUILD, "sanitized", name))
                p = subprocess.run([exe[name], planted], capture_output=True, text=True,
                                   env=env, timeout=600)
                ok = said in p.stderr and p.returncode if said else not p.returncode and (
                    p.stdout == "done\n" and "anitizer" not in p.stderr)
                if not ok:
                    sys.exit("%s, %s, %s: %d %s %s" % (name, engine, planted, p.returncode,
                                                       p.stdout, p.stderr[-3000:]))
                print("ok %s %s: %s" % (name, engine, said or "clean"))
    return 0


sys.exit(main())

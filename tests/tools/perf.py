#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perf.py LIBDIR: `perf record -g` of a program whose user thread computes shows the
call graph of the thread by frame pointers, through the library down to the thread's
first function."""
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIB = os.path.abspath(sys.argv[1])
PROGRAM = r"""
#include <uk/uk.h>
static volatile long sum;
void computes(void);
void *calls_it(void *arg);
void computes(void) { for (long i = 0; i < 100000000; i++) sum += i; }
void *calls_it(void *arg) { computes(); return arg; }
int main(void)
{
	uk_thread *t;
	if (uk_thread_create(&t, NULL, calls_it, NULL)) return 1;
	return uk_thread_join(t, NULL);
}
"""
CHAIN = ["computes", "calls_it", "thread_main"]


def skip(why):
    print("skipped: " + why)
    return 77


def chains(text):
    """The functions of each sample, innermost first."""
    for sample in text.split("\n\n"):
        yield [line.split()[1].split("+")[0] for line in sample.splitlines()
               if line.startswith(("\t", " ")) and len(line.split()) > 1]


def main():
    if not shutil.which("perf"):
        return skip("perf is not installed")
    with tempfile.TemporaryDirectory() as tmp:
        src, exe, data = (os.path.join(tmp, n) for n in ("p.c", "p", "data"))
        with open(src, "w") as f:
            f.write(PROGRAM)
        subprocess.run(["cc", "-g", "-O0", "-fno-omit-frame-pointer", src, "-o", exe,
                        "-I" + os.path.join(ROOT, "include"), "-L" + LIB, "-lukthreads",
                        "-Wl,-rpath," + LIB], check=True)
        p = subprocess.run(["perf", "record", "-q", "-e", "cpu-clock:u", "-g", "-o", data, exe],
                           capture_output=True, text=True, timeout=600)
        if p.returncode:
            return skip("perf record does not work here: " + p.stderr.strip()[:200])
        out = subprocess.run(["perf", "script", "-i", data], capture_output=True, text=True,
                             timeout=600).stdout
    found = [c for c in chains(out) if c[:3] == CHAIN]
    if not found:
        sys.exit("no sample has %s:\n%s" % (CHAIN, out[:3000]))
    print("ok: %d samples" % len(found))
    return 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""lines.py LIBDIR: how many cold cache lines a yield, a wake-up, a timed wait and the
life of a thread in a tree of threads touch, and how many instructions they execute.
cachegrind counts both; nothing is timed. There are more threads than the last-level
cache holds, so each line of a thread is a miss."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LIB = os.path.abspath(sys.argv[1])
THREADS = 4000
TURNS = 40_000
CACHE = "--LL=262144,16,64"  # 4,096 lines
# workload: (most instructions per turn, most misses per turn): a quarter and a tenth
# above the counts, because compilers differ. The misses of the tree also depend on
# the clock: a thread that joins the youngest one goes on with it for 1 ms before others
# have a turn, and under valgrind on a busy machine little fits into 1 ms (0.7 to 2.5
# misses were counted). With the wrong end of the queue it is 16.6.
MOST = {"yield": (310, 3.3), "ring": (875, 12.0), "timed": (950, 13.2), "tree": (1370, 6.0)}
# turns off what runs by the clock: the keeper and the monitor's events
STILL = {"UK_VPS": "1", "UK_DEBUG": "trim=0", "UK_ACTIVATION": "off"}


def count(exe, out, *words):
    p = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=yes",
                        "--D1=32768,8,64", CACHE, "--cachegrind-out-file=" + out, exe,
                        "light", *map(str, words)], text=True, capture_output=True,
                       env=dict(os.environ, **STILL))
    if p.returncode:
        sys.exit("%s: %d %s" % (words, p.returncode, p.stderr[-2000:]))

    def number(what):
        return int(re.search(what + r": +([\d,]+)", p.stderr).group(1).replace(",", ""))

    return number(r"I +refs"), number(r"LLd misses")


def main():
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        return 77
    bad = False
    with tempfile.TemporaryDirectory() as tmp:
        exe, out = os.path.join(tmp, "uk"), os.path.join(tmp, "out")
        subprocess.run(["cc", "-O2", os.path.join(ROOT, "bench/micro/workloads.c"), "-o", exe,
                        '-DAPI="api_uk.h"', "-I" + os.path.join(ROOT, "include"),
                        "-I" + os.path.join(ROOT, "bench/lib"), "-L" + LIB, "-lukthreads",
                        "-pthread", "-lm", "-Wl,-rpath," + LIB], check=True)
        for name, most in MOST.items():
            if name == "tree":  # two rounds of two threads for each number
                few, many = (count(exe, out, name, n * TURNS // 4) for n in (1, 2))
            else:
                few, many = (count(exe, out, name, THREADS, n * TURNS) for n in (1, 2))
            each = [(b - a) / TURNS for a, b in zip(few, many)]
            print("%s: %.0f instructions (most %d), %.2f cold lines (%.1f)"
                  % (name, each[0], most[0], each[1], most[1]))
            bad |= any(n > m for n, m in zip(each, most))
    return 1 if bad else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fast.py LIBDIR: what a receive that finds its data costs, a send that finds space, the
close of a socket that nobody uses, uk_blocking_begin with uk_blocking_end on a vp that
nobody needs, and a round trip over two channels: instructions, locked instructions, cache
lines of code and of data, each from the program's call to its return. valgrind's lackey
lists every instruction and access; nothing is timed."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
LIB = os.path.abspath(sys.argv[1])
# call: (instructions, locked ones, lines of code, lines of data), each at most. Compilers
# differ, so about a quarter above what was counted, but not for the locked ones.
MOST = {"send": (100, 0, 10, 12), "recv": (100, 0, 10, 12), "close": (900, 1, 80, 60),
        "block": (240, 2, 24, 24), "chan": (1090, 4, 68, 40)}
LINE = 64
ROUNDS = 5  # as in fast.c


def locked(lib):
    """The addresses in the library's file of its locked instructions."""
    out = subprocess.run(["objdump", "-d", "--no-show-raw-insn", lib], text=True,
                         capture_output=True, check=True).stdout
    return {int(m[1], 16) for m in re.finditer(
        r"^ +([0-9a-f]+):\s+(?:lock |xchg .*\(%)", out, re.M)}


def symbol(lib, name):
    out = subprocess.run(["nm", "-D", lib], text=True, capture_output=True, check=True).stdout
    return int(re.search(r"^(\w+) T %s(?:@.*)?$" % name, out, re.M)[1], 16)


def trace(exe, log):
    """[(number of the call, [(what, address)])], and where uk_recv is"""
    p = subprocess.run(["valgrind", "--tool=lackey", "--trace-mem=yes", "--log-file=" + log,
                        exe], text=True, capture_output=True, timeout=200,
                       env=dict(os.environ, UK_VPS="1", UK_REACTOR="epoll",
                                UK_ACTIVATION="off", UK_DEBUG="trim=0"))
    if p.returncode:
        sys.exit("%d %s" % (p.returncode, p.stderr[-2000:]))
    mark, recv = (int(w, 16) for w in p.stdout.split())
    runs, now = [], None
    with open(log) as f:
        for line in f:
            m = re.match(r"(I |  ?[SLM]) +([0-9a-f]+),", line)
            if not m:
                continue
            what, at = m[1].strip(), int(m[2], 16)
            if what == "S" and at == mark:
                now = None if now is not None else []
                if now is not None:
                    runs.append(now)
            elif now is not None:
                now.append((what, at))
    return runs, recv


def main():
    for tool in "valgrind", "objdump", "nm":
        if not shutil.which(tool):
            print("skipped: %s is not installed" % tool)
            return 77
    lib = os.path.join(LIB, "libukthreads.so")
    bad = False
    with tempfile.TemporaryDirectory() as tmp:
        exe = os.path.join(tmp, "fast")
        subprocess.run(["cc", "-O2", os.path.join(HERE, "fast.c"), "-o", exe,
                        "-I" + os.path.join(ROOT, "include"), "-L" + LIB, "-lukthreads",
                        "-pthread", "-Wl,-rpath," + LIB], check=True)
        runs, recv = trace(exe, os.path.join(tmp, "log"))
        locks, base = locked(lib), recv - symbol(lib, "uk_recv")
    per = len(runs) // ROUNDS
    rounds = [runs[i * per:(i + 1) * per][-len(MOST):] for i in range(ROUNDS)]
    for name, *same in zip(MOST, *rounds):
        run = min(same, key=len)  # valgrind may run another thread within a call
        code = [a for what, a in run if what == "I"]
        data = [a for what, a in run if what != "I"]
        got = (len(code), sum(a - base in locks for a in code),
               len({a // LINE for a in code}), len({a // LINE for a in data}))
        print("%s: %d instructions, %d locked, %d lines of code, %d of data (at most %s)"
              % (name, *got, ", ".join(map(str, MOST[name]))))
        bad |= any(n > m for n, m in zip(got, MOST[name]))
    return 1 if bad else 0


sys.exit(main())

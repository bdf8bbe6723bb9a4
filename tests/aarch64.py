#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""aarch64.py [--run]: the library and the preload library compile and link for aarch64, if there is
a cross compiler (scripts/deps check).

--run: tests of threads, locks, cancellation and sockets also run under qemu-user. On aarch64 all
threads are light, and qemu has no io_uring, so the engine is epoll. Left out because of qemu:
io/rw (ttys), io/sock (a socket type), io/poll (EINVAL), io/gather (hangs)."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

QEMU = "qemu-aarch64-static"
RUN = ("arch/switch", "api/life", "api/cancel", "api/signals", "sync/mutex", "sync/chan", "io/conn",
       "io/late")
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CC = "aarch64-linux-gnu-gcc"
FLAGS = ["-std=gnu17", "-D_GNU_SOURCE", '-DUK_VERSION="0"', "-DUK_HAVE_LIBUNWIND=0",
         "-DUK_HAVE_VALGRIND=0", "-DUK_HAVE_SDT=0", "-Iinclude", "-Isrc",
         "-Wall", "-Wextra", "-Werror", "-O1", "-fPIC", "-fvisibility=hidden", "-fno-strict-aliasing", "-pthread"]


def compile_one(job):
    src, obj = job
    p = subprocess.run([CC, *FLAGS, "-c", src, "-o", obj], cwd=ROOT, capture_output=True,
                       text=True)
    return p.stderr if p.returncode else ""


def link(objects, symbols, out):
    p = subprocess.run([CC, "-shared", "-pthread", "-o", out, "-Wl,-z,defs",
                        "-Wl,--version-script," + symbols, *objects, "-ldl", "-lm"],
                       cwd=ROOT, capture_output=True, text=True)
    return p.stderr if p.returncode else ""


def execute(name, objects, tmp):
    exe = os.path.join(tmp, name.replace("/", "-"))
    p = subprocess.run([CC, *FLAGS, "-Itests", "-o", exe, "tests/%s.c" % name, *objects, "-ldl", "-lm"],
                       cwd=ROOT, capture_output=True, text=True)
    if p.returncode:
        return p.stderr
    try:
        p = subprocess.run([QEMU, "-L", "/usr/aarch64-linux-gnu", exe], cwd=ROOT, timeout=300,
                           capture_output=True, text=True, env={**os.environ, "UK_VPS": "2"})
    except subprocess.TimeoutExpired as e:
        return "%s hangs:\n%s" % (name, e.stdout)
    if p.returncode not in (0, 77):
        return "%s: %d\n%s%s" % (name, p.returncode, p.stdout, p.stderr)
    print("ran", name)
    return ""


def main():
    run = "--run" in sys.argv[1:]
    if run and not shutil.which(QEMU):
        print("no %s (Debian: qemu-user-static)\n0 passed, 0 failed, 1 skipped" % QEMU)
        return 77
    if not shutil.which(CC):
        print("skipped: no " + CC)
        return 77
    sources = [os.path.relpath(s, ROOT) for pattern in
               ("src/*/*.c", "src/*/*_aarch64.S", "src/arch/aarch64/*.[cS]")
               for s in sorted(glob.glob(os.path.join(ROOT, pattern)))]
    with tempfile.TemporaryDirectory() as tmp:
        jobs = [(s, os.path.join(tmp, s.replace("/", "_") + ".o")) for s in sources]
        with ThreadPoolExecutor(2) as pool:
            bad = [e for e in pool.map(compile_one, jobs) if e]
        if not bad:
            rooms = [o for s, o in jobs if not s.startswith("src/preload/")]
            bad = [e for e in (
                link(rooms, "src/ukthreads.map", os.path.join(tmp, "lib.so")),
                link([o for _, o in jobs], "src/preload/versions_aarch64.map", os.path.join(tmp, "posix.so")))
                if e]
        if run and not bad:
            bad = [e for e in (execute(name, rooms, tmp) for name in RUN) if e]
            print("\n".join(bad))
            print("%d passed, %d failed, 0 skipped" % (len(RUN) - len(bad), len(bad)))
            return 1 if bad else 0
    if bad:
        print("\n".join(bad))
        return 1
    print("ok: %d sources" % len(sources))
    return 0


sys.exit(main())

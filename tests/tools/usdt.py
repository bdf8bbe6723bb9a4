#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usdt.py HAVE_SDT TARGET LIBRARY...: each library has the probes of src/base/usdt.h. In TARGET,
which links the first one, gdb stops at them and sees the right thread, carriers and times."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

ARGUMENTS = {"block": 5, "hog": 5, "handoff": 4, "unblock": 5}
PRINT = {
    "block": ('block %d %d %d "%s" %d', "$_probe_arg0, $_probe_arg1, $_probe_arg2, "
              "(char *)$_probe_arg3, $_probe_arg4"),
    "hog": ('hog %d %d %d "%s" %ld', "$_probe_arg0, $_probe_arg1, $_probe_arg2, "
            "(char *)$_probe_arg3, $_probe_arg4"),
    "handoff": ("handoff %d %d %d %ld", "$_probe_arg0, $_probe_arg1, $_probe_arg2, $_probe_arg3"),
    "unblock": ('unblock %d "%s" %d %ld %d', "$_probe_arg0, (char *)$_probe_arg1, $_probe_arg2, "
                "$_probe_arg3, $_probe_arg4")}
MS = 1000000


def notes(library):
    out = subprocess.run(["readelf", "-n", library], capture_output=True, text=True,
                         check=True).stdout
    found = {}
    for name, semaphore, args in re.findall(
            r"Provider: ukthreads\n +Name: (\w+)\n.*Semaphore: 0x([0-9a-f]+)\n +Arguments: (.*)", out):
        if int(semaphore, 16) == 0:
            sys.exit("%s: %s has no semaphore" % (library, name))
        found.setdefault(name, set()).add(len(args.split()))
    if found != {k: {v} for k, v in ARGUMENTS.items()}:
        sys.exit("%s: wrong probes: %s\n%s" % (library, found, out))
    print("ok the notes of " + os.path.basename(library))


def trace(target):
    """What gdb printed."""
    stops = ("break -probe-stap ukthreads:%s\ncommands\nsilent\nprintf \"EVENT %s\\n\", %s\n"
             "continue\nend\n" % (name, text.replace('"', '\\"'), args)
             for name, (text, args) in PRINT.items())
    with tempfile.NamedTemporaryFile("w", suffix=".gdb") as script:
        script.write("""set pagination off
set debuginfod enabled off
set print thread-events off
handle all nostop noprint pass
break main
run
info probes stap ukthreads
%scontinue
""" % "".join(stops))
        script.flush()
        p = subprocess.run(["gdb", "-nx", "-batch", "-x", script.name, target], text=True,
                           capture_output=True, timeout=200, env=dict(os.environ, UK_VPS="1"))
    return p.stdout + p.stderr


def events(out, pattern):
    return [tuple(int(v) if v.isdigit() else v for v in m)
            for m in re.findall("^EVENT " + pattern + "$", out, re.M)]


def check(out):
    bad = []
    blocks = events(out, r'block (\d+) (\d+) (\d+) "(.*)" (\d)')
    hogs = events(out, r'hog (\d+) (\d+) (\d+) "(.*)" (\d+)')
    moves = events(out, r"handoff (\d+) (\d+) (\d+) (\d+)")
    backs = events(out, r'unblock (\d+) "(.*)" (\d+) (\d+) ([01])')
    ours = [b for b in blocks if b[3] == "sleepy-one"]
    seen, left = [b for b in ours if b[4] < 2], [b for b in ours if b[4] == 2]
    if not seen or not left:
        bad.append("block: expected sleepy-one, once noticed and once announced")
    if not any(h[3] == "sleepy-one" and h[4] >= 5 * MS for h in hogs):
        bad.append("hog: expected sleepy-one with its CPU time")
    for vp, tid, thread, name, _ in seen[:1] + left[:1]:
        if not any(m[:2] == (vp, tid) and m[2] != tid and 0 < m[3] < 10**11 for m in moves):
            bad.append("handoff: expected vp %d to leave carrier %d" % (vp, tid))
        if not any(b[:3] == (thread, name, tid) and 20 * MS <= b[3] < 10**11 for b in backs):
            bad.append("unblock: expected thread %d %s on carrier %d" % (thread, name, tid))
    if "exited normally" not in out:
        bad.append("the program did not end")
    if bad:
        sys.exit(out + "\n" + "\n".join(bad))
    print("ok %d blocks, %d hogs, %d hand-offs, %d returns" %
          (len(blocks), len(hogs), len(moves), len(backs)))


def main():
    if sys.argv[1] != "true":
        print("skipped: built without <sys/sdt.h> (package systemtap-sdt-dev)")
        return 77
    for library in sys.argv[3:]:
        notes(library)
    if not shutil.which("gdb"):
        print("skipped: gdb is not installed")
        return 77
    out = trace(sys.argv[2])
    if "ptrace" in out and "not permitted" in out:
        print("skipped: ptrace is not permitted here")
        return 77
    if not re.search(r"^stap +ukthreads +block ", out, re.M):
        print("skipped: this gdb knows no static probes\n" + out)
        return 77
    check(out)
    return 0


sys.exit(main())

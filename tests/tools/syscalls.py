#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""syscalls.py BUILD [UKWEB]: programs make only the system calls that uk-syscalls(7)
lists, so a new one is a deliberate change.

On both engines it traces examples, ukweb while it serves, and a Python program under
`uk run`, compared with its native run. Then it runs the examples under a filter that
kills the process at any other system call. It also checks that the library does not ask
the kernel each time whether a socket is non-blocking."""
import ctypes
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import time
import urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.abspath(sys.argv[1])
UKWEB = os.path.abspath(sys.argv[2]) if len(sys.argv) > 2 else None
ENGINES = {"uring": "IO_URING", "epoll": "EPOLL"}
EXAMPLES = "threads", "async", "io", "blocking"
OWN = set("bind getsockname listen pipe2 pwrite64 socketpair unlink".split())  # of the examples
PYTHON = """
import os, queue, socket, subprocess, tempfile, threading, time
q = queue.Queue()
a, b = socket.socketpair()
def starts():
    subprocess.run(["true"], check=True)
    with tempfile.TemporaryFile() as f:
        f.write(b"x"); f.flush(); os.fsync(f.fileno())
    time.sleep(0.01)
ts = [threading.Thread(target=f) for f in (lambda: q.put(a.recv(10)), starts)]
for t in ts: t.start()
b.send(b"x")
for t in ts: t.join()
"""

# The thread of an event loop, which often finds nothing to read. O_NONBLOCK is set at
# creation, or once later.
LOOP = """
import socket, threading
def reads(s):
    for i in range(200):
        try:
            s.recv(10)
        except BlockingIOError:
            pass
def loop():
    for kind in socket.SOCK_NONBLOCK, 0:
        for s in socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM | kind):
            s.setblocking(False)
            reads(s)
t = threading.Thread(target=loop); t.start(); t.join()
"""
ASKS_MOST = 40


def lists():
    """{section of the page: names}"""
    found, section = {}, None
    for line in open(os.path.join(ROOT, "docs/man/uk-syscalls.7")):
        if line.startswith(".Sh "):
            section = line[4:].strip()
        elif line.startswith(".It Sy "):
            found.setdefault(section, []).extend(line.split()[2:])
    names = [n for ns in found.values() for n in ns]
    assert len(names) == len(set(names)), sorted(n for n in names if names.count(n) > 1)
    return {s: set(ns) for s, ns in found.items()}


def environment(engine):
    env = {k: v for k, v in os.environ.items() if not k.startswith("UK_")}
    return dict(env, UK_REACTOR=engine, UK_VPS="2") if engine else env


def traced(out, *words):
    return ["strace", "-f", "-qq", "-e", "signal=none", "-o", out, *words]


def names_in(out):
    """The calls that returned, and the exits. For a thread that is in a call when its
    process ends, strace may print a wrong name (dup, once in some sixty runs)."""
    text = open(out, errors="replace").read()
    ended = re.findall(r"^\d+ +(?:<\.\.\. )?(\w+)(?:\(| resumed>).* = [^?]", text, re.M)
    return set(ended) | set(re.findall(r"^\d+ +(exit\w*)\(", text, re.M))


def calls(tmp, engine, *words):
    out = os.path.join(tmp, "calls")
    subprocess.run(traced(out, *words), env=environment(engine), check=True, timeout=100,
                   stdout=subprocess.DEVNULL)
    return names_in(out)


def asks(tmp, engine):
    """How often the kernel is asked whether a socket is non-blocking."""
    out = os.path.join(tmp, "calls")
    subprocess.run(traced(out, os.path.join(BUILD, "uk"), "run", sys.executable, "-c", LOOP),
                   env=environment(engine), check=True, timeout=100)
    text = open(out, errors="replace").read()
    assert text.count("EAGAIN") >= 800, text.count("EAGAIN")
    return text.count("F_GETFL")


def fetch(port, path):
    with urllib.request.urlopen("http://127.0.0.1:%d%s" % (port, path), timeout=20) as r:
        return r.read()


def serving(tmp, engine):
    """The system calls of ukweb from its start to its end."""
    out, log = os.path.join(tmp, "calls"), os.path.join(tmp, "log")
    with open(os.path.join(tmp, "big"), "wb") as f:
        f.write(bytes(300_000))
    with open(log, "w") as said:
        p = subprocess.Popen(traced(out, UKWEB, "--port=0", "--root=" + tmp), stderr=said,
                             env=environment(engine), stdout=said)
    port = None
    while not port:  # until it prints its port
        assert p.poll() is None, open(log).read()
        port = re.search(r"http://[^/\s]*:(\d+)", open(log).read())
        time.sleep(0.01)
    assert len(fetch(int(port.group(1)), "/big")) == 300_000
    fetch(int(port.group(1)), "/-/status.json")
    pid = open("/proc/%d/task/%d/children" % (p.pid, p.pid)).read().split()[0]
    os.kill(int(pid), 15)
    assert p.wait(60) == 0, open(log).read()
    return names_in(out)


def numbers():
    out = subprocess.run(["cc", "-dM", "-E", "-include", "sys/syscall.h", "-xc", "/dev/null"],
                         capture_output=True, text=True, check=True).stdout
    return {n: int(nr) for n, nr in re.findall(r"#define __NR_(\w+) (\d+)$", out, re.M)}


def confine(allowed):
    """Returns a function that installs a filter which kills the process at any call not
    in `allowed`."""
    known = numbers()
    let = [known[n] for n in sorted(allowed) if n in known]
    code = [struct.pack("=HBBI", 0x20, 0, 0, 0)]  # loads the system call number
    code += [struct.pack("=HBBI", 0x15, len(let) - i, 0, nr) for i, nr in enumerate(let)]
    code += [struct.pack("=HBBI", 6, 0, 0, r) for r in (0x80000000, 0x7fff0000)]
    program = ctypes.create_string_buffer(b"".join(code))
    fprog = struct.pack("=HxxxxxxQ", len(code), ctypes.addressof(program))
    libc = ctypes.CDLL(None, use_errno=True)

    def go():
        if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, fprog, 0, 0):
            os._exit(99)
    return go, program


def filtered(engine, example, allowed):
    go, kept = confine(allowed)
    p = subprocess.run([example], env=environment(engine), preexec_fn=go, timeout=100,
                       stdout=subprocess.DEVNULL, check=False)
    del kept
    return p.returncode


def main():
    if not shutil.which("strace"):
        print("skipped: strace is not installed")
        return 77
    page, bad = lists(), []
    always = page["THE C LIBRARY"] | page["THE RUNTIME"]
    asked = page["AS THE PROGRAM ASKS"] | page["NOW AND THEN"]

    def judge(what, seen, allowed):
        if seen - allowed:
            bad.append("%s: not listed: %s" % (what, " ".join(sorted(seen - allowed))))

    with tempfile.TemporaryDirectory() as tmp:
        try:
            plain = calls(tmp, None, sys.executable, "-c", PYTHON)
        except subprocess.CalledProcessError:
            print("skipped: strace is not permitted to trace here")
            return 77
        for engine, section in ENGINES.items():
            allowed, all_seen = always | page[section] | asked, set()
            for name in EXAMPLES:
                program = os.path.join(BUILD, "examples", "example-" + name)
                seen = calls(tmp, engine, program)
                judge("%s, %s" % (name, engine), seen, allowed | OWN)
                all_seen |= seen
                r = filtered(engine, program, allowed | OWN)
                if r:
                    bad.append("%s, %s: exit status %d under the filter" % (name, engine, r))
            if UKWEB:
                seen = serving(tmp, engine)
                judge("ukweb, " + engine, seen, allowed | page["UKWEB"])
                all_seen |= seen
            seen = calls(tmp, engine, os.path.join(BUILD, "uk"), "run", sys.executable, "-c",
                         PYTHON)
            judge("uk run, " + engine, seen - plain, allowed | page["UK RUN"])
            asked_for = asks(tmp, engine)
            if asked_for > ASKS_MOST:
                bad.append("%s: F_GETFL was called %d times" % (engine, asked_for))
            idle = (page["THE RUNTIME"] | page[section]) - all_seen - seen
            if idle:
                bad.append("%s: listed but never called: %s" % (engine, " ".join(sorted(idle))))
    print("\n".join(bad) or "ok")
    return 1 if bad else 0


sys.exit(main())

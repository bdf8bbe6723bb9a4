#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test the example of docs/PORTING.md: the threaded proxy and its port are built. They do the same
with well-behaved, rude and resetting clients, and end in the same way at SIGTERM. The page
gives the size of the change that diff reports."""
import os
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build")
HERE = os.path.join(ROOT, "examples", "porting")
HANG = 300
CLIENTS = 60
bad = []


def origin(listener):
    """Echo what comes, until the peer ends."""
    def one(s):
        try:
            while True:
                d = s.recv(65536)
                if not d:
                    break
                s.sendall(d)
        except OSError:
            pass
        s.close()
    while True:
        try:
            s, _ = listener.accept()
        except OSError:
            return
        threading.Thread(target=one, args=(s,), daemon=True).start()


def connect(port):
    s = socket.create_connection(("127.0.0.1", port))
    s.settimeout(HANG)
    return s


def until_end(s):
    out = b""
    while True:
        d = s.recv(65536)
        if not d:
            return out
        out += d


def through(port, target, data):
    with connect(port) as s:
        s.sendall(b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % target)
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += s.recv(1)
        assert head.startswith(b"HTTP/1.1 200"), head
        sender = threading.Thread(target=lambda: (s.sendall(data),
                                                  s.shutdown(socket.SHUT_WR)))
        sender.start()
        got = until_end(s)
        sender.join()
        assert got == data, (len(got), len(data))


def resets(port, target):
    s = connect(port)
    s.sendall(b"CONNECT localhost:%d HTTP/1.1\r\n\r\n" % target + b"x" * 100000)
    s.recv(10)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    s.close()


def drive(exe, target):
    """Return its last output without the byte counts, because a reset loses bytes."""
    p = subprocess.Popen([exe, "0", "50"], stdout=subprocess.PIPE, text=True)
    try:
        port = int(p.stdout.readline().split()[-1])
        with connect(port) as s:
            s.sendall(b"GET / HTTP/1.1\r\n\r\n")
            assert until_end(s).startswith(b"HTTP/1.1 400")
        with socket.socket() as nobody:
            nobody.bind(("127.0.0.1", 0))
            with connect(port) as s:
                s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\r\n\r\n" % nobody.getsockname()[1])
                said = until_end(s)
                assert said.startswith(b"HTTP/1.1 502") and b"refused" in said, said
        errors = []

        def client(i):
            try:
                if i % 6 == 5:
                    resets(port, target)
                else:
                    through(port, target, os.urandom(1 + i * 7919))
            except Exception as e:  # reported below, with the client's number
                errors.append("client %d: %r" % (i, e))
        ts = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
        for t in ts:
            t.start()
        for t in ts:
            t.join()
        assert not errors, errors[:5]
        # at SIGTERM, a client that is being served is served to its end
        with connect(port) as s:
            s.sendall(b"CONNECT localhost:%d HTTP/1.1\r\n\r\nfirst" % target)
            got = b""
            while not got.endswith(b"first"):
                got += s.recv(100)
            p.send_signal(signal.SIGTERM)
            s.sendall(b"last")
            s.shutdown(socket.SHUT_WR)
            assert until_end(s) == b"last"
        out = p.stdout.read()
        assert p.wait(HANG) == 0, p.returncode
        return re.sub(r", \d+ bytes", "", out.strip())
    finally:
        p.kill()
        p.wait()


def said():
    """Compare the +a/-b of N lines in the page with diff."""
    page = open(os.path.join(ROOT, "docs", "PORTING.md")).read()
    old = os.path.join(HERE, "threaded.c")
    diff = subprocess.run(["diff", old, os.path.join(HERE, "ported.c")], text=True,
                          stdout=subprocess.PIPE).stdout
    want = "%d lines, +%d/-%d" % (len(open(old).readlines()),
                                  len(re.findall(r"^>", diff, re.M)),
                                  len(re.findall(r"^<", diff, re.M)))
    if want not in page:
        bad.append("docs/PORTING.md does not say '%s'" % want)


def main():
    listener = socket.create_server(("127.0.0.1", 0), backlog=200)
    threading.Thread(target=origin, args=(listener,), daemon=True).start()
    target = listener.getsockname()[1]
    lib = os.path.join(BUILD, "src")
    ends = []
    with tempfile.TemporaryDirectory() as tmp:
        for name in ("threaded", "ported"):
            exe = os.path.join(tmp, name)
            subprocess.run(os.environ.get("CC", "cc").split() +
                           ["-O2", "-Wall", "-Wextra", "-Werror", "-pthread", "-o", exe,
                            os.path.join(HERE, name + ".c"), "-I",
                            os.path.join(ROOT, "include"), "-L", lib, "-lukthreads",
                            "-Wl,-rpath," + lib], check=True)
            ends.append(drive(exe, target))
            print("%s: %s" % (name, ends[-1]))
    if ends[0] != ends[1] or "2 refused" not in ends[0]:
        bad.append("the two programs end differently: %s" % ends)
    said()
    for b in bad:
        print("FAILED " + b)
    return 1 if bad else 0


sys.exit(main())

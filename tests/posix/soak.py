#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""soak.py BUILD [NAME...] [--minutes N]: run servers under load for a long time, natively and by
`uk run` on both engines, all three side by side, and see that nothing grows.

Meanwhile the servers are stopped for a second and continued, and those that can reload their
configuration are told to. A server fails if
- a client gets a wrong answer or loses its connection (a reload may close one between two requests),
- it does not end by its signal with the status of the native one,
- by `uk run` it grows and the native one does not: after the first tenth of the time, its memory by
  more than 1 MB and 3 %, or its descriptors by more than 10."""
import argparse
import contextlib
import os
import re
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import programs
from programs import LIMIT, PYTHON, MariaDB, Runner, Wrong, apache_site, free_port, listens, source

SERVERS = {}
EVERY = 5  # seconds between two samples; a disturbance at each sixth


def server(*commands):
    def add(fn):
        SERVERS[fn.__name__] = fn
        fn.commands = commands
        return fn
    return add


# ---- clients ----

class Connections:
    """n connections, each of which asks, waits for the whole answer, and asks again a second later."""

    def __init__(self, port, n, ask, over, seconds):
        self.port, self.ask, self.over = port, ask, over
        self.answers, self.errors, self.reopened = 0, [], 0
        self.end = time.monotonic() + seconds
        self.sel = selectors.DefaultSelector()
        self.due = [(time.monotonic() + k / n, k, self.connect()) for k in range(n)]
        self.thread = threading.Thread(target=self.work)
        self.thread.start()

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), LIMIT)
        s.settimeout(LIMIT)
        return s

    def send(self, k, s):
        for _ in range(2):
            try:
                question, answer = self.ask(k, self.answers)
                s.sendall(question)
                self.sel.register(s, selectors.EVENT_READ, [k, question, answer, b"", time.monotonic()])
                return
            except OSError:
                self.reopened += 1
                s.close()
                s = self.connect()

    def receive(self, key):
        k, question, answer, got, began = key.data
        try:
            more = key.fileobj.recv(1 << 16)
        except OSError:
            more = b""
        got += more
        key.data[3] = got
        if more and not self.over(got, answer):
            return
        self.sel.unregister(key.fileobj)
        s = key.fileobj
        if not more:
            if got:
                self.errors.append("cut: %r" % got[:60])
            self.reopened += 1
            s.close()
            s = self.connect()
        elif answer not in got:
            self.errors.append("asked %r, got %r" % (question[:60], got[:200]))
        else:
            self.answers += 1
        self.due.append((began + 1, k, s))

    def work(self):
        try:
            while time.monotonic() < self.end:
                now = time.monotonic()
                while self.due and self.due[0][0] <= now:
                    self.send(*self.due.pop(0)[1:])
                wait = self.due[0][0] - now if self.due else 1
                for key, _ in self.sel.select(max(0, min(wait, 1))):
                    self.receive(key)
            for key in list(self.sel.get_map().values()):
                key.fileobj.settimeout(LIMIT)
                while key.fileobj in [k.fileobj for k in self.sel.get_map().values()]:
                    self.receive(key)
        except Exception as e:
            self.errors.append("%s: %s" % (type(e).__name__, e))
        for _, _, s in self.due:
            s.close()

    def result(self):
        self.thread.join()
        return self.answers, self.reopened, self.errors


def http(path):
    def ask(k, i):
        n = i % 50
        return (b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path(n), b"%d" % n * 3000)
    return ask


def page_over(got, answer):
    head, _, body = got.partition(b"\r\n\r\n")
    size = re.search(rb"content-length: (\d+)", head, re.I)
    return bool(size) and len(body) >= int(size.group(1))


# ---- servers: each yields the process, how to reload it, its clients ----

@server("memcached")
def memcached(r, seconds):
    port = free_port()
    with r.server("memcached", "-u", "root", "-l", "127.0.0.1", "-p", port, "-U", 0, "-t", 4,
                  "-c", 2000) as p:
        listens(port)

        def ask(k, i):
            v = b"%06d" % (i % 1000000) * 100
            return b"set k%d 0 0 600\r\n%s\r\nget k%d\r\n" % (k, v, k), v
        yield p, signal.SIGHUP, Connections(port, 200, ask, lambda got, _: got.endswith(b"END\r\n"),
                                            seconds)


@server("apache2")
def apache(r, seconds):
    port = free_port()
    cmd = apache_site(r, port)
    with open(os.path.join(r.tmp, "conf"), "a") as f:
        f.write("ServerLimit 60\nMaxRequestWorkers 1500\nKeepAliveTimeout 60\n")
    with r.server(*cmd) as p:
        listens(port)
        yield p, signal.SIGUSR1, Connections(port, 1000, http(lambda n: b"%d" % n), page_over, seconds)


@server()
def python_http(r, seconds):
    with r.server(PYTHON, source("http_server.py"), stop=signal.SIGTERM, ok=(-15,)) as p:
        port = int(p.stdout.readline())

        def ask(k, i):
            path = b"/%d/%d" % (k, i)
            return b"GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n" % path, path * 50
        yield p, None, Connections(port, 100, ask, page_over, seconds)


@server("java")
def java_http(r, seconds):
    with r.server("java", "-Xmx128m", source("Pages.java"), ok=(143,)) as p:
        port = int(p.stdout.readline())
        yield p, None, Connections(port, 200, http(lambda n: b"%d" % n), page_over, seconds)


class Sysbench:
    def __init__(self, db, seconds):
        self.p = subprocess.Popen(
            ["sysbench", "oltp_read_write", "--mysql-socket=" + db.sock, "--mysql-user=root",
             "--tables=4", "--table-size=25000", "--threads=200", "--rate=100", "--time=%d" % seconds,
             "run"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def result(self):
        out = self.p.communicate()[0]
        done = re.search(r"transactions: +(\d+)", out)
        return int(done.group(1)) if done else 0, 0, re.findall(r"FATAL.*", out)[:5]


@server("mariadbd", "mariadb", "mariadb-install-db", "sysbench")
def mariadb(r, seconds):
    db = MariaDB(r)
    with db.server("--innodb-flush-log-at-trx-commit=2") as p:
        db.sql("create database sbtest")
        programs.sysbench(db, "read_write", "prepare")
        yield p, signal.SIGHUP, Sysbench(db, seconds)


# ---- samples ----

def family(pid):
    found = [pid]
    for p in found:
        with contextlib.suppress(OSError), open("/proc/%d/task/%d/children" % (p, p)) as f:
            found += map(int, f.read().split())
    return found


def sample(pid):
    """Resident memory in KB, and descriptors, of the process and its descendants."""
    rss = fds = 0
    for p in family(pid):
        with contextlib.suppress(OSError, AttributeError):  # it may have ended
            with open("/proc/%d/status" % p) as f:
                rss += int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))
            fds += len(os.listdir("/proc/%d/fd" % p))
    return rss, fds


def slope(values):
    """Least squares, per sample."""
    n = len(values)
    x, y = (n - 1) / 2, sum(values) / n
    return sum((i - x) * (v - y) for i, v in enumerate(values)) / max(sum(
        (i - x) ** 2 for i in range(n)), 1)


class One(threading.Thread):
    def __init__(self, name, label, prefix, env, seconds):
        super().__init__()
        self.label, self.seconds = label, seconds
        self.samples, self.result, self.wrong, self.status = [], None, None, None
        self.args = name, prefix, env

    def run(self):
        name, prefix, env = self.args
        try:
            with tempfile.TemporaryDirectory() as tmp:
                r = Runner(prefix, tmp)
                r.env.update(env, PATH=r.env["PATH"] + ":/usr/sbin")
                for p, reload, clients in SERVERS[name](r, self.seconds):
                    self.watch(p, reload)
                    self.result = clients.result()
                self.status = p.returncode
        except (Wrong, OSError) as e:
            self.wrong = str(e)

    def watch(self, p, reload):
        end = time.monotonic() + self.seconds - 2 * EVERY  # the clients have not left yet
        while time.monotonic() < end and p.poll() is None:
            time.sleep(EVERY)
            self.samples.append(sample(p.pid))
            n = len(self.samples) % 12
            if n == 0 and reload:
                p.send_signal(reload)
            elif n == 6:
                for sig in (signal.SIGSTOP, signal.SIGCONT):
                    for one in family(p.pid):
                        with contextlib.suppress(ProcessLookupError):
                            os.kill(one, sig)
                    time.sleep(1)

    def growth(self):
        """Of both figures: over the whole time without its first tenth, and the last value."""
        late = self.samples[len(self.samples) // 10:] or [(0, 0)]
        return [(slope(v) * len(v), v[-1]) for v in zip(*late)]

    def line(self):
        rss, fds = self.growth()
        answers, reopened, errors = self.result or (0, 0, [])
        return "%-12s %9d answers %3d errors %5d reopened  %7d KB %+6.0f  %5d fds %+5.1f  status %s" % (
            self.label, answers, len(errors), reopened, rss[1], rss[0], fds[1], fds[0], self.status)


def soak(name, uk, minutes):
    seconds = minutes * 60
    ones = [One(name, "native", [], {}, seconds)] + [
        One(name, e, [uk, "run", "--"], {"UK_REACTOR": e}, seconds) for e in ("uring", "epoll")]
    bad = []
    for o in ones:
        o.start()
    for o in ones:
        o.join()
    native = ones[0].growth()
    for o in ones:
        print("%-12s %s" % (name, o.line()), flush=True)
        rss, fds = o.growth()
        if o.wrong or not o.result or o.result[2] or o.status != ones[0].status:
            bad.append("%s: %s %s" % (o.label, o.wrong, o.result and o.result[2][:5]))
        elif (rss[0] > max(1024, rss[1] * .03) and rss[0] > 2 * native[0][0]) or (
                fds[0] > 10 and fds[0] > 2 * native[1][0]):
            bad.append("%s: it grows" % o.label)
    for b in bad:
        print("FAILED  %s, %s" % (name, b), flush=True)
    return not bad


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build", type=os.path.abspath)
    a.add_argument("names", nargs="*", metavar="NAME", help=", ".join(SERVERS))
    a.add_argument("--minutes", type=float, default=20)
    opts = a.parse_args()
    os.environ["PATH"] += ":/usr/sbin"
    if set(opts.names) - set(SERVERS):
        a.error("known are " + ", ".join(SERVERS))
    missing = [c for name in opts.names or SERVERS for c in SERVERS[name].commands if not shutil.which(c)]
    if missing:
        sys.exit("soak.py: not installed: " + ", ".join(missing))
    good = [soak(name, os.path.join(opts.build, "uk"), opts.minutes) for name in opts.names or SERVERS]
    print("%d passed, %d failed, 0 skipped" % (sum(good), len(good) - sum(good)))
    return not all(good)


if __name__ == "__main__":
    sys.exit(main())

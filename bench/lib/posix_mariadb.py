# SPDX-License-Identifier: Apache-2.0
"""Workload posix-mariadb: MariaDB with a thread for each connection, natively and under
`uk run`, and with its own alternative, the thread pool. sysbench is the client.

All use one private set of tables in turn (bench/out/mariadb), made once. The machine's
own service is never touched. The log is written at each commit and flushed once a
second, so that threads are compared and not disks."""
import os
import re
import select
import shutil
import subprocess
import time

import build
import harness
import servers
from posix_programs import CLIENT, fitting, under

RUNS = 3
SECONDS = 10
COUNTS = (16, 128, 1_000, 5_000)
SYSTEMS = ("native", "uk-run", "uk-run-epoll", "pool")
HOME = os.path.join(build.OUT, "mariadb")
TABLES, ROWS = 4, 10_000
PATIENCE = 600  # s: only ends hangs
KERNEL_STACK = 16 << 10
TARGETS = {16: "0.97 x native or more", 1_000: "above native", 5_000: "above pool"}


def command(system):
    handling = "pool-of-threads" if system == "pool" else "one-thread-per-connection"

    def words(port, cpus, n):
        mariadbd = [build.which("mariadbd", "mariadb-server"), "--no-defaults",
                    f"--datadir={HOME}/data", f"--socket={HOME}/{port}.sock",
                    f"--pid-file={HOME}/{port}.pid", "--bind-address=127.0.0.1",
                    f"--port={port}", f"--thread-handling={handling}",
                    f"--max-connections={n + 50}", "--back-log=4096",
                    "--table-open-cache=20000", "--innodb-buffer-pool-size=256M",
                    "--innodb-flush-log-at-trx-commit=2", "--skip-name-resolve", "--log-warnings=1",
                    *(["--user=root"] if os.getuid() == 0 else [])]
        return under(system, cpus, mariadbd), {}
    return words


def sysbench(port, n, *words):
    return [build.which("sysbench", "sysbench"), "--db-driver=mysql", "--mysql-user=root",
            "--mysql-host=127.0.0.1", f"--mysql-port={port}", "--mysql-db=bench",
            f"--threads={n}", f"--tables={TABLES}", f"--table-size={ROWS}", *words]


def must(words):
    p = subprocess.run(words, capture_output=True, text=True, timeout=600)
    if p.returncode:
        raise harness.Failed(" ".join((p.stderr or p.stdout).split())[-300:])


class MariaDB(servers.Server):
    """A server that does not end properly when asked has failed, too."""
    patience = PATIENCE

    def __exit__(self, kind, *_):
        super().__exit__()
        if not kind and self.process.returncode:
            raise harness.Failed(f"ends with {self.process.returncode}: {self.last_words()}")

    def own_memory(self):
        """Memory of the server alone: sysbench's threads have kernel stacks and slabs,
        too."""
        stats = harness.process_stats()
        family = harness.family(self.process.pid, stats)
        return (servers.resident(family)
                + sum(int(stats[pid][1][17]) for pid in family) * KERNEL_STACK)


def make_tables():
    ready = os.path.join(HOME, "ready")
    if os.path.exists(ready):
        return
    install = build.which("mariadb-install-db", "mariadb-server")
    harness.say("making the tables")
    shutil.rmtree(HOME, ignore_errors=True)
    os.makedirs(HOME)
    must([install, "--no-defaults", f"--datadir={HOME}/data", "--skip-test-db",
          "--auth-root-authentication-method=normal",
          *(["--user=root"] if os.getuid() == 0 else [])])
    with MariaDB("mariadb", len(harness.CPUS), 50, command("native")) as s:
        must([build.which("mariadb", "mariadb-client"), "--no-defaults", "-uroot",
              "-h127.0.0.1", f"-P{s.port}", "-e", "create database bench"])
        must(sysbench(s.port, 1, "oltp_read_write", "prepare"))
    open(ready, "w", encoding="utf-8").close()


class Client:
    """sysbench and its output."""

    def __init__(self, server, n, script, seconds):
        self.server, self.said = server, ""
        self.process = subprocess.Popen(
            CLIENT + sysbench(server.port, n, f"--time={seconds}", "--percentile=99",
                              "--db-ps-mode=disable", script, "run"),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def listen(self, word=None):
        """Reads until it has printed that (None: until it ends)."""
        end = time.monotonic() + PATIENCE
        while word is None or word not in self.said:
            left = max(0, end - time.monotonic())
            if not select.select([self.process.stdout], [], [], left)[0]:
                self.fail("sysbench has no end")
            got = os.read(self.process.stdout.fileno(), 65536)
            self.said += got.decode(errors="replace")
            if not got and word:
                self.fail("sysbench ends")
            if not got:
                return

    def fail(self, what):
        fatal = [line for line in self.said.split("\n") if "FATAL" in line]
        why = fatal[:2] or [" ".join(self.said.split())[-100:]]
        raise harness.Failed("; ".join((what, *why, self.server.last_words()))[:400])

    def figure(self, pattern):
        found = re.search(pattern, self.said)
        if not found:
            self.fail("sysbench gives no figures")
        return float(found[1])


def once_with(figures, script, seconds):
    def once(variant, system, n):
        with MariaDB(f"mariadb-{system}", 1, n, command(system)) as s:
            before = s.own_memory()
            with Client(s, n, script, seconds) as c:
                c.listen("Threads started!")
                cpu = s.cpu()
                time.sleep(seconds / 2)
                each = (s.own_memory() - before) / n / 1024
                c.listen()
                cpu = s.cpu() - cpu
                count = c.figure(r"transactions: +(\d+)")
                rate = c.figure(r"transactions: +\d+ +\(([\d.]+) per sec")
                p99 = c.figure(r"99th percentile: +([\d.]+)")
        figures.add(variant, system, "transactions/s", rate)
        figures.add(variant + ", p99 latency", system, "ms", p99)
        figures.add(variant, system, "CPU us per transaction", cpu / count * 1e6)
        figures.add(variant + ", busy", system, "KB per connection", each)
    return once


def mariadb(figures, runs, quick, only):
    make_tables()
    for script, counts in (("oltp_read_only", COUNTS), ("oltp_read_write", COUNTS[::2])):
        cases = fitting(figures, script + ", {:,} connections, one core",
                        (COUNTS[0],) if quick else counts)
        for variant, n in [] if quick else cases.items():
            if n in TARGETS:
                figures.targets[(variant, "transactions/s")] = TARGETS[n]
        harness.interleaved(figures, cases, SYSTEMS, runs, only,
                            once_with(figures, script, 2 if quick else SECONDS))


WORKLOADS = {
    "posix-mariadb": (mariadb, "drop-in: MariaDB, 16 to 5,000 connections of sysbench; its "
                      "thread pool beside it"),
}


def run(figures, runs, quick, only=None):
    WORKLOADS[figures.workload][0](figures, runs, quick, only)

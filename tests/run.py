#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the tests of a build directory over the matrix of engines and vps.

Each run is a process of its own with a limit against hangs. One that exceeds it is asked for
a dump of all its threads (SIGQUIT), then killed; the dump is printed. Exit status 77 = skipped.
--full: every engine with 1, 2 and 8 vps, and the web server in all modes, with TLS and without;
without it four of the six, and what is most unlike of the web server. The last line is
`N passed, N failed, N skipped`; --sum FILE writes it there, too.

A limit is no verdict on speed. It is generous, and a second counts only for the share of the
machine that a test could have had: with eight threads that want to run on two CPUs, time goes
at a quarter.

On a terminal one line shows how far it is, and about how long the rest takes (by the times of
the last run, in BUILD/test-times.json); elsewhere there is a line for each test.

usage: tests/run.py [--build DIR] [--full] [--jobs N] [--only REGEX] [--skip REGEX]
                    [--wrap CMD] [--env K=V]... [--times X] [--sum FILE]
"""
import argparse
import concurrent.futures
import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Rooms below the scheduler know neither engines nor vps; their tests run once.
ONCE = {"base", "arch", "mem", "event", "thread", "tree", "model", "tools"}

HANG = 300  # seconds of an idle machine; the slowest test takes some tens
CPUS = len(os.sched_getaffinity(0))


def rings_are_short():
    """Rings count against what a user may lock, over all of his processes (Linux 6.14)."""
    want, most = 256 << 20, resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    return os.geteuid() != 0 and most != resource.RLIM_INFINITY and most < want


def matrix(suite, name, full):
    """Where some may find no room for their rings, none is made to have them: each takes what
    the runtime gives him."""
    out = engines(suite, name, full)
    if rings_are_short():
        out = [{k: v for k, v in env.items() if (k, v) != ("UK_REACTOR", "uring")}
               for env in out]
    return out


def engines(suite, name, full):
    if suite in ONCE or "/fake-" in name:
        return [{}] if full or name != "tools/user_tools" else []  # valgrind takes a minute
    if suite == "web":
        if "fuzz" in name:
            return [{}]
        envs = [{"UK_REACTOR": "uring", "UK_VPS": "2"}]
        other = {"UK_REACTOR": "epoll", "UK_VPS": "1"}
        if not full and name in ("web/pth-tls", "web/uk-set-tls", "web/net-tls"):
            return []
        if not full and name == "web/uk-tls":
            return [other]
        if not name.startswith("web/pth") and (full or name == "web/uk"):
            envs.append(other)
        if full and name in ("web/uk", "web/uk-tls"):  # with their 10,000 connections
            envs = [dict(e, UK_TEST_FULL="1") for e in envs]
        return envs
    vps = ["1", "2", "8"]
    out = [{"UK_REACTOR": e, "UK_VPS": v} for e in ("uring", "epoll") for v in vps]
    if "/program-" in name:  # programs of others take some seconds each
        return [out[1], out[3]] if full else []
    if not full and name == "api/cold":  # rounds of seconds, crowds of many
        return out[4:5]
    return out if full else [out[0], out[1], out[4], out[5]]


def run_one(test, env, args):
    # what nohup, or a script's `&`, has us ignore, the tests do not
    cmd = ["env", "--default-signal"] + shlex.split(args.wrap) + test["cmd"]
    full = dict(os.environ)
    for more in (test["env"], env, dict(e.split("=", 1) for e in args.env)):
        full.update(more)
    limit = max(HANG, test["timeout"]) * args.times
    start = time.monotonic()
    p = subprocess.Popen(cmd, cwd=test["workdir"] or args.build, env=full,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, start_new_session=True)
    hung = False
    over = threading.Event()

    def guard():
        nonlocal hung
        given = 0.0
        while not over.wait(1):
            given += share()
            if given > limit:
                hung = True
                kill(p, signal.SIGQUIT)
                over.wait(10)
                kill(p, signal.SIGKILL)
                return

    t = threading.Thread(target=guard, daemon=True)
    t.start()
    out, _ = p.communicate()
    over.set()
    code = p.returncode
    if hung:
        code = "hangs: no end after %d s" % (time.monotonic() - start)
    return code, out.decode("utf-8", "replace"), time.monotonic() - start


def kill(p, sig):
    try:
        os.killpg(p.pid, sig)
    except ProcessLookupError:
        pass


def share():
    """What part of a CPU each thread that wants to run has now."""
    try:
        running = int(open("/proc/loadavg").read().split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):
        return 1.0
    return min(1.0, CPUS / max(1, running))


class Progress:
    """The line on the terminal; nothing elsewhere."""

    def __init__(self, jobs, args):
        self.file = os.path.join(args.build, "test-times.json")
        try:
            self.known = json.load(open(self.file))
        except (OSError, ValueError):
            self.known = {}
        self.todo = {label(t, env) for t, env in jobs}
        self.all, self.bad, self.now = len(self.todo), 0, set()
        self.jobs = args.jobs
        self.shows = sys.stdout.isatty()
        self.over = threading.Event()
        if self.shows:
            threading.Thread(target=self.tick, daemon=True).start()

    def begin(self, name):
        self.now.add(name)

    def end(self, name, result):
        self.now.discard(name)
        self.todo.discard(name)
        self.bad += result[0] not in (0, 77)
        if result[0] == 0:
            self.known[name] = round(result[2], 1)

    def left(self):
        # what was never seen takes as long as the others on average
        mean = sum(self.known.values()) / len(self.known) if self.known else 3.0
        return sum(self.known.get(n, mean) for n in list(self.todo)) / self.jobs

    def tick(self):
        while not self.over.wait(1):
            left = self.left()
            when = "%d min" % (left / 60 + 0.5) if left > 90 else "%d s" % left
            line = "[%d of %d%s, about %s left] %s" % (
                self.all - len(self.todo), self.all,
                ", %d FAILED" % self.bad if self.bad else "", when,
                ", ".join(sorted(self.now)))
            sys.stdout.write("\r\033[K" + line[:os.get_terminal_size().columns - 1])
            sys.stdout.flush()

    def done(self):
        self.over.set()
        self.clear()
        try:
            with open(self.file, "w") as f:
                json.dump(self.known, f, indent=0, sort_keys=True)
        except OSError:
            pass

    def clear(self):
        if self.shows:
            sys.stdout.write("\r\033[K")


def label(t, env):
    return t["name"] + "".join(" %s=%s" % kv for kv in sorted(env.items()))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--full", action="store_true", help="every engine with 1, 2 and 8 vps")
    ap.add_argument("--jobs", type=int, default=CPUS + 1)  # many of them sleep much
    ap.add_argument("--only", default="")
    ap.add_argument("--skip", default="")
    ap.add_argument("--wrap", default="")
    ap.add_argument("--env", action="append", default=[])
    ap.add_argument("--sum", default="")
    ap.add_argument("--times", type=float, default=1.0, help="multiply the time limits")
    args = ap.parse_args()
    args.build = os.path.abspath(args.build)
    tests = json.loads(subprocess.check_output(["meson", "introspect", "--tests", args.build]))
    jobs, sleepers, alone = [], [], []
    for t in tests:
        suite = t["suite"][0].split(":")[-1]
        if args.only and not re.search(args.only, t["name"]):
            continue
        if args.skip and re.search(args.skip, t["name"]):
            continue
        for env in matrix(suite, t["name"], args.full):
            if set(env) & set(t["env"]):
                env = {}  # the test chooses for itself
            kind = alone if not t["is_parallel"] else sleepers if suite == "web" else jobs
            if (t, env) not in kind:
                kind.append((t, env))
    jobs.sort(key=lambda job: job[0]["name"].split("/")[0] not in ("tools", "tree"))  # longest
    passed = failed = skipped = 0
    bad = []
    progress = Progress(jobs + sleepers + alone, args)

    def report(t, env, result):
        nonlocal passed, failed, skipped
        code, out, secs = result
        name = label(t, env)
        progress.clear()
        if code == 0:
            passed += 1
            if not progress.shows:
                print("ok      %s (%.1f s)" % (name, secs), flush=True)
        elif code == 77:
            skipped += 1
            print("skipped %s: %s" % (name, out.strip().splitlines()[-1:] or ""), flush=True)
        else:
            failed += 1
            bad.append(name)
            print("FAILED  %s: %s (%.1f s)\n%s" % (name, code, secs, out[-20000:]), flush=True)

    def one(t, env):
        progress.begin(label(t, env))
        result = run_one(t, env, args)
        progress.end(label(t, env), result)
        return result

    # the web server's wait for clients that are slow on purpose: a tenth of a CPU each
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as beside:
        futures = {beside.submit(one, t, env): (t, env) for t, env in sleepers}
        futures.update({pool.submit(one, t, env): (t, env) for t, env in jobs})
        for f in concurrent.futures.as_completed(futures):
            report(*futures[f], f.result())
    for t, env in alone:
        report(t, env, one(t, env))
    progress.done()
    for name in bad:
        print("FAILED  " + name)
    total = "%d passed, %d failed, %d skipped" % (passed, failed, skipped)
    print(total)
    if args.sum:
        with open(args.sum, "w") as f:
            f.write(total + "\n")
    if passed + failed == 0:
        print("no test ran")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

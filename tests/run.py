#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Run the tests of a build directory over the matrix of engines and vps.

Each run is a separate process with a limit against hangs. A run that exceeds it is asked for
a dump of all its threads (SIGQUIT), then killed; the dump is printed. Exit status 77 means skipped.

Configurations. MATRIX names the pairs of engine and number of vps that a test runs with: without an
option (`make check`), and with --full (`make check-all`). The builds with checks and sanitizers use
other pairs (scripts/check). --on uring/1,epoll/8 chooses pairs. --short (`make test`) leaves out the
slow tests of SHORT. --list prints what would run. --func chooses test functions by name.

Re-runs. A run that fails is repeated alone, after all others have ended, up to two more times. It
counts as failed only if it fails all three times. If a repetition passes, the test is unsteady: it
counts as passed, its first output is printed in full, and its name is listed. An unsteady run that
crashed, hung, broke an invariant or had a sanitizer report is marked "serious": that is a bug that
was seen once. Enter it in tests/UNSTEADY.md. A test fails at once if its program does not exist, or
if it is in the tree and not in the build. If more than MANY runs fail, nothing is repeated, because
noise does not explain so many.

The output ends with the slowest tests, `unsteady: N` and their names, and `N passed, N failed, N skipped`.
--sum FILE writes the last two lines there, too.

A limit does not judge speed. It is generous, and a second counts only for the share of the
machine that a test could have had: with eight threads that want to run on two CPUs, the time
of the limit passes at a quarter of the speed.

On a terminal one line shows the progress and about how long the rest takes (by the times of
the last run, in BUILD/test-times.json). Otherwise each test prints a line.

usage: tests/run.py [--build DIR] [--full | --short | --on PAIRS] [--only REGEX] [--skip REGEX]
                    [--func REGEX] [--list] [--jobs N] [--wrap CMD] [--env K=V]... [--times X]
                    [--fuzz] [--seed N] [--sum FILE]
"""
import argparse
import concurrent.futures
import glob
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
# The directories below the scheduler know neither engines nor vps. Their tests run once.
ONCE = {"base", "arch", "mem", "reactor", "thread", "tree", "model", "tools"}
WIDE = {"sched", "sync", "io", "cxx"}  # these run with more vps than CPUs in `make check`, too
MATRIX = {
    "gate": ["uring/2", "epoll/1"],
    "wide": ["uring/2", "epoll/1", "uring/8"],
    "full": ["uring/1", "uring/8", "epoll/2"]}
# the pairs of these tests with --short
SHORT = {
    "tree/aarch64": [], "tree/quick": [], "tools/lines": [], "tools/fast": [], "web/pth": [], "web/uk-set": [],
    "web/uk": ["uring/2"], "api/cold": ["epoll/2"]}

HANG = 300  # in seconds of an idle machine; the slowest test takes some tens of them
TRIES = 3
MANY = 20  # noise does not explain so many failed runs
SERIOUS = re.compile(r"ukthreads: panic|Sanitizer: |runtime error: |under the drop-in: (-|hangs)")
CPUS = len(os.sched_getaffinity(0))


def rings_are_short():
    """Rings count against the memory that all processes of a user may lock (Linux 6.14)."""
    want, most = 256 << 20, resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    return os.geteuid() != 0 and most != resource.RLIM_INFINITY and most < want


def configurations(suite, name, args):
    """The environments in which a test runs."""
    if args.short and name in SHORT:
        return pairs(SHORT[name])
    if suite in ONCE or "/fake-" in name:
        # valgrind takes a minute
        return [{}] if args.full or name != "tools/user_tools" else []
    if suite == "web":
        return web_configurations(name, args)
    if "/program-" in name:  # programs of other projects take some seconds each
        return pairs(["uring/2", "epoll/1"] if args.full else [])
    if args.on:
        return pairs(args.on.split(","))
    if not args.full and name == "api/cold":  # it has rounds of seconds, with many threads
        return pairs(["epoll/2"])
    wide = suite in WIDE and not args.short
    return pairs(MATRIX["full" if args.full else "wide" if wide else "gate"])


def room(test):
    return test["suite"][0].split(":")[-1]


def pairs(names):
    return [pair(*name.split("/")) for name in names]


def pair(engine, vps):
    env = {"UK_REACTOR": engine, "UK_VPS": vps}
    if engine == "uring" and rings_are_short():
        del env["UK_REACTOR"]  # the runtime chooses an engine that works
    return env


def web_configurations(name, args):
    """Every mode runs on one pair. --full: uk on two, with its 10,000 connections, and TLS in
    all modes. Without: TLS with uk alone."""
    mode = name.split("/")[1]
    if mode == "fuzz-request":
        return [{}]
    if args.full and mode in ("uk", "uk-tls"):
        return [dict(e, UK_TEST_FULL="1") for e in pairs(["uring/2", "epoll/1"])]
    if args.full:
        return pairs(["uring/2"])
    if mode == "uk-tls":
        return pairs(["epoll/1"])
    return pairs(["uring/2"]) if not mode.endswith("-tls") else []


def not_in_the_build(tests, only):
    """Tests whose program does not exist, and test programs in a directory of tests/ that no test
    runs: name -> why."""
    missing = {t["name"]: "there is no " + t["cmd"][0] for t in tests
               if os.path.isabs(t["cmd"][0]) and not os.path.exists(t["cmd"][0])}
    programs = {os.path.basename(word) for t in tests for word in t["cmd"]}
    for folder in {room(t) for t in tests} - {"tools", "web"}:
        for source in glob.glob(os.path.join(ROOT, "tests", folder, "*.c")):
            noun = os.path.basename(source)[:-2]
            if noun.endswith("_bench"):
                continue
            program = "test-%s-%s" % (folder, noun)
            if not {program, program.replace("_", "-")} & programs and has_main(source):
                missing["%s/%s" % (folder, noun)] = "no test of this build runs it"
    return {name: missing[name] for name in sorted(missing) if re.search(only, name)}


def has_main(source):
    with open(source, encoding="utf-8") as f:
        return re.search(r"^int main\(", f.read(), re.M)


class Heir:
    """A process that kills the running tests, with all their children, when run.py is gone."""

    def __init__(self):
        ours, self.pipe = os.pipe()
        if os.fork() == 0:
            os.close(self.pipe)
            os.setsid()
            self.wait(ours)
        os.close(ours)

    @staticmethod
    def wait(pipe):
        left = set()
        with os.fdopen(pipe) as f:
            for line in f:
                (left.add if line[0] == "+" else left.discard)(int(line[1:]))
        for group in left:
            try:
                os.killpg(group, signal.SIGKILL)
            except ProcessLookupError:
                pass
        os._exit(0)

    def say(self, sign, group):
        os.write(self.pipe, b"%s%d\n" % (sign, group))


def run_one(test, env, args):
    # the tests do not ignore the signals that nohup, or `&` in a script, makes run.py ignore
    cmd = ["env", "--default-signal"] + shlex.split(args.wrap) + test["cmd"]
    full = dict(os.environ)
    if args.func:
        full["UK_TEST_FUNC"] = args.func  # test.h
        if room(test) == "web":
            cmd += ["--only", args.func]
    for more in (test["env"], env, dict(e.split("=", 1) for e in args.env)):
        full.update(more)
    if args.debug:  # beside the keys that the test sets itself
        full["UK_DEBUG"] = full.get("UK_DEBUG", "") + "," + args.debug
    limit = max(HANG, test["timeout"]) * args.times
    start = time.monotonic()
    p = subprocess.Popen(cmd, cwd=test["workdir"] or args.build, env=full,
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                         stderr=subprocess.STDOUT, start_new_session=True)
    args.heir.say(b"+", p.pid)
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
    args.heir.say(b"-", p.pid)
    over.set()
    code = p.returncode
    if hung:
        code = "hangs: still running after %d s" % (time.monotonic() - start)
        uk = os.path.join(args.build, "uk")
        if os.path.exists(uk):  # functions and lines of the dump
            out = subprocess.run([uk, "symbolize"], input=out, stdout=subprocess.PIPE,
                                 check=False).stdout or out
    out = out.decode("utf-8", "replace")
    if code == 0 and args.func and not re.search(r"^ok", out, re.M):
        code, out = 77, "no test function of that name"
    return code, out, time.monotonic() - start


def kill(p, sig):
    try:
        os.killpg(p.pid, sig)
    except ProcessLookupError:
        pass


def share():
    """The part of a CPU that each thread that wants to run gets now."""
    try:
        running = int(open("/proc/loadavg").read().split()[3].split("/")[0])
    except (OSError, ValueError, IndexError):
        return 1.0
    return min(1.0, CPUS / max(1, running))


class Progress:
    """The line on a terminal; otherwise it prints nothing."""

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
        self.bad += failed(result)
        if result[0] == 0:
            self.known[name] = round(result[2], 1)

    def left(self):
        # assume the average for tests without a known time
        mean = sum(self.known.values()) / len(self.known) if self.known else 3.0
        return sum(self.known.get(n, mean) for n in list(self.todo)) / self.jobs

    def tick(self):
        while not self.over.wait(1):
            left = self.left()
            when = "%d min" % (left / 60 + 0.5) if left > 90 else "%d s" % left
            line = "[%d of %d%s, about %s left] %s" % (
                self.all - len(self.todo), self.all,
                ", %d failed" % self.bad if self.bad else "", when,
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


def failed(result):
    return result[0] not in (0, 77)


def is_serious(result):
    """A crash, a hang, a broken invariant, a sanitizer's report: a bug even if seen once."""
    code, out, _ = result
    return not isinstance(code, int) or code < 0 or bool(SERIOUS.search(out))


class Tally:
    """The results of the runs."""

    def __init__(self, args, progress):
        self.args, self.progress = args, progress
        self.passed = self.skipped = 0
        self.times, self.again, self.unsteady, self.bad = [], [], [], []

    def missing(self, name, why):
        self.bad.append(name)
        print("FAILED  %s: %s" % (name, why), flush=True)

    def first(self, t, env, result):
        code, out, secs = result
        name = label(t, env)
        self.progress.clear()
        self.times.append((secs, name))
        if code == 0:
            self.passed += 1
            if not self.progress.shows:
                print("ok      %s (%.1f s)" % (name, secs), flush=True)
        elif code == 77:
            self.skipped += 1
            print("skipped %s: %s" % (name, out.strip().splitlines()[-1:] or ""), flush=True)
        else:
            self.again.append((t, env, result))
            debug = ["UK_DEBUG=" + self.args.debug] if self.args.debug else []
            print("failed  %s: %s (%.1f s)%s\n%s" % (
                name, code, secs, "".join(" " + e for e in self.args.env + debug), out), flush=True)

    def repeat(self, one):
        """Repeat each failed run alone."""
        many = len(self.again) > MANY
        if many:
            print("%d runs failed, too many to repeat them" % len(self.again))
        for t, env, first in self.again:
            results = [first]
            while not many and failed(results[-1]) and len(results) < TRIES:
                results.append(one(t, env))
            name = label(t, env)
            if failed(results[-1]):
                self.bad.append(name)
                continue
            self.passed += 1
            if any(is_serious(r) for r in results[:-1]):
                name += " (serious)"
            self.unsteady.append(name)
            self.progress.clear()
            print("unsteady %s: passed at run %d" % (name, len(results)), flush=True)

    def end(self):
        for name in self.bad:
            print("FAILED  " + name)
        slow = sorted(self.times, reverse=True)[:5]
        print("slowest: " + ", ".join("%s %.0f s" % (name, secs) for secs, name in slow))
        lines = "unsteady: %d%s\n%d passed, %d failed, %d skipped\n" % (
            len(self.unsteady), "".join(", " + name for name in self.unsteady),
            self.passed, len(self.bad), self.skipped)
        print(lines, end="")
        if self.args.sum:
            with open(self.args.sum, "w") as f:
                f.write(lines)
        if not self.passed and not self.bad:
            print("no test ran")
        return 0 if self.passed and not self.bad else 1


def chosen(tests, args):
    """(jobs, those of the web server, those that run alone): pairs of a test and its environment"""
    jobs, sleepers, alone = [], [], []
    for t in tests:
        suite = room(t)
        if not re.search(args.only, t["name"]) or args.skip and re.search(args.skip, t["name"]):
            continue
        for env in configurations(suite, t["name"], args):
            if set(env) & set(t["env"]):
                env = {}  # the test sets its configuration itself
            kind = alone if not t["is_parallel"] else sleepers if suite == "web" else jobs
            if (t, env) not in kind:
                kind.append((t, env))
    jobs.sort(key=lambda job: job[0]["name"].split("/")[0] not in ("tools", "tree"))  # longest first
    return jobs, sleepers, alone


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--build", default=os.path.join(ROOT, "build"))
    ap.add_argument("--full", action="store_true", help="every engine with 1, 2 and 8 vps")
    ap.add_argument("--on", default="", metavar="ENGINE/VPS,...")
    ap.add_argument("--short", action="store_true", help="run the tests of `make test`")
    ap.add_argument("--list", action="store_true", help="print what would run")
    ap.add_argument("--func", default="", metavar="REGEX", help="only these test functions")
    ap.add_argument("--jobs", type=int, default=CPUS + 1)  # many tests mostly sleep
    ap.add_argument("--only", default="")
    ap.add_argument("--skip", default="")
    ap.add_argument("--wrap", default="")
    ap.add_argument("--env", action="append", default=[])
    ap.add_argument("--fuzz", action="store_true", help="a debug build's schedule fuzzer")
    ap.add_argument("--seed", type=int, help="the seed of the fuzzer and of the tests")
    ap.add_argument("--sum", default="")
    ap.add_argument("--times", type=float, default=1.0, help="multiply the time limits")
    args = ap.parse_args()
    args.build = os.path.abspath(args.build)
    args.debug = ",".join(["fuzz"] * args.fuzz +
                          ([] if args.seed is None else ["seed=%d" % args.seed]))
    tests = json.loads(subprocess.check_output(["meson", "introspect", "--tests", args.build]))
    missing = not_in_the_build(tests, args.only)
    jobs, sleepers, alone = chosen([t for t in tests if t["name"] not in missing], args)
    if args.list:
        for t, env in jobs + sleepers + alone:
            print(label(t, env))
        return 0
    args.heir = Heir()
    progress = Progress(jobs + sleepers + alone, args)
    tally = Tally(args, progress)
    for name, why in missing.items():
        tally.missing(name, why)

    def one(t, env):
        progress.begin(label(t, env))
        result = run_one(t, env, args)
        progress.end(label(t, env), result)
        return result

    # the web server's tests wait for slow clients, and use a tenth of a CPU each
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool, \
            concurrent.futures.ThreadPoolExecutor(args.jobs) as beside:
        futures = {beside.submit(one, t, env): (t, env) for t, env in sleepers}
        futures.update({pool.submit(one, t, env): (t, env) for t, env in jobs})
        for f in concurrent.futures.as_completed(futures):
            tally.first(*futures[f], f.result())
    for t, env in alone:
        tally.first(t, env, one(t, env))
    tally.repeat(one)
    progress.done()
    return tally.end()


if __name__ == "__main__":
    sys.exit(main())

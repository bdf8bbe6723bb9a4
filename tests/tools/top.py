#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""top.py UK NATIVE STATIC POSIX GARBAGE UNWINDS: `uk ps` and `uk top` show what the targets do, and
say why they cannot. No function waits for a time: `until` repeats a look until it shows what
the target is about to do."""
import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

UK, NATIVE, STATIC, POSIX, GARBAGE = map(os.path.realpath, sys.argv[1:6])
UNWINDS = sys.argv[6] == "true"
OK, REFUSED, USAGE, LOST = range(4)
STATES = {"new", "ready", "running", "parked", "suspended", "exited"}
NOBODY = 65534
SEEDS = 120


class Target:
    """A process that has printed "ready"."""

    def __init__(self, *argv, **env):
        self.p = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                  env=dict(os.environ, UK_VPS="2", **env))
        self.pid = self.p.pid
        self.ready = self.p.stdout.readline()
        if not self.ready.startswith("ready"):
            self.end()
            raise Skip(self.ready.strip() or "the target did not start")

    def say(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()

    def ask(self, line):
        self.say(line)
        return self.p.stdout.readline()

    def end(self):
        self.p.kill()
        self.p.wait()
        self.p.stdin.close()
        self.p.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()


class Skip(Exception):
    pass


def uk(*args, status=OK, **more):
    """Standard output and standard error as bytes."""
    p = subprocess.run([UK, *map(str, args)], stdin=subprocess.DEVNULL, capture_output=True,
                       timeout=300, check=False, **more)
    assert p.returncode in (status if isinstance(status, tuple) else (status,)), (
        args, p.returncode, p.stdout[-2000:], p.stderr)
    return p.stdout, p.stderr


def refused(*args, why, **more):
    out, err = uk(*args, status=REFUSED, **more)
    assert not out and why in err.decode(), (args, out, err)


def ps(pid, *args):
    return json.loads(uk("ps", "--json", *args, pid)[0])


def top(pid, *args):
    out = uk("top", "--json", "-n", "1", "-d", "0.1", *args, pid)[0]
    assert out.count(b"\n") == 1
    return json.loads(out)


def until(look, shows):
    while True:
        seen = look()
        if shows(seen):
            return seen


def named(seen, name):
    return [t for t in seen["threads"] if t["name"] == name]


def frames(pid, *args):
    return uk("ps", "--stack", *args, pid)[0].decode()


def the_scene_is_shown(program, engine):
    with Target(program, "scene", UK_REACTOR=engine) as t:
        seen = until(lambda: ps(t.pid), lambda s: named(s, "hog")[0]["state"] == "running"
                     and any(x["state"] == "exited" for x in s["threads"]))
        assert seen["pid"] == t.pid and seen["stats"]["vps"] == 2
        assert t.ready == "ready %s\n" % seen["engine"]
        assert len([x for x in seen["threads"] if x["kind"] != "kernel"]) == 12
        assert [x["stack_size"] for x in seen["threads"] if x["state"] == "exited"] == [None]
        holder = named(seen, "holder")[0]
        assert (holder["state"], holder["waits"]) == ("parked", "semaphore")
        for name, waits, of in [("mutex-waiter", "mutex", holder["id"]),
                                ("rwlock-waiter", "rwlock", holder["id"]),
                                ("joiner", "join", holder["id"]), ("pipe-reader", "io", None),
                                ("light-waiter", "semaphore", None), ("sleeper", "sleep", None)]:
            for x in named(seen, name):
                assert (x["state"], x["waits"], x["holder"]) == ("parked", waits, of), x
                assert 0 < x["stack_used"] < x["stack_size"], x
                assert x["kind"] == ("light" if name == "light-waiter" else "full")
        assert len({x["object"] for x in named(seen, "mutex-waiter")}) == 1
        reader = named(seen, "pipe-reader")[0]
        assert reader["fd"] >= 0 and reader["file"].startswith("pipe:["), reader
        hog = named(seen, "hog")[0]
        assert hog["kernel_thread"] > 0 and hog["stack_used"] is None
        text = uk("ps", t.pid)[0].decode()
        assert re.search(r'mutex-waiter +full +parked .* mutex 0x\w+ held by %d "holder"'
                         % holder["id"], text), text
        assert "\033" not in text and "?[31mred?" in text, text
        counters_agree(t)
        patterns_choose(t.pid)
        stacks_are_shown(t.pid)
        top_agrees(t, holder["id"])


def counters_agree(t):
    """Counters only grow, so those that uk shows are between two that the target shows."""
    first = json.loads(t.ask("stats"))
    shown = ps(t.pid)["stats"], top(t.pid)["stats"]
    last = json.loads(t.ask("stats"))
    for s in shown:
        assert first.keys() <= s.keys()
        for name in first:
            assert first[name] <= s[name] <= last[name], (name, first[name], s[name], last[name])


def patterns_choose(pid):
    assert len(ps(pid, "--")["threads"]) > 3
    assert {x["name"] for x in json.loads(uk("ps", "--json", pid, "mutex-w|^sleeper")[0])["threads"]
            } == {"mutex-waiter", "sleeper"}
    assert {x["waits"] for x in json.loads(uk("ps", "--json", pid, "parked on rwlock")[0])["threads"]
            } == {"rwlock"}
    assert b"0 of 13 threads" in uk("ps", pid, "nothing like this")[0]


def stacks_are_shown(pid):
    if not UNWINDS:
        refused("ps", "--stack", pid, why="libunwind")
        return
    text = frames(pid)
    for thread, wanted in [("holder", ["holds"]), ("pipe-reader", ["reads"]),
                           ("rwlock-waiter", ["wants_rwlock"]), ("light-waiter", ["waits"])]:
        part = re.search(r'thread \d+ "%s".*\n((?: {6}.*\n)+)' % thread, text)
        at = [part[1].find(" %s (" % w) for w in wanted + ["thread_main"]]
        assert min(at) > 0 and at == sorted(at), (thread, at, text)
    assert len(re.findall(r"as thread \d+", text)) >= 2, text
    assert "runs on kernel thread" in text
    one = named(ps(pid), "sleeper")[0]["id"]
    alone = json.loads(uk("ps", "--json", "--stack=%d" % one, pid)[0])["threads"]
    assert [x["id"] for x in alone] == [one] and len(alone[0]["frames"]) > 2
    refused("ps", "--stack=4711", pid, why="has no thread 4711")
    assert all(re.match("0x", f["offset"]) for f in alone[0]["frames"])


def top_agrees(t, holder):
    seen = until(lambda: top(t.pid), lambda s: s["states"]["running"] == 1)
    assert seen["states"]["parked"] == 10 and seen["user_threads"] == 11
    assert {w["waits"]: w["threads"] for w in seen["waits"]} == {
        "io": 1, "sleep": 1, "mutex": 3, "rwlock": 1, "semaphore": 3, "join": 1}
    most = [o for o in seen["objects"] if o["longest"]["waits"] == "mutex"]
    assert len(most) == 1 and most[0]["waiters"] == 3 and most[0]["longest"]["holder"] == holder
    assert sorted(o["waiters"] for o in seen["objects"]) == [1, 1, 1, 3, 3]
    ages = [x["age_ns"] for x in seen["longest"]]
    assert ages == sorted(ages, reverse=True) and len(ages) == 10
    assert [v["id"] for v in seen["vps"]] == [0, 1]
    tasks = {int(x) for x in os.listdir("/proc/%d/task" % t.pid)}
    shown = {k["tid"]: k["does"] for k in seen["kernel_threads"]}
    assert t.pid in shown and len(set(shown) & tasks) >= 4
    assert any('"hog"' in does for does in shown.values()), shown
    assert any(does == "spare" for does in shown.values()), shown
    # in a pipe: one text, without colours
    text = uk("top", "-d", "0.1", t.pid)[0].decode()
    assert text.count("KERNEL") == 1 and "\033" not in text and "held by %d" % holder in text


def a_program_of_uk_run_is_shown(engine):
    with Target(UK, "run", "--reactor", engine, "--", POSIX) as t:
        seen = until(lambda: ps(t.pid), lambda s: len(
            [x for x in named(s, "waiter") if x["waits"]]) == 2)
        holder = named(seen, "holder")[0]
        for x in named(seen, "waiter"):
            assert (x["waits"], x["holder"]) == ("pthread mutex", holder["id"]), x
        if UNWINDS:
            until(lambda: frames(t.pid),
                  lambda s: re.search(r" reads (?:\(.*\n|.*\n)*", s) and " waits (" in s)
    with Target(UK, "run", "--", POSIX, "alone") as t:
        refused("ps", t.pid, why="has not started its runtime")


def many_threads_are_listed(engine):
    n = 20000
    with Target(NATIVE, str(n), UK_REACTOR=engine) as t:
        seen = ps(t.pid)
        assert sorted(x["name"] for x in seen["threads"] if x["kind"] != "kernel") == sorted(
            "m%d" % i for i in range(n))
        assert all(x["waits"] == "semaphore" for x in seen["threads"] if x["kind"] != "kernel")
        seen = top(t.pid)
        assert seen["states"]["parked"] == n and seen["objects"][0]["waiters"] == n
        if UNWINDS:
            assert uk("ps", "--stack", t.pid, "m1234[56]")[0].count(b"thread ") >= 2


def a_thread_that_changes_is_never_garbage(engine):
    with Target(NATIVE, "churn", UK_REACTOR=engine) as t:
        locks = set()
        for _ in range(60):
            seen = ps(t.pid)
            ids = [x["id"] for x in seen["threads"]]
            assert len(ids) == len(set(ids)), ids
            for x in seen["threads"]:
                assert x["state"] in STATES and x["name"] in ("child", "parent", ""), x
                assert x["waits"] in ("", "mutex", "join"), x
                assert x["holder"] is None or x["waits"], x
                if x["waits"] == "mutex":
                    locks.add(x["object"])
            if UNWINDS:
                frames(t.pid, "--stack")
        assert len(locks) <= 1, locks
        top(t.pid)


def copy_of_static(tmp, change):
    path = os.path.join(tmp, "program")
    with open(STATIC, "rb") as f, open(path, "wb") as to:
        to.write(change(f.read()))
    os.chmod(path, 0o755)
    return path


def a_stripped_and_deleted_program_is_shown():
    with tempfile.TemporaryDirectory() as tmp:
        path = copy_of_static(tmp, lambda data: data)
        if shutil.which("strip"):
            subprocess.run(["strip", path], check=True)
        with Target(path, "10") as t:
            os.unlink(path)
            assert {x["waits"] for x in ps(t.pid)["threads"] if x["kind"] != "kernel"} == {"semaphore"}
            if UNWINDS:
                thread = ps(t.pid, "--stack")["threads"][-1]
                assert len(thread["frames"]) > 2 and "deleted" in thread["frames"][0]["module"], thread


def another_version_is_refused():
    note = struct.pack("<III", 10, 8, 1) + b"ukthreads\0\0\0"
    with tempfile.TemporaryDirectory() as tmp:
        path = copy_of_static(tmp, lambda data: data.replace(note + struct.pack("<I", 1),
                                                             note + struct.pack("<I", 77)))
        with Target(path, "10") as t:
            refused("ps", t.pid, why="another version (layout 77")
            refused("top", t.pid, why="another version")


def main_may_end():
    with Target(NATIVE, "10") as t:
        t.say("leave")
        until(lambda: open("/proc/%d/stat" % t.pid).read(), lambda s: ") Z " in s)
        assert len([x for x in ps(t.pid)["threads"] if x["kind"] != "kernel"]) == 10
        top(t.pid)


def watch(t):
    p = subprocess.Popen([UK, "top", "--json", "-d", "0.1", str(t.pid)], stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True)
    json.loads(p.stdout.readline())
    return p


def the_end_of_the_target_is_told():
    for line, why in [("end", "process %d has ended"),
                      ("exec", "process %d has executed another program")]:
        with Target(NATIVE, "10") as t:
            p = watch(t)
            t.say(line)
            out, err = p.communicate(timeout=300)
            assert p.returncode == LOST and why % t.pid in err, (p.returncode, err)
            for document in out.splitlines():
                json.loads(document)
    with Target(NATIVE, "10") as t:
        p = watch(t)
        t.p.kill()
        assert "has ended" in p.communicate(timeout=300)[1] and p.returncode == LOST
        t.p.wait()
        refused("ps", t.pid, why="there is no process %d" % t.pid)
        refused("top", t.pid, why="there is no process %d" % t.pid)
    # it ends at any moment of a look
    for delay in range(12):
        with Target(NATIVE, "3000") as t:
            p = subprocess.Popen([UK, "ps", "--json", str(t.pid)], stdout=subprocess.DEVNULL,
                                 stderr=subprocess.PIPE, text=True)
            for _ in range(delay * 20000):
                pass
            t.say("exec" if delay % 2 else "end")
            err = p.communicate(timeout=300)[1]
            assert p.returncode in (OK, REFUSED, LOST) and bool(err) == (p.returncode != OK), (
                p.returncode, err)


def others_are_refused():
    refused("ps", os.getpid(), why="does not use ukthreads")
    refused("top", os.getpid(), why="does not use ukthreads")
    refused("ps", 2 ** 31 - 1, why="there is no process")
    for args in [("ps",), ("ps", "x"), ("ps", "-1"), ("ps", "1", "2", "3"), ("ps", "1", "("),
                 ("ps", "--stack=x", "1"), ("ps", "--nothing", "1"), ("top",), ("top", "0"),
                 ("top", "-d", "0", "1"), ("top", "-d", "x", "1"), ("top", "-n", "0", "1")]:
        out, err = uk(*args, status=USAGE)
        assert not out and err, args
    for command in ("ps", "top"):
        assert uk(command, "--help")[0].startswith(b"usage: uk %s" % command.encode())
    with Target(NATIVE, "10") as t:
        tid = next(int(x) for x in os.listdir("/proc/%d/task" % t.pid) if int(x) != t.pid)
        refused("ps", tid, why="is a thread of process %d" % t.pid)
        with open("/dev/full", "w") as full:
            p = subprocess.run([UK, "ps", str(t.pid)], stdout=full, stderr=subprocess.PIPE,
                               check=False)
            assert p.returncode == REFUSED and b"standard output" in p.stderr, p


def become_nobody():
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)


def rights_are_needed():
    if os.geteuid() != 0:
        print("skipped: the rights of others can be tested as root only")
        return
    if subprocess.run([UK, "--version"], preexec_fn=become_nobody, stdout=subprocess.DEVNULL,
                      stderr=subprocess.DEVNULL, check=False).returncode != 0:
        print("skipped: another user cannot execute uk here")
        return
    with Target(NATIVE, "10") as t:
        refused("ps", t.pid, why="belongs to user 0", preexec_fn=become_nobody)
        refused("top", t.pid, why="belongs to user 0", preexec_fn=become_nobody)
    scope = "0"
    if os.path.exists("/proc/sys/kernel/yama/ptrace_scope"):
        scope = open("/proc/sys/kernel/yama/ptrace_scope").read().strip()
    with Target("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
                NATIVE, "10") as t:
        ps(t.pid)
        if scope == "0":
            uk("ps", t.pid, preexec_fn=become_nobody)
        else:
            refused("ps", t.pid, why="ptrace_scope is " + scope, preexec_fn=become_nobody)


def garbage_does_no_harm():
    with Target(GARBAGE) as t:
        seen = ps(t.pid)
        assert len(named(seen, "waiter")) == 300
        fine = 0
        for seed in range(1, SEEDS + 1):
            pid = int(t.ask(str(seed)))
            try:
                out, err = uk("ps", "--json", pid, status=(OK, REFUSED, LOST))
                if not err:
                    fine += 1
                    json.loads(out)
                for args in (["ps"], ["top", "-d", "0.1", "-n", "1"]) + ((["ps", "--stack"],) if
                                                                         UNWINDS else ()):
                    out, err = uk(*args, pid, status=(OK, REFUSED, LOST))
                    assert b"\033" not in out and (out or err), (seed, args)
            finally:
                os.kill(pid, signal.SIGKILL)
        assert fine > SEEDS / 10, "almost no look got through: %d" % fine


class Terminal:
    """`uk top` on a terminal of its own; begins when it has drawn a screen."""

    def __init__(self, t, rows=40, columns=100, **env):
        self.master, self.slave = pty.openpty()
        self.size(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.p = subprocess.Popen([UK, "top", "-d", "0.2", str(t.pid)], stdin=self.slave,
                                  stdout=self.slave, stderr=subprocess.PIPE, preexec_fn=os.setpgrp,
                                  env=dict(os.environ, **env))
        self.text = b""
        self.until(lambda x: x.count(b"\033[H") >= 2)

    def size(self, rows, columns):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        if select.select([self.master], [], [], 0.05)[0]:
            self.text += os.read(self.master, 65536)
            return True
        return False

    def until(self, shows):
        while not shows(self.text):
            self.read()
            assert self.p.poll() is None, (self.p.returncode, self.text[-500:])

    def end(self):
        """The exit status and standard error; the terminal is as it was."""
        while self.p.poll() is None:
            self.read()
        while self.read():
            pass
        assert self.text.endswith(b"\033[?25h\033[?1049l"), self.text[-200:]
        assert self.text.count(b"\033[?1049h") == self.text.count(b"\033[?1049l")
        assert termios.tcgetattr(self.slave) == self.before
        err = self.p.stderr.read()
        self.p.stderr.close()
        os.close(self.master)
        os.close(self.slave)
        return self.p.returncode, err

    def widest(self, columns):
        screen = self.text.split(b"\033[H")[-2].decode()
        lines = re.sub(r"\033\[[0-9;?]*[a-zA-Z]", "", screen).split("\r\n")
        return max(map(len, lines)) <= columns, len(lines)


def the_terminal_is_given_back():
    with Target(NATIVE, "scene") as t:
        at = Terminal(t)
        assert termios.tcgetattr(at.slave)[3] & (termios.ICANON | termios.ECHO) == 0
        assert b"\033[7m" in at.text and at.widest(100)[0]
        n = at.text.count(b"\033[H")
        at.size(12, 50)
        at.p.send_signal(signal.SIGWINCH)
        at.until(lambda x: x.count(b"\033[H") >= n + 4)
        fits, rows = at.widest(50)
        assert fits and rows <= 12, rows
        os.write(at.master, b"xq")
        assert at.end() == (OK, b"")
        for sig in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            at = Terminal(t)
            at.p.send_signal(sig)
            assert at.end() == (-sig, b""), sig
        at = Terminal(t, NO_COLOR="1")
        assert b"\033[7m" not in at.text and b"\033[0m" not in at.text
        at.p.send_signal(signal.SIGTSTP)
        at.until(lambda x: x.endswith(b"\033[?1049l"))
        assert termios.tcgetattr(at.slave) == at.before
        until(lambda: open("/proc/%d/stat" % at.p.pid).read(), lambda s: ") T " in s)
        n = at.text.count(b"\033[H")
        at.p.send_signal(signal.SIGCONT)
        at.until(lambda x: x.count(b"\033[H") >= n + 2)
        t.say("end")
        status, err = at.end()
        assert status == LOST and b"has ended" in err, (status, err)


def main():
    try:
        with Target(NATIVE, "10") as t:
            err = uk("ps", t.pid, status=(OK, REFUSED))[1]
            if b"permission denied" in err:
                print("skipped: " + err.decode())
                return 77
        for engine in ("epoll", "uring"):
            begin = time.monotonic()
            try:
                Target(NATIVE, "1", UK_REACTOR=engine).end()
            except Skip as why:
                print("skipped: %s: %s" % (engine, why))
                continue
            the_scene_is_shown(NATIVE, engine)
            the_scene_is_shown(STATIC, engine)
            a_program_of_uk_run_is_shown(engine)
            many_threads_are_listed(engine)
            a_thread_that_changes_is_never_garbage(engine)
            print("ok %s, %.1f s" % (engine, time.monotonic() - begin))
        for check in (a_stripped_and_deleted_program_is_shown, another_version_is_refused,
                      main_may_end, the_end_of_the_target_is_told, others_are_refused,
                      rights_are_needed, garbage_does_no_harm, the_terminal_is_given_back):
            begin = time.monotonic()
            check()
            print("ok %s, %.1f s" % (check.__name__, time.monotonic() - begin))
    except Skip as why:
        print("skipped: %s" % why)
        return 77
    return 0


sys.exit(main())

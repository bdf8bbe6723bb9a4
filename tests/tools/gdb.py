#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""gdb.py TARGET: tool/uk-gdb.py finds the threads of a live process and of a core file,
with their states, names and frames."""
import glob
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SCRIPT = os.path.join(ROOT, "tool", "uk-gdb.py")
COMMANDS = ["info uthreads", "uthread all bt", "info uthreads pipe-reader",
            "uthread 999999 bt"]


def gdb(*args, commands):
    cmd = ["gdb", "-nx", "-batch", "-ex", "set pagination off", "-ex",
           "set debuginfod enabled off", "-ex", "source " + SCRIPT, *args]
    for c in commands:
        cmd += ["-ex", c]
    p = subprocess.run(cmd, capture_output=True, text=True, timeout=100)
    return p.stdout, p.stderr


def frames(text, name):
    """Function names of the named thread's backtrace, innermost first."""
    m = re.search(r'^thread \d+ "%s".*\n((?:(?!thread \d).*\n?)*)' % name, text, re.M)
    return re.findall(r"^#\d+ +(?:0x[0-9a-f]+ in )?(\w+)", m.group(1), re.M) if m else []


def row(text, name):
    m = re.search(r'^ *\d+ "%s".*$' % name, text, re.M)
    return m.group(0) if m else ""


def in_order(found, wanted):
    at = iter(found)
    return all(w in at for w in wanted)


def check(what, out, err):
    bad = []
    for name, state, function in [
            ("semaphore-waiter", "parked on semaphore", "third_level"),
            ("light-waiter", "parked on semaphore", "third_level"),
            ("pipe-reader", "parked on io fd", "reads_a_pipe"),
            ("mutex-waiter", "parked on mutex", "wants_the_mutex"),
            ("sleeper", "parked on sleep", "sleeps_for_ever"),
            ("hog", "running", "computes")]:
        line = row(out, name)
        if not re.search(r" \d+ " + state, line) or not line.endswith(function):
            bad.append("%s: expected %s in %s, got: %s" % (name, state, function, line))
    for name, wanted in [
            ("semaphore-waiter", ["wait_park", "third_level", "second_level", "waits_for_a_post",
                                  "thread_main"]),
            ("light-waiter", ["third_level", "second_level", "waits_for_a_post"]),
            ("pipe-reader", ["uk_read", "reads_a_pipe", "thread_main"]),
            ("mutex-waiter", ["wait_park", "wants_the_mutex", "thread_main"]),
            ("sleeper", ["uk_sleep", "sleeps_for_ever", "thread_main"]),
            ("hog", ["computes", "thread_main"])]:
        got = frames(out, name)
        if not in_order(got, wanted):
            bad.append("%s: expected frames %s, got %s" % (name, wanted, got))
    if " light " not in row(out, "light-waiter"):
        bad.append("light-waiter is not marked light")
    if not re.search(r"parked on mutex 0x[0-9a-f]+ held by 1\b", row(out, "mutex-waiter")):
        bad.append("the owner of the mutex: " + row(out, "mutex-waiter"))
    if "no thread 999999" not in err:
        bad.append("no error for a thread that does not exist")
    if "1 of 7 threads" not in out:
        bad.append("info uthreads ignores its pattern")
    if bad:
        print(out, err, sep="\n")
        sys.exit("%s:\n  %s" % (what, "\n  ".join(bad)))
    print("ok", what)


def start(cwd, **env):
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    p = subprocess.Popen([os.path.abspath(sys.argv[1])], stdout=subprocess.PIPE, text=True, cwd=cwd,
                         env=dict(os.environ, UK_VPS="2", **env), preexec_fn=lambda:
                         resource.setrlimit(resource.RLIMIT_CORE, (hard, hard)))
    if p.stdout.readline() != "ready\n":
        p.kill()
        sys.exit("the target did not start")
    return p


def end(process, sig):
    process.send_signal(sig)
    process.wait()
    process.stdout.close()


def main():
    if not shutil.which("gdb"):
        print("skipped: gdb is not installed")
        return 77
    with tempfile.TemporaryDirectory() as tmp:
        # PROT_NONE guards: gdb's own core writer fails on a mapping with lazy guards
        core = os.path.join(tmp, "core.gdb")
        target = start(tmp, UK_DEBUG=os.environ.get("UK_DEBUG", "") + ",guard=mprotect")
        try:
            out, err = gdb("-p", str(target.pid), commands=COMMANDS + [
                "generate-core-file " + core])
        finally:
            end(target, signal.SIGKILL)
        if "ptrace" in err and "not permitted" in err:
            print("skipped: ptrace is not permitted here")
            return 77
        check("a live process", out, err)
        check("a core file written by gdb", *gdb(sys.argv[1], core, commands=COMMANDS))
        os.unlink(core)
        # a core file of the kernel; where it is stored depends on the machine
        end(start(tmp), signal.SIGABRT)
        cores = glob.glob(os.path.join(tmp, "*core*"))
        if cores:
            check("a core file written by the kernel",
                  *gdb(sys.argv[1], cores[0], commands=COMMANDS))
    return 0


sys.exit(main())

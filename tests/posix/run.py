#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""run.py BUILD PROBE OTHER: test `uk run`.

`uk run` becomes the program. It recognizes a program that cannot run with user threads by its
file, and runs it natively. Options reach the preload library. PROBE is run_probe.c; OTHER is
other_time.c, a library that is preloaded beside ours."""
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile

BUILD, PROBE, OTHER = map(os.path.abspath, sys.argv[1:4])
UK = os.path.join(BUILD, "uk")
ENV = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
TRUE = shutil.which("true")
bad = []
seeds = set()

# what a debug or hostile build prints at its start
SEED = ("ukthreads: schedule fuzzer on", "ukthreads: hostile build")


def uk(*args, **kw):
    p = subprocess.run([UK, "run", *args], text=True, stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, **dict(dict(env=ENV), **kw))
    lines = p.stderr.splitlines(True)
    seeds.update(l for l in lines if l.startswith(SEED))
    said = [l for l in lines if not l.startswith(SEED)]
    return p.returncode, p.stdout, "".join(said)


def check(what, ok, seen=""):
    print("ok" if ok else "FAILED", what)
    if not ok:
        bad.append("%s: %s" % (what, seen))


def becomes_the_program():
    r = uk("--", PROBE, "args", "a b", "", "-x")
    check("the program gets its arguments", r == (0, "[a b][][-x]\n", ""), r)
    r = uk(PROBE, "exit", "42")
    check("its exit status is returned", r[0] == 42, r)
    r = uk(PROBE, "kill", str(int(signal.SIGTERM)))
    check("so is the signal that ends it", r[0] == -signal.SIGTERM, r)
    p = subprocess.Popen([UK, "run", PROBE, "pid"], env=ENV, stdout=subprocess.PIPE, text=True)
    check("it has the process id of uk run", int(p.communicate()[0]) == p.pid)
    r = uk(PROBE, "thread")
    check("its threads are user threads", r == (0, "user\n", ""), r)


def says_why_not(tmp):
    plain = os.path.join(tmp, "plain")
    with open(plain, "w") as f:
        f.write("no program\n")
    for args, code in ((["/nosuch"], 127), (["nosuch-program"], 127), ([tmp], 126), ([plain], 126),
                       (["--vps", "0", TRUE], 125), (["--stack", "1", TRUE], 125),
                       (["--reactor", "x", TRUE], 125), (["--children", "x", TRUE], 125),
                       (["--nosuch"], 125), ([], 125)):
        r = uk(*args)
        check("%s: %d" % (" ".join(args).replace(tmp, "DIR"), code),
              r[0] == code and not r[1] and r[2], r)


def copy(tmp, name, patch=None):
    path = os.path.join(tmp, name)
    shutil.copy(TRUE, path)
    if patch:
        with open(path, "r+b") as f:
            image = bytearray(f.read())
            patch(image)
            f.seek(0)
            f.write(image)
    return path


def other_loader(image):
    at = image.index(b"/ld-linux")
    image[at:at + 8] = b"/ld-musl"


def refused(tmp):
    """Copies of `true` that cannot run with user threads, each with a word of the reason."""
    def wide(image):
        image[4] = 1

    def machine(image):
        image[18] ^= 0x55

    yield copy(tmp, "narrow", wide), "64-bit"
    yield copy(tmp, "elsewhere", machine), "another machine"
    yield copy(tmp, "other", other_loader), "not glibc"
    path = copy(tmp, "rights")
    os.chmod(path, 0o4755)
    yield path, "set-user-ID"
    path = copy(tmp, "caps")
    try:
        os.setxattr(path, "security.capability",
                    b"\1\0\0\2" + b"\0\4\0\0" + b"\0" * 12)
        yield path, "capabilities"
    except OSError as e:
        print("skipped: file capabilities: %s" % e)
    path = os.path.join(tmp, "go")
    if shutil.which("objcopy"):
        subprocess.run(["objcopy", "--add-section", ".go.buildinfo=" + __file__, TRUE, path],
                       check=True)
        yield path, "Go"
    path = os.path.join(tmp, "static")
    src = path + ".c"
    with open(src, "w") as f:
        f.write("int main(void) { return 0; }\n")
    if subprocess.run(["cc", "-static", "-o", path, src], stderr=subprocess.DEVNULL).returncode:
        print("skipped: no static libc")
    else:
        yield path, "statically linked"


def sanitized(tmp):
    """The same for programs that are built with a sanitizer."""
    src = os.path.join(tmp, "sanitized.c")
    with open(src, "w") as f:
        f.write("int main(void) { return 0; }\n")
    for how in (["address"], ["thread"], ["leak"], ["address", "-static-libasan"],
                ["thread", "-static-libtsan"]):
        path = os.path.join(tmp, "".join(how))
        if subprocess.run(["cc", "-fsanitize=" + how[0], *how[1:], "-o", path, src],
                          stderr=subprocess.DEVNULL).returncode:
            print("skipped: %s" % how)
        else:
            yield path, "sanitizer"


def judges(tmp):
    for path, word in itertools.chain(refused(tmp), sanitized(tmp)):
        r = uk("--check", path)
        name = os.path.basename(path)
        check("%s: --check gives the reason" % name, r[0] == 1 and word in r[1] and not r[2], r)
        if name in ("rights", "caps", "go", "static"):
            r = uk(path)
            check("%s: runs natively, after one line" % name,
                  r[0] == 0 and r[2].count("\n") == 1 and word in r[2], r)
        script = path + ".sh"
        with open(script, "w") as f:
            f.write("#! %s x y\n" % path)
        os.chmod(script, 0o755)
        r = uk("--check", script)
        check("%s: also for a script that it interprets" % name, r[0] == 1 and word in r[1], r)
    lib = subprocess.run(["cc", "-print-file-name=libasan.so"], capture_output=True, text=True)
    if os.path.isabs(lib.stdout.strip()):
        r = uk(TRUE, env=dict(ENV, LD_PRELOAD=lib.stdout.strip()))
        check("a preloaded sanitizer: runs natively, after one line",
              r[0] == 0 and r[2].count("\n") == 1 and "sanitizer" in r[2], r)
    r = uk("--check", PROBE)
    check("--check accepts a threaded program", r[0] == 0 and "libc.so.6" in r[1]
          and "as user threads" in r[1], r)


def a_script(tmp, name, first):
    path = os.path.join(tmp, name)
    with open(path, "w") as f:
        f.write("#!%s\n%s thread\n" % (first, PROBE))
    os.chmod(path, 0o755)
    return path


def options(tmp):
    r = uk("--stack", "192K", PROBE, "stack")
    check("--stack: the default of libc and the size that a thread has",
          r[0] == 0 and r[1].split()[0] == "196608" and int(r[1].split()[1]) >= 192 << 10, r)
    r = uk("--vps", "1", "--reactor", "epoll", PROBE, "env", "UK_VPS", "UK_REACTOR")
    check("--vps and --reactor", r[1] == "1 epoll\n", r)
    for script in (a_script(tmp, "script", "/bin/sh"), a_script(tmp, "by-env", "/usr/bin/env sh")):
        r = uk(script)
        check("children use user threads by default", r[:2] == (0, "user\n"), r)
        r = uk("--children", "no", script)
        check("--children no: children use kernel threads", r[:2] == (0, "kernel\n"), r)
    r = uk("--children", "no", PROBE, "thread")
    check("--children no: the program itself uses user threads", r[:2] == (0, "user\n"), r)
    other = dict(ENV, LD_PRELOAD=os.path.join(BUILD, "src", "libukthreads.so.1"))
    r = uk("--children", "no", PROBE, "env", "LD_PRELOAD", env=other)
    check("other preloaded libraries stay", r[1].strip() == other["LD_PRELOAD"], r)


def preloaded():
    """A library that is preloaded beside ours gets the program's calls, as natively, and calls
    ours. The program sees its time and its time limits, even if it comes after ours."""
    ours = os.path.join(BUILD, "libuk-posix.so")
    for reactor in ("uring", "epoll"):
        env = dict(ENV, LD_PRELOAD=OTHER)
        native = subprocess.run([PROBE, "recv"], env=env, capture_output=True, text=True)
        r = uk("--reactor", reactor, PROBE, "recv", env=env)
        check("%s: another library gets the calls" % reactor,
              r[:2] == (0, native.stdout) and "calls" in r[1], (r, native))
        r = uk("--reactor", reactor, PROBE, "thread", env=env)
        check("%s: the threads are user threads" % reactor, r[:2] == (0, "user\n"), r)
        r = uk("--reactor", reactor, PROBE, "limits", env=env)
        check("%s: time limits follow its clock" % reactor, r[:2] == (0, "in time\n"), r)
        r = uk("--reactor", reactor, "env", "LD_PRELOAD=%s:%s" % (ours, OTHER), PROBE, "limits")
        check("%s: also if it comes after ours" % reactor, r[:2] == (0, "in time\n"), r)


def without_proc():
    """User threads work without a mounted /proc."""
    r = subprocess.run(["unshare", "-rm", "sh", "-c", "mount -t tmpfs none /proc && exec %s run %s thread"
                        % (UK, PROBE)], env=ENV, capture_output=True, text=True)
    if "unshare:" in r.stderr or "mount:" in r.stderr:
        print("skipped: no mounts: %s" % r.stderr)
    else:
        check("without /proc", r.stdout == "user\n", r)


def stats(tmp):
    path = os.path.join(tmp, "stats.json")
    for args, threads in ((["thread"], 1), (["exit", "3"], 0)):
        uk("--stats", "stats.json", "--", PROBE, *args, cwd=tmp)
        with open(path) as f:
            s = json.load(f)
        check("--stats: %d threads" % threads, s["creates"] == threads and "spotted" in s, s)
        os.unlink(path)
    uk("--stats", path, "sh", "-c", "%s thread; cd /; exec %s thread" % (PROBE, PROBE))
    with open(path) as f:
        s = json.load(f)
    check("--stats: counts the process, also after an exec", s["creates"] == 1, s)
    check("no thread is bound", s["bound_threads"] == 0 and s["bound"] == [], s)
    uk("--stats", path, "--bind", "a*[12]", PROBE, "named", "audio", "a2", 'a"1', "b1")
    with open(path) as f:
        s = json.load(f)
    check("--bind: the threads with such a name", s["bound_threads"] == 2 and s["bound"] == [
        {"name": name, "why": "UK_BIND"} for name in ("a2", "a?1")], s)


def asks_once(tmp):
    """The system calls for a message: the type of a socket is not queried at each wait."""
    path = os.path.join(tmp, "stats.json")
    for reactor, most in (("uring", 2), ("epoll", 4)):
        for call in ("recv", "read"):
            r = uk("--vps", "1", "--reactor", reactor, "--stats", path, PROBE, call)
            with open(path) as f:
                n = json.load(f)["syscalls"] / 2000
            print("%s, %s: %.2f" % (reactor, call, n))
            if seeds:  # such a build makes extra calls
                continue
            check("%s, %s: at most %d a message" % (reactor, call, most),
                  r[0] == 0 and n < most + 0.5, n)


def main():
    with tempfile.TemporaryDirectory() as tmp:
        becomes_the_program()
        says_why_not(tmp)
        judges(tmp)
        options(tmp)
        preloaded()
        without_proc()
        stats(tmp)
        asks_once(tmp)
    for b in bad:
        print(b)
    return 1 if bad else 0


sys.exit(main())

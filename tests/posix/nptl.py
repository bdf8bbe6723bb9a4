#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nptl.py BUILD [--only RE] [--limit SEC] [--report FILE]: glibc's own thread tests.

A test that passes natively must pass with the preload library. The tests and their support
library come from Debian's package glibc-source. They are unpacked and compiled in BUILD, against
the C library of this machine, with replacements (SHIMS) for the few headers of glibc's build that
they need. Tests that need other private headers, or are statically linked, are left out and
counted. A test that fails with the preload library also runs natively, for comparison.
nptl.expected lists the tests that may differ, and why.

UK_REACTOR and UK_VPS are taken from the environment. A test that hangs gets SIGQUIT, so that its
dump is in the report."""
import argparse
import concurrent.futures
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCES = "/usr/src/glibc/glibc-*.tar.xz"
FOLDERS = ("nptl", "sysdeps/pthread")
WIDTH = 2
SHIMS = {
    "config.h": "",
    "atomic.h": "#include <stdatomic.h>\n"
                "#define atomic_load_relaxed(p) __atomic_load_n(p, __ATOMIC_RELAXED)\n"
                "#define atomic_store_relaxed(p, v) __atomic_store_n(p, v, __ATOMIC_RELAXED)\n",
    "stackinfo.h": "#define _STACK_GROWS_DOWN 1\n#define _STACK_GROWS_UP 0\n"
                   "#define PF_X 1\n#define DEFAULT_STACK_PERMS 0\n",
    "shlib-compat.h": "#define SHLIB_COMPAT(l, i, o) 0\n#define TEST_COMPAT(l, i, o) 0\n"
                      "#define compat_symbol_reference(l, a, b, v)\n",
    "dso_handle.h": "extern void *__dso_handle;\n",
    "pthreadP.h": "#include <pthread.h>\n#define SIGCANCEL 32\n",
    "pthreaddef.h": "",
    "internal-signals.h": "#define SIGCANCEL 32\n",
    # the one in sysdeps/x86_64 works only in glibc's own build
    "tst-stack-align.h": "#include <stdint.h>\n#define TEST_STACK_ALIGN() "
                         "({ double _Alignas(16) d_ = 1; "
                         "__asm__ volatile(\"\" : : \"r\"(&d_)); (uintptr_t)&d_ % 16 != 0; })\n",
}
HEADERS = ["libc-diag.h", "array_length.h", "libc-pointer-arith.h",
           "intprops.h", "scratch_buffer.h"]
# replaces the file of this function, which uses glibc's internal kind of once
SMALL_STACK = """#include <support/xthread.h>
static pthread_attr_t small;
static void make(void)
{
	xpthread_attr_init(&small);
	support_set_small_thread_stack_size(&small);
}
pthread_attr_t *support_small_stack_thread_attribute(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, make);
	return &small;
}
"""
CFLAGS = ["-O1", "-g", "-fexceptions", "-D_GNU_SOURCE", "-DMODULE_NAME=testsuite", "-w",
          "-fno-builtin", "-DTIMEOUTFACTOR=1", "-DNAME_MAX=255", "-DINT_MAX=__INT_MAX__", "-Dlibc_hidden_proto(x)=",
          "-Dattribute_hidden=__attribute__((visibility(\"hidden\")))"]
# support files that need glibc's build, or are programs
NO_SUPPORT = re.compile(r"-time64|_main|test-driver|test-run|links-|shell-|echo-|true-|tst-|"
                        r"test-container|small_stack_thread|path_support")
ROUTE = {"SRCDIR": "/", "OBJDIR": "/", "OBJDIR_ELF_LDSO": "/lib64/ld-linux-x86-64.so.2",
         "INSTDIR": "/usr", "LIBDIR": "/usr/lib", "BINDIR": "/usr/bin", "SBINDIR": "/usr/sbin",
         "SLIBDIR": "/lib", "SYSCONFDIR": "/etc", "ROOTSBINDIR": "/sbin",
         "COMPLOCALEDIR": "/usr/lib/locale"}
ARGS = {"tst-cancel7": ["--command", "exec %s"], "tst-cancelx7": ["--command", "exec %s"],
        "tst-exec4": ["%s"], "tst-umask1": ["umask1.temp"],
        "tst-stackguard1": ["--command", "%s --child"]}
EXPORTS = {"tst-atfork2", "tst-atfork3", "tst-atfork4", "tst-create1", "tst-tls3"}
LINKED = {"tst-fini1": ["tst-fini1mod"], "tst-_res1": ["tst-_res1mod1", "tst-_res1mod2"],
          "tst-compat-forwarder": ["tst-compat-forwarder-mod"]}
HELPERS = {"tst-cleanup4": ["tst-cleanup4aux"], "tst-cleanupx4": ["tst-cleanupx4aux"]}


def is_module(name):
    return re.search(r"mod[0-9]?[a-z]?$|-mod\d?$", name) is not None


class Bench:
    """Compiles the tests in BUILD/nptl."""

    def __init__(self, build, archive):
        version = re.search(r"glibc-(.*)\.tar", archive).group(1)
        self.src = os.path.join(build, "nptl", "glibc-" + version)
        self.out = os.path.join(build, "nptl", "out-" + version)
        if not os.path.isdir(self.src):
            part = tempfile.mkdtemp(dir=os.path.join(build, "nptl"))
            with tarfile.open(archive) as t:
                t.extractall(part, filter="fully_trusted") if hasattr(
                    tarfile, "fully_trusted_filter") else t.extractall(part)
            os.rename(os.path.join(part, "glibc-" + version), self.src)
            os.rmdir(part)
        self.headers()

    def headers(self):
        inc = os.path.join(self.out, "inc")
        if os.path.isdir(inc) and os.path.getmtime(inc) < os.path.getmtime(__file__):
            shutil.rmtree(self.out)
        os.makedirs(inc, exist_ok=True)
        for name, text in SHIMS.items():
            with open(os.path.join(inc, name), "w") as f:
                f.write(text)
        for path in ["support"] + [os.path.join("include", h) for h in HEADERS]:
            at = os.path.join(inc, os.path.basename(path))
            if not os.path.exists(at):
                os.symlink(os.path.join(self.src, path), at)
        with open(os.path.join(self.out, "small-stack.c"), "w") as f:
            f.write(SMALL_STACK)

    def compile(self, path, to, *flags):
        """Compiles path to `to`, unless that exists. Returns whether it exists now."""
        fail = to + ".fail"
        if os.path.exists(to):
            return True
        if os.path.exists(fail):
            return False
        after = [x for d in ("", "nptl", "sysdeps/pthread", "sysdeps/nptl", "sysdeps/unix/sysv/linux")
                 for x in ("-idirafter", os.path.join(self.src, d))]
        lang = ["g++", "-std=gnu++11"] if path.endswith(".cc") else ["gcc", "-std=gnu11"]
        p = subprocess.run(lang + CFLAGS + ["-I", os.path.join(self.out, "inc"), "-I",
                           os.path.join(self.src, "support")] + after + list(flags) +
                           ["-c", "-o", to, path], stderr=subprocess.PIPE, text=True)
        if p.returncode:
            with open(fail, "w") as f:
                f.write(p.stderr)
        return p.returncode == 0

    def link(self, to, what, *flags):
        return os.path.exists(to) or subprocess.run(
            ["g++", "-o", to, *what, *flags, "-L", self.out, "-pthread", "-ldl", "-lm", "-lrt",
             "-Wl,-rpath," + self.out], stderr=subprocess.DEVNULL).returncode == 0

    def object(self, name):
        return os.path.join(self.out, name + ".o")

    def support(self, pool):
        lib = os.path.join(self.out, "libsupport.a")
        if os.path.exists(lib):
            return lib
        flags = ["-D%s_PATH=\"%s\"" % r for r in ROUTE.items()]
        files = [f for f in glob.glob(os.path.join(self.src, "support", "*.c"))
                 if not NO_SUPPORT.search(os.path.basename(f))]
        files += [os.path.join(self.src, "support", "support_test_main.c"),
                  os.path.join(self.out, "small-stack.c")]
        objects = [os.path.join(self.out, "support-%s.o" % os.path.basename(f)) for f in files]
        good = list(pool.map(lambda p: self.compile(*p, *flags), zip(files, objects)))
        subprocess.run(["ar", "rc", lib] + [o for o, g in zip(objects, good) if g], check=True)
        return lib

    def module(self, path):
        name = os.path.splitext(os.path.basename(path))[0]
        to = os.path.join(self.out, name + ".so")
        if self.compile(path, self.object(name), "-fPIC"):
            need = [os.path.join(self.out, "tst-_res1mod1.so")] if name == "tst-_res1mod2" else []
            self.link(to, [self.object(name)] + need, "-shared", "-Wl,-soname," + name + ".so")
        if name == "tst-stack4mod":
            for i in range(11):
                for j in range(6):
                    shutil.copy(to, "%s-%d-%d.so" % (to[:-3], i, j))

    def program(self, path, lib):
        """The path of the built program, or None if it cannot be built."""
        name = os.path.splitext(os.path.basename(path))[0]
        to = os.path.join(self.out, name)
        what = [self.object(name)] + [self.object(h) for h in HELPERS.get(name, ())]
        what += [os.path.join(self.out, m + ".so") for m in LINKED.get(name, ())]
        if os.path.exists(to + ".fail") or not self.compile(path, self.object(name)):
            return None
        flags = ["-rdynamic"] if name in EXPORTS else []
        if not self.link(to, what + [lib], "-Wl,--no-as-needed", *flags):
            open(to + ".fail", "w").close()
            return None
        return to

    def programs(self, pool):
        files = sorted(f for d in FOLDERS for f in
                       glob.glob(os.path.join(self.src, d, "tst-*.c")) +
                       glob.glob(os.path.join(self.src, d, "tst-*.cc")))
        files = [f for f in files if "static" not in f and "gdb" not in f]
        names = [os.path.splitext(os.path.basename(f))[0] for f in files]
        lib = self.support(pool)
        for f, n in sorted(zip(files, names), key=lambda p: p[1]):
            if is_module(n):
                self.module(f)
        for h in (h for hs in HELPERS.values() for h in hs):
            self.compile(os.path.join(self.src, "nptl", h + ".c"), self.object(h))
        tests = [f for f, n in zip(files, names) if not is_module(n) and
                 not n.endswith(("-common", "aux"))]
        made = list(pool.map(lambda f: self.program(f, lib), tests))
        left = [os.path.basename(t) for t, m in zip(tests, made) if not m]
        return [m for m in made if m], left


def execute(program, dropin, limit):
    """Runs the program. Returns the result and the output."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("UK_") or dropin}
    env["TIMEOUTFACTOR"] = str(limit) # the test's own time limit must not expire
    env["MALLOC_ARENA_MAX"] = env.get("MALLOC_ARENA_MAX", "8")
    if dropin:
        env["LD_PRELOAD"] = dropin
    name = os.path.basename(program)
    with tempfile.TemporaryDirectory() as tmp:
        env["TMPDIR"] = tmp
        with open(os.path.join(tmp, "out"), "w+b") as out:
            p = subprocess.Popen([program] + [a.replace("%s", program) for a in ARGS.get(name, ())],
                                 env=env, cwd=tmp, stdin=subprocess.DEVNULL, stdout=out,
                                 stderr=out, start_new_session=True)
            verdict = wait(p, limit)
            out.seek(0)
            return verdict, out.read().decode(errors="replace")


def group_of(session):
    """The process groups of the session: the test's driver gives its process a group of its own."""
    for stat in glob.glob("/proc/[0-9]*/stat"):
        try:
            with open(stat) as f:
                words = f.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(words[3]) == session:
            yield int(stat.split("/")[2])


def wait(p, limit):
    try:
        r = p.wait(timeout=limit)
        verdict = {0: "passes", 77: "is not supported"}.get(r, "fails (%d)" % r)
    except subprocess.TimeoutExpired:
        verdict = "hangs"
        for sig in (signal.SIGQUIT, signal.SIGKILL):
            for pid in group_of(p.pid):
                try:
                    os.kill(pid, sig)
                except OSError:
                    pass
            try:
                p.wait(timeout=3 if sig == signal.SIGQUIT else None)
            except subprocess.TimeoutExpired:
                pass
    for pid in group_of(p.pid):
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass
    return verdict


def expected():
    found = {}
    with open(os.path.join(HERE, "nptl.expected")) as f:
        for line in f:
            name, _, why = line.partition(":")
            if why and not line.startswith("#"):
                found[name.strip()] = why.strip()
    return found


def judge(program, dropin, limit):
    ours, out = execute(program, dropin, limit)
    if ours in ("passes", "is not supported"):
        return ours, ours, out
    return ours, execute(program, None, limit)[0], out


def verdicts(tests, opts, pool):
    """Prints each difference. Returns the unexpected ones, and the number of equal results."""
    dropin = os.path.join(opts.build, "libuk-posix.so")
    may, bad, same = expected(), [], 0
    work = {pool.submit(judge, t, dropin, opts.limit): os.path.basename(t) for t in tests}
    for w in concurrent.futures.as_completed(work):
        name = work[w]
        ours, native, out = w.result()
        if ours == native or native != "passes":
            same += 1
        elif name in may:
            print("expected %s %s: %s" % (name, ours, may[name]), flush=True)
        else:
            bad.append((name, ours, out))
            print("FAILED %s %s, natively it %s" % (name, ours, native), flush=True)
    return sorted(bad), same


def main():
    a = argparse.ArgumentParser()
    a.add_argument("build", type=os.path.abspath)
    a.add_argument("--only", default="")
    a.add_argument("--limit", type=int, default=300)
    a.add_argument("--report")
    opts = a.parse_args()
    archives = sorted(glob.glob(SOURCES))
    if not archives or not shutil.which("g++"):
        print("skipped: no %s (install glibc-source), or no g++\n0 passed, 0 failed, 1 skipped" % SOURCES)
        return 77
    os.makedirs(os.path.join(opts.build, "nptl"), exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(WIDTH) as pool:
        tests, left = Bench(opts.build, archives[-1]).programs(pool)
        tests = [t for t in tests if re.search(opts.only, os.path.basename(t))]
        bad, same = verdicts(tests, opts, pool)
    report = open(opts.report, "w") if opts.report else sys.stdout
    for name, ours, out in bad:
        print("== %s %s" % (name, ours), out[-3000:], sep="\n", file=report)
    print("%d not built: %s" % (len(left), " ".join(left)))
    print("%d passed, %d failed, %d skipped" % (same, len(bad), len(left)))
    return 1 if bad else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test the result of `make install`: tools that find their library wherever the installed tree is,
and a library that programs can link in each documented way: pkg-config, pkg-config with the
archive, the two targets of CMake, the libraries with a sanitizer. Each consumer is built
from the installed files and run."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(ROOT, "build")
# Two functions have the names of internal functions of the library. The archive must allow that.
PROGRAM = r"""
#include <stdio.h>
#include <uk/uk.h>

int wait_park(void);
int wait_park(void)
{
	return 40;
}

int runq_push(void);
int runq_push(void)
{
	return 2;
}

static void *body(void *arg)
{
	uk_sleep(UK_MS);
	return arg;
}

int main(void)
{
	uk_thread *t;
	void *ret;

	if (uk_thread_create(&t, NULL, body, (void *)(long)(wait_park() + runq_push())) < 0)
		return 1;
	uk_thread_join(t, &ret);
	printf("%ld %s\n", (long)ret, uk_version());
	return 0;
}
"""
CMAKE = """cmake_minimum_required(VERSION 3.13)
project(consumer C)
find_package(ukthreads 0.2 REQUIRED)
add_executable(shared prog.c)
target_link_libraries(shared ukthreads::ukthreads)
add_executable(archive prog.c)
target_link_libraries(archive ukthreads::static)
"""
bad = []
# Meson lets its tests find the library in the build directory.
os.environ.pop("LD_LIBRARY_PATH", None)


def run(cmd, **kw):
    p = subprocess.run(cmd, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **kw)
    return p.returncode, p.stdout


def check(what, cmd, says=None, **kw):
    code, out = run(cmd, **kw)
    if code or says is not None and says not in out:
        bad.append("%s: %s\n%s" % (what, code, out[-1500:]))
        return False
    print("ok %s" % what)
    return True


def links(exe, is_shared):
    """Check whether exe needs the shared library."""
    needs = "libukthreads.so.1" in run(["readelf", "-d", exe])[1]
    if needs != is_shared:
        bad.append("%s: it %s the shared library" % (exe, "needs" if needs else "does not need"))


def by_pkg_config(tmp, prefix, lib):
    if not shutil.which("pkg-config"):
        print("skipped: no pkg-config")
        return
    env = dict(os.environ, PKG_CONFIG_PATH=os.path.join(lib, "pkgconfig"))
    # DESTDIR moved the tree away from the prefix that was recorded
    pc = ["pkg-config", "--define-variable=prefix=" + prefix]
    for name, is_shared in (("shared", True), ("archive", False)):
        more = [] if is_shared else ["--static"]
        code, out = run(pc + more + ["--cflags", "--libs", "ukthreads"], env=env)
        flags = out.split()
        if is_shared:
            flags.append("-Wl,-rpath," + lib)
        else:
            flags = [f.replace("-lukthreads", "-l:libukthreads.a") for f in flags]
        exe = os.path.join(tmp, name)
        check("pkg-config, %s: built" % name,
              ["cc", "-o", exe, os.path.join(tmp, "prog.c")] + flags) and \
            check("pkg-config, %s: runs" % name, [exe], "42 0.")
        links(exe, is_shared)


def by_cmake(tmp, prefix):
    if not shutil.which("cmake"):
        print("skipped: no CMake")
        return
    with open(os.path.join(tmp, "CMakeLists.txt"), "w") as f:
        f.write(CMAKE)
    out = os.path.join(tmp, "out")
    if not check("CMake: configured", ["cmake", "-S", tmp, "-B", out, "-G", "Ninja",
                                       "-DCMAKE_PREFIX_PATH=" + prefix]) or \
            not check("CMake: built", ["cmake", "--build", out]):
        return
    for name in ("shared", "archive"):
        exe = os.path.join(out, name)
        check("CMake, %s: runs" % name, [exe], "42 0.")
        links(exe, name == "shared")


def with_sanitizers(tmp, prefix, lib):
    """Libraries with sanitizers lie beside the plain one; LD_LIBRARY_PATH selects them."""
    for name, flag in (("tsan", "thread"), ("asan", "address")):
        if not os.path.isdir(os.path.join(BUILD, "sanitized", name)):
            continue
        there = os.path.join(lib, "ukthreads-" + name)
        exe = os.path.join(tmp, name)
        env = dict(os.environ, LD_LIBRARY_PATH=there)
        check("%s: built" % name,
              ["cc", "-fsanitize=" + flag, "-o", exe, os.path.join(tmp, "prog.c"),
               "-I" + os.path.join(prefix, "include"), "-L" + there, "-lukthreads"]) and \
            check("%s: runs" % name, [exe], "42 0.", env=env)
        if os.path.join(there, "libukthreads.so.1") not in run(["ldd", exe], env=env)[1]:
            bad.append("%s: the program does not load the library in %s" % (name, there))


def without_rights():
    """Without permission, it prints one line that says what to do, and changes nothing."""
    cmd = [os.path.join(ROOT, "scripts", "install"), BUILD, "/usr/local"]
    if os.getuid() == 0:
        cmd = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"] + cmd
    elif os.access("/usr/local", os.W_OK):
        return
    if run(cmd[:-3] + ["test", "-r", cmd[-3]])[0]:
        print("skipped: a user without permission cannot read this tree")
        return
    code, out = run(cmd, env=dict(os.environ, DESTDIR=""), cwd="/")
    if code == 0 or "PREFIX=" not in out or out.strip().count("\n"):
        bad.append("without permission: %s\n%s" % (code, out))
    else:
        print("ok without permission: one line")


def main():
    with tempfile.TemporaryDirectory() as tmp:
        dest = os.path.join(tmp, "dest")
        code, out = run(["meson", "install", "-C", BUILD, "--no-rebuild", "--quiet"],
                        env=dict(os.environ, DESTDIR=dest))
        found = glob.glob(dest + "/**/libukthreads.so.1", recursive=True)
        if code or not found:
            print("meson install: %s\n%s" % (code, out))
            return 1
        lib = os.path.dirname(found[0])
        header = glob.glob(dest + "/**/include/uk/uk.h", recursive=True)[0]
        prefix = header[:-len("/include/uk/uk.h")]
        for cmd in (["uk", "doctor"], ["ukweb", "--version"]):
            exe = os.path.join(prefix, "bin", cmd[0])
            if os.path.exists(exe):
                check("%s finds the library" % " ".join(cmd), [exe] + cmd[1:])
                loaded = re.search(r"libukthreads.so.1 => (\S+)", run(["ldd", exe])[1])
                if not loaded or os.path.realpath(loaded.group(1)) != \
                        os.path.realpath(found[0]):
                    bad.append("%s: loads %s, not %s" % (exe, loaded and loaded.group(1), found[0]))
        exe = os.path.join(prefix, "bin", "uk")
        check("uk run finds the drop-in", [exe, "run", "sh", "-c", "echo $LD_PRELOAD"],
              os.path.join(os.path.realpath(lib), "ukthreads", "libuk-posix.so"))
        with open(os.path.join(tmp, "prog.c"), "w") as f:
            f.write(PROGRAM)
        by_pkg_config(tmp, prefix, lib)
        by_cmake(tmp, prefix)
        with_sanitizers(tmp, prefix, lib)
    without_rights()
    for b in bad:
        print("FAILED " + b)
    return 1 if bad else 0


sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""How each program of the comparison is built.

`program(name)` builds it if it is older than its sources and returns its path, or
raises Missing with the reason in one line. The harness prints that reason and goes on
with the others. `python3 bench/lib/build.py` builds all of them."""
import glob
import os
import shutil
import subprocess
import sys

BENCH = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(BENCH)
OUT = os.path.join(BENCH, "out")
UK_BUILD = os.path.abspath(os.environ.get("UK_BUILD", os.path.join(ROOT, "build")))
CFLAGS = "-O2 -g -D_GNU_SOURCE -std=gnu17 -Wall -Wextra -Wshadow".split()


class Missing(Exception):
    """A program that cannot be built or found on this machine, and why."""


def which(tool, package):
    path = shutil.which(tool) or shutil.which(tool, path="/usr/sbin:/usr/local/go/bin")
    if not path:
        raise Missing(f"{tool} is not installed (Debian: {package}); see bench/setup")
    return path


def jdk():
    """A JDK with final virtual threads (21 or later), newest first."""
    homes = [os.environ.get("JAVA25_HOME", "")] + sorted(
        glob.glob("/usr/lib/jvm/*"), reverse=True)
    for want in (25, 24, 23, 22, 21):
        for home in homes:
            release = os.path.join(home, "release")
            if os.path.exists(release) and f'JAVA_VERSION="{want}' in open(release).read():
                return home
    raise Missing("no JDK 21 or later under /usr/lib/jvm (JAVA25_HOME points to one)")


def libst():
    if not os.path.exists("/usr/include/st.h"):
        raise Missing("State Threads is not installed (Debian: libst-dev)")


def liburing():
    if not os.path.exists("/usr/include/liburing.h"):
        raise Missing("liburing is not installed (Debian: liburing-dev)")


def fiber():
    if not os.path.exists("/usr/include/boost/fiber/all.hpp"):
        raise Missing("Boost.Fiber is not installed (Debian: libboost-fiber-dev)")


def built(*paths):
    """The path of a program of this tree's build: at its top, or where meson leaves
    it."""
    for path in paths:
        if os.path.exists(os.path.join(UK_BUILD, path)):
            return os.path.join(UK_BUILD, path)
    raise Missing(f"{paths[0]} is not built (run make, or set UK_BUILD)")


def runtime():
    """The folder of libukthreads.so."""
    return os.path.dirname(built("libukthreads.so", "src/libukthreads.so"))


def gcc(target, source, *libs):
    return [which("gcc", "gcc"), *CFLAGS, f"-I{ROOT}/include", f"-I{BENCH}/lib",
            source, "-o", target, "-pthread", *libs]


def workloads(target, api, *libs):
    """The workloads in C over one API."""
    return gcc(target, f"{BENCH}/micro/workloads.c", f'-DAPI="api_{api}.h"', *libs)


def go(target, folder):
    return [which("go", "golang"), "build", "-C", folder, "-o", target, "."]


def cargo(package):
    return [which("cargo", "cargo"), "build", "--release", "--quiet",
            "--manifest-path", os.path.join(BENCH, "Cargo.toml"),
            "--target-dir", os.path.join(OUT, "cargo"), "-p", package]


def net_echo(connections):
    return (f"{B}/net-echo-{connections}", ["net/echo.c", "lib/bench.h"],
            lambda t: gcc(t, f"{BENCH}/net/echo.c", f"-L{runtime()}", "-lukthreads",
                          f"-Wl,-rpath,{runtime()}", f"-DCONNECTIONS={connections}"), None)


B = os.path.join(OUT, "bin")
WORKLOADS = ["micro/workloads.c", "micro/api_cells.h", "lib/bench.h"]
# name: (file made, sources, command, what must be installed)
RULES = {
    "uk": (f"{B}/uk", ["micro/api_uk.h", *WORKLOADS],
           lambda t: workloads(t, "uk", f"-L{runtime()}", "-lukthreads",
                               f"-Wl,-rpath,{runtime()}"), runtime),
    "nptl": (f"{B}/nptl", ["micro/api_nptl.h", *WORKLOADS],
             lambda t: workloads(t, "nptl"), None),
    "st": (f"{B}/st", ["micro/api_st.h", *WORKLOADS],
           lambda t: workloads(t, "st", "-lst"), libst),
    "boost.fiber": (f"{B}/fiber", ["micro/fiber.cc", "lib/bench.h"],
                    lambda t: [which("g++", "g++"), "-O2", "-std=c++17", "-Wall", "-Wextra",
                               f"-I{BENCH}/lib", f"{BENCH}/micro/fiber.cc", "-o", t,
                               "-lboost_fiber", "-lboost_context", "-pthread"], fiber),
    "go": (f"{B}/go-micro", ["micro/go/main.go", "micro/go/go.mod"],
           lambda t: go(t, f"{BENCH}/micro/go"), None),
    "tokio": (f"{OUT}/cargo/release/tokio-micro",
              ["micro/tokio/src/main.rs", "micro/rust/bench.rs", "micro/tokio/Cargo.toml"],
              lambda t: cargo("tokio-micro"), None),
    "may": (f"{OUT}/cargo/release/may-micro",
            ["micro/may/src/main.rs", "micro/rust/bench.rs", "micro/may/Cargo.toml"],
            lambda t: cargo("may-micro"), None),
    "loom": (f"{OUT}/loom/Loom.class", ["micro/Loom.java"],
             lambda t: [f"{jdk()}/bin/javac", "-Xlint:all", "-d", f"{OUT}/loom",
                        f"{BENCH}/micro/Loom.java"], jdk),
    "act": (f"{B}/act", ["act/act.c", "lib/bench.h"],
            lambda t: gcc(t, f"{BENCH}/act/act.c", f"-L{runtime()}", "-lukthreads",
                          f"-Wl,-rpath,{runtime()}"), runtime),
    "async-uk": (f"{B}/async-uk", ["async/uk.c", "async/load.h", "lib/bench.h"],
                 lambda t: gcc(t, f"{BENCH}/async/uk.c", f"-L{runtime()}", "-lukthreads",
                               f"-Wl,-rpath,{runtime()}"), None),
    "async-liburing": (f"{B}/async-liburing",
                       ["async/liburing.c", "async/load.h", "lib/bench.h"],
                       lambda t: gcc(t, f"{BENCH}/async/liburing.c", "-luring"), liburing),
    "async-tokio-uring": (f"{OUT}/cargo/release/async-tokio-uring",
                          ["async/tokio-uring/src/main.rs", "micro/rust/bench.rs",
                           "async/tokio-uring/Cargo.toml"],
                          lambda t: cargo("async-tokio-uring"), None),
    "proxy-uk": (f"{B}/proxy-uk", ["async/proxy_uk.c", "async/proxy.h", "lib/bench.h"],
                 lambda t: gcc(t, f"{BENCH}/async/proxy_uk.c", f"-L{runtime()}", "-lukthreads",
                               f"-Wl,-rpath,{runtime()}"), None),
    "proxy-liburing": (f"{B}/proxy-liburing",
                       ["async/proxy_liburing.c", "async/proxy.h", "lib/bench.h"],
                       lambda t: gcc(t, f"{BENCH}/async/proxy_liburing.c", "-luring"),
                       liburing),
    "net-echo": net_echo(32),
    "net-echo-512": net_echo(512),
    "act-nptl": (f"{B}/act-nptl", ["act/act.c", "lib/bench.h"],
                 lambda t: gcc(t, f"{BENCH}/act/act.c", "-DKERNEL_THREADS"), None),
    "echo": (f"{B}/echo", ["posix/echo.c", "lib/bench.h"],
             lambda t: gcc(t, f"{BENCH}/posix/echo.c"), None),
    "echo-load": (f"{B}/echo-load", ["posix/echo_load.c", "lib/bench.h"],
                  lambda t: gcc(t, f"{BENCH}/posix/echo_load.c"), None),
    "posix-micro": (f"{B}/posix-micro", ["posix/micro.c", "lib/bench.h"],
                    lambda t: gcc(t, f"{BENCH}/posix/micro.c"), None),
    "act-loom": (f"{OUT}/loom/Act.class", ["act/Act.java"],
                 lambda t: [f"{jdk()}/bin/javac", "-Xlint:all", "-d", f"{OUT}/loom",
                            f"{BENCH}/act/Act.java"], jdk),
    "go-act": (f"{B}/go-act", ["act/go/main.go", "act/go/go.mod"],
               lambda t: go(t, f"{BENCH}/act/go"), None),
    "load": (f"{B}/load", ["web/load.c", "lib/bench.h"],
             lambda t: gcc(t, f"{BENCH}/web/load.c"), None),
    "raw-epoll": (f"{B}/raw_epoll", ["web/raw_epoll.c", "web/raw.h", "lib/bench.h"],
                  lambda t: gcc(t, f"{BENCH}/web/raw_epoll.c"), None),
    "raw-uring": (f"{B}/raw_uring", ["web/raw_uring.c", "web/raw.h", "lib/bench.h"],
                  lambda t: gcc(t, f"{BENCH}/web/raw_uring.c"), None),
    "go-net-http": (f"{B}/go-web", ["web/go/main.go", "web/go/go.mod"],
                    lambda t: go(t, f"{BENCH}/web/go"), None),
    "hyper": (f"{OUT}/cargo/release/hyper-web",
              ["web/hyper/src/main.rs", "web/hyper/Cargo.toml"],
              lambda t: cargo("hyper-web"), None),
}


def program(name):
    target, sources, command, needs = RULES[name]
    if needs:
        needs()
    # programs that use the library's headers, which may have changed
    sources = [os.path.join(BENCH, s) for s in sources] + glob.glob(f"{ROOT}/include/uk/*.h")
    newest = max(os.path.getmtime(s) for s in sources)
    if not os.path.exists(target) or os.path.getmtime(target) < newest:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        print(f"building {name}", file=sys.stderr, flush=True)
        done = subprocess.run(command(target), capture_output=True, text=True)
        if done.returncode:
            tail = (done.stderr or done.stdout).strip().splitlines()[-1:]
            raise Missing(f"does not build: {' '.join(tail)}")
        os.utime(target)
    return target


if __name__ == "__main__":
    absent = 0
    for rule in RULES:
        try:
            print(f"{rule:12} {os.path.relpath(program(rule), ROOT)}")
        except Missing as why:
            absent += 1
            print(f"{rule:12} MISSING: {why}")
    sys.exit(1 if absent else 0)

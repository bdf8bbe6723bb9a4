#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""rust.py BUILD lint|test: check the Rust crate (bindings/rust) with the library of BUILD.

lint: formatting, clippy and documentation without a warning.
test: the crate's tests, with the engine and vps of the environment; its example, with the shared
and the static library; the crate has no dependencies, so nothing is fetched.

Skipped if there is no cargo, or an older one than Cargo.toml asks for."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CRATE = os.path.join(ROOT, "bindings", "rust")
BUILD = os.path.abspath(sys.argv[1])
LIB = os.path.join(BUILD, "src")
ENV = dict(os.environ, UKTHREADS_LIB_DIR=LIB, CARGO_INCREMENTAL="0", RUSTDOCFLAGS="-D warnings",
           # the programs of rustdoc have no path of the library in them
           LD_LIBRARY_PATH=LIB,
           # std's tests assume that the kernel does not cut short what fits
           UK_DEBUG=os.environ.get("UK_DEBUG", "") + ",hostile-short=no")


def skip(why):
    print("skipped: " + why)
    sys.exit(77)


def works(*command):
    try:
        out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    except FileNotFoundError:
        return ""
    return out.stdout if out.returncode == 0 else ""


def version(text):
    return tuple(int(n) for n in re.search(r"(\d+)\.(\d+)", text).groups())


def cargo(*args, target="rust", env=None, **how):
    return subprocess.run(["cargo", args[0], "--offline", "--quiet",
                           "--target-dir", os.path.join(BUILD, target), *args[1:]],
                          cwd=CRATE, env=dict(ENV, **(env or {})), check=True, **how)


def lint():
    for tool in ("fmt", "clippy"):
        if not works("cargo", tool, "--version"):
            skip("no cargo " + tool)
    subprocess.run(["cargo", "fmt", "--check"], cwd=CRATE, check=True)
    cargo("clippy", "--all-targets", "--", "-D", "warnings")
    cargo("doc", "--no-deps")


def example(**how):
    out = cargo("run", "--example", "echo", "1000", stdout=subprocess.PIPE, text=True, **how)
    if out.stdout != "1000 clients, 21890 bytes\n":
        sys.exit("the example printed " + out.stdout)


def main():
    have = works("cargo", "--version")
    if not have:
        skip("no cargo")
    with open(os.path.join(CRATE, "Cargo.toml"), encoding="utf-8") as f:
        want = re.search(r'rust-version = "(.*)"', f.read()).group(1)
    if version(have) < version(want):
        skip("cargo is older than " + want)
    if sys.argv[2] == "lint":
        lint()
        return
    cargo("test", "--no-fail-fast")
    example()
    example(target="rust-static", env={"UKTHREADS_STATIC": "1", "LD_LIBRARY_PATH": ""})


try:
    main()
except subprocess.CalledProcessError as e:
    sys.exit("failed: " + " ".join(e.cmd))

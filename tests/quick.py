#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that scripts/run.mk, with which `make run` builds without Meson, compiles the same sources
as Meson, and that the programs run."""
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build")
MAKE = ["make", "-s", "-f", "scripts/run.mk"]
# If make started the tests, its flags are not for this make.
ENV = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}


def by_meson():
    targets = json.loads(subprocess.check_output(["meson", "introspect", "--targets", BUILD]))
    return {os.path.relpath(s, ROOT) for t in targets if t["name"] in ("rooms", "ukweb", "uk")
            for part in t["target_sources"] for s in part.get("sources", [])
            if s.endswith((".c", ".S"))}


def main():
    ours = set(subprocess.check_output(MAKE + ["sources"], cwd=ROOT, text=True,
                                       env=ENV).split())
    theirs = by_meson()
    for s in sorted(ours ^ theirs):
        print("%s: only %s compiles it" % (s, "scripts/run.mk" if s in ours else "Meson"))
    if ours != theirs or not ours:
        return 1
    with tempfile.TemporaryDirectory() as tmp:
        subprocess.run(MAKE + ["-j2", "OUT=" + tmp, "CFLAGS=-O1 -Wall -Wextra -Werror"],
                       cwd=ROOT, env=ENV, check=True)
        for cmd in (["uk", "doctor"], ["ukweb", "--version"]):
            out = subprocess.check_output([os.path.join(tmp, cmd[0])] + cmd[1:], text=True)
            if not out.strip():
                print("%s prints nothing" % " ".join(cmd))
                return 1
    print("ok: %d sources" % len(ours))
    return 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that every public call has a declaration, a definition, a line in the symbol map, a man
page and a test."""
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build")


def text(pattern):
    return "\n".join(open(f, errors="replace").read()
                     for f in glob.glob(os.path.join(ROOT, pattern), recursive=True))


def main():
    headers = re.sub(r"/\*.*?\*/", "", text("include/uk/*.h"), flags=re.S)
    declared = set(re.findall(r"UK_API[^;]*?\b(uk_[a-z0-9_]+)\s*\(", headers))
    mapped = set(re.findall(r"^\s+(uk_[a-z0-9_]+);", text("src/ukthreads.map"), re.M))
    lib = os.path.join(BUILD, "src", "libukthreads.so")
    out = subprocess.check_output(["nm", "-D", "--defined-only", lib], text=True)
    exported = set(re.findall(r" [TWBD] (\w+)", out))
    exported = {s for s in exported if not s.startswith("UKTHREADS")}
    tests = text("tests/**/*.c") + text("tests/**/*.cc")
    errors = []
    for name in sorted(declared):
        if name not in mapped:
            errors.append("%s: no line in the symbol map" % name)
        if name not in exported:
            errors.append("%s: declared, but not exported" % name)
        if not os.path.exists(os.path.join(ROOT, "docs/man", name + ".3")):
            errors.append("%s: no man page docs/man/%s.3" % (name, name))
        if not re.search(r"\b%s\b" % name, tests):
            errors.append("%s: no test calls it" % name)
    for name in sorted((mapped | exported) - declared):
        errors.append("%s: exported or mapped, but not declared" % name)
    for e in errors:
        print(e)
    if not errors:
        print("ok: %d public calls" % len(declared))
    return 1 if errors else 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the man pages: mandoc gives no warnings, cross-references resolve, prototypes agree with
the headers, examples that include a public header compile (also those of the README), in C++ if
that is uk.hpp."""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MAN = os.path.join(ROOT, "docs", "man")
CC = os.environ.get("CC", "cc").split()
CXX = os.environ.get("CXX", "c++").split()


def squeeze(s):
    return re.sub(r"\s*([*(),])\s*", r"\1", " ".join(s.split()))


def prototypes():
    """name -> arguments in the headers."""
    found = {}
    for f in glob.glob(os.path.join(ROOT, "include", "uk", "*.h")):
        text = re.sub(r"/\*.*?\*/", "", open(f).read(), flags=re.S)
        for m in re.finditer(r"UK_API\s+([^;{]*?)\b(uk_\w+)\s*\((.*?)\)\s*(?:__attribute__"
                             r"\(\(\w+\)\)\s*)?;", text, re.S):
            found[m.group(2)] = (squeeze(m.group(1)), squeeze(m.group(3)))
        for m in re.finditer(r"static inline ([^;{]*?)\b(uk_\w+)\s*\((.*?)\)\s*\{", text,
                             re.S):
            found[m.group(2)] = (squeeze(m.group(1)), squeeze(m.group(3)))
    return found


def lint(page):
    out = subprocess.run(["mandoc", "-Tlint", "-W", "warning", page], capture_output=True,
                         text=True)
    return (out.stdout + out.stderr).splitlines()


def synopsis(page, text, protos):
    errors = []
    part = re.search(r"\.Sh SYNOPSIS\n(.*?)\n\.Sh ", text, re.S)
    kind = ""
    for line in part.group(1).splitlines() if part else []:
        if line.startswith(".Ft "):
            kind = squeeze(line[4:].replace('"', ""))
        m = re.match(r"\.Fn (uk_\w+)((?: \S.*)?)$", line)
        if not m:
            continue
        args = [squeeze(q or w) for q, w in re.findall(r'"([^"]*)"|(\S+)', m.group(2))]
        want = protos.get(m.group(1))
        if not want:
            errors.append("%s: %s is in no header" % (page, m.group(1)))
        elif (kind, ",".join(args)) != want:
            errors.append("%s: %s differs from the header: %s" % (page, m.group(1), want))
    return errors


def compiles(page, text, tmp, block=r"^\.Bd -literal.*?\n(.*?)^\.Ed"):
    errors = []
    for n, m in enumerate(re.finditer(block, text, re.S | re.M)):
        code = m.group(1).replace("\\e", "\\").replace("\\-", "-").replace("\\&", "")
        if "#include <uk/" not in code:
            continue
        cxx = "#include <uk/uk.hpp>" in code
        src = os.path.join(tmp, "%s-%d.%s" % (os.path.basename(page), n, "cc" if cxx else "c"))
        with open(src, "w") as f:
            f.write(code)
        if cxx and not shutil.which(CXX[0]):
            continue
        how = CXX + ["-std=c++20"] if cxx else CC + ["-std=gnu17"]
        r = subprocess.run(how + ["-D_GNU_SOURCE", "-fsyntax-only", "-Wall",
                                 "-Wextra", "-Werror", "-I", os.path.join(ROOT, "include"),
                                 src], capture_output=True, text=True)
        if r.returncode:
            errors.append("%s: its example does not compile\n%s" % (page, r.stderr))
    return errors


def main():
    if not shutil.which("mandoc"):
        print("skipped: no mandoc")
        return 77
    errors = []
    protos = prototypes()
    pages = sorted(glob.glob(os.path.join(MAN, "*.[0-9]")))
    names = {os.path.basename(p) for p in pages}
    with tempfile.TemporaryDirectory() as tmp:
        for p in pages:
            name = os.path.basename(p)
            text = open(p).read()
            stem = name[:-2]
            if not re.search(r"^\.Nm %s\b" % re.escape(stem), text, re.M):
                errors.append("%s: does not name %s" % (name, stem))
            if os.path.islink(p):
                continue
            errors += lint(p)
            errors += synopsis(name, text, protos)
            errors += compiles(name, text, tmp)
            for x, sec in re.findall(r"^\.Xr (uk[\w.]*) (\d)", text, re.M):
                # symbols.py reports calls without a page
                if "%s.%s" % (x, sec) not in names and x not in protos:
                    errors.append("%s: refers to %s(%s), which does not exist" % (name, x, sec))
        readme = open(os.path.join(ROOT, "README.md")).read()
        errors += compiles("README.md", readme, tmp, r"^```c\n(.*?)^```")
    for e in errors:
        print(e)
    if not errors:
        print("ok: %d pages" % len(pages))
    return 1 if errors else 0


sys.exit(main())

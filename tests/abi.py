#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compare the binary interface with tests/abi.txt: exported names with their versions, types of the
calls, sizes and offsets of every public structure, constants. A program that was linked
against an older library must run with the present one.

Nothing in the file may change. New entries are errors, too, until `tests/abi.py BUILD
--update` has added them (it refuses to remove any). uk_stats, uk_thread_info and
uk_vpset_attr may grow at their end, because their calls get a size.

Rejected: abidiff against a saved dump. It needs the debug information of the very compiler
that made the dump. This test asks the installed compiler, and gcc and clang must agree."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE = os.path.join(ROOT, "tests", "abi.txt")
CC = os.environ.get("CC", "cc").split()
GROW = ("uk_stats", "uk_thread_info", "uk_vpset_attr")
INCLUDE = ["-D_GNU_SOURCE", "-I", os.path.join(ROOT, "include")]


def squeeze(s):
    return re.sub(r"\s*([*(),])\s*", r"\1", " ".join(s.split()))


def symbols(build):
    lib = os.path.join(build, "src", "libukthreads.so")
    out = subprocess.check_output(["nm", "-D", "--defined-only", "--with-symbol-versions",
                                   lib], text=True)
    for line in out.splitlines():
        kind, name = line.split()[1:3]
        if kind != "A":
            yield "symbol %s %s" % (kind, name)


def preprocessed(tmp):
    """The text of our own headers: those of the system are not part of the interface."""
    src = os.path.join(tmp, "all.c")
    with open(src, "w") as f:
        f.write("#include <uk/uk.h>\n")
    text, ours = [], False
    for line in subprocess.check_output(CC + INCLUDE + ["-E", src], text=True).splitlines():
        m = re.match(r'# \d+ "(.*?)"', line)
        if m:
            ours = "/include/uk/" in m.group(1)
        elif ours:
            text.append(line)
    return "\n".join(text)


def calls(text):
    for m in re.finditer(r'__attribute__\s*\(\(visibility\("default"\)\)\)\s*([^;{]*?)'
                         r'\b(uk_\w+)\s*\(((?:[^;{])*?)\)\s*(?:__attribute__\s*\(\([^)]*\)\)'
                         r'\s*)?;', text, re.S):
        yield "call %s %s(%s)" % (squeeze(m.group(1)), m.group(2), squeeze(m.group(3)))


def members(body):
    body = re.sub(r"\{[^{}]*\}", "", body)  # the name of a nested structure is enough
    for decl in body.split(";"):
        for one in decl.split(","):
            m = re.search(r"\(\*(\w+)\)|(\w+)\s*(?:\[[^\]]*\]\s*)*$", one.strip())
            if m and (m.group(1) or m.group(2)):
                yield m.group(1) or m.group(2)


def layouts(text, tmp):
    rows = []
    for m in re.finditer(r"typedef (struct|union)\s*\w*\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*"
                         r"(?:__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)\s*)?(uk_\w+)\s*;",
                         text):
        name = m.group(3)
        rows.append('printf("size %s %%zu\\n", sizeof(%s));' % (name, name))
        for f in members(m.group(2)):
            rows.append('printf("member %s.%s at %%zu of %%zu\\n", offsetof(%s, %s), '
                        "sizeof(((%s *)0)->%s));" % (name, f, name, f, name, f))
    for macro in sorted(set(re.findall(r"#define (UK_(?!NULL)\w+)\s+(?:\\\s*)?[-0-9(IU]", "\n".join(
            open(os.path.join(ROOT, "include", "uk", h)).read()
            for h in os.listdir(os.path.join(ROOT, "include", "uk")))))):
        rows.append('printf("constant %s %%lld\\n", (long long)(%s));' % (macro, macro))
    src, exe = os.path.join(tmp, "l.c"), os.path.join(tmp, "l")
    with open(src, "w") as f:
        f.write("#include <stdio.h>\n#include <stddef.h>\n#include <uk/uk.h>\n"
                "int main(void)\n{\n%s\nreturn 0;\n}\n" % "\n".join(rows))
    subprocess.run(CC + INCLUDE + ["-o", exe, src], check=True)
    return subprocess.check_output([exe], text=True).splitlines()


def grown(line, now):
    m = re.match(r"size (\w+) (\d+)$", line)
    if not m or m.group(1) not in GROW:
        return False
    sizes = [int(n.split()[2]) for n in now if n.startswith("size %s " % m.group(1))]
    return bool(sizes) and sizes[0] >= int(m.group(2))


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build")
    with tempfile.TemporaryDirectory() as tmp:
        text = preprocessed(tmp)
        now = sorted(set(symbols(build)) | set(calls(text)) | set(layouts(text, tmp)))
    was = open(FILE).read().splitlines() if os.path.exists(FILE) else []
    was = [w for w in was if not w.startswith("#")]
    # a reserved member may get a meaning
    broken = [w for w in was if w not in now and not grown(w, now) and ".reserved" not in w]
    for w in broken:
        print("broken: %s" % w)
    if broken:
        print("programs that are linked already would not run; keep this, and add a new entry")
        return 1
    new = [n for n in now if n not in was]
    if "--update" in sys.argv:
        with open(FILE, "w") as f:
            f.write("# The binary interface, by tests/abi.py BUILD --update\n")
            f.write("\n".join(now) + "\n")
        print("%d lines, %d new" % (len(now), len(new)))
        return 0
    for n in new:
        print("new: %s" % n)
    if new:
        print("if this is intended, run: python3 tests/abi.py BUILD --update")
        return 1
    print("ok: %d lines" % len(now))
    return 0


sys.exit(main())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One formatting for all files, and a licence line in each.

C and C++ are formatted by .clang-format and clang-format 14. Other versions format
differently: without 14 this part is skipped, and the rest is still checked. Java is indented
with tabs. `--fix` formats in place. No C function in the shipped code has more than 80
lines, including its head."""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SOURCES = (".c", ".h", ".cc", ".hpp", ".py", ".java", ".pml", ".sh", ".S", ".rs", ".go")


def tracked():
    out = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                          "--exclude-standard"], cwd=ROOT, stdout=subprocess.PIPE,
                         check=False)
    names = out.stdout.decode().split("\0")
    return [n for n in names if n and os.path.isfile(os.path.join(ROOT, n))]


LONGEST = 80


def too_long(text):
    """(line, name) of the functions that are too long. All begin and end at the left margin."""
    lines = text.split("\n")
    start = None
    for i, line in enumerate(lines):
        if line == "{":
            start = i
            while start and lines[start - 1] and lines[start - 1][0] not in "}#/ ":
                start -= 1
        elif line == "}" and start is not None:
            if i - start + 1 > LONGEST:
                yield start + 1, lines[start].split("(")[0].split()[-1]
            start = None


def clang_format():
    for name in ("clang-format-14", "clang-format"):
        try:
            out = subprocess.check_output([name, "--version"]).decode()
        except OSError:
            continue
        if " 14." in out:
            return name
    return None


def main():
    bad = []
    names = tracked()
    if not names:
        print("not a git checkout: nothing to compare")
        return 77
    for n in names:
        if not n.endswith(SOURCES):
            continue
        with open(os.path.join(ROOT, n), encoding="utf-8") as f:
            text = f.read()
        if "SPDX-License-Identifier: Apache-2.0" not in text[:400]:
            bad.append(n + ": no SPDX line")
        if n.endswith(".java") and re.search(r"^ {2,}[^ *]", text, re.M) and '"""' not in text:
            bad.append(n + ": indented by spaces")
        if re.match(r"(src|apps|tool)/.*\.[ch]$", n):
            bad += ["%s:%d: %s has more than %d lines" % (n, at, name, LONGEST)
                    for at, name in too_long(text)]
        if re.search(r"[ \t]+$", text, re.M):
            bad.append(n + ": white space at the end of a line")
    tool = clang_format()
    c = [n for n in names if n.endswith((".c", ".h", ".cc", ".hpp"))]
    if tool and "--fix" in sys.argv:
        subprocess.check_call([tool, "-i"] + c, cwd=ROOT)
    elif tool:
        out = subprocess.run([tool, "--dry-run", "-Werror"] + c, cwd=ROOT, check=False,
                             stderr=subprocess.PIPE).stderr.decode()
        bad += sorted(set(re.findall(r"^(\S+?):\d+:\d+: error: code should be", out, re.M)))
    for line in bad:
        print(line)
    if bad:
        print("python3 tests/format.py --fix formats C and C++")
        return 1
    if not tool:
        print("skipped: no clang-format 14; C was not checked")
        return 77
    return 0


if __name__ == "__main__":
    sys.exit(main())

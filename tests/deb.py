#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the Debian packages.

deb.py BUILD: debian/ agrees with the project: its version, the library's soversion, the nodes of
the symbol map. (debian/libukthreads1.symbols has a line for each node, not for each call: a node
that was released does not grow, tests/abi.txt lists the calls, and dpkg-gensymbols expands the
line.)

deb.py --twice: two builds in different directories, in different time zones and locales, give the
same packages, and lintian finds no error and no warning in them. DEB_BUILD_OPTIONS is nocheck."""
import glob
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def first(path, pattern):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return re.search(pattern, f.read(), re.M).group(1)


def nodes(path, pattern):
    with open(os.path.join(ROOT, path), encoding="utf-8") as f:
        return re.findall(pattern, f.read(), re.M)


def agrees():
    so = first("src/meson.build", r"soversion: '(\d+)'")
    same = {
        "version of meson.build and of debian/changelog":
            (first("meson.build", r"^  version: '(.*)'"),
             first("debian/changelog", r"\Aukthreads \((.*?)\)")),
        "soversion and name of the package":
            ("libukthreads" + so, first("debian/control", r"^Package: (libukthreads\d+)$")),
        "soversion and debian/libukthreads%s.symbols" % so:
            ("libukthreads.so.%s libukthreads%s" % (so, so),
             first("debian/libukthreads%s.symbols" % so, r"\A(\S+ \S+) #MINVER#")),
        "nodes of src/ukthreads.map and of debian/libukthreads%s.symbols" % so:
            (nodes("src/ukthreads.map", r"^(\w+) \{"),
             nodes("debian/libukthreads%s.symbols" % so, r"^ \(symver\)(\w+) ")),
    }
    bad = ["%s: %s and %s" % (what, a, b) for what, (a, b) in same.items() if a != b]
    print("\n".join(bad) or "ok: %d agree" % len(same))
    return bool(bad)


def packages(out, zone, locale):
    env = dict(os.environ, TZ=zone, LC_ALL=locale, DEB_BUILD_OPTIONS="nocheck",
               CCACHE_DISABLE="1")
    subprocess.run([os.path.join(ROOT, "scripts", "deb"), out], env=env, check=True)
    sums = {}
    for path in glob.glob(os.path.join(out, "*.deb")):
        with open(path, "rb") as f:
            sums[os.path.basename(path)] = hashlib.sha256(f.read()).hexdigest()
    return sums


def twice():
    lack = [c for c in ("dpkg-buildpackage", "dh", "lintian") if not shutil.which(c)]
    if lack:
        print("skipped: no " + ", ".join(lack) + "\n0 passed, 0 failed, 1 skipped")
        return False
    bad = []
    with tempfile.TemporaryDirectory() as tmp:
        here = os.path.join(tmp, "one")
        one = packages(here, "Asia/Tokyo", "C")
        two = packages(os.path.join(tmp, "and", "another"), "America/Lima", "C.UTF-8")
        for name in sorted(one.keys() | two.keys()):
            print("%s  %s" % (one.get(name), name))
            if one.get(name) != two.get(name):
                bad.append("%s: another build gives %s" % (name, two.get(name)))
        p = subprocess.run(["lintian", "--info", "--pedantic", "--allow-root",
                            "--fail-on", "error,warning"] +
                           glob.glob(os.path.join(here, "*.changes")))
        if p.returncode:
            bad.append("lintian: errors or warnings")
    for b in bad:
        print("FAILED " + b)
    print("%d passed, %d failed" % (len(one) + 1 - len(bad), len(bad)))
    return bool(bad)


sys.exit(twice() if sys.argv[1:] == ["--twice"] else agrees())

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check src/LAYERS: which directory of src may include which, and which symbols it may use.

1. The line of a directory must allow every #include "DIRECTORY/..." in it.
2. If an object of a directory needs a symbol that another directory defines, that directory
   must be allowed (nm over the objects of the build directory).
3. apps/, tool/ and examples/ include <uk/...> only. (bench/micro measures single directories;
   tool/target.h includes src/debug/layout.h, which needs no other header, by its path.)
4. src/LIBC lists the names outside of src that a directory uses. Names that a compiler or a C
   library inserts by itself do not count.
5. Only the runtime's own table (base/libc.c) uses the names that the drop-in (src/preload)
   defines.
6. No two source files of src have the same name, so that a backtrace or a comment is clear.
"""
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = sys.argv[1] if len(sys.argv) > 1 else os.path.join(ROOT, "build")
def load():
    rooms = {}
    for line in open(os.path.join(ROOT, "src", "LAYERS")):
        line = line.split("#")[0].strip()
        if line:
            name, _, deps = line.partition(":")
            rooms[name.strip()] = set(deps.split()) | {name.strip()}
    return rooms


def load_libc():
    names, room = {}, None
    for line in open(os.path.join(ROOT, "src", "LIBC")):
        line = line.split("#")[0]
        if line.strip() and not line.startswith("\t"):
            room, _, line = line.partition(":")
        for word in line.split():
            names.setdefault(room, set()).add(word.lstrip("!"))
    return names


# The name behind the variants that compilers and their hardening use for a call.
def plain(name):
    name = name.split("@")[0]
    m = re.match(r"__(?:isoc23_)?(\w+?)(?:_chk)?$", name)
    return m.group(1) if m and ("isoc23" in name or name.endswith("_chk")) else name


COMPILERS = {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "__tls_get_addr", "memcpy", "memset",
             "memmove", "memcmp", "strlen", "bcmp"}


def reached(objects, defined, errors):
    """objects: (directory, file, name) of each undefined symbol."""
    allowed, used = load_libc(), set()
    for room, f, name in objects:
        name = plain(name)
        if name in defined or name in COMPILERS:
            continue
        hit = [w for w in allowed.get(room, ())
               if w == name or (w.endswith("*") and name.startswith(w[:-1]))]
        used.update((room, w) for w in hit)
        if not hit:
            errors.append("%s: uses %s, which src/LIBC does not allow there" % (f, name))
    for room, words in allowed.items():
        for w in sorted(words):
            if (room, w) not in used and not w.endswith("*"):
                # not an error: another compiler may call a function that this one inlines
                print("note: src/LIBC: directory %s does not use %s in this build" % (room, w))


def includes(rooms, errors):
    for room in rooms:
        for d, _, files in os.walk(os.path.join(ROOT, "src", room)):
            for f in files:
                if not f.endswith((".c", ".h", ".S")):
                    continue
                path = os.path.join(d, f)
                for n, line in enumerate(open(path), 1):
                    m = re.match(r'\s*#\s*include\s*"([a-z]+)/', line)
                    if m and m.group(1) in rooms and m.group(1) not in rooms[room]:
                        errors.append("%s:%d: directory %s may not include %s"
                                      % (os.path.relpath(path, ROOT), n, room, m.group(1)))
    for top in ("apps", "tool", "examples"):
        for d, _, files in os.walk(os.path.join(ROOT, top)):
            for f in files:
                if f.endswith((".c", ".h", ".cc")):
                    path = os.path.join(d, f)
                    for n, line in enumerate(open(path), 1):
                        m = re.match(r'\s*#\s*include\s*["<]([a-z]+)/', line)
                        if m and m.group(1) in rooms:
                            errors.append("%s:%d: programs may include <uk/...> only"
                                          % (os.path.relpath(path, ROOT), n))


def over(needed, errors):
    """Find uses, below the drop-in, of the names that it defines."""
    objdir = os.path.join(BUILD, "src", "libpreload.a.p")
    ours = set()
    for f in sorted(os.listdir(objdir)):
        if f.endswith(".o"):
            out = subprocess.check_output(["nm", "--defined-only", os.path.join(objdir, f)],
                                          text=True)
            ours.update(re.findall(r" [TW] (\w+)", out))
    own = "libc", "dlsym"  # the drop-in's dlsym gives the library itself what libc's does
    for _, f, name in needed:
        if plain(name) in ours and f != "base_libc.c.o" and plain(name) not in own:
            errors.append("%s: uses the name %s of the drop-in; use base/libc.h" % (f, name))


def symbols(rooms, errors):
    objdir = os.path.join(BUILD, "src", "librooms.a.p")
    if not os.path.isdir(objdir):
        errors.append("no objects in %s: build first" % objdir)
        return
    defined, needed = {}, []
    for f in sorted(os.listdir(objdir)):
        room = f.split("_")[0]
        if not f.endswith(".o") or room not in rooms:
            continue
        out = subprocess.check_output(["nm", os.path.join(objdir, f)], text=True)
        for line in out.splitlines():
            parts = line.split()
            kind, name = parts[-2], parts[-1]
            if kind == "U":
                needed.append((room, f, name))
            elif kind in "TDBRVWC":
                if not (kind == "W" and name in defined):
                    defined[name] = room
    for room, f, name in needed:
        if name in defined and defined[name] not in rooms[room]:
            errors.append("%s: needs %s of directory %s" % (f, name, defined[name]))
    reached(needed, defined, errors)
    over(needed, errors)


def unique(errors):
    seen = {}
    for top, _, names in os.walk(os.path.join(ROOT, "src")):
        for name in sorted(names):
            path = os.path.relpath(os.path.join(top, name), ROOT)
            if name.endswith((".c", ".h", ".S")) and seen.setdefault(name, path) != path:
                errors.append("%s: %s has the same name" % (path, seen[name]))


def main():
    rooms, errors = load(), []
    unique(errors)
    includes(rooms, errors)
    symbols(rooms, errors)
    for e in errors:
        print(e)
    if not errors:
        print("ok: %d directories follow src/LAYERS" % len(rooms))
    return 1 if errors else 0


sys.exit(main())

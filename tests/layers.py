#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""src/LAYERS is the law: which room may include which, and which symbols it may need.

1. Every #include "room/..." must be allowed by the room's line.
2. Every undefined symbol of a room's objects that another room defines must come from an
   allowed room (nm over the objects of the build directory).
3. apps/, tool/ and examples/ include <uk/...> only (bench/micro measures rooms by themselves;
   tool/broker is the other half of the room act).
4. What a room reaches beyond the rooms stands in src/LIBC; a name that a compiler or a C
   library puts in by itself is none.
5. What the drop-in (src/posix) defines, the runtime's own table (base/libc.c) alone reaches by
   its name.
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


# What compilers and their hardening make of a call.
def plain(name):
    name = name.split("@")[0]
    m = re.match(r"__(?:isoc23_)?(\w+?)(?:_chk)?$", name)
    return m.group(1) if m and ("isoc23" in name or name.endswith("_chk")) else name


COMPILERS = {"_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "__tls_get_addr", "memcpy", "memset",
             "memmove", "memcmp", "strlen", "bcmp"}


def reached(objects, defined, errors):
    """objects: (room, file, name) of what is undefined there."""
    allowed, used = load_libc(), set()
    for room, f, name in objects:
        name = plain(name)
        if name in defined or name in COMPILERS:
            continue
        hit = [w for w in allowed.get(room, ())
               if w == name or (w.endswith("*") and name.startswith(w[:-1]))]
        used.update((room, w) for w in hit)
        if not hit:
            errors.append("%s: reaches %s, which src/LIBC does not allow its room" % (f, name))
    for room, words in allowed.items():
        for w in sorted(words):
            if (room, w) not in used and not w.endswith("*"):
                # not an error: another compiler may know a function that this one calls
                print("src/LIBC: room %s does not reach %s here" % (room, w))


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
                        errors.append("%s:%d: room %s may not include %s"
                                      % (os.path.relpath(path, ROOT), n, room, m.group(1)))
    for top in ("apps", "tool", "examples"):
        for d, _, files in os.walk(os.path.join(ROOT, top)):
            broker = ("act", "base") if d.endswith("/tool/broker") else ()
            for f in files:
                if f.endswith((".c", ".h", ".cc")):
                    path = os.path.join(d, f)
                    for n, line in enumerate(open(path), 1):
                        m = re.match(r'\s*#\s*include\s*["<]([a-z]+)/', line)
                        if m and m.group(1) in rooms and m.group(1) not in broker:
                            errors.append("%s:%d: programs see <uk/...> only"
                                          % (os.path.relpath(path, ROOT), n))


def over(needed, errors):
    """Names that the drop-in takes over, reached by what runs below it."""
    objdir = os.path.join(BUILD, "src", "libposix.a.p")
    ours = set()
    for f in sorted(os.listdir(objdir)):
        if f.endswith(".o"):
            out = subprocess.check_output(["nm", "--defined-only", os.path.join(objdir, f)],
                                          text=True)
            ours.update(re.findall(r" [TW] (\w+)", out))
    for _, f, name in needed:
        if plain(name) in ours and f != "base_libc.c.o" and plain(name) != "libc":
            errors.append("%s: reaches %s by its name, which the drop-in defines" % (f, name))


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
            errors.append("%s: needs %s of room %s" % (f, name, defined[name]))
    reached(needed, defined, errors)
    over(needed, errors)


def main():
    rooms, errors = load(), []
    includes(rooms, errors)
    symbols(rooms, errors)
    for e in errors:
        print(e)
    if not errors:
        print("ok: %d rooms keep to src/LAYERS" % len(rooms))
    return 1 if errors else 0


sys.exit(main())

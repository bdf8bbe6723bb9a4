#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""symbolize.py UK TARGET: `uk symbolize` adds functions, files and lines to the dump of TARGET,
and leaves as it is what it cannot look up."""
import os
import re
import shutil
import subprocess
import sys
import tempfile

UK, TARGET = map(os.path.realpath, sys.argv[1:3])
SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "gdb_target.c")
NAME = os.path.basename(TARGET)
MODULE = re.compile(r"^  module 0x[0-9a-f]+ build-id ([0-9a-f]+) (/.*/%s)$" % NAME, re.M)


def symbolize(text, *args, env=None):
    """(exit status, standard output, standard error)"""
    p = subprocess.run([UK, "symbolize", *args], input=text.encode(), capture_output=True,
                       env=env, check=False, timeout=100)
    return p.returncode, p.stdout.decode(), p.stderr.decode()


def line_of(code):
    with open(SOURCE, encoding="utf-8") as f:
        return next(n for n, line in enumerate(f, 1) if code in line)


def frames_of_target(text):
    return [line for line in text.splitlines() if "(%s+0x" % NAME in line]


def a_dump_has_exported_names_and_a_list_of_modules(dump):
    assert re.search(r"^      #\d+ 0x[0-9a-f]+ uk_read \(libukthreads\.so[^ ]*\+0x", dump, re.M)
    assert re.search(r"^      #\d+ 0x[0-9a-f]+ \(%s\+0x[0-9a-f]+\)$" % NAME, dump, re.M)
    assert len(MODULE.findall(dump)) == 1 and MODULE.search(dump)[2] == TARGET


def functions_and_lines_are_added(dump):
    code, out, err = symbolize(dump)
    assert code == 0 and not err, err
    for function, code in [("third_level", "uk_sem_wait(&sem);"),
                           ("second_level", "third_level(secret + 1);"),
                           (r"first_level \(inlined\)", "second_level(secret + 1);"),
                           ("waits_for_a_post", "first_level(40);"),
                           ("sleeps_for_ever", "uk_sleep(")]:
        at = r"^      #\d+ 0x[0-9a-f]+ %s (\(%s\+0x[0-9a-f]+\) )?at .*gdb_target\.c:%d$" % (
            function, NAME, line_of(code))
        assert re.search(at, out, re.M), at
    assert re.search(r" uk_read \(libukthreads\.so[^ ]*\+0x[0-9a-f]+\) at .*\.c:\d+$", out, re.M)
    assert symbolize(out) == (0, out, ""), "not the same when repeated"
    # what is added aside, it is the same text
    for line in out.splitlines():
        if " (inlined)" not in line:
            line = re.sub(r"\) at \S+$", ")", line)
            plain = re.sub(r"( 0x[0-9a-f]+) .*\((\S+\+0x)", r"\1 (\2", line)
            assert line in dump or plain in dump, line


def other_lines_stay(dump):
    head, tail = "before (lib.so+0x12) \0 it\n#0 0x1\n", "the end, (a+0x1)"
    with tempfile.NamedTemporaryFile("w") as f:
        f.write(head + dump + dump + tail)
        f.flush()
        code, out, err = symbolize("", f.name)
    once = symbolize(dump)[1]
    assert (code, out, err) == (0, head + once + once + tail, ""), (code, err)


def without_addr2line_the_text_is_copied(dump):
    code, out, err = symbolize(dump, env=dict(os.environ, PATH="/nowhere"))
    assert code == 1 and out == dump and "binutils" in err, err


def another_file_or_none_is_noted_once(dump):
    build_id, path = MODULE.search(dump).groups()
    for old, new, why in [(build_id, "0123456789abcdef", "build id"),
                          (path, "/nowhere/" + NAME, "No such file"),
                          (path, "/dev/null/" + NAME, "Not a directory")]:
        text = dump.replace(old, new) * 2
        code, out, err = symbolize(text)
        assert code == 0 and len(err.splitlines()) == 1 and why in err, err
        assert frames_of_target(out) == frames_of_target(text)
        assert " uk_read (libukthreads.so" in out and ".c:" in out


def a_cut_dump_stays(dump):
    text = dump[:dump.index("\n  module ")]
    code, out, err = symbolize(text)
    assert code == 0 and out == text and "list" in err, err


def wrong_usage_is_an_error():
    assert symbolize("", "a", "b")[0] == 2 and symbolize("", "--nothing")[0] == 2
    code, out, err = symbolize("", "/nowhere/dump")
    assert code == 1 and not out and "/nowhere/dump: No such file" in err, err
    assert symbolize("", "--help")[1].startswith("usage: uk symbolize")


def main():
    dump = subprocess.run([TARGET, "dump"], stdout=subprocess.PIPE, text=True, check=True,
                          timeout=60).stdout
    try:
        a_dump_has_exported_names_and_a_list_of_modules(dump)
        without_addr2line_the_text_is_copied(dump)
        wrong_usage_is_an_error()
        if not shutil.which("addr2line"):
            print("skipped: no addr2line")
            return 77
        functions_and_lines_are_added(dump)
        other_lines_stay(dump)
        another_file_or_none_is_noted_once(dump)
        a_cut_dump_stays(dump)
    except AssertionError:
        print(dump + symbolize(dump)[1])
        raise
    return 0


sys.exit(main())

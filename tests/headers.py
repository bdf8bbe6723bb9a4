#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that each public header compiles alone, in C and in C++, with gcc and clang, without
strict warnings, and so does a program that uses every macro and inline function."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
WARN = ["-Wall", "-Wextra", "-pedantic", "-Werror", "-Wshadow", "-Wconversion", "-Wundef",
        "-Wcast-qual", "-Wwrite-strings", "-Wredundant-decls"]
CXX = ["-Wold-style-cast", "-Wzero-as-null-pointer-constant", "-Wuseless-cast",
       "-Wextra-semi"]
WAYS = [("gcc", ["-std=c99", "-Wstrict-prototypes", "-Wmissing-prototypes"]),
        ("gcc", ["-std=gnu17", "-Wstrict-prototypes"]),
        ("clang", ["-std=c11", "-Wstrict-prototypes"]),
        ("g++", ["-std=c++11"] + CXX), ("g++", ["-std=c++20"] + CXX),
        ("clang++", ["-std=c++11"] + CXX[:2]), ("clang++", ["-std=c++20"] + CXX[:2])]
# An initialiser may leave out members in both languages.
USES = """#include <uk/uk.h>
uk_thread_attr attr = UK_THREAD_ATTR_INIT;
uk_mutex mutex = UK_MUTEX_INIT, recursive = UK_MUTEX_RECURSIVE_INIT;
uk_cond cond = UK_COND_INIT;
uk_rwlock rwlock = UK_RWLOCK_INIT;
uk_sem sem = UK_SEM_INIT(3);
uk_once once = UK_ONCE_INIT;
uk_spin spin = UK_SPIN_INIT;
extern uk_time span;
uk_time span = 3 * UK_SEC + 2 * UK_MS + UK_US;
int each(const uk_thread_info *i, void *arg);
int each(const uk_thread_info *i, void *arg)
{
	return i->fd == -1 && arg != nothing;
}
int main(void)
{
	uk_stats s;
	uint64_t sum = 0;

	uk_stats_get(&s, sizeof(s));
	if (uk_vp_stats(uk_vp_self(), &s, sizeof(s)) < 0 || uk_thread_each(each, &sum, sizeof(uk_thread_info)) < 0)
		return 1;
#define X(name, text) sum += s.name;
	UK_COUNTERS(X)
#undef X
	return uk_sleep_until(sum ? UK_FOREVER : 0);
}
"""


def main():
    seen = failed = 0
    headers = sorted(os.path.basename(h) for h in glob.glob(ROOT + "/include/uk/*.h"))
    with tempfile.TemporaryDirectory() as tmp:
        for cc, flags in WAYS:
            if not shutil.which(cc):
                print("skipped: no %s" % cc)
                continue
            cxx = cc.endswith("++")
            null = "nullptr" if cxx else "((void *)0)"
            sources = {h: "#include <uk/%s>\n" % h for h in headers}
            uses = USES.replace("nothing", null)
            if not cxx:
                uses = uses.replace("uk_thread_attr attr", "static uk_thread_attr attr") \
                    .replace("int main(void)\n{", "int main(void)\n{\n\tattr.flags = 0;")
            sources["a program"] = uses
            for name, text in sources.items():
                src = os.path.join(tmp, "t.cc" if cxx else "t.c")
                with open(src, "w") as f:
                    f.write(text)
                p = subprocess.run([cc] + flags + WARN + ["-fsyntax-only", "-I",
                                    os.path.join(ROOT, "include"), src], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                seen += 1
                if p.returncode:
                    failed += 1
                    print("%s %s, %s:\n%s" % (cc, flags[0], name, p.stdout[:1500]))
    print("%d compilations, %d failed" % (seen, failed))
    return 1 if failed or not seen else 0


sys.exit(main())

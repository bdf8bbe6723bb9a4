#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that each public header compiles alone, in C and in C++, with gcc and clang, without
strict warnings, and so does a program that uses every macro and inline function. The
C++ headers need C++20, and say so in an older dialect."""
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
# Members of class templates are instantiated by name, other templates by a call.
CXX20_USES = """#include <uk/uk.hpp>
#include <string>
template class uk::chan<int>;
template class uk::chan<std::string>;
template class uk::counting_semaphore<1>;
template class uk::detail::basic_mutex<0>;
int main()
{
	using namespace std::chrono;
	auto later = system_clock::now() + 1h;
	uk::deadline_scope whole(1h), until(later);
	uk::shared_mutex shared;
	uk::mutex m;
	uk::once_flag once;
	uk::condition_variable changed;
	uk::chan<int> numbers(1);
	uk::chan<std::string> words(1);
	std::optional<std::string> word;
	std::stop_source stop;
	std::unique_lock lock(m);
	auto yes = [] { return true; };

	uk::thread([](std::stop_token s, const char *t) { return s.stop_possible() && t; }, "x").join();
	uk::thread({ .stack_size = 1 << 16, .name = "t" }, [](int n) { return n; }, 1).join();
	uk::call_once(once, [](int n) { return n; }, 1);
	changed.wait(lock, yes);
	changed.wait_for(lock, 1ms, yes);
	changed.wait_until(lock, later, yes);
	changed.wait(lock, stop.get_token(), yes);
	changed.wait_for(lock, stop.get_token(), 1ms, yes);
	std::shared_lock reads(shared, 0.5s);
	for (int n : numbers)
		uk::this_thread::run_blocking([](int k) { return k; }, n);
	numbers.send_until(1, later);
	words.recv_until(word, later);
	uk::select_until(later, numbers.on_send(1), words.on_recv(word));
	uk::try_select(words.on_send(std::string("x"), [](bool) {}), numbers.on_recv([](auto) {}));
	uk::select_for(1ms, numbers.on_send(1));
	uk::this_thread::sleep_until(later);
	return std::hash<uk::thread::id>()(uk::this_thread::get_id()) != 0;
}
"""


def main():
    seen = failed = 0
    headers = sorted(os.path.basename(h) for h in glob.glob(ROOT + "/include/uk/*.h"))
    cxx_headers = sorted(os.path.basename(h) for h in glob.glob(ROOT + "/include/uk/*.hpp"))
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
            if cxx:
                sources.update({h: "#include <uk/%s>\n" % h for h in cxx_headers})
            if flags[0] == "-std=c++20":
                sources["a C++20 program"] = CXX20_USES
            for name, text in sources.items():
                src = os.path.join(tmp, "t.cc" if cxx else "t.c")
                with open(src, "w") as f:
                    f.write(text)
                p = subprocess.run([cc] + flags + WARN + ["-fsyntax-only", "-I",
                                    os.path.join(ROOT, "include"), src], text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
                seen += 1
                too_old = name in cxx_headers and flags[0] != "-std=c++20"
                if "needs C++20" not in p.stdout if too_old else p.returncode:
                    failed += 1
                    print("%s %s, %s:\n%s" % (cc, flags[0], name, p.stdout[:1500]))
    print("%d compilations, %d failed" % (seen, failed))
    return 1 if failed or not seen else 0


sys.exit(main())

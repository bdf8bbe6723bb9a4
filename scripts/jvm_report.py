#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/jvm_report.py START STATUS LOG: sums up a run of picothreads' tests.

It sums the reports that are younger than the file START. STATUS is Maven's exit status, LOG its
output. If a test compared two long texts, the report shows the first line that differs with some
lines around it. A test that failed and passed when surefire repeated it is unsteady: it counts as
passed, and its first failure is shown. The last lines are `unsteady: N` with the names, and
`N passed, N failed, N skipped`; the exit status is 1 if anything failed."""
import glob
import os
import re
import sys
import xml.etree.ElementTree as ET

BEFORE, AFTER = 4, 8  # lines shown


def compared(message):
    """(about, expected, actual) of JUnit's message on two unequal texts, or None."""
    m = re.match(r"(.*?)expected: (?:\S+@\w+)?<(.*)> but was: (?:\S+@\w+)?<(.*)>\s*\Z",
                 message, re.DOTALL)
    if not m or "\n" not in m.group(2) + m.group(3):
        return None
    return m.group(1).removesuffix(" ==> "), m.group(2).split("\n"), m.group(3).split("\n")


def differences(about, want, got):
    """The first line that differs, counted from 1, and its neighbours: - wanted, + got."""
    at = next((k for k, (a, b) in enumerate(zip(want, got)) if a != b),
              min(len(want), len(got)))
    out = [f"{about}: " * bool(about) + f"line {at + 1} differs; wanted {len(want)} lines, "
           f"got {len(got)}"]
    out += [f"  {k + 1:5} {want[k]}" for k in range(max(0, at - BEFORE), at)]
    for sign, text in (("-", want), ("+", got)):
        out += [f"{sign} {at + 1 + k:5} {line}"
                for k, line in enumerate(text[at:at + AFTER])] or [f"{sign}   end"]
    return out


def shown(bad):
    """The lines to print for a test's failure or error."""
    texts = compared(bad.get("message") or "")
    if texts:
        return differences(*texts)
    text = bad.text if (bad.text or "").strip() else bad.findtext("stackTrace")
    return (text or bad.get("message") or "").strip().splitlines()[:12]


class Sum:
    """The results of the tests. Failures are printed at once."""

    def __init__(self):
        self.passed = self.failed = self.skipped = 0
        self.unsteady, self.times = [], []

    def fail(self, line, more=(), width=200):
        self.failed += 1
        self.show("FAILED" + line, more, width)

    @staticmethod
    def show(line, more, width=200):
        print(line)
        for m in more:
            print("    " + m[:width])

    def report(self, name):
        try:
            cases = ET.parse(name).getroot().iter("testcase")
        except ET.ParseError as e:  # cut off by a time-out
            self.fail(f" {name}: {e}")
            return
        for case in cases:
            self.case(f"{case.get('classname')}.{case.get('name')}", case)

    def case(self, name, case):
        bad = [e for e in case if e.tag in ("failure", "error")]
        once = [e for e in case if e.tag in ("flakyFailure", "flakyError")]
        self.times.append((float((case.get("time") or "0").replace(",", "")), name))
        if bad:
            self.fail(" " + name, shown(bad[0]))
        elif case.find("skipped") is not None:
            self.skipped += 1
        else:
            self.passed += 1
            if once:
                self.unsteady.append(name)
                self.show(f"unsteady {name}: passed at run {len(once) + 1}", shown(once[0]))

    def log(self, name, status):
        """Find forks that crashed or hung: they leave no report of the tests that they had
        not run, and the run goes on."""
        with open(name, errors="replace") as f:
            lines = [line.rstrip() for line in f]
        lost = [line for line in lines if re.search(
            r"^\[ERROR\] (ExecutionException The forked VM|The forked VM terminated"
            r"|Crashed tests:|There was a timeout in the fork)", line)]
        if lost:
            self.fail(": a fork of tests was lost", lost[:12], 300)
        if status and not self.failed:
            self.fail(" Maven, without a failed test (the end of its output):", lines[-40:],
                      300)


def main():
    start, status, log = os.stat(sys.argv[1]).st_mtime_ns, int(sys.argv[2]), sys.argv[3]
    s = Sum()
    for report in sorted(glob.glob("picothreads/*/target/*-reports/TEST-*.xml")):
        if os.stat(report).st_mtime_ns >= start:
            s.report(report)
    s.log(log, status)
    if not s.passed and not s.failed:
        s.fail(": no test ran")
    print("slowest: " + ", ".join("%s %.0f s" % (name, secs)
                                  for secs, name in sorted(s.times, reverse=True)[:5]))
    print("".join([f"unsteady: {len(s.unsteady)}"] + [", " + name for name in s.unsteady]))
    print(f"{s.passed} passed, {s.failed} failed, {s.skipped} skipped")
    return 1 if s.failed else 0


if __name__ == "__main__":
    sys.exit(main())

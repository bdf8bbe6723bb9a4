#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Test what scripts/jvm_report.py shows of a failed JVM test (for long texts, the lines that
differ), and how it counts a test that passed when it was repeated."""
import contextlib
import io
import os
import sys
import xml.etree.ElementTree as ET

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "scripts"))
import jvm_report  # noqa: E402  (its directory is known only now)


def failure(message, text=""):
    e = ET.Element("failure", message=message)
    e.text = text
    # as it comes from a report: line ends in attributes are escaped
    return jvm_report.shown(ET.fromstring(ET.tostring(e)))


def the_first_line_that_differs_is_shown():
    want = ["line %d" % k for k in range(1, 901)]
    got = want[:700] + ["late"] + want[701:]
    out = failure("jdk, carriers: 1 ==> expected: <%s> but was: <%s>"
                  % ("\n".join(want), "\n".join(got)))
    assert out[0] == "jdk, carriers: 1: line 701 differs; wanted 900 lines, got 900", out[0]
    assert out[4:7] == ["    700 line 700", "-   701 line 701", "-   702 line 702"], out
    assert "+   701 late" in out and len(out) < 24, out


def one_text_may_end_first():
    out = failure("expected: <a\nb\n> but was: <a\n>")
    assert out == ["line 2 differs; wanted 3 lines, got 2", "      1 a", "-     2 b", "-     3 ",
                   "+     2 "], out
    out = failure("expected: <a\nb> but was: <a>")
    assert out[-1] == "+   end" and "-     2 b" in out, out


def what_is_no_comparison_is_shown_from_its_beginning():
    assert failure("hangs", "hangs\n\tat x\n" * 20)[:2] == ["hangs", "\tat x"]
    assert failure("expected: <1> but was: <2>", "E: expected: <1> but was: <2>\n\tat y") == [
        "E: expected: <1> but was: <2>", "\tat y"]


def a_test_that_passes_at_its_second_run_is_unsteady():
    case = ET.fromstring("<testcase classname='C' name='t' time='1.5'><flakyFailure message='1'>"
                         "<stackTrace>E: late</stackTrace></flakyFailure></testcase>")
    s = jvm_report.Sum()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        s.case("C.t", case)
    assert (s.passed, s.failed, s.unsteady) == (1, 0, ["C.t"]), vars(s)
    assert out.getvalue() == "unsteady C.t: passed at run 2\n    E: late\n", out.getvalue()


def a_test_that_fails_in_all_runs_has_failed_once():
    case = ET.fromstring("<testcase classname='C' name='t'><failure message='m'>E</failure>"
                         "<rerunFailure/><rerunFailure/></testcase>")
    s = jvm_report.Sum()
    with contextlib.redirect_stdout(io.StringIO()):
        s.case("C.t", case)
    assert (s.passed, s.failed, s.unsteady) == (0, 1, []), vars(s)


if __name__ == "__main__":
    the_first_line_that_differs_is_shown()
    one_text_may_end_first()
    what_is_no_comparison_is_shown_from_its_beginning()
    a_test_that_passes_at_its_second_run_is_unsteady()
    a_test_that_fails_in_all_runs_has_failed_once()

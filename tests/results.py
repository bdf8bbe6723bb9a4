#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that bench/run --report writes the figures from --json into the page and changes nothing
else there, and that the rows of bench/RESULTS.md name existing workloads and have the right
ratio. The figures in README.md are those of RESULTS.md."""
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(ROOT, "bench", "lib"))
import harness  # noqa: E402
import report  # noqa: E402
import web  # noqa: E402

BEFORE = """# Results

| a head |
|---|
| `wx` one, ns | uk-light 9.00 | **st 8.00** | 1.12 | 7 light | 2026-01-01, 1 run |
| `wx` two, pages/s |
| `wx --quick` one, ns | uk-light 5.00 |  |  |  | 2026-01-01, 1 run |
| `yield --quick` one, ns |

- wx: a note about one, ns
"""
AFTER = """# Results

| a head |
|---|
| `wx` one, ns | **uk-light 12.0**, uk-full 1,234 | raw-epoll 3.00, st 24.0 | 0.50 | 7 light | 2026-02-03, 3 runs |
| `wx` two, pages/s | pico 10.0 | **virtual 20.0**, platform 5.00 | 0.50 | 15 | 2026-02-03, 1 run, others 50 % of the machine |
| `wx --quick` one, ns | uk-light 5.00 |  |  |  | 2026-01-01, 1 run |
| `yield --quick` one, ns | **uk-light 9.00** |  |  |  | 2026-02-03, 1 run |

- wx: a note about one, ns

## wy
""" + "\n".join(report.HEAD) + """
| `wy` one, B | **pico 8.00** |  |  |  | 2026-02-03, 1 run |
"""


def figures(workload, variant, unit, **values):
    f = harness.Figures(workload)
    for system, runs in values.items():
        for v in runs:
            f.add(variant, system.replace("_", "-"), unit, v)
    return f


def write(folder, name, age, f, **about):
    path = os.path.join(folder, name)
    f.write_json(path, **about)
    os.utime(path, (1e9 + age, 1e9 + age))
    return path


def page_is_updated(errors):
    with tempfile.TemporaryDirectory() as d:
        about = {"command": "wx", "date": "2026-02-03"}
        write(d, "old.json", 1, figures("wx", "one", "ns", uk_light=[99]), **about)
        one = figures("wx", "one", "ns", uk_light=[11, 12, 13], uk_full=[1234], raw_epoll=[3],
                      st=[24])
        one.add("a row that the page does not have", "st", "ns", 1)
        write(d, "new.json", 2, one, **about)
        two = figures("wx", "two", "pages/s", pico=[10], virtual=[20], platform=[5])
        two.targets["two", "pages/s"] = "15"
        two.add("the machine", "others", "% of the processors", 50)
        write(d, "two.json", 3, two, **about)
        write(d, "old-name.json", 4, figures("w1", "one", "ns", uk_light=[9]),
              command="w1 --quick", date="2026-02-03")
        # like the files of programs with their own run.sh: without command and date
        path = write(d, "wy.json", 4, figures("wy", "one", "B", pico=[8]))
        with open(os.path.join(d, "guest.json"), "w", encoding="utf-8") as f:
            f.write("{}")
        day = harness.time.mktime((2026, 2, 3, 12, 0, 0, 0, 0, -1))
        os.utime(path, (day, day))
        page, *counts = report.update(BEFORE, [d])
    if page != AFTER:
        errors.append("the page is\n%s\ninstead of\n%s" % (page, AFTER))
    if counts != [3, 1, 1]:
        errors.append("rows replaced, added and not on the page: %s" % counts)


def knee_is_found(errors):
    f = harness.Figures("founding-knee")
    for rate, share in ((100, 1), (250, 0.95), (500, 0.94)):
        f.add("%d connections/s" % rate, "nginx", "replies/s", rate * web.CALLS * share)
        f.add("%d connections/s" % rate, "nginx", "p99 us", 1e9)
    if web.knees(f.rows()) != {"nginx": 250}:
        errors.append("the highest rate served: %s" % web.knees(f.rows()))


def number(figure):
    return float(figure.replace(",", ""))


def rows_are_right(errors):
    known = subprocess.check_output([os.path.join(ROOT, "bench", "run"), "--list"], text=True)
    workloads = {re.match(r"\S+( --curve)?", line)[0] for line in known.splitlines()}
    n = 0
    with open(report.PAGE, encoding="utf-8") as f:
        rows = [re.match(r"\| `(.*?)( --quick)?` (.*) \|$", line) for line in f]
    for row in filter(None, rows):
        if row[1] == "bench/run":
            continue  # a head
        n += 1
        cells = (row[3] + " ").split(" | ")
        if row[1] not in workloads:
            errors.append("RESULTS.md: no workload %s (bench/run --list)" % row[1])
        if len(cells) != 6:
            errors.append("RESULTS.md: %d cells of 6: %s" % (len(cells), row[0]))
            continue
        best = [re.search(r"(?:^|, |\*)(?!raw-)[\w.-]+ ([\d.,]*\d)", c) for c in cells[1:3]]
        if all(best) and number(best[1][1]):
            ratio = number(best[0][1]) / number(best[1][1])
            if abs(ratio - number(cells[3])) > 0.005 + 0.005 * ratio:
                errors.append("RESULTS.md: the ratio is %.2f: %s" % (ratio, row[0]))
    return n


def readme_is_right(errors):
    with open(report.PAGE, encoding="utf-8") as f:
        page = f.read()
    with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as f:
        rows = re.findall(r"^\| `((?:\S+)(?: --quick)?)`: [^|]*\|(.*)\|$", f.read(), re.M)
    if not rows:
        errors.append("README.md: no figures")
    for name, cells in rows:
        lines = [r for r in page.splitlines() if r.startswith("| `%s` " % name)]
        figures = re.findall(r"[\d.,]*\d", cells)
        if not any(all(re.search(r" \**%s\b" % re.escape(n), r) for n in figures) for r in lines):
            errors.append("README.md: no row of %s in RESULTS.md has all of %s" % (name, figures))


def main():
    errors = []
    readme_is_right(errors)
    page_is_updated(errors)
    knee_is_found(errors)
    n = rows_are_right(errors)
    for e in errors:
        print(e)
    if not errors:
        print("ok: %d rows" % n)
    return 1 if errors or not n else 0


sys.exit(main())

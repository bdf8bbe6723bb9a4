# SPDX-License-Identifier: Apache-2.0
"""bench/run --report: puts the figures of JSON files into bench/RESULTS.md. A row of that page:

  | `chan --quick` mutex, ns | **uk-light 9.90**, uk-full 10.3 | st 11.5, go 13.1 | 0.86 | 18 | 2026-11-27, 3 runs |

Its first cell (the words after bench/run, and what is measured) says which figures it shows. A row
for which the files have figures is replaced. All other lines stay: headings, notes, and rows that
the files don't have. A row that was deleted is not made again, so the page decides what it shows;
only a workload without any row gets all of its rows, at the end of the page. The curves are also
drawn, in bench/plots.
"""
import glob
import json
import os
import re
import time

import build
import curve
from harness import Others, higher_is_better, is_peer, say, shown
from micro import ALIASES

PAGE = os.path.join(build.BENCH, "RESULTS.md")
HEAD = ["| `bench/run` ... | ours | others, best first | ours / best other | target | measured |",
        "|---|---|---|---|---|---|"]
PROOFS = ("errors", "unanswered")  # units of what must be 0, else there is no figure


def files(paths):
    """The files, the newest last; a folder stands for its *.json."""
    found = []
    for path in paths or [build.OUT]:
        found += glob.glob(os.path.join(path, "*.json")) if os.path.isdir(path) else [path]
    return sorted(found, key=os.path.getmtime)


def line(first, values, unit, target, measured):
    """A row; values: {system: figure}"""
    def cell(some):
        texts = {s: f"{s} {shown(values[s])}" for s in some}
        return ", ".join(f"**{t}**" if s == best else t for s, t in texts.items())

    order = sorted(values, key=values.get, reverse=higher_is_better(unit))
    best = next((s for s in order if not s.startswith("raw-")), None)
    peers = [s for s in order if is_peer(s)]
    ours = [s for s in order if not is_peer(s) and not s.startswith("raw-")]
    ratio = ""
    if ours and peers and values[peers[0]]:
        ratio = f"{values[ours[0]] / values[peers[0]]:.2f}"
    return "| " + " | ".join([first, cell(ours), cell(s for s in order if s not in ours), ratio,
                              target, measured]) + " |"


def rows_of(path):
    with open(path, encoding="utf-8") as f:
        rows = json.load(f)
    if isinstance(rows, list):
        return rows
    say(f"{path}: left out, it has no rows of systems side by side")
    return []


def figures_of(path):
    """{command: {first cell: (values, unit, target, measured)}} of one file."""
    rows = rows_of(path)
    day = time.strftime("%F", time.localtime(os.path.getmtime(path)))
    others = next((r["median"] for r in rows if r["variant"] == "the machine"), 0)
    busy = f", others {others:.0f} % of the machine" if others > Others.QUIET else ""
    groups = {}
    for r in rows:
        if r["variant"] != "the machine" and r["unit"] not in PROOFS:
            name, *flags = r.get("command", r["workload"]).split()
            command = " ".join([ALIASES.get(name, name), *flags])
            groups.setdefault((command, r["variant"], r["unit"]), []).append(r)
    found = {}
    for (command, variant, unit), group in groups.items():
        first = f"`{command}` {variant}, {unit}"
        runs = max(r.get("runs", 0) for r in group)
        times = f", {runs} run" + "s" * (runs > 1) if runs else ""
        measured = group[0].get("date", day) + times + busy
        found.setdefault(command, {})[first] = (
            {r["system"]: r["median"] for r in group}, unit, group[0].get("target", ""), measured)
    return found


def update(page, paths):
    """(the page with the figures of the files, rows replaced, rows added, rows not on it)"""
    found = {}
    for path in files(paths):
        for command, rows in figures_of(path).items():
            found.setdefault(command, {}).update(rows)
    out, on_page, replaced = [], set(), 0
    for text in page.splitlines():
        cells = text.split(" | ")
        row = re.match(r"\| (`([^`]+)` .*)", cells[0].rstrip(" |"))
        if row:
            on_page.add(row[2])
        if row and row[1] in found.get(row[2], {}):
            values, unit, target, measured = found[row[2]].pop(row[1])
            text = line(row[1], values, unit, target or "".join(cells[4:5]), measured)
            replaced += 1
        out.append(text)
    added = 0
    for command in [c for c in found if c not in on_page]:
        rows = found.pop(command)
        out += ["", f"## {command}", *HEAD, *(line(first, *row) for first, row in rows.items())]
        added += len(rows)
    return "\n".join(out) + "\n", replaced, added, sum(map(len, found.values()))


def write(paths):
    """Changes the page; returns what was changed."""
    with open(PAGE, encoding="utf-8") as f:
        page, replaced, added, left = update(f.read(), paths)
    with open(PAGE, "w", encoding="utf-8") as f:
        f.write(page)
    drawn = sum(curve.draw(rows_of(path)) for path in files(paths))
    return (f"{os.path.relpath(PAGE, build.ROOT)}: curves drawn: {drawn}; rows replaced: {replaced}; added at the end: "
            f"{added}; in the files, but not on the page: {left}")

# SPDX-License-Identifier: Apache-2.0
"""bench/run NAME --curve: what the same operation costs, from 2 threads to a million.

A curve is flat if no operation on one thread searches all threads, and if cold memory is fetched
in time. So each figure is taken while all threads exist, from when the last has arrived until the
first is done (struct lap in bench.h). It contains neither creation nor end, unless they are what
is measured.

A size that a system cannot reach ends its curve, with the reason. Whether a size fits into memory
is estimated before, from the memory of a parked thread of that system (workload memory, at a small
size). A size that the kernel's limits do not allow is not tried: other programs of the machine
would get no kernel thread either, and a program that can map no more stacks may hang.
"""
import collections
import json
import os
import subprocess

import build
import harness
import micro

SIZES = (2, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
QUICK = (2, 10, 100, 1_000)
GROWS_FROM = 10  # two threads are never cold
LIMIT_S = 300
SAMPLE = 10_000  # threads in the sample of memory
ROOM = 1.5  # times that sample, for what a workload needs beside parked threads

# words(n, turns): the program's arguments after its name; check(n, turns): its proof;
# metrics: {metric of the program: (what is added to the name, unit)}; turns: (in full
# runs, in quick runs), how often the operation is done in all; each, most: the least
# and the most that each thread does it
Curve = collections.namedtuple("Curve", "text words check metrics turns each most",
                               defaults=(None,))

CURVES = {
    "yield": Curve("threads that yield in turn",
                   lambda n, turns: ("yield", n, turns), lambda n, turns: turns // n * n,
                   {"yield": ("", "ns a yield")}, (5_000_000, 200_000), 8),
    "spawn": Curve("created, alive at once, ended and joined",
                   lambda n, turns: ("spawn-many", n, turns // n), lambda n, turns: turns // n * n,
                   {"first": (", first round", "ns a thread"),
                    "again": (", later rounds", "ns a thread")}, (500_000, 50_000), 2),
    "wake": Curve("a baton goes round a ring of parked threads",
                  lambda n, turns: ("ring", n, turns), lambda n, turns: turns // n * n,
                  {"wake": ("", "ns a wake-up")}, (3_000_000, 100_000), 4),
    "timed": Curve("the same, each wait with a deadline",
                   lambda n, turns: ("timed", n, turns), lambda n, turns: turns // n * n,
                   {"wake": ("", "ns a wake-up")}, (3_000_000, 100_000), 4),
    "pairs": Curve("pairs of threads, each with two channels",
                   lambda n, turns: ("pairs", n // 2 * 2, turns),
                   lambda n, turns: turns // (n // 2) * (n // 2),
                   {"trip": ("", "ns a trip there and back")}, (2_000_000, 50_000), 2),
    # If a clock is coarse, two sleepers take a millisecond each time.
    "timers": Curve("sleepers that wake 200,000 times a second in all",
                    lambda n, turns: ("timers-steady", n, turns), lambda n, turns: turns,
                    {"cpu": (", CPU", "us a wake-up"),
                     "late": (", lateness p99", "us")}, (400_000, 20_000), 1, 5_000),
}
OF_WORKLOAD = {"chan": "pairs"}  # else of the same name


class Ended(Exception):
    """The curve of a system has ended at this size, and why."""


def number_in(path):
    """The number in such a file; None: there is none, or no limit."""
    try:
        with open(path, encoding="ascii") as f:
            return int(f.read())
    except (OSError, ValueError):
        return None


def limits(system):
    """[(name, threads that the kernel allows)], the lowest limit first: kernel threads,
    and systems with mappings of their own (a stack and its guard) for each thread."""
    maps = number_in("/proc/sys/vm/max_map_count")
    found = [("vm.max_map_count", maps and maps // 2)] if system in ("nptl", "may") else []
    if system == "nptl":
        found += [("kernel.pid_max", number_in("/proc/sys/kernel/pid_max")),
                  ("kernel.threads-max", number_in("/proc/sys/kernel/threads-max")),
                  ("the control group's pids.max", number_in("/sys/fs/cgroup/pids.max"))]
    return sorted(((name, n) for name, n in found if n), key=lambda limit: limit[1])


def available():
    """Bytes of free memory for a run."""
    with open("/proc/meminfo", encoding="ascii") as f:
        return next(int(line.split()[1]) * 1024 for line in f
                    if line.startswith("MemAvailable:"))


class Memory:
    """The memory of a parked thread, by system; measured once."""

    def __init__(self):
        self.bytes = {}

    def of(self, system):
        if system not in self.bytes:
            case = micro.case("memory", 1, "memory", (SAMPLE,), None, {})
            values, _ = micro.measure(system, case, LIMIT_S)
            # The kernel's share is that of the whole machine: other programs may make
            # it negative.
            kernel = max(0, values["kernel"]) if system == "nptl" else 0
            self.bytes[system] = max(values["bytes"] + kernel, 1)
        return self.bytes[system]

    def must_fit(self, system, n):
        if n <= SAMPLE:
            return
        need, have = self.of(system) * n * ROOM, available()
        if need > have:
            raise Ended(f"would take {need / 1e9:.1f} GB (memory: {self.of(system):,.0f} bytes a "
                        f"thread) of {have / 1e9:.1f}")


def must_be_allowed(system, n):
    for name, most in limits(system)[:1]:
        if n >= most:
            raise Ended(f"{name} allows {most:,} of them")


def variant(name, n, metric):
    return f"{n:,} threads{CURVES[name].metrics[metric][0]}"


def points(rows, name, metric, sizes):
    """{system: {size: median}}, in the order of the systems; rows: Figures.rows()"""
    unit = CURVES[name].metrics[metric][1]
    medians = {(x["variant"], x["system"]): x["median"] for x in rows if x["unit"] == unit}
    got = {}
    for system in micro.SYSTEMS:
        for n in sizes:
            v = medians.get((variant(name, n, metric), system))
            if v is not None:
                got.setdefault(system, {})[n] = v
    return got


def title(name, metric):
    suffix, unit = CURVES[name].metrics[metric]
    return f"{name}: {CURVES[name].text}{suffix}, {unit}"


class Run:
    """One curve of all systems."""

    def __init__(self, figures, name, sizes, quick):
        self.figures, self.name, self.sizes, self.quick = figures, name, sizes, quick
        self.curve = CURVES[name]
        self.memory = Memory()
        self.ended = {}  # system: (size, why)
        self.stopped = False

    def once(self, _, system, n):
        """One figure; a curve that has ended stays ended."""
        if system in self.ended and n >= self.ended[system][0]:
            raise harness.Failed(self.ended[system][1])
        try:
            must_be_allowed(system, n)
            self.memory.must_fit(system, n)
            self.measure(system, n)
        except (Ended, harness.Failed) as why:
            self.ended[system] = (n, f"ends before {n:,}: {why}")
            raise harness.Failed(self.ended[system][1]) from None

    def measure(self, system, n):
        c = self.curve
        turns = max(c.turns[self.quick], c.each * n)
        if c.most:
            turns = min(turns, c.most * n)
        program, *args = c.words(n, turns)
        case = micro.case(f"{n:,} threads", 1, program, args, c.check(n, turns), {})
        values, notes = micro.measure(system, case, LIMIT_S)
        for metric, (_, unit) in c.metrics.items():
            self.figures.add(variant(self.name, n, metric), system, unit, values[metric])
        for note in notes:
            self.figures.absent(system, case.variant, note)


def run(figures, name, sizes, runs, quick, only):
    """Measures all sizes of a curve; returns what show() takes."""
    r = Run(figures, name, sizes, quick)
    # If it is stopped half-way, what was measured is still shown.
    try:
        harness.interleaved(figures, {f"{n:,} threads": n for n in sizes}, micro.SYSTEMS,
                            runs, only, r.once)
    except KeyboardInterrupt:
        r.stopped = True
        harness.say("stopped before the end; this is what there was")
    return r


# --- the table ---------------------------------------------------------------------------

def grows_by(line):
    """The cost at the largest size relative to that of ten threads."""
    if GROWS_FROM not in line or max(line) <= GROWS_FROM:
        return "-"
    largest = max(line)
    return (f"{line[largest] / line[GROWS_FROM]:.1f} x"
            + ("" if largest == SIZES[-1] else f" at {largest:,}"))


def table(r, metric):
    """Markdown: a line for each size, the best figure in bold."""
    lines = points(r.figures.rows(), r.name, metric, r.sizes)
    print(f"\n{title(r.name, metric)}\n")
    print("| threads | " + " | ".join(lines) + " |")
    print("|---" * (len(lines) + 1) + "|")
    for n in r.sizes:
        got = [line.get(n) for line in lines.values()]
        best = min((v for v in got if v is not None), default=None)
        print(f"| {n:,} | " + " | ".join(
            "-" if v is None else f"**{harness.shown(v)}**" if v == best else harness.shown(v)
            for v in got) + " |")
    print("| grows by | " + " | ".join(map(grows_by, lines.values())) + " |")


def show(r):
    for metric in r.curve.metrics:
        table(r, metric)
    r.figures.say_gone()


# --- the pictures ------------------------------------------------------------------------

STYLE = """set terminal svg size 700,420 background "white" font "sans,12"
set output {out}
set title {title} noenhanced
set xlabel "threads"
set ylabel {unit} noenhanced
set logscale xy
set format x "10^{{%L}}"
set grid
unset mxtics
unset mytics
set key outside right center
"""


def quoted(text):
    """A gnuplot string, in which a backslash means the same as in JSON."""
    return json.dumps(text, ensure_ascii=False)


def commands(rows, name, metric, out):
    """The gnuplot script, data included."""
    lines = points(rows, name, metric, SIZES)
    text = STYLE.format(out=quoted(out), title=quoted(title(name, metric)),
                        unit=quoted(CURVES[name].metrics[metric][1]))
    for i, line in enumerate(lines.values()):
        text += f"$d{i} << END\n" + "".join(f"{n} {v}\n" for n, v in line.items()) + "END\n"
    # Our systems are drawn thick.
    return text + "plot " + ", ".join(
        f"$d{i} with linespoints lw {3 if s.startswith(harness.OURS) else 1} title {quoted(s)} noenhanced"
        for i, s in enumerate(lines)) + "\n"


def draw(rows):
    """Draws the curve of a JSON file into bench/plots, a picture for each metric; returns
    how many. Other files, and a curve of a busy machine, have none."""
    name = rows[0]["workload"].removeprefix("curve-") if rows else ""
    busy = any(r["variant"] == "the machine" and r["median"] > harness.Others.QUIET for r in rows)
    if busy or name not in CURVES or "--quick" in rows[0].get("command", ""):
        return 0
    try:
        gnuplot = build.which("gnuplot", "gnuplot-nox")
    except build.Missing as why:
        harness.say(f"no pictures: {why}")
        return 0
    for metric in CURVES[name].metrics:
        suffix = "" if len(CURVES[name].metrics) == 1 else f"-{metric}"
        out = os.path.join(build.BENCH, "plots", f"{name}{suffix}.svg")
        os.makedirs(os.path.dirname(out), exist_ok=True)
        subprocess.run([gnuplot], input=commands(rows, name, metric, out), text=True, check=True)
    return len(CURVES[name].metrics)

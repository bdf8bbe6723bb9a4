# SPDX-License-Identifier: Apache-2.0
"""Runs, medians, the table and the JSON, shared by all workloads.

A Figures object collects single values under (variant, system, unit). The order in
which variants and systems first appear is the order of the table."""
import json
import os
import statistics
import subprocess
import sys
import time

import build

# What the names of our systems begin with: programs, mechanisms of act-*, servers of
# net-echo.
OURS = ("uk", "pico", "perf", "monitor", "off",
        "net", "sqpoll", "batch", "threaded", "rps")
CPUS = sorted(os.sched_getaffinity(0))
TICK = os.sysconf("SC_CLK_TCK")


class Failed(Exception):
    """A run that did not do its work."""


def say(*words):
    print(*words, file=sys.stderr, flush=True)


def is_peer(system):
    """Neither ours nor a bare loop, which is the limit."""
    return not system.startswith((*OURS, "raw-"))


def higher_is_better(unit):
    return unit.endswith("/s")


def shown(v):
    return f"{v:,.0f}" if v >= 100 else f"{v:.1f}" if v >= 10 else f"{v:.2f}"


def pinned(cpus):
    """taskset words for the first `cpus` CPUs that this process may use."""
    return ["taskset", "-c", ",".join(str(c) for c in CPUS[:cpus])]


def process_stats():
    """{pid: (name, the words of /proc/PID/stat after it)}"""
    stats = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                head, rest = f.read().rsplit(")", 1)
        except OSError:
            continue
        stats[int(entry)] = (head.split("(", 1)[1], rest.split())
    return stats


def family(root, stats):
    """The ids of a process and its descendants."""
    def member(pid):
        while pid and pid != root:
            pid = int(stats[pid][1][1]) if pid in stats else 0
        return pid
    return {pid for pid in stats if member(pid)}


def seconds_of(pids, stats):
    """CPU time of processes and of children that they waited for; the latter in clock
    ticks."""
    return sum(cpu_clock(pid, stats) + sum(map(int, stats[pid][1][13:15])) / TICK for pid in pids)


def cpu_clock(pid, stats):
    try:
        return time.clock_gettime(~pid << 3 | 2)  # clock_getcpuclockid(3)
    except OSError:  # it has ended meanwhile
        return sum(map(int, stats[pid][1][11:13])) / TICK


class Others:
    """The CPU time that other programs use from now on. The kernel's own threads work
    for all programs and are not counted."""
    LISTEN_S = 2
    QUIET = 3  # per cent; more means that the machine is not quiet

    def __init__(self):
        self.start, self.began = self.theirs(), time.monotonic()

    @staticmethod
    def theirs():
        stats = process_stats()
        return seconds_of(stats.keys() - family(os.getpid(), stats) - family(2, stats), stats)

    def percent(self):
        """Their share of all CPUs so far, in per cent."""
        took = (time.monotonic() - self.began) * len(CPUS)
        return max(0.0, (self.theirs() - self.start) / took * 100)

    @classmethod
    def listen(cls):
        others = cls()
        time.sleep(cls.LISTEN_S)
        return others.percent()


def interleaved(figures, cases, systems, runs, only, once):
    """Calls once(variant, system, what) for each of cases, {variant: what}, and each
    system, in the order A B C A B C ..., so that a slow minute of the machine affects
    all. What has failed is not tried again in that variant."""
    for variant, what in cases.items():
        dead = set()
        for i in range(runs):
            for system in systems:
                if system in dead or (only and system not in only):
                    continue
                say(f"{figures.workload} | {variant} | run {i + 1}/{runs} | {system}")
                try:
                    once(variant, system, what)
                except (build.Missing, Failed) as why:
                    figures.absent(system, variant, str(why))
                    dead.add(system)


def run_program(command, env, expect, timeout):
    """One run: ({metric: value}, [notes]). Raises Failed unless its check is `expect`
    (None: any)."""
    try:
        p = subprocess.run(command, env={**os.environ, **env}, capture_output=True,
                           text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        raise Failed(f"no end after {timeout} s") from None
    values, notes, proof = {}, [], None
    for line in p.stdout.splitlines():
        word, _, rest = line.partition(" ")
        if word == "result":
            name, value = rest.split()
            values[name] = float(value)
        elif word == "check":
            proof = int(rest)
        elif word == "note":
            notes.append(rest)
    if p.returncode:
        why = notes or p.stderr.strip().splitlines()[-1:] or [f"status {p.returncode}"]
        raise Failed("; ".join(why))
    if proof is None or (expect is not None and proof != expect):
        raise Failed(f"wrong check: {proof}, expected {expect}")
    return values, notes


class Figures:
    def __init__(self, workload):
        self.workload = workload
        self.values = {}
        self.gone = {}
        self.targets = {}

    def add(self, variant, system, unit, value):
        self.values.setdefault((variant, system, unit), []).append(value)

    def absent(self, system, variant, why):
        """Notes once in the table that a system has no figure, and why."""
        self.gone.setdefault((system, why), []).append(variant)

    def rows(self):
        return [{"workload": self.workload, "variant": v, "system": s, "unit": u,
                 "median": round(statistics.median(x), 4), "min": round(min(x), 4),
                 "max": round(max(x), 4), "runs": len(x)}
                for (v, s, u), x in self.values.items()]

    def write_json(self, path, **about):
        """about: what else each row says about the run."""
        rows = [{**r, **about} for r in self.rows()]
        for r in rows:
            target = self.targets.get((r["variant"], r["unit"]))
            if target:
                r["target"] = target
        with open(path, "w", encoding="utf-8") as f:
            json.dump(rows, f, indent=1)
            f.write("\n")

    def wide_table(self):
        """One table for each unit, with a line for each variant and a column for each
        system."""
        rows = self.rows()
        systems = list(dict.fromkeys(r["system"] for r in rows))
        cells = {(r["variant"], r["system"], r["unit"]): r["median"] for r in rows}
        for unit in dict.fromkeys(r["unit"] for r in rows):
            print(f"\n{self.workload} | {unit}")
            print(f"  {'':40}" + "".join(f"{s:>15}" for s in systems))
            for variant in dict.fromkeys(r["variant"] for r in rows):
                got = [cells.get((variant, s, unit)) for s in systems]
                print(f"  {variant:40}" + "".join(
                    f"{'-':>15}" if v is None else f"{v:15,.1f}" for v in got))
        self.say_gone()

    def table(self):
        rows = self.rows()
        for variant, unit in dict.fromkeys((r["variant"], r["unit"]) for r in rows):
            group = [r for r in rows if (r["variant"], r["unit"]) == (variant, unit)]
            if unit == "errors" and not any(r["max"] for r in group):
                continue
            higher = higher_is_better(unit)
            peers = [r["median"] for r in group if is_peer(r["system"]) and r["median"] > 0]
            best = (max if higher else min)(peers) if peers else None
            target = self.targets.get((variant, unit))
            print(f"\n{self.workload} | {variant} | {unit}"
                  + (f" | target {target}" if target else ""))
            print(f"  {'system':20} {'median':>12} {'min':>12} {'max':>12} {'runs':>4}"
                  f"  to best peer")
            for r in sorted(group, key=lambda r: r["median"], reverse=higher):
                ratio = f"{r['median'] / best:.2f} x" if best else ""
                print(f"  {r['system']:20} {r['median']:12,.2f} {r['min']:12,.2f} "
                      f"{r['max']:12,.2f} {r['runs']:4}  {ratio}".rstrip())
        if any(r["unit"] == "errors" for r in rows):
            print("\nevery figure above is of a run without one error; the others are named "
                  "below")
        self.say_gone()

    def say_gone(self):
        if self.gone:
            print()
        for (system, why), variants in self.gone.items():
            names = "; ".join(dict.fromkeys(variants))
            print(f"  {system}: {why}" + (f" ({names})" if names else ""))
        sys.stdout.flush()

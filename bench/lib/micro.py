# SPDX-License-Identifier: Apache-2.0
"""Workloads of threads: which program runs with which arguments, and what it must answer."""
import collections
import os

import build
import harness

# args: words after the workload's name; check: the program's proof;
# metrics: {metric of the program: (what to add to the variant, unit, target)}
Case = collections.namedtuple("Case", "variant vps program args check metrics skip cpus")


def case(variant, vps, program, args, check, metrics, skip=None, cpus=None):
    return Case(variant, vps, program, args, check, metrics, skip or {}, cpus or vps)


NO_IO = {"boost.fiber": "has no I/O of its own"}
TWO_ROUNDS = {"first": ", first round", "again": ", second round"}


def rounds(unit, target):
    return {m: (text, unit, target if m == "again" else None)
            for m, text in TWO_ROUNDS.items()}


def yields(q):
    n = 500_000 if q else 5_000_000
    return [case(f"{t:,} threads, 1 vp", 1, "yield", (t, n), n,
                 {"yield": ("", "ns", target)})
            for t, target in ((2, "20 light, 25 full"), (1000, "25 light, 30 full"))]


def spawn(q):
    n, small, many = (50_000, 10_000, 20_000) if q else (300_000, 10_000, 100_000)
    out = [case("one at a time, 1 vp", 1, "spawn", (n,), n,
                {"one": ("", "ns", "60 light, 150 full")})]
    for m in (small, many):
        out.append(case(f"{m:,} alive, 1 vp", 1, "spawn-many", (m,), 2 * m,
                        rounds("ns", "400 light, 900 full" if m == 100_000 else None)))
    return out


def tree(q):
    n = 5_000 if q else 50_000
    return [case(f"{2 * n:,} threads, {v} vp", v, "tree", (n,), n * (n + 1) // 2,
                 rounds("ns", f"{t} light")) for v, t in ((1, 400), (2, 200))]


def pipe(q):
    n = 20_000 if q else 200_000
    return [case(f"round trip, {v} vp", v, "pipe", (n,), n, {"round": ("", "us", t)},
                 NO_IO) for v, t in ((1, "1.6"), (2, "2.4"))]


def memory(q):
    n = 50_000 if q else 1_000_000
    return [case(f"{n:,} parked", 1, "memory", (n,), None,
                 {"bytes": ("", "bytes", "4,300 light, 8,400 full"),
                  "kernel": (", kernel stacks and slabs (whole machine)", "bytes", None)})]


def chan(q):
    n, r = (50_000, 2_000) if q else (500_000, 20_000)
    out = [case(f"channel ping-pong, {v} vp", v, "chan", (n,), n,
                {"round": ("", "ns", t)}) for v, t in ((1, "40"), (2, "400"))]
    out += [case(f"mutex under 100 threads, {v} vp", v, "mutex", (100, r), 100 * r,
                 {"lock": ("", "ns", t)}) for v, t in ((1, "18"), (2, None))]
    out.append(case("mutex held across a yield, 100 threads, 1 vp", 1, "mutex-held",
                    (100, r // 20), 5 * r, {"lock": ("", "ns", None)}))
    return out


def skynet(q):
    n = 100_000 if q else 1_000_000
    skip = {"nptl": "a million kernel threads can't exist"}
    return [case(f"{n:,} leaves, {v} vp", v, "skynet", (n,), n * (n - 1) // 2,
                 rounds("ns", "1,000" if v == 1 else None), skip) for v in (1, 2)]


def timers(q):
    n, r = (1_000, 10) if q else (10_000, 40)
    return [case(f"{n:,} sleepers, 1 vp", 1, "timers", (n, r), n * r,
                 {"late": (", lateness p99", "us", "50"),
                  "cpu": (", CPU per wake", "us", "1.0")})]


WORKLOADS = {
    "yield": (yields, "2 and 1,000 threads yield, one vp"),
    "spawn": (spawn, "create + start + exit + join: one at a time, many alive"),
    "tree": (tree, "divide-and-conquer sum, 100,000 threads"),
    "pipe": (pipe, "two threads, two pipes: round trip"),
    "memory": (memory, "bytes of a parked thread, 1,000,000 of them"),
    "chan": (chan, "channel ping-pong; a mutex under 100 threads"),
    "skynet": (skynet, "a tree of threads with 1,000,000 leaves"),
    "timers": (timers, "10,000 sleepers: lateness and CPU of a wake-up"),
}
# their old names; JSON files of before have them
ALIASES = {"w1": "yield", "w2": "spawn", "w3": "tree", "w4": "pipe", "w5": "memory",
           "w6": "chan", "w7": "skynet", "w8": "timers"}

SYSTEMS = ("uk-light", "uk-full", "nptl", "go", "loom", "st", "boost.fiber", "tokio", "may")


def command(system, c):
    """(words, environment) of one run."""
    words = [c.program, *map(str, c.args)]
    if system.startswith("uk-"):
        return [build.program("uk"), system[3:], *words], {
            "UK_VPS": str(c.vps), "LD_LIBRARY_PATH": build.runtime()}
    if system == "st" and c.vps > 1:
        raise build.Missing("runs on one processor only")
    path = build.program(system)
    if system == "go":
        return [path, *words], {"GOMAXPROCS": str(c.vps)}
    if system in ("tokio", "may", "boost.fiber"):
        return [path, str(c.vps), *words], {}
    if system == "loom":
        par = "-Djdk.virtualThreadScheduler."
        return [f"{build.jdk()}/bin/java", "-Xmx6g", f"{par}parallelism={c.vps}",
                f"{par}maxPoolSize={c.vps}", "-cp", os.path.dirname(path), "Loom",
                *words], {}
    return [path, *words], {}


def measure(system, c, limit):
    """One run: ({metric: value}, [notes])."""
    words, env = command(system, c)
    expect = c.check
    if c.program == "memory" and system != "nptl":
        expect = c.args[0]
    return harness.run_program(harness.pinned(c.cpus) + words, env, expect, limit)


def one_run(system, c, figures):
    values, notes = measure(system, c, 180)
    for metric, (suffix, unit, _) in c.metrics.items():
        figures.add(c.variant + suffix, system, unit, values[metric])
    for note in notes:
        figures.absent(system, c.variant, note)


def interleaved(figures, cases, systems, one_run, runs, quick, only):
    """The cases of such a list, with their targets."""
    if figures.workload == "memory":
        runs = min(runs, 3)
    for c in [] if quick else cases:
        for suffix, unit, target in c.metrics.values():
            if target:
                figures.targets[(c.variant + suffix, unit)] = target

    def once(_, system, c):
        if system in c.skip:
            raise build.Missing(c.skip[system])
        one_run(system, c, figures)

    harness.interleaved(figures, {c.variant: c for c in cases}, systems, runs, only, once)


def run(figures, runs, quick, only=None):
    interleaved(figures, WORKLOADS[figures.workload][0](quick), SYSTEMS, one_run, runs, quick,
                only)

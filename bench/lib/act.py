# SPDX-License-Identifier: Apache-2.0
"""Workloads act-*: what other threads lose when a thread computes, or blocks in a call
that the library does not wrap. The rows are the mechanisms that detect it: the kernel's
events (perf), and the monitor's samples; beside them kernel threads and Go. The program is
bench/act/act.c. Act.java runs the founding paper's two programs on virtual threads."""
import os
import tempfile

import build
import harness
from micro import case, interleaved

SYSTEMS = ("perf", "monitor", "nptl", "go")
# off: no detection. On one vp this is pure user threads, on more the hybrid, which
# loses a vp for as long as each call blocks: the founding paper's other rows
OTHERS = {"act-table1": ("off", "loom"), "act-cost": ("off",)}
# what uk doctor calls the mechanism in use
FORCE = {"perf": "perf,", "monitor": "sampling monitor", "off": "off"}
NO_GO = {"go": "has no such call"}


def table1(q):
    n, m = (5_000, 500) if q else (100_000, 4_000)
    hangs = {"off": "the only carrier sleeps in a read"}
    es = [case(f"{text}, {v} vp", v, w, (n,), 2 * n, {"turn": ("", "ns", None)},
               hangs if (w, v) == ("esyield", 1) else None)
          for w, text in (("es", "Test E/S"), ("esyield", "Test E/S, a yield after each read"))
          for v in (1, 2)]
    return es + [case(f"Synchronisation, a sum by {2 * m - 1:,} threads, {v} vp", v, "sum", (m,),
                      m * (m + 1) // 2, {"thread": ("", "ns", None)}) for v in (1, 2)]


def cost(q):
    n, m = (20_000, 200_000) if q else (300_000, 5_000_000)
    return [case("two processes by turns at two pipes, a switch of the kernel's, 1 CPU", 1,
                 "switches", (n,), 2 * n, {"switch": ("", "ns", None)},
                 {"go": "no part in it"}),
            case("two threads that yield, 1 vp", 1, "yields", (m,), 2 * m,
                 {"turn": ("", "ns", None)}, dict.fromkeys(("nptl", "go"), "see yield"))]


def late(p50, p99):
    return {"p50": (", p50", "us", p50), "p99": (", p99", "us", p99), "max": (", max", "us", None)}


def latency(q):
    n = 100 if q else 1_000
    return [case("a raw nanosleep, until another thread runs, 1 vp", 1, "latency", (n,), n,
                 late("4", "15"))]


def block(q):
    t, r = (50, 5) if q else (200, 20)
    return [case(f"{t} threads x {r} raw nanosleeps of 1 ms, 2 vp", 2, "sleeps", (t, r), t,
                 {"all": ("", "ms", "85")}),
            case("64 threads x 50 cold page faults, 2 vp", 2, "faults", (64, 50), 3200,
                 {"all": ("", "ms", "33")}, NO_GO),
            case("64 threads x 50 reads past the cache (O_DIRECT), 2 vp", 2, "direct", (64, 50), 3200,
                 {"all": ("", "ms", None)}, NO_GO),
            case("400 threads at a pthread barrier, 2 vp", 2, "wall", (400,), 400,
                 {"all": ("", "ms", None)}, NO_GO)]


def hogs(q):
    n = 300 if q else 3_000
    return [case("a ticker of 1 ms beside 4 that compute, 2 vp", 2, "hogs", (4, n), n,
                 late(None, "100"))]


def burst(q):
    n, turns = (50, 2) if q else (400, 10)
    return [case(f"a ticker of 1 ms beside {n} {text}, {v} vp", v, w, (n, turns), n * turns,
                 late(None, None), NO_GO)
            for w, text in (("burst", "that come to a pthread barrier"),
                            ("burstlock", "behind a held pthread mutex")) for v in (1, 2)]


WORKLOADS = {
    "act-table1": (table1, "founding paper, table 1: a sum by a tree of threads; two at one pipe, raw"),
    "act-cost": (cost, "what detection costs a thread that never blocks: a kernel switch, a yield"),
    "act-latency": (latency, "a thread blocks: until another one runs"),
    "act-block": (block, "many that block: raw sleeps, cold pages, a pthread barrier"),
    "act-hogs": (hogs, "lateness of a ticker beside threads that compute"),
    "act-burst": (burst, "lateness of a ticker while many block at one moment"),
}


def command(system, c, folder):
    words = [c.program, *map(str, c.args)]
    if c.program in ("faults", "direct"):
        words.append(os.path.join(folder, "cold-pages"))
    if system == "go":
        return [build.program("go-act"), *words], {"GOMAXPROCS": str(c.vps)}
    if system == "loom":
        par = "-Djdk.virtualThreadScheduler."
        return [f"{build.jdk()}/bin/java", f"{par}parallelism={c.vps}", "-cp",
                os.path.dirname(build.program("act-loom")), "Act", *words], {}
    if system == "nptl":
        return [build.program("act-nptl"), *words], {}
    return [build.program("act"), *words], {
        "UK_VPS": str(c.vps), "UK_ACTIVATION": system, "ACT_FORCE": FORCE[system],
        "LD_LIBRARY_PATH": build.runtime()}


def one_run(system, c, figures):
    with tempfile.TemporaryDirectory(dir=build.BENCH) as d:
        words, env = command(system, c, d)
        values, notes = harness.run_program(harness.pinned(c.cpus) + words, env, c.check, 180)
    for metric, (suffix, unit, _) in c.metrics.items():
        figures.add(c.variant + suffix, system, unit, values[metric])
    for note in notes:
        figures.absent(system, c.variant, note)


def run(figures, runs, quick, only=None):
    interleaved(figures, WORKLOADS[figures.workload][0](quick),
                SYSTEMS + OTHERS.get(figures.workload, ()), one_run, runs, quick, only)

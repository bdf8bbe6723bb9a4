# SPDX-License-Identifier: Apache-2.0
"""Workload async-io: what a request costs that no thread waits for. Asynchronous calls
of one thread (uk-calls) are compared with liburing alone, which is the limit, with as
many light threads that make one blocking call each (uk-threads), and with as many tasks
of tokio-uring. All run on one CPU, with warm page cache and name cache. The programs
are in bench/async."""
import os
import tempfile

import build
import harness
from micro import case, interleaved

SYSTEMS = ("liburing", "uk-calls", "uk-threads", "tokio-uring")


def requests(q):
    n = 40_960 if q else 1_024_000
    m = 10_240 if q else 102_400
    metrics = {"op": ("", "ns", "1.05 x liburing")}
    out = [case(f"random reads of 4 KiB, depth {d}", 1, "reads", (d, n), n, metrics)
           for d in (1, 32, 256)]
    out.append(case(f"{m:,} files' stats, 256 at a time", 1, "stats", (256, m), m, metrics))
    return out


PROXIES = tuple(f"{by}-{how}" for how in ("copy", "lend", "splice") for by in ("liburing", "uk"))


def proxies(q):
    mib = 64 if q else 2_048
    return [case(f"a proxy, {chunk >> 10} KiB at a time", 1, "proxy", (chunk, mib), mib,
                 {"cpu": (", CPU for 1 MiB", "us", "1.05 x liburing")}, cpus=2)
            for chunk in (4 << 10, 64 << 10, 512 << 10)]


WORKLOADS = {
    "async-io": (requests, "asynchronous reads and stats, beside liburing alone"),
    "async-proxy": (proxies, "bytes from one socket to another: copied, lent, spliced"),
}


def proxy_run(system, c, figures):
    by, how = system.split("-")
    env = {} if by == "liburing" else {"UK_VPS": "1", "LD_LIBRARY_PATH": build.runtime()}
    words = [build.program(f"proxy-{by}"), how, *map(str, c.args)]
    values, _ = harness.run_program(harness.pinned(c.cpus) + words, env, c.check, 180)
    for metric, (suffix, unit, _) in c.metrics.items():
        figures.add(c.variant + suffix, system, unit, values[metric])


FOLDERS = {}  # {n: a folder of n files}; removed at exit


def folder(n):
    if n not in FOLDERS:
        FOLDERS[n] = tempfile.TemporaryDirectory()
        for i in range(n):
            os.close(os.open(f"{FOLDERS[n].name}/{i}", os.O_CREAT | os.O_WRONLY))
    return FOLDERS[n].name


def one_run(system, c, figures):
    words = [c.program, *map(str, c.args)] + ([folder(c.args[1])] if c.program == "stats" else [])
    if system in ("liburing", "tokio-uring"):
        words, env = [build.program("async-" + system), *words], {}
    else:
        words = [build.program("async-uk"), system[3:], *words]
        env = {"UK_VPS": "1", "LD_LIBRARY_PATH": build.runtime()}
    values, _ = harness.run_program(harness.pinned(c.cpus) + words, env, c.check, 180)
    figures.add(c.variant, system, "ns", values["op"])


def run(figures, runs, quick, only=None):
    proxy = figures.workload == "async-proxy"
    interleaved(figures, WORKLOADS[figures.workload][0](quick), PROXIES if proxy else SYSTEMS,
                proxy_run if proxy else one_run, runs, quick, only)

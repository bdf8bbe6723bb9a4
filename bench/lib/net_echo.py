# SPDX-License-Identifier: Apache-2.0
"""Workload net-echo: 256 bytes echoed on 32 connections over lo, one request on each in flight:
a kernel thread for each connection, epoll in one thread, a user thread for each on one vp (uk), the
same with sockets on a reactive vp of its own (net), or with a network processor on the last CPU
(sqpoll), which a vp without work leaves to end up to 32 requests, or 100 us (batch). The program is bench/net/echo.c."""
import build
import harness
from micro import case, interleaved

SYSTEMS = ("threads", "epoll", "uk", "net", "sqpoll", "batch")


def echo(q):
    n = 20_000 if q else 400_000
    metrics = {"turn": (", a request", "ns", None),
               "cpu": (", CPU of the server", "ns", None),
               "switches": (", the server's switches, of 1,000", "switches", None)}
    return [case("echo of 256 bytes", 1, "echo", (n,), n, metrics, cpus=2)]


WORKLOADS = {
    "net-echo": (echo, "256 bytes on 32 connections: time, CPU and switches of each server"),
}


def one_run(system, c, figures):
    words = harness.pinned(c.cpus) + [build.program("net-echo"), system, *map(str, c.args)]
    env = {"UK_VPS": "1", "LD_LIBRARY_PATH": build.runtime()}
    values, _ = harness.run_program(words, env, c.check, 180)
    for name, (text, unit, _) in c.metrics.items():
        figures.add(c.variant + text, system, unit, values[name])


def run(figures, runs, quick, only=None):
    interleaved(figures, WORKLOADS[figures.workload][0](quick), SYSTEMS, one_run, runs, quick,
                only)

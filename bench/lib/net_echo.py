# SPDX-License-Identifier: Apache-2.0
"""Workload net-echo: 256 bytes echoed on 32 connections over a veth, with one request
in flight on each, or 20,000 a second; and on 512, where a network processor always has
work, so that its CPU time is what a request costs it. The servers are: one kernel thread for each
connection; epoll in one thread; a user thread for each connection on one vp (uk); the
same with sockets on a reactive vp (net); and the rungs of `uk net`: a network processor
(sqpoll), whose completions an idle vp collects in batches of up to 32, or after 100 us
(batch); epoll that polls the queue itself (poll); user threads with a kernel thread
that polls it (threaded), or with packets passed to the last CPU (rps). The server is on
the first CPU, the client on the last. The programs are in bench/net."""
import os

import build
import harness
from micro import case, interleaved

RUNGS = {"threads": "-", "epoll": "-", "uk": "-", "net": "-", "sqpoll": "sqpoll",
         "batch": "sqpoll", "poll": "epoll", "threaded": "threaded", "rps": "rps"}
METRICS = {
    "turn": (", a request", "ns"), "p50": (", p50", "us"), "p99": (", p99", "us"),
    "p999": (", p99.9", "us"),
    "cpu": (", CPU of the server", "ns"),
    "net_cpu": (", CPU of the network processor", "ns"),
    "switches": (", the server's switches, of 1,000", "switches"),
    "host_switches": (", switches on its CPU, of 1,000", "switches"),
    "net_switches": (", switches of the network processor, of 1,000", "switches"),
    "rx": (", the server's NET_RX softirqs, of 1,000", "softirqs"),
    "host_softirqs": (", NET_RX on its CPU, of 1,000", "softirqs"),
    "net_softirqs": (", NET_RX on the other CPU, of 1,000", "softirqs"),
    "host_polls": (", polls of the veth on its CPU, of 1,000", "polls"),
    "host_interrupts": (", interrupts on its CPU", "a second"),
    "host_timer": (", of them timers", "a second"),
    "host_wakes": (", of them wake-ups by another CPU", "a second"),
    "host_calls": (", of them calls by another CPU", "a second"),
    "net_interrupts": (", interrupts on the other CPU", "a second"),
}


def echo(q):
    n = 20_000 if q else 50_000
    metrics = {m: (text, unit, None) for m, (text, unit) in METRICS.items()}
    return [case(what, 1, program, (n, rate), n, metrics, cpus=2)
            for what, program, rate in (
                ("closed loop", "net-echo", 0), ("20,000/s", "net-echo", 20_000),
                ("512 connections, closed loop", "net-echo-512", 0))]


WORKLOADS = {
    "net-echo": (echo, "256 bytes on 32 or 512 connections over a veth: what each server and CPU pays"),
}


def one_run(system, c, figures):
    how = "uk" if system in ("threaded", "rps") else system
    words = ["python3", "-B", os.path.join(build.BENCH, "net", "veth.py"),
             build.program(c.program), build.built("uk"), how, RUNGS[system],
             *map(str, c.args)]
    env = {"UK_VPS": "1", "LD_LIBRARY_PATH": build.runtime()}
    values, _ = harness.run_program(words, env, c.check, 180)
    for name, (text, unit, _) in c.metrics.items():
        if name in values:
            figures.add(c.variant + text, system, unit, values[name])


def run(figures, runs, quick, only=None):
    interleaved(figures, WORKLOADS[figures.workload][0](quick), tuple(RUNGS), one_run, runs, quick,
                only)

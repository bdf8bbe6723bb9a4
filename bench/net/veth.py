#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""veth.py ECHO UK HOW RUNG N RATE: one run of net-echo (echo.c) over a veth.

It makes network namespaces (so it needs root). The server runs at one end, on the first
CPU that this process may use; the client at the other, on the last, which is also the
network's CPU. `uk net` applies RUNG (-: nothing) to the server's end, and undoes it.
Only while the requests are under way, it counts:

  of the server: the switches of its threads, with their waits and the monitor's looks
  among them, their CPU time, and the NET_RX softirqs that ran in their context (perf);
  and the same, separately, of the kernel thread that carries out its calls (net_)
  of the two CPUs: switches (perf), interrupts, some kinds separately, and NET_RX
  softirqs of the whole machine (/proc), and polls of the veth's queues (the trace point
  napi:napi_poll)

It prints lines as all programs of bench do."""
import array
import contextlib
import ctypes
import fcntl
import os
import re
import socket
import struct
import subprocess
import sys
import time

ENDS = ("uknear", "ukfar")
ADDRESS = "10.0.0.1"
TRACE = "/sys/kernel/tracing"
# rows of /proc/interrupts: timers, including the tick; wake-ups from another CPU; calls
# on other CPUs, as membarrier(2) makes them (x86-64)
LINES = {"timer": "LOC:", "wakes": "RES:", "calls": "CAL:"}
LIBC = ctypes.CDLL(None, use_errno=True)


class Unable(Exception):
    """This machine does not permit the measurement."""


def sh(line):
    p = subprocess.run(["sh", "-ec", line], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                       text=True, check=False)
    if p.returncode:
        raise Unable("%s: %s" % (line.split(" && ")[0], p.stderr.strip()))


def feature(dev, command, value):
    """Turns an offload on or off, as `ethtool -K` does."""
    of = array.array("B", struct.pack("II", command, value))
    request = struct.pack("16sP", dev.encode(), of.buffer_info()[0])
    with socket.socket() as s:
        fcntl.ioctl(s, 0x8946, request.ljust(40, b"\0"))  # SIOCETHTOOL


def enter():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if LIBC.unshare(0x00020000 | 0x40000000):  # CLONE_NEWNS, CLONE_NEWNET
        raise Unable("unshare: " + os.strerror(ctypes.get_errno()))
    near, far = ENDS
    sh("mount --make-rprivate / && mount -t tmpfs none /run && mount -t sysfs none /sys && "
       "ip link set lo up && ip netns add peer")
    sh("mount -t tracefs none %s || true" % TRACE)
    sh(f"ip link add {near} type veth peer name {far} && "
       f"ip addr add {ADDRESS}/24 dev {near} && ip link set {near} up")
    # a veth has NAPI if it has GRO, for packets from an end without TSO
    feature(near, 0x2c, 1)  # ETHTOOL_SGRO
    feature(far, 0x1f, 0)  # ETHTOOL_STSO
    sh(f"ip link set {far} netns peer && ip -n peer addr add 10.0.0.2/24 dev {far} && "
       f"ip -n peer link set {far} up")


# -- counters --

class Event:
    """A perf event that counts on one CPU, whatever runs there, or for one thread."""

    def __init__(self, kind, config, only=None, cpu=-1, tid=-1):
        attr = struct.pack("IIQ", kind, 112, config).ljust(112, b"\0")
        self.fd = LIBC.syscall(298 if os.uname().machine == "x86_64" else 241, attr, tid, cpu,
                               -1, 0)
        if self.fd < 0 or only and LIBC.ioctl(
                self.fd, ctypes.c_ulong(0x40082406), only.encode()):  # ..._SET_FILTER
            raise Unable("perf_event_open: " + os.strerror(ctypes.get_errno()))

    def read(self):
        return struct.unpack("Q", os.read(self.fd, 8))[0]


def trace_point(name):
    try:
        with open(TRACE + "/events/" + name + "/id") as f:
            return int(f.read())
    except OSError as why:
        raise Unable(str(why)) from why


def events(cpu):
    return {"switches": Event(1, 3, cpu=cpu),
            "polls": Event(2, trace_point("napi/napi_poll"), cpu=cpu,
                           only=" || ".join('dev_name == "%s"' % e for e in ENDS))}


def softirqs(pid):
    """{thread: its NET_RX softirqs from now on}"""
    return {tid: Event(2, trace_point("irq/softirq_entry"), "vec == 3", tid=int(tid))
            for tid in os.listdir("/proc/%d/task" % pid)}


def table(path):
    """{name of a row: [a number for each CPU]}"""
    with open(path) as f:
        cpus = [int(c[3:]) for c in f.readline().split()]
        found = {}
        for line in f:
            name, *words = line.split()
            numbers = [int(w) for w in words[:len(cpus)] if w.isdigit()]
            if len(numbers) == len(cpus):
                found[name] = dict(zip(cpus, numbers))
    return found


def tasks(pid):
    """{thread: (name, voluntary switches, other switches, ns of CPU)} of all current
    threads"""
    found = {}
    for tid in os.listdir("/proc/%d/task" % pid):
        top = "/proc/%d/task/%s/" % (pid, tid)
        with open(top + "status") as f:
            status = f.read()
        with open(top + "schedstat") as f:
            ns = int(f.read().split()[0])
        found[tid] = (re.search(r"Name:\t(.*)", status)[1],
                      int(re.search(r"\nvoluntary_ctxt_switches:\t(\d+)", status)[1]),
                      int(re.search(r"\nnonvoluntary_ctxt_switches:\t(\d+)", status)[1]), ns)
    return found


class Count:
    def __init__(self, pid, perf, soft):
        self.at = time.monotonic()
        self.tasks = tasks(pid)
        self.soft = {tid: e.read() for tid, e in soft.items()}
        interrupts, net_rx = table("/proc/interrupts"), table("/proc/softirqs")["NET_RX:"]
        self.cpus = {c: {"interrupts": sum(line[c] for line in interrupts.values()),
                         **{kind: interrupts[line][c] for kind, line in LINES.items()
                            if line in interrupts},
                         "softirqs": net_rx[c],
                         **{name: e.read() for name, e in perf[c].items()}} for c in perf}

    def of_threads(self, before, n):
        """For n requests: {figure: value}"""
        found = {}
        none = (None, 0, 0, 0)
        for tid, now in self.tasks.items():
            then = before.tasks.get(tid, none)
            whose = "net_" if now[0].startswith("iou-sqp") else ""
            waits = "waits" if now[0] != "uk-monitor" else "looks"
            soft = self.soft.get(tid, 0) - before.soft.get(tid, 0)
            for name, value in ((whose + waits, 1000 / n * (now[1] - then[1])),
                                (whose + "rx", 1000 / n * soft),
                                (whose + "switches", 1000 / n * sum(
                                    now[i] - then[i] for i in (1, 2))),
                                (whose + "cpu", (now[3] - then[3]) / n)):
                found[name] = found.get(name, 0) + value
        return found

    def since(self, before, n):
        """The same, with the figures of the CPUs."""
        span, found = self.at - before.at, self.of_threads(before, n)
        for cpu, role in ((min(self.cpus), "host"), (max(self.cpus), "net")):
            for name, now in self.cpus[cpu].items():
                value = now - before.cpus[cpu][name]
                found[f"{role}_{name}"] = value / span if name in ("interrupts", *LINES) else \
                    1000 / n * value
        return found


# -- the run --

def answer(client, word, to):
    """The client's lines up to this one."""
    for line in client.stdout:
        if line.strip() == word:
            return
        to.append(line.split())
    raise Unable("the client has ended")


@contextlib.contextmanager
def ended(server):
    """Kills the server if the run fails: by itself it ends only with its connections,
    which may never come."""
    try:
        yield
    except BaseException:
        server.kill()
        raise


def counted(server, client, perf, n, times):
    """{figure: value} for each measurement of the client, and what else it printed."""
    lines, found, soft = [], [], None
    for _ in range(times):
        answer(client, "begin", lines)
        soft = soft or softirqs(server.pid)
        before = Count(server.pid, perf, soft)
        client.stdin.write("go\n")
        answer(client, "end", lines)
        found.append(Count(server.pid, perf, soft).since(before, n))
        client.stdin.write("go\n")
    client.stdin.close()
    return found, lines + [line.split() for line in client.stdout]


def run(echo, how, n, rate, user=None, times=1):
    """[{figure: value}], `times` measurements of n requests, in the current
    namespace."""
    cpus = sorted(os.sched_getaffinity(0))
    ends = [cpus[0], cpus[-1]]
    perf = {c: events(c) for c in ends}
    with subprocess.Popen([echo, "serve", how, *map(str, ends)], stdout=subprocess.PIPE,
                          text=True, user=user) as server:
        if server.stdout.readline() != "ready\n":
            raise Unable("the server does not start")
        load = ["ip", "netns", "exec", "peer", "taskset", "-c", str(ends[1]), echo, "load",
                ADDRESS, *map(str, (n, rate, times))]
        with ended(server), subprocess.Popen(load, stdin=subprocess.PIPE, text=True, bufsize=1,
                                             stdout=subprocess.PIPE) as client:
            found, lines = counted(server, client, perf, n, times)
    if server.returncode or client.returncode or ["check", str(n)] not in lines:
        raise Unable("server %d, client %d" % (server.returncode, client.returncode))
    found[-1].update({line[1]: float(line[2]) for line in lines if line[0] == "result"})
    return found


def rung(uk, name, action="apply"):
    if name != "-":
        cpu = max(os.sched_getaffinity(0))
        sh(f"{uk} net {action}" + (f" --dev {ENDS[0]} --cpu {cpu} --rung {name}"
                                   if action == "apply" else ""))


def main():
    echo, uk, how, name = sys.argv[1:5]
    n, rate = map(int, sys.argv[5:7])
    try:
        enter()
        rung(uk, name)
        try:
            figures, = run(echo, how, n, rate)
        finally:
            rung(uk, name, "undo")
    except (Unable, OSError) as why:
        sys.exit(str(why))
    for figure, value in figures.items():
        print("result", figure, value)
    print("check", n)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Web workloads: CPU of the server per request, and the founding test with httperf."""
import concurrent.futures
import os
import re
import subprocess

import build
import harness
from servers import MECHANISMS, SERVERS, WWW, Server, make_root

CLIENT_CPU = harness.CPUS[-1]
ERRORS = ("connect", "closed", "io", "status", "body", "late")


def load_once(server, path, connections, seconds, ready=lambda: None):
    """CPU us of the server per request, requests/s, p99 us; raises Failed on any error.
    ready() is called while all connections are open and idle."""
    client = subprocess.Popen(
        ["taskset", "-c", str(CLIENT_CPU), build.program("load"), str(server.port), path,
         str(connections), str(seconds), WWW + path, "1"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        if client.stdout.readline().strip() != "READY":
            raise harness.Failed("the client ended early: "
                                 + client.stderr.read().strip()[-200:])
        ready()
        before = server.cpu()
        client.stdin.write("go\n")
        client.stdin.flush()
        words = client.stdout.readline().split()
        after = server.cpu()
        client.stdin.write("end\n")
        client.stdin.close()
        client.wait(60)
    finally:
        if client.poll() is None:
            client.kill()
            client.wait()
    got = dict(w.split("=") for w in words[1:])
    errors = {k: int(got[k]) for k in ERRORS if got.get(k, "0") != "0"}
    requests = int(got["requests"])
    if errors or not requests:
        raise harness.Failed(f"errors: {errors or 'no reply at all'} in {requests:,} requests")
    return ((after - before) / requests * 1e6, requests / float(got["seconds"]),
            float(got["p99"]))


def cpu_per_request(path, counts, systems, seconds, targets):
    def run(figures, runs, quick, only):
        make_root()
        cases = {f"{n:,} connections, one core": n for n in (counts[:2] if quick else counts)}
        for variant, n in [] if quick else cases.items():
            if n in targets:
                figures.targets[(variant, "CPU us per request")] = targets[n]

        def once(variant, system, n):
            with Server(system, 1, n) as s:
                us, rate, p99 = load_once(s, path, n, 1 if quick else seconds)
            figures.add(variant, system, "CPU us per request", us)
            figures.add(variant, system, "requests/s", rate)
            figures.add(variant + ", p99 latency", system, "us", p99)
            figures.add(variant + ", errors", system, "errors", 0)

        harness.interleaved(figures, cases, systems, runs, only, once)
    return run


# --- the founding test ----------------------------------------------------------------

CALLS, SIZE = 5, 10_000
FOUNDING = ("ukweb-pth", "ukweb-uk", "ukweb-uk-set", "apache-worker", "nginx")
PAPER_RATES = list(range(10, 121, 10))
HIGH_RATES = [250, 500, 1000, 2000, 3000]


def client_run(words, limit):
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=limit)
    except subprocess.TimeoutExpired:
        raise harness.Failed(f"{os.path.basename(words[3])} was not done after "
                             f"{limit:.0f} s") from None


def httperf(port, rate, connections):
    """(replies/s, KB/s) of one run; raises Failed unless every request got its 10,000
    bytes."""
    words = ["taskset", "-c", str(CLIENT_CPU), build.which("httperf", "httperf"), "--hog",
             "--server", "127.0.0.1", "--port", str(port), "--uri", "/file10k",
             "--num-conns", str(connections), "--num-calls", str(CALLS),
             "--rate", str(rate), "--timeout", "10"]
    p = client_run(words, connections / rate + 60)

    def number(pattern):
        m = re.search(pattern, p.stdout)
        if not m:
            raise harness.Failed(f"httperf said nothing: {p.stderr.strip()[-200:]}")
        return float(m.group(1))

    want = connections * CALLS
    seen = {"replies": number(r"replies (\d+)"), "2xx": number(r"2xx=(\d+)"),
            "body": number(r"content ([\d.]+) footer"),
            "errors": number(r"Errors: total (\d+)")}
    if seen != {"replies": want, "2xx": want, "body": SIZE, "errors": 0}:
        errors = {k: int(v) for k, v in re.findall(
            r"(client-timo|socket-timo|connrefused|connreset|fd-unavail|addrunavail|"
            r"ftab-full|other) ([1-9]\d*)", p.stdout)}
        raise harness.Failed(f"{seen['replies']:.0f} of {want} requests answered, "
                             + (f"{errors}" if errors else f"{seen}"))
    took = number(r"test-duration ([\d.]+)")
    return want / took, number(r"Net I/O: ([\d.]+)")


def exact(port, rate, connections):
    """The same experiment with web/load.c: (replies/s, KB/s); raises Failed on any
    error."""
    words = ["taskset", "-c", str(CLIENT_CPU), build.program("load"), str(port), "/file10k",
             str(connections), "0", WWW + "/file10k", "rate", str(rate), str(CALLS)]
    p = client_run(words, connections / rate + 60)
    if p.returncode:
        raise harness.Failed(f"web/load.c: {p.stderr.strip()[-200:]}")
    got = dict(w.split("=") for w in p.stdout.split()[1:])
    errors = {k: int(got[k]) for k in ERRORS if got[k] != "0"}
    done, took = int(got["requests"]), float(got["seconds"])
    if errors or done != connections * CALLS:
        raise harness.Failed(f"{done} of {connections * CALLS} requests answered: {errors}")
    return done / took, int(got["bytes"]) / took / 1024


def founding_once(system, cpus, rate, n):
    """(replies/s, KB/s, CPU us per request, note). httperf waits by select(2) and loses
    connections of its own when about a thousand are open; then the exact client says
    whether the server answers everything."""
    note = None
    for client in (httperf, httperf, exact):
        with Server(system, cpus, 3000) as s:
            before = s.cpu()
            try:
                replies, kb = client(s.port, rate, n)
            except harness.Failed as why:
                if client is exact:
                    raise harness.Failed(f"{why} [httperf before: {note}]") from None
                note = str(why)
                continue
            if client is exact:
                note = f"httperf failed twice ({note}); figure of web/load.c, all answered"
            else:
                note = note and f"second try; httperf's first: {note}"
            return replies, kb, (s.cpu() - before) / (n * CALLS) * 1e6, note
    raise AssertionError("not reached")


def founding_point(figures, system, cpus, rate, n):
    variant = f"{rate} connections/s, {cpus} CPU" + (f", {n} in all" if n < 3000 else "")
    harness.say(f"founding | {variant} | {system}")
    try:
        replies, kb, cpu, note = founding_once(system, cpus, rate, n)
        if note:
            figures.absent(system, variant, note)
    except build.Missing as why:
        figures.absent(system, "", str(why))
        return
    except harness.Failed as why:
        figures.absent(system, variant, str(why))
        return
    figures.add(variant, system, "replies/s", replies)
    figures.add(variant, system, "KB/s", kb)
    figures.add(variant, system, "CPU us per request", cpu)
    figures.add(variant, system, "unanswered", 0)


def founding(figures, runs, quick, only):
    """At the paper's rates a server is idle nearly all the time, and 3,000 connections
    at 10 a second take five minutes: there all systems run side by side. From 250 a
    second on, each runs alone on the machine."""
    make_root()
    paper, high = ([10, 40, 80, 120], [1000, 3000]) if quick else (PAPER_RATES, HIGH_RATES)
    cases = [(system, cpus) for cpus in range(1, min(2, len(harness.CPUS)) + 1)
             for system in FOUNDING if not only or system in only]
    with concurrent.futures.ThreadPoolExecutor(len(cases)) as pool:
        for rate in paper:
            n = min(3000, rate * 10) if quick else 3000
            list(pool.map(lambda c: founding_point(figures, *c, rate, n), cases))
    for rate in high:
        for system, cpus in cases:
            founding_point(figures, system, cpus, rate, 3000)
    plot(figures)


# --- up to the knee -------------------------------------------------------------------

KNEE_RATES = (100, 250, 500, 1000, 2000, 3000, 4500, 6000, 8000, 10_000, 12_000, 16_000, 20_000)
KNEE_SECONDS = 3
SERVED = 0.95  # of the offered load; a server that serves less is beyond its knee


def exact_clients(port, rate, seconds):
    """web/load.c on each CPU but the first: (replies/s, p99 us of the slowest, their
    share of those CPUs in per cent)."""
    cpus = harness.CPUS[1:] or harness.CPUS
    each = rate / len(cpus)
    before = os.times()
    clients = [subprocess.Popen(
        ["taskset", "-c", str(cpu), build.program("load"), str(port), "/file10k",
         str(round(each * seconds)), "0", WWW + "/file10k", "rate", str(each), str(CALLS)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for cpu in cpus]
    said = [c.communicate(timeout=seconds + 60) for c in clients]
    after, replies, p99, took = os.times(), 0, 0, 0
    for client, (out, err) in zip(clients, said):
        if client.returncode:
            raise harness.Failed(f"web/load.c: {err.strip()[-200:]}")
        got = dict(w.split("=") for w in out.split()[1:])
        errors = {k: int(got[k]) for k in ERRORS if got[k] != "0"}
        if errors:
            raise harness.Failed(f"errors: {errors} in {got['requests']} requests")
        replies += int(got["requests"])
        p99, took = max(p99, float(got["p99"])), max(took, float(got["seconds"]))
    cpu = sum(after[i] - before[i] for i in (2, 3))
    return replies / took, p99, cpu / took / len(cpus) * 100


def knee_once(figures, variant, system, rate, seconds):
    with Server(system, 1, 3000) as s:
        before = s.cpu()
        replies, p99, clients = exact_clients(s.port, rate, seconds)
        us = (s.cpu() - before) / (rate * seconds * CALLS) * 1e6
    for unit, value in (("replies/s", replies), ("CPU us per request", us), ("p99 us", p99),
                        ("clients' CPU, %", clients)):
        figures.add(variant, system, unit, value)
    if replies < SERVED * rate * CALLS:
        raise harness.Failed(f"beyond its knee: {replies / rate / CALLS:.0%} of what was offered, "
                             f"clients' CPUs {clients:.0f} % busy")


def knee(figures, runs, quick, only):
    """The founding experiment's connections at growing rates, until a server on one CPU
    serves less than the offered load. Then it is out."""
    make_root()
    dead = set()
    for rate in KNEE_RATES[1::4] if quick else KNEE_RATES:
        systems = [s for s in KNEE_SYSTEMS if s not in dead]
        harness.interleaved(
            figures, {f"{rate} connections/s": rate}, systems, runs, only,
            lambda variant, system, rate: knee_once(figures, variant, system, rate,
                                                    1 if quick else KNEE_SECONDS))
        dead.update(system for system, _ in figures.gone)
    plot_knee(figures)
    for system, rate in knees(figures.rows()).items():
        figures.add("the highest rate served", system, "connections/s", rate)


def knees(rows):
    """{system: the highest rate that it served}"""
    best = {}
    for r in rows:
        rate = int(r["variant"].split()[0]) if r["unit"] == "replies/s" else 0
        if rate and r["median"] >= SERVED * rate * CALLS:
            best[r["system"]] = max(rate, best.get(r["system"], 0))
    return best


def plot_knee(figures):
    folder = os.path.join(build.OUT, "founding")
    os.makedirs(folder, exist_ok=True)
    points = {}
    for r in figures.rows():
        points.setdefault(r["system"], {}).setdefault(r["variant"].split()[0], {})[r["unit"]] = \
            r["median"]
    for system, rows in points.items():
        with open(f"{folder}/knee-{system}.dat", "w", encoding="utf-8") as f:
            f.write("# connections/s  replies/s  CPU-us/request  p99-us\n")
            for rate, v in rows.items():
                f.write(f"{rate} {v['replies/s']} {v['CPU us per request']} {v['p99 us']}\n")
    draw("knee.gp", f"{folder}/knee.svg", names=" ".join(points), folder=folder)


def draw(script, out, **variables):
    """Draws one picture by a script of web/, which gets the variables and `out`."""
    try:
        gnuplot = build.which("gnuplot", "gnuplot-nox")
    except build.Missing as why:
        harness.say(f"no picture: {why}")
        return
    words = "; ".join(f"{k}='{v}'" for k, v in {**variables, "out": out}.items())
    subprocess.run([gnuplot, "-e", words, os.path.join(build.BENCH, "web", script)], check=False)
    harness.say(f"wrote {os.path.relpath(out, build.ROOT)}")


LIGHT_RATES = (20, 100, 400)
LIGHT_SECONDS = 10
LIGHT_TARGET = "at most ukweb-pth's"


def light_once(system, rate, seconds):
    """CPU us per request of a server that has little to do."""
    with Server(system, 2, 3000) as s:
        before = s.cpu()
        exact(s.port, rate, rate * seconds)
        return (s.cpu() - before) / (rate * seconds * CALLS) * 1e6


def light(figures, runs, quick, only):
    make_root()
    cases = {f"{rate} connections/s": rate for rate in LIGHT_RATES}
    for variant in cases:
        figures.targets[(variant, "CPU us per request")] = LIGHT_TARGET

    def once(variant, system, rate):
        figures.add(variant, system, "CPU us per request",
                    light_once(system, rate, 2 if quick else LIGHT_SECONDS))

    harness.interleaved(figures, cases, (*FOUNDING, *MECHANISMS), runs, only, once)


def plot(figures):
    """Draws figures 4 and 5 of the paper: one data file for each system, one picture
    for each CPU count."""
    folder = os.path.join(build.OUT, "founding")
    os.makedirs(folder, exist_ok=True)
    points = {}
    for r in figures.rows():
        rate, cpus = re.match(r"(\d+) connections/s, (\d)", r["variant"]).groups()
        points.setdefault((cpus, r["system"]), {}).setdefault(int(rate), {})[r["unit"]] = \
            r["median"]
    for (cpus, system), rows in points.items():
        with open(f"{folder}/{cpus}cpu-{system}.dat", "w", encoding="utf-8") as f:
            f.write("# connections/s  replies/s  KB/s  CPU-us/request\n")
            for rate, v in sorted(rows.items()):
                f.write(f"{rate} {v['replies/s']} {v['KB/s']} {v['CPU us per request']}\n")
    for cpus in sorted({c for c, _ in points}):
        names = " ".join(s for c, s in points if c == cpus)
        for kind in ("svg", "png"):
            draw("founding.gp", f"{folder}/founding-{cpus}cpu.{kind}", cpus=cpus, names=names,
                 kind=kind, folder=folder)


SMALL_TARGETS = {100: "within 5 % of raw-uring; 0.75 x nginx"}
SMALL_TARGETS[1000] = SMALL_TARGETS[10000] = SMALL_TARGETS[100]
SMALL_SYSTEMS = [s for s in SERVERS if s != "nginx-cache"]
FILE_SYSTEMS = [s for s in SERVERS if s != "raw-uring"]
KNEE_SYSTEMS = [s for s in FILE_SYSTEMS if s not in MECHANISMS]

WORKLOADS = {
    "web-small": (cpu_per_request("/small", (100, 1000, 10000), SMALL_SYSTEMS, 4,
                                  SMALL_TARGETS),
                  "web: small keep-alive reply, server CPU per request, one core"),
    "web-file": (cpu_per_request("/file10k", (1000,), FILE_SYSTEMS, 4, {1000: "8.5"}),
                 "web: 10,000-byte file, 1,000 connections, server CPU per request"),
    "web-light": (light, "web: 20 to 400 connections a second of 5 requests of 10,000 bytes, "
                  "server CPU per request"),
    "founding": (founding, "httperf, 3,000 connections x 5 x 10,000 bytes, 10 to 3,000 a "
                 "second, 1 and 2 CPUs, plotted"),
    "founding-knee": (knee, "the same connections, exact clients, 100 to 20,000 a second, server "
                      "on one CPU, until it serves less than it is offered, plotted"),
}

def run(figures, runs, quick, only=None):
    name = figures.workload
    if name == "founding":
        runs = 1  # the paper's 3,000 connections are the repetition
    WORKLOADS[name][0](figures, runs, quick, only)

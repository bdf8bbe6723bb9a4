# SPDX-License-Identifier: Apache-2.0
"""Workloads posix-*: programs that do not know the library, natively and under `uk
run`, and, if the program has an alternative of its own to many threads, with that."""
import os
import re
import resource
import subprocess

import build
import harness
import micro
import servers
import web
from micro import case

CLIENT = ["taskset", "-c", str(harness.CPUS[-1])]
RUNS = 3
SPARE_FILES = 200  # fds that a server and its client need beside their connections
EVERY = "all"
SIZED = ("posix-echo", "posix-http", "posix-apache", "posix-loops", "posix-mariadb")
only_sizes = ()


def under(system, vps, words):
    """The words that run a program as `system` does."""
    if not system.startswith("uk-run"):
        return words
    engine = ["--reactor", "epoll"] if system == "uk-run-epoll" else []
    return [build.built("uk", "tool/uk"), "run", "--vps", str(vps), *engine, "--", *words]


def native_server(words_of, system):
    """A command for servers.Server: what words_of(port, n) returns, run as `system`
    does."""
    return lambda port, cpus, n: (under(system, cpus, words_of(port, n)), {})


def most_files():
    """Raises the limit of fds of this process and its children as far as possible."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1 << 20, 1 << 20))
    except (ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


def fitting(figures, text, counts):
    """{variant: n} for those of counts that are asked for (--sizes) and that the
    machine has fds for; a count that is too high is lowered."""
    most = most_files() - SPARE_FILES
    counts = [n for n in counts if not only_sizes or n in only_sizes]
    for n in counts:
        if n > most:
            figures.absent(EVERY, text.format(n), "no more than "
                           f"{most:,}: the hard limit of open files (ulimit -n)")
    return {text.format(n): n for n in dict.fromkeys(min(n, most) for n in counts)}


# --- echo -------------------------------------------------------------------------------

ECHO_COUNTS = (16, 100, 1_000, 10_000, 30_000)
ECHO_SYSTEMS = ("native", "uk-run", "uk-run-epoll", "raw-epoll", "loop", "uk-run-loop")
ECHO_FORMS = {"raw-epoll": ["epoll"], "loop": ["loop"], "uk-run-loop": ["loop"]}
ECHO_SECONDS = 3
MEMORY_FROM = 1_000  # with fewer connections, the memory of other programs hides theirs
TARGETS = {16: "at most native's", 1_000: "0.66 x native"}


class EchoClient:
    """echo_load.c, which runs from one quiet point to the next. words: its last."""

    def __init__(self, server, connections, seconds, words):
        self.server = server
        self.process = subprocess.Popen(
            [*CLIENT, build.program("echo-load"), str(server.port), str(connections),
             str(seconds), "0.5", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()

    def reach(self, word):
        """What it prints at that point, {name: value}."""
        line = self.process.stdout.readline().split()
        if line[:1] != [word]:
            said = self.process.stderr.read().strip()[-200:]
            raise harness.Failed("; ".join(filter(None, (self.server.last_words(), said))))
        return dict(w.split("=") for w in line[1:])

    def go(self):
        self.process.stdin.write("go\n")
        self.process.stdin.flush()


def echo_once(server, n, seconds, *words):
    """{(what is added to the variant, unit): value}"""
    with EchoClient(server, n, seconds, words) as client:
        client.reach("BEGIN")
        before = server.memory()
        client.go()
        client.reach("IDLE")
        each = (server.memory() - before) / n / 1024
        client.go()
        client.reach("READY")
        cpu = server.cpu()
        client.go()
        got = client.reach("DONE")
        cpu = server.cpu() - cpu
        client.go()
    requests, took = int(got["requests"]), float(got["seconds"])
    out = {("", "CPU us per request"): cpu / requests * 1e6,
           ("", "requests/s"): requests / took,
           (", p50 latency", "us"): float(got["p50"]),
           (", p99 latency", "us"): float(got["p99"]),
           (", the client's processor", "% busy"): float(got["cpu"]) / took * 100}
    if n >= MEMORY_FROM:
        out[(", idle", "KB per connection")] = each
    return out


def echo(figures, runs, quick, only):
    seconds = 1 if quick else ECHO_SECONDS
    cases = fitting(figures, "{:,} connections, one core",
                    ECHO_COUNTS[:3] if quick else ECHO_COUNTS)
    for variant, n in [] if quick else cases.items():
        if n in TARGETS:
            figures.targets[(variant, "CPU us per request")] = TARGETS[n]
            figures.targets[(variant + ", p99 latency", "us")] = "1.2 x native"
        if n >= MEMORY_FROM:
            figures.targets[(variant + ", idle", "KB per connection")] = "0.5 x native"

    def once(variant, system, n):
        tail = ECHO_FORMS.get(system, [])
        words = native_server(lambda port, _: [build.program("echo"), str(port), *tail], system)
        with servers.Server(f"echo-{system}", 1, n, words) as s:
            for (end, unit), value in echo_once(s, n, seconds).items():
                figures.add(variant + end, system, unit, value)

    harness.interleaved(figures, cases, ECHO_SYSTEMS, runs, only, once)


# --- web servers ------------------------------------------------------------------------

WEB_SECONDS = 3


def web_once(figures, variant, system, server, n, seconds, started, path="/small"):
    """One run of load.c. The server's memory counts from its start, or (not started)
    from the first connection: the memory of a server that makes its threads beforehand
    does not grow."""
    memory = []
    with server as s:
        before = started or s.memory()
        us, rate, p99 = web.load_once(s, path, n, seconds,
                                      lambda: memory.append(s.memory()))
    figures.add(variant, system, "CPU us per request", us)
    figures.add(variant, system, "requests/s", rate)
    figures.add(variant + ", p99 latency", system, "us", p99)
    if n >= MEMORY_FROM:
        figures.add(variant + ", idle", system, "KB per connection",
                    (memory[0] - before) / n / 1024)


def ukweb(mode, system):
    def command(port, cpus, n):
        words, env = servers.ukweb(mode)(port, cpus, n)
        return under(system, cpus, words), env
    return command


def python_http(port, _):
    return [build.which("python3", "python3"),
            os.path.join(build.BENCH, "posix", "threading_http.py"), str(port), servers.WWW]


def http_command(name, system):
    if name == "python":
        return native_server(python_http, system)
    return ukweb("uk" if system == "ukweb-uk" else "pth", system)


def http(figures, runs, quick, only):
    servers.make_root()
    seconds = 1 if quick else WEB_SECONDS
    for name, counts, systems in (
            ("python", (16, 100, 1_000), ("native", "uk-run")),
            ("ukweb", (16, 100, 1_000, 10_000), ("native", "uk-run", "ukweb-uk"))):
        cases = fitting(figures, name + ", {:,} connections, one core",
                        counts[:2] if quick else counts)

        def once(variant, system, n, name=name):
            server = servers.Server(f"{name}-{system}", 1, n, http_command(name, system))
            web_once(figures, variant, system, server, n, seconds, None)

        harness.interleaved(figures, cases, systems, runs, only, once)


def apache_command(system):
    mpm = "event" if system == "apache-event" else "worker"

    def command(port, cpus, n):
        words, env = servers.apache(mpm)(port, cpus, n)
        return under(system, cpus, words), env
    return command


def apache(figures, runs, quick, only):
    servers.make_root()
    seconds = 1 if quick else WEB_SECONDS
    cases = fitting(figures, "Apache, {:,} keep-alive connections, one core",
                    (100, 1_000) if quick else (100, 1_000, 10_000))

    def once(variant, system, n):
        server = servers.Server(f"apache-{system}", 1, n, apache_command(system))
        web_once(figures, variant, system, server, n, seconds, servers.kernel_memory())

    harness.interleaved(figures, cases, ("native", "uk-run", "apache-event"), runs, only, once)


# --- event loops in threads ------------------------------------------------------------

LOOP_COUNTS = (16, 100, 1_000, 10_000)
LOOP_SYSTEMS = ("native", "uk-run", "uk-run-epoll")


def memcached(port, n):
    return [build.which("memcached", "memcached"), "-u", "root", "-l", "127.0.0.1",
            "-p", str(port), "-t", "4", "-c", str(n + SPARE_FILES), "-b", "4096"]


def nginx(system):
    def command(port, cpus, n):
        words, env = servers.nginx("aio threads;")(port, cpus, n)
        return under(system, cpus, words), env
    return command


def loops(figures, runs, quick, only):
    servers.make_root()
    seconds = 1 if quick else WEB_SECONDS
    counts = LOOP_COUNTS[:2] if quick else LOOP_COUNTS

    def once_memcached(variant, system, n):
        words = native_server(lambda port, _: memcached(port, n), system)
        with servers.Server(f"memcached-{system}", 1, n, words) as s:
            for (end, unit), value in echo_once(s, n, seconds, "memcached").items():
                figures.add(variant + end, system, unit, value)

    def once_nginx(variant, system, n):
        server = servers.Server(f"nginx-{system}", 1, n, nginx(system))
        web_once(figures, variant, system, server, n, seconds, None, "/file10k")

    for name, once in (("memcached, 4 threads", once_memcached),
                       ("nginx with its thread pool, 10,000 bytes", once_nginx)):
        cases = fitting(figures, name + ", {:,} connections, one core", counts)
        harness.interleaved(figures, cases, LOOP_SYSTEMS, runs, only, once)


# --- single calls -----------------------------------------------------------------------

EACH = {"each": ("", "ns", None)}


def micro_cases(q):
    """What it measures, vps, the program's arguments, its proof."""
    few = 10 if q else 1
    n, turns = 50_000 // few, 200_000 // few
    cases = [case(f"create + join by {who}, one at a time, 1 vp", 1, w, (n,), n, EACH)
             for w, who in (("create", "main"), ("nested", "a thread"))]
    rounds = 50 // few
    cases += [case(f"create 1,000, join them, {v} vp", v, "crowd", (rounds, 1_000),
                   rounds * 1_000, EACH) for v in (1, 2)]
    cases += [case(f"{text}, {v} vp", v, w, (turns,), 2 * turns, EACH)
              for w, text in (("cond", "mutex and condition ping-pong, round trip"),
                              ("sem", "semaphore ping-pong, round trip")) for v in (1, 2)]
    cases += [case("mutex, nobody else: lock + unlock", 1, "mutex", (100 * turns,),
                   100 * turns, EACH)]
    cases += [case(f"mutex, {t:,} threads: lock + unlock, {v} vp", v, "contend",
                   (t, 16 * turns // t), 16 * turns // t * t, EACH)
              for t in (10, 16, 100, 1_000, 10_000) for v in (1, 2)]
    cases += [case(f"sched_yield, {t:,} threads, 1 vp", 1, "yield", (t, turns * 2 // t),
                   turns * 2, EACH) for t in (2, 1_000)]
    sleeps = {"start": (", until all run", "s", None),
              "bytes": (", kernel stacks and slabs included", "bytes each", None),
              "wake": (", CPU per wake", "us", None)}
    cases += [case(f"{m:,} sleeping threads, 1 vp", 1, "sleepers", (m,), m, sleeps)
              for m in ((2_000,) if q else (10_000, 100_000))]
    many = 2_000 if q else 100_000
    cases += [case(f"{many:,} sleeping threads, stacks of 256 KB, 1 vp", 1, "sleepers",
                   (many, 256), many, sleeps),
              case(f"threads at one mutex, until no more or {many:,}, 2 vp", 2, "refusal",
                   (many,), 1, {"threads": (", created", "threads", None),
                                "create": (", create", "ns each", None),
                                "join": (", unlock and join", "ns each", None)})]
    return cases


NO_THREAD = re.compile(r"pthread_create fails at thread (\d+)")


def limits_at(n):
    """Which limits of the kernel n threads nearly use up."""
    limits = {"kernel.pid_max": 1, "kernel.threads-max": 1, "vm.max_map_count": 2}
    reached = []
    for name, each in limits.items():
        with open("/proc/sys/" + name.replace(".", "/"), encoding="utf-8") as f:
            most = int(f.read())
        if n * each > 0.9 * most:
            reached.append(f"{name} is {most:,}" + (f", {each} for each" if each > 1 else ""))
    return reached


def micro_once(system, c, figures):
    words = under(system, c.vps, [build.program("posix-micro"), c.program, *map(str, c.args)])
    try:
        values, _ = harness.run_program(harness.pinned(c.cpus) + words, {}, c.check, 120)
    except harness.Failed as why:
        n = NO_THREAD.search(str(why))
        raise harness.Failed("; ".join([str(why), *(limits_at(int(n[1])) if n else [])])) \
            from None
    for metric, (suffix, unit, _) in c.metrics.items():
        figures.add(c.variant + suffix, system, unit, values[metric])


def single_calls(figures, runs, quick, only):
    micro.interleaved(figures, micro_cases(quick), ("native", "uk-run"), micro_once, runs,
                      quick, only)


WORKLOADS = {
    "posix-echo": (echo, "drop-in: thread-per-connection echo, 16 to 30,000 connections"),
    "posix-http": (http, "drop-in: thread-per-connection web servers (ukweb, Python's)"),
    "posix-apache": (apache, "drop-in: Apache worker; event beside it"),
    "posix-loops": (loops, "drop-in: event loops in threads: memcached, nginx with a pool"),
    "posix-micro": (single_calls, "drop-in: pthread calls one by one; 100,000 sleepers"),
}


def run(figures, runs, quick, only=None):
    WORKLOADS[figures.workload][0](figures, runs, quick, only)
